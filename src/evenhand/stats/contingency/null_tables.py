"""What chance alone gives: chi-squared of a table whose margins are fixed and whose rows are exchangeable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from evenhand.stats.arrays import Ends, Floats, Integers, pieces
from evenhand.stats.contingency.tables import Association, TableBatch
from evenhand.stats.hypergeometric import log_choose, splits

_IN_CACHE = 20_000  # cells worked on at a time: several times faster than all at once


def gamma_null(mean: Floats, variance: Floats) -> Ends:
    """Shape and scale of gamma distributions with these moments; NaN where one is not above 0."""
    usable = (mean > 0) & (variance > 0)
    mean, variance = np.where(usable, mean, np.nan), np.where(usable, variance, np.nan)
    return mean**2 / variance, variance / mean


def permutation_moments(batch: TableBatch, tables: Association) -> Ends:
    """Exact mean and variance of chi-squared over all assignments of rows with fixed margins.

    With N counts, r rows, c columns, ``v1 = (r-1)(N-r)/(N-1)``, ``w1 = (N sum 1/R - r^2)/(N-2)`` and
    v2, w2 likewise from the columns: mean ``N/(N-1) (r-1)(c-1)`` and variance
    ``2N/(N-3) (v1-w1)(v2-w2) + N^2/(N-1) w1 w2`` (Dawson 1954). NaN below four counts.
    """
    n = np.where(tables.n > 3, tables.n, np.nan)
    rows, columns = tables.n_rows, tables.n_columns
    inverse_rows, inverse_columns = batch.inverse_margins
    v1, v2 = (rows - 1) * (n - rows) / (n - 1), (columns - 1) * (n - columns) / (n - 1)
    w1 = (n * inverse_rows - rows**2) / (n - 2)
    w2 = (n * inverse_columns - columns**2) / (n - 2)
    mean = n / (n - 1) * (rows - 1) * (columns - 1)
    variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
    return mean, variance


def exact_2x2(table: Floats) -> Ends:
    """Chi-squared of every 2x2 table with these margins, ascending, and their probabilities.

    The upper left cell is hypergeometric given the margins.
    """
    rows, columns, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    low, high = max(0.0, columns[0] - rows[1]), min(rows[0], columns[0])
    cell = np.arange(low, high + 1)
    log_weight = log_choose(rows[0], cell) + log_choose(rows[1], columns[0] - cell)
    weight = np.exp(log_weight - log_weight.max())
    deviation = cell - rows[0] * columns[0] / n
    chi2 = deviation**2 * n * (1 / rows).sum() * (1 / columns).sum()
    order = np.argsort(chi2, kind="stable")
    return chi2[order], weight[order] / weight.sum()


def exact_tail(rows: Floats, columns: Floats, observed: float, most: int) -> float | None:
    """P(chi-squared >= ``observed``) of all tables with these margins whose rows are exchangeable.

    A table has the probability ``prod R_i! prod C_j! / (N! prod o_ij!)``. All ways of the smaller columns are
    listed; they leave the largest.

    Args:
        rows: Row sums, all above 0.
        columns: Column sums, all above 0.
        observed: The chi-squared.
        most: Cells that may be listed.

    Returns:
        The probability; None where it would take more cells.
    """
    rows, columns = min((rows, columns), (columns, rows), key=lambda margins: _log_listed(*margins))
    if _log_listed(rows, columns) > np.log(most):
        return None

    def added(counts: Floats | Integers, total: float) -> Ends:
        """What the counts of a column add to chi-squared, and to the logarithm of the probability."""
        expected = rows * total / rows.sum()
        log_ways = special.gammaln(total + 1) - special.gammaln(counts + 1).sum(axis=-1)
        return ((counts - expected) ** 2 / expected).sum(axis=-1), log_ways

    left = rows[None]  # of each row
    chi2, log_p = np.zeros(1), special.gammaln(left + 1).sum(axis=1) - special.gammaln(rows.sum() + 1)
    *smaller, largest = np.sort(columns)
    for total in smaller:
        counts = splits(tuple(rows.astype(np.int64).tolist()), int(total))
        rest = left[:, None] - counts
        before, way = np.nonzero((rest >= 0).all(axis=2))
        of_column, log_ways = added(counts, total)
        left, chi2, log_p = rest[before, way], chi2[before] + of_column[way], log_p[before] + log_ways[way]
    of_column, log_ways = added(left, largest)
    return min(1.0, float(np.exp(log_p + log_ways)[chi2 + of_column >= observed].sum()))


def _log_listed(rows: Floats, columns: Floats) -> float:
    """Logarithm of the cells that are listed at most: every row being large enough for every column."""
    ways = log_choose(np.sort(columns)[:-1] + rows.size - 1, rows.size - 1)
    return float(ways.sum() + np.log(rows.size))


Sampler = Callable[[Integers, Integers, int, int, np.random.Generator], Integers]
"""Rows, columns, their sum, replicates and a generator to tables."""


def draw_tables(
    rng: np.random.Generator,
    rows: Floats,
    columns: Floats,
    replicates: int,
    samplers: tuple[Sampler, Sampler] | None = None,
) -> Integers:
    """Random tables with the given margins, shape (replicates, r, c), uniformly over assignments.

    ``samplers``: by cells (Patefield 1981) and by counts (Boyett 1979); those of
    ``scipy.stats.random_table`` if None.
    """
    if rows.size == 1 or columns.size == 1:  # determined by its margins; scipy's sampler is wrong here
        only = np.broadcast_to(columns, (rows.size, columns.size)) if rows.size == 1 else rows[:, None]
        return np.broadcast_to(only.astype(np.int64), (replicates, rows.size, columns.size)).copy()
    margins, n = (rows.astype(np.int64), columns.astype(np.int64)), int(rows.sum())
    if samplers is not None:  # as random_table chooses
        sampler = samplers[0 if n > np.log(n + 1) * rows.size * columns.size else 1]
        return sampler(*margins, n, replicates, rng).reshape(replicates, rows.size, columns.size)
    from scipy.stats import random_table

    tables = np.asarray(random_table(*margins).rvs(size=replicates, random_state=rng), dtype=np.int64)
    return tables.reshape(replicates, rows.size, columns.size)


def chi2_of(tables: Integers, rows: Floats, columns: Floats) -> Floats:
    """Chi-squared of tables (replicates, r, c) that share their margins, shape (replicates,)."""
    expected = (np.outer(rows, columns) / rows.sum()).ravel()
    flat, chi2 = tables.reshape(len(tables), -1), np.empty(len(tables))
    for some in pieces(len(flat), _IN_CACHE, expected.size):
        apart = flat[some] - expected
        chi2[some] = np.square(apart, out=apart) @ (1 / expected)
    return chi2
