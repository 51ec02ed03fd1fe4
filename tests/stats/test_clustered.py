"""Means of clusters against textbook forms, and correlations whose p and interval hold."""

import itertools

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.correlation import correlation, fisher_interval, jackknife_interval
from evenhand.stats.rates.clustered import (
    ClusterMean,
    GroupCells,
    Jackknife,
    difference_error,
    ratio_interval,
    ratio_variance,
)
from evenhand.stats.rates.rates import Rates, normal_quantile, pair_limits
from tests.helpers import wilson


def mean_of(values, weights=None, sizes=None, code=None, width=None):
    values = np.asarray(values, dtype=float)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    sizes = np.full(values.size, 50.0) if sizes is None else np.asarray(sizes, dtype=float)
    code = np.arange(values.size) if code is None else np.asarray(code)
    return ClusterMean.of(values * weights, weights, sizes, code, width or int(code.max(initial=-1)) + 1)


VALUES = np.random.default_rng(0).beta(3, 2, 40)


def test_equal_weights_give_the_variance_of_a_mean():
    found = mean_of(VALUES)
    assert found.value == pytest.approx(VALUES.mean())
    assert found.variance == pytest.approx(VALUES.var(ddof=1) / 40)
    assert found.effective == pytest.approx(40)
    assert found.rows == pytest.approx(40 * 50)


def test_unequal_weights_give_the_jackknife():
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 200, 40).astype(float)
    found = mean_of(VALUES, weights)
    left_out = np.array([np.average(np.delete(VALUES, i), weights=np.delete(weights, i)) for i in range(40)])
    whole = np.average(VALUES, weights=weights)
    assert found.variance == pytest.approx(39 / 40 * ((left_out - whole) ** 2).sum())
    assert found.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def limits(mean):
    low, high = Rates.of_clusters([mean]).limits(normal_quantile(0.95))
    return float(low[0]), float(high[0])


def test_the_interval_is_that_of_wilson_with_fewer_rows():
    found = mean_of(VALUES)
    n = found.value * (1 - found.value) / found.variance
    level = 2 * stats.norm.cdf(stats.t.ppf(0.975, 39)) - 1
    assert limits(found) == pytest.approx(wilson(found.value * n, n, level))
    assert found.size == pytest.approx(n)
    assert n < found.rows


def test_equal_households_do_not_make_an_interval_of_zero_width():
    for value in (0.0, 0.5, 1.0):
        low, high = limits(mean_of([value] * 8))
        assert low <= value <= high
        assert high - low > 0.2
    assert mean_of([0.5, 0.5001] * 4, sizes=[2.0] * 8).size == pytest.approx(16)  # never more than rows


@pytest.mark.parametrize("values", [[], [0.5]])
def test_fewer_than_two_clusters_say_nothing_of_others(values):
    found = mean_of(values, width=1)
    assert found.size == 0
    if values:
        assert limits(found) == (0, 1)
    assert ratio_interval(mean_of([0.5, 0.0]), mean_of([0.0, 0.0])) is None


def test_shared_clusters_narrow_a_difference():
    rng = np.random.default_rng(2)
    other = np.clip(VALUES - 0.1 + rng.normal(0, 0.01, 40), 0, 1)
    together = pair_limits(Rates.of_clusters([mean_of(VALUES), mean_of(other)]))
    single = [mean_of(VALUES, width=80), mean_of(other, code=np.arange(40, 80))]
    apart_ = pair_limits(Rates.of_clusters(single))
    assert together[1] - together[0] < 0.2 * (apart_[1] - apart_[0])
    assert together[0] < VALUES.mean() - other.mean() < together[1]
    assert difference_error(mean_of(VALUES), mean_of(other)) == pytest.approx(
        (VALUES - other).std(ddof=1) / np.sqrt(40)
    )


def test_cells_of_rows():
    cells = GroupCells.of_rows(
        np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 0]), 2, np.array([7, 7, 7, 9])
    )
    assert cells.sums.tolist() == [1, 1, 1]
    assert cells.sizes.tolist() == cells.weights.tolist() == [2, 1, 1]
    assert cells.group.tolist() == [0, 1, 0]
    assert cells.cluster.tolist() == [0, 0, 1]


def test_a_ratio_by_its_logarithm():
    other = VALUES * 0.5
    low, high = ratio_interval(mean_of(VALUES), mean_of(other))
    assert low == pytest.approx(2)  # the same in every household: no spread at all
    assert high == pytest.approx(2)
    low, high = ratio_interval(mean_of(VALUES), mean_of(np.sort(other)))
    assert low < 2 < high


