"""Labels best first: nearest texts, files of labels, and words in free answers."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks.indicators.questions import RankedAnswers, ranked_answers, read_label_names
from evenhand.benchmarks.indicators.settings import numbers
from evenhand.core.errors import InputError, ParameterError
from evenhand.evidence.derivation.from_vectors import labels_in, normalised, plain, zero_shot


def test_the_nearest_texts_are_ranked_with_their_softmax():
    rng = np.random.default_rng(0)
    images, texts = rng.normal(size=(7, 5)), normalised(rng.normal(size=(6, 5)))
    labels = list("abcdef")
    table = pl.LazyFrame(
        {"sample": list("1234567"), "modality": ["image"] * 7, "vector": images.tolist()},
        schema_overrides={"vector": pl.List(pl.Float64)},
    )
    found = zero_shot(table, texts, labels, scale=9.0, top=3).collect()
    logits = 9 * normalised(images) @ texts.T
    weight = np.exp(logits)
    share = weight / weight.sum(axis=1, keepdims=True)
    for row in found.iter_rows(named=True):
        order = np.argsort(-logits[int(row["sample"]) - 1])
        place = order[row["rank"] - 1]
        assert row["prediction"] == labels[place]
        assert row["confidence"] == pytest.approx(share[int(row["sample"]) - 1, place])
    assert found.group_by("sample").len()["len"].to_list() == [3] * 7
    first = zero_shot(table, texts, labels, scale=9.0).collect()
    assert first.equals(found.filter(pl.col("rank") == 1))
    assert zero_shot(table, texts, labels, scale=9.0, top=99).collect().height == 7 * 6


def test_all_labels_that_an_answer_names():
    forms = {plain(name): name for name in ("plates of food", "plates", "bed", "beds")}
    assert labels_in("Two Plates of Food on a bed.", forms) == {"plates of food", "bed"}
    assert labels_in("plates; beds", forms) == {"plates", "beds"}
    assert labels_in("embedded", forms) == set()


def test_labels_that_a_model_has_twice_are_one_with_the_id_that_is_known():
    found = RankedAnswers(
        "classify", pl.LazyFrame(), ("crane", "pig", "crane"), ("", "n02395003", "n03126707")
    )
    assert found.labels == ("crane", "pig")
    assert found.wordnet_ids == ("n03126707", "n02395003")
    assert RankedAnswers("answer", pl.LazyFrame(), None).labels is None


def test_files_of_labels(tmp_path):
    file = tmp_path / "labels.txt"
    file.write_text("n02395003\thog, pig\n  crane \ncrane\n\n")
    assert read_label_names(file) == ("n02395003 hog, pig", "crane", "crane")
    file.write_text("pig\n\ncrane\n")
    with pytest.raises(InputError, match="has no label on line 2"):
        read_label_names(file)
    file.write_text("")
    with pytest.raises(InputError, match="has no label on line 1"):
        read_label_names(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_label_names(tmp_path / "none.txt")


def test_lists_of_numbers():
    assert numbers("threshold", "0.3, 0,0.3", low=0, high=1) == [0, 0.3]
    assert numbers("k", "10,1", low=1, high=float("inf"), integers=True) == [1, 10]
    for text in ("", "a", "2", "nan", "-1", "inf"):
        with pytest.raises(ParameterError, match="numbers from 0 to 1"):
            numbers("threshold", text, low=0, high=1)


def test_thoughts_of_free_answers_are_cut_and_unfinished_ones_answer_nothing():
    texts = ["<think>a bed?</think>a stove", "<think>a bed or", "a bed"]
    evidence = {"answers": pl.LazyFrame({"sample": ["1", "2", "3"], "text": texts})}
    setting = SimpleNamespace(text=lambda _: "answer", capabilities=("answers_questions",))
    ranked = ranked_answers(SimpleNamespace(setting=setting, evidence=evidence), [], n_labels=5, who="test")
    assert ranked.predictions.collect().rows() == [("1", "a stove"), ("3", "a bed")]
    assert "1 answers say nothing (thought that did not end)" in ranked.notes[1]
