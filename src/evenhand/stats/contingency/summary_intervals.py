"""Confidence limits of V and of its mean, median and maximum over classes.

V is a root, so no unbiased estimate of it exists. What can be estimated is V^2 of each class without its
noise (``phi_squared``), with a variance that depends on the true value. The observed V^2 of a class whose
true one is t is taken as gamma distributed: at t = 0 this is the null distribution with Dawson's (1954)
moments. Lower limits of a class invert that test, so that they are above 0 where p is small enough, and only
there. Summaries over classes: ``inverted_families``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.stats.arrays import Ends, Floats, ratio
from evenhand.stats.contingency.effect_intervals import PhiSquared, score_limits
from evenhand.stats.contingency.tables import Association
from evenhand.stats.inverted_families import ALPHA, LEAST, Inverted, Member

SUMMARIES: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda values: np.asarray(values.mean(axis=-1)),
    "median": lambda values: np.asarray(np.median(values, axis=-1)),
    "largest": lambda values: np.asarray(values.max(axis=-1)),
}
_HALVINGS = 30
_CALIBRATION = 5.0  # a test may differ from the gamma tail by this factor
_MOST_SHAPE = 1e6  # of a gamma number that hardly varies
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Squares:
    """What is known about the squared effect sizes t of classes; arrays of shape (K,), without NaN."""

    centre: Floats  # estimate of t without noise; may be negative
    noise: Floats  # its variance where t = 0
    slope: Floats  # what the variance gains with each unit of t
    floor: Floats  # what noise alone adds to the plain value
    plain: Floats  # the value with noise, as observed
    top: Floats  # the largest t possible; 0 where there is no table

    def each(self, change: Callable[[Floats], Floats]) -> Squares:
        """The same change made to every array."""
        return Squares(*(change(array) for array in vars(self).values()))

    @property
    def corrected(self) -> Floats:
        """The effect sizes without noise: ``sqrt(max(0, centre))``."""
        return np.sqrt(np.clip(self.centre, 0, self.top))

    def expected(self, t: Floats) -> Floats:
        """Mean of the plain value: noise adds ``floor`` at 0, at the estimate what it did there."""
        positive_centre = np.maximum(self.centre, _TINY)
        part = np.clip(np.where(self.centre > 0, t / positive_centre, 0.0), 0, 1)
        return np.asarray(np.maximum(t + self.floor + (self.plain - self.centre - self.floor) * part, _TINY))

    def reached(self, t: Floats, value: Floats) -> Floats:
        """P(the plain value is at least ``value``) where t is true; 1 where there is no table."""
        mean = self.expected(t)
        rate = mean / np.maximum(self.noise + self.slope * t, _TINY)
        return np.asarray(special.gammaincc(mean * rate, value * rate))

    def scores(self, draws: Floats) -> Floats:
        """Normal scores of plain values drawn without effects, shape (R, K) (Wilson and Hilferty 1931)."""
        shape = self._shape(self.floor, self.noise)
        cube = np.cbrt(draws / np.maximum(self.floor, _TINY))
        return 3 * np.sqrt(shape) * (cube - 1 + 1 / (9 * shape))

    def drawn(self, t: Floats, scores: Floats) -> Floats:
        """The plain values of these scores where t is true, shape (R, K)."""
        mean = self.expected(t)
        shape = self._shape(mean, self.noise + self.slope * t)
        cube = np.maximum(1 - 1 / (9 * shape) + scores / (3 * np.sqrt(shape)), 0)
        return np.asarray(mean * cube**3)

    def _shape(self, mean: Floats, variance: Floats) -> Floats:
        return np.clip(mean**2 / np.maximum(variance, _TINY), 1e-6, _MOST_SHAPE)


def squares(tables: Association, phi2: PhiSquared, *, phi: bool = False) -> Squares:
    """Squared V (or phi) of every table; 0 where a table has none.

    The slope is at least ``4/n``, as of noncentral chi-squared, so that a perfect table is not certain.
    """
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    unit = np.ones(dof.shape) if phi else dof
    plain = np.maximum(ratio(tables.chi2, tables.n), _TINY)
    squared = Squares(
        centre=phi2.centre / unit,
        noise=phi2.noise / unit**2,
        slope=np.maximum(phi2.slope, 4 / phi2.size) / unit,
        floor=phi2.floor / unit,
        plain=plain / unit,
        top=dof / unit,
    )
    has_value = ~np.isnan(squared.centre)
    return squared.each(lambda array: np.where(has_value, array, 0.0))


def class_ends(squared: Squares, p: Floats, level: float | Floats = 0.95) -> Ends:
    """Limits of each class's effect size, its ``corrected`` between them, shape (K,) each.

    The upper one is of the score interval. The lower one is the t at which the plain value would be exceeded
    with half of ``1 - level``, or, where that is 0, with all of it: a true 0 can only be missed from above,
    so that the error of both sides is at the lower one; or the score interval's where that is less, but not
    0. It is 0 where ``p > 1 - level``, p of each class's test; the tail at t = 0 is scaled to p, where NaN as
    the gamma tail says.
    """
    error = 1 - level
    tail = squared.reached(np.zeros(p.shape), squared.plain)
    better = (np.where(np.isnan(p), tail, p) + _TINY) / (tail + _TINY)  # than the gamma tail at t = 0
    scale = np.clip(better, 1 / _CALIBRATION, _CALIBRATION)
    low = lower_limits(squared, error / 2, scale)
    low = np.where(low > 0, low, lower_limits(squared, error, scale))
    ends = score_limits(squared.centre, squared.noise, squared.slope, level)
    below, high = (np.sqrt(np.clip(end, 0, squared.top)) for end in ends)
    low = np.where(p > error, 0.0, np.minimum(low, np.maximum(below, LEAST * low)))
    return np.minimum(low, squared.corrected), np.maximum(high, squared.corrected)


def summary_family(squared: Squares, summary: str, scores: Floats, classes_p: Floats) -> Inverted:
    """The mean, median or largest effect size over K >= 2 classes among those of other populations.

    ``scores``: of draws without effects, shape (R, K); ``classes_p``: of the classes' tests.
    """
    combine, most, plain = SUMMARIES[summary], np.sqrt(squared.top), np.sqrt(squared.plain)
    plain = np.minimum(plain, most)

    def family(shape: Floats) -> Member:
        def member(s: float) -> tuple[float, Floats]:
            v = np.minimum(s * shape, most)
            return float(combine(v)), combine(np.sqrt(squared.drawn(v**2, scores)))

        return member

    first = np.nan_to_num(classes_p, nan=1.0).min()  # one class may always stand out
    few = np.where(
        classes_p <= max(ALPHA, first), np.maximum(squared.corrected, LEAST * plain), LEAST * plain
    )
    shapes = [few, plain]
    if summary == "median":
        shapes = [_smoothed(shape) for shape in shapes]
    return Inverted.along(float(combine(plain)), [family(shape) for shape in shapes])


def _smoothed(values: Floats) -> Floats:
    """Means of neighbours in their order: a median depends on gaps, which noise makes."""
    order, smooth, size = np.argsort(values), np.empty(values.shape), values.size // 4 * 2 + 1
    padded = np.pad(values[order], size // 2, mode="edge")
    sums = np.cumsum(np.append(padded[:size], padded[size:] - padded[:-size]))[size - 1 :]
    smooth[order] = sums / size
    return smooth


def combined_p(p: Floats) -> float:
    """P that the median is 0: Fisher's combination of the larger half of the classes' p.

    If half of the classes show no effect, their p are uniform, and the largest ones no smaller (partial
    conjunction, Benjamini and Heller 2008).
    """
    half = (p.size + 1) // 2
    largest = np.sort(p)[-half:]
    return float(special.chdtrc(2 * half, -2 * np.log(np.maximum(largest, _TINY)).sum()))


def lower_limits(squared: Squares, error: float | Floats, scale: Floats | float = 1.0) -> Floats:
    """Lower limit of each effect size: there ``scale`` times the tail of the plain value is ``error``."""
    low, high = np.zeros(squared.plain.shape), np.minimum(squared.plain, squared.top)
    nothing = scale * squared.reached(low, squared.plain) > error
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = scale * squared.reached(middle, squared.plain) > error
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.sqrt(np.where(nothing, 0.0, low))
