"""Units exchanged between groups: levels in small and unequal designs, and what strata explain."""

import numpy as np
import pytest

from evenhand.stats.exchange.compared_rates import ComparedRates, ExchangedRates
from evenhand.stats.exchange.rows import UnitRows, exchange

CROSSED = np.repeat(np.arange(11), [38, 19, 5, 40, 70, 45, 20, 4, 12, 2, 32])
"""Households by income and region, about as the paper has them; the smallest group has two."""


def households(rng, group, n, rates, icc=0.1):
    """Images of households, each of which counts once."""
    scale = 1 / icc - 1
    share = rng.beta(rates[group] * scale, (1 - rates[group]) * scale)
    unit = np.repeat(np.arange(group.size), n)
    hit = (rng.random(unit.size) < share[unit]).astype(float)
    return UnitRows(hit, group[unit], int(group.max()) + 1, unit, 1 / n[unit])


def crossed(rng, rates):
    n = np.clip(np.exp(rng.uniform(0, np.log(40), CROSSED.size)).astype(int), 1, 40)
    return households(rng, CROSSED, n, np.asarray(rates))


def test_crossed_groups_of_two_households_keep_their_level():
    rng, small = np.random.default_rng(11), np.zeros(2)
    for _ in range(100):
        found = exchange(crossed(rng, np.full(11, 0.85)), rng, 199)
        small += (found.largest.p_value <= 0.05, found.below_rest().p_value <= 0.05)
    print(f"gap and worst group: {small} of 100 fair models have p <= .05")
    assert (small <= 12).all()  # 5 expected; above 12 once in 700


def test_a_planted_gap_of_crossed_groups_is_found():
    rng = np.random.default_rng(12)
    rates = [0.4, 0.4, 0.8, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9]
    found = [exchange(crossed(rng, rates), rng, 199).largest.p_value <= 0.05 for _ in range(20)]
    assert np.mean(found) >= 0.5


def test_fair_groups_of_unlike_spread_keep_their_level():
    rng, small = np.random.default_rng(5), 0
    group = np.repeat([0, 1], [15, 60])
    for _ in range(200):  # few images make a household's share vary more
        rows = households(rng, group, np.repeat([2, 20], [15, 60]), np.full(2, 0.6))
        small += exchange(rows, rng, 199).largest.p_value <= 0.05
    print(f"{small} of 200 fair models have p <= .05")
    assert small <= 20


def test_a_group_without_hits_is_not_taken_for_certain():
    """Of 50 rows that all miss the spread is not 0: other groups' rows tell it."""
    hit = np.zeros(450)
    hit[:20] = 1
    rows = UnitRows(hit, np.repeat([0, 1], [400, 50]), 2)
    found = exchange(rows, np.random.default_rng(0))
    assert found.largest.p_value > 0.1
    assert found.largest.quantile() < 2.5


def test_what_strata_explain_is_no_difference():
    rng = np.random.default_rng(2)
    group = np.repeat([0, 1], 400)
    stratum = (rng.random(800) < np.where(group == 0, 0.8, 0.2)).astype(int)
    hit = (rng.random(800) < np.where(stratum == 1, 0.3, 0.8)).astype(float)
    rows = UnitRows(hit, group, 2)
    assert exchange(rows, rng, 999).largest.p_value == 0.001
    assert exchange(rows.within(stratum), rng, 999).largest.p_value > 0.05


def loop_variance(value, group, unit, g):
    """The variance of a group's rate: that of its units, blended with four units of the expected one."""
    p = value.mean()
    own = {u: value[unit == u] - p for u in set(unit.tolist())}
    pairs = sum(away.size * (away.size - 1) for away in own.values())
    together = sum(a * b for d in own.values() for i, a in enumerate(d) for j, b in enumerate(d) if i != j)
    alike = min(max(together / pairs / (p * (1 - p)), 0), 1)
    parts = [value[(unit == u) & (group == g)] for u in own]
    parts = [part for part in parts if part.size]
    n, size = len(parts), sum(part.size for part in parts)
    rate = sum(part.sum() for part in parts) / size
    shown = sum((part.sum() - rate * part.size) ** 2 for part in parts) / size**2 * n / max(n - 1, 1)
    expected = sum(part.size**2 * p * (1 - p) * (alike + (1 - alike) / part.size) for part in parts) / size**2
    return (n * shown + 4 * expected) / (n + 4) if n > 1 else expected


@pytest.mark.parametrize("mixed", [0, 5, 9])
def test_variances_are_those_of_a_loop_over_units(mixed):
    """Of nine units so many lie in two of three groups; what they add to both is the covariance."""
    rng = np.random.default_rng(mixed)
    unit = np.repeat(np.arange(9), [2, 7, 3, 9, 5, 4, 6, 8, 3])
    group = (unit + np.where(unit < mixed, np.arange(unit.size) % 2, 0)) % 3
    value = (rng.random(unit.size) < rng.beta(1, 1, 9)[unit]).astype(float)
    found = exchange(UnitRows(value, group, 3, unit), rng, 9).observed
    assert found.variance[0, :, 0] == pytest.approx([loop_variance(value, group, unit, g) for g in range(3)])
    assert (found.covariance is None) == (mixed == 0)
    size, rate = np.bincount(group), np.bincount(group, value) / np.bincount(group)
    for g, h in [(g, h) for g in range(3) for h in range(3) if mixed and g != h]:
        both = sum(
            np.prod([(value[(unit == u) & (group == k)] - rate[k]).sum() / size[k] for k in (g, h)])
            for u in range(mixed)
        )
        units = np.array([len(set(unit[group == k].tolist())) for k in (g, h)])
        assert found.covariance[0, g, h, 0] == pytest.approx(both * (units / (units + 4)).mean())


