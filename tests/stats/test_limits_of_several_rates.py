"""Both ends of what is made of several rates, against Wilson's limits put together in loops."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.rates.rates import (
    Rates,
    gap_limits,
    mean_limits,
    normal_quantile,
    pair_limits,
    pairwise_quantile,
    range_limits,
    worst_limits,
)
from tests.helpers import wilson

HITS, N = np.array([45.0, 9.0, 70.0]), np.array([50.0, 20.0, 100.0])
LEVELS = (0.95, 0.8)


def limits_at(quantile):
    """Wilson's limits of each rate, a normal quantile away."""
    level = 1 - 2 * stats.norm.sf(quantile)
    return [wilson(hits, n, level) for hits, n in zip(HITS, N, strict=True)]


def newcombe(i, j, quantile):
    """Newcombe's method 10: the difference of rates i and j."""
    p, limits = HITS / N, limits_at(quantile)
    low = np.hypot(p[i] - limits[i][0], limits[j][1] - p[j])
    high = np.hypot(limits[i][1] - p[i], p[j] - limits[j][0])
    return p[i] - p[j] - low, p[i] - p[j] + high


@pytest.mark.parametrize("level", LEVELS)
def test_two_rates_have_newcombes_limits(level):
    rates = Rates.of_rows(HITS[:2], N[:2])
    expected = newcombe(0, 1, stats.norm.isf((1 - level) / 2))
    assert pair_limits(rates, level) == pytest.approx(expected)
    assert np.ravel(range_limits(rates, level)) == pytest.approx(np.clip(expected, 0, 1))


@pytest.mark.parametrize("level", LEVELS)
def test_a_range_lies_between_the_largest_limits_of_all_pairs(level):
    tukey = stats.studentized_range.ppf(level, 3, np.inf) / np.sqrt(2)
    pairs = list(permutations(range(3), 2))
    low = max(0, *(newcombe(i, j, tukey)[0] for i, j in pairs))
    high = max(newcombe(i, j, stats.norm.isf((1 - level) / 2))[1] for i, j in pairs)
    assert np.ravel(range_limits(Rates.of_rows(HITS, N), level)) == pytest.approx((low, high))
    known = range_limits(Rates.of_rows(HITS, N), level, quantile=1.3)
    assert np.ravel(known) == pytest.approx((max(0, *(newcombe(i, j, 1.3)[0] for i, j in pairs)), high))


def test_rates_that_are_not_known_are_left_out_of_a_range():
    with_hole = Rates.of_rows([*HITS, 0], [*N, 0])
    assert np.ravel(range_limits(with_hole)) == pytest.approx(np.ravel(range_limits(Rates.of_rows(HITS, N))))
    assert np.isnan(range_limits(Rates.of_rows([3, 0], [4, 0]))).all()


def test_quantiles_of_all_pairs():
    assert pairwise_quantile(2, 0.95) == pytest.approx(stats.norm.ppf(0.975))
    assert pairwise_quantile(2, 0.95, 4) == pytest.approx(stats.norm.ppf(1 - 0.05 / 4 / 2))
    for groups, level in ((5, 0.9), (3, 0.95), (40, 0.999)):
        theirs = stats.studentized_range.ppf(level, groups, np.inf) / np.sqrt(2)
        assert pairwise_quantile(groups, level) == pytest.approx(theirs, rel=1e-9)
    assert pairwise_quantile(5, 0.95, 3) == pytest.approx(stats.norm.ppf(1 - 0.05 / 3 / (5 * 4)))
    assert normal_quantile(0.9) == pytest.approx(stats.norm.ppf(0.95))


def weighted(weight, limits):
    """MOVER of a weighted sum of independent rates."""
    p = HITS / N
    value, low, high = weight @ p, 0.0, 0.0
    for w, share, (below, above) in zip(weight, p, limits, strict=True):
        low += (w * (share - (below if w > 0 else above))) ** 2
        high += (w * ((above if w > 0 else below) - share)) ** 2
    return value - np.sqrt(low), value + np.sqrt(high)


