"""Confidence intervals for Cramér's V, many tables at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.stats.arrays import Ends, Floats, ratio, sum_by
from evenhand.stats.contingency.null_tables import permutation_moments
from evenhand.stats.contingency.tables import Association, TableBatch


@dataclass(frozen=True, eq=False)
class PhiSquared:
    """What each table says about the phi-squared of its population; arrays have shape (T,)."""

    centre: Floats  # the estimate without the part that noise alone makes; may be negative
    noise: Floats  # variance of the estimate where the population shows no association
    slope: Floats  # what the variance gains with each unit of the population's phi-squared
    floor: Floats  # what noise alone adds to the estimate where the population shows no association
    size: Floats  # how many independent counts would say as much


def phi_squared(batch: TableBatch, tables: Association) -> PhiSquared:
    r"""Bias-corrected phi-squared, and how its variance depends on the true value, with rows fixed.

    Bias ``B1`` and variance ``V1`` are those of the jackknife that deletes one count within each row. On
    average ``V1`` is not too small (Efron and Stein 1981); of noise alone it is twice the variance. Without
    association mean ``B0 = (r-1)(c-1)/(n-1)`` and variance ``V0`` are known (Dawson 1954), with slope ``4/n``
    (noncentral chi-squared). With ``a = min(1, B0/phi^2)``, the share of plain phi^2 that is noise, the noise
    is ``V0`` and the slope ``a 4/n + (1-a) (V1 - V0)/phi^2``, or what makes the variance at the estimate
    ``V1 - a V0`` where that is more.

    Returns:
        NaN where phi-squared is undefined.
    """
    n = np.where(tables.n > 1, tables.n, np.nan)
    freedom = (tables.n_rows - 1) * (tables.n_columns - 1)
    freedom = np.where(freedom > 0, freedom, np.nan)
    plain, floor = np.where(freedom > 0, tables.chi2 / n, np.nan), freedom / (n - 1)
    noise = np.maximum(permutation_moments(batch, tables)[1] / n**2, 0)
    noise = np.where(np.isnan(noise), 2 * floor**2 / freedom, noise)
    return blended(plain, floor, noise, *_jackknife(batch, n, noise), n)


def blended(
    plain: Floats, floor: Floats, noise: Floats, variance: Floats, bias: Floats, size: Floats
) -> PhiSquared:
    """Phi-squared between what is known without association and what a jackknife says at the observed table.

    ``floor`` and ``noise`` are the mean and the variance of ``plain`` phi-squared without association,
    ``variance`` and ``bias`` those of the jackknife, ``size`` the independent counts that would say as much.
    """
    some = np.maximum(plain, floor)
    chance = floor / some
    mixed = chance * 4 / size + (1 - chance) * np.maximum(variance - noise, 0) / some
    signal = np.maximum(plain - floor, np.sqrt(2 * floor * np.maximum(size - 1, 0.5)) / size / 2)
    slope = np.maximum(mixed, (variance - (1 + chance) * noise) / signal)
    return PhiSquared(plain - bias, noise, slope, floor, size)


def _jackknife(batch: TableBatch, n: Floats, noise: Floats) -> Ends:
    r"""Variance and bias of phi-squared by deleting each count of a row, with the row shares fixed.

    A row of R counts is scaled by ``k = R/(R-1)`` once x, its count in a column of total C, has become x - 1.
    The column, ``f = sum_i x_i^2/R_i / C`` of phi-squared + 1, has C' = C + x/(R-1) after the scaling and
    C" = C' - k after both. With ``q = x/R`` and ``u = f - q (1 + k)`` the two steps together give:

    * deleting changes f by ``d = k (u C/C' + (1-q)/(R-1)) / C"``; variance ``sum_i (R_i-1) Var_{q_i}(d_i)``;
    * bias ``sum_ij k x (1-q) (1/R + u/C') / C"``.

    A row or column of one count does not show its bias: its cells take the one without association,
    ``(1 - R/n)(1 - C/n)/(n-1)``. A row of one or two does not show its variance (whichever count is deleted,
    at most one is left): it adds twice the noise over the r-1 rows that are free.
    """
    inverse = np.take(1 / batch.row_total, batch.row_of_cell)
    step = np.take(1 / np.maximum(batch.row_total - 1, 1), batch.row_of_cell)  # k - 1
    share = batch.n * inverse
    inside = sum_by(batch.column_of_cell, batch.n * share) / np.maximum(batch.column_total, 1)
    columns = np.take(batch.column_total, batch.column_of_cell)
    scaled = batch.n * step
    scaled += columns
    pull = np.take(inside, batch.column_of_cell)
    pull -= share * (2 + step)
    pull /= scaled
    scaled -= 1 + step
    factor = (1 + step) / np.maximum(scaled, 1)  # C" is 0 for lone counts, else at least 1
    others = 1 - share
    change = factor * (pull * columns + others * step)
    lone = np.flatnonzero(columns == 1)
    change[lone] = -(1 + step[lone]) * inverse[lone]
    pull += inverse
    pull *= others
    factor *= batch.n
    bias = batch.sum_over_tables(factor * pull)
    weighted = share * change
    mean = sum_by(batch.row_of_cell, weighted)
    weighted *= change
    square = sum_by(batch.row_of_cell, weighted)
    spread = (batch.row_total - 1) * np.maximum(square - mean**2, 0)
    variance = sum_by(batch.row_table, spread, batch.n_tables)
    lone_rows = np.bincount(batch.row_table[batch.row_total == 1], minlength=batch.n_tables)
    lone_columns = np.bincount(batch.column_table[batch.column_total == 1], minlength=batch.n_tables)
    small = np.bincount(batch.row_table[batch.row_total <= 2], minlength=batch.n_tables)
    r, c, rest = batch.n_rows - 1, batch.n_columns - 1, 1 - 1 / n
    bias += (r * c - (r - rest * lone_rows) * (c - rest * lone_columns)) / (n - 1)
    return variance + 2 * noise * small / np.maximum(r, 1), bias


def score_limits(centre: Floats, noise: Floats, slope: Floats, level: float | Floats) -> Ends:
    """Low and high end of the score interval for phi-squared, before they are put on a scale and cut.

    It holds every value t with ``(centre - t)^2 <= z^2 (noise + slope t)``: the variance is that of the
    value asked about, as in Wilson's interval, so that it neither collapses at 0 nor at 1. A centre below the
    quantile ``1 - level`` of noise counts as that quantile, so that a table more even than chance allows does
    not put V at 0 exactly (a power constraint on the limit, Cowan et al. 2011).

    Plain V can lie above its own interval, because plain V contains the noise that the interval removes.
    """
    z2 = special.ndtri((1 + level) / 2) ** 2
    centre = np.maximum(centre, -np.maximum(special.ndtri(level), 0) * np.sqrt(noise))
    middle = centre + z2 * slope / 2
    half = np.sqrt(np.maximum(middle**2 - centre**2 + z2 * noise, 0))
    return middle - half, middle + half


def score_draws(tables: Association, phi2: PhiSquared, noise: Floats) -> Floats:
    """Draws of V around each table's plain value, where a bootstrap would take too long.

    ``noise``: standard normal numbers, shape (replicates, T); V has that shape; NaN where undefined.
    """
    plain = ratio(tables.chi2, tables.n)
    error = np.sqrt(phi2.noise + phi2.slope * np.maximum(phi2.centre, 0))  # at the estimate itself
    return _as_v(plain + noise * error, tables)


def _as_v(phi_squared: Floats, tables: Association) -> Floats:
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    return np.sqrt(np.clip(phi_squared / dof, 0, 1))


def minimum_detectable_v(tables: Association, *, alpha: float = 0.05, power: float = 0.8) -> Floats:
    """The smallest Cramér's V that a chi-squared test on these tables finds with the given power.

    The noncentrality that shifts chi-squared with (r-1)(c-1) degrees of freedom beyond its critical value
    with probability ``power`` is ``n phi^2``; so ``V = sqrt(noncentrality / (n min(r-1, c-1)))``
    (Cohen 1988, section 7.2). NaN where a table has one row or column, or even V = 1 would not be found.
    """
    degrees = ((tables.n_rows - 1) * (tables.n_columns - 1)).astype(np.float64)
    degrees[degrees <= 0] = np.nan
    unique, where = np.unique(degrees, return_inverse=True)
    critical = special.chdtri(unique, alpha)
    needed = special.chndtrinc(critical, unique, 1 - power)[where]
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    effect = np.sqrt(needed / (tables.n * dof))
    return np.where(effect <= 1, effect, np.nan)
