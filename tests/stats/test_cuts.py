"""The two sets of groups that stand furthest apart: against plain Python, and what it finds."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

from evenhand.stats.exchange.compared_rates import LEAST_OF_OWN, ComparedRates
from evenhand.stats.exchange.cuts import Cuts, reached_by_chance


def tally(hits, size):
    return ComparedRates.of_rows(
        np.asarray(hits, dtype=float).reshape(-1, len(size), 1), np.asarray(size, dtype=float)[:, None]
    )


def cut_by_hand(hits, size):
    """Every cut of the sorted groups by the test of two proportions, less Blom's expected value."""
    order = sorted(range(len(size)), key=lambda z: hits[z] / size[z])
    p = sum(hits) / sum(size)
    scores = [special.ndtri((i - 0.375) / (len(size) + 0.25)) for i in range(1, len(size) + 1)]
    best = (-np.inf, None)
    for k in range(1, len(size)):
        low, high = order[:k], order[k:]
        a, n = sum(hits[z] for z in low), sum(size[z] for z in low)
        b, m = sum(hits[z] for z in high), sum(size[z] for z in high)
        z = (b / m - a / n) / np.sqrt(p * (1 - p) * (1 / n + 1 / m))
        chance = -sum(scores[:k]) / np.sqrt(k * (1 - k / len(size)))
        best = max(best, (z - chance, frozenset(low)), key=lambda entry: entry[0])
    return best


def test_every_cut_is_that_of_the_test_of_two_proportions():
    rng = np.random.default_rng(0)
    for _ in range(50):
        size = rng.integers(5, 300, rng.integers(2, 9))
        hits = rng.binomial(size, rng.uniform(0.3, 0.9))
        cuts = Cuts.of(tally(hits, size))
        statistic, low = cut_by_hand(hits.tolist(), size.tolist())
        assert cuts.largest[0] == pytest.approx(statistic, rel=1e-9)
        assert set(np.flatnonzero(cuts.lower())) == low


def test_the_allowance_is_what_equal_groups_reach():
    """The mean of 4,000 draws of normal numbers, to their error."""
    rng = np.random.default_rng(1)
    for groups in (2, 3, 8, 23):
        z = np.sort(rng.standard_normal((4_000, groups)), axis=1)
        k = np.arange(1, groups)
        away = -(z - z.mean(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1] / np.sqrt(k * (1 - k / groups))
        assert np.abs(away.mean(axis=0) - reached_by_chance(groups)).max() < 0.05
        assert reached_by_chance(groups) == pytest.approx(reached_by_chance(groups)[::-1])


def test_two_groups_are_the_two_sided_test():
    size, hits = np.array([120, 80]), np.array([100, 50])
    rng = np.random.default_rng(2)
    drawn = rng.multivariate_hypergeometric(size, hits.sum(), size=9_999)
    p = Cuts.of(tally(hits, size)).against(tally(drawn, size)).p_value
    share = hits.sum() / 200
    two_sided = np.mean(np.abs(drawn[:, 0] - 120 * share) >= abs(100 - 120 * share) - 1e-9)
    assert p == pytest.approx((1 + 9_999 * two_sided) / 10_000)


def test_where_nothing_varies_nothing_stands_apart():
    cuts = Cuts.of(tally([[40, 30, 20]] * 3, [40, 30, 20]))
    assert (cuts.apart == 0).all()
    assert np.unique(cuts.largest).size == 1
    assert (cuts.critical(cuts.largest) == 0).all()


def test_groups_without_rows_and_the_order_of_groups_make_no_difference():
    size, hits = np.array([50, 200, 90]), np.array([30, 170, 80])
    assert Cuts.of(tally(hits[::-1], size[::-1])).largest[0] == pytest.approx(
        Cuts.of(tally(hits, size)).largest[0]
    )


def test_a_value_at_its_critical_point_has_its_own_statistic():
    size, hits = np.array([50, 200, 90, 60]), np.array([30, 170, 80, 50])
    cuts = Cuts.of(tally(hits, size))
    assert cuts.critical(cuts.largest)[0] == pytest.approx(cuts.apart[0, cuts.widest - 1])
    values = cuts.critical(np.linspace(-1, 4, 6))
    assert all(low <= high for low, high in pairwise(values))


def test_groups_that_share_units_vary_together():
    """The variance of each cut is that of a sum with weights, at least a tenth of what groups have alone."""
    rng = np.random.default_rng(5)
    trials, hits = np.array([30.0, 60, 45, 20]), np.array([20.0, 30, 40, 12])
    half = rng.normal(size=(4, 6)) / 40
    whole = half @ half.T
    rates, own = hits / trials, np.diag(whole)
    compared = SimpleNamespace(
        rates=rates[None, :, None], variance=own[None, :, None], trials=trials[None, :, None],
        hits=hits[None, :, None], covariance=whole[None, ..., None],
    )  # fmt: skip
    cuts = Cuts.of(compared)
    for k in range(1, 4):
        low, high = cuts.order[0, :k], cuts.order[0, k:]
        weights = np.zeros(4)
        weights[high], weights[low] = trials[high] / trials[high].sum(), -trials[low] / trials[low].sum()
        expected = max(weights @ whole @ weights, LEAST_OF_OWN * (weights**2 @ own))
        assert cuts.error[0, k - 1] ** 2 == pytest.approx(expected)
