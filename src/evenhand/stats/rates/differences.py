"""Limits of what is made of several rates: differences, the largest difference, the worst rate.

Two rates: MOVER (Newcombe 1998, method 10; Zou and Donner 2008). The largest of many differences lies
above the largest lower limit of all pairs, if these hold at once (Tukey 1953 and Kramer 1956), and below the
largest upper limit, of which only that of the largest difference itself has to hold. The same, mirrored, for
a smallest rate. Differences of two models' figures are made of the limits of each, with their p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import Ends, Floats, Integers, Limits, Mask, Pair, crossing, ratio
from evenhand.stats.hypergeometric import log_choose
from evenhand.stats.rates.rates import Rates

Figure = tuple[Floats, Floats, Floats]
"""Low limit, value and high limit."""

MOST_PAIRED = 30
"""Groups up to which a largest difference is judged by its interval as well as by its p."""
_PAIRED = 60  # groups up to which all pairs are computed at once
_USUAL = 0.05  # p is at most this where, and only where, the 95 % limits exclude the reference
_LEAST = 1e-6  # the smallest p
_NOTHING = 1e-20  # squared deviations below it are rounding
_ROUNDING = 1e-9  # a reference on the edge of an interval is inside it
_USUAL_SPREAD = np.linspace(-1.5, 1.5, 9)  # standard deviations around a mean
_RARE = 0.5  # hits on average, of which normal numbers say little
_HALVINGS, _TO_A_DIGIT = 14, 64  # p to a thousandth of itself; a quantile to its last digit


def normal_quantile(level: float) -> float:
    """The two-sided quantile of the normal distribution: 1.96 for .95."""
    return float(-special.ndtri((1 - level) / 2))


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


@lru_cache(maxsize=256)
def pairwise_quantile(groups: int, level: float, families: int = 1) -> float:
    """The quantile that all differences of two among so many groups pass with ``1 - level`` together.

    That of the studentised range over ``sqrt(2)`` (Tukey, Kramer); for two groups the normal one. Several
    families (labels) at once take their share of the error each (Bonferroni).
    """
    error = (1 - level) / families
    if groups <= 2:
        return float(-special.ndtri(error / 2))
    bonferroni = float(-special.ndtri(error / (groups * (groups - 1))))
    if families > 1 or np.isinf(bonferroni):
        return bonferroni
    # which all differences pass at most as often
    ends = crossing(lambda reach: _range_at_most(float(reach), groups) < level, 0.0, bonferroni, _TO_A_DIGIT)
    return float(ends[1])


def _range_at_most(reach: float, groups: int) -> float:
    """The chance that no two of so many standard normal numbers are more than ``sqrt(2) reach`` apart.

    ``k`` times the integral of ``phi(z) (Phi(z) - Phi(z - q))^(k - 1)``, z being the largest, by the
    trapezoidal rule, which is exact to rounding for such integrands (Trefethen and Weideman 2014).
    """
    step, q = 1 / 32, float(np.sqrt(2)) * reach
    z = np.arange(-9, 9 + step, step)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return float(step * groups * density @ (special.ndtr(z) - special.ndtr(z - q)) ** (groups - 1))


def mover(first: Figure, second: Figure, correlation: npt.ArrayLike | None = None) -> Ends:
    """Limits of the first figure minus the second, shape of the inputs.

    ``correlation`` is that of the two estimates; None where they are independent.

    Source: Zou 2007; Zou and Donner 2008 (MOVER, the method of variance estimates recovery).
    """
    (a_low, a, a_high), (b_low, b, b_high) = first, second

    def arm(mine: Floats, other: Floats) -> Floats:
        square = mine**2 + other**2
        if correlation is not None:
            square = square - 2 * np.asarray(correlation) * mine * other
        return np.sqrt(np.maximum(square, 0))

    return a - b - arm(a - a_low, b_high - b), a - b + arm(a_high - a, b - b_low)


def difference_limits(rates: Rates, quantile: npt.ArrayLike) -> Ends:
    """MOVER limits of ``rate_i - rate_j`` for each two groups, shape (..., G, G) each, in the rates' span."""
    low, high = rates.limits(quantile)
    value = rates.value
    rows = low[..., :, None], value[..., :, None], high[..., :, None]
    columns = low[..., None, :], value[..., None, :], high[..., None, :]
    below, above = mover(rows, columns, rates.correlation())
    return np.maximum(below, -rates.span), np.minimum(above, rates.span)


