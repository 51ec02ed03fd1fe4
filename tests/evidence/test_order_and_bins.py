"""Groups stand in their natural order everywhere, and numbers are cut into groups where that is asked."""

from __future__ import annotations

import random
from itertools import pairwise

import duckdb
import numpy as np
import pandas
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError
from evenhand.evidence.predictions.bins import make_bins
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import ordered
from evenhand.runs.saved_counts import SavedCounts

ROLES = {"truth": "truth", "prediction": "prediction"}
RNG = random.Random(3)  # noqa: S311 - no secret
AGES = [RNG.randint(0, 90) for _ in range(600)]
TABLE = pl.DataFrame({"truth": ["a", "b"] * 300, "prediction": ["a", "a", "b"] * 200, "age": AGES})


def groups(run):
    return {part.key: part.n for part in run.finding("accuracy").parts}


def audit(frame, **options):
    return eh.audit(frame, by=options.pop("by", "age"), inference="none", **ROLES, **options)


ORDERS = [
    ["0-2", "3-9", "10-19", "20-29", "more than 70"], ["under 18", "18", "19-39", "40 or more"],
    ["<5", "5 to 9.5", "9.5 to 20", ">20"], ["9", "10", "100"], ["-5 to -1", "0–4", "5+"], ["2", "2.5", "10"],
    ["Under 18 years", "18-64 years", "65+ years"],
]  # fmt: skip


@pytest.mark.parametrize("labels", ORDERS)
def test_numbers_and_ranges_stand_in_their_order(labels):
    for _ in range(5):
        mixed = RNG.sample(labels, len(labels))
        assert ordered(mixed) == labels
    frame = pl.DataFrame({"truth": "a", "prediction": ["a", "b"] * len(labels), "g": labels * 2})
    run = audit(frame, by="g")
    assert list(groups(run)) == labels
    counts = run.counts["predictions"]
    halves = [
        eh.Predictions.from_frame(part, **ROLES).count(["g"]) for part in (frame.head(3), frame.slice(3))
    ]
    assert sum(halves) == counts


def test_other_texts_stand_in_the_order_of_the_alphabet():
    for labels in (
        ["class 1", "class 10", "class 2"],
        ["10", "9", "x"],
        ["a-1", "b-0"],
        ["0-9", "10-19", "other"],
    ):
        assert ordered(reversed(labels)) == labels


def test_ordered_categories_keep_their_order_in_every_library_and_on_disk(tmp_path):
    levels = ["low", "mid", "high"]
    plain = TABLE.with_columns(g=pl.Series(levels * 200))
    enum = plain.with_columns(pl.col("g").cast(pl.Enum(levels)))
    frame = plain.to_pandas()
    frame["g"] = pandas.Categorical(frame["g"], categories=levels, ordered=True)
    database = duckdb.connect()
    database.execute("create type level as enum ('low', 'mid', 'high')")
    database.register("plain", plain.to_arrow())
    relation = database.sql("select truth, prediction, g::level as g from plain")
    arrays = eh.Predictions.from_arrays(frame["truth"], frame["prediction"], groups=frame["g"])
    for rows in (enum, enum.lazy(), frame, relation):
        assert list(groups(audit(rows, by="g"))) == levels
    assert arrays.count(["g"]).axis("g").levels == tuple(levels)
    run = audit(enum, by="g", map={"a": "c"}, out=tmp_path / "run")
    assert Counts.load(tmp_path / "run" / "counts" / "predictions.parquet") == run.counts["predictions"]
    assert list(groups(eh.audit(SavedCounts.read(str(tmp_path / "run")), by="g", inference="none"))) == levels
    parts = [
        eh.Predictions.from_frame(enum.filter(pl.col("g") != level), **ROLES).count(["g"]) for level in levels
    ]
    assert sum(parts).axis("g").levels == tuple(levels)


