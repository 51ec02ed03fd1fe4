"""Confidence bounds for the mean, median and largest V over classes; conservative, in closed form.

V is a root, so no unbiased estimate of it exists, and what each class is off by does not average out. The
bounds here rest on what can be estimated: V^2 of each class without its noise (``phi_squared``), with a
variance that depends on the true value. Classes are independent. Every function takes arrays (..., K) whose
last axis are the K >= 2 classes; a single class has its own score interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evenhand.stats.contingency import Association
from evenhand.stats.effect_intervals import PhiSquared, score_limits

Floats = npt.NDArray[np.float64]
Ends = tuple[Floats, Floats]

_MOST_STRETCH = 20.0  # beyond it a table says nothing about how large its V may be
_SMOOTH = 0.3  # .20 is needed for normal estimates, less for chi-squared ones
_TAIL = 8  # far tails are trusted to an eighth of their nominal probability
_HALVINGS = 45
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Squares:
    """What is known about the squared effect sizes t of classes; arrays of one shape (..., K), without NaN.

    Attributes:
        centre: Estimate of t without noise; may be negative.
        noise: Its variance where t = 0.
        slope: What the variance gains with each unit of t.
        floor: What noise alone adds to the plain value.
        plain: The value with noise, as observed.
        stretch: By how much t may exceed the estimate on average, at least 1.
        top: The largest t possible.
    """

    centre: Floats
    noise: Floats
    slope: Floats
    floor: Floats
    plain: Floats
    stretch: Floats
    top: Floats

    def each(self, change: Callable[[Floats], Floats]) -> Squares:
        """The same change made to every array."""
        return Squares(*(change(array) for array in vars(self).values()))

    @property
    def variance(self) -> Floats:
        """Variance of the estimate, at the estimate."""
        return np.asarray(self.noise + self.slope * np.maximum(self.centre, 0))

    @property
    def stretched(self) -> Squares:
        """For upper bounds: the estimate times what it may be too small by."""
        f = self.stretch
        return replace(self, centre=self.centre * f, noise=self.noise * f**2, slope=self.slope * f)


def squares(tables: Association, phi2: PhiSquared, *, phi: bool = False) -> Squares:
    r"""Squared V (or phi) of every table; 0 for certain where a table has none (counted as V = 0).

    The bias correction is too strong where labels or groups are rare and V is large: chance adds less to a
    table that is far from even. Simulated over sparse tables, the estimate stays above ``t (1 - 2 a B)``,
    with B the value that noise alone adds to V^2 and ``a = min(1, B / V^2)`` (docs/statistics.md, 4):
    ``stretch`` is the reciprocal. The slope is at least ``4/n``, as of noncentral chi-squared, so that a
    perfect table is not taken as certain.

    Returns:
        Arrays of shape (T,).
    """
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    unit = np.ones(dof.shape) if phi else dof
    n = np.where(tables.n > 1, tables.n, np.nan)
    floor = (tables.n_rows - 1) * (tables.n_columns - 1) / (n - 1) / dof
    plain = np.maximum(tables.chi2 / n / dof, _TINY)
    stretch = 1 / np.maximum(1 - 2 * floor * np.minimum(1, floor / plain), 1 / _MOST_STRETCH)
    found = Squares(
        centre=phi2.centre / unit,
        noise=phi2.noise / unit**2,
        slope=np.maximum(phi2.slope, 4 / n) / unit,
        floor=floor * dof / unit,
        plain=plain * dof / unit,
        stretch=stretch,
        top=dof / unit,
    )
    known = ~np.isnan(found.centre)
    return found.each(lambda array: np.where(known, array, 0.0))


def mean_ends(found: Squares, level: float = 0.95) -> Ends:
    r"""Bounds of the mean of ``sqrt(t)``: two for each end, the better counts.

    Each bound errs at a quarter of ``1 - level``. With x the estimates, of variance ``N + S t``, and m2, m4
    the means of t and t^2:

    * high, Jensen: ``sqrt(m2)`` at the upper score limit of m2;
    * high, smoothed: mean of ``sqrt(max(0, x + S/4 + .3 sqrt(N)))``, which is on average not below sqrt(t);
    * low, Hoelder: ``m2^1.5 / m4^.5``, with m4 the mean of ``x^2 - variance``, minus its delta-method error;
    * low, concave: mean of ``x / sqrt(c)`` below ``c = sqrt(N) + S/4`` and ``sqrt(x)`` above, a concave
      function that is nowhere above the root, so by Jensen its expectation is not above sqrt(t).

    High bounds take x and its variance as stretched (see ``squares``). Each is an estimate and z of its
    standard errors, by the delta method with the steepest slope within half a standard error.

    Returns:
        Low and high ends, shape (...); at V = 0 everywhere the low end is 0 but for the level.
    """
    from scipy import special

    z = float(special.ndtri(1 - (1 - level) / 4))
    low = np.maximum(_hoelder(found, z), _concave(found, z))
    upper = found.stretched
    high = np.minimum(_jensen(upper, z), _smoothed(upper, z))
    return np.maximum(low, 0), np.minimum(high, np.sqrt(upper.top).mean(axis=-1))


def _jensen(found: Squares, z: float) -> Floats:
    from scipy import special

    classes = found.centre.shape[-1]
    weight = np.maximum(found.centre, _TINY)
    slope = (found.slope * weight).sum(axis=-1) / weight.sum(axis=-1) / classes
    noise = found.noise.sum(axis=-1) / classes**2
    level = 2 * float(special.ndtr(z)) - 1
    return np.sqrt(np.maximum(score_limits(found.centre.mean(axis=-1), noise, slope, level)[1], 0))


def _smoothed(found: Squares, z: float) -> Floats:
    shifted = found.centre + found.slope / 4 + _SMOOTH * np.sqrt(found.noise)
    spread = found.variance
    steepest = 1 / (4 * np.maximum(np.maximum(shifted, np.sqrt(spread) / 2), _TINY))
    root = np.sqrt(np.maximum(shifted, 0)).mean(axis=-1)
    return np.asarray(root + z * _error(steepest * spread))


def _concave(found: Squares, z: float) -> Floats:
    centre, spread = found.centre, found.variance
    corner = np.maximum(np.sqrt(found.noise) + found.slope / 4, _TINY)
    root = np.where(centre < corner, centre / np.sqrt(corner), np.sqrt(np.maximum(centre, corner)))
    near = centre - np.sqrt(spread) / 2 < corner
    steepest = np.where(near, 1 / corner, 1 / (4 * np.maximum(centre, corner)))
    return np.asarray(root.mean(axis=-1) - z * _error(steepest * spread))


def _hoelder(found: Squares, z: float) -> Floats:
    centre, spread = found.centre, found.variance
    second = centre.mean(axis=-1)
    some = np.maximum(second, _TINY**0.25)
    fourth = np.maximum((centre**2 - spread).mean(axis=-1), some**2)
    bound = some**1.5 / np.sqrt(fourth)
    gradient = 1.5 / some[..., None] - centre / fourth[..., None]
    error = bound * _error(gradient**2 * spread + spread**2 / (2 * fourth[..., None] ** 2))
    return np.where(second > 0, bound - z * error, 0.0)


def _error(variances: Floats) -> Floats:
    """Standard error of a mean over the last axis."""
    return np.asarray(np.sqrt(variances.sum(axis=-1)) / variances.shape[-1])


def largest_ends(found: Squares, level: float = 0.95) -> Ends:
    """Bounds of the largest ``sqrt(t)``: the largest one-sided limits of the classes.

    The high end need not hold for all classes at once: whichever class is the largest, its own limit holds at
    half of ``1 - level``. The low end fails when any class's limit does: Sidak over K classes, at an eighth
    of the probability, because tails so far out are known less well.

    Returns:
        Low and high ends, shape (...).
    """
    tail = (1 - level) / 2
    each = -np.expm1(np.log1p(-tail) / found.centre.shape[-1]) / _TAIL
    return lower_limits(found, float(each)).max(axis=-1), upper_limits(found, tail).max(axis=-1)


def median_ends(found: Squares, level: float = 0.95) -> Ends:
    """Bounds of the median ``sqrt(t)``: order statistics of one-sided limits, with an allowance for misses.

    The m-th smallest of K values is not above the (m + b)-th smallest upper limit unless more than b of the
    ``h = K - m + 1`` classes from the m-th up have missed theirs. b is a sixth of h, and the limits' error
    such that this happens at half of ``1 - level`` (binomial). The low end mirrors it. For an even K the two
    middle values are bounded at once and averaged.

    Returns:
        Low and high ends, shape (...).
    """
    from scipy import special

    classes = found.centre.shape[-1]
    middle, other = (classes + 1) // 2 - 1, classes // 2
    concerned = classes - middle
    allowed = concerned // 6
    error = float(special.betaincinv(allowed + 1, concerned - allowed, (1 - level) / 2))
    low, high = np.sort(lower_limits(found, error)), np.sort(upper_limits(found, error))
    return (
        (low[..., middle - allowed] + low[..., other - allowed]) / 2,
        (high[..., middle + allowed] + high[..., other + allowed]) / 2,
    )


def upper_limits(found: Squares, error: float) -> Floats:
    """One-sided upper score limit of each ``sqrt(t)``, of the stretched estimate; above it with ``error``."""
    upper = found.stretched
    high = score_limits(upper.centre, upper.noise, upper.slope, 1 - 2 * error)[1]
    return np.sqrt(np.clip(high, 0, found.top))


def lower_limits(found: Squares, error: float) -> Floats:
    """One-sided lower limit of each ``sqrt(t)``: the t at which ``x + floor`` is exceeded with ``error``.

    It has mean ``t + floor`` and variance ``N + S t`` and is taken as gamma, whose tail is longer than a
    normal one. The limit is 0 unless the plain value passes at t = 0, where this is the gamma null of the
    class's p.
    """
    from scipy import special

    def exceeded(value: Floats, t: Floats) -> npt.NDArray[np.bool_]:
        mean = np.maximum(t + found.floor, _TINY)
        rate = mean / np.maximum(found.noise + found.slope * t, _TINY)
        return np.asarray(special.gammaincc(mean * rate, value * rate) > error)

    noisy = np.maximum(found.centre + found.floor, 0)
    low, high = np.zeros(noisy.shape), noisy
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = exceeded(noisy, middle)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    nothing = exceeded(found.plain, np.zeros(noisy.shape))
    return np.asarray(np.sqrt(np.where(nothing, 0.0, np.minimum(low, found.top))))
