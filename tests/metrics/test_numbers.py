"""Means of numbers by group against the reference vectors, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.numbers import Numbers
from evenhand.stats.paired.differences import Paired
from tests.properties.metric_table import check_finding

VECTORS = Path(__file__).parent / "vectors"
CASES = json.loads((VECTORS / "numbers.json").read_text(encoding="utf-8"))["cases"]
PAIRED = json.loads((VECTORS / "paired.json").read_text(encoding="utf-8"))["cases"]
EACH = [(case, weights) for case in CASES for weights in ("unweighted", "weighted")]
ALL = ("mean", "worst_group_mean", "mean_gap", "mean_range", "mean_ratio", "mean_contrast")

pytestmark = pytest.mark.usefixtures("few_draws")


def asked(name, case, weights="unweighted", **more):
    """A metric of a case of the vectors."""
    given, better = CASES[case]["inputs"], CASES[case]["better"]
    options = {} if name in ("mean", "mean_range") else {"better": better}
    weight = given["weight"] if weights == "weighted" else None
    return getattr(eh.metrics, name)(
        given["value"],
        groups=given["group"],
        cluster=given["person"],
        sample_weight=weight,
        **options,
        **more,
    )


def close(expected):
    return pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("case", "weights"), EACH)
def test_values_are_those_of_the_vectors(case, weights):
    expected = CASES[case]["expected"][weights]
    found = {name: asked(name, case, weights, inference="none") for name in ALL}
    assert found["mean"].value == close(expected["whole"]["mean"])
    for name, key in (("mean_gap", "gap"), ("mean_range", "range")):
        assert found[name].value == close(expected[key])
    ratio, wanted = found["mean_ratio"], expected["ratio"]
    assert ratio.value is None if wanted is None else ratio.value == close(wanted)
    assert found["worst_group_mean"].details["worst"] == expected["worst_group"]
    assert found["mean_gap"].details["worst"] == expected["worst_group"]
    parts = {part.key: part for part in found["mean"].parts}
    assert list(parts) == sorted(expected["groups"])
    for key, group in expected["groups"].items():
        part = parts[key]
        assert part.n == group["n"]
        assert part.details["units"] == group["units"]
        assert part.value == close(group["mean"])
        for quantile in ("median", "q10", "q90"):
            assert part.details[quantile] == close(group[quantile])
    missing = sum(group["n_missing"] for group in expected["groups"].values())
    dropped = {entry.reason: entry.count for entry in found["mean"].dropped}
    assert dropped == ({"missing value": missing} if missing else {})


@pytest.mark.parametrize(("case", "weights"), EACH)
def test_findings_are_valid_and_their_p_and_interval_agree(case, weights):
    for name in ALL:
        finding = asked(name, case, weights)
        check_finding(finding)
        if finding.value is None or name in ("mean", "worst_group_mean"):
            continue
        chance = finding.fair_at
        inside = finding.interval.low <= chance <= finding.interval.high
        assert inside == (finding.p_value > 0.05), name


def test_distances_stand_beside_welchs_test():
    """Of two groups of independent rows ours differ by the skewness that is taken off."""
    given, expected = CASES["age_error"]["inputs"], CASES["age_error"]["expected"]["unweighted"]["pairs"]
    two = [group in ("18-29", "50-69") for group in given["group"]]
    value, group = (np.array(given[name])[two] for name in ("value", "group"))
    found = eh.metrics.mean_range(value, groups=group)
    welch = expected["18-29|50-69"]["welch"]
    assert found.value == close(-welch["diff"])
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (-welch["ci"][1], -welch["ci"][0]), abs=0.35
    )
    assert found.p_value < 0.01


@pytest.mark.parametrize("case", [case for case in PAIRED if "hits" in PAIRED[case]["expected"]])
def test_exact_sign_flips_are_those_of_the_vectors(case):
    for expected in PAIRED[case]["expected"].values():
        for entry in (expected["overall"], *expected["groups"].values()):
            if entry["sign_flip"] is not None:
                sums = np.array(entry["sign_flip"]["cluster_sums"])
                p = Paired.of(sums, np.random.default_rng(0)).p_value
                assert p == pytest.approx(entry["sign_flip"]["p"], abs=1e-8)


def test_a_group_that_is_worse_is_found_whichever_way_is_better():
    rng = np.random.default_rng(0)
    skin = np.repeat(["I", "II", "III"], 60)
    overlap = np.clip(0.8 + 0.1 * rng.standard_normal(180) - 0.1 * (skin == "III"), 0, 1)
    high = eh.metrics.mean_gap(overlap, groups={"skin": skin}, better="high", range=(0, 1))
    assert high.by == ["skin"]
    assert high.metric == "mean_gap(by=skin, better=high)"
    assert (high.details["worst"], high.details["largest"]) == ("III", 1.0)
    assert high.p_value < 0.01
    assert 0 < high.interval.low < high.value < high.interval.high
    low = eh.metrics.mean_gap(1 - overlap, groups={"skin": skin}, better="low", range=(0, 1))
    assert (low.value, low.p_value) == (pytest.approx(high.value), high.p_value)
    assert (low.interval.low, low.interval.high) == pytest.approx((high.interval.low, high.interval.high))
    contrast = eh.metrics.mean_contrast(overlap, groups={"skin": skin}, better="high")
    assert ([part.key for part in contrast.parts], contrast.details["side"]) == (["III"], "worse")
    worst = eh.metrics.worst_group_mean(1 - overlap, groups={"skin": skin}, better="low", range=(0, 1))
    assert worst.null.high < worst.value < worst.interval.high


def test_persons_in_place_of_rows_make_a_fair_model_fair():
    """Rows that are alike: twenty photos of each of ten persons."""
    rng, p = np.random.default_rng(3), []
    for _ in range(40):
        person = np.repeat(np.arange(20), 20)
        value = rng.normal(0, 1, 20)[person] + 0.2 * rng.standard_normal(400)
        found = eh.metrics.mean_gap(value, groups=person % 2, better="low", cluster=person)
        p.append(found.p_value <= 0.05)
    assert np.mean(p) <= 0.15


def test_frames_series_and_arrays_give_one_finding():
    given = CASES["iou_person"]["inputs"]
    frame = {"iou": given["value"], "skin": given["group"], "person": given["person"]}
    of_polars = Numbers.from_frame(pl.DataFrame(frame), value="iou", cluster="person", range=(0, 1))
    of_pandas = Numbers.from_frame(pd.DataFrame(frame), value="iou", cluster="person", range=(0, 1))
    findings = [eh.metrics.mean_gap(numbers, by="skin", better="high") for numbers in (of_polars, of_pandas)]
    series = pl.Series("iou", given["value"])
    options = {"groups": {"skin": given["group"]}, "cluster": given["person"], "range": (0, 1)}
    of_arrays = eh.metrics.mean_gap(series, better="high", **options)
    assert findings[0] == findings[1]
    assert of_arrays.interval.low == findings[0].interval.low
    assert of_arrays.metric == findings[0].metric == "mean_gap(by=skin, better=high, value=iou)"


def test_what_cannot_be_used_is_counted():
    rows = pl.DataFrame(
        {
            "error": ["1", "x", None, "inf", "nan", "2", "3", "4"],
            "skin": ["a", "a", "a", "b", "b", "b", None, "b"],
            "person": ["p", "p", "p", "q", "q", "q", "q", None],
            "w": [1, 1, 1, 1, 1, 0, 1, 1],
        }
    )
    numbers = Numbers.from_frame(rows, value="error", cluster="person", weight="w", unit="years")
    finding = eh.metrics.mean(numbers, by="skin")
    dropped = {entry.reason: entry.count for entry in finding.dropped}
    assert dropped == {
        "missing value": 3, "infinite value": 1, "missing cluster": 1, "weight 0": 1, "missing skin": 1,
    }  # fmt: skip
    assert (finding.n, finding.value, finding.details["unit"]) == (1, 1.0, "years")
    assert eh.metrics.mean_gap(numbers, by="skin", better="low").reason == "single_group"


def test_shares_beyond_a_limit_are_an_outcome_of_their_own():
    numbers = Numbers.from_frame(
        pl.DataFrame({"error": [1.0, 12.0, 11.0, 2.0], "skin": list("aabb")}), value="error", unit="years"
    )
    beyond = numbers.beyond(10)
    finding = eh.metrics.mean(beyond, by="skin")
    assert (finding.value, finding.params["value"]) == (0.5, "error>10")
    assert finding.interval.low > 0
    assert eh.metrics.mean(numbers.beyond(2, below=True), by=()).value == 0.25


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"value": "iuo"}, UnknownName, "did you mean 'iou'"),
        ({"value": "skin"}, InputError, "column 'skin' holds 'a'; give numbers"),
        ({"value": "iou", "range": (0, 0.5)}, InputError, "holds 0.7, which is outside 0 to 0.5"),
        ({"value": "iou", "range": (1, 0)}, ParameterError, "the least number, then the largest"),
        ({"value": "iou", "weight": "minus"}, InputError, "weights are numbers, 0 or more"),
    ],
)
def test_wrong_columns_are_refused_in_one_line(options, error, message):
    rows = pl.DataFrame({"iou": [0.2, 0.7], "skin": ["a", "b"], "minus": [-1, 1]})
    with pytest.raises(error, match=message):
        Numbers.from_frame(rows, **options)


def test_wrong_options_are_refused_in_one_line():
    with pytest.raises(ParameterError, match="choose one of 'high', 'low'"):
        eh.metrics.mean_gap([1, 2], groups=["a", "b"], better="up")
    with pytest.raises(ParameterError, match=r"type mean_gap\(values, groups=...\)"):
        eh.metrics.mean_gap([1, 2], better="high")
    with pytest.raises(InputError, match="group has 1 values and values 2; give as many"):
        eh.metrics.mean_gap([1, 2], groups=["a"], better="high")


def test_degenerate_numbers_give_a_value_or_a_reason():
    groups = ["a"] * 5 + ["b"] * 5
    alike = {name: getattr(eh.metrics, name)([2.0] * 10, groups=groups) for name in ("mean", "mean_range")}
    assert [finding.value for finding in alike.values()] == [2, 0]
    assert alike["mean_range"].p_value == 1
    many = eh.metrics.mean_gap([2.0] * 30_000, groups=["a", "b", "c"] * 10_000, better="low")
    assert (many.value, many.p_value) == (0, 1)
    one = eh.metrics.mean_gap([1.0, 3.0], groups=["a", "b"], better="low")
    assert (one.value, one.reason, one.interval) == (1.0, "one_cluster", None)
    empty = eh.metrics.mean([None, float("nan")], groups=["a", "b"])
    assert (empty.value, empty.reason) == (None, "empty")
    negative = eh.metrics.mean_ratio([-1.0, -2, 1, 2], groups=["a", "a", "b", "b"], better="high")
    assert (negative.value, negative.reason) == (None, "undefined")


def test_range_of_skewed_numbers_is_beyond_chance_only_where_its_interval_is_above_0():
    """A test that exchanges groups and an interval of skewed means differ near their edge."""
    small = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        values, groups = rng.lognormal(size=150), np.repeat(["a", "b"], [90, 60])
        found = eh.metrics.mean_range(values * np.where(groups == "b", 1.8, 1.0), groups=groups)
        assert (found.p_value <= 0.05) == (found.interval.low > 0)
        small += found.p_value <= 0.05
    assert small > 20


@pytest.mark.parametrize("better", ["low", "high"])
def test_of_two_groups_the_worse_is_named(better):
    values, group = [1.0, 2, 3, 7, 8, 9] * 5, ["a", "a", "a", "b", "b", "b"] * 5
    finding = eh.metrics.mean_contrast(values, groups=group, better=better)
    assert [part.key for part in finding.parts] == ["b" if better == "low" else "a"]
    assert finding.details["side"] == "worse"


def test_ids_that_several_rows_share_are_refused():
    frame = pl.DataFrame(
        {"iou": [0.1, 0.2, 0.3], "photo": ["x", "y", "y"], "person": ["p", "q", "r"], "times": [1, 2, 3]}
    )
    columns = {"value": "iou", "cluster": "person", "weight": "times"}
    with pytest.raises(InputError, match="2 rows share their id in column 'photo'"):
        Numbers.from_frame(frame, id="photo", **columns)
    assert Numbers.from_frame(frame.head(2), id="photo", **columns).table.height == 2


def test_of_means_that_are_all_alike_two_groups_are_named():
    ratio = eh.metrics.mean_ratio([1.0, 3, 1, 3, 1, 3], groups=["a", "a", "b", "b", "c", "c"], better="high")
    assert ratio.value == 1
    assert ratio.details["best"] != ratio.details["worst"]
