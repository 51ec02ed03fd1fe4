"""Rates of groups at one threshold and at many: against counting one by one, and by cluster."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.rates.rates import Rates, group_rates, normal_quantile
from evenhand.stats.rates.thresholds import reached, reached_rates
from tests.helpers import wilson

CUTS = np.array([0.0, 0.1, 0.25, 0.5, 1.0])
Z = normal_quantile(0.95)


def sample(seed=0, n=300, groups=3):
    rng = np.random.default_rng(seed)
    values = rng.choice([-np.inf, 0.0, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0], n)
    return values, rng.integers(0, groups, n), rng.integers(0, 40, n)


def test_counts_are_those_of_a_loop():
    values, group, _ = sample()
    expected = [[int((values[group == g] >= t).sum()) for t in CUTS] for g in range(3)]
    assert reached(values, group, 3, CUTS).tolist() == expected


@pytest.mark.parametrize("cluster", [None, np.zeros(0, dtype=np.int64)])
def test_no_rows_and_empty_groups(cluster):
    nothing = np.zeros(0), np.zeros(0, dtype=np.int64)
    assert reached(*nothing, 2, CUTS).tolist() == [[0] * 5] * 2
    rates = reached_rates(*nothing, 2, cluster, CUTS)
    assert np.isnan(rates.value).all()
    assert np.isnan(rates.limits(Z)).all()


def test_rows_that_are_their_own_units_have_wilsons_limits():
    values, group, _ = sample()
    low, high = reached_rates(values, group, 3, None, CUTS).limits(Z)
    n = np.broadcast_to(np.bincount(group)[:, None], (3, CUTS.size))
    expected = np.vectorize(wilson)(reached(values, group, 3, CUTS).astype(float), n)
    np.testing.assert_allclose(low.T, expected[0], atol=1e-12)
    np.testing.assert_allclose(high.T, expected[1], atol=1e-12)


def test_many_thresholds_are_each_threshold_by_itself(monkeypatch):
    values, group, cluster = sample()
    for cells in (8_000_000, 80):  # the second: two thresholds at a time
        monkeypatch.setattr("evenhand.stats.rates.thresholds._CELLS", cells)
        many = reached_rates(values, group, 3, cluster, CUTS)
        for place, cut in enumerate(CUTS):
            one = group_rates((values >= cut).astype(float), group, 3, cluster)
            np.testing.assert_allclose(many.value[place], one.value, atol=1e-15)
            np.testing.assert_allclose(many.size[place], one.size, rtol=1e-9)
            np.testing.assert_allclose(many.freedom[place], one.freedom, rtol=1e-12)


def test_nine_clusters_are_nine_units():
    """Fewer than ten used to count as independent rows: half of all intervals missed the truth."""
    values = np.repeat([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 40)
    rates = group_rates(values, np.zeros(360, dtype=np.int64), 1, np.repeat(np.arange(9), 40))
    assert rates.size[0] == pytest.approx(8)  # p (1 - p) over the sample variance of nine shares
    assert rates.freedom[0] == pytest.approx(8)
    low, high = rates.limits(Z)
    assert low[0] < 0.12
    assert high[0] > 0.65


@pytest.mark.parametrize("hit", [0.0, 1.0])
def test_where_all_clusters_agree_each_counts_once(hit):
    """Rates of 0 and 1 used to take every row for a unit."""
    rates = group_rates(np.full(400, hit), np.zeros(400, dtype=np.int64), 1, np.repeat(np.arange(20), 20))
    assert rates.size[0] == pytest.approx(20)
    low, high = rates.limits(Z)
    assert (high - low)[0] > 0.15


def test_one_cluster_says_nothing_of_others():
    group = np.repeat([0, 1], 20)
    cluster = np.where(group == 0, np.arange(40), 99)
    rates = group_rates(np.tile([0.0, 1.0], 20), group, 2, cluster)
    low, high = rates.limits(Z)
    assert (low[1], high[1]) == (0, 1)
    assert high[0] - low[0] < 0.5
    assert reached_rates(np.tile([0.0, 1.0], 20), group, 2, cluster, np.ones(1)).size[0, 1] == 0


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_limits_of_independent_rows_equal_scipys(n, share, level):
    hits = round(n * share)
    expected = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    low, high = Rates.of_rows([hits], [n]).limits(normal_quantile(level))
    assert low[0] == pytest.approx(expected.low, abs=1e-12)
    assert high[0] == pytest.approx(expected.high, abs=1e-12)


def test_a_rate_without_rows_is_undefined_and_no_limits_have_zero_width():
    low, high = Rates.of_rows([0, 0, 5], [0, 5, 5]).limits(Z)
    assert np.isnan([low[0], high[0]]).all()
    assert (high[1:] - low[1:] > 0.1).all()


def test_weights_that_go_with_the_outcome_keep_coverage_where_kish_loses_it():
    """Misses weigh three times as much: the linearised variance heeds it, Kish's size does not."""
    rng, inside = np.random.default_rng(4), np.zeros(2)
    truth = 0.8 / (0.8 + 0.2 * 3)
    for _ in range(400):
        hit = (rng.random((3, 80)) < 0.8).astype(float)
        weight = rng.lognormal(0, 0.7, hit.shape) * np.where(hit > 0, 1, 3)
        sums, squares = (weight * hit).sum(axis=1), weight**2
        parts = sums, weight.sum(axis=1), squares.sum(axis=1)
        for number, rates in enumerate(
            (Rates.of_weights(*parts), Rates.of_survey(*parts, (squares * hit).sum(axis=1), np.full(3, 80.0)))
        ):
            low, high = rates.limits(1.96)
            inside[number] += ((low <= truth) & (truth <= high)).mean()
    assert inside[0] / 400 < 0.93
    assert inside[1] / 400 >= 0.93
