"""Spearman's rho, p of few pairs by all their orders, and intervals by Fisher's transformation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.correlation import Correlation, pearson

Floats = npt.NDArray[np.float64]

ENUMERATED = 9
"""Pairs up to which all orders are enumerated: 9! = 362,880."""

_ROUNDING = 1e-12  # how far from 1 a perfect correlation may come out


def spearman(x: Floats, y: Floats) -> Correlation:
    """Spearman's rho: Pearson's r of ranks, tied numbers sharing theirs.

    p is exact up to nine pairs: the share of all orders of y, tied or not, that are at least as far from 0.
    Above it is by Student's t.

    Args:
        x: Shape (n,); pairs with a NaN are left out.
        y: Shape (n,).
    """
    from scipy import stats

    kept = ~(np.isnan(x) | np.isnan(y))
    first, second = (np.asarray(stats.rankdata(each[kept]), dtype=np.float64) for each in (x, y))
    return exact_for_few(pearson(first, second), first, second)


def exact_for_few(found: Correlation, x: Floats, y: Floats) -> Correlation:
    """The same coefficient, its p from all orders of y where there are nine pairs or fewer.

    A perfect correlation is exactly 1 or -1, however its sums were rounded.

    Args:
        found: Pearson's r of these pairs.
        x: Shape (n,); pairs with a NaN are left out.
        y: Shape (n,).
    """
    if found.reason:
        return found
    value = found.value if abs(found.value) < 1 - _ROUNDING else float(np.sign(found.value))
    p_value = found.p_value
    if found.n <= ENUMERATED:
        kept = ~(np.isnan(x) | np.isnan(y))
        here, there = (each[kept] - each[kept].mean() for each in (x, y))
        sums = np.abs(there[_orders(found.n)] @ here)
        p_value = float(np.mean(sums >= abs(float(there @ here)) * (1 - 1e-9)))
    return Correlation(value, p_value, found.n)


def _orders(n: int) -> npt.NDArray[np.int8]:
    """All orders of n things, shape (n!, n)."""
    found = np.zeros((1, 0), dtype=np.int8)
    for code in range(n):
        found = np.concatenate([np.insert(found, place, code, axis=1) for place in range(code + 1)])
    return found


def fisher_interval(
    r: float, n: int, *, ranks: bool = False, level: float = 0.95
) -> tuple[float, float] | None:
    """Interval of a correlation: ``tanh(atanh(r) +- z / sqrt(n - 3))``; None where it is undefined.

    Of ranks the variance is ``(1 + r^2 / 2) / (n - 3)`` (Bonett and Wright 2000).

    Args:
        r: In (-1, 1); 1 up to rounding is 1.
        n: Pairs, at least 4.
        ranks: Whether r is Spearman's rho.
        level: Confidence.
    """
    from scipy import special

    if not abs(r) < 1 - _ROUNDING or n < 4:
        return None
    variance = (1 + r * r / 2 if ranks else 1.0) / (n - 3)
    reach = float(special.ndtri((1 + level) / 2)) * float(np.sqrt(variance))
    return float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))
