"""Confidence intervals for Cramér's V, many tables at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.contingency import Association, TableBatch, sum_by

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PhiSquared:
    """What each table says about the phi-squared of its population; arrays have shape (T,).

    Attributes:
        centre: The estimate without the part that noise alone makes; may be negative.
        noise: Variance of the estimate where the population shows no association.
        slope: What the variance gains with each unit of the population's phi-squared.
    """

    centre: Floats
    noise: Floats
    slope: Floats

    @property
    def error(self) -> Floats:
        """Standard error of the estimate at the estimate itself."""
        return np.sqrt(self.noise + self.slope * np.maximum(self.centre, 0))


def phi_squared(batch: TableBatch, tables: Association) -> PhiSquared:
    r"""Bias-corrected phi-squared, and how its variance depends on the true value, with rows fixed.

    With row shares ``w_i``, row-wise proportions ``q_ij``, column shares ``m_j`` and
    ``A_j = sum_i w_i q_ij^2``, ``phi^2 = sum_j A_j / m_j - 1``. Two terms are plugged in:

    * first order: ``h_ij = 2 q_ij / m_j - A_j / m_j^2``, variance ``V1 = (1/n) sum_i w_i Var_{q_i}(h_i)``;
    * second order: bias ``B = (1/n) sum_ij q_ij (1 - q_ij) (1/m_j - 2 w_i q_ij / m_j^2 + w_i A_j / m_j^3)``.

    Without association both are known: bias ``B0 = (r-1)(c-1)/(n-1)`` (Bergsma 2013) and variance
    ``2 B0^2 / ((r-1)(c-1))`` with slope ``4/n`` (the noncentral chi-squared distribution). Plugged-in terms
    of sparse tables are too small, so bias and slope lie between the two, by the share ``t`` of phi-squared
    that is not noise. The form was chosen by simulation (docs/statistics.md).

    Returns:
        NaN where phi-squared is undefined.
    """
    n = np.where(tables.n > 1, tables.n, np.nan)
    freedom = (tables.n_rows - 1) * (tables.n_columns - 1)
    freedom = np.where(freedom > 0, freedom, np.nan)
    first, second = _plugged_in(batch, n)
    plain = tables.chi2 / n
    floor = freedom / (n - 1)
    share = np.divide(np.maximum(plain - floor, 0), plain, out=np.zeros_like(plain), where=plain > 0)
    bias = floor - share / 2 * (floor - second)
    noise = 2 * floor**2 / freedom
    blended = (1 - share) * 4 / n + share * first / np.maximum(plain, np.finfo(np.float64).tiny)
    signal = np.maximum(plain - floor, np.sqrt(2 * freedom) / n / 2)
    slope = np.maximum(blended, (first - 4 * floor / n) / signal)
    return PhiSquared(plain - bias, noise, slope)


def _plugged_in(batch: TableBatch, n: Floats) -> tuple[Floats, Floats]:
    """The first-order variance and the second-order bias of phi-squared, observed shares plugged in."""
    share = batch.n / np.take(batch.row_total, batch.row_of_cell)
    row_share = batch.row_total / batch.total[batch.row_table]
    weight = np.take(row_share, batch.row_of_cell)
    column_share = batch.column_total / np.maximum(batch.total[batch.column_table], 1)
    inverse = 1 / np.take(column_share, batch.column_of_cell)
    pooled = np.take(sum_by(batch.column_of_cell, weight * share * share), batch.column_of_cell)
    pooled *= inverse
    slope = (2 * share - pooled) * inverse
    mean = sum_by(batch.row_of_cell, share * slope)
    square = sum_by(batch.row_of_cell, share * slope * slope)
    spread = row_share * np.maximum(square - mean**2, 0)
    variance = sum_by(batch.row_table, spread, batch.n_tables) / n
    curvature = (1 - weight * slope) * inverse
    bias = batch.sum_over_tables(share * (1 - share) * curvature) / n
    return variance, bias


def score_interval(tables: Association, phi2: PhiSquared, level: float = 0.95) -> tuple[Floats, Floats]:
    """Score interval for phi-squared, on the scale of V, cut at 0 and 1.

    It holds every value t with ``(centre - t)^2 <= z^2 (noise + slope t)``: the variance is that of the
    value asked about, as in Wilson's interval, so that it neither collapses at 0 nor at 1.

    Plain V can lie above its own interval, because plain V contains the noise that the interval removes.

    Args:
        tables: Shapes of the tables.
        phi2: What ``phi_squared`` gives.
        level: Of the interval.

    Returns:
        Low and high ends for V, shape (T,) each; NaN where V is undefined.
    """
    from scipy import special

    z2 = float(special.ndtri((1 + level) / 2)) ** 2
    middle = phi2.centre + z2 * phi2.slope / 2
    half = np.sqrt(np.maximum(middle**2 - phi2.centre**2 + z2 * phi2.noise, 0))
    return _as_v(middle - half, tables), _as_v(middle + half, tables)


def delta_interval(batch: TableBatch, tables: Association, level: float = 0.95) -> tuple[Floats, Floats]:
    """Delta-method interval for V around Bergsma's corrected phi-squared, cut at 0 and 1.

    The first-order variance alone, at the observed table: too short near V = 0 in small tables, where it was
    measured to hold V in 79 % of cases (docs/statistics.md). Kept for comparison.

    Returns:
        Low and high ends for V, shape (T,) each; NaN where V is undefined.
    """
    from scipy import special

    n = np.where(tables.n > 1, tables.n, np.nan)
    variance, _ = _plugged_in(batch, n)
    centre = tables.chi2 / n - (tables.n_rows - 1) * (tables.n_columns - 1) / (n - 1)
    half = special.ndtri((1 + level) / 2) * np.sqrt(variance)
    return _as_v(centre - half, tables), _as_v(centre + half, tables)


def score_draws(tables: Association, phi2: PhiSquared, noise: Floats, *, corrected: bool) -> Floats:
    """Draws of V around each table's estimate, for summaries over tables.

    Args:
        tables: Chi-squared and shapes of the tables.
        phi2: What ``phi_squared`` gives.
        noise: Standard normal numbers, shape (replicates, T).
        corrected: Around the bias-corrected value (what the population shows), or the plain one.

    Returns:
        Shape (replicates, T), in [0, 1]; NaN where V is undefined.
    """
    plain = tables.chi2 / np.where(tables.n > 0, tables.n, np.nan)
    return _as_v((phi2.centre if corrected else plain) + noise * phi2.error, tables)


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
