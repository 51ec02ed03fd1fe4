"""The skewness that gives SkewSize its name."""

from __future__ import annotations

import numpy as np

from evenhand.stats.arrays import Floats


def skewness(values: Floats) -> Floats:
    """Fisher-Pearson skewness ``g1 = m3 / m2^(3/2)`` along the last axis (biased, as scipy's default).

    Equation 4 of the paper lacks a factor ``sqrt(n)``; the published numbers are those of this formula,
    which the paper's code uses. NaN is left out, each line by itself. ``|g1| <= (n-2)/sqrt(n-1)``; NaN where
    no value is left or the spread is zero to rounding (``m2 <= (eps mean)^2``, scipy's rule). Two values
    always give 0.

    Source: Albuquerque et al. 2024, eq. 4 and Appendix G.2.
    """
    present = ~np.isnan(values)
    count = np.maximum(present.sum(axis=-1), 1)
    filled = np.where(present, values, 0.0)
    mean = filled.sum(axis=-1) / count
    centred = np.where(present, values - mean[..., None], 0.0)
    square = centred**2
    second = square.sum(axis=-1) / count
    third = (square * centred).sum(axis=-1) / count  # a power of 3 takes many times longer
    flat = second <= (np.finfo(np.float64).eps * mean) ** 2
    return np.where(flat, np.nan, third / np.where(flat, 1.0, second) ** 1.5)


def skewness_bound(n: int) -> float:
    """The largest |skewness| that n values can have: ``(n - 2) / sqrt(n - 1)``; NaN below two."""
    return (n - 2) / float(np.sqrt(n - 1)) if n >= 2 else float("nan")
