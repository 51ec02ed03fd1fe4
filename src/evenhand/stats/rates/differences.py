"""Differences: which a test would show, how they go together in two models, and the p that limits give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import Ends, Floats, Limits, Mask, crossing, ratio
from evenhand.stats.hypergeometric import log_choose
from evenhand.stats.rates.rates import normal_quantile

_USUAL = 0.05  # p is at most this where, and only where, the 95 % limits exclude the reference
_LEAST = 1e-6  # the smallest p
_NOTHING = 1e-20  # squared deviations below it are rounding
_ROUNDING = 1e-9  # a reference on the edge of an interval is inside it
_USUAL_SPREAD = np.linspace(-1.5, 1.5, 9)  # standard deviations around a mean
_RARE = 0.5  # hits on average, of which normal numbers say little
_HALVINGS = 14  # p to a thousandth of itself


def noticed_below(others: float, n: int, m: int, quantile: float, power: float = 0.8) -> float:
    """The rate of n rows, below that of m others, that a test would show this often; NaN where none would.

    It solves ``others - rate = z se0 + z_power se1``: ``se0`` is the standard error at the pooled rate, with
    which the test rejects from ``z`` on, ``se1`` that at both rates (Fleiss 1981, section 3.2).
    """

    def lacking(rate: float) -> float:
        pooled = (n * rate + m * others) / (n + m)
        se0 = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        se1 = np.sqrt(rate * (1 - rate) / n + others * (1 - others) / m)
        return float(quantile * se0 + special.ndtri(power) * se1 - (others - rate))

    if not np.isfinite(quantile) or lacking(0.0) > 0:
        return float("nan")
    return float(crossing(lambda rate: lacking(float(rate)) <= 0, 0.0, others, 60)[0])


def noticed_by_exchange(others: float, n: int, m: int, alpha: float) -> float:
    """``noticed_below`` of two groups whose rows are exchanged, of which few have few different results.

    Where the exchange rejects depends on the number of hits, in steps; what counts are the steps at the hits
    that the rate leads to, on average over those that are usual. NaN, too, where a single hit would be rare.
    """
    rate = noticed_below(others, n, m, normal_quantile(1 - alpha))
    for _ in range(2):
        if np.isnan(rate):
            return rate
        spread = np.sqrt(n * rate * (1 - rate) + m * others * (1 - others))
        near = np.clip(n * rate + m * others + spread * _USUAL_SPREAD, 0, n + m).round().astype(int)
        quantile = float(np.mean([_exchange_rejects_from(n, m, hits, alpha) for hits in near.tolist()]))
        rate = noticed_below(others, n, m, quantile)
    return rate if n * rate >= _RARE else float("nan")


def _exchange_rejects_from(n: int, m: int, hits: int, alpha: float) -> float:
    """From which difference on, in standard errors, an exchange of hits between two groups rejects.

    It is the middle of the smallest that is rejected and the largest that is not: of normal numbers in place
    of hypergeometric ones so many lie beyond. Infinite where none is rejected.
    """
    pooled = hits / (n + m)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    if not error > 0:
        return float("inf")
    first = np.arange(max(0, hits - m), min(n, hits) + 1)
    chance = np.exp(log_choose(n, first) + log_choose(m, hits - first) - log_choose(n + m, hits))
    apart = np.round(np.abs((hits - first) / m - first / n) / error, 9)
    values, at = np.unique(apart, return_inverse=True)
    p = np.bincount(at, chance)[::-1].cumsum()[::-1]
    least = int((p > alpha).sum())
    if least == values.size:
        return float("inf")
    return float(values[max(least - 1, 0) : least + 1].mean())


def paired_correlation(first: Floats, second: Floats, n: npt.ArrayLike) -> Floats:
    """Correlation of two models' figures over resamples of the same n samples, shape (...,).

    It is reduced by ``n / (n + 2)``, as if one more sample had moved each way (Bonett and Price 2012 add
    these, too), so that models that agree on all samples still have a difference of some width. 0 where a
    figure does not vary. Draws have shape (..., R); NaN is left out.
    """
    is_finite = np.isfinite(first) & np.isfinite(second)
    count = np.maximum(is_finite.sum(axis=-1), 1)
    a, b = (np.where(is_finite, draws, 0.0) for draws in (first, second))
    a, b = (
        np.where(is_finite, draws - draws.sum(axis=-1, keepdims=True) / count[..., None], 0.0)
        for draws in (a, b)
    )
    spread = (a**2).sum(axis=-1), (b**2).sum(axis=-1)
    scale = np.where(np.minimum(*spread) > _NOTHING, np.sqrt(spread[0] * spread[1]), 0.0)
    size = np.asarray(n, dtype=np.float64)
    correlation = ratio((a * b).sum(axis=-1), scale, 0.0)
    return correlation * size / (size + 2)


def p_of_limits(limits: Limits) -> float:
    """The same of one number."""

    def ends(level: Floats) -> Ends:
        low, high = np.array([limits(level.item())]).T
        return low, high

    return float(inverted_p(ends)[0])


def inverted_p(limits: Callable[[Floats], Ends], size: int = 1) -> Floats:
    """The p at which limits of the level 1 - p just leave 0 out, in [1e-6, 1], for each of so many."""

    def leaves(p: Floats) -> Mask:
        low, high = limits(1 - p)
        return (low > _ROUNDING) | (high < -_ROUNDING)

    clear = leaves(np.full(size, _USUAL))
    low, high = np.where(clear, _LEAST, _USUAL), np.where(clear, _USUAL, 1.0)
    return crossing(lambda p: ~leaves(p), low, high, _HALVINGS, of_logarithms=True)[1]
