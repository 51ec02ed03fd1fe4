"""Units exchanged between groups: levels in small and unequal designs, and what strata explain."""

import numpy as np

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
        small += (found.p_largest() <= 0.05, found.p_below_rest() <= 0.05)
    print(f"gap and worst group: {small} of 100 fair models have p <= .05")
    assert (small <= 12).all()  # 5 expected; above 12 once in 700


def test_a_planted_gap_of_crossed_groups_is_found():
    rng = np.random.default_rng(12)
    rates = [0.4, 0.4, 0.8, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9]
    found = [exchange(crossed(rng, rates), rng, 199).p_largest() <= 0.05 for _ in range(20)]
    assert np.mean(found) >= 0.5


def test_fair_groups_of_unlike_spread_keep_their_level():
    rng, small = np.random.default_rng(5), 0
    group = np.repeat([0, 1], [15, 60])
    for _ in range(200):  # few images make a household's share vary more
        rows = households(rng, group, np.repeat([2, 20], [15, 60]), np.full(2, 0.6))
        small += exchange(rows, rng, 199).p_largest() <= 0.05
    print(f"{small} of 200 fair models have p <= .05")
    assert small <= 20


def test_a_group_without_hits_is_not_taken_for_certain():
    """Of 50 rows that all miss the spread is not 0: other groups' rows tell it."""
    hit = np.zeros(450)
    hit[:20] = 1
    rows = UnitRows(hit, np.repeat([0, 1], [400, 50]), 2)
    found = exchange(rows, np.random.default_rng(0))
    assert found.p_largest() > 0.1
    assert found.quantile_largest() < 2.5


def test_what_strata_explain_is_no_difference():
    rng = np.random.default_rng(2)
    group = np.repeat([0, 1], 400)
    stratum = (rng.random(800) < np.where(group == 0, 0.8, 0.2)).astype(int)
    hit = (rng.random(800) < np.where(stratum == 1, 0.3, 0.8)).astype(float)
    rows = UnitRows(hit, group, 2)
    assert exchange(rows, rng, 999).p_largest() == 0.001
    assert exchange(rows.within(stratum), rng, 999).p_largest() > 0.05
