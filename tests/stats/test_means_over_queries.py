"""The mean of a figure over queries among exchanged groups: errors, p and limits against loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.rankings.exchange import Means, RankingExchange, UnevenPools
from evenhand.stats.rankings.fairness import RankedPools

QUERIES, DRAWS = 6, 400


def figures(seed=0, shared=0.3):
    rng = np.random.default_rng(seed)
    draws = rng.normal(0.1, 1, (DRAWS, QUERIES)) + rng.normal(0, shared, (DRAWS, 1))
    draws[::7, 2] = np.nan
    return rng.normal(0.9, 0.7, QUERIES), draws


def within(row):
    known = row[~np.isnan(row)]
    return known.var(ddof=1), known.size


def errors(values, draws, common, scale=1.0, scales=None):
    """Of the mean as observed and of each draw: own variance with four queries of the expected one."""
    parts = [within(row) for row in draws]
    expected = np.mean([variance for variance, _ in parts])
    scales = np.ones(len(draws)) if scales is None else scales

    def error(variance, n, scale):
        return np.sqrt((n * variance + 4 * expected) / (n + 4) / n + common * scale)

    own = error(values.var(ddof=1), values.size, scale)
    return own, np.array([error(*part, scale) for part, scale in zip(parts, scales, strict=True)])


@pytest.mark.parametrize("shared", [False, True])
def test_errors_are_those_of_queries_and_of_what_they_have_in_common(shared):
    values, draws = figures()
    found = Means.of(values, draws, shared=shared)
    means = np.nanmean(draws, axis=1)
    expected = np.mean([variance / n for variance, n in map(within, draws)])
    common = means.var() - expected if shared else 0.0
    assert common > 0.05 or not shared
    assert found.common == pytest.approx(common)
    own, each = errors(values, draws, common)
    assert found.error == pytest.approx(own)
    np.testing.assert_allclose(found.errors, each)
    assert (found.value, found.chance, found.queries) == (
        pytest.approx(values.mean()),
        pytest.approx(means.mean()),
        6,
    )


def test_one_query_has_the_error_that_draws_lead_to_expect():
    values, draws = figures()
    found = Means.of(values[:1], draws, shared=False)
    expected = np.mean([variance for variance, _ in map(within, draws)])
    assert found.error == pytest.approx(np.sqrt(4 * expected / 5))
    assert Means.of(values, draws - np.nanmean(draws, axis=1, keepdims=True), shared=True).common == 0


def test_p_and_limits_are_those_of_the_draws_in_standard_errors():
    values, draws = figures()
    found = Means.of(values, draws, shared=True)
    t = (found.value - found.chance) / found.error
    drawn = (found.draws - found.chance) / found.errors
    assert found.p_value("both") == pytest.approx((1 + (np.abs(drawn) >= abs(t)).sum()) / (1 + DRAWS))
    assert found.p_value("high") == pytest.approx(min(1, 2 * (1 + (drawn >= t).sum()) / (1 + DRAWS)))
    assert found.p_value("low") == pytest.approx(min(1, 2 * (1 + (drawn <= t).sum()) / (1 + DRAWS)))
    for level in (0.95, 0.8):
        reach = np.quantile(np.abs(drawn), level, method="higher") * found.error
        assert found.limits("both", level) == pytest.approx((found.value - reach, found.value + reach))


@pytest.mark.parametrize("side", ["high", "low"])
def test_one_sided_limits_reach_to_the_unfair_tail_and_at_least_as_far_as_normal_ones(side):
    """Draws without skewness: then errors do not grow with the distance from chance."""
    values, half = figures(shared=0.0)
    draws = np.concatenate([half, 0.2 - half])
    found = Means.of(values, draws, shared=False)
    sign = 1 if side == "high" else -1
    drawn = np.sort(sign * (found.draws - found.chance) / found.errors)
    unfair = np.quantile(drawn, 0.975, method="higher")
    short = max(stats.norm.ppf(0.975), -np.quantile(drawn, 0.025, method="lower"))
    away = sign * (found.value - found.chance)
    ends = [found.chance + sign * (away + q * found.error) for q in (-unfair, short)]
    assert found.limits(side, 0.95) == pytest.approx(tuple(sorted(ends)))


def test_alike_draws_have_no_limits():
    assert Means.of(np.full(3, 0.5), np.full((9, 3), 0.5), shared=False).limits("both", 0.95) is None
    assert Means.of(np.full(3, 0.5), np.full((9, 3), 0.5), shared=False).p_value("both") == 1.0


def test_what_is_due_to_pools_that_change_is_taken_off():
    values, draws = figures(shared=0.8)
    rng = np.random.default_rng(1)
    like, drawn_like = rng.normal(size=QUERIES), rng.normal(size=(DRAWS, QUERIES))
    drawn_spread, spread = rng.random((DRAWS, QUERIES)) + 0.5, rng.random(QUERIES) + 1
    pools = UnevenPools(drawn_like, like, drawn_spread, spread)
    scales = drawn_spread.mean(axis=1) / drawn_spread.mean()
    assert pools.scales[0] == pytest.approx(spread.mean() / drawn_spread.mean())
    np.testing.assert_allclose(pools.scales[1], scales)
    moved = draws - drawn_like + like
    found = Means.of(values, draws, shared=True, pools=pools)
    np.testing.assert_allclose(found.draws, np.nanmean(moved, axis=1))
    own, each = errors(values, moved, found.common, pools.scales[0], scales)
    assert found.common > 0
    assert found.error == pytest.approx(own)
    np.testing.assert_allclose(found.errors, each)


def test_who_stands_in_no_query_changes_places_with_no_one_who_does():
    labels, order = np.array([0, 0, 1, 1, 1, 0]), np.array([[0, 1, 2, 3]])
    ranked = RankedPools(labels[order], np.zeros((1, 4)), np.ones((1, 4)), 2)
    exchange = RankingExchange(order, ranked, labels, np.arange(6))
    drawn = np.concatenate([pools.codes for pools in exchange.draws(np.random.default_rng(0))])
    assert set((drawn == 0).sum(axis=1)) == {2}
    assert len(np.unique(drawn, axis=0)) == 6


def test_a_limit_away_from_chance_has_the_error_that_skewed_figures_have_there():
    rng = np.random.default_rng(4)
    draws = rng.gamma(2, 0.05, (DRAWS, 1)) + rng.normal(0, 0.02, (DRAWS, QUERIES))
    found = Means.of(rng.normal(0.5, 0.05, QUERIES), draws, shared=True)
    low, high = found.limits("high", 0.95)
    away = found.value - found.chance
    growth = min(stats.skew(found.draws), np.sqrt(8)) * np.sqrt(found.common)
    drawn = (found.draws - found.chance) / found.errors
    unfair, short = (np.quantile(drawn, 0.975, method="higher"), -np.quantile(drawn, 0.025, method="lower"))
    for limit, quantile in ((low, unfair), (high, max(short, stats.norm.ppf(0.975)))):
        x = limit - found.chance
        assert (x - away) ** 2 == pytest.approx(quantile**2 * (found.error**2 + growth * x))