def rate_limits(rates: Rates, level: float = 0.95, code: int = 0) -> Pair:
    """The low and the high limit of one rate."""
    low, high = rates.limits(normal_quantile(level))
    return float(low[code]), float(high[code])


def pair_limits(rates: Rates, level: float = 0.95, *, quantile: float | None = None) -> Pair:
    """MOVER limits of the first of two rates minus the second; ``quantile`` in place of the level's own."""
    low, high = difference_limits(rates, normal_quantile(level) if quantile is None else quantile)
    return float(low[..., 0, 1]), float(high[..., 0, 1])


def range_limits(
    rates: Rates, level: float = 0.95, *, families: int = 1, quantile: float | None = None
) -> Ends:
    """Limits of the largest minus the smallest rate, shape (...,), in [0, 1]; NaN below two rates.

    Exactly those of MOVER for two groups. Rates that are NaN are left out. The limits of the largest of
    several families (labels) are the largest of their limits. ``quantile`` is that of the lower limits, where
    it is known better than by Tukey and Kramer: that of t itself, as an exchange of these units has it.
    """
    strict = rates
    if quantile is None:
        most = int((~np.isnan(rates.value)).sum(axis=-1).max(initial=0))
        quantile = pairwise_quantile(max(most, 2), level, families)
    else:
        strict = replace(rates, freedom=np.full(rates.freedom.shape, np.inf))
    if rates.covariance is None and rates.value.shape[-1] > _PAIRED:
        strict_limits, limits = strict.limits(quantile), rates.limits(normal_quantile(level))
        below, above = _farthest(rates.value, *strict_limits, 0), _farthest(rates.value, *limits, 1)
        return np.clip(below, 0, rates.span), np.clip(above, 0, rates.span)
    low = difference_limits(strict, quantile)[0]
    high = difference_limits(rates, normal_quantile(level))[1]
    missing = np.eye(low.shape[-1], dtype=bool) | np.isnan(low) | np.isnan(high)
    has_value = ~missing.all(axis=(-2, -1))
    ends = (np.where(missing, -np.inf, limit).max(axis=(-2, -1), initial=-np.inf) for limit in (low, high))
    lowest, highest = (np.where(has_value, np.clip(end, 0, rates.span), np.nan) for end in ends)
    return lowest, highest


def _farthest(value: Floats, low: Floats, high: Floats, end: int) -> Floats:
    """The largest lower (0) or upper (1) limit of the differences of two of many groups.

    A limit rises with the rate of the first group and, the upper one, with the reach of its interval; the
    lower one falls with it. What two other groups exceed in both cannot be of the largest pair (one of them
    may be the other group of the pair), so that few of the ``G^2`` pairs are left. All have shape (..., G).
    """
    result = np.full(value.shape[:-1], np.nan)
    for at in np.ndindex(result.shape):
        has_value = ~np.isnan(value[at])
        rate = value[at][has_value]
        if rate.size < 2:
            continue
        below, above = rate - low[at][has_value], high[at][has_value] - rate
        first, second = (below, above) if end == 0 else (above, below)
        sign = 2 * end - 1
        i, j = _foremost(rate, sign * first**2), _foremost(-rate, sign * second**2)
        reach = np.sqrt(first[i, None] ** 2 + second[j] ** 2)
        apart = np.where(i[:, None] == j, -np.inf, rate[i, None] - rate[j] + sign * reach)
        result[at] = apart.max()
    return result


