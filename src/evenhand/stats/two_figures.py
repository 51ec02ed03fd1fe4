"""Limits of the difference of two models' figures, made of the limits of each, and their p."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Ends, Floats, Mask

Figure = tuple[Floats, Floats, Floats]
"""Low limit, value and high limit."""

_USUAL = 0.05  # p is at most this where, and only where, the 95 % limits exclude the reference
_LEAST = 1e-6  # the smallest p
_NOTHING = 1e-20  # squared deviations below it are rounding
_ROUNDING = 1e-9  # a reference on the edge of an interval is inside it
_HALVINGS = 14  # p to a thousandth of itself


def mover(first: Figure, second: Figure, correlation: npt.ArrayLike = 0.0) -> Ends:
    """Limits of the first figure minus the second, shape of the inputs.

    Args:
        first: Limits and value.
        second: The same of the other figure.
        correlation: Of the two estimates; 0 where models answered samples of their own.

    Source: Zou 2007; Zou and Donner 2008 (MOVER, the method of variance estimates recovery).
    """
    (a_low, a, a_high), (b_low, b, b_high) = first, second
    down = _arm(a - a_low, b_high - b, np.asarray(correlation))
    up = _arm(a_high - a, b - b_low, np.asarray(correlation))
    return a - b - down, a - b + up


def _arm(mine: Floats, theirs: Floats, correlation: Floats) -> Floats:
    return np.sqrt(np.maximum(mine**2 + theirs**2 - 2 * correlation * mine * theirs, 0))


def paired_correlation(first: Floats, second: Floats, n: npt.ArrayLike) -> Floats:
    """Correlation of two models' figures over resamples of the same n samples, shape (...,).

    It is reduced by ``n / (n + 2)``, as if one more sample had moved each way (Bonett and Price 2012 add
    these, too), so that models that agree on all samples still have a difference of some width. 0 where a
    figure does not vary.

    Args:
        first: Draws of the first model's, shape (..., R); NaN is left out.
        second: Draws of the second model's.
        n: How many samples there are.
    """
    known = np.isfinite(first) & np.isfinite(second)
    count = np.maximum(known.sum(axis=-1), 1)
    a, b = (np.where(known, one, 0.0) for one in (first, second))
    a, b = (np.where(known, one - one.sum(axis=-1, keepdims=True) / count[..., None], 0.0) for one in (a, b))
    spread = (a**2).sum(axis=-1), (b**2).sum(axis=-1)
    scale = np.where(np.minimum(*spread) > _NOTHING, np.sqrt(spread[0] * spread[1]), 0.0)
    size = np.asarray(n, dtype=np.float64)
    found = np.divide((a * b).sum(axis=-1), scale, out=np.zeros(scale.shape), where=scale > 0)
    return np.asarray(found * size / (size + 2))


def inverted_p(limits: Callable[[Floats], Ends], size: int = 1) -> Floats:
    """The p at which limits of the level 1 - p just leave 0 out, in [1e-6, 1], shape (size,).

    Args:
        limits: From a level for each difference to the limits at it.
        size: How many differences there are.
    """

    def leaves(p: Floats) -> Mask:
        low, high = limits(1 - p)
        return np.asarray((low > _ROUNDING) | (high < -_ROUNDING))

    clear = leaves(np.full(size, _USUAL))
    low, high = np.where(clear, _LEAST, _USUAL), np.where(clear, _USUAL, 1.0)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        out = leaves(middle)
        low, high = np.where(out, low, middle), np.where(out, middle, high)
    return high
