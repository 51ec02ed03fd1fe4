"""Inference of accuracies, parity and odds: the failures that were measured, as small tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.core.significance import significance_of
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification.accuracy import _cells, cell_gap_inference
from evenhand.metrics.classification.parity import RangeSummary, inference_of
from evenhand.metrics.prepared import BoundCounts
from evenhand.stats.rates.rates import worst_limits
from tests.helpers import wilson

DIFFERENCES = [
    ("accuracy_gap", {}),
    ("accuracy_range", {}),
    ("demographic_parity", {}),
    ("demographic_parity", {"aggregate": "mean"}),
    ("equalized_odds", {}),
    ("equalized_odds", {"eo": "avg"}),
    ("equalized_odds", {"aggregate": "mean"}),
]


def counted(rows: list[tuple[str, str, str, int]], **roles: str) -> Counts:
    """Counts of (truth, prediction, group, times)."""
    frame = pl.DataFrame(rows, schema=["truth", "said", "group", "n"], orient="row")
    frame = frame.select(pl.all().exclude("n").repeat_by("n")).explode(pl.all())
    return eh.Predictions.from_frame(frame, truth="truth", prediction="said", **roles).count(["group"])


def call(counts: Counts, name: str, **params: str) -> Finding:
    return getattr(eh.metrics, name)(counts, by="group", **params)


def persons(seed: int, groups: int = 2, each: int = 12, photos: int = 10) -> Counts:
    """A model that is right on a person always or never, whatever the group."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(groups * each), photos)
    right = (rng.random(groups * each) < 0.7)[person]
    truth = rng.integers(0, 2, person.size)
    frame = pl.DataFrame(
        {"truth": truth, "said": np.where(right, truth, 1 - truth), "group": person // each, "person": person}
    )
    made = eh.Predictions.from_frame(frame, truth="truth", prediction="said", cluster="person")
    return made.count(["group"])


TINY = counted([("a", "a", "f", 99), ("a", "b", "m", 1)])


def test_one_wrong_row_of_a_group_is_no_interval_without_width() -> None:
    gap = call(TINY, "accuracy_gap")
    assert gap.value == pytest.approx(0.99)
    assert gap.interval is not None
    assert gap.interval.high - gap.interval.low > 0.5
    pooled = call(counted([("a", "a", "f", 60), ("a", "b", "f", 39), ("a", "b", "m", 1)]), "cramers_v_pooled")
    for headline in (gap, pooled):
        assert any("fewer than 10 rows decide this: m (1)" in note for note in headline.notes)


def test_parity_of_a_perfect_classifier_with_other_base_rates_is_beyond_chance_and_explained() -> None:
    counts = counted([("a", "a", "f", 70), ("b", "b", "f", 30), ("a", "a", "m", 30), ("b", "b", "m", 70)])
    parity = call(counts, "demographic_parity")
    assert parity.interval is not None
    assert parity.p_value is not None
    assert parity.interval.low < 0.4 < parity.interval.high
    assert parity.interval.high - parity.interval.low > 0.1
    assert parity.p_value < 0.01
    assert parity.details["explained_by_truth"] == pytest.approx(0.4)
    assert significance_of(parity).side == "above"
    odds = call(counts, "equalized_odds")
    assert odds.value == 0
    assert odds.p_value == 1


@pytest.mark.parametrize(("name", "params"), DIFFERENCES)
def test_p_and_interval_agree_in_many_groups(name: str, params: dict[str, str]) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 420)
    said = np.where(rng.random(420) < 0.8, truth, rng.integers(0, 3, 420))
    frame = pl.DataFrame({"truth": truth, "said": said, "group": np.repeat(np.arange(14), 30)})
    counts = eh.Predictions.from_frame(frame, truth="truth", prediction="said").count(["group"])
    finding = call(counts, name, **params)
    assert finding.p_value is not None
    assert finding.interval is not None
    assert (finding.p_value > 0.05) == (finding.interval.low == 0)
    shown = finding.value if finding.corrected is None else finding.corrected
    assert shown is not None
    assert finding.interval.low <= shown <= finding.interval.high
    assert finding.null is not None
    assert finding.null.low <= finding.null.mean <= finding.null.high


