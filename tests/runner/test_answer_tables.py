"""Answers in tables: first ranks, repeated rows, numbers that are none."""

from __future__ import annotations

import polars as pl
import pytest

from evenhand.core.errors import InputError
from evenhand.core.requests import Question
from evenhand.workflows.execution.answer_tables import TableSource


def evidence(tmp_path, rows, capability="classifies_images", samples=("a", "b"), **more):
    file = tmp_path / "answers.parquet"
    pl.DataFrame(rows, strict=False).write_parquet(file)
    answered, without = TableSource(str(file)).evidence(Question("asked", capability, list(samples), **more))
    return answered.rows(named=True), dict(without.select("sample", "reason").iter_rows()), without


def test_the_first_rank_of_each_sample_is_its_prediction(tmp_path):
    rows = [
        {"sample": sample, "prediction": f"{sample}{rank}", "rank": rank}
        for sample, ranks in (("a", (2, 1)), ("b", (7, 5, 6)))
        for rank in ranks
    ]
    found, without, _ = evidence(tmp_path, rows)
    assert [row["prediction"] for row in found] == ["a1", "b5"]
    assert not without
    assert len(evidence(tmp_path, rows, top=2)[0]) == 4


@pytest.mark.parametrize(
    ("capability", "row"),
    [
        ("classifies_images", {"prediction": "x", "rank": 1}),
        ("classifies_images", {"prediction": "x"}),
        ("embeds_images", {"vector": [1.0]}),
        ("matches_pairs", {"candidate": "x", "score": 1.0}),
        ("answers_questions", {"text": "x"}),
    ],
)
def test_repeated_rows_are_refused(tmp_path, capability, row):
    rows = [{"sample": "a", **row}, {"sample": "b", **row}]
    assert len(evidence(tmp_path, rows, capability)[0]) == 2
    with pytest.raises(InputError, match=r"several rows for sample 'b'.*'asked'") as told:
        evidence(tmp_path, [*rows, rows[1]], capability)
    assert "\n" not in str(told.value)


def test_of_several_answers_the_one_to_the_prompt_is_taken(tmp_path):
    rows = [{"sample": "a", "question": q, "text": t} for q, t in (("one?", "1"), ("two?", "2"))]
    found, without, _ = evidence(tmp_path, rows, "answers_questions", texts=["two?", "two?"])
    assert [row["text"] for row in found] == ["2"]
    assert without == {"b": "not in the table"}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_no_answer(tmp_path, bad):
    rows = [{"sample": "a", "vector": [1.0, bad]}, {"sample": "b", "vector": [1.0, 2.0]}]
    found, without, _ = evidence(tmp_path, rows, "embeds_images")
    assert [row["sample"] for row in found] == ["b"]
    assert without == {"a": "answer not finite"}
    rows = [{"sample": "a", "candidate": "x", "score": bad}, {"sample": "b", "candidate": "x", "score": 1.0}]
    assert evidence(tmp_path, rows, "matches_pairs")[1] == {"a": "answer not finite"}


def test_vectors_of_different_lengths_are_refused(tmp_path):
    rows = [{"sample": "a", "vector": [1.0]}, {"sample": "b", "vector": [1.0, 2.0]}]
    with pytest.raises(InputError, match="'a' has 1 numbers, 'b' has 2"):
        evidence(tmp_path, rows, "embeds_images")


def test_a_row_without_prediction_is_told_from_no_row(tmp_path):
    rows = [{"sample": "a", "prediction": None}, {"sample": "c", "prediction": "x"}]
    _, without, _ = evidence(tmp_path, rows)
    assert without == {"a": "no prediction in the table", "b": "not in the table"}


def test_where_no_id_matches_one_of_the_table_is_shown(tmp_path):
    _, _, without = evidence(tmp_path, [{"sample": "a.png", "prediction": "x"}])
    assert set(without["detail"]) == {"the table has 'a.png'"}


@pytest.mark.parametrize(("modality", "able"), [("text", "embeds_texts"), ("image", "embeds_images")])
def test_a_table_of_one_modality_stands_in_for_that_one_only(tmp_path, modality, able):
    columns = {"sample": ["a"], "modality": [modality], "vector": [[1.0, 0.0]]}
    pl.DataFrame(columns).write_parquet(tmp_path / "vectors.parquet")
    assert TableSource(str(tmp_path / "vectors.parquet")).capabilities() == (able,)
