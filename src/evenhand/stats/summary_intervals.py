"""Confidence limits of V and of its mean, median and maximum over classes.

V is a root, so no unbiased estimate of it exists. What can be estimated is V^2 of each class without its
noise (``phi_squared``), with a variance that depends on the true value. The observed V^2 of a class whose
true one is t is taken as gamma distributed: at t = 0 this is the null distribution with Dawson's (1954)
moments. Lower limits invert that test, so that they are above 0 where p is small enough, and only there.
Classes are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evenhand.stats.contingency import Association
from evenhand.stats.effect_intervals import PhiSquared, score_limits

Floats = npt.NDArray[np.float64]
Ends = tuple[float, float]

SUMMARIES: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda values: np.asarray(values.mean(axis=-1)),
    "median": lambda values: np.asarray(np.median(values, axis=-1)),
    "largest": lambda values: np.asarray(values.max(axis=-1)),
}
METHODS = {
    "mean": "test inversion along the estimated effects; moment bound above",
    "median": "partial conjunction of the classes' tests",
    "largest": "simultaneous test inversion; largest limit of a class above",
}

_MOST_STRETCH = 20.0  # beyond it a table says nothing about how large its V may be
_SMOOTH = 0.3  # .20 is needed for normal estimates, less for chi-squared ones
_HALVINGS = 30
_CALIBRATION = 5.0  # a test may differ from the gamma tail by this factor
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Squares:
    """What is known about the squared effect sizes t of classes; arrays of shape (K,), without NaN.

    Attributes:
        centre: Estimate of t without noise; may be negative.
        noise: Its variance where t = 0.
        slope: What the variance gains with each unit of t.
        floor: What noise alone adds to the plain value.
        plain: The value with noise, as observed.
        stretch: By how much t may exceed the estimate on average, at least 1.
        top: The largest t possible; 0 for classes that count as 0 although they have no table.
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
    def corrected(self) -> Floats:
        """The effect sizes without noise: ``sqrt(max(0, centre))``."""
        return np.asarray(np.sqrt(np.clip(self.centre, 0, self.top)))

    @property
    def variance(self) -> Floats:
        """Variance of the estimate, at the estimate."""
        return np.asarray(self.noise + self.slope * np.maximum(self.centre, 0))

    @property
    def stretched(self) -> Squares:
        """For upper bounds: the estimate times what it may be too small by."""
        f = self.stretch
        return replace(self, centre=self.centre * f, noise=self.noise * f**2, slope=self.slope * f)

    def expected(self, t: Floats) -> Floats:
        """Mean of the plain value: noise adds ``floor`` at 0, at the estimate what it did there."""
        known = np.maximum(self.centre, _TINY)
        part = np.clip(np.where(self.centre > 0, t / known, 0.0), 0, 1)
        return np.asarray(np.maximum(t + self.floor + (self.plain - self.centre - self.floor) * part, _TINY))

    def reached(self, t: Floats, value: Floats) -> Floats:
        """P(the plain value is at least ``value``) where t is true; 1 for classes that are 0 for certain."""
        from scipy import special

        mean = self.expected(t)
        rate = mean / np.maximum(self.noise + self.slope * t, _TINY)
        return np.where(self.top > 0, special.gammaincc(mean * rate, value * rate), 1.0)


def squares(tables: Association, phi2: PhiSquared, *, phi: bool = False) -> Squares:
    r"""Squared V (or phi) of every table; 0 for certain where a table has none (counted as V = 0).

    The bias correction is too strong where labels or groups are rare and V is large: chance adds less to a
    table that is far from even. Simulated over sparse tables, the estimate stays above ``t (1 - 2 a B)``,
    with B the value that noise alone adds to V^2 and ``a = min(1, B / V^2)``: ``stretch`` is the reciprocal.
    The slope is at least ``4/n``, as of noncentral chi-squared, so that a perfect table is not certain.

    Returns:
        Arrays of shape (T,).
    """
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    unit = np.ones(dof.shape) if phi else dof
    plain = np.maximum(tables.chi2 / np.where(tables.n > 0, tables.n, np.nan), _TINY)
    floor = phi2.floor / dof
    stretch = 1 / np.maximum(1 - 2 * floor * np.minimum(1, phi2.floor / plain), 1 / _MOST_STRETCH)
    found = Squares(
        centre=phi2.centre / unit,
        noise=phi2.noise / unit**2,
        slope=np.maximum(phi2.slope, 4 / phi2.size) / unit,
        floor=phi2.floor / unit,
        plain=plain / unit,
        stretch=stretch,
        top=dof / unit,
    )
    known = ~np.isnan(found.centre)
    return found.each(lambda array: np.where(known, array, 0.0))


