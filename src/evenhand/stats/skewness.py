"""The skewness that gives SkewSize its name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def skewness(values: Floats) -> Floats:
    r"""Fisher-Pearson skewness ``g1 = m3 / m2^(3/2)`` along the last axis (biased, as scipy's default).

    Equation 4 of the paper lacks a factor ``sqrt(n)``; the published numbers are those of this formula,
    which the paper's code uses.

    Args:
        values: Shape (..., n). NaN is left out, each line by itself.

    Returns:
        Shape (...,). ``|g1| <= (n-2)/sqrt(n-1)``. NaN where fewer than one value is left or the spread is
        zero to rounding (``m2 <= (eps mean)^2``, scipy's rule). Two values always give 0.

    Source: Albuquerque et al. 2024, eq. 4 and Appendix G.2.
    """
    present = ~np.isnan(values)
    count = np.maximum(present.sum(axis=-1), 1)
    filled = np.where(present, values, 0.0)
    mean = filled.sum(axis=-1) / count
    centred = np.where(present, values - mean[..., None], 0.0)
    second = (centred**2).sum(axis=-1) / count
    third = (centred**3).sum(axis=-1) / count
    flat = second <= (np.finfo(np.float64).eps * mean) ** 2
    return np.where(flat, np.nan, third / np.where(flat, 1.0, second) ** 1.5)


def skewness_bound(n: int) -> float:
    """The largest |skewness| that n values can have: ``(n - 2) / sqrt(n - 1)``; NaN below two."""
    return (n - 2) / float(np.sqrt(n - 1)) if n >= 2 else float("nan")


def p_with_spread(p: float, difference: float, spread: float) -> float:
    """An exchange p of a difference of skewnesses, but no less than the difference's own spread allows.

    Exchange makes both models the mean of the two. Where one errs far more differently in some class, that
    mean has an outlier whatever is exchanged, and its skewness stays at the bound: the null knows next to no
    noise, while the models' own skewnesses may move a lot. So p is the larger of two: that of exchange, and
    the normal ``2 Phi(-|difference| / spread)``.

    Args:
        p: By exchange, in (0, 1].
        difference: One skewness minus another, less the middle of the null.
        spread: Its standard deviation with samples drawn again, 0 or more.

    Returns:
        In (0, 1]; ``p`` where nothing spreads.

    Source: why a permutation test of a parameter needs its standard error, Chung and Romano 2013.
    """
    from scipy import special

    if not spread > 0:
        return p
    return max(p, float(2 * special.ndtr(-abs(difference) / spread)))
