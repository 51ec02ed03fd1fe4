"""Names of columns that a library reads as patterns, groupings in two orders, ids without a value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError

COLUMNS = {"truth": "truth", "prediction": "prediction"}


def table(n=120):
    random = np.random.default_rng(0)
    truth = random.choice(["cat", "dog"], n)
    return pl.DataFrame(
        {
            "truth": truth,
            "prediction": np.where(random.random(n) < 0.8, truth, "cat"),
            "g": random.choice(["a", "b", "c"], n),
            "h": random.choice(["x", "y"], n),
            "extra": range(n),
        }
    )


@pytest.mark.parametrize("name", ["*", "^g$", "^.*$", "^(truth|prediction)$"])
@pytest.mark.parametrize("column", ["extra", "g", "truth"])
@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_name_that_is_a_pattern_counts_no_other_column(name, column, library):
    frame = table().rename({column: name})
    roles = COLUMNS | (
        {"truth": name} if column == "truth" else {"cluster": name} if column == "extra" else {}
    )
    with pytest.raises(InputError, match="reads as a pattern for other columns; rename it") as refused:
        eh.audit(
            frame.to_pandas() if library == "pandas" else frame,
            **roles,
            by=name if column == "g" else "g",
            inference="none",
        )
    assert repr(name) in str(refused.value)


@pytest.mark.parametrize("name", ["^", "$", "^g", "g$", "g.*", "[g]"])
def test_other_signs_in_names_are_taken_as_they_are(name):
    plain, named = (
        eh.audit(frame, **COLUMNS, by=by, inference="none").finding("accuracy", by=by)
        for frame, by in ((table(), "g"), (table().rename({"g": name}), name))
    )
    assert (named.value, named.groups) == (plain.value, plain.groups)


def test_the_same_groups_in_two_orders_are_one_question():
    for by in (["g+h", "h+g"], [("g", "h"), ("h", "g")], ["g", ("g", "h"), "h+g"]):
        with pytest.raises(ParameterError, match=r"'g\+h' and 'h\+g' are the same groups in two orders"):
            eh.audit(table(), **COLUMNS, by=by, inference="none")


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_ids_that_are_not_there_are_no_sample(library):
    ids = [float("nan")] * 20 + [float(row) for row in range(100)]
    frame = table().with_columns(id=pl.Series(ids)).drop("extra")
    frame = pd.DataFrame(frame.to_dict(as_series=False)) if library == "pandas" else frame
    run = eh.audit(frame, **COLUMNS, id="id", by="g", inference="none")
    assert not {each.code for each in run.findings.warnings} & {"repeated_ids", "contradictory_truths"}


def numbers_of(frame, by="g"):
    finding = eh.audit(frame, **COLUMNS, by=by, inference="none").finding("accuracy", by=by)
    return {group.key: group.n for group in finding.groups}


def cut(**options):
    return pd.cut(pd.Series(range(120)).where(lambda rows: rows >= 5), [-1, 9, 40, 80, 100], **options)


INTERVALS = {"(-1, 9]": 5, "(9, 40]": 31, "(40, 80]": 40, "(80, 100]": 20}


@pytest.mark.parametrize("make", [cut, lambda: pd.Series(pd.arrays.IntervalArray(cut().astype(object)))])
def test_intervals_of_pandas_are_groups_in_their_order(make):
    frame = table().to_pandas().assign(g=make())
    before = frame.copy()
    assert list(numbers_of(frame).values()) == list(INTERVALS.values())
    pd.testing.assert_frame_equal(frame, before)


def test_ordered_categories_of_other_kinds_count_by_their_values():
    for values in (
        [3, 1, 2, None],
        [True, False, None],
        pd.to_datetime(["2020-01-02", "2020-01-01"]).tolist(),
    ):
        column = [values[row % len(values)] for row in range(120)]
        categories = [value for value in values if value is not None]
        ordered = pd.Categorical(column, categories=categories, ordered=True)
        plain, named = (table().to_pandas().assign(g=g) for g in (pd.Series(column, dtype=object), ordered))
        assert numbers_of(named) == numbers_of(plain)


def test_names_that_are_numbers_or_tuples_are_their_texts():
    frame = table().to_pandas()
    assert numbers_of(frame.rename(columns={"g": 3, "extra": 7}), by="3") == numbers_of(frame)
    levels = pd.concat({"x": frame}, axis=1)
    roles = {role: str(("x", name)) for role, name in COLUMNS.items()}
    finding = eh.audit(levels, **roles, by="('x', 'g')", inference="none").finding("accuracy")
    assert {group.key: group.n for group in finding.groups} == numbers_of(frame)
    with pytest.raises(InputError, match="the frame cannot be read"):
        numbers_of(pd.concat([frame.rename(columns={"extra": 3}), frame["h"].rename("3")], axis=1))