def _foremost(rate: Floats, reach: Floats) -> Integers:
    """Those that fewer than two others exceed or equal both in rate and in reach."""
    order = np.lexsort((-reach, -rate))
    most = np.maximum.accumulate(reach[order])
    before = np.concatenate([[-np.inf], most[:-1]])
    second = np.maximum.accumulate(np.minimum(reach[order], before))  # the second largest so far
    return np.asarray(order[reach[order] > np.concatenate([[-np.inf], second[:-1]])])


def gap_limits(rates: Rates, share: Floats, level: float = 0.95) -> Ends:
    """Limits of the whole's rate minus the smallest rate of a group, in [0, 1], shape (...,).

    ``whole - rate_i = (1 - share_i) (rate of the rest - rate_i)``, so each is a difference of two rates, by
    MOVER; lower limits hold at once by Bonferroni. With two groups it is MOVER of the two. No rate is NaN;
    shares of the rows in each group add up to 1, shape (..., G).
    """
    groups = rates.value.shape[-1]
    if groups < 2:
        return np.full(rates.value.shape[:-1], np.nan), np.full(rates.value.shape[:-1], np.nan)
    covariance = None if rates.covariance is None else rates.covariance[..., None, :, :]
    value, size, freedom = np.stack([rates.value, rates.size, rates.freedom])[..., None, :]
    both_rates = rates if rates.value.ndim == 1 else Rates(value, size, freedom, covariance)
    weight = np.broadcast_to(share[..., None, :], (*rates.value.shape, groups)) - np.eye(groups)
    low = _weighted_limits(both_rates, weight, float(-special.ndtri((1 - level) / groups)))[0].max(axis=-1)
    high = _weighted_limits(both_rates, weight, normal_quantile(level))[1].max(axis=-1)
    return np.clip(low, 0, rates.span), np.clip(high, 0, rates.span)


def worst_limits(rates: Rates, level: float = 0.95) -> Ends:
    """Limits of the smallest rate, shape (...,): the smallest of the groups' limits.

    Upper limits hold at once (Sidak, at half of ``1 - level``), by Jeffreys, since Wilson's tail is too light
    near 1. Of the lower ones only that of the smallest rate itself has to hold. Rates that are NaN are left
    out.
    """
    has_value = ~np.isnan(rates.value)
    count = max(int(has_value.sum(axis=-1).max(initial=0)), 1)
    tail = -np.expm1(np.log1p(-(1 - level) / 2) / count)
    low = np.where(has_value, rates.limits(normal_quantile(level))[0], np.inf).min(axis=-1, initial=np.inf)
    high = np.where(has_value, rates.upper(float(-special.ndtri(tail))), np.inf).min(axis=-1, initial=np.inf)
    some = has_value.any(axis=-1)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)


def mean_limits(rates: Rates, weight: Floats, level: float = 0.95, *, hidden: float = 1.0) -> Ends:
    """Limits of ``sum weight_g rate_g`` by MOVER over all groups, shape (...,).

    Weights of both signs make a difference. ``hidden`` is the correlation where rates of 0 or 1 leave nothing
    to estimate it from; 1 is the worst for a mean.
    """
    return _weighted_limits(rates, weight, normal_quantile(level), hidden)


def _weighted_limits(rates: Rates, weight: Floats, quantile: float, hidden: float = 0.0) -> Ends:
    low, high = rates.limits(quantile)
    value, correlation = rates.value, rates.correlation(hidden)
    middle = (weight * value).sum(axis=-1)
    ends = []
    for side in (-1, 1):
        arm = np.where(side * weight > 0, high - value, low - value)
        arm = arm * np.abs(weight)  # opposite weights turn a correlation round
        square = (arm**2).sum(axis=-1)
        if correlation is not None:
            square = np.maximum((arm[..., :, None] * arm[..., None, :] * correlation).sum(axis=(-2, -1)), 0)
        ends.append(middle + side * np.sqrt(square))
    return ends[0], ends[1]


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
