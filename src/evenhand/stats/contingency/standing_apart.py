"""Which row of many tables departs most from what the other rows of each table give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import ratio, sum_by
from evenhand.stats.contingency.tables import TableBatch


@dataclass(frozen=True)
class StandingApart:
    """A row (group) over all tables (classes).

    Attributes:
        row: Its code.
        n: Its count.
        moved: How much of it lies in other columns than the shares of the other rows give,
            ``sum over cells of max(0, o - n_row b / m)``: half the sum of absolute differences.
        by_chance: The mean of that where rows make no difference, by normal numbers.
    """

    row: int
    n: float
    moved: float
    by_chance: float


def standing_apart(batch: TableBatch) -> StandingApart | None:
    """The row that adds most to chi-squared for its degrees of freedom; None where no table has two rows.

    A row's part is ``sum_c (o - e)^2 / e``, divided by ``1 - R/n`` and, summed over tables, less its degrees
    of freedom f in units of ``sqrt(2 f)`` (Pearson's residuals of a row).
    """
    n_rows, n_columns = batch.n_rows, batch.n_columns
    if not ((n_rows > 1) & (n_columns > 1)).any():
        return None
    total, owner = batch.total, batch.row_table
    row_total, column_total = batch.row_total, batch.column_total[batch.column_of_cell]
    expected = row_total[batch.row_of_cell] * column_total / total[batch.table]
    square = sum_by(batch.row_of_cell, np.asarray(batch.n**2 / expected), row_total.size) - row_total
    others = total[owner] - row_total
    is_compared = (others > 0) & (n_columns[owner] > 1)
    row = batch.row[batch.row_start]
    share = np.where(is_compared, others / total[owner], 1.0)
    count = int(row.max()) + 1
    of_row = np.asarray(n_columns[owner][is_compared] - 1.0)
    freedom = sum_by(row[is_compared], of_row, count)
    chi2 = sum_by(row[is_compared], (np.maximum(square, 0) / share)[is_compared], count)
    score = ratio(chi2 - freedom, np.sqrt(2 * freedom), -np.inf)
    return _of_row(batch, int(score.argmax()), is_compared)


def _of_row(batch: TableBatch, code: int, is_compared: np.ndarray) -> StandingApart:
    """How much of a row lies elsewhere than the others' shares put it; columns it lacks add nothing."""
    rows = np.flatnonzero((batch.row[batch.row_start] == code) & is_compared)
    size = sum_by(batch.row_table[rows], batch.row_total[rows], batch.n_tables)
    some = np.flatnonzero((batch.row == code) & (size[batch.table] > 0))
    o, n, everything = batch.n[some], size[batch.table[some]], batch.total[batch.table[some]]
    others = batch.column_total[batch.column_of_cell[some]] - o
    moved = np.maximum(o - n * others / (everything - n), 0).sum()
    pairs = np.flatnonzero((batch.column_total > 0) & (size[batch.column_table] > 0))
    n, everything = size[batch.column_table[pairs]], batch.total[batch.column_table[pairs]]
    p = batch.column_total[pairs] / everything
    spread = n * np.sqrt(p * (1 - p) * (1 / n + 1 / np.maximum(everything - n, 1)))
    return StandingApart(code, float(size.sum()), float(moved), float(spread.sum() / np.sqrt(2 * np.pi)))
