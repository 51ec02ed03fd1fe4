"""Many contingency tables at once, as sorted occupied cells, and their measures of association."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Codes, Ends, Floats, Integers, codes_of, ratio, run_starts, sum_by

_DENSE_LIMIT = 1 << 26  # margins are counted in one dense array up to this many possible columns,
_SPARSE = 16  # and up to this many for each occupied cell


def looked_up(keys: Codes, values: Floats, key: Codes) -> Floats:
    """Values by ascending keys; 0 where a key does not occur."""
    if not keys.size:
        return np.zeros(key.size)
    piece = np.minimum(np.searchsorted(keys, key), keys.size - 1)
    return np.where(keys[piece] == key, values[piece], 0.0)


@dataclass(frozen=True, eq=False)
class TableBatch:
    """T contingency tables (rows: groups, columns: predictions) as K occupied cells.

    Only rows and columns that occur in a table belong to it, so tables differ in shape and zero rows
    and columns cannot arise.
    """

    table: Codes  # index of each cell's table, shape (K,), sorted
    row: Codes  # row of each cell, sorted within its table
    column: Codes  # column of each cell, sorted within its row
    n: Floats  # count (or weight) of each cell, > 0
    n_tables: int  # T; tables without any cell are allowed
    integral: bool = True  # whether the cells are counts; Yates' correction is meant for counts only

    @classmethod
    def from_cells(
        cls, table: Codes, row: Codes, column: Codes, n: npt.NDArray[np.generic], n_tables: int
    ) -> TableBatch:
        """Sort cells, add up duplicates and leave out empty ones."""
        integral = bool(np.issubdtype(n.dtype, np.integer))
        weights = n.astype(np.float64)
        keep = weights > 0
        table, row, column, weights = table[keep], row[keep], column[keep], weights[keep]
        order = np.lexsort((column, row, table))
        table, row, column, weights = table[order], row[order], column[order], weights[order]
        first = run_starts(table, row, column)
        if first.size < table.size:
            weights = np.add.reduceat(weights, first)
            table, row, column = table[first], row[first], column[first]
        return cls(table, row, column, weights, n_tables, integral)

    @classmethod
    def from_dense(cls, tables: npt.NDArray[np.generic]) -> TableBatch:
        """Tables of shape (T, R, C)."""
        table, row, column = np.nonzero(tables)
        return cls.from_cells(table, row, column, tables[table, row, column], len(tables))

    @cached_property
    def row_start(self) -> Codes:
        """First cell of every occupied row, shape (rows of all tables,)."""
        return run_starts(self.table, self.row)

    @cached_property
    def row_of_cell(self) -> Codes:
        """Index of each cell's occupied row, shape (K,)."""
        sizes = np.diff(np.append(self.row_start, self.table.size))
        return np.repeat(np.arange(self.row_start.size), sizes)

    @cached_property
    def _width(self) -> int:
        return int(self.column.max()) + 1 if self.column.size else 1

    @cached_property
    def _dense(self) -> bool:
        """Whether (table, column) pairs are numbered as they come: few enough, and mostly occupied."""
        return self.n_tables * self._width <= min(_DENSE_LIMIT, _SPARSE * self.table.size)

    @cached_property
    def column_of_cell(self) -> Codes:
        """Index of each cell's (table, column) pair, shape (K,); indices need not be contiguous."""
        key = self.table.astype(np.int64) * self._width + self.column
        if self._dense:
            return key
        return codes_of(key)

    @cached_property
    def row_total(self) -> Floats:
        """Count of every occupied row."""
        return np.add.reduceat(self.n, self.row_start) if self.n.size else np.zeros(0)

    @cached_property
    def row_table(self) -> Codes:
        """Table of every occupied row."""
        return self.table[self.row_start]

    @cached_property
    def column_total(self) -> Floats:
        """Count of every (table, column) pair; 0 where a pair does not occur."""
        return sum_by(self.column_of_cell, self.n)

    @cached_property
    def column_table(self) -> Codes:
        """Table of every (table, column) pair; 0 where a pair does not occur."""
        if self._dense:  # column_of_cell is table * width + column
            return np.arange(self.column_total.size) // self._width
        owner = np.zeros(self.column_total.size, dtype=np.int64)
        owner[self.column_of_cell] = self.table
        return owner

    @cached_property
    def inverse_margins(self) -> Ends:
        """Sum of one over the rows' counts, and over the columns', shape (T,) each."""
        some = self.column_total > 0
        columns = sum_by(self.column_table[some], 1 / self.column_total[some], self.n_tables)
        return sum_by(self.row_table, 1 / self.row_total, self.n_tables), columns

    @cached_property
    def total(self) -> Floats:
        """Count of every table, shape (T,)."""
        return sum_by(self.row_table, self.row_total, self.n_tables)

    @cached_property
    def n_rows(self) -> Codes:
        """Rows that occur in every table, shape (T,)."""
        return np.bincount(self.row_table, minlength=self.n_tables)

    @cached_property
    def n_columns(self) -> Codes:
        """Columns that occur in every table, shape (T,)."""
        occupied = self.column_total > 0
        return np.bincount(self.column_table[occupied], minlength=self.n_tables)

    def sum_over_tables(self, values: Floats) -> Floats:
        """Sum of one value per cell, for every table, shape (T,)."""
        sums = np.zeros(self.n_tables)
        if values.size:
            start = run_starts(self.table)
            sums[self.table[start]] = np.add.reduceat(values, start)
        return sums

    def select(self, tables: Codes) -> TableBatch:
        """The given tables, renumbered 0, 1, ... in the order given (which must be sorted)."""
        if len(tables) == self.n_tables:
            return self
        number = np.full(self.n_tables, -1)
        number[tables] = np.arange(len(tables))
        keep = number[self.table] >= 0
        picked = number[self.table[keep]]
        return TableBatch(picked, self.row[keep], self.column[keep], self.n[keep], len(tables), self.integral)

    def places(self, table: Codes, row: Codes, column: Codes) -> Integers:
        """The cell that each piece of other data lies in; -1 where it is in none."""
        if not self.table.size:
            return np.full(table.size, -1, dtype=np.int64)
        depth = 1 + max(int(self.row.max()), int(row.max(initial=0)))
        width = 1 + max(int(self.column.max()), int(column.max(initial=0)))
        own_keys = (self.table.astype(np.int64) * depth + self.row) * width + self.column
        keys = (table.astype(np.int64) * depth + row) * width + column
        at = np.minimum(np.searchsorted(own_keys, keys), own_keys.size - 1)
        return np.where(own_keys[at] == keys, at, -1)


