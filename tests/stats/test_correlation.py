"""Coefficients of correlation: p of orders, intervals of leaving out pairs, where they are undefined."""

import warnings
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.correlation import (
    correlation,
    fisher_interval,
    jackknife_interval,
    kendall,
    pearson,
    pearson_p,
)


@pytest.mark.parametrize("coefficient", [pearson, kendall])
def test_numbers_that_differ_by_rounding_are_equal(coefficient):
    flat = np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = coefficient(np.arange(4.0), flat)
    assert (found.reason, found.n) == ("all values are equal", 4)
    assert np.isnan(found.value)
    assert coefficient(np.arange(4.0), np.zeros(4)).reason == "all values are equal"


def test_small_numbers_are_not_taken_for_equal():
    tiny = 1e-20 * np.array([1.0, 2.0, 3.0, 5.0])
    assert pearson(np.arange(4.0), tiny).value == pytest.approx(0.983, abs=0.001)


def studentised(a, b):
    a, b = a - a.mean(), b - b.mean()
    return abs(a @ b) / np.sqrt(a**2 @ b**2)


@pytest.mark.parametrize("ranks", [False, True])
def test_few_pairs_have_the_p_of_all_their_orders(ranks):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=7), np.append(rng.normal(size=6), np.nan)
    found, first, second = correlation(x, y, rng, ranks=ranks)
    a, b = (stats.rankdata(one[:6]) if ranks else one[:6] for one in (x, y))
    assert (first.tolist(), second.tolist()) == (a.tolist(), b.tolist())
    assert found.value == pytest.approx((stats.spearmanr if ranks else stats.pearsonr)(x[:6], y[:6])[0])
    orders = [np.array(order) for order in permutations(range(6))]
    far = [studentised(a, b[order]) >= studentised(a, b) - 1e-12 for order in orders]
    assert found.p_value == pytest.approx(np.mean(far))


def test_many_pairs_have_the_p_of_orders_drawn_and_never_0():
    line = np.arange(40.0)
    assert correlation(line, line, np.random.default_rng(0))[0].p_value == 1 / 10_000
    x = np.arange(12.0)
    y = np.random.default_rng(3).normal(size=12)
    drawn = correlation(x, y, np.random.default_rng(0))[0].p_value
    orders = [np.random.default_rng(i).permutation(12) for i in range(4000)]
    assert drawn == pytest.approx(
        np.mean([studentised(x, y[o]) >= studentised(x, y) for o in orders]), abs=0.03
    )
    nine = correlation(x[:9], y[:9], np.random.default_rng(0))[0].p_value
    assert nine * 362_880 == pytest.approx(round(nine * 362_880), abs=1e-6)


def test_a_perfect_correlation_is_exactly_one():
    x = np.array([0.1, 0.2, 0.7, 0.3])
    for sign in (1, -1):
        assert correlation(x, sign * 3.3 * x + 0.1, np.random.default_rng(0))[0].value == sign


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_an_interval_is_made_of_leaving_out_each_pair(level):
    rng = np.random.default_rng(1)
    x = rng.normal(size=8)
    y = x + rng.normal(size=8)
    z = np.array([np.arctanh(np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1]) for i in range(8)])
    reach = stats.t.ppf((1 + level) / 2, 6) * np.sqrt(7 / 8 * ((z - z.mean()) ** 2).sum())
    middle = np.arctanh(np.corrcoef(x, y)[0, 1])
    assert jackknife_interval(x, y, level) == pytest.approx(
        (np.tanh(middle - reach), np.tanh(middle + reach))
    )


def test_one_pair_that_makes_or_breaks_a_correlation_leaves_it_open():
    line = np.arange(5.0)
    assert jackknife_interval(line, np.array([0, 1, 2, 3, 0.0])) == (-1.0, 1.0)
    assert jackknife_interval(np.array([0.0, 0, 0, 0, 1]), np.array([1, 2, 3, 4, 9.0])) == (-1.0, 1.0)
    assert jackknife_interval(line, 2 * line) is None
    assert jackknife_interval(line[:3], np.array([0.0, 2, 1])) is None
    assert jackknife_interval(line[:4], np.array([0.0, 2, 1, 1.5])) is not None


def test_published_correlations_have_fishers_interval_and_students_p():
    low, high = fisher_interval(0.5, 28)
    assert (np.arctanh(high) - np.arctanh(low)) / 2 == pytest.approx(stats.norm.ppf(0.975) / 5)
    assert np.arctanh(low) + np.arctanh(high) == pytest.approx(2 * np.arctanh(0.5))
    assert fisher_interval(0.5, 3) is None
    assert fisher_interval(0.5, 4) is not None
    assert fisher_interval(1.0, 9) is None
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 11))
    told = stats.pearsonr(x, y)
    assert pearson_p(told.statistic, 11) == pytest.approx(told.pvalue)
    assert pearson(x, y).p_value == pytest.approx(told.pvalue)


def test_pearsons_r_and_p_are_scipys():
    x, y = np.random.default_rng(0).normal(size=(2, 3)) * 1e-200
    for first, second in ((x, y), (np.arange(9.0), np.arange(9.0) ** 2)):
        theirs = stats.pearsonr(first, second)
        ours = pearson(first, second)
        assert (ours.value, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_three_pairs_are_the_fewest():
    x, y = np.array([1.0, 2, 4]), np.array([1.0, 3, 2])
    assert (pearson(x, y).reason, pearson(x, y).n) == ("", 3)
    assert pearson(x[:2], y[:2]).reason == "fewer than 3 pairs"


def test_all_orders_are_looked_at_up_to_nine_pairs():
    x, y = np.random.default_rng(2).normal(size=(2, 10))
    for n, orders in ((9, 362_880), (10, 10_000)):
        found = [correlation(x[:n], y[:n], np.random.default_rng(seed))[0].p_value for seed in (0, 1)]
        assert [p * orders for p in found] == pytest.approx([round(p * orders) for p in found], abs=1e-6)
        assert (found[0] == found[1]) == (n == 9)
