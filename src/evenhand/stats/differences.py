"""Limits of what is made of several rates: differences, the largest difference, the worst rate.

Two rates: MOVER (Newcombe 1998, method 10; Zou and Donner 2008). The largest of many differences lies
above the largest lower limit of all pairs, if these hold at once (Tukey 1953 and Kramer 1956), and below the
largest upper limit, of which only that of the largest difference itself has to hold. The same, mirrored, for
a smallest rate.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Ends, Floats, Pair
from evenhand.stats.rates import Rates

MOST_PAIRED = 30
"""Groups up to which a largest difference is judged by its interval as well as by its p."""


def normal_quantile(level: float) -> float:
    """The two-sided quantile of the normal distribution: 1.96 for .95."""
    from scipy import special

    return float(-special.ndtri((1 - level) / 2))


@lru_cache(maxsize=256)
def pairwise_quantile(groups: int, level: float, families: int = 1) -> float:
    """The quantile that all differences of two among so many groups pass with ``1 - level`` together.

    That of the studentised range over ``sqrt(2)`` (Tukey, Kramer); for two groups the normal one. Several
    families (labels) at once take their share of the error each (Bonferroni).

    Args:
        groups: How many groups are compared, at least 2.
        level: Of all limits together.
        families: How many sets of groups are compared at once.
    """
    from scipy import special, stats

    error = (1 - level) / families
    if groups <= 2:
        return float(-special.ndtri(error / 2))
    if families == 1:
        return float(stats.studentized_range.ppf(level, groups, np.inf)) / float(np.sqrt(2))
    return float(-special.ndtri(error / (groups * (groups - 1))))


def difference_limits(rates: Rates, quantile: npt.ArrayLike) -> Ends:
    """MOVER limits of ``rate_i - rate_j`` for each two groups, shape (..., G, G) each, in [-1, 1].

    Args:
        rates: Of G groups.
        quantile: Normal quantile of the limits; broadcasts to (..., G).
    """
    low, high = rates.limits(quantile)
    value = rates.value
    return _mover(value, value - low, high - value, rates.correlation())


def _mover(value: Floats, below: Floats, above: Floats, correlation: Floats | None) -> Ends:
    apart = value[..., :, None] - value[..., None, :]
    down, up = (_reach(a, b, correlation) for a, b in ((below, above), (above, below)))
    return np.maximum(apart - down, -1), np.minimum(apart + up, 1)


def _reach(first: Floats, second: Floats, correlation: Floats | None) -> Floats:
    a, b = first[..., :, None], second[..., None, :]
    square = a**2 + b**2
    if correlation is not None:
        square = square - 2 * correlation * a * b
    return np.sqrt(np.maximum(square, 0))


def pair_limits(rates: Rates, level: float = 0.95) -> Pair:
    """MOVER limits of the first of two rates minus the second."""
    low, high = difference_limits(rates, normal_quantile(level))
    return float(low[..., 0, 1]), float(high[..., 0, 1])


def range_limits(
    rates: Rates, level: float = 0.95, *, families: int = 1, quantile: float | None = None
) -> Ends:
    """Limits of the largest minus the smallest rate, shape (...,), in [0, 1]; NaN below two rates.

    Exactly those of MOVER for two groups. Rates that are NaN are left out.

    Args:
        rates: Of G groups.
        level: Of the limits.
        families: How many ranges are looked at together, such as one for each label: limits of the largest
            of them are the largest of their limits.
        quantile: Of the lower limits, where it is known better than by Tukey and Kramer: that of t itself,
            as an exchange of these units has it.
    """
    strict = rates
    if quantile is None:
        most = int((~np.isnan(rates.value)).sum(axis=-1).max(initial=0))
        quantile = pairwise_quantile(max(most, 2), level, families)
    else:
        strict = replace(rates, freedom=np.full(rates.freedom.shape, np.inf))
    lowest = difference_limits(strict, quantile)[0]
    highest = difference_limits(rates, normal_quantile(level))[1]
    return _largest(lowest, highest)


def _largest(low: Floats, high: Floats) -> Ends:
    """Limits of the largest over pairs of different groups; pairs with NaN are left out."""
    same = np.eye(low.shape[-1], dtype=bool)
    missing = same | np.isnan(low) | np.isnan(high)
    ends = [np.where(missing, -np.inf, one).max(axis=(-2, -1), initial=-np.inf) for one in (low, high)]
    known = ~missing.all(axis=(-2, -1))
    return (
        np.where(known, np.clip(ends[0], 0, 1), np.nan),
        np.where(known, np.clip(ends[1], 0, 1), np.nan),
    )


def gap_limits(rates: Rates, share: Floats, level: float = 0.95) -> Ends:
    """Limits of the whole's rate minus the smallest rate of a group, in [0, 1], shape (...,).

    ``whole - rate_i = (1 - share_i) (rate of the rest - rate_i)``, so each is a difference of two rates, by
    MOVER; lower limits hold at once by Bonferroni. With two groups it is MOVER of the two.

    Args:
        rates: Of G groups, none NaN.
        share: Of the rows in each group, adding up to 1, shape (..., G).
        level: Of the limits.
    """
    from scipy import special

    groups = rates.value.shape[-1]
    if groups < 2:
        return np.full(rates.value.shape[:-1], np.nan), np.full(rates.value.shape[:-1], np.nan)
    strict = float(-special.ndtri((1 - level) / groups))
    low = _below_whole(rates, share, strict)[0].max(axis=-1)
    high = _below_whole(rates, share, normal_quantile(level))[1].max(axis=-1)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def _below_whole(rates: Rates, share: Floats, quantile: float) -> Ends:
    """Limits of the whole minus each group: the arms of all groups but it, weighted, joined with its own."""
    low, high = rates.limits(quantile)
    value, correlation = rates.value, rates.correlation()
    groups = value.shape[-1]
    weight = np.broadcast_to(share[..., None, :], (*value.shape, groups)) - np.eye(groups)
    apart = (weight * value[..., None, :]).sum(axis=-1)
    ends = []
    for side in (-1, 1):
        arm = np.where(side * weight > 0, (high - value)[..., None, :], (low - value)[..., None, :])
        arm = arm * np.abs(weight)  # opposite weights turn a correlation round
        square = (arm**2).sum(axis=-1)
        if correlation is not None:
            crossed = arm[..., :, None] * arm[..., None, :] * correlation[..., None, :, :]
            square = np.maximum(crossed.sum(axis=(-2, -1)), 0)
        ends.append(apart + side * np.sqrt(square))
    return ends[0], ends[1]


def worst_limits(rates: Rates, level: float = 0.95) -> Ends:
    """Limits of the smallest rate, shape (...,): the smallest of the groups' limits.

    Upper limits hold at once (Sidak, at half of ``1 - level``), by Jeffreys, since Wilson's tail is too light
    near 1. Of the lower ones only that of the smallest rate itself has to hold. Rates that are NaN are left
    out.
    """
    from scipy import special

    known = ~np.isnan(rates.value)
    count = max(int(known.sum(axis=-1).max(initial=0)), 1)
    each = -np.expm1(np.log1p(-(1 - level) / 2) / count)
    low = np.where(known, rates.limits(normal_quantile(level))[0], np.inf).min(axis=-1, initial=np.inf)
    high = np.where(known, rates.upper(float(-special.ndtri(each))), np.inf).min(axis=-1, initial=np.inf)
    some = known.any(axis=-1)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)


def mean_limits(rates: Rates, weight: Floats, level: float = 0.95, *, hidden: float = 1.0) -> Ends:
    """Limits of ``sum weight_g rate_g`` by MOVER over all groups, shape (...,).

    Args:
        rates: Of G groups.
        weight: Of each; weights of both signs make a difference.
        level: Of the limits.
        hidden: Correlation where rates of 0 or 1 leave nothing to estimate it from; 1 is the worst for a
            mean.
    """
    low, high = rates.limits(normal_quantile(level))
    value, correlation = rates.value, rates.correlation(hidden)
    middle = (weight * value).sum(axis=-1)
    ends = []
    for side in (-1, 1):
        arm = np.where(side * weight > 0, high - value, low - value) * np.abs(weight)
        square = (arm**2).sum(axis=-1)
        if correlation is not None:
            square = np.maximum((arm[..., :, None] * arm[..., None, :] * correlation).sum(axis=(-2, -1)), 0)
        ends.append(middle + side * np.sqrt(square))
    return ends[0], ends[1]
