"""Effect sizes of association: against numpy, their bound, leave-one-out, and shares that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.association.effect_size import (
    associations,
    attribute_contributions,
    auc,
    cohens_d,
    effect_bound,
    effect_size,
    effect_sizes,
    has_spread,
    leave_one_attribute_out,
    leave_one_out,
    point_biserial,
    single_category,
    target_contributions,
)

SIZES = [(6, 6), (3, 9), (20, 15), (1, 4), (2, 2)]
each_size = pytest.mark.parametrize(("n", "m"), SIZES)
each_ddof = pytest.mark.parametrize("ddof", [0, 1])
seeds = st.integers(0, 2**32 - 1)


def sample(seed, n=7, m=5):
    rng = np.random.default_rng(seed)
    return rng.normal(0.02, 0.03, n), rng.normal(0, 0.05, m)


def matrix(n=5, m=4, na=3, nb=6, seed=0):
    values = np.random.default_rng(seed).uniform(-1, 1, (n + m, na + nb))
    return values, np.arange(n), n + np.arange(m), np.arange(na), na + np.arange(nb)


def test_associations_are_differences_of_means_in_any_order_of_columns():
    values, _, _, a, b = matrix()
    expected = values[:, :3].mean(axis=1) - values[:, 3:].mean(axis=1)
    np.testing.assert_allclose(associations(values, a, b), expected, rtol=0, atol=1e-15)
    shuffled = np.random.default_rng(1).permutation(9)
    moved = associations(values[:, shuffled], np.argsort(shuffled)[a], np.argsort(shuffled)[b])
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-15)


def test_no_attributes_no_association():
    assert np.isnan(associations(np.ones((2, 3)), [0], [])).all()


@each_size
@each_ddof
def test_d_is_what_numpy_says(n, m, ddof):
    x, y = sample(n, n, m)
    expected = (np.mean(x) - np.mean(y)) / np.std(np.r_[x, y], ddof=ddof)
    assert effect_size(x, y, ddof) == pytest.approx(expected, rel=1e-13)


@given(seeds)
def test_exchanging_either_pair_of_sets_negates_d_and_order_does_not_matter(seed):
    values, x, y, a, b = matrix(seed=seed)
    phi, back = associations(values, a, b), associations(values, b, a)
    d = effect_size(phi[x], phi[y])
    assert effect_size(phi[y], phi[x]) == pytest.approx(-d, abs=1e-12)
    assert effect_size(back[x], back[y]) == pytest.approx(-d, abs=1e-12)
    rng = np.random.default_rng(seed)
    assert effect_size(rng.permutation(phi[x]), rng.permutation(phi[y])) == pytest.approx(d, abs=1e-12)


@given(seeds, st.floats(-3, 3), st.floats(1e-3, 1e3))
def test_d_does_not_depend_on_the_scale_of_associations(seed, shift, factor):
    x, y = sample(seed)
    d = effect_size(x, y)
    assert effect_size(shift + factor * x, shift + factor * y) == pytest.approx(d, abs=1e-9)


@given(seeds, st.integers(1, 12), st.integers(1, 12))
def test_d_stays_within_its_bound_and_reaches_it(seed, n, m):
    x, y = sample(seed, n, m)
    for ddof in (0, 1):
        bound = effect_bound(n, m, ddof)
        if n + m > 2:
            assert abs(effect_size(x, y, ddof)) <= bound * (1 + 1e-12)
        assert effect_size(np.ones(n), np.zeros(m), ddof) == pytest.approx(bound, rel=1e-12)
    assert -1 - 1e-12 <= point_biserial(x, y) <= 1 + 1e-12


def test_bounds_of_the_paper_sizes():
    assert effect_bound(20, 20, 0) == 2
    assert effect_bound(4, 10, 0) == pytest.approx(2.2136, abs=1e-4)
    assert effect_bound(10, 250, 0) == pytest.approx(5.2, abs=1e-12)
    assert effect_bound(6, 6, 1) == pytest.approx(2 * np.sqrt(11 / 12), rel=1e-14)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], [1.0, 2.0]),
        ([1.0], []),
        ([0.3, 0.3], [0.3, 0.3, 0.3]),
        ([0.1 + 0.2], [0.3]),
        ([1e-17, -1e-17], [2e-17, 0.0]),
        ([np.nan, 1.0], [0.0, 2.0]),
        ([np.inf, 1.0], [0.0, 2.0]),
    ],
)
def test_what_has_no_d(x, y):
    assert np.isnan(effect_size(x, y))
    assert np.isnan(point_biserial(x, y))
    assert np.isnan(leave_one_out(x, y)).sum() >= len(x) + len(y) - 2


def test_what_has_no_bound():
    assert np.isnan(effect_bound(0, 4))
    assert np.isnan(effect_bound(1, 0))


@each_size
def test_cohens_d_is_the_t_statistic_and_follows_from_d(n, m):
    x, y = sample(n + m, n, m)
    t = stats.ttest_ind(x, y).statistic
    assert cohens_d(x, y) == pytest.approx(t * np.sqrt(1 / n + 1 / m), rel=1e-12)
    if n == m:
        d0 = effect_size(x, y, 0)
        expected = d0 / np.sqrt(1 - d0**2 / 4) * np.sqrt((n - 1) / n)
        assert cohens_d(x, y) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("x", "y"), [([], [1.0]), ([1.0], [2.0]), ([1.0, 1.0], [2.0, 2.0, 2.0]), ([np.inf, np.inf], [1.0, 1.0])]
)
def test_what_has_no_cohens_d(x, y):
    assert np.isnan(cohens_d(x, y))


def test_auc_is_mann_whitneys_u_over_the_pairs_and_counts_ties_half():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 9, 30) / 10, rng.integers(2, 12, 21) / 10
    assert auc(x, y) == pytest.approx(stats.mannwhitneyu(x, y).statistic / (30 * 21), abs=1e-14)
    assert auc([1, 1], [1]) == 0.5
    assert auc([2], [0, 1]) == 1
    assert np.isnan(auc([], [1]))
    assert np.isnan(auc([np.nan], [1]))


def test_point_biserial_is_a_correlation():
    x, y = sample(8, 10, 4)
    group = np.r_[np.ones(10), np.zeros(4)]
    assert point_biserial(x, y) == pytest.approx(np.corrcoef(np.r_[x, y], group)[0, 1], abs=1e-12)


@each_ddof
def test_single_targets_are_tests_of_their_row(ddof):
    values, _, _, a, b = matrix()
    found = single_category(values, a, b, ddof)
    expected = [effect_size(row[a], row[b], ddof) for row in values]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    flat = np.full((1, 9), 0.3)
    assert np.isnan(single_category(flat, a, b)).all()


def test_many_tests_at_once_are_the_single_ones():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(6, 8)), rng.normal(size=(4, 8))
    x[:, 3] = y[:, 3] = 1
    expected = [effect_size(x[:, k], y[:, k]) for k in range(8)]
    np.testing.assert_allclose(effect_sizes(x, y), expected, rtol=1e-13)
    assert np.isnan(effect_sizes(x, y)[3])


@each_size
@each_ddof
def test_without_each_target_equals_doing_it_again(n, m, ddof):
    x, y = sample(n * m, n, m)
    again = [effect_size(np.delete(x, i), y, ddof) for i in range(n)]
    again += [effect_size(x, np.delete(y, j), ddof) for j in range(m)]
    np.testing.assert_allclose(leave_one_out(x, y, ddof), again, rtol=1e-11, atol=1e-12)


def test_without_the_one_that_made_all_the_spread():
    x, y = np.array([0.2, 0.2, 0.9]), np.array([0.2, 0.2])
    found = leave_one_out(x, y)
    assert np.isnan(found[2])
    assert np.isfinite(np.delete(found, 2)).all()
    x, y = np.array([1e-6, 2e-6, 3e-6, 1.0]), np.array([0.0, 2e-6])
    assert leave_one_out(x, y)[3] == pytest.approx(effect_size(x[:3], y), rel=1e-12)


@each_ddof
def test_without_each_attribute_equals_doing_it_again(ddof):
    values, x, y, a, b = matrix()
    again = []
    for j in range(9):
        phi = associations(values, a[a != j], b[b != j])
        again.append(effect_size(phi[x], phi[y], ddof))
    np.testing.assert_allclose(leave_one_attribute_out(values, x, y, a, b, ddof), again, atol=1e-12)


def test_without_the_last_attribute_there_is_no_d():
    values, x, y, _, _ = matrix(na=1, nb=2)
    assert np.isnan(leave_one_attribute_out(values, x, y, [0], [1, 2])).tolist() == [True, False, False]


@given(seeds)
def test_contributions_add_up_to_the_difference(seed):
    values, x, y, a, b = matrix(seed=seed)
    phi = associations(values, a, b)
    difference = phi[x].mean() - phi[y].mean()
    of_targets = target_contributions(phi[x], phi[y])
    assert of_targets.sum() == pytest.approx(difference, abs=1e-12)
    assert of_targets[:5].sum() == pytest.approx(difference / 2, abs=1e-12)
    assert attribute_contributions(values, x, y, a, b).sum() == pytest.approx(difference, abs=1e-12)


def test_an_attribute_without_part_in_the_difference_adds_nothing():
    values, x, y, a, b = matrix()
    values[:, 1] = 0.4
    assert attribute_contributions(values, x, y, a, b)[1] == pytest.approx(0, abs=1e-15)
    assert np.isnan(attribute_contributions(values, [], y, a, b)).all()
    assert np.isnan(target_contributions([], [1.0, 2.0])).all()


def test_spread_is_more_than_rounding():
    assert has_spread([[0.0, 1e-13], [1e-15, 0.0], [1e6, 1e6 + 1e-9]]).tolist() == [True, False, False]
    assert not has_spread([])


def test_without_the_largest_the_others_vary_by_the_next_largest():
    x, y = np.array([0.0, 0.0, 9.0]), np.array([0.0, 1.0])
    assert leave_one_out(x, y)[2] == pytest.approx(effect_size(x[:2], y))
