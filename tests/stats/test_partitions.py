"""Permutation tests: against brute force over all partitions, and that their p is uniform under the null."""

from __future__ import annotations

from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.association.effect_size import effect_size
from evenhand.stats.association.permutation import permutation_test, permutation_tests

RNG = np.random.default_rng(0)


def brute_force(x, y):
    """p right, left and two-sided, and z, from a list of all partitions."""
    both = np.r_[x, y]
    sums = np.array([both[list(chosen)].sum() for chosen in combinations(range(both.size), len(x))])
    s = 2 * sums - both.sum()
    observed = np.sum(x) - np.sum(y)
    slack = 1e-9 * np.abs(both - both.mean()).sum()
    expected = s.mean()
    far = np.abs(s - expected) >= abs(observed - expected) - slack
    p = np.mean(s >= observed - slack), np.mean(s <= observed + slack), far.mean()
    return (*p, (observed - expected) / s.std() if np.ptp(both) else np.nan)


@pytest.mark.parametrize(("n", "m"), [(6, 6), (3, 8), (8, 3), (1, 5), (5, 1), (1, 1), (7, 6), (2, 12)])
@pytest.mark.parametrize("kind", ["normal", "tied", "shifted"])
def test_exact_p_equals_brute_force(n, m, kind):
    rng = np.random.default_rng([n, m])
    x, y = rng.normal(0.5, 1, n), rng.normal(0, 1, m)
    if kind == "tied":
        x, y = x.round(0) / 10, y.round(0) / 10
    if kind == "shifted":
        x, y = 0.3 + 1e-3 * x, 0.3 + 1e-3 * y
    found = permutation_test(x, y, rng=rng)
    right, left, two_sided, z = brute_force(x, y)
    assert (found.method, found.partitions) == ("exact", comb(n + m, n))
    assert found.right == pytest.approx(right, abs=1e-12)
    assert found.left == pytest.approx(left, abs=1e-12)
    assert found.two_sided == pytest.approx(two_sided, abs=1e-12)
    assert found.z == pytest.approx(z, abs=1e-9, nan_ok=True)


def test_exact_p_equals_scipys():
    rng = np.random.default_rng(7)
    x, y = rng.normal(0.4, 1, 9), rng.normal(0, 1, 8)
    found = permutation_test(x, y, rng=rng)
    for alternative, p in (("greater", found.right), ("less", found.left)):
        known = stats.permutation_test(
            (x, y), lambda a, b, axis: a.mean(axis) - b.mean(axis), alternative=alternative,
            n_resamples=np.inf, vectorized=True,
        )  # fmt: skip
        assert p == pytest.approx(known.pvalue, abs=1e-12)


def test_exchanging_sets_exchanges_the_sides():
    rng = np.random.default_rng(8)
    x, y = rng.normal(0.3, 1, 15), rng.normal(0, 1, 20)
    one, other = permutation_test(x, y, rng=rng), permutation_test(y, x, rng=rng)
    assert (one.right, one.left, one.two_sided) == (other.left, other.right, other.two_sided)
    assert one.z == pytest.approx(-other.z, abs=1e-12)
    assert one.partitions == comb(35, 15)


def test_twenty_against_twenty_is_exact_and_agrees_with_sampling():
    rng = np.random.default_rng(9)
    x, y = rng.exponential(size=20) + 0.3, rng.exponential(size=20)
    exact = permutation_test(x, y, rng=rng)
    sampled = permutation_test(x, y, rng=rng, exact_up_to=0)
    assert (exact.method, exact.partitions) == ("exact", 137_846_528_820)
    assert (sampled.method, sampled.partitions) == ("sampled", 100_000)
    for side in ("right", "left", "two_sided"):
        p, q = getattr(exact, side), getattr(sampled, side)
        assert abs(p - q) < 5 * sqrt(p * (1 - p) / 100_000) + 1e-5
    assert sampled.z == exact.z


