"""Chi-squared and its measures of association against scipy, exact fractions and naive loops."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats.contingency import association as scipy_association

from evenhand.stats.arrays import sum_by
from evenhand.stats.contingency.standing_apart import standing_apart
from evenhand.stats.contingency.tables import TableBatch, association, filter_by_expected, range_by_column
from tests.helpers import one_table

SIZES = st.sampled_from([3, 20, 1_000, 1_000_000_000])


@st.composite
def tables(draw, least=2, most=6):
    """Tables whose rows and columns all occur."""
    rows, columns = draw(st.integers(least, most)), draw(st.integers(least, most))
    size = draw(SIZES)
    cells = draw(st.lists(st.integers(0, size), min_size=rows * columns, max_size=rows * columns))
    table = np.array(cells, dtype=np.int64).reshape(rows, columns)
    table[:, 0] += table.sum(axis=1) == 0
    table[0] += table.sum(axis=0) == 0
    return table


def value(table, kind):
    return float(association(one_table(table)).statistic(kind)[0])


def exact_chi2(table):
    cells = [[Fraction(int(x)) for x in row] for row in table]
    rows, columns = [sum(row) for row in cells], [sum(column) for column in zip(*cells, strict=True)]
    n = sum(rows)
    return float(
        sum(
            (cells[i][j] - r * c / n) ** 2 * n / (r * c)
            for i, r in enumerate(rows)
            for j, c in enumerate(columns)
        )
    )


@given(tables())
def test_chi2_equals_scipy(table):
    expected = stats.chi2_contingency(table, correction=False)[0]
    slack = 1e-12 * table.sum()  # scipy itself cancels where chi2 is tiny beside n
    assert association(one_table(table)).chi2[0] == pytest.approx(expected, rel=1e-10, abs=slack)


@given(tables(most=4))
def test_chi2_equals_exact_fractions(table):
    exact = exact_chi2(table)
    assert association(one_table(table)).chi2[0] == pytest.approx(exact, rel=1e-9, abs=1e-12 * table.sum())


@pytest.mark.parametrize("big", [10**6, 10**8, 10**9])
def test_chi2_of_a_nearly_independent_table_with_an_empty_cell(big):
    table = [[big, 3], [4, 0]]
    assert association(one_table(table)).chi2[0] == pytest.approx(exact_chi2(table), rel=1e-9)


def test_chi2_is_never_negative():
    rng = np.random.default_rng(0)
    for _ in range(300):
        table = np.zeros((3, 3), dtype=np.int64)
        table[0], table[:, 0] = rng.integers(1, 9, 3), rng.integers(1, 9, 3)
        table[0, 0] = 10 ** rng.uniform(3, 9)
        assert association(one_table(table)).chi2[0] >= 0, table.tolist()


@given(tables())
def test_v_equals_scipy_association(table):
    assert value(table, "cramers_v") == pytest.approx(scipy_association(table), rel=1e-8, abs=2e-6)


@given(tables())
def test_v_with_yates_equals_the_listing(table):
    chi2 = stats.chi2_contingency(table)[0]
    listed = np.sqrt(chi2 / (table.sum() * (min(table.shape) - 1)))
    assert value(table, "cramers_v_yates") == pytest.approx(listed, rel=1e-8, abs=2e-6)


@given(tables())
def test_measures_are_bounded_and_phi_is_v_times_sqrt_dof(table):
    dof = min(table.shape) - 1
    for kind in ("cramers_v", "cramers_v_yates", "bergsma"):
        measured = value(table, kind)
        assert np.isnan(measured) or 0 <= measured <= 1 + 1e-12
    assert value(table, "phi") == pytest.approx(value(table, "cramers_v") * np.sqrt(dof), rel=1e-12)


@given(tables())
def test_bergsma_equals_a_naive_loop(table):
    n, (rows, columns) = int(table.sum()), table.shape
    expected = 0.0
    for i in range(rows):
        for j in range(columns):
            e = table[i].sum() * float(table[:, j].sum()) / n
            expected += (table[i, j] - e) ** 2 / e
    if n == 1:
        return
    corrected = max(0.0, expected / n - (rows - 1) * (columns - 1) / (n - 1))
    shorter = min(k - (k - 1) ** 2 / (n - 1) for k in table.shape) - 1
    if shorter <= 0:
        assert np.isnan(value(table, "bergsma"))
    else:
        assert value(table, "bergsma") ** 2 == pytest.approx(corrected / shorter, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("table", [[[1573, 3], [4, 0]], [[1, 0], [0, 1]], [[5, 5], [5, 6]]])
def test_yates_is_clipped_at_the_deviation(table):
    assert value(table, "cramers_v_yates") == pytest.approx(0, abs=1e-9)


def test_yates_is_for_counts_not_for_sums_of_confidences():
    sums = np.array([[9.5, 1.5], [7.25, 3.25]])
    assert value(sums, "cramers_v_yates") == value(sums, "cramers_v")
    assert value(sums.astype(int), "cramers_v_yates") < value(sums.astype(int), "cramers_v")


@given(st.lists(tables(most=4), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_a_batch_in_any_cell_order_equals_its_tables_alone(many, random):
    cells = [(t, i, j, table[i, j]) for t, table in enumerate(many) for i, j in np.ndindex(table.shape)]
    random.shuffle(cells)
    table, row, column, n = (np.array(part) for part in zip(*cells, strict=True))
    together = association(TableBatch.from_cells(table, row, column, n, len(many)))
    for kind in ("cramers_v", "cramers_v_yates", "phi", "bergsma"):
        alone = [value(one, kind) for one in many]
        np.testing.assert_array_equal(together.statistic(kind), alone)


def test_duplicate_cells_add_up_and_empty_ones_vanish():
    ones = np.array([0, 0, 0, 0, 0])
    batch = TableBatch.from_cells(
        ones, np.array([0, 0, 1, 0, 5]), np.array([0, 1, 1, 0, 7]), np.array([2, 3, 4, 5, 0]), 1
    )
    assert batch.n.tolist() == [7, 3, 4]
    assert (batch.n_rows[0], batch.n_columns[0], batch.total[0]) == (2, 2, 14)


@pytest.mark.parametrize("table", [[[10], [12]], [[3, 4, 5]], [[9]]])
def test_one_row_or_column_has_no_v(table):
    assert np.isnan(value(table, "cramers_v"))
    assert np.isnan(value(table, "cramers_v_yates"))
    assert np.isnan(value(table, "bergsma"))


def test_a_table_without_cells_is_undefined_beside_others():
    batch = TableBatch.from_cells(np.array([1, 1]), np.array([0, 1]), np.array([0, 1]), np.array([5, 5]), 3)
    tables = association(batch)
    for kind in ("cramers_v", "phi", "bergsma"):
        assert np.isnan(tables.statistic(kind)).tolist() == [True, False, True]


def test_selected_tables_keep_their_values():
    many = np.random.default_rng(0).integers(0, 9, (7, 3, 4)) + 1
    batch = TableBatch.from_dense(many)
    picked = association(batch.select(np.array([1, 4, 5]))).chi2
    np.testing.assert_array_equal(picked, association(batch).chi2[[1, 4, 5]])


@given(tables(), st.sampled_from([0.5, 2, 5, 50]), st.sampled_from(["min", "mean", "max"]))
def test_filter_keeps_the_columns_a_naive_loop_keeps(table, minimum, rule):
    expected = np.outer(table.sum(axis=1), table.sum(axis=0).astype(float)) / table.sum()
    which = {"min": expected.min(axis=0), "mean": expected.mean(axis=0), "max": expected.max(axis=0)}[rule]
    if np.isclose(which, minimum, rtol=1e-12).any():
        return  # on the edge, rounding decides
    kept = table[:, which >= minimum]
    batch = filter_by_expected(one_table(table), minimum, rule)
    assert batch.n_columns[0] == kept.shape[1]
    assert batch.total[0] == kept.sum()
    assert batch.n_rows[0] == (kept.sum(axis=1) > 0).sum()


@given(tables(most=4))
def test_range_by_column_equals_a_naive_loop(table):
    shares = table / table.sum(axis=1, keepdims=True)
    ranges, _, columns = range_by_column(one_table(table))
    np.testing.assert_allclose(ranges, (shares.max(axis=0) - shares.min(axis=0))[columns], atol=1e-15)


@pytest.mark.parametrize(("rule", "least"), [("min", 2.5), ("mean", 4.0), ("max", 5.5)])
def test_a_column_whose_expected_count_is_the_minimum_stays(rule, least):
    batch = one_table([[1, 9], [7, 15]])  # 10 and 22 rows of 32; 8 and 24 of a column
    assert filter_by_expected(batch, least, rule).column_total.tolist() == [8, 24]
    assert filter_by_expected(batch, least + 1e-9, rule).column_total.tolist() == [0, 24]


def test_sums_are_as_many_as_the_largest_index_asks_for():
    assert sum_by(np.array([], dtype=np.int64), np.array([])).shape == (0,)
    assert sum_by(np.array([2, 0, 2]), np.array([1.0, 2.0, 3.0]), 4).tolist() == [2, 0, 4, 0]


def test_sums_of_many_rows_in_order_are_those_of_rows_in_any_order():
    """Indices may be missing, and the last may lie below what is asked for."""
    rng = np.random.default_rng(0)
    index, values = np.sort(rng.choice([0, 2, 3, 7], 30_000)), rng.lognormal(size=30_000)
    expected = [math.fsum(values[index == code]) for code in range(9)]
    mixed = rng.permutation(30_000)
    np.testing.assert_allclose(sum_by(index, values, 9), expected, rtol=1e-14)
    np.testing.assert_allclose(sum_by(index[mixed], values[mixed], 9), expected, rtol=1e-11)
    assert sum_by(index, values).shape == (8,)


def test_the_row_that_stands_apart_and_how_much_of_it_lies_elsewhere():
    """Of two tables, the second without the last row; row 1 answers otherwise than the others."""
    dense = np.array([[[30.0, 10, 5], [10, 25, 5], [31, 9, 6]], [[20, 5, 0], [8, 15, 2], [0, 0, 0]]])
    apart = standing_apart(TableBatch.from_dense(dense))
    moved = chance = 0.0
    for table in dense:
        o, others = table[1], table.sum(axis=0) - table[1]
        n, m = o.sum(), others.sum()
        moved += np.maximum(o - n * others / m, 0).sum()
        p = table.sum(axis=0) / table.sum()
        chance += (n * np.sqrt(p * (1 - p) * (1 / n + 1 / m))).sum() / np.sqrt(2 * np.pi)
    assert (apart.row, apart.n) == (1, 65)
    assert (apart.moved, apart.by_chance) == pytest.approx((moved, chance))
