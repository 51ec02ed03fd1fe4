"""Rates of groups with their limits: one form for rows, for clusters and for weighted rows.

A rate is ``sum s_c / sum w_c`` over the sampling units c of a group (rows, or persons, households ...). Its
limits are Wilson's (1927) at the size that as many independent rows would have, with the quantile of t where
units are clusters (Korn and Graubard 1998).

Limits of what is made of several rates: of two MOVER (Newcombe 1998, method 10; Zou and Donner 2008). The
largest of many differences lies above the largest lower limit of all pairs, if these hold at once (Tukey 1953
and Kramer 1956), and below the largest upper limit, of which only that of the largest difference has to hold.
The same, mirrored, for a smallest rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import Codes, Ends, Floats, Integers, Pair, crossing, nan_without_warning, ratio
from evenhand.stats.rates.clustered import ClusterMean, GroupCells, effective_size

Figure = tuple[Floats, Floats, Floats]
"""Low limit, value and high limit."""

MOST_PAIRED = 30
"""Groups up to which a largest difference is judged by its interval as well as by its p."""
_PAIRED = 60  # groups up to which all pairs are computed at once
_TO_A_DIGIT = 64  # steps that find a quantile to its last digit
_MOST_FREEDOM = 1e7  # beyond it t is normal to all digits
_MOST = 1e12
_ALIKE = 1e-9  # of their number that Kish's size of rows may lack by rounding
_MOST_ALIKE = 0.99  # an estimated correlation of 1 would leave a difference no width


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates of G groups; arrays have shape (..., G), and what belongs to several rates at once broadcasts."""

    value: Floats  # in [0, 1]; NaN where a group has nothing to say
    size: Floats  # how many independent rows would vary as much; 0 where limits are 0 and 1
    freedom: Floats  # degrees of freedom of t; infinite where rows are their own units
    # of the rates, shape (..., G, G), from units that lie in several groups; None without any
    covariance: Floats | None = None

    @property
    def span(self) -> float:
        """The largest difference that is possible."""
        return 1.0

    @classmethod
    def of_rows(cls, hits: npt.ArrayLike, n: npt.ArrayLike) -> Rates:
        """Rates of independent rows that count alike: the size is their number."""
        total = np.asarray(n, dtype=np.float64)
        share = ratio(hits, total)
        size = np.broadcast_to(total, share.shape)
        return cls(share, size, np.full(share.shape, np.inf))

    @classmethod
    def of_clusters(cls, means: Sequence[ClusterMean]) -> Rates:
        """Rates of groups whose units are clusters; a group of one cluster has the limits 0 and 1."""
        value = np.array([mean.value for mean in means])
        size = np.array([mean.size for mean in means])
        freedom = np.array([max(mean.effective - 1, 1.0) for mean in means])
        shifts = np.stack([mean.shifts for mean in means]) if means else np.zeros((0, 0))
        there = (shifts != 0).astype(np.float64)
        shared = there @ there.T
        if not (shared > np.diag(np.diagonal(shared))).any():
            return cls(value, size, freedom)
        # deviations of two clusters are always opposite: a correlation needs a third
        is_estimable = (shared > 2) | np.eye(len(shifts), dtype=bool)
        return cls(value, size, freedom, np.where(is_estimable, shifts @ shifts.T, 0.0))

    @classmethod
    def of_weights(cls, sums: npt.ArrayLike, weights: npt.ArrayLike, squares: npt.ArrayLike) -> Rates:
        """Rates of independent rows that have weights: sizes are Kish's (1965), ``(sum w)^2 / sum w^2``.

        ``squares`` is the sum of the rows' squared weights.
        """
        total, square = np.asarray(weights, dtype=np.float64), np.asarray(squares, dtype=np.float64)
        share = ratio(sums, total)
        size = ratio(total**2, square, 0.0)
        return cls(share, size, np.full(share.shape, np.inf))

    @classmethod
    def of_survey(
        cls, sums: Floats, weights: Floats, squares: Floats, hit_squares: Floats, rows: Floats
    ) -> Rates:
        """Rates of independent rows with weights that may go with the outcome, by Taylor linearisation.

        ``variance = n / (n - 1) sum w^2 (y - r)^2 / (sum w)^2``, size ``r (1 - r) / variance``, at most the n
        rows; where nothing varies (r of 0 or 1) it is Kish's. t has Kish's size less 1 (the stratum that the
        group is) degrees of freedom, as of clusters. Rows that weigh alike are as those without weights.
        ``squares`` are the sums of squared weights of all rows, ``hit_squares`` of those that hit; all have
        the shape of the rates.

        Source: Woodruff 1971; Korn and Graubard 1998.
        """
        kish = cls.of_weights(sums, weights, squares)
        r = kish.value
        with nan_without_warning():
            variance = (hit_squares * (1 - r) ** 2 + (squares - hit_squares) * r**2) / weights**2
        varies = kish.size < rows * (1 - _ALIKE)
        variance = variance * np.where(varies, rows / np.maximum(rows - 1, 1), 1.0)
        size = np.nan_to_num(effective_size(r, variance, kish.size, rows))
        return cls(r, size, np.where(varies, np.maximum(kish.size - 1, 1.0), np.inf))

    def at(self, labels: int | slice) -> Rates:
        """The rates of a label, or of some labels, of shape (L, G)."""
        covariance = None if self.covariance is None else self.covariance[labels]
        return Rates(self.value[labels], self.size[labels], self.freedom[labels], covariance)

    def take(self, codes: Codes) -> Rates:
        """The rates of some groups."""
        covariance = None if self.covariance is None else self.covariance[..., codes, :][..., codes]
        return Rates(self.value[..., codes], self.size[..., codes], self.freedom[..., codes], covariance)

    def limits(self, quantile: npt.ArrayLike) -> Ends:
        """Low and high limits, a normal quantile (1.96 for 95 %) away; the value lies between them.

        The quantile broadcasts; t takes the one of equal probability.
        """
        q2 = np.minimum(self.quantiles(quantile) ** 2, _MOST)  # as good as infinite: limits of 0 and 1
        has_value = ~np.isnan(self.value)
        size = np.where(self.size > 0, self.size, np.nan)
        centre = (self.value + q2 / (2 * size)) / (1 + q2 / size)
        half = np.sqrt(q2 * (self.value * (1 - self.value) + q2 / (4 * size)) / size) / (1 + q2 / size)
        low = np.clip(np.minimum(centre - half, self.value), 0, 1)
        high = np.clip(np.maximum(centre + half, self.value), 0, 1)
        open_ = has_value & ~(self.size > 0)
        return np.where(open_, 0.0, low), np.where(open_, 1.0, high)

    def upper(self, quantile: npt.ArrayLike) -> Floats:
        """High limits, of the right error near 1 where Wilson's is too large: Jeffreys' (Cai 2005)."""
        z = np.asarray(quantile, dtype=np.float64)
        size = self.size * (z / self.quantiles(z)) ** 2
        high = special.betaincinv(self.value * size + 0.5, (1 - self.value) * size + 0.5, special.ndtr(z))
        return np.where((size > 0) & (self.value < 1), np.maximum(high, self.value), 1.0)

    def quantiles(self, quantile: npt.ArrayLike) -> Floats:
        """The quantile of t that has the probability of a normal quantile, for each rate."""
        z = np.asarray(quantile, dtype=np.float64)
        if not (self.freedom < _MOST_FREEDOM).any():
            return np.broadcast_to(z, np.broadcast_shapes(z.shape, self.value.shape))
        freedom = np.minimum(self.freedom, _MOST_FREEDOM)
        return -special.stdtrit(freedom, special.ndtr(-z))

    def correlation(self, hidden: float = 0.0) -> Floats | None:
        """Correlation of the rates of each two groups, shape (..., G, G); None where none share units.

        ``hidden`` stands where a rate of 0 or 1 leaves nothing to estimate it from.
        """
        if self.covariance is None:
            return None
        spread = np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))
        scale = spread[..., :, None] * spread[..., None, :]
        coefficients = ratio(self.covariance, scale, float(hidden))
        coefficients = np.clip(coefficients, -_MOST_ALIKE, _MOST_ALIKE)
        same = np.arange(coefficients.shape[-1])
        coefficients[..., same, same] = 1.0
        return np.asarray(coefficients)