@pytest.mark.parametrize(
    ("n", "m", "method"), [(20, 20, "exact"), (18, 22, "exact"), (5, 60, "exact"), (21, 20, "sampled")]
)
def test_what_is_exact(n, m, method):
    rng = np.random.default_rng(10)
    found = permutation_test(rng.normal(size=n), rng.normal(size=m), rng=rng, draws=99)
    assert found.method == method
    assert found.partitions == (comb(n + m, n) if method == "exact" else 99)


def test_a_small_set_beside_a_large_one_against_brute_force():
    rng = np.random.default_rng(11)
    x, y = rng.normal(0.5, 1, 2), rng.normal(0, 1, 70)
    found = permutation_test(x, y, rng=rng)
    assert found.method == "exact"
    assert (found.right, found.left, found.two_sided) == pytest.approx(brute_force(x, y)[:3], abs=1e-12)


def test_z_follows_from_d():
    rng = np.random.default_rng(12)
    x, y = rng.normal(size=9), rng.normal(size=14)
    expected = effect_size(x, y, 1) * sqrt(9 * 14 / 23)
    found = permutation_test(x, y, rng=rng)
    assert found.z == pytest.approx(expected, rel=1e-12)
    tails = stats.norm.sf(expected), stats.norm.cdf(expected), 2 * stats.norm.sf(abs(expected))
    assert (found.normal_right, found.normal_left, found.normal_two_sided) == pytest.approx(tails, rel=1e-10)


@pytest.mark.parametrize("exact_up_to", [20, 0])
def test_equal_numbers_say_nothing(exact_up_to):
    for shift in (0, 1e-16):
        x, y = np.full(4, 0.3), np.full(5, 0.3) + shift
        found = permutation_test(x, y, rng=RNG, draws=99, exact_up_to=exact_up_to)
        assert (found.right, found.left, found.two_sided) == (1, 1, 1)
        assert np.isnan(found.z)


@pytest.mark.parametrize(("x", "y"), [([], [1.0, 2.0]), ([1.0], []), ([np.nan], [1.0]), ([1.0], [np.inf])])
def test_what_has_no_p(x, y):
    found = permutation_test(x, y, rng=RNG)
    assert found.method == "undefined"
    assert np.isnan([found.right, found.left, found.two_sided, found.z]).all()


@pytest.mark.parametrize("exact_up_to", [20, 0])
def test_p_is_uniform_where_sets_are_exchangeable(exact_up_to):
    rng = np.random.default_rng(13)
    tests = permutation_tests(
        rng.normal(size=(2000, 6)), rng.normal(size=(2000, 7)), rng=rng, draws=999, exact_up_to=exact_up_to
    )
    for side in ("right", "left", "two_sided"):
        p = np.array([getattr(test, side) for test in tests])
        for alpha in (0.01, 0.05, 0.2, 0.5):
            assert np.mean(p <= alpha) <= alpha + 4 * sqrt(alpha * (1 - alpha) / 2000)
        assert stats.kstest(p, "uniform").statistic < 0.05


def test_every_partition_is_drawn_equally_often():
    x, y = np.array([1.0, 2.0]), np.array([4.0, 8.0, 16.0])  # each sum tells its partition
    both = np.r_[x, y]
    ranks = []
    for chosen in combinations(range(5), 2):
        rest = np.delete(both, chosen)
        found = permutation_test(both[list(chosen)], rest, rng=np.random.default_rng(14), exact_up_to=0)
        ranks.append(found.right)
    np.testing.assert_allclose(np.sort(ranks), np.arange(1, 11) / 10, atol=0.007)


def test_rows_that_cannot_be_tested_do_not_disturb_the_others():
    rng = np.random.default_rng(15)
    x, y = rng.normal(size=(3, 30)), rng.normal(size=(3, 25))
    x[1, 0] = np.nan
    tests = permutation_tests(x, y, rng=np.random.default_rng(0), draws=2000)
    assert [test.method for test in tests] == ["sampled", "undefined", "sampled"]
    alone = permutation_tests(x[[0, 2]], y[[0, 2]], rng=np.random.default_rng(0), draws=2000)
    assert [tests[0], tests[2]] == alone