@dataclass(frozen=True, eq=False)
class Association:
    """Measures of association of T tables; every array has shape (T,), NaN where undefined."""

    chi2: Floats  # pearson's chi-squared without correction
    n: Floats  # total count
    n_rows: Codes  # rows that occur
    n_columns: Codes  # columns that occur
    yates_scale: Floats  # for 2x2 tables of counts the factor S with chi2 = S (|O-E|)^2, else NaN

    @property
    def dof(self) -> Codes:
        """min(rows, columns) - 1: the divisor of V (not the degrees of freedom of chi-squared)."""
        return np.minimum(self.n_rows, self.n_columns) - 1

    def statistic(self, kind: str, chi2: Floats | None = None) -> Floats:
        """A measure of association in [0, 1] (phi: [0, sqrt(dof)]), shape (..., T).

        Args:
            kind: ``cramers_v``, ``cramers_v_yates`` (as the listing of Appendix G.2), ``phi`` or ``bergsma``.
            chi2: Uncorrected, of tables with equal margins, shape (..., T); default: the observed ones.
        """
        chi2 = self.chi2 if chi2 is None else chi2
        if kind == "phi":
            return np.sqrt(ratio(chi2, self.n))
        if kind == "bergsma":
            return self._bergsma(chi2)
        if kind == "cramers_v_yates":
            deviation = np.maximum(np.sqrt(chi2 / self.yates_scale) - 0.5, 0)
            chi2 = np.where(np.isnan(self.yates_scale), chi2, self.yates_scale * deviation**2)
        return np.sqrt(chi2 / (self.n * np.where(self.dof > 0, self.dof, np.nan)))

    def _bergsma(self, chi2: Floats) -> Floats:
        r"""Bergsma (2013), eq. 6-7: ``sqrt(max(0, phi2 - (r-1)(c-1)/(n-1)) / (min(r~, c~) - 1))``."""
        n, rows, columns = self.n, self.n_rows, self.n_columns
        fewer = np.where(n > 1, n - 1, np.nan)
        corrected = np.maximum(0, ratio(chi2, n) - (rows - 1) * (columns - 1) / fewer)
        smallest = np.minimum(rows - (rows - 1) ** 2 / fewer, columns - (columns - 1) ** 2 / fewer) - 1
        return np.sqrt(ratio(corrected, smallest))


