"""Rules of labels on counts: maps, missing texts, one spelling; what changed and what was of no use."""

from __future__ import annotations

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError
from evenhand.evidence.predictions.label_rules import LabelRules, Renaming, folded

COLUMNS = {"truth": "y", "prediction": "said", "group": "group"}


def counts(*rows):
    """Counts of ``(truth, prediction, group, n)``."""
    frame = pl.DataFrame(rows, schema=["truth", "prediction", "group", "n"], orient="row")
    frame = frame.select(pl.exclude("n").repeat_by("n").explode())
    return eh.Predictions.from_frame(frame, truth="truth", prediction="prediction").count(["group"])


def levels(found, axis="truth"):
    """Rows by level; nothing of a level that no row has."""
    numbers = found.counts.level_counts(axis).tolist()
    return {level: n for level, n in zip(found.counts.axis(axis).levels, numbers, strict=True) if n}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (" A ", "a"), ("\u200bA\ufeff", "a"), ("Ａ", "a"), ("Straße", "strasse"), ("a  b\tc", "a b c"),
        ("1.0", "1"), ("01", "1"), ("+1", "1"), ("-2.50", "-2.5"), ("-0.0", "0"), ("100", "100"),
        (".5", "0.5"), ("1e3", "1e3"), ("v1.0", "v1.0"), ("1.0.0", "1.0.0"), ("True", "true"),
    ],
)  # fmt: skip
def test_labels_of_one_meaning_have_one_form(text, form):
    assert folded(text) == form


def test_a_map_is_for_labels_and_not_for_groups():
    rules = LabelRules.make({"bee": "b", "zebra": "z"})
    found = rules.apply(counts(("a", "bee", "bee", 3), ("bee", "b", "m", 2), ("b", "a", "m", 1)), COLUMNS)
    assert levels(found) == {"a": 3, "b": 3}
    assert levels(found, "prediction") == {"a": 1, "b": 5}
    assert levels(found, "group") == {"bee": 3, "m": 3}
    assert found.changes == {"truth": {"bee": "b"}, "prediction": {"bee": "b"}}
    assert found.unused == (Renaming("zebra", "z"),)


def test_texts_for_missing_values_that_no_row_has_are_known():
    table = counts(("a", "b", "m", 3), ("na", "a", "-", 2))
    rules = LabelRules.make({"b": "none"}, missing=["NA", "none", "-", "", "?"])
    assert rules.apply(table, COLUMNS).unused_missing == ("NA", "?")
    folding = LabelRules.make(normalize=True, missing=["NA", "?"])
    assert folding.apply(table, COLUMNS).unused_missing == ("?",)


