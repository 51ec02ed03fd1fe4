"""Confidence intervals for Cramér's V, many tables at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.contingency import Association, TableBatch, sum_by

Floats = npt.NDArray[np.float64]


def delta_moments(batch: TableBatch, tables: Association) -> tuple[Floats, Floats]:
    r"""Bias-corrected phi-squared of every table, and its standard error by the delta method.

    With row shares ``w_i`` (fixed), row-wise proportions ``q_ij`` and column shares ``m_j``, the derivative
    of ``phi^2 = sum w_i q_ij^2 / m_j - 1`` by ``q_ij`` is ``w_i h_ij``,
    ``h_ij = 2 q_ij / m_j - sum_k w_k q_kj^2 / m_j^2``; the variance of the estimate is
    ``(1/n) sum_i w_i Var_{q_i}(h_i)``. The correction subtracts ``(r-1)(c-1)/(n-1)``, the part of
    phi-squared that noise alone makes (Bergsma 2013); the result may be negative.

    Returns:
        Corrected value and standard error, shape (T,) each; NaN where phi-squared is undefined.
    """
    share = batch.n / np.take(batch.row_total, batch.row_of_cell)
    row_share = batch.row_total / batch.total[batch.row_table]
    column_share = batch.column_total / np.maximum(batch.total[batch.column_table], 1)
    weight = share * share
    weight *= np.take(row_share, batch.row_of_cell)
    pooled = sum_by(batch.column_of_cell, weight) / np.maximum(column_share, 1e-150) ** 2
    slope = 2 * share
    slope /= np.take(column_share, batch.column_of_cell)
    slope -= np.take(pooled, batch.column_of_cell)
    first = sum_by(batch.row_of_cell, share * slope)
    slope *= slope
    slope *= share
    second = sum_by(batch.row_of_cell, slope)
    spread = row_share * np.maximum(second - first**2, 0)
    variance = sum_by(batch.row_table, spread, batch.n_tables) / np.maximum(tables.n, 1)
    noise = (tables.n_rows - 1) * (tables.n_columns - 1) / np.where(tables.n > 1, tables.n - 1, np.nan)
    return tables.chi2 / np.where(tables.n > 0, tables.n, np.nan) - noise, np.sqrt(variance)


def delta_interval(
    tables: Association, moments: tuple[Floats, Floats], level: float = 0.95
) -> tuple[Floats, Floats]:
    """Normal interval for phi-squared around its bias-corrected value, on the scale of V, cut at 0 and 1.

    Plain V can lie above its own interval, because plain V contains the noise that the interval removes.

    Args:
        tables: Shapes of the tables.
        moments: What ``delta_moments`` gives.
        level: Of the interval.

    Returns:
        Low and high ends for V, shape (T,) each; NaN where V is undefined.
    """
    from scipy import special

    centre, error = moments
    half = special.ndtri((1 + level) / 2) * error
    return _as_v(centre - half, tables), _as_v(centre + half, tables)


def delta_draws(
    tables: Association, moments: tuple[Floats, Floats], noise: Floats, *, corrected: bool
) -> Floats:
    """Draws of V from each table's delta-method distribution, for summaries over tables.

    Args:
        tables: Chi-squared and shapes of the tables.
        moments: What ``delta_moments`` gives.
        noise: Standard normal numbers, shape (replicates, T).
        corrected: Around the bias-corrected value (what the population shows), or the plain one.

    Returns:
        Shape (replicates, T), in [0, 1]; NaN where V is undefined.
    """
    centre, error = moments
    plain = tables.chi2 / np.where(tables.n > 0, tables.n, np.nan)
    return _as_v((centre if corrected else plain) + noise * error, tables)


def noncentral_interval(tables: Association, level: float = 0.95) -> tuple[Floats, Floats]:
    """Inversion of the noncentral chi-squared distribution; sound for small tables only (Smithson 2003).

    Returns:
        Low and high ends for V, shape (T,) each; NaN where V is undefined.
    """
    from scipy import special

    degrees = ((tables.n_rows - 1) * (tables.n_columns - 1)).astype(np.float64)
    degrees[degrees <= 0] = np.nan
    tail = (1 - level) / 2
    ends = [special.chndtrinc(tables.chi2, degrees, q) / tables.n for q in (1 - tail, tail)]
    # where even a noncentrality of 0 is too large for the observed value, the end is 0
    low, high = (np.where(np.isnan(end) & ~np.isnan(degrees), 0.0, end) for end in ends)
    return _as_v(low, tables), _as_v(high, tables)


def _as_v(phi_squared: Floats, tables: Association) -> Floats:
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    return np.sqrt(np.clip(phi_squared / dof, 0, 1))


def wilson_interval(successes: Floats, n: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score interval for a proportion; never of zero width, also at 0 and 1 (Wilson 1927).

    Returns:
        Low and high ends in [0, 1], shape of the inputs; NaN where n is 0.
    """
    from scipy import special

    z2 = float(special.ndtri((1 + level) / 2)) ** 2
    total = np.where(n > 0, n, np.nan)
    share = successes / total
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * total)) / total) / (1 + z2 / total)
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)
