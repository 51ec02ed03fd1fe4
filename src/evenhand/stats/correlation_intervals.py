"""Spearman's rho, and intervals of correlations by Fisher's transformation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.correlation import Correlation, pearson

Floats = npt.NDArray[np.float64]


def spearman(x: Floats, y: Floats) -> Correlation:
    """Spearman's rho: Pearson's r of ranks, tied numbers sharing theirs; p by Student's t.

    Args:
        x: Shape (n,); pairs with a NaN are left out.
        y: Shape (n,).
    """
    from scipy import stats

    kept = ~(np.isnan(x) | np.isnan(y))
    return pearson(
        np.asarray(stats.rankdata(x[kept]), dtype=np.float64),
        np.asarray(stats.rankdata(y[kept]), dtype=np.float64),
    )


def fisher_interval(
    r: float, n: int, *, ranks: bool = False, level: float = 0.95
) -> tuple[float, float] | None:
    """Interval of a correlation: ``tanh(atanh(r) +- z / sqrt(n - 3))``; None where it is undefined.

    Of ranks the variance is ``(1 + r^2 / 2) / (n - 3)`` (Bonett and Wright 2000).

    Args:
        r: In (-1, 1).
        n: Pairs, at least 4.
        ranks: Whether r is Spearman's rho.
        level: Confidence.
    """
    from scipy import special

    if not abs(r) < 1 or n < 4:
        return None
    variance = (1 + r * r / 2 if ranks else 1.0) / (n - 3)
    reach = float(special.ndtri((1 + level) / 2)) * float(np.sqrt(variance))
    return float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))
