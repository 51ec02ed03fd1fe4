"""What a comparison keeps of its changes: tables, bounded parts, flips, other answers."""

import numpy as np
import polars as pl
import pytest

from evenhand.evidence.derivation.paired import match
from evenhand.metrics.differences import changes as compare_changes
from evenhand.metrics.differences.changes import Changes
from evenhand.metrics.differences.models import model_differences
from evenhand.workflows.audit import audit_table
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.outputs.result import Run

ROWS, CLASSES = 900, 5


def table():
    """Two columns of predictions; the second names class c1 better, and confuses c2 in group g0."""
    rng = np.random.default_rng(1)
    truth, group = rng.integers(0, CLASSES, ROWS), rng.integers(0, 2, ROWS)
    before = np.where(rng.random(ROWS) < 0.6, truth, rng.integers(0, CLASSES, ROWS))
    after = np.where((truth == 1) & (rng.random(ROWS) < 0.8), truth, before)
    after = np.where((truth == 2) & (group == 0) & (rng.random(ROWS) < 0.7), 3, after)
    coded = {"label": truth, "before": before, "after": after}
    return pl.DataFrame(
        {
            "id": [f"i{code}" for code in range(ROWS)],
            "group": [f"g{code}" for code in group],
            **{name: [f"c{code}" for code in codes] for name, codes in coded.items()},
        }
    )


def audited(where, path, prediction, **given):
    columns = {"truth": "label", "prediction": prediction, "id": "id"}
    audit_table(str(path), columns=columns, by=["group"], out=where / prediction, inference="none", **given)
    return where / prediction


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    where = tmp_path_factory.mktemp("changes")
    table().write_csv(where / "t.csv")
    folders = [audited(where, where / "t.csv", name) for name in ("before", "after")]
    compare(folders, out=where / "both")
    return Run.read(where / "both")


def test_every_part_is_a_row_of_the_table_of_changes(comparison):
    parts = {
        (name, part.kind, part.key): part
        for name, measure in (("accuracy", "accuracy"), ("cramers_v", "cramers_v_mean"))
        for part in comparison.finding(f"{measure}_difference").parts
    }
    rows = {(row["measure"], row["kind"], row["key"]): row for row in comparison.tables["changes"].to_dicts()}
    assert len(rows) == 2 * CLASSES + 2
    assert set(rows) == set(parts)
    for key, row in rows.items():
        part = parts[key]
        assert (row["value"], row["p"], row["p_adjusted"]) == (part.value, part.p_value, part.p_adjusted)
        assert (row["low"], row["null_high"]) == (part.interval.low, part.null.high)
        assert row["first"] - row["second"] == pytest.approx(row["value"])
        assert row["n_gained"] == part.details.get("n_gained")


def test_the_surest_changes_come_first(comparison):
    for name, planted in (("accuracy", "c1"), ("cramers_v", "c2")):
        mine = comparison.tables["changes"].filter(pl.col("measure") == name)
        assert mine["p_adjusted"].to_list() == sorted(mine["p_adjusted"])
        assert planted in mine.filter(kind="class")["key"].to_list()[:2]
        assert mine.filter(kind="class", key=planted)["p_adjusted"].item() <= 0.05


def test_flips_are_those_of_the_rows(comparison):
    rows, flips = table(), comparison.tables["flips"]
    right = rows.with_columns(*(pl.col(name) == pl.col("label") for name in ("before", "after")))
    whole = flips.filter(pl.col("class").is_null())
    assert whole["group"].to_list() == ["g0", "g1"]
    for one in flips.to_dicts():
        mine = right.filter(pl.col("group") == one["group"])
        mine = mine if one["class"] is None else mine.filter(pl.col("label") == one["class"])
        assert one["n"] == mine.height
        assert one["n_gained"] == mine.filter(pl.col("after") & ~pl.col("before")).height
        assert one["n_lost"] == mine.filter(~pl.col("after") & pl.col("before")).height
    surest = flips.filter(pl.col("class").is_not_null()).row(0, named=True)
    assert (surest["group"], surest["class"]) == ("g0", "c2")
    assert surest["p_adjusted"] < 0.001


def test_other_answers_are_those_of_the_rows(comparison):
    answers = comparison.tables["answer_changes"]
    expected = (
        table()
        .filter(pl.col("after") != pl.col("before"))
        .group_by("group", truth="label", first="after", second="before")
        .agg(n=pl.len().cast(pl.Float64))
    )
    columns = ["group", "truth", "first", "second", "n"]
    assert answers.select(columns).sort(columns).equals(expected.select(columns).sort(columns))
    assert answers["n"].to_list() == sorted(answers["n"], reverse=True)


def test_many_comparisons_keep_the_surest_parts_and_count_the_rest(monkeypatch):
    rows = table()
    tables = [
        rows.select("group", sample="id", truth="label", prediction=pl.col(name))
        for name in ("after", "before")
    ]
    counts = match(tables, ["group"], ["a", "b"]).counts(["group"])
    found = model_differences(counts, by="group", metrics=["accuracy"], names=("a", "b"))
    monkeypatch.setattr(compare_changes, "_LEAST", 4)
    changes = Changes(comparisons=1_000_000)
    kept = changes.add_pair(found, counts, ["group"], ("a", "b"))[0]
    assert [one.kind for one in kept.parts] == ["class", "class", "group", "group"]
    assert {one.key for one in kept.parts if one.kind == "class"} == {"c1", "c2"}
    assert kept.details["parts_left_out"] == CLASSES - 2
    assert changes.tables()["changes"].height == CLASSES + 2, "the table has them all"
    assert changes.tables()["flips"].height == 2 + 3


def test_models_that_cannot_be_paired_have_changes_without_flips(tmp_path):
    table().write_csv(tmp_path / "a.csv")
    table().sample(fraction=0.9, seed=0).write_csv(tmp_path / "b.csv")
    columns = {"truth": "label", "prediction": "after", "id": None}
    for name in ("a", "b"):
        audit_table(str(tmp_path / f"{name}.csv"), columns=columns, by=["group"], out=tmp_path / name)
    apart = compare([tmp_path / "a", tmp_path / "b"])
    assert {"flips", "answer_changes"}.isdisjoint(apart.tables)
    assert apart.tables["changes"].height == 2 * CLASSES + 2
    assert apart.tables["changes"]["n_gained"].is_null().all()
    assert apart.tables["changes"]["p_adjusted"].min() > 0.05


def test_other_measures_have_no_changes(comparison, tmp_path):
    folders = [entry["folder"] for entry in comparison.manifest["runs"]]
    found = compare(folders, metrics=["accuracy_gap"])
    assert "changes" not in found.tables
    assert "flips" in found.tables