def group_rates(value: Floats, group: Integers, groups: int, cluster: Integers | None) -> Rates:
    """Rates of groups of rows that count alike.

    Values are in [0, 1] (0 or 1 where rows are their own units), groups codes below ``groups``, clusters any
    codes; None: each row was sampled by itself.
    """
    if cluster is None:
        n = np.bincount(group, minlength=groups)
        return Rates.of_rows(np.bincount(group, value, minlength=groups), n)
    return Rates.of_clusters(GroupCells.of_rows(value, group, groups, cluster).means())


def normal_quantile(level: float) -> float:
    """The two-sided quantile of the normal distribution: 1.96 for .95."""
    return float(-special.ndtri((1 - level) / 2))


def rate_limits(rates: Rates, level: float = 0.95, code: int = 0) -> Pair:
    """The low and the high limit of one rate."""
    low, high = rates.limits(normal_quantile(level))
    return float(low[code]), float(high[code])


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


def pair_limits(rates: Rates, level: float = 0.95, *, quantile: float | None = None) -> Pair:
    """MOVER limits of the first of two rates minus the second; ``quantile`` in place of the level's own."""
    low, high = difference_limits(rates, normal_quantile(level) if quantile is None else quantile)
    return float(low[..., 0, 1]), float(high[..., 0, 1])


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
    ends = np.where(missing, -np.inf, np.stack([low, high])).max(axis=(-2, -1), initial=-np.inf)
    lowest, highest = np.where(has_value, np.clip(ends, 0, rates.span), np.nan)
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
