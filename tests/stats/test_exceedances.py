"""Shares that reach thresholds: against counting one by one, and against the single-rate kernel."""

import numpy as np

from evenhand.stats.effect_intervals import wilson_interval
from evenhand.stats.exceedances import reached, reached_intervals

CUTS = np.array([0.0, 0.1, 0.25, 0.5, 1.0])


def sample(seed=0, n=300, groups=3):
    rng = np.random.default_rng(seed)
    values = rng.choice([-np.inf, 0.0, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0], n)
    return values, rng.integers(0, groups, n), rng.integers(0, 40, n)


def test_counts_are_those_of_a_loop():
    values, group, _ = sample()
    expected = [[int((values[group == g] >= t).sum()) for t in CUTS] for g in range(3)]
    assert reached(values, group, 3, CUTS).tolist() == expected


def test_no_rows_and_empty_groups():
    nothing = np.zeros(0), np.zeros(0, dtype=np.int64)
    assert reached(*nothing, 2, CUTS).tolist() == [[0] * 5] * 2
    low, high = reached_intervals(*nothing, 2, None, CUTS)
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_without_clusters_it_is_wilsons():
    values, group, _ = sample()
    low, high = reached_intervals(values, group, 3, None, CUTS)
    n = np.bincount(group)[:, None]
    expected = wilson_interval(reached(values, group, 3, CUTS).astype(float), np.broadcast_to(n, low.shape))
    np.testing.assert_allclose(low, expected[0], atol=1e-15)
    np.testing.assert_allclose(high, expected[1], atol=1e-15)


def test_few_clusters_and_clusters_of_one_are_independent_rows():
    values, group, _ = sample()
    plain = reached_intervals(values, group, 3, None, CUTS)
    for cluster in (np.arange(values.size), np.arange(values.size) % 9):
        np.testing.assert_array_equal(reached_intervals(values, group, 3, cluster, CUTS), plain)


def test_subjects_that_are_alike_widen_the_interval():
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(60), 10)
    values = np.repeat(rng.random(60), 10)
    group = np.zeros(600, dtype=np.int64)
    alone = reached_intervals(values, group, 1, None, np.array([0.5]))
    heeded = reached_intervals(values, group, 1, subject, np.array([0.5]))
    assert np.ptp(heeded) > 2.5 * np.ptp(alone)


def test_coverage_of_clustered_intervals():
    """20 subjects of 5 samples, rates of subjects from a beta distribution with mean .3."""
    rng = np.random.default_rng(1)
    inside = plain = 0
    for _ in range(600):
        share = np.repeat(rng.beta(0.6, 1.4, 20), 5)
        values = (rng.random(100) < share).astype(float)
        group, subject = np.zeros(100, dtype=np.int64), np.repeat(np.arange(20), 5)
        low, high = reached_intervals(values, group, 1, subject, np.ones(1))
        inside += int(low[0, 0] <= 0.3 <= high[0, 0])
        low, high = reached_intervals(values, group, 1, None, np.ones(1))
        plain += int(low[0, 0] <= 0.3 <= high[0, 0])
    print(f"covered by subject {inside / 600:.3f}, by sample {plain / 600:.3f}")
    assert 0.92 <= inside / 600 <= 0.98
    assert plain / 600 < 0.85
