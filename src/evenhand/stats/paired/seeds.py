"""Seeds as the unit: their spread, and differences of means that count seeds and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import special

from evenhand.stats.arrays import Floats, Pair

USABLE = 0.9
"""The share of replicates that must be defined."""
_NODES = 64
_nodes = cache(np.polynomial.legendre.leggauss)


@dataclass(frozen=True)
class SeedSpread:
    """The standard deviation of seeds, and its interval."""

    sd: float  # with `n - 1`; 0 where all seeds gave one value
    low: float  # lower end
    high: float  # upper end; where `sd` is 0 both ends are 0, and say nothing


@dataclass(frozen=True)
class SeedEstimate:
    """A mean or a difference of means, and how sure it is."""

    value: float  # the estimate
    error: float  # its standard error, of seeds and shared samples together
    seed_error: float  # the part of the seeds
    df: float  # degrees of freedom of the seeds (Satterthwaite); infinite where only shared samples count
    low: float  # lower end of the interval
    high: float  # upper end
    p_value: float | None  # of a value of 0, two-sided; None where nothing varies

    def quantile(self, share: float) -> float:
        """Where a share above one half of what chance gives lies, in standard errors."""
        seed_share = (self.seed_error / self.error) ** 2 if self.error > 0 else 0.0
        return _quantile(share, seed_share, self.df)


def spread(values: Floats, level: float = 0.95) -> SeedSpread:
    r"""Standard deviation ``s`` of values, with ``s sqrt((n - 1) / chi2)`` at both ends.

    The interval holds if values, one of each of n >= 2 seeds, are normal; with three its upper end is 6.3 s.
    """
    df = values.size - 1
    sd = float(np.std(values, ddof=1)) if np.ptp(values) > 0 else 0.0
    tail = (1 - level) / 2
    ends = (float(np.sqrt(df / special.chdtri(df, share))) for share in (tail, 1 - tail))
    low, high = (sd * factor for factor in ends)
    return SeedSpread(sd, low, high)


def mean_of(values: Floats, shared: float = 0.0, level: float = 0.95) -> SeedEstimate:
    """The mean over seeds, shape (n,), n >= 2; ``shared`` as in ``welch``.

    Of differences of seeds that both sides have, at ``shared = 0``, it is ``scipy.stats.ttest_rel``.
    """
    return _estimate(float(values.mean()), [_part(values)], shared, level)


def welch(first: Floats, second: Floats, shared: float = 0.0, level: float = 0.95) -> SeedEstimate:
    r"""Difference of two means over seeds: Welch's t, and what samples add that all seeds share.

    The variance is ``s_1^2 / n_1 + s_2^2 / n_2 + shared``. The seeds' part has Satterthwaite's degrees of
    freedom and is referred to t, ``shared`` to the normal distribution, their sum to both (Behrens and
    Fisher): Satterthwaite's degrees of freedom for all of it would call 8 % of equal recipes different where
    three seeds happen to lie close. At ``shared = 0`` this is ``scipy.stats.ttest_ind(equal_var=False)``.
    ``shared`` is the variance of the difference by samples, as ``shared_variance`` gives it.

    Source: Welch 1947; Satterthwaite 1946; Fisher 1935, The fiducial argument in statistical inference.
    """
    value = float(first.mean() - second.mean())
    return _estimate(value, [_part(first), _part(second)], shared, level)


def predicted(value: float, several: Floats, shared: float = 0.0, level: float = 0.95) -> SeedEstimate:
    r"""One value minus the mean of seeds, as if the one were another seed of their kind.

    The variance is ``s^2 (1 + 1 / n) + shared``: the spread of the one's own seeds is not known and is taken
    to be that of the others.
    """
    variance, df = _part(several)
    return _estimate(value - float(several.mean()), [(variance * (several.size + 1), df)], shared, level)


def shared_variance(draws: Floats, weights: Floats, clusters: Sequence[Sequence[int]]) -> float | None:
    r"""The variance by samples of a weighted sum of seeds, less what their spread holds already.

    Seeds that are measured on the same samples are all helped or harmed by them. Their spread does not hold
    that; it does hold what samples do to one seed and not to another. So
    ``max(0, Var(sum w_i x_i) - sum w_i^2 v)``, both over replicates of the samples, where ``v`` is the mean
    variance within a cluster of what samples add to its seeds. It is near 0 where each seed has samples of
    its own. ``draws`` are replicates of each seed's value, with samples drawn again alike for all, shape
    (M, R); ``clusters`` are their rows of one kind, and one of a single row takes ``v`` from the others. None
    where fewer than nine of ten replicates are defined for all seeds.
    """
    usable = np.isfinite(draws).all(axis=0)
    if usable.sum() < max(2, USABLE * usable.size):
        return None
    centred = draws[:, usable] - draws[:, usable].mean(axis=1, keepdims=True)
    together = float(np.var(weights @ centred, ddof=1))
    variances = [
        float(np.var(centred[list(cluster)], axis=0, ddof=1).mean())
        for cluster in clusters
        if len(cluster) > 1
    ]
    typical = float(np.mean(variances)) if variances else 0.0
    remaining = iter(variances)
    held_variance = sum(
        (next(remaining) if len(cluster) > 1 else typical) * float((weights[list(cluster)] ** 2).sum())
        for cluster in clusters
    )
    return max(0.0, together - held_variance)


def _part(values: Floats) -> Pair:
    """The variance of a mean, and its degrees of freedom."""
    variance = float(np.var(values, ddof=1)) if np.ptp(values) > 0 else 0.0
    return variance / values.size, float(values.size - 1)


def _estimate(value: float, parts: Sequence[Pair], shared: float, level: float) -> SeedEstimate:
    seeds = sum(variance for variance, _ in parts)
    unsure = sum(variance**2 / df for variance, df in parts)
    df = seeds**2 / unsure if unsure > 0 else np.inf
    error = float(np.sqrt(seeds + shared))
    estimate = SeedEstimate(value, error, float(np.sqrt(seeds)), df, value, value, None)
    if error == 0:
        return estimate
    reach = estimate.quantile((1 + level) / 2) * error
    p = 2 * _beyond(abs(value) / error, seeds / error**2, df)
    return replace(estimate, low=value - reach, high=value + reach, p_value=min(p, 1.0))


def _beyond(at: float, seed_share: float, df: float) -> float:
    r"""The chance of more than ``at`` of ``sqrt(s) t + sqrt(1 - s) z``, t with df, z normal.

    s is ``seed_share``. Given the chi-square under the t it is normal with variance ``s df / chi2 + 1 - s``;
    the mean over the chi-square is by Gauss and Legendre, closest where it is small.
    """
    if seed_share <= 0 or np.isinf(df):
        return float(special.ndtr(-at))
    if seed_share >= 1:
        return float(special.stdtr(df, -at))
    places, weights = _nodes(_NODES)
    root = (places + 1) / 2
    chi2 = 2 * special.gammaincinv(df / 2, root**4)
    with np.errstate(divide="ignore"):
        variance = seed_share * df / chi2 + 1 - seed_share
    return float((special.ndtr(-at / np.sqrt(variance)) * 2 * root**3 * weights).sum())


def _quantile(share: float, seed_share: float, df: float) -> float:
    """Where ``_beyond`` is ``1 - share``, for a share above one half."""
    from scipy import optimize

    if seed_share >= 1 and np.isfinite(df):
        return float(special.stdtrit(df, share))
    high = 2.0
    while _beyond(high, seed_share, df) > 1 - share:
        high *= 2
    return float(optimize.brentq(lambda at: _beyond(at, seed_share, df) - (1 - share), 0, high, xtol=1e-12))
