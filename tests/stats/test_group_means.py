"""Means of values in [0, 1]: their intervals hold, groups are exchanged as they should, rows resampled."""

import numpy as np
import pytest

from evenhand.stats.choices import FEWEST_CLUSTERS
from evenhand.stats.group_means import exchanged_means, mean_intervals, means, resampled_means


def rng(seed=0):
    return np.random.default_rng(seed)


def one_group(values, cluster=None, finest=10):
    low, high = mean_intervals(values, np.zeros(values.size, dtype=np.int64), 1, cluster, finest)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(
    ("n", "k", "a", "b", "alike"),
    [(50, 10, 5, 5, 1), (300, 10, 9, 1, 1), (100, 50, 0.5, 0.1, 1), (200, 10, 3, 1, 2), (100, 10, 3, 1, 4)],
)
def test_intervals_hold(n, k, a, b, alike):
    r, truth, covered = rng(n), a / (a + b), 0
    cluster = np.repeat(np.arange(n // alike), alike)
    for _ in range(1000):
        share = r.beta(a, b, n // alike)[cluster]
        low, high = one_group(r.binomial(k, share) / k, cluster if alike > 1 else None, k)
        covered += low <= truth <= high
    assert 0.925 <= covered / 1000 <= 0.975


def test_ignoring_clusters_does_not_hold():
    r, covered = rng(1), 0
    cluster = np.repeat(np.arange(50), 4)
    for _ in range(500):
        low, high = one_group(r.binomial(10, r.beta(3, 1, 50)[cluster]) / 10, None)
        covered += low <= 0.75 <= high
    assert covered / 500 < 0.8


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_intervals_have_a_width_where_nothing_varies(value):
    low, high = one_group(np.full(20, value))
    assert low <= value <= high
    assert 0.1 < high - low < 0.3


def test_small_groups_are_bounded_and_empty_ones_undefined():
    low, high = mean_intervals(np.array([0.5, 0.2, 0.4]), np.array([0, 2, 2]), 3, None, 10)
    assert np.isnan(low[1])
    assert np.isnan(high[1])
    for code, mean in ((0, 0.5), (2, 0.3)):
        assert 0 <= low[code] < mean < high[code] <= 1


def test_few_clusters_are_taken_for_rows():
    values = rng().random(60)
    few = np.repeat(np.arange(FEWEST_CLUSTERS - 1), 7)[:60]
    assert one_group(values, few) == one_group(values, None)


def test_means_of_groups():
    found = means(np.array([0.0, 1.0, 0.5]), np.array([0, 0, 2]), 3)
    np.testing.assert_array_equal(found, [0.5, np.nan, 0.5])


def test_exchanged_rows_keep_their_sum():
    values, group = rng().random(60), np.repeat([0, 1], [20, 40])
    drawn = exchanged_means(values, group, 2, None, rng(1))
    assert drawn.shape == (9_999, 2)
    np.testing.assert_allclose(drawn @ [20, 40], values.sum())
    assert drawn[:, 0].mean() == pytest.approx(values.mean(), abs=0.005)
    variance = values.var() / 20 * 40 / 59
    assert drawn[:, 0].var() == pytest.approx(variance, rel=0.06)


def test_whole_clusters_change_places():
    values, group = np.repeat(rng().random(30), 5), np.repeat([0, 1], 75)
    cluster = np.repeat(np.arange(30), 5)
    whole = exchanged_means(values, group, 2, cluster, rng(1))[:, 0].std()
    rows = exchanged_means(values, group, 2, None, rng(1))[:, 0].std()
    assert whole / rows == pytest.approx(np.sqrt(5), rel=0.1)


def test_rows_of_clusters_with_several_groups_change_places_within():
    base = np.repeat(np.linspace(0, 0.9, 40), 2)
    values = base + np.tile([0.0, 0.1], 40)  # the second row of each cluster is a little higher
    group, cluster = np.tile([0, 1], 40), np.repeat(np.arange(40), 2)
    drawn = exchanged_means(values, group, 2, cluster, rng(1))
    gap = drawn[:, 1] - drawn[:, 0]
    assert np.abs(gap).max() <= 0.1 + 1e-9  # differences between clusters do not enter
    assert gap.std() == pytest.approx(0.1 / np.sqrt(40), rel=0.05)


def test_exchanged_groups_reject_at_their_level():
    r, rejected = rng(3), 0
    for _ in range(200):
        cluster = np.repeat(np.arange(40), 3)
        values = r.binomial(10, r.beta(2, 1, 40)[cluster]) / 10
        group = (np.arange(40) % 2)[cluster]
        observed = np.ptp(means(values, group, 2))
        null = np.ptp(exchanged_means(values, group, 2, cluster, r)[:500], axis=1)
        rejected += (1 + (null >= observed - 1e-9).sum()) / 501 <= 0.05
    assert rejected / 200 <= 0.1


def test_resampled_clusters_vary_as_means_do():
    cluster = np.repeat(np.arange(100), 3)
    values = np.repeat(rng().random(100), 3)
    group = np.zeros(300, dtype=np.int64)
    alike = resampled_means(values, group, 1, cluster, rng(1))
    assert alike.shape == (999, 1)
    assert alike.std() == pytest.approx(values.std() / 10, rel=0.1)
    assert resampled_means(values, group, 1, None, rng(1)).std() == pytest.approx(
        values.std() / np.sqrt(300), rel=0.1
    )


def test_no_group_runs_empty():
    group = np.array([0] * 50 + [1])
    drawn = resampled_means(rng().random(51), group, 2, np.arange(51) // 2, rng())
    assert np.isfinite(drawn).all()