def class_ends(found: Squares, p: Floats, level: float | Floats = 0.95) -> tuple[Floats, Floats]:
    """Limits of each class's effect size, its ``corrected`` between them, shape (K,) each.

    The upper one is of the score interval. The lower one is the t at which the plain value would be exceeded
    with half of ``1 - level``, or, where that is 0, with all of it: a true 0 can only be missed from above,
    so that the error of both sides is at the lower one. It is 0 where ``p > 1 - level``.

    Args:
        found: The classes.
        p: Of each class's test, shape (K,); the tail at t = 0 is scaled to it. NaN: as the gamma tail says.
        level: Of the interval, or of each class's.
    """
    error = 1 - level
    scale = _calibration(p, found.reached(np.zeros(p.shape), found.plain))
    low = lower_limits(found, error / 2, scale)
    low = np.where(low > 0, low, lower_limits(found, error, scale))
    high = score_limits(found.centre, found.noise, found.slope, level)[1]
    high = np.sqrt(np.clip(high, 0, found.top))
    low = np.where(p > error, 0.0, low)
    return np.minimum(low, found.corrected), np.maximum(high, found.corrected)


def summary_ends(found: Squares, summary: str, p: float, classes_p: Floats, level: float = 0.95) -> Ends:
    """Limits of the mean, median or largest effect size over K >= 2 classes.

    The lower limit spends the error as that of a class does (``class_ends``):

    * mean: the smallest mean of populations along the line from no effect through the estimated ones
      (t in proportion to the square of the estimates, at least as uneven as the truth) that makes the
      observed mean no rarer than the error;
    * median: that which the half of the classes with the largest p exceed together, by Fisher's combination
      (partial conjunction, Benjamini and Heller 2008); its upper limit mirrors it;
    * largest: the effect size that, had by all classes, lets the largest be as large as observed.

    The upper limit of the mean is the lower of two bounds: Jensen's, ``sqrt`` of the upper score limit of the
    mean t, and that of the mean of smoothed roots. The largest has the largest upper limit of a class, since
    whichever class is the largest, its own limit holds.

    Args:
        found: The classes.
        summary: ``mean``, ``median`` or ``largest``.
        p: Of the summary's test.
        classes_p: Of the classes' tests, shape (K,).
        level: Of the interval.
    """
    error, corrected = 1 - level, float(SUMMARIES[summary](found.corrected))
    tail, place = _TAILS[summary](found, classes_p)
    scale = float(_calibration(np.array(p), np.array(tail(0.0))))
    reach = _reach(found)
    low = 0.0
    for some in (error / 2, error):
        if low == 0:
            low = place(_largest_below(lambda s: scale * tail(s), some, reach))
    high = _UPPER[summary](found, error / 2)
    return 0.0 if p > error else min(low, corrected), max(high, corrected)


def combined_p(p: Floats) -> float:
    """P that the median is 0: Fisher's combination of the larger half of the classes' p.

    If half of the classes show no effect, their p are uniform, and the largest ones no smaller (partial
    conjunction, Benjamini and Heller 2008).
    """
    from scipy import special

    half = (p.size + 1) // 2
    largest = np.sort(p)[-half:]
    return float(special.chdtrc(2 * half, -2 * np.log(np.maximum(largest, _TINY)).sum()))


def lower_limits(found: Squares, error: float | Floats, scale: Floats | float = 1.0) -> Floats:
    """Lower limit of each effect size: there ``scale`` times the tail of the plain value is ``error``."""
    low, high = np.zeros(found.plain.shape), np.minimum(found.plain, found.top)
    nothing = scale * found.reached(low, found.plain) > error
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = scale * found.reached(middle, found.plain) > error
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(np.sqrt(np.where(nothing, 0.0, low)))


def upper_limits(found: Squares, error: float) -> Floats:
    """One-sided upper score limit of each effect size, of the stretched estimate; above it with ``error``."""
    upper = found.stretched
    high = score_limits(upper.centre, upper.noise, upper.slope, 1 - 2 * error)[1]
    return np.sqrt(np.clip(high, 0, found.top))


