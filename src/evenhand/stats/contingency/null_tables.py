"""What chance alone gives: chi-squared of a table whose margins are fixed and whose rows are exchangeable."""

from __future__ import annotations

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


def tail_of_draws(value: Floats, draws: Floats) -> Floats:
    """P beyond values (k,), smaller than draws (B, k) can count: Pearson type III of their moments.

    The skewness is at least that of ``gamma_null``, whose tail is many times too light where counts are few
    (Mielke and Berry 2007). NaN without variance.
    """
    mean, deviation = draws.mean(axis=0), draws.std(axis=0)
    spread = np.where(deviation > 0, deviation, np.nan)
    skewness = np.fmax(((draws - mean) ** 3).mean(axis=0) / spread**3, 2 * spread / mean)
    shape = 4 / skewness**2
    beyond = shape + (value - mean) / spread * np.sqrt(shape)
    return np.asarray(special.gammaincc(shape, np.fmax(0.0, beyond)))


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


def every_table(rows: Floats, columns: Floats) -> Ends:
    """Chi-squared of every table with these margins, ascending, and their probabilities.

    These are proportional to ``prod 1 / o_ij!``. All ways of the smaller columns are listed, or of the
    smaller rows where these are fewer; they leave the largest.
    """
    rows, columns = min((rows, columns), (columns, rows), key=lambda margins: _log_ways(*margins))

    def added(counts: Floats | Integers, total: float) -> Ends:
        """What the counts of a column add to chi-squared, and to the logarithm of the probability."""
        expected = rows * total / rows.sum()
        return ((counts - expected) ** 2 / expected).sum(axis=1), -special.gammaln(counts + 1).sum(axis=1)

    left, chi2, log_weight = rows[None], np.zeros(1), np.zeros(1)  # left: of each row
    *smaller, largest = np.sort(columns)
    for total in smaller:
        counts = splits(tuple(rows.astype(np.int64).tolist()), int(total))
        rest = left[:, None] - counts
        before, way = np.nonzero((rest >= 0).all(axis=2))
        more, log_ways = added(counts, total)
        left, chi2, log_weight = (
            rest[before, way],
            chi2[before] + more[way],
            log_weight[before] + log_ways[way],
        )
    more, log_ways = added(left, largest)
    chi2, log_weight = chi2 + more, log_weight + log_ways
    order, weight = np.argsort(chi2, kind="stable"), np.exp(log_weight - log_weight.max())
    return chi2[order], weight[order] / weight.sum()


def log_listed(rows: Floats, columns: Floats) -> float:
    """Logarithm of the cells that ``every_table`` lists at most."""
    return min(_log_ways(rows, columns), _log_ways(columns, rows))


def _log_ways(rows: Floats, columns: Floats) -> float:
    """Logarithm of the cells of every way of the smaller columns, each row being large enough for each."""
    ways = log_choose(np.sort(columns)[:-1] + rows.size - 1, rows.size - 1)
    return float(ways.sum() + np.log(rows.size))


def chi2_of(tables: Integers, rows: Floats, columns: Floats) -> Floats:
    """Chi-squared of tables (replicates, r, c) that share their margins, shape (replicates,)."""
    expected = (np.outer(rows, columns) / rows.sum()).ravel()
    flat, chi2 = tables.reshape(len(tables), -1), np.empty(len(tables))
    for some in pieces(len(flat), _IN_CACHE, expected.size):
        apart = flat[some] - expected
        chi2[some] = np.square(apart, out=apart) @ (1 / expected)
    return chi2
