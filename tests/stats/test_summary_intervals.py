"""Bounds of the mean, median and largest V hold planted truths, and their parts what they promise."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.effect_intervals import phi_squared, score_interval
from evenhand.stats.summary_intervals import (
    Squares,
    largest_ends,
    lower_limits,
    mean_ends,
    median_ends,
    squares,
    upper_limits,
)

SUMMARIES = {
    "mean": (mean_ends, np.mean),
    "median": (median_ends, np.median),
    "largest": (largest_ends, np.max),
}


def facts(tables, classes):
    """Squares of tables (models * classes, R, C), shape (models, classes)."""
    batch = TableBatch.from_dense(tables)
    found = association(batch)
    return squares(found, phi_squared(batch, found)).each(lambda array: array.reshape(-1, classes))


def two_by_two(rng, v, models, n=100):
    """Tables of two equal groups of n rows whose population V are the given ones."""
    right = rng.binomial(n, 0.5 + np.array([[1], [-1]]) * v / 2, size=(models, 2, len(v)))
    return np.stack([right, n - right], axis=3).transpose(0, 2, 1, 3).reshape(-1, 2, 2)


def three_by_six(rng, shift, models):
    """Tables of three groups of 60 whose answers move to a label of their own; and their population V."""
    answers = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    own = np.eye(6)[[1, 2, 3]]
    population = (1 - shift)[:, None, None] * answers + shift[:, None, None] * own
    pooled = population.mean(axis=1, keepdims=True)
    v = np.sqrt(((population**2 / pooled).sum(axis=(1, 2)) / 3 - 1) / 2)
    return rng.multinomial(60, population, size=(models, len(shift), 3)).reshape(-1, 3, 6), v


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("classes", [2, 9, 120])
@pytest.mark.parametrize("spread", ["none", "equal", "even", "rare"])
def test_the_bounds_hold_the_truth(name, classes, spread):
    ends, summarise = SUMMARIES[name]
    spaces = np.linspace(0, 1, classes)
    v = {"none": 0 * spaces, "equal": 0 * spaces + 0.3, "even": 0.6 * spaces, "rare": 0.6 * spaces**4}[spread]
    models = 3000 // classes + 100
    low, high = ends(facts(two_by_two(np.random.default_rng(classes), v, models), classes))
    truth = summarise(v)
    assert (low <= high).all()
    assert ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean() >= 0.94


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_bounds_hold_the_truth_of_wider_tables(name):
    ends, summarise = SUMMARIES[name]
    tables, v = three_by_six(np.random.default_rng(4), np.linspace(0, 0.5, 40), 200)
    low, high = ends(facts(tables, 40))
    assert ((low <= summarise(v)) & (summarise(v) <= high)).mean() >= 0.94
    assert (high - low).mean() < {"mean": 0.1, "median": 0.3, "largest": 0.35}[name]


def test_the_bounds_of_the_mean_close_in_where_classes_are_large():
    v = np.linspace(0.2, 0.4, 100)
    low, high = mean_ends(facts(two_by_two(np.random.default_rng(2), v, 1, n=50_000), 100))
    assert 0.295 < low[0] < 0.3 < high[0] < 0.305


def test_the_limits_of_one_class_are_near_its_score_interval():
    batch = TableBatch.from_dense(np.array([[[60, 30, 10], [35, 45, 20]], [[90, 5, 5], [40, 30, 30]]]))
    found = association(batch)
    known = squares(found, phi_squared(batch, found))
    low, high = score_interval(found, phi_squared(batch, found))
    np.testing.assert_allclose(lower_limits(known, 0.025), low, atol=0.04)
    np.testing.assert_allclose(upper_limits(known, 0.025), high, atol=0.04)
    assert (upper_limits(known, 0.025) >= high).all()


def test_the_lower_limit_inverts_a_noncentral_chi_squared_tail():
    n, degrees, t = 200.0, 4, 0.2
    one = np.array([t])
    known = Squares(
        one,
        one * 0 + 2 * degrees / n**2,
        one * 0 + 4 / n,
        one * 0 + degrees / n,
        one + 1,
        one * 0 + 1,
        one * 0 + 1,
    )
    limit = lower_limits(known, 0.001)[0] ** 2
    # a gamma of the same mean and variance has the slightly longer tail: the limit errs to the safe side
    assert 0.0004 < stats.ncx2.sf((t + degrees / n) * n, degrees, limit * n) < 0.001


def test_the_lower_limit_is_zero_where_chance_makes_the_plain_value():
    found = facts(two_by_two(np.random.default_rng(6), np.zeros(500), 1), 500)
    assert (lower_limits(found, 0.05) > 0).mean() == pytest.approx(0.05, abs=0.03)


def test_a_perfect_table_is_not_taken_as_certain():
    low = lower_limits(facts(np.array([[[15, 0], [0, 15]]]), 1), 1e-4)
    assert 0.2 < low[0, 0] < 0.9


def test_sparse_tables_stretch_their_upper_bounds_and_dense_ones_do_not():
    rng = np.random.default_rng(1)
    sparse = facts(rng.multinomial(50, np.full(200, 1 / 200), size=(5, 2)), 5)
    dense = facts(two_by_two(rng, np.full(5, 0.3), 1, n=2000), 5)
    assert (sparse.stretch > 2).all()
    assert (dense.stretch < 1.01).all()


def test_a_class_without_a_table_counts_as_zero_for_certain():
    batch = TableBatch.from_dense(np.array([[[40, 0], [40, 0]], [[30, 10], [10, 30]], [[30, 10], [10, 30]]]))
    found = association(batch)
    known = squares(found, phi_squared(batch, found))
    assert not any(np.isnan(array).any() for array in vars(known).values())
    low, high = median_ends(known)
    assert low + high > 0
    others = known.each(lambda array: array[1:])
    assert mean_ends(known)[1] < mean_ends(others)[1]
    assert lower_limits(known, 0.1)[0] == upper_limits(known, 0.1)[0] == 0


def test_phi_is_bounded_by_its_own_largest_value():
    tables = np.stack([np.diag([20, 20, 20])] * 4)
    batch = TableBatch.from_dense(tables)
    found = association(batch)
    high = mean_ends(squares(found, phi_squared(batch, found), phi=True))[1]
    assert 1.2 < high <= np.sqrt(2) + 1e-12