@pytest.mark.parametrize(("name", "params"), DIFFERENCES)
def test_an_interval_of_a_stricter_level_is_wider(name: str, params: dict[str, str]) -> None:
    counts = counted(
        [
            *(("a", "a", "f", 60), ("a", "b", "f", 40), ("b", "b", "f", 50), ("b", "a", "f", 20)),
            *(("a", "a", "m", 190), ("a", "b", "m", 10), ("b", "b", "m", 60), ("b", "a", "m", 9)),
        ]
    )
    finding = call(counts, name, **params)
    strict = finding.interval_at(0.999)
    assert strict is not None
    assert finding.interval is not None
    assert strict.low < finding.interval.low
    assert strict.high > finding.interval.high


def test_rows_of_one_person_are_not_independent() -> None:
    counts = persons(3)
    by_person, by_row = call(counts, "accuracy"), call(counts.unclustered(), "accuracy")
    assert by_person.value == by_row.value
    assert by_person.interval is not None
    assert by_row.interval is not None
    width = by_person.interval.high - by_person.interval.low
    assert width > 2.5 * (by_row.interval.high - by_row.interval.low)
    assert "over person" in by_person.interval.method


def test_whole_persons_change_places() -> None:
    rejected = {"person": 0, "row": 0}
    for seed in range(20):
        counts = persons(seed)
        for unit, one in (("person", counts), ("row", counts.unclustered())):
            p = call(one, "accuracy_gap").p_value
            rejected[unit] += p is not None and p <= 0.05
    assert rejected["person"] <= 3
    assert rejected["row"] >= 6


@pytest.mark.parametrize(("name", "params"), DIFFERENCES)
def test_a_group_of_one_person_says_nothing_of_others(name: str, params: dict[str, str]) -> None:
    finding = call(persons(1, each=1), name, **params)
    assert finding.p_value is None
    assert finding.null is None
    assert any("one_cluster" in note for note in finding.notes)
    if finding.interval is not None:
        assert finding.interval.low == 0
        assert finding.interval.high > 0.49
    accuracy = call(persons(1, each=1), "accuracy")
    assert [(part.interval, part.reason) for part in accuracy.parts] == [(None, "one_cluster")] * 2


def weighted(factor: float = 1.0) -> Counts:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 300)
    frame = pl.DataFrame(
        {
            "truth": truth,
            "said": np.where(rng.random(300) < 0.8, truth, 1 - truth),
            "group": np.repeat([0, 1, 2], 100),
            "w": factor * rng.integers(1, 9, 300),
        }
    )
    return eh.Predictions.from_frame(frame, truth="truth", prediction="said", weight="w").count(["group"])


@pytest.mark.parametrize(("name", "params"), [("accuracy", {}), *DIFFERENCES])
def test_weights_have_no_unit_and_make_intervals_wider(name: str, params: dict[str, str]) -> None:
    finding, scaled = (call(weighted(factor), name, **params) for factor in (1, 4))
    assert finding.value == pytest.approx(scaled.value)
    assert finding.interval is not None
    assert scaled.interval is not None
    assert finding.interval.high == pytest.approx(scaled.interval.high)
    assert finding.n == 300


def test_a_weighted_p_is_asymptotic_and_says_so() -> None:
    gap = call(weighted(), "accuracy_gap")
    assert gap.p_value is not None
    assert gap.null is None
    assert any("linearised" in note for note in gap.notes)


def test_the_gap_of_cells_is_compared_with_that_of_classes_alone() -> None:
    counts = counted(
        [
            ("a", "a", "f", 90),
            ("b", "b", "f", 5),
            ("b", "a", "f", 5),
            ("a", "a", "m", 50),
            ("b", "b", "m", 9),
            ("b", "a", "m", 6),
        ]
    )
    gap = call(counts, "accuracy_gap", groups="yz")
    assert gap.null is not None
    assert gap.interval is not None
    assert gap.p_value is not None
    assert gap.p_value > 0.05
    assert gap.chance_at == pytest.approx(gap.null.mean)
    assert gap.chance_at > 0.1
    assert gap.interval.low <= gap.chance_at <= gap.interval.high


