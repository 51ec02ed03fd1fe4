"""Means of clusters: intervals against textbook forms, resamples and exchanges against brute force."""

import itertools

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.clustered import (
    Cells,
    ClusterMean,
    Standing,
    correlation_of,
    difference_error,
    difference_interval,
    exchanged_means,
    expected_variance,
    likeness,
    ratio_interval,
    resampled_means,
)
from evenhand.stats.correlation_intervals import correlation, fisher_interval, jackknife_interval
from evenhand.stats.effect_intervals import wilson_interval


def mean_of(values, weights=None, sizes=None, code=None, width=None):
    values = np.asarray(values, dtype=float)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    sizes = np.full(values.size, 50.0) if sizes is None else np.asarray(sizes, dtype=float)
    code = np.arange(values.size) if code is None else np.asarray(code)
    return ClusterMean.of(values * weights, weights, sizes, code, width or int(code.max(initial=-1)) + 1)


def cells_of(values, group, weights=None, cluster=None, sizes=None):
    values = np.asarray(values, dtype=float)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    cluster = np.arange(values.size) if cluster is None else np.asarray(cluster)
    group = np.asarray(group)
    sizes = np.full(values.size, 5.0) if sizes is None else np.asarray(sizes, dtype=float)
    return Cells(values * weights, weights, sizes, cluster, group, int(group.max()) + 1)


VALUES = np.random.default_rng(0).beta(3, 2, 40)
GROUP = np.repeat([0, 1, 2], [10, 20, 10])


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


def test_the_interval_is_that_of_wilson_with_fewer_rows():
    found = mean_of(VALUES)
    n = found.value * (1 - found.value) / found.variance
    level = 2 * stats.norm.cdf(stats.t.ppf(0.975, 39)) - 1
    low, high = wilson_interval(np.array([found.value * n]), np.array([n]), level)
    assert found.interval() == pytest.approx((low[0], high[0]))
    assert n < found.rows


def test_equal_households_do_not_make_an_interval_of_zero_width():
    for value in (0.0, 0.5, 1.0):
        low, high = mean_of([value] * 8).interval()
        assert low <= value <= high
        assert high - low > 0.2
    capped, free = (mean_of([0.5, 0.5001] * 4).interval(capped=capped) for capped in (True, False))
    assert capped[1] - capped[0] > free[1] - free[0]


@pytest.mark.parametrize("values", [[], [0.5]])
def test_fewer_than_two_clusters_have_no_interval(values):
    found = mean_of(values, width=1)
    assert found.interval() is None
    assert difference_interval(found, mean_of(VALUES)) is None
    assert ratio_interval(mean_of([0.5, 0.0]), mean_of([0.0, 0.0])) is None


def test_a_difference_of_independent_means_is_mover():
    first, second = mean_of(VALUES[:20], width=40), mean_of(VALUES[20:], code=np.arange(20, 40), width=40)
    (low_1, high_1), (low_2, high_2) = (m.interval(capped=False) for m in (first, second))
    value = first.value - second.value
    low = value - np.hypot(first.value - low_1, high_2 - second.value)
    high = value + np.hypot(high_1 - first.value, second.value - low_2)
    assert difference_interval(first, second) == pytest.approx((low, high))
    assert correlation_of(first, second) == 0
    assert difference_error(first, second) == pytest.approx(np.sqrt(first.variance + second.variance))


def test_shared_clusters_narrow_a_difference():
    rng = np.random.default_rng(2)
    other = np.clip(VALUES - 0.1 + rng.normal(0, 0.01, 40), 0, 1)
    together = difference_interval(mean_of(VALUES), mean_of(other))
    apart_ = difference_interval(mean_of(VALUES, width=80), mean_of(other, code=np.arange(40, 80)))
    assert together[1] - together[0] < 0.2 * (apart_[1] - apart_[0])
    assert together[0] < VALUES.mean() - other.mean() < together[1]
    assert difference_error(mean_of(VALUES), mean_of(other)) == pytest.approx(
        (VALUES - other).std(ddof=1) / np.sqrt(40)
    )


def test_a_ratio_by_its_logarithm():
    other = VALUES * 0.5
    low, high = ratio_interval(mean_of(VALUES), mean_of(other))
    assert low == pytest.approx(2)  # the same in every household: no spread at all
    assert high == pytest.approx(2)
    low, high = ratio_interval(mean_of(VALUES), mean_of(np.sort(other)))
    assert low < 2 < high


