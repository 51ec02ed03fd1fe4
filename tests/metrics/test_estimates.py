"""Bands, p and limits at their borders, as every metric states them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, stats

from evenhand.core.findings import Null
from evenhand.metrics.association.similarities import partition_null
from evenhand.metrics.choices.resolution import OutcomePart
from evenhand.metrics.choices.rows import GAP, OutcomeRates
from evenhand.metrics.estimates import agreeing, agreeing_band, joint_p, null_band, resampled_p
from evenhand.metrics.labels.households.comparison import _exchanged_models
from evenhand.stats.paired.differences import Paired


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("side", ["both", "high", "low"])
def test_a_null_band_is_the_part_that_its_test_does_not_reject(side, level):
    draws, lost = np.random.default_rng(0).normal(size=201), np.full(20, np.nan)
    found = null_band(np.append(draws, lost), level=level, method="m", seed=3, side=side)
    ordered, cut = np.sort(draws), round(200 * (1 - level) / (2 if side == "both" else 1))
    low, high = ordered[0 if side == "high" else cut], ordered[200 if side == "low" else 200 - cut]
    assert (found.low, found.mean, found.high) == pytest.approx((low, draws.mean(), high))
    assert (found.replicates, found.seed, found.level) == (221, 3, level)


@pytest.mark.parametrize(("lost", "there"), [(10, True), (11, False), (100, False)])
def test_a_null_band_needs_nine_of_ten_draws(lost, there):
    draws = np.arange(100.0)
    draws[:lost] = np.nan
    assert (null_band(draws, level=0.9, method="m", seed=0) is not None) == there


@pytest.mark.parametrize(("p", "ends"), [(None, (1, 2)), (0.2, (1, 2)), (0.25, (1, 2)), (0.26, (0, 2))])
def test_limits_hold_the_reference_only_where_p_is_above_the_error(p, ends):
    assert agreeing((1.0, 2.0), p, 0.0, 0.75) == ends
    assert agreeing((-2.0, -1.0), p, 0.0, 0.75) == (-2, -ends[0])


@pytest.mark.parametrize("p", [0.001, 0.1, 0.4, 1.0])
def test_the_joint_p_is_the_larger_of_test_and_interval(p):
    value, reference = 0.7, 0.2

    def limits(level):
        reach = stats.norm.ppf((1 + level) / 2) * 0.4
        return value - reach, value + reach

    own = optimize.brentq(lambda one: limits(1 - one)[0] - reference, 1e-9, 0.999)
    assert own == pytest.approx(2 * stats.norm.sf(0.5 / 0.4))
    assert joint_p(p, reference, limits) == pytest.approx(max(p, own), rel=1e-3)
    assert joint_p(None, reference, limits) is None


@pytest.mark.parametrize("observed", [0.0, 2.0, -3.0, 4.0, 9.0])
def test_p_of_draws_counts_ties_on_each_side(observed):
    draws = np.array([-4.0, -3, -1, 0, 0, 1, 2, 2, 3, np.nan])
    for side, far in (
        ("high", sum(draw >= observed for draw in draws[:9])),
        ("low", sum(draw <= observed for draw in draws[:9])),
        ("both", sum(abs(draw) >= abs(observed) for draw in draws[:9])),
    ):
        assert resampled_p(draws, observed, side) == (1 + far) / 10
    assert resampled_p(draws, np.nan, "both") is resampled_p(draws[9:], 1.0, "both") is None


@pytest.mark.parametrize("bound", [0.1, 9.0])
def test_partitions_of_many_numbers_have_a_normal_band_within_what_is_possible(bound):
    numbers = np.random.default_rng(0).normal(size=41)
    found = partition_null(numbers, 15, 2.0, bound, np.random.default_rng(0), 0, "images")
    reach = 2 * stats.norm.ppf(0.975) * np.sqrt(numbers.var(ddof=1) * (1 / 15 + 1 / 26))
    assert (found.low, found.high) == pytest.approx((-min(reach, bound), min(reach, bound)))


def piece(**rows):
    bound = SimpleNamespace(choices=SimpleNamespace(strata=()), units=lambda _: "rows")
    return OutcomePart(bound, SimpleNamespace(cluster=None, **rows), "correct", GAP, 0, True, ("a group",))


@pytest.mark.parametrize("expected", [0.0, 3.0, -3.0])
def test_the_band_of_exchanged_genders_is_the_central_part_and_holds_the_mean(expected):
    values = np.random.default_rng(0).normal(size=81)
    exchange = SimpleNamespace(values=values, expected=expected)
    found, ordered = piece()._chance(exchange)["null"], np.sort(values)
    assert (found.mean, found.replicates) == (expected, 81)
    assert (found.low, found.high) == pytest.approx((min(ordered[2], expected), max(ordered[78], expected)))


def test_a_gender_of_two_units_has_an_interval_and_one_of_one_has_none():
    rows = OutcomeRates(
        np.ones(3, int), np.zeros(3, int), 1, np.array([False, False, True]), np.zeros(3, int), None
    )
    some = replace(piece(), rows=rows)
    assert some._gender(0)["limits"](0.95) is not None
    assert some._gender(1) == {"reason": "one_cluster"}


@pytest.mark.parametrize("both", [0.5, 1.2])
def test_where_models_are_exchanged_no_improvement_is_below_minus_one(both):
    sums = np.linspace(-0.7, 0.7, 81) if both > 1 else np.append(np.linspace(-0.7, 0, 80), 0.1)
    low, high = Paired(0.1, sums, 0.3, 81).band(0.95)
    found = _exchanged_models(both, Paired(0.1, sums, 0.3, 81), 0)
    ends = [2 * moved / (both - moved) for moved in (low, high)]
    assert (found.low, found.high) == pytest.approx((max(ends[0], -1), max(ends[1], 0)))
    assert (ends[0] < -1) == (both < 1)


@pytest.mark.parametrize("value", [0.9999999999999996, 0.1, 1 / 3])
def test_replicates_that_are_all_alike_have_that_value_as_their_mean(value):
    band = null_band(np.full(9999, value), level=0.95, method="exchanged", seed=0)
    assert (band.mean, band.low, band.high) == (value, value, value)


@pytest.mark.parametrize(
    ("value", "p"), [(0.2, 0.047), (0.2, 0.05), (-0.2333, 1e-9), (0.23329999999999998, 0.01)]
)
def test_a_band_does_not_hold_what_its_test_rejects(value, p):
    null = Null(mean=0.0, low=-0.2333, high=0.2333, method="exchange")
    band = agreeing_band(null, value, p)
    assert not band.low <= value <= band.high
    assert (band.low, band.high)[value < 0] == (null.low, null.high)[value < 0]
    assert agreeing_band(null, value, 0.06) is null
    assert agreeing_band(null, 0.3, p) is null  # outside already
    assert agreeing_band(null, 0.0, p) is null  # no side


@pytest.mark.parametrize(
    ("items", "how"), [(40, "random partitions of the"), (41, "normal with their exact")]
)
def test_partitions_of_up_to_forty_items_are_drawn(items, how):
    numbers = np.random.default_rng(0).normal(size=items)
    null = partition_null(numbers - numbers.mean(), 20, 1.0, 2.0, np.random.default_rng(1), 0, "images")
    assert how in null.method