@pytest.mark.parametrize(
    "cycle", [{"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "a"}, {"1": "0", "0": "1"}]
)
def test_a_map_that_permutes_labels_permutes_rows(cycle):
    old = sorted(cycle)
    table = counts(*((label, old[0], "m", 2 + n) for n, label in enumerate(old)))
    found = LabelRules.make(cycle).apply(table, COLUMNS)
    assert levels(found) == {cycle[label]: 2 + n for n, label in enumerate(old)}
    assert levels(found, "prediction") == {cycle[old[0]]: table.n_total}
    of_groups = LabelRules((Renaming("m", "w", "group"), Renaming("w", "m", "group")))
    swapped = of_groups.apply(counts(("a", "a", "m", 3), ("a", "a", "w", 2)), COLUMNS)
    assert levels(swapped, "group") == {"w": 3, "m": 2}


def test_a_line_for_a_column_wins_over_a_general_one_in_any_order():
    general, special = Renaming("a", "x"), Renaming("a", "y", "said")
    for lines in ((general, special), (special, general)):
        found = LabelRules(lines).apply(counts(("a", "a", "m", 3)), COLUMNS)
        assert (levels(found), levels(found, "prediction")) == ({"x": 3}, {"y": 3})
    with pytest.raises(ParameterError, match="'a' to 'x' and 'A' to 'z', which are one label"):
        LabelRules.make({"a": "x", "A": "z"}, normalize=True).apply(counts(("a", "a", "m", 3)), COLUMNS)


def test_a_line_of_a_map_that_names_a_column_is_for_that_column_alone(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("old,new,column\nx,a,said\nm,men,group\n,c,y\nw,,group\n")
    rules = LabelRules.make(path)
    assert rules.renamings == (
        Renaming("x", "a", "said"),
        Renaming("m", "men", "group"),
        Renaming("w", None, "group"),
    )
    found = rules.apply(counts(("x", "x", "m", 3), ("a", "a", "w", 2), ("a", "a", "v", 1)), COLUMNS)
    assert levels(found) == {"x": 3, "a": 3}
    assert levels(found, "prediction") == {"a": 6}
    assert levels(found, "group") == {"men": 3, "v": 1}
    assert found.changes == {"prediction": {"x": "a"}, "group": {"m": "men", "w": None}}
    with pytest.raises(ParameterError, match=r"'nowhere'; possible here: 'y', 'group', 'said'"):
        LabelRules((Renaming("x", "a", "nowhere"),)).apply(counts(("x", "x", "m", 3)), COLUMNS)


def test_texts_that_mean_nothing_are_missing_before_and_after_a_map():
    rules = LabelRules.make("gone=NA", missing=["NA", "?"])
    found = rules.apply(counts(("NA", "a", "?", 3), ("a", "gone", "m", 2), ("a", "na", "m", 1)), COLUMNS)
    assert levels(found) == {"a": 3}
    assert levels(found, "prediction") == {"a": 3, "na": 1}
    assert levels(found, "group") == {"m": 3}
    assert found.changes["prediction"] == {"gone": None}
    folding = LabelRules.make(normalize=True, missing="NA").apply(
        counts(("a", "na ", "m", 1), ("a", "a", "m", 1)), COLUMNS
    )
    assert levels(folding, "prediction") == {"a": 1}


def test_the_most_frequent_spelling_of_both_sides_together_is_kept():
    rows = counts(("A", "a", "M", 2), ("A", "A", "m ", 3), ("b", "a", "m ", 4), ("b", " b", "m", 5))
    found = LabelRules.make(normalize=True).apply(rows, COLUMNS)
    assert levels(found) == {"A": 5, "b": 9}  # A: 2 + 3 + 3, a: 2 + 4
    assert levels(found, "prediction") == {"A": 9, "b": 5}
    assert levels(found, "group") == {"m": 14}  # "m " has most rows, without its space
    assert found.changes == {"prediction": {"a": "A", " b": "b"}, "group": {"M": "m", "m ": "m"}}


def test_of_equally_frequent_spellings_one_without_space_is_kept():
    found = LabelRules.make(normalize=True).apply(counts(("a", "a", "É ", 2), ("a", "a", "é", 2)), COLUMNS)
    assert levels(found, "group") == {"é": 4}


def test_numbers_stay_numbers_unless_a_text_is_among_them():
    rows = counts((1, 1, 7, 2), (1, 2, 8, 3))
    assert levels(LabelRules.make(normalize=True).apply(rows, COLUMNS)) == {1: 5}
    found = LabelRules.make({"2": "two"}).apply(rows, COLUMNS)
    assert levels(found) == {"1": 5}  # as the predictions: texts both
    assert levels(found, "prediction") == {"1": 2, "two": 3}
    assert levels(found, "group") == {7: 2, 8: 3}
    assert found.changes == {"prediction": {"2": "two"}}
    only_groups = LabelRules((Renaming("7", "seven", "group"),)).apply(rows, COLUMNS)
    assert levels(only_groups) == {1: 5}
    assert levels(only_groups, "group") == {"seven": 2, "8": 3}


def test_truths_and_predictions_of_two_kinds_become_one():
    frame = pl.DataFrame({"truth": [True, False], "prediction": ["true", "False "], "group": [1, 1]})
    rules = {"truth": "truth", "prediction": "prediction", "normalize": True}
    found = eh.Predictions.from_frame(frame, **rules).count(["group"])
    assert found.axis("truth").levels == found.axis("prediction").levels
    assert found.axis("group").levels == (1,)


def test_no_rules_change_nothing_and_say_nothing():
    rows = counts(("a", "A", "m", 2))
    found = LabelRules.make().apply(rows, COLUMNS)
    assert found.counts is rows
    assert (found.changes, found.unused, LabelRules.make().settings()) == ({}, (), {})
    assert not LabelRules.make()
    assert all((LabelRules.make("a=b"), LabelRules.make(normalize=True), LabelRules.make(missing="x")))


def test_settings_name_columns_only_where_there_is_one():
    rules = LabelRules((Renaming("a", "b"), Renaming("c", None, "group")), missing=("x",))
    assert rules.settings() == {"map": [["a", "b"], ["c", None, "group"]], "missing": ["x"]}


def test_a_map_is_of_pairs_and_files_and_says_what_it_cannot_read(tmp_path):
    path = tmp_path / "map.tsv"
    path.write_text("old\tnew\n1\tone\n")
    assert LabelRules.make([path, "2=two", "3=", "4=a=b", "2=two"]).renamings == (
        Renaming("1", "one"), Renaming("2", "two"), Renaming("3", None), Renaming("4", "a=b"),
    )  # fmt: skip
    with pytest.raises(ParameterError, match="'1' twice"):
        LabelRules.make([path, "1=uno"])
    for entry in ("nothing", "=b"):
        with pytest.raises(InputError, match="neither a file nor OLD=NEW"):
            LabelRules.make(entry)
    other = tmp_path / "map.txt"
    other.write_text("old,new\n1,one\n")
    with pytest.raises(InputError, match="no CSV or TSV file"):
        LabelRules.make(other)
    for header in ("old,other", "older,new"):
        wrong = tmp_path / "wrong.csv"
        wrong.write_text(f"{header}\n1,one\n")
        with pytest.raises(InputError, match="it needs old and new"):
            LabelRules.make(wrong)
