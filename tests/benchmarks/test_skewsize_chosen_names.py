"""Classes and groups that a user names, and classes that have rows in one group only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.papers.skewsize.views import chosen_names
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.workflows.outputs.artifact import artifact

CLASSES = ["Apple", "apple", "red, dark", "red", "Pear"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two classes that differ by case, one with a comma, and Pear, which only group a shows."""
    rng = np.random.default_rng(5)
    rows = []
    for place, name in enumerate(CLASSES):
        for group in ("a",) if name == "Pear" else ("a", "b", "c"):
            chances = np.full(5, 0.06 if group == "a" else 0.03)
            chances[(place + (1 if group == "b" else 2)) % 5] += 0.1 + 0.1 * place * (group == "c")
            chances[place] += 1 - chances.sum()
            rows += [(name, group, CLASSES[k]) for k in rng.choice(5, 80, p=chances)]
    table = pd.DataFrame(rows, columns=["truth", "group", "prediction"])
    folder = tmp_path_factory.mktemp("names") / "run"
    evidence = eh.Predictions.from_frame(table, truth="truth", prediction="prediction")
    eh.audit(evidence, by="group", out=folder, inference="none")
    return folder, table


def artifact_table(run, name: str, **parameters: str) -> pl.DataFrame:
    return artifact(f"skewsize/{name}", [run[0]], parameters=parameters).table


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Apple", ["Apple"]),
        ("apple,Apple", ["apple", "Apple"]),
        ("red, dark", ["red, dark"]),
        ("PEAR , red, dark,red", ["Pear", "red, dark", "red"]),
        ("red,Red, Dark", ["red", "red, dark"]),
        (" , ", []),
    ],
)
def test_names_are_read_exactly_first_and_may_hold_commas(text, names):
    assert chosen_names(text, {name: name for name in CLASSES}, "class") == names


@pytest.mark.parametrize("text", ["APPLE", "dark", "red, darker", "Pear;red"])
def test_what_names_nothing_or_two_things_is_told(text):
    with pytest.raises(UnknownName, match="there is no class"):
        chosen_names(text, {name: name for name in CLASSES}, "class")


@pytest.mark.parametrize("name", ["Apple", "apple", "red, dark"])
def test_the_class_that_was_named_is_shown(run, name):
    own = run[1][run[1]["truth"] == name]
    accuracy = (own["prediction"] == name).mean()
    table3 = artifact_table(run, "table3", classes=name, inference="none")
    assert table3["class"].to_list() == [name]
    assert table3["accuracy"].item() == pytest.approx(accuracy)
    figure1 = artifact_table(run, "figure1", classes=name).filter(pl.col("class") == name)
    shown = figure1.filter(pl.col("measure") == "accuracy")
    assert shown["value"].item() == pytest.approx(accuracy)
    figure3 = artifact_table(run, "figure3", **{"class": name})
    assert set(figure3["class"]) == {name}
    for group, of_group in own.groupby("group"):
        found = figure3.filter(pl.col("group") == group)["group_accuracy"].to_list()
        assert not found or found[0] == pytest.approx((of_group["prediction"] == name).mean())


def test_figure3_shows_one_class_and_groups_that_there_are(run):
    with pytest.raises(ParameterError, match="names 2 classes"):
        artifact_table(run, "figure3", **{"class": "Apple,apple"})
    assert set(artifact_table(run, "figure3", **{"class": "Apple"}, groups="c,B")["group"]) == {"c", "b"}
    with pytest.raises(UnknownName, match="group with rows of 'Pear' 'b'"):
        artifact_table(run, "figure3", **{"class": "Pear"}, groups="b")


def test_a_class_with_one_group_has_no_gap(run):
    row = artifact_table(run, "table3", classes="Pear", inference="none").row(0, named=True)
    assert (row["accuracy_gap"], row["effect_size"], row["reason"]) == (None, None, "single_group")
    assert row["accuracy"] == pytest.approx((run[1].query("truth == 'Pear'")["prediction"] == "Pear").mean())
    point = artifact_table(run, "figure5").filter(pl.col("class") == "Pear").row(0, named=True)
    assert (point["gap"], point["EO"], point["V"], point["reason"]) == (None, None, None, "single_group")
    others = artifact_table(run, "figure5").filter(pl.col("part") == "classes", pl.col("class") != "Pear")
    assert others["gap"].null_count() == others["EO"].null_count() == 0


def test_in_paper_mode_one_group_has_the_gap_that_the_listing_gives(run):
    evidence = eh.Predictions.from_frame(run[1], truth="truth", prediction="prediction")
    found = eh.metrics.skewsize(evidence, by="group", mode="paper", inference="none")
    assert found.part("Pear").details["accuracy_gap"] == 0.0
    assert eh.metrics.skewsize(evidence, by="group", inference="none").part("Pear").details[
        "accuracy_gap"
    ] is None  # fmt: skip


def test_figure3_chooses_the_class_and_group_of_the_first_line(run):
    evidence = eh.Predictions.from_frame(run[1], truth="truth", prediction="prediction")
    line = eh.metrics.disparity_lines(evidence, by="group").row(0, named=True)
    found = artifact_table(run, "figure3")
    assert found["class"].unique().to_list() == [line["truth"]]
    assert line["group"] in found["group"].to_list()
    assert found["group"].n_unique() == 2
