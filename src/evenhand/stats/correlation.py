"""How two lists of numbers go together: Pearson's r and Kendall's tau-b, with p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FEWEST = 3
"""Pairs that a coefficient needs."""

_ROUNDING = 1e-12  # of the largest number


@dataclass(frozen=True)
class Correlation:
    """One coefficient.

    Attributes:
        value: In [-1, 1]; NaN where it is undefined.
        p_value: Two-sided, of no association; NaN where it is undefined.
        n: Pairs with both numbers.
        reason: Why it is undefined; empty where it is not.
    """

    value: float
    p_value: float
    n: int
    reason: str = ""


def pearson(x: Floats, y: Floats) -> Correlation:
    """Pearson's r; p by Student's t.

    Args:
        x: Shape (n,); pairs with a NaN are left out.
        y: Shape (n,).
    """
    from scipy import stats

    first, second, reason = _usable(x, y)
    if reason:
        return Correlation(np.nan, np.nan, first.size, reason)
    found = stats.pearsonr(first, second)
    return Correlation(float(found.statistic), float(found.pvalue), first.size)


def kendall(x: Floats, y: Floats) -> Correlation:
    """Kendall's tau-b, which allows for ties; p exact without ties, else by the normal approximation.

    Args:
        x: Shape (n,); pairs with a NaN are left out.
        y: Shape (n,).
    """
    from scipy import stats

    first, second, reason = _usable(x, y)
    if reason:
        return Correlation(np.nan, np.nan, first.size, reason)
    found = stats.kendalltau(first, second, variant="b")
    return Correlation(float(found.statistic), float(found.pvalue), first.size)


def pearson_p(r: float, n: int) -> float:
    """The two-sided p of a published r.

    Args:
        r: In (-1, 1).
        n: Pairs, at least 3.
    """
    from scipy import stats

    t = abs(r) * np.sqrt((n - 2) / (1 - r * r))
    return float(2 * stats.t.sf(t, n - 2))


def _usable(x: Floats, y: Floats) -> tuple[Floats, Floats, str]:
    kept = ~(np.isnan(x) | np.isnan(y))
    first, second = x[kept], y[kept]
    if first.size < FEWEST:
        return first, second, f"fewer than {FEWEST} pairs"
    constant = _constant(first) or _constant(second)
    return first, second, "all values are equal" if constant else ""


def _constant(numbers: Floats) -> bool:
    """Whether numbers differ by rounding at most: such differences go together with nothing."""
    return float(np.ptp(numbers)) <= _ROUNDING * float(np.abs(numbers).max())