def of_pairs(x, y, *, ranks=False):
    return correlation(x, y, np.random.default_rng(0), ranks=ranks)[0]


def test_coefficients_and_fisher():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    x[3] = np.nan
    here = ~np.isnan(x)
    found = of_pairs(x, y, ranks=True)
    assert found.value == pytest.approx(stats.spearmanr(x[here], y[here]).statistic)
    assert found.n == 29
    plain = stats.pearsonr(x[here], y[here])
    assert of_pairs(x, y).value == pytest.approx(plain.statistic)
    ends = plain.confidence_interval(0.95)
    assert fisher_interval(plain.statistic, 29) == pytest.approx((ends.low, ends.high))
    assert fisher_interval(1.0, 29) is fisher_interval(0.5, 3) is fisher_interval(np.nan, 29) is None


@pytest.mark.parametrize(("n", "expected"), [(3, 2 / 6), (4, 2 / 24), (5, 2 / 120), (6, 2 / 720)])
def test_few_pairs_in_perfect_order_have_the_p_of_their_orders(n, expected):
    for sign in (1, -1):
        x, y = np.arange(n, dtype=float), sign * np.arange(n) ** 2.0
        found = of_pairs(x, y, ranks=True)
        assert found.value == sign  # not .9999999999999999, which has an interval of no width
        assert found.p_value >= expected - 1e-12
        assert jackknife_interval(np.arange(n, dtype=float), sign * np.arange(n, dtype=float)) is None
    assert fisher_interval(1 - 1e-16, n) is None
    assert of_pairs(np.arange(3.0), np.arange(3.0)).p_value == pytest.approx(2 / 6)


@pytest.mark.parametrize("n", [4, 6, 7])
def test_the_p_of_few_pairs_is_that_of_the_studentised_correlation_in_every_order(n):
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 3, n).astype(float), rng.integers(0, 4, n).astype(float)
    x[:2], y[:2] = (0, 1), (1, 0)

    def t(y):
        a, b = x - x.mean(), y - y.mean()
        return abs((a * b).sum()) / np.sqrt((a**2 * b**2).sum() or np.inf)

    far = [t(np.array(order)) >= t(y) - 1e-9 for order in itertools.permutations(y)]
    found = of_pairs(np.append(x, np.nan), np.append(y, 1.0))
    assert found.p_value == pytest.approx(np.mean(far))


def test_noisy_numbers_at_both_ends_are_no_correlation(monkeypatch):
    """Rates of poor countries rest on fewer images; Student's t rejects a fifth and more."""
    monkeypatch.setattr("evenhand.stats.correlation._DRAWN", 399)
    rng, small, held = np.random.default_rng(1), np.zeros(2), np.zeros(2)
    for _ in range(200):
        x = rng.normal(size=30)
        y = rng.normal(size=30) * np.where(np.abs(x) > 1, 5, 1)
        small += (of_pairs(x, y).p_value <= 0.05, stats.pearsonr(x, y).pvalue <= 0.05)
        ends = jackknife_interval(x, y), fisher_interval(np.corrcoef(x, y)[0, 1], 30)
        held += [low <= 0 <= high for low, high in ends]
    print(f"p <= .05 in {small} of 200, 0 held in {held}: studentised and jackknife, Student and Fisher")
    assert small[0] <= 20
    assert small[1] >= 40
    assert held[0] >= 178
    assert held[1] <= 160


def test_an_interval_that_one_pair_makes_says_nothing():
    x, y = np.array([0.0, 0.0, 1.0, 0.0, 0.0]), np.array([0.1, 0.2, 0.9, 0.3, 0.2])
    assert jackknife_interval(x, y) == (-1, 1)


def test_a_planted_gap_is_held_by_household_and_not_by_image():
    rng, found = np.random.default_rng(6), []
    group = np.repeat([0, 1], [62, 50])
    for _ in range(600):
        n = rng.integers(1, 201, group.size)
        share = rng.beta(*(np.array([[0.6, 0.8], [0.4, 0.2]])[:, group] * 9))
        hits = rng.binomial(n, share)
        cells = GroupCells(hits.astype(float), n.astype(float), n.astype(float), np.arange(112), group, 2)
        low, high = pair_limits(Rates.of_clusters(cells.means()[::-1]))
        total = np.bincount(group, n)
        rate = np.bincount(group, hits) / total
        reach = 1.96 * np.sqrt((rate * (1 - rate) / total).sum())
        found.append([low <= 0.2 <= high, abs(rate[1] - rate[0] - 0.2) <= reach])
    by_household, by_image = np.mean(found, axis=0)
    print(f"by household {by_household:.3f}, by image {by_image:.3f}")
    assert 0.925 <= by_household <= 0.975
    assert by_image < 0.6