@pytest.mark.parametrize("as_text", [False, True])
def test_numbers_are_cut_at_edges(as_text):
    frame = TABLE.with_columns(pl.col("age").cast(pl.String)) if as_text else TABLE
    for bins in ({"age": [18, 40, 65]}, "age=18,40,65", ["age=18,40,65"]):
        run = audit(frame, bins=bins)
        assert groups(run) == {
            "under 18": sum(age < 18 for age in AGES), "18-39": sum(18 <= age < 40 for age in AGES),
            "40-64": sum(40 <= age < 65 for age in AGES), "65 or more": sum(age >= 65 for age in AGES),
        }  # fmt: skip
        assert run.manifest["bins"] == ["age=18,40,65"]
        assert not [w for w in run.findings.warnings if w.code == "numbers_as_groups"]
    fractions = frame.with_columns(age=pl.Series([age / 100 for age in AGES]))
    assert list(groups(audit(fractions, bins="age=0.25,0.5"))) == ["under 0.25", "0.25 to 0.5", "0.5 or more"]


def test_quantiles_have_as_equal_sizes_as_ties_allow():
    sizes = list(groups(audit(TABLE, bins="age=quantiles:4")).values())
    assert sum(sizes) == 600
    assert max(abs(size - 150) for size in sizes) <= max(np.bincount(AGES))
    tied = TABLE.with_columns(age=pl.Series([0] * 500 + [1] * 60 + [2] * 40))
    assert groups(audit(tied, bins="age=quantiles:4")) == {"under 1": 500, "1 or more": 100}
    missing = TABLE.with_columns(age=pl.when(pl.col("age") > 80).then(None).otherwise(pl.col("age")))
    found = audit(missing, bins={"age": "quantiles:2"}).finding("accuracy")
    assert {dropped.reason: dropped.count for dropped in found.dropped} == {
        "missing age": sum(age > 80 for age in AGES)
    }


@pytest.mark.parametrize(
    ("bins", "said"),
    [
        ("age", "write for instance"), ("age=x,y", "edges are numbers that ascend"), ("age=", "write for"),
        ("age=3,3", "edges are numbers"), ("age=nan", "edges are numbers"), ("age=quantiles:1", "2 to 1,000"),
        (["age=1", "age=2"], "names a column twice"), ("truth=1", "'truth' is none; possible here: 'age'"),
    ],
)  # fmt: skip
def test_bins_that_are_none_are_refused_with_what_to_type(bins, said):
    with pytest.raises(ParameterError, match=said):
        audit(TABLE, bins=bins)


def test_what_is_no_number_is_refused_or_missing():
    texts = pl.Series(["unknown" if age > 80 else str(age) for age in AGES])
    frame = TABLE.with_columns(age=texts)
    with pytest.raises(
        ParameterError, match=r"holds 'unknown' \(\d+ rows\): no number; .*--missing 'unknown'"
    ):
        audit(frame, bins="age=18")
    assert audit(frame, bins="age=18", missing="unknown").finding("accuracy").n == sum(
        age <= 80 for age in AGES
    )


def test_many_numbers_as_groups_are_told_with_bins_to_type():
    (told,) = [w for w in audit(TABLE).findings.warnings if w.code == "numbers_as_groups"]
    assert "column 'age' holds" in told.message
    (bins,) = make_bins(told.option.removeprefix("--bins "))
    assert all(0 < low < high < 90 for low, high in pairwise(bins.edges))
    few = TABLE.with_columns(age=pl.col("age") // 10 * 10)
    assert not [w for w in audit(few).findings.warnings if w.code == "numbers_as_groups"]


def test_quantiles_of_parts_do_not_add_up(tmp_path):
    for name, part in (("a", TABLE.head(300)), ("b", TABLE.tail(300))):
        audit(part, bins="age=quantiles:2", out=tmp_path / name)
        audit(part, bins="age=18", out=tmp_path / f"edges-{name}")
    with pytest.raises(InputError, match="quantiles of parts are not those of the whole"):
        SavedCounts.read(str(tmp_path / "[ab]"))
    assert SavedCounts.read(str(tmp_path / "edges-*")).counts.n_total == 600