def test_resamples_have_the_mean_and_the_spread_of_the_clusters():
    cells = cells_of(VALUES, GROUP)
    draws = resampled_means(cells, np.random.default_rng(0), 20_000)
    for code, mean in enumerate(cells.means()):
        size = (code == GROUP).sum()
        assert draws[:, code].mean() == pytest.approx(mean.value, abs=0.005)
        assert draws[:, code].var() == pytest.approx(mean.variance * (size - 1) / size, rel=0.05)


def test_resamples_of_clusters_in_several_groups_keep_them_together():
    values = np.concatenate([VALUES[:20], VALUES[:20]])
    cells = cells_of(values, np.repeat([0, 1], 20), cluster=np.tile(np.arange(20), 2))
    assert not cells.nested
    draws = resampled_means(cells, np.random.default_rng(0), 200)
    assert draws[:, 0] == pytest.approx(draws[:, 1])
    mixed = cells_of([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], cluster=[0, 1, 1, 2])
    draws = resampled_means(mixed, np.random.default_rng(0), 500)
    assert np.isfinite(draws).all()


def test_exchanges_are_those_of_a_plain_permutation():
    weights = np.random.default_rng(3).integers(1, 20, 40).astype(float)
    cells = cells_of(VALUES, GROUP, weights)
    found = exchanged_means(cells, np.random.default_rng(0), 4_000)
    rng = np.random.default_rng(9)
    plain = np.empty((4_000, 3))
    for row in plain:
        order = rng.permutation(40)
        row[:] = [np.average(VALUES[order][g == GROUP], weights=weights[order][g == GROUP]) for g in range(3)]
    assert found.means.mean(axis=0) == pytest.approx(plain.mean(axis=0), abs=0.01)
    assert found.means.std(axis=0) == pytest.approx(plain.std(axis=0), rel=0.06)


def test_apart_is_in_errors_that_all_clusters_lead_to_expect():
    n = np.random.default_rng(8).integers(1, 30, 40)
    cells = cells_of(VALUES, GROUP, sizes=n)
    alike, mean = likeness(cells), VALUES.mean()
    noise = mean * (1 - mean) * (alike + (1 - alike) / n)
    assert expected_variance(cells) == pytest.approx(noise)
    for code in range(3):
        inside = code == GROUP
        error = np.sqrt(noise[inside].sum() / inside.sum() ** 2 + noise[~inside].sum() / (~inside).sum() ** 2)
        expected = (VALUES[inside].mean() - VALUES[~inside].mean()) / error
        assert Standing.of(cells).t[code] == pytest.approx(expected)
        assert Standing.of(cells).error[code] == pytest.approx(error)
    assert Standing.of(cells_of([0.5, 0.5, 0.5, 0.5], [0, 0, 1, 1])).t.tolist() == [0, 0]
    assert np.isnan(Standing.of(cells_of([1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1])).t).all()


@pytest.mark.parametrize("icc", [0.02, 0.1, 0.5])
def test_how_alike_the_rows_of_a_cluster_are_is_found(icc):
    rng = np.random.default_rng(7)
    n = rng.integers(1, 60, 4_000)
    scale = 1 / icc - 1
    hits = rng.binomial(n, rng.beta(0.7 * scale, 0.3 * scale, n.size))
    cells = cells_of(hits / n, np.zeros(n.size, dtype=int), sizes=n)
    assert likeness(cells) == pytest.approx(icc, rel=0.1)


CROSSED = np.repeat(np.arange(11), [38, 19, 5, 40, 70, 45, 20, 4, 12, 2, 32])
"""Households by income and region, about as the paper has them; the smallest group has two."""


def crossed(rng, rates, icc=0.1):
    n = np.clip(np.exp(rng.uniform(0, np.log(151), CROSSED.size)).astype(int), 1, 150)
    mean, scale = np.asarray(rates)[CROSSED], 1 / icc - 1
    hits = rng.binomial(n, rng.beta(mean * scale, (1 - mean) * scale))
    return cells_of(hits / n, CROSSED, sizes=n)


def gap_and_worst(cells, rng, draws=299):
    nulls = Standing.of(cells).nulls(cells, exchanged_means(cells, rng, draws))
    rates = np.array([mean.value for mean in cells.means()])
    far = np.ptp(nulls, axis=1) >= np.ptp(rates) - 1e-9
    low = nulls.min(axis=1) <= rates.min() + 1e-9
    return [(1 + far.sum()) / (1 + draws), (1 + low.sum()) / (1 + draws)], nulls