def test_rates_that_move_together_leave_a_difference_of_some_width() -> None:
    alike = Rates(np.array([0.6, 0.5]), np.full(2, 40.0), np.full(2, 20.0), np.full((2, 2), 0.006))
    low, high = pair_limits(alike)
    assert low < 0.1 < high


def test_a_ratio_of_two_clusters_has_one_degree_of_freedom():
    x, y = np.array([0.6, 0.62]), np.array([0.5, 0.505])
    each = x / x.mean() - y / y.mean()  # the logarithm of the ratio to first order, cluster by cluster
    reach = stats.t.ppf(0.975, 1) * np.sqrt(each.var(ddof=1) / 2)
    expected = x.mean() / y.mean() * np.exp([-reach, reach])
    assert ratio_interval(mean_of(x), mean_of(y)) == pytest.approx(expected)
    assert ratio_interval(mean_of(x[:1]), mean_of(y[:1])) is None


@pytest.mark.parametrize(
    ("shared", "weights"), [(1, [1, 1, 1, 1]), (2, [9, 1, 1, 1]), (3, [1, 2, 3, 4]), (4, [30, 1, 1, 1])]
)
def test_rates_of_clusters_have_kishs_freedom_and_move_together_from_three_shared_ones(shared, weights):
    rng, weights = np.random.default_rng(shared), np.array(weights, dtype=float)
    codes = np.arange(4), np.arange(4) + 4 - shared
    means = [mean_of(rng.random(4), weights, code=code, width=8) for code in codes]
    found = Rates.of_clusters(means)
    kish = weights.sum() ** 2 / (weights**2).sum()
    assert found.freedom == pytest.approx([max(kish - 1, 1)] * 2)
    together = sum(means[0].shifts[c] * means[1].shifts[c] for c in range(8))
    assert abs(together) > 1e-6
    assert found.covariance[0, 1] == pytest.approx(together if shared > 2 else 0)
    assert np.diagonal(found.covariance) == pytest.approx([mean.variance for mean in means])


def test_a_ratio_has_the_freedom_of_the_side_with_fewer_effective_clusters():
    x, y, weights = VALUES[:6], VALUES[6:12], np.array([20.0, 2, 2, 1, 1, 1])
    first, second = mean_of(x, weights), mean_of(y)
    each = first.shifts / first.value - second.shifts / second.value
    kish = weights.sum() ** 2 / (weights**2).sum()
    reach = stats.t.ppf(0.95, max(kish - 1, 1)) * np.sqrt(sum(each**2))
    for sides, sign in (((first, second), 1), ((second, first), -1)):
        ends = np.log(ratio_interval(*sides, 0.9))
        assert ends == pytest.approx(sign * np.log(first.value / second.value) + np.array([-reach, reach]))


def test_freedom_is_that_of_kishs_clusters_and_one_at_least():
    weights = np.array([[1.0], [1], [1], [2], [30], [1], [2]])
    found = Jackknife.of(0.5 * weights, weights, weights, np.array([0, 4]))
    kish = [25 / 7, 33**2 / (900 + 1 + 4)]
    assert found.effective[:, 0] == pytest.approx(kish)
    assert found.freedom[:, 0] == pytest.approx([25 / 7 - 1, 1.0])


@pytest.mark.parametrize("n", [2, 3, 9])
def test_variances_of_few_clusters_are_those_of_a_loop(n):
    rng = np.random.default_rng(n)
    weights = rng.integers(1, 9, n).astype(float)
    sums = weights * rng.random(n)
    mean = sums.sum() / weights.sum()
    away = sum((s - mean * w) ** 2 for s, w in zip(sums, weights, strict=True)) / weights.sum() ** 2
    squares = tuple(np.array(one) for one in (sums @ sums, sums @ weights, weights @ weights))
    found = ratio_variance(np.array(mean), np.array(weights.sum()), np.array(float(n)), squares)
    assert found == pytest.approx(away * n / (n - 1))
    assert mean_of(sums / weights).variance == pytest.approx((sums / weights).var(ddof=1) / n)
    assert np.isnan(mean_of(sums[:1] / weights[:1]).variance)