def _calibration(p: Floats, tail: Floats) -> Floats:
    """What scales a gamma tail at t = 0 to the p of a better test."""
    ratio = (np.where(np.isnan(p), tail, p) + _TINY) / (tail + _TINY)
    return np.asarray(np.clip(ratio, 1 / _CALIBRATION, _CALIBRATION))


def _reach(found: Squares) -> float:
    return float(np.sqrt(found.top.max())) or 1.0


def _largest_below(tail: Callable[[float], float], error: float, high: float) -> float:
    """The largest s at which an ascending tail is at most ``error``; 0 where it is more at 0."""
    if tail(0.0) > error:
        return 0.0
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) > error else (middle, high)
    return low


Tail = tuple[Callable[[float], float], Callable[[float], float]]


def _mean_tail(found: Squares, _: Floats) -> Tail:
    """P(the mean of V is as large as observed) where V is s times the line, and the mean of V there."""
    from scipy import special

    classes, known = found.plain.size, found.top > 0
    found = found.each(lambda array: array[known])
    line = np.clip(found.centre, 0, found.top)
    line = line / max(float(line.max(initial=0)), _TINY)
    observed = float(np.sqrt(found.plain).sum())

    def tail(s: float) -> float:
        t = np.minimum((s * line) ** 2, found.top)
        mean = found.expected(t)
        shape = mean**2 / np.maximum(found.noise + found.slope * t, _TINY)
        # the root of a gamma number: its mean and variance add up to those of a normal sum
        root = np.sqrt(mean) * np.exp(special.gammaln(shape + 0.5) - special.gammaln(shape)) / np.sqrt(shape)
        spread = np.sqrt(np.maximum(mean - root**2, _TINY).sum())
        return float(special.ndtr((root.sum() - observed) / max(spread, _TINY)))

    return tail, lambda s: float(np.minimum(s * line, np.sqrt(found.top)).sum() / classes)


def _median_tail(found: Squares, p: Floats) -> Tail:
    def tail(v: float) -> float:
        t = np.full(found.plain.shape, v**2)
        return combined_p(np.maximum(found.reached(t, found.plain), np.nan_to_num(p)))

    return tail, lambda v: v


def _largest_tail(found: Squares, _: Floats) -> Tail:
    most = np.full(found.plain.shape, found.plain.max() * (1 - 1e-9))
    known = found.top > 0

    def tail(v: float) -> float:
        each = found.reached(np.minimum(np.full(most.shape, v**2), found.top), most)
        return float(1 - np.prod(1 - each[known]))

    return tail, lambda v: v


_TAILS = {"mean": _mean_tail, "median": _median_tail, "largest": _largest_tail}


def _mean_high(found: Squares, error: float) -> float:
    from scipy import special

    upper, z = found.stretched, -float(special.ndtri(error))
    return min(_jensen(upper, z), _smoothed(upper, z), float(np.sqrt(upper.top).mean()))


def _median_high(found: Squares, error: float) -> float:
    upper = found.stretched
    upper = replace(upper, plain=np.maximum(upper.centre + upper.floor, _TINY))

    reach = _reach(found)

    def below(s: float) -> float:
        t = np.full(upper.plain.shape, (reach - s) ** 2)
        return combined_p(1 - upper.reached(t, upper.plain))

    return reach - _largest_below(below, error, reach)


def _largest_high(found: Squares, error: float) -> float:
    return float(upper_limits(found, error).max())


_UPPER = {"mean": _mean_high, "median": _median_high, "largest": _largest_high}


def _jensen(found: Squares, z: float) -> float:
    from scipy import special

    weight = np.maximum(found.centre, _TINY)
    slope = (found.slope * weight).sum() / weight.sum() / weight.size
    noise = found.noise.sum() / weight.size**2
    high = score_limits(found.centre.mean(), noise, slope, 2 * float(special.ndtr(z)) - 1)[1]
    return float(np.sqrt(np.maximum(high, 0)))


def _smoothed(found: Squares, z: float) -> float:
    """Mean of ``sqrt(max(0, x + S/4 + .3 sqrt(N)))``, which is on average not below that of sqrt(t)."""
    shifted = found.centre + found.slope / 4 + _SMOOTH * np.sqrt(found.noise)
    steepest = 1 / (4 * np.maximum(np.maximum(shifted, np.sqrt(found.variance) / 2), _TINY))
    error = np.sqrt((steepest * found.variance).sum()) / shifted.size
    return float(np.sqrt(np.maximum(shifted, 0)).mean() + z * error)
