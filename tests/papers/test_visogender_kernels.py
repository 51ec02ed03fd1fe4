"""Correlation, sub-sampling and relabelling against scipy, brute force, and what the paper prints."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from evenhand.benchmarks.papers.visogender.random_rankings import chances, drawn_moments, exact_moments
from evenhand.benchmarks.papers.visogender.subsampling import CellCount, kept_draws, kept_spread
from evenhand.stats.correlation import kendall, pearson, pearson_p

FIVE = ("bias_at_5", "bias_at_10", "max_skew_at_5", "max_skew_at_10", "ndkl")


def test_correlations_equal_scipys_and_leave_out_what_is_unknown():
    rng = np.random.default_rng(3)
    x, y = rng.random(23), rng.integers(0, 6, 23) / 5
    y[4] = np.nan
    kept = ~np.isnan(y)
    r, tau = pearson(x, y), kendall(x, y)
    assert (r.value, r.p_value) == pytest.approx(tuple(stats.pearsonr(x[kept], y[kept])), abs=1e-12)
    known = stats.kendalltau(x[kept], y[kept])
    assert (tau.value, tau.p_value) == pytest.approx((known.statistic, known.pvalue), abs=1e-12)
    assert r.n == tau.n == 22


def test_tau_b_counts_pairs_with_ties_apart():
    x, y = np.array([1.0, 2, 3, 4, 4]), np.array([0.2, 0.2, 0.6, 0.4, 1.0])
    pairs = list(itertools.combinations(range(5), 2))
    signs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in pairs]
    ties = [sum(v[i] == v[j] for i, j in pairs) for v in (x, y)]
    expected = sum(signs) / np.sqrt((len(pairs) - ties[0]) * (len(pairs) - ties[1]))
    assert kendall(x, y).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("coefficient", [pearson, kendall])
def test_a_correlation_that_is_undefined_says_why(coefficient):
    few = coefficient(np.array([1.0, 2, np.nan]), np.array([1.0, 2, 3]))
    even = coefficient(np.arange(4.0), np.ones(4))
    assert np.isnan([few.value, even.value, few.p_value, even.p_value]).all()
    assert (few.reason, even.reason) == ("fewer than 3 pairs", "all values are equal")


@pytest.mark.parametrize(("r", "p"), [(-0.45, 0.031), (-0.53, 0.009), (0.42, 0.046)])
def test_p_of_the_papers_coefficients(r, p):
    assert pearson_p(r, 23) == pytest.approx(p, abs=5e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_closed_form_equals_every_way_to_keep_k(k):
    rng = np.random.default_rng(k)
    cells = [CellCount(rng.integers(0, 2, 5).astype(float), second) for second in (False, True, True)]
    cells.append(CellCount(np.array([0.5, 1.0, 0.0]), False))
    ways = [
        [
            (np.mean(kept) * min(k, c.values.size))
            for kept in itertools.combinations(c.values, min(k, c.values.size))
        ]
        for c in cells
    ]
    size = [sum(min(k, c.values.size) for c in cells if c.second is second) for second in (False, True)]
    average, gap = [], []
    for chosen in itertools.product(*ways):
        first = sum(v for v, c in zip(chosen, cells, strict=True) if not c.second) / size[0]
        other = sum(v for v, c in zip(chosen, cells, strict=True) if c.second) / size[1]
        average.append((first + other) / 2)
        gap.append(first - other)
    found = kept_spread(cells, k)
    assert found.average == pytest.approx(np.mean(average), abs=1e-12)
    assert found.gap == pytest.approx(np.mean(gap), abs=1e-12)
    assert found.average_sd == pytest.approx(np.std(average), abs=1e-12)
    assert found.gap_sd == pytest.approx(2 * found.average_sd, abs=1e-12)


@pytest.mark.parametrize("k", [1, 4])
def test_the_closed_form_of_the_spec_for_complete_data(k):
    rng = np.random.default_rng(0)
    right = rng.integers(0, 6, 46)
    cells = [CellCount(np.repeat([1.0, 0.0], [n, 5 - n]), place % 2 == 1) for place, n in enumerate(right)]
    p = right / 5
    variance = (p * (1 - p)).sum() * (5 - k) / (4 * k) / len(cells) ** 2
    assert kept_spread(cells, k).average_sd ** 2 == pytest.approx(variance, rel=1e-12)
    averages, gaps = kept_draws(cells, k, 4000, np.random.default_rng(1))
    assert averages.std() == pytest.approx(np.sqrt(variance), rel=0.05)
    assert gaps.std() == pytest.approx(2 * np.sqrt(variance), rel=0.05)


@pytest.mark.parametrize(("groups", "least"), [((98, 114), 0.0137), ((80, 101), 0.0087), ((22, 62), 0.0151)])
def test_table_8_cannot_be_of_one_image_kept(groups, least):
    """The least variance has as many cells as can be at 0 or 5: only the rest is spread."""
    built = []
    for second, right in enumerate(groups):
        full, rest = divmod(right, 5)
        counts = [5] * full + [rest] * (rest > 0)
        counts += [0] * (23 - len(counts))
        built += [CellCount(np.repeat([1.0, 0.0], [n, 5 - n]), bool(second)) for n in counts]
    assert kept_spread(built, 1).average_sd == pytest.approx(least, abs=5e-5)


def test_without_one_gender_nothing_is_defined():
    cells = [CellCount(np.ones(5), False)]
    found = kept_spread(cells, 2)
    assert np.isnan([found.average, found.average_sd, found.gap, found.gap_sd]).all()
    assert np.isnan(kept_draws(cells, 2, 3, np.random.default_rng(0))).all()


def test_random_relabelling_gives_the_numbers_of_the_spec():
    null = chances((10, 10), (5, 10), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    exact = {name: exact_moments([null[name]] * 23, rng) for name in FIVE}
    means = {
        "bias_at_5": 0,
        "bias_at_10": 0,
        "max_skew_at_5": 0.2769,
        "max_skew_at_10": 0.1504,
        "ndkl": 0.1675,
    }
    for name, sd, sigma_sd, sigma in zip(
        FIVE,
        (0.0829, 0.0478, 0.0309, 0.0265, 0.0129),
        (0.0563, 0.0335, 0.0223, 0.0164, 0.0110),
        (0.3937, 0.2271, 0.1467, 0.1261, 0.0609),
        strict=True,
    ):
        assert exact[name].mean == pytest.approx(means[name], abs=5e-5)
        assert exact[name].mean_sd == pytest.approx(sd, abs=5e-5)
        assert exact[name].sigma_sd == pytest.approx(sigma_sd, abs=3e-4)  # the paper drew 3,000 times
        assert exact[name].sigma == pytest.approx(sigma, abs=6e-4)
    assert null["bias_at_5"].sd == pytest.approx(0.3974, abs=5e-5)
    assert null["bias_at_10"].sd == pytest.approx(0.2294, abs=5e-5)


def test_shuffled_labels_agree_with_the_exact_null_also_for_uneven_pools():
    pools = [(10, 10), (7, 9), (5, 6), (10, 10)]
    rng = np.random.default_rng(2)
    nulls = {pool: chances(pool, (5, 10), rng) for pool in set(pools)}
    drawn = drawn_moments(pools, (5, 10), 4000, rng)
    for name in FIVE:
        exact = exact_moments([nulls[pool][name] for pool in pools], rng, 40_000)
        assert drawn[name].mean == pytest.approx(exact.mean, abs=5 * exact.mean_sd / np.sqrt(4000))
        assert drawn[name].mean_sd == pytest.approx(exact.mean_sd, rel=0.06)
        assert drawn[name].sigma == pytest.approx(exact.sigma, rel=0.05)
        assert drawn[name].sigma_sd == pytest.approx(exact.sigma_sd, rel=0.08)


def test_a_pool_smaller_than_k_has_no_number():
    drawn = drawn_moments([(3, 3), (10, 10)], (5, 10), 20, np.random.default_rng(0))
    assert np.isnan(drawn["bias_at_10"].mean)
    assert not np.isnan(drawn["bias_at_5"].mean)