@pytest.mark.parametrize("wrong", [1, 4])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_limits_of_the_gap_of_cells_are_those_of_both_rates(wrong: int, level: float) -> None:
    """MOVER (Zou and Donner 2008): each limit is as far as those of both rates, as sides of a right angle."""
    rows = [("a", "a", "f", 90), ("b", "b", "f", 9 - wrong), ("b", "a", "f", wrong), ("a", "a", "m", 50)]
    counts = counted([*rows, ("b", "b", "m", 15)])
    gap = call(counts, "accuracy_gap", groups="yz")
    margins = BoundCounts.of(counts, "group")
    worst_rate, rate = (9 - wrong) / 9, (164 - wrong) / 164
    worst, best = (float(end) for end in worst_limits(_cells(margins), level))
    low, high = wilson(164 - wrong, 164, level)
    value = rate - worst_rate
    expected = (
        value - np.hypot(rate - low, best - worst_rate),
        value + np.hypot(high - rate, worst_rate - worst),
    )
    assert gap.value == pytest.approx(value)
    inference = cell_gap_inference(margins, value)
    assert not isinstance(inference, str)
    assert inference.ends(level) == pytest.approx((max(expected[0], 0), expected[1]))
    assert (expected[0] < 0) == (wrong == 1 and level == 0.95)  # cut there


@pytest.mark.parametrize("groups", [2, 3])
def test_the_p_of_a_weighted_mean_range_counts_ranges_of_noise(groups: int) -> None:
    rng = np.random.default_rng(0)
    columns = {"truth": rng.integers(0, 2, 90), "said": rng.integers(0, 2, 90), "w": rng.integers(1, 9, 90)}
    frame = pl.DataFrame({**columns, "group": np.arange(90) % groups})
    rows = eh.Predictions.from_frame(frame, truth="truth", prediction="said", weight="w")
    margins = BoundCounts.of(rows.count(["group"]), "group")
    shares = margins.rates("predicted").value
    value = float(np.mean([max(share) - min(share) for share in shares.tolist()]))
    noise = margins.weight_noise("predicted")
    ranges = [np.mean([max(some) - min(some) for some in draw.T.tolist()]) for draw in noise]
    question = RangeSummary(("predicted",), "demographic_parity/mean", "max", "mean")
    inference = inference_of(question, margins, value)
    assert not isinstance(inference, str)
    p = inference.p_and_draws(value)[0]
    assert p == (1 + sum(some >= value for some in ranges)) / (1 + len(ranges))
    assert p is not None
    assert 0.05 < p < 1


@pytest.mark.parametrize("name", ["accuracy_gap", "demographic_parity"])
def test_the_smallest_value_that_would_be_found_passes_the_band_by_the_upper_arm(name: str) -> None:
    rows = [("a", "a", "f", 60), ("a", "b", "f", 40), ("b", "b", "m", 50), ("b", "a", "m", 30)]
    found = call(counted(rows), name)
    assert found.null is not None
    assert found.interval is not None
    shown = found.value if found.corrected is None else found.corrected
    error = (found.interval.high - shown) / stats.norm.ppf(0.975)
    assert found.mde == pytest.approx(found.null.high + stats.norm.ppf(0.8) * error)


def test_two_groups_that_share_no_class_have_no_odds_to_compare():
    frame = pl.DataFrame({"t": list("aaaabbbb"), "p": list("aababbab"), "g": list("xxxxyyyy")})
    for groups, reason in (("x", "single_group"), ("xy", "undefined")):
        some = frame.filter(pl.col("g").is_in(list(groups)))
        table = eh.Predictions.from_frame(some, truth="t", prediction="p")
        finding = eh.metrics.equalized_odds(table, by="g")
        assert (finding.value, finding.reason) == (None, reason)


@pytest.mark.parametrize("metric", ["accuracy_gap", "accuracy_range", "demographic_parity", "equalized_odds"])
def test_a_value_lies_outside_its_band_where_its_p_is_small(metric):
    """Groups of 500, 250, 120, 60 and 30 rows: p and band are of one statistic."""
    sizes, seen = np.array([500, 250, 120, 60, 30]), set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(5), sizes)
        truth = rng.integers(0, 3, group.size)
        right = rng.random(group.size) < np.array([0.93, 0.85, 0.9, 0.9, 0.9])[group]
        said = np.where(right, truth, (truth + rng.integers(1, 3, group.size)) % 3)
        frame = pl.DataFrame({"truth": truth, "said": said, "group": group}).cast(pl.String)
        evidence = eh.Predictions.from_frame(frame, truth="truth", prediction="said").count(["group"])
        one = getattr(eh.metrics, metric)(evidence, by="group", seed=seed)
        assert one.p_value > 0.05 or one.value > one.null.high
        assert one.null.low <= one.null.mean <= one.null.high
        seen.add(one.p_value <= 0.05)
    assert True in seen