@pytest.mark.parametrize("level", LEVELS)
def test_weighted_sums_have_the_limits_of_mover(level):
    for weight in (np.array([0.2, 0.3, 0.5]), np.array([1.0, -0.5, -0.5])):
        found = mean_limits(Rates.of_rows(HITS, N), weight, level)
        expected = weighted(weight, limits_at(stats.norm.isf((1 - level) / 2)))
        assert (float(found[0]), float(found[1])) == pytest.approx(expected)


@pytest.mark.parametrize("level", LEVELS)
def test_a_gap_to_the_whole_lies_between_the_largest_limits_of_the_groups(level):
    share = N / N.sum()
    weights = [share - np.eye(3)[i] for i in range(3)]
    low = max(weighted(one, limits_at(stats.norm.isf((1 - level) / 3)))[0] for one in weights)
    high = max(weighted(one, limits_at(stats.norm.isf((1 - level) / 2)))[1] for one in weights)
    found = gap_limits(Rates.of_rows(HITS, N), share, level)
    assert (float(found[0]), float(found[1])) == pytest.approx((max(low, 0), high))
    assert np.isnan(gap_limits(Rates.of_rows([3], [4]), np.ones(1))).all()


@pytest.mark.parametrize("level", LEVELS)
def test_the_worst_rate_lies_between_the_smallest_limits(level):
    low = min(end for end, _ in limits_at(stats.norm.isf((1 - level) / 2)))
    each = (1 - (1 - level) / 2) ** (1 / 3)  # Sidak
    high = min(stats.beta.ppf(each, hits + 0.5, n - hits + 0.5) for hits, n in zip(HITS, N, strict=True))
    for rates in (Rates.of_rows(HITS, N), Rates.of_rows([*HITS, 0], [*N, 0])):
        assert np.ravel(worst_limits(rates, level)) == pytest.approx((low, high))


def test_units_widen_by_the_quantile_of_t():
    for freedom in (3.0, 4.0, 30.0):
        t = stats.t.ppf(0.975, freedom)
        rates = Rates(HITS / N, N, np.full(3, freedom))
        expected = [wilson(hits, n, 1 - 2 * stats.norm.sf(t)) for hits, n in zip(HITS, N, strict=True)]
        low, high = rates.limits(stats.norm.ppf(0.975))
        assert list(zip(low, high, strict=True)) == [pytest.approx(pair, rel=1e-6) for pair in expected]


def test_shared_units_narrow_a_range_of_two():
    p, limits = HITS[:2] / N[:2], limits_at(stats.norm.ppf(0.975))
    r, spread = 0.4, np.array([0.05, 0.1])
    covariance = np.outer(spread, spread) * np.array([[1, r], [r, 1]])
    rates = Rates(p, N[:2], np.full(2, np.inf), covariance)
    arms = [(p[0] - limits[0][0], limits[1][1] - p[1]), (limits[0][1] - p[0], p[1] - limits[1][0])]
    below, above = (np.sqrt(a**2 + b**2 - 2 * r * a * b) for a, b in arms)
    assert pair_limits(rates) == pytest.approx((p[0] - p[1] - below, p[0] - p[1] + above))
    low, high = mean_limits(rates, np.array([0.5, 0.5]))
    (a, c), (b, d) = limits[:2]
    below, above = (
        np.sqrt(x**2 + y**2 + 2 * r * x * y) / 2 for x, y in ((p[0] - a, p[1] - b), (c - p[0], d - p[1]))
    )
    assert (float(low), float(high)) == pytest.approx((p.mean() - below, p.mean() + above))


@pytest.mark.parametrize("quantile", [None, 3.3])
@pytest.mark.parametrize("rows", [3, 30])
def test_limits_of_many_groups_are_those_of_all_their_pairs(monkeypatch, rows, quantile):
    rng = np.random.default_rng(rows)
    n = rng.integers(0, rows, (12, 80)).astype(float)
    n[0, 2:], n[1] = 0, 0  # two groups with rows, and none
    rates = Rates.of_rows(rng.binomial(n.astype(int), 0.8).astype(float), n)
    few = range_limits(rates, 0.95, families=12, quantile=quantile)
    monkeypatch.setattr("evenhand.stats.rates.rates._PAIRED", 80)
    np.testing.assert_array_equal(few, range_limits(rates, 0.95, families=12, quantile=quantile))