def test_a_group_of_one_unit_has_the_variance_that_is_expected():
    unit = np.repeat(np.arange(5), [4, 3, 6, 5, 2])
    group = np.array([0, 1, 1, 2, 2])[unit]
    value = np.array([1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0], dtype=float)
    found = exchange(UnitRows(value, group, 3, unit), np.random.default_rng(0), 9).observed
    assert found.variance[0, :, 0] == pytest.approx([loop_variance(value, group, unit, g) for g in range(3)])


def test_a_tenth_of_the_variance_of_a_contrast_always_stays():
    rates, variance = np.array([[[0.5], [0.9]]]), np.array([[[0.04], [0.09]]])
    for shared in (0.03, 0.0575, 0.0589, 0.07):
        covariance = np.array([[[0, shared], [shared, 0]]])[..., None]
        found = ComparedRates(rates, np.ones((2, 1)), variance, covariance)
        t = 0.4 / np.sqrt(max(0.13 - 2 * shared, 0.013))
        assert found.largest()[0] == pytest.approx(t)
        assert found.from_rest[0, :, 0] == pytest.approx([-t, t])


def test_draws_of_other_spread_are_put_on_the_scale_of_the_groups():
    rng = np.random.default_rng(0)
    share = np.array([[0.5], [0.2], [0.3]])
    observed = ComparedRates(np.array([[[0.9], [0.4], [0.7]]]), share, np.array([[[0.02], [0.05], [0.01]]]))
    drawn = ComparedRates(rng.beta(4, 2, (50, 3, 1)), share, rng.uniform(0, 0.03, (50, 3, 1)))
    drawn.variance[7, 1] = 0.0
    found, middle = ExchangedRates(observed, drawn, rescaled=True), 0.5 * 0.9 + 0.2 * 0.4 + 0.3 * 0.7
    expected = np.full((50, 3), middle)
    for r, g in [(r, g) for r in range(50) for g in range(3) if drawn.variance[r, g, 0] > 0]:
        scale = np.sqrt(observed.variance[0, g, 0] / drawn.variance[r, g, 0])
        expected[r, g] += (drawn.rates[r, g, 0] - middle) * scale
    assert expected.min() < 0
    assert expected.max() > 1
    np.testing.assert_allclose(found.rates, np.clip(expected, 0, 1))
    np.testing.assert_array_equal(ExchangedRates(observed, drawn).rates, drawn.rates[..., 0])


def test_the_quantile_of_the_largest_difference_is_one_of_the_draws_and_not_below():
    rng = np.random.default_rng(1)
    rates, variance = rng.random((40, 3)), rng.uniform(0.01, 0.03, (40, 3))
    drawn = ComparedRates(rates[..., None], np.ones((3, 1)), variance[..., None])
    largest = sorted(
        max(abs(rate[g] - rate[h]) / np.sqrt(spread[g] + spread[h]) for g, h in ((0, 1), (0, 2), (1, 2)))
        for rate, spread in zip(rates, variance, strict=True)
    )
    found = ExchangedRates(drawn, drawn)
    assert found.largest.quantile(0.95) == pytest.approx(largest[38])  # 37.05 of 39
    assert found.largest.quantile(0.5) == pytest.approx(largest[20])


def test_many_real_numbers_are_drawn_in_kinds_as_they_are_one_by_one(monkeypatch):
    """20,000 lognormal numbers in unequal groups: each group's mean has the variance of a sample of N."""
    rng = np.random.default_rng(13)
    value, group = rng.lognormal(size=20_000), np.repeat([0, 1, 2], [14_000, 5_000, 1_000])
    rows = UnitRows(value, group, 3, ends=(-np.inf, np.inf))
    found = exchange(rows, rng, 4_000)
    size = np.bincount(group)
    exact = value.var(ddof=1) * (1 / size - 1 / value.size)
    assert (np.abs(found.rates.mean(axis=0) - value.mean()) < 5 * np.sqrt(exact / 4_000)).all()
    np.testing.assert_allclose(found.rates.var(axis=0), exact, rtol=0.12)  # 5 standard errors of a variance
    monkeypatch.setattr("evenhand.stats.exchange.rows._MANY", np.inf)
    single = exchange(rows, rng, 999)
    np.testing.assert_allclose(found.observed.rates, single.observed.rates, rtol=1e-12)
    np.testing.assert_allclose(found.observed.variance, single.observed.variance, rtol=1e-9)
    np.testing.assert_allclose(
        found.drawn.variance.mean(axis=0), single.drawn.variance.mean(axis=0), rtol=0.02
    )
    assert found.largest.p_value == pytest.approx(single.largest.p_value, abs=0.08)
    assert found.largest.quantile() == pytest.approx(single.largest.quantile(), rel=0.06)