def association(batch: TableBatch) -> Association:
    r"""Chi-squared of every table: ``sum (o - e)^2 / e`` with ``e = row total * column total / n``.

    Occupied cells are summed as they stand. An empty cell adds its expected count: all those of a column add
    ``column total * (n - sum of the row totals it occurs in) / n``, where the bracket is exact for counts.
    Neither ``n (sum o^2 / (R C) - 1)`` nor ``n - sum of e`` would survive the cancellation when n is large.

    Source: Albuquerque et al. 2024, eq. 3.
    """
    rows = np.take(batch.row_total, batch.row_of_cell)
    met = sum_by(batch.column_of_cell, rows)
    share = batch.row_total / batch.total[batch.row_table]
    # arrays of millions of cells are used again: their memory takes longer than the sums
    expected = np.take(share, batch.row_of_cell, out=rows, mode="clip")
    columns = np.take(batch.column_total, batch.column_of_cell)
    expected *= columns
    deviation = np.subtract(batch.n, expected, out=columns)
    deviation *= deviation
    deviation /= expected
    chi2 = batch.sum_over_tables(deviation) + _expected_in_empty(batch, met)
    chi2[batch.total == 0] = np.nan
    return Association(chi2, batch.total, batch.n_rows, batch.n_columns, _yates_scale(batch))


def _expected_in_empty(batch: TableBatch, met: Floats) -> Floats:
    """Sum of the expected counts of empty cells, given the row totals that each column meets."""
    total = batch.total[batch.column_table]
    rows = batch.n_rows[batch.column_table]
    everywhere = np.bincount(batch.column_of_cell, minlength=met.size) == rows
    missed = np.where(everywhere, 0.0, np.maximum(total - met, 0.0))
    expected = batch.column_total * missed / np.maximum(total, np.finfo(np.float64).tiny)
    return sum_by(batch.column_table, expected, batch.n_tables)


def _yates_scale(batch: TableBatch) -> Floats:
    """S of 2x2 tables of counts: the sum of 1/e over the four cells, n (sum 1/R) (sum 1/C)."""
    square = (batch.n_rows == 2) & (batch.n_columns == 2) & batch.integral
    per_row, per_column = batch.inverse_margins
    return np.where(square, batch.total * per_row * per_column, np.nan)


def filter_by_expected(batch: TableBatch, minimum: float, rule: str, *, pool: bool = False) -> TableBatch:
    """Remove (or ``pool`` into one column per table) the columns whose expected count is below ``minimum``.

    A column has one expected count per row. Which one counts is the rule: ``min`` (every cell passes, the
    chi-squared rule of thumb), ``mean`` or ``max``. One pass; emptied rows disappear with their cells.

    Source: Albuquerque et al. 2024, Appendix D.3.
    """
    if rule == "mean":  # of a table's rows, as that of the expected counts
        share = 1 / np.maximum(batch.n_rows, 1)
    else:
        extreme, edge = (np.minimum, np.inf) if rule == "min" else (np.maximum, -np.inf)
        share = np.full(batch.n_tables, edge)
        extreme.at(share, batch.row_table, batch.row_total / batch.total[batch.row_table])
        share[np.isinf(share)] = 0  # a table without rows has no columns either
    rare = (batch.column_total * share[batch.column_table] < minimum)[batch.column_of_cell]
    if not rare.any():
        return batch
    keep, column = pool | ~rare, np.where(rare, int(batch.column.max()) + 1, batch.column)
    weights = batch.n[keep].astype(np.int64) if batch.integral else batch.n[keep]
    return TableBatch.from_cells(batch.table[keep], batch.row[keep], column[keep], weights, batch.n_tables)


def range_by_column(batch: TableBatch) -> tuple[Floats, Codes, Codes]:
    """Range over a table's rows of each column's share of its row; a row without the column counts as 0.

    For every (table, column) pair that occurs: the range, its table, and its column.
    """
    share = batch.n / batch.row_total[batch.row_of_cell]
    pairs = batch.column_total.size
    high, low = np.zeros(pairs), np.full(pairs, np.inf)
    np.maximum.at(high, batch.column_of_cell, share)
    np.minimum.at(low, batch.column_of_cell, share)
    present = np.bincount(batch.column_of_cell, minlength=pairs)
    missing_row = present < batch.n_rows[batch.column_table]
    occurs = present > 0
    column = np.zeros(pairs, dtype=np.int64)
    column[batch.column_of_cell] = batch.column
    ranges = np.where(missing_row, high, high - low)
    return ranges[occurs], batch.column_table[occurs], column[occurs]
