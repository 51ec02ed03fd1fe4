"""The permutation null: Dawson's moments, enumeration of 2x2 tables, and random tables."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.metrics.tables.margin_rates import draw_tables
from evenhand.stats.contingency.null_tables import (
    chi2_of,
    every_table,
    gamma_null,
    log_listed,
    permutation_moments,
)
from evenhand.stats.contingency.tables import association
from tests.helpers import one_table

TINY = [
    [[2, 1], [1, 3]],
    [[1, 0, 2], [0, 3, 1]],
    [[1, 1], [1, 1], [0, 3]],
    [[2, 0, 0], [0, 1, 1], [1, 1, 1]],
    [[4, 0], [0, 1]],
    [[1, 1, 1, 1], [1, 0, 1, 1]],
]


def every_assignment(table):
    """Chi-squared of every assignment of the column labels to the rows."""
    table = np.array(table)
    rows = np.repeat(np.arange(table.shape[0]), table.sum(axis=1))
    columns = np.repeat(np.arange(table.shape[1]), table.sum(axis=0))
    found = []
    for order in permutations(range(columns.size)):
        drawn = np.zeros(table.shape)
        np.add.at(drawn, (rows, columns[list(order)]), 1)
        found.append(drawn)
    return chi2_of(np.array(found), table.sum(1).astype(float), table.sum(0).astype(float))


@pytest.mark.parametrize("table", TINY)
def test_moments_equal_those_of_every_assignment(table):
    batch = one_table(table)
    mean, variance = permutation_moments(batch, association(batch))
    every = every_assignment(table)
    assert mean[0] == pytest.approx(every.mean(), rel=1e-12)
    assert variance[0] == pytest.approx(every.var(), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_moments_agree_with_random_tables(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 12, (3 + seed, 5))
    batch = one_table(table)
    mean, variance = permutation_moments(batch, association(batch))
    drawn = stats.random_table(table.sum(1), table.sum(0)).rvs(20_000, random_state=rng)
    chi2 = chi2_of(drawn, table.sum(1).astype(float), table.sum(0).astype(float))
    assert mean[0] == pytest.approx(chi2.mean(), abs=4 * chi2.std() / np.sqrt(chi2.size))
    assert variance[0] == pytest.approx(chi2.var(), rel=0.05)


def test_moments_of_a_batch_are_those_of_its_tables():
    many = np.random.default_rng(1).integers(1, 9, (6, 3, 4))
    many[2, 1], many[3, :, 2] = 0, 0
    from evenhand.stats.contingency.tables import TableBatch

    batch = TableBatch.from_dense(many)
    together = np.stack(permutation_moments(batch, association(batch)))
    for index, table in enumerate(many):
        alone = one_table(table)
        np.testing.assert_allclose(
            together[:, index], np.concatenate(permutation_moments(alone, association(alone))), rtol=1e-12
        )


@pytest.mark.parametrize("table", [[[5], [4]], [[5, 4]], [[1, 0], [0, 2]], [[1, 0], [0, 1]]])
def test_tables_too_small_for_a_gamma_have_none(table):
    batch = one_table(table)
    assert np.isnan(gamma_null(*permutation_moments(batch, association(batch)))).all()


def test_gamma_has_the_moments():
    batch = one_table(np.random.default_rng(2).integers(1, 9, (4, 6)))
    mean, variance = permutation_moments(batch, association(batch))
    shape, scale = gamma_null(mean, variance)
    null = stats.gamma(shape, scale=scale)
    assert null.mean() == pytest.approx(mean)
    assert null.var() == pytest.approx(variance)


margin = st.integers(1, 40)


@given(st.tuples(margin, margin, margin, margin))
def test_every_2x2_table_equals_the_hypergeometric(cells):
    a, b, c, d = cells
    n, row, column = a + b + c + d, a + b, a + c
    upper_left = np.arange(max(0, row + column - n), min(row, column) + 1)
    weight = stats.hypergeom(n, row, column).pmf(upper_left)
    chi2 = (upper_left - row * column / n) ** 2 * n**3 / (row * (n - row) * column * (n - column))
    values, probability = every_table(np.array([a + b, c + d], float), np.array([a + c, b + d], float))
    order = np.argsort(chi2, kind="stable")
    np.testing.assert_allclose(values, chi2[order], rtol=1e-9, atol=1e-9)
    assert probability.sum() == pytest.approx(1, rel=1e-12)
    observed = stats.chi2_contingency([[a, b], [c, d]], correction=False)[0] - 1e-7
    assert probability[values >= observed].sum() == pytest.approx(weight[chi2 >= observed].sum(), rel=1e-8)


def test_the_tail_of_2x2_tables_is_fishers_test_where_margins_are_equal():
    table = np.array([[8.0, 2], [3, 7]])
    values, probability = every_table(table.sum(1), table.sum(0))
    observed = stats.chi2_contingency(table, correction=False)[0]
    at_least = probability[values >= observed - 1e-9].sum()
    assert at_least == pytest.approx(stats.fisher_exact(table)[1], rel=1e-9)


def test_every_2x2_table_of_large_counts_stays_finite():
    values, probability = every_table(np.array([50_300.0, 402_000]), np.array([450_000.0, 2_300]))
    assert np.isfinite(values).all()
    assert probability.sum() == pytest.approx(1)
    mean = (values * probability).sum()
    assert mean == pytest.approx(452_300 / 452_299, rel=1e-6)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_drawn_tables_keep_their_margins(rows, width, seed):
    rng = np.random.default_rng(seed)
    columns = rng.multinomial(sum(rows), np.ones(width) / width)
    columns = columns[columns > 0].astype(float)
    drawn = draw_tables(rng, np.array(rows, dtype=float), columns, 7)
    assert drawn.shape == (7, len(rows), columns.size)
    assert (drawn >= 0).all()
    np.testing.assert_array_equal(drawn.sum(axis=2), np.broadcast_to(rows, (7, len(rows))))
    np.testing.assert_array_equal(drawn.sum(axis=1), np.broadcast_to(columns, (7, columns.size)))


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1)])
def test_tables_of_one_row_or_column_are_their_margins(shape):
    table = np.arange(1, 1 + shape[0] * shape[1]).reshape(shape)
    drawn = draw_tables(np.random.default_rng(0), table.sum(1).astype(float), table.sum(0).astype(float), 4)
    np.testing.assert_array_equal(drawn, np.broadcast_to(table, (4, *shape)))


def test_drawn_tables_are_uniform_over_assignments():
    table = np.array([[2, 1], [1, 3]])
    rows, columns = table.sum(1).astype(float), table.sum(0).astype(float)
    drawn = draw_tables(np.random.default_rng(5), rows, columns, 30_000)[:, 0, 0]
    expected = stats.hypergeom(7, 3, 3).pmf(np.arange(4)) * drawn.size
    assert stats.chisquare(np.bincount(drawn, minlength=4), expected).pvalue > 1e-3


def test_equal_generators_draw_equal_tables():
    rows, columns = np.array([4.0, 6.0]), np.array([3.0, 5.0, 2.0])
    first, second = (draw_tables(np.random.default_rng(9), rows, columns, 5) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def exact_tail(rows, columns, observed):
    values, probability = every_table(rows, columns)
    assert (np.diff(values) >= 0).all()
    return probability[values >= observed].sum()


@pytest.mark.parametrize("table", TINY)
def test_the_exact_tail_is_that_of_every_assignment(table):
    every, (rows, columns) = every_assignment(table), (np.sum(table, axis=side) * 1.0 for side in (1, 0))
    for chi2 in np.unique(every.round(9)):
        expected = (every >= chi2 - 1e-8).mean()
        assert exact_tail(rows, columns, chi2 - 1e-8) == pytest.approx(expected, rel=1e-12)
    assert exact_tail(rows, columns, every.max() + 1) == 0


def test_the_exact_tail_of_wide_tables_is_that_of_tables_drawn():
    rows, columns = np.array([10.0, 24, 17]), np.array([9.0, 30, 5, 7])
    drawn = chi2_of(draw_tables(np.random.default_rng(0), rows, columns, 40_000), rows, columns)
    for chi2 in (6.0, 12.0):
        error = 4 * np.sqrt((drawn >= chi2).mean() / drawn.size)
        assert exact_tail(rows, columns, chi2) == pytest.approx((drawn >= chi2).mean(), abs=error)
    assert log_listed(rows, columns) == pytest.approx(
        np.log(21 * 36 * 55 * 3)
    )  # ways of 5, 7 and 9 in three rows


def test_the_exact_tail_of_two_columns_of_many_rows_is_the_hypergeometric():
    rows, columns = np.array([3_000.0, 5_000]), np.array([7_900.0, 100])
    law, hits = stats.hypergeom(8_000, 3_000, 100), np.arange(101)
    far = (hits - 37.5) ** 2 * 8_000**3 / (3_000 * 5_000 * 7_900 * 100)
    for chi2 in (3.84, 30.0, 60.0):
        assert exact_tail(rows, columns, chi2) == pytest.approx(law.pmf(hits)[far >= chi2].sum(), rel=1e-6)


def test_the_exact_tail_of_many_rows_with_three_mistakes_in_one_of_them():
    rows, columns = np.full(30, 10.0), np.array([297.0, 3])
    expected = (
        30 * (10 * 9 * 8) / (300 * 299 * 298)
    )  # all three in one row, as far from chance as they can be
    observed = chi2_of(
        np.stack([10 - 3.0 * (np.arange(30) == 0), 3.0 * (np.arange(30) == 0)], 1)[None], rows, columns
    )
    assert exact_tail(rows, columns, float(observed[0]) - 1e-9) == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_more_ways_than_a_float_holds_are_too_many():
    assert log_listed(np.ones(2_000), np.full(10, 200.0)) > np.log(10**9)