def test_crossed_groups_of_two_households_keep_their_level_and_their_range():
    rng, found = np.random.default_rng(11), []
    for _ in range(200):
        p_values, nulls = gap_and_worst(crossed(rng, np.full(11, 0.85)), rng)
        found.append(p_values)
        assert 0 <= nulls.min() <= nulls.max() <= 1
    share = (np.array(found) <= 0.05).mean(axis=0)
    print(f"gap {share[0]:.3f}, worst group {share[1]:.3f} of 200 fair models have p <= .05")
    assert (share <= 0.1).all()  # 10 of 200 expected; above 20 once in 700


def test_a_planted_gap_of_crossed_groups_is_found():
    rng = np.random.default_rng(12)
    rates = [0.4, 0.4, 0.8, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9]
    found = np.array([gap_and_worst(crossed(rng, rates), rng)[0] for _ in range(30)])
    print(f"gap {(found[:, 0] <= 0.05).mean():.2f}")
    assert (found[:, 0] <= 0.05).mean() >= 0.3
    few = cells_of([0.02] * 6 + [0.98] * 6, np.repeat(np.arange(2), 6), sizes=np.full(12, 50))
    p_values, nulls = gap_and_worst(few, rng, 1_999)
    assert p_values[0] < 0.01
    assert np.ptp(nulls, axis=1).max() <= 1


def test_nulls_have_the_spread_of_each_group():
    rng = np.random.default_rng(4)
    n = np.repeat([1, 100], [20, 200])
    cells = cells_of(rng.binomial(n, 0.6) / n, np.repeat([0, 1], [20, 200]), sizes=n)
    found = exchanged_means(cells, rng, 4_000)
    nulls = Standing.of(cells).nulls(cells, found)
    whole = cells.sums.mean()
    assert nulls.mean(axis=0) == pytest.approx([whole, whole], abs=0.04)
    own = cells.means()[0].variance ** 0.5 * 200 / 220
    assert nulls[:, 0].std() == pytest.approx(own, rel=0.15)
    assert found.means[:, 0].std() < 0.6 * own
    same = cells_of([0.5] * 6, [0, 0, 0, 1, 1, 1])
    assert (Standing.of(same).nulls(same, exchanged_means(same, rng, 9)) == 0.5).all()


def test_groups_of_cells_are_chosen_in_order():
    chosen = cells_of(VALUES, GROUP).only(np.array([2, 0]))
    assert [mean.value for mean in chosen.means()] == pytest.approx([VALUES[30:].mean(), VALUES[:10].mean()])


def test_exchanges_of_fair_groups_of_unlike_spread_keep_their_level():
    rng, found = np.random.default_rng(5), []
    for _ in range(300):
        n = np.repeat([2, 100], [15, 60])  # few images make a household's share vary more
        cells = cells_of(rng.binomial(n, 0.6) / n, np.repeat([0, 1], [15, 60]), sizes=n)
        draws = exchanged_means(cells, rng, 399).apart[:, 0]
        found.append((1 + (np.abs(draws) >= abs(Standing.of(cells).t[0])).sum()) / 400 <= 0.05)
    print(f"p <= .05 in {sum(found)} of 300")
    assert sum(found) <= 32  # 15 expected; an exchange of plain means gives about 85


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
    wide = fisher_interval(plain.statistic, 29, ranks=True)
    assert wide[0] < ends.low
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


def test_noisy_numbers_at_both_ends_are_no_correlation():
    """Rates of poor countries rest on fewer images; Student's t rejects a fifth and more."""
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
        cells = Cells(hits.astype(float), n.astype(float), n.astype(float), np.arange(112), group, 2)
        low, high = difference_interval(*cells.means()[::-1])
        total = np.bincount(group, n)
        rate = np.bincount(group, hits) / total
        reach = 1.96 * np.sqrt((rate * (1 - rate) / total).sum())
        found.append([low <= 0.2 <= high, abs(rate[1] - rate[0] - 0.2) <= reach])
    by_household, by_image = np.mean(found, axis=0)
    print(f"by household {by_household:.3f}, by image {by_image:.3f}")
    assert 0.925 <= by_household <= 0.975
    assert by_image < 0.6
