"""What chance gives for every class: null band and p by closed form, enumeration or resampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.metrics.estimates import LEVEL, REPLICATES
from evenhand.metrics.tables.margin_rates import draw_tables
from evenhand.stats.arrays import Codes, Ends, Floats, Mask, Rng
from evenhand.stats.contingency.null_tables import (
    chi2_of,
    every_table,
    gamma_null,
    log_listed,
    permutation_moments,
    tail_of_draws,
)
from evenhand.stats.contingency.resampling import cells_of
from evenhand.stats.contingency.tables import Association, TableBatch
from evenhand.stats.exchange.compared_rates import each_exceeded, exceeded
from evenhand.stats.exchange.unit_tables import UnitTables

Margins = tuple[Floats, Floats]
Streams = Callable[[int], Rng]

_SMALL = 200  # below this many rows a table is resampled: the gamma approximation is not good enough
_NEAR = 1_000  # up to this many rows a sparse table is resampled, too,
_SPARSE = 2  # which has a cell with fewer expected rows: its tail is longer than that of a gamma distribution
_FEW_MISTAKES = 50  # below this many rows off the most frequent label a table is resampled
_MOST_ROWS = 10_000_000  # a table with more rows is not resampled
_ENUMERABLE = 100_000  # a 2x2 table with a margin up to this is enumerated
_MOST_RESAMPLED = 5_000  # tables that are resampled at most; more would take minutes
_SECOND_STAGE = 400_000  # tables drawn in all to sharpen small p
_MOST_DRAWN = 100_000  # of them with the margins of one table
_LISTED = 5_000_000  # cells in all to list the tables of small p; beyond, they are drawn
_ENOUGH = 10  # exceedances after which sharpening stops (Besag and Clifford 1991)
_RARE = (1 + _ENOUGH) / (1 + REPLICATES)  # p below which fewer than these exceed
_CHUNK = 2_000


@dataclass(frozen=True, eq=False)
class NullEffects:
    """The null distribution of k effect sizes; arrays have shape (k,)."""

    draws: Floats  # replicates of the statistic, shape (replicates, k), and their ``mean``
    mean: Floats
    low: Floats  # the least of the null band: its test is one-sided; ``high``: its 95 % point
    high: Floats
    p: Floats  # P(at least the observed chi-squared)
    method: list[str]  # how each was made
    total: float = float("nan")  # P of chi-squared summed over the tables; NaN without one


@dataclass(frozen=True, eq=False)
class NullChi2:
    """The null distribution of k chi-squared statistics, from which that of any measure follows.

    As ``NullEffects``; ``band``: the ends of the null band, shape (2, k).
    """

    draws: Floats
    band: Floats
    p: Floats
    method: list[str]
    total: float

    def of(self, tables: Association, kind: str) -> NullEffects:
        """The null of one measure of association; all are monotone in chi-squared."""
        draws = np.where(tables.dof > 0, tables.statistic(kind, self.draws), np.nan)
        low, high = tables.statistic(kind, self.band)
        return NullEffects(draws, draws.mean(axis=0), low, high, self.p, self.method, self.total)


def null_chi2(batch: TableBatch, tables: Association, streams: Streams) -> NullChi2:
    """Null band and p of every table, groups exchanged with all margins fixed.

    2x2 tables are enumerated. Others use a gamma distribution with the exact permutation mean and variance
    (Dawson 1954). Tables below 200 rows or with few mistakes, and sparse ones below 1,000, are resampled.
    """
    mean, variance = permutation_moments(batch, tables)
    shape, scale = gamma_null(mean, variance)
    usable = tables.dof > 0
    p = np.where(usable, special.gammaincc(shape, tables.chi2 / scale), np.nan)
    square = usable & (tables.n_rows == 2) & (tables.n_columns == 2) & _enumerable(batch)
    resampled = np.flatnonzero(usable & ~square & _needs_resampling(batch, tables))[:_MOST_RESAMPLED]
    has_moments = (mean > 0) & (variance > 0)
    uses_gamma = usable & ~square & has_moments
    uses_gamma[resampled] = False
    chi2 = np.full((REPLICATES, p.size), np.nan)
    for table in np.flatnonzero(uses_gamma).tolist():
        chi2[:, table] = streams(table).gamma(shape[table], scale[table], REPLICATES)
    band = np.stack([np.zeros(p.size), special.gammaincinv(shape, LEVEL) * scale])
    method = ["gamma with exact permutation moments"] * p.size
    for table in np.flatnonzero(square).tolist():
        values, weight = every_table(*_margins(batch, table))
        chi2[:, table] = streams(table).choice(values, REPLICATES, p=weight)
        p[table] = min(1.0, weight[values >= _reached(tables.chi2[table])].sum())
        upper = min(int(np.searchsorted(np.cumsum(weight), LEVEL)), values.size - 1)
        band[:, table] = values[0], values[upper]
        method[table] = "exact enumeration"
    listed = _resample(batch, tables, resampled, streams, p, chi2)
    band[:, resampled] = np.quantile(chi2[:, resampled], [0.0, LEVEL], axis=0)
    for table in resampled.tolist():
        method[table] = "permutation with fixed margins" + (", p of all tables" if table in listed else "")
    # a value that is an end of its band must not fall outside by rounding
    equal = np.abs(band - tables.chi2) <= 1e-9 * np.maximum(1.0, tables.chi2)
    sparse = bool(square.any() or resampled.size)
    total = _p_of_sum(chi2, tables, None if sparse else (mean, variance))
    return NullChi2(chi2, np.where(equal, tables.chi2, band), p, method, total)


def null_of_units(units: UnitTables, tables: Association, rng: Rng) -> NullChi2:
    """The same for counts that come in clusters or have weights: Rao and Scott's null, drawn.

    Small p are those of a distribution with the draws' three moments, where there are units enough.
    There is no p where each group is one unit.
    """
    chi2 = units.draws(rng, REPLICATES)
    chi2[:, tables.dof <= 0] = np.nan
    if units.fixed:
        undefined = np.full((3, tables.dof.size), np.nan)
        return NullChi2(chi2, undefined[:2], undefined[2], [""] * tables.dof.size, np.nan)
    p = np.where(tables.dof > 0, each_exceeded(tables.chi2, chi2), np.nan)
    beyond = tail_of_draws(tables.chi2, chi2)
    p = np.where((p < _RARE) & ~units.few & np.isfinite(beyond), np.fmin(p, beyond), p)
    band = np.quantile(chi2, [0.0, LEVEL], axis=0)
    total = _p_of_sum(chi2, tables, None, tail=not bool(units.few.any()))  # units may be in several tables
    return NullChi2(chi2, band, p, [units.method] * p.size, total)


def _p_of_sum(chi2: Floats, tables: Association, moments: Ends | None, *, tail: bool = True) -> float:
    """P of chi-squared summed over tables: gamma of the summed ``moments``, or where None of the draws.

    ``tail``: whether the tail of the draws may go on where hardly one exceeds.
    """
    usable = tables.dof > 0
    if not usable.any():
        return float("nan")
    observed = float(tables.chi2[usable].sum())
    if moments is not None:
        shape, scale = gamma_null(*(np.array([np.nansum(moment)]) for moment in moments))
        gamma = float(special.gammaincc(shape, observed / scale)[0])
        if np.isfinite(gamma):
            return gamma
    sums = chi2[:, usable].sum(axis=1)
    p_value = exceeded(observed, sums)
    if not tail or p_value >= _RARE:
        return p_value
    return float(np.fmin(p_value, tail_of_draws(np.array(observed), sums)))


def _margins(batch: TableBatch, table: int) -> Margins:
    """Counts of the occupied rows and columns of one table."""
    dense = cells_of(batch, table).dense()[0]
    return dense.sum(axis=1), dense.sum(axis=0)


def _reached(chi2: float) -> float:
    return chi2 - 1e-9 * max(1.0, chi2)  # equal tables must count as equal whatever the rounding


def _enumerable(batch: TableBatch) -> Mask:
    smallest = np.full(batch.n_tables, np.inf)
    np.minimum.at(smallest, batch.row_table, batch.row_total)
    return (smallest <= _ENUMERABLE) & batch.integral


def _needs_resampling(batch: TableBatch, tables: Association) -> Mask:
    row, column = np.full((2, batch.n_tables), np.inf)
    occupied = batch.column_total > 0
    np.minimum.at(row, batch.row_table, batch.row_total)
    np.minimum.at(column, batch.column_table[occupied], batch.column_total[occupied])
    sparse = (row * column < _SPARSE * tables.n) & (tables.n < _NEAR)
    # few rows beside the most frequent label (few mistakes) make few different tables, however many rows
    most = np.zeros(batch.n_tables)
    np.maximum.at(most, batch.column_table[occupied], batch.column_total[occupied])
    few = (tables.n - most < _FEW_MISTAKES) & (tables.n < _MOST_ROWS)
    return np.asarray((tables.n < _SMALL) | sparse | few)


def _resample(
    batch: TableBatch, tables: Association, indices: Codes, streams: Streams, p: Floats, chi2: Floats
) -> set[int]:
    """Permute the chosen tables, writing p and draws in place; the tables whose p is exact.

    Small p are those of all tables with these margins, or of more draws where there are too many to list.
    """
    promising, listed = [], set()
    for table in indices.tolist():
        rng, margins = streams(table), _margins(batch, table)
        chi2[:, table] = chi2_of(draw_tables(rng, *margins, REPLICATES), *margins)
        p_value = exceeded(tables.chi2[table], chi2[:, table])
        if p_value < _RARE:
            promising.append((table, rng, margins))
        else:
            p[table] = p_value
    budget, most = (work // max(1, len(promising)) for work in (_SECOND_STAGE, _LISTED))
    for table, rng, margins in promising:
        observed = _reached(tables.chi2[table])
        if log_listed(*margins) > np.log(most):
            p[table] = _sharpened(rng, margins, chi2[:, table], observed, min(budget, _MOST_DRAWN))
        else:
            values, weight = every_table(*margins)
            p[table] = min(1.0, weight[values >= observed].sum())
            listed.add(table)
    return listed


def _sharpened(rng: Rng, margins: Margins, draws: Floats, observed: float, budget: int) -> float:
    """P after further draws, until ten replicates exceed or the budget is spent.

    Where none ever exceeded, resampling only says p <= 1/(B+1), and the tail of the draws decides below that.
    """
    exceeding = int((draws >= observed).sum())
    while exceeding < _ENOUGH and draws.size < budget:
        more = chi2_of(draw_tables(rng, *margins, min(_CHUNK, budget - draws.size)), *margins)
        exceeding += int((more >= observed).sum())
        draws = np.append(draws, more)
    resampled = (1 + exceeding) / (1 + draws.size)
    return resampled if exceeding else float(np.fmin(resampled, tail_of_draws(np.array(observed), draws)))
