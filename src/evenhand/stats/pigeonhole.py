"""What a bootstrap over targets and attributes is made of: weights, moments of each replicate, and errors.

The matrix of similarities has rows ``x1 ... xn y1 ... ym`` and columns ``a1 ... b1 ...``. Intervals are made
on the scale ``h = asinh(g u)``, with ``g = difference / s``, s^2 the variance within the sets (each by its
share of the targets) and ``u^2 = n m / (2 N^2)``: the variance of h hardly depends on g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.association import ROUNDING, has_spread

Floats = npt.NDArray[np.float64]

_NOTHING = ROUNDING**2  # a variance that is rounding
_FARTHEST = 300.0  # an h whose d is the bound to the last digit


@dataclass(frozen=True)
class Sizes:
    """Members of the four sets; ``fixed``: attributes are not a sample, they stay as they are."""

    n: int
    m: int
    na: int
    nb: int
    fixed: bool = False

    @property
    def total(self) -> int:
        """N, targets in both sets."""
        return self.n + self.m

    @property
    def share(self) -> float:
        """Share of X among the targets."""
        return self.n / self.total

    @property
    def unit(self) -> float:
        """Scale of g at which its variance stops growing with g^2: ``sqrt(n m / 2) / N``."""
        return float(np.sqrt(self.share * (1 - self.share) / 2))

    @property
    def enough(self) -> bool:
        """Whether an interval can be made: a set less one member must still vary."""
        return min(self.n, self.m) >= 3 and (self.fixed or min(self.na, self.nb) >= 2)


@dataclass(frozen=True, eq=False)
class Weights:
    """How often each member was drawn, over the size of its set: shares of shape (size, R)."""

    x: Floats
    y: Floats
    a: Floats
    b: Floats

    @classmethod
    def once(cls, sizes: Sizes) -> Weights:
        """Everyone once: the evidence itself."""
        return cls(*(np.full((size, 1), 1 / size) for size in (sizes.n, sizes.m, sizes.na, sizes.nb)))

    @classmethod
    def drawn(cls, sizes: Sizes, count: int, rng: np.random.Generator) -> Weights:
        """Independent draws with replacement."""
        x, y = _shares(sizes.n, count, rng), _shares(sizes.m, count, rng)
        if sizes.fixed:
            once = cls.once(sizes)
            return cls(x, y, np.repeat(once.a, count, axis=1), np.repeat(once.b, count, axis=1))
        return cls(x, y, _shares(sizes.na, count, rng), _shares(sizes.nb, count, rng))


@dataclass(frozen=True, eq=False)
class Moments:
    """Of the associations in each replicate: how far each is from its set's mean, and these means.

    Attributes:
        x: ``phi_i - mean of X``, shape (n, R).
        y: The same for Y, shape (m, R).
        difference: Mean of X minus mean of Y, shape (R,).
        x_variance: Without bias (ddof 1), shape (R,).
        y_variance: The same for Y.
    """

    x: Floats
    y: Floats
    difference: Floats
    x_variance: Floats
    y_variance: Floats

    @classmethod
    def of(cls, values: Floats, sizes: Sizes, weights: Weights) -> Moments:
        """Associations are one product of matrices for all replicates."""
        phi = values[:, : sizes.na] @ weights.a - values[:, sizes.na :] @ weights.b
        x, y = phi[: sizes.n], phi[sizes.n :]
        x_mean, y_mean = (weights.x * x).sum(axis=0), (weights.y * y).sum(axis=0)
        x, y = x - x_mean, y - y_mean
        return cls(
            x,
            y,
            np.asarray(x_mean - y_mean),
            np.asarray((weights.x * x * x).sum(axis=0)) * (sizes.n / max(sizes.n - 1, 1)),
            np.asarray((weights.y * y * y).sum(axis=0)) * (sizes.m / max(sizes.m - 1, 1)),
        )

    def within(self, sizes: Sizes) -> Floats:
        """Variance within the sets, each by its share of the targets; NaN for none."""
        variance = sizes.share * self.x_variance + (1 - sizes.share) * self.y_variance
        return np.where(variance > _NOTHING, variance, np.nan)

    def statistics(self, sizes: Sizes, ddof: int) -> dict[str, Floats]:
        """d, difference and Cohen's d of each replicate; NaN without spread."""
        inside = (sizes.n - 1) * self.x_variance + (sizes.m - 1) * self.y_variance
        around = inside + sizes.n * sizes.m / sizes.total * self.difference**2
        found = {"difference": self.difference}
        for name, squares, freedom in (
            ("d", around, sizes.total - ddof),
            ("cohens_d", inside, sizes.total - 2),
        ):
            variance = np.where(squares > _NOTHING, squares, np.nan) / (freedom if freedom > 0 else np.nan)
            found[name] = self.difference / np.sqrt(variance)
        return found


def varies(table: Floats, sizes: Sizes) -> bool:
    """Whether everything is finite, and X or Y varies, so that there is an h."""
    if not np.isfinite(table).all():
        return False
    phi = table[:, : sizes.na].mean(axis=1) - table[:, sizes.na :].mean(axis=1)
    return bool(has_spread(phi[: sizes.n]) or has_spread(phi[sizes.n :]))


def d_of(h: npt.ArrayLike, sizes: Sizes, ddof: int) -> Floats:
    """From h to d: ``g / sqrt(1 + g^2 n m / N^2) sqrt((N - ddof) / N)``, which never passes the bound."""
    sinh = np.sinh(np.clip(h, -_FARTHEST, _FARTHEST))
    scale = np.sqrt((sizes.total - ddof) / sizes.total) / sizes.unit
    return np.asarray(scale * sinh / np.sqrt(1 + 2 * sinh**2))


def cohens_of(h: float, sizes: Sizes) -> float:
    """From h to Cohen's d, which is g."""
    return float(np.sinh(h)) / sizes.unit


def studied(table: Floats, sizes: Sizes, weights: Weights, scaled: bool) -> tuple[Floats, Floats]:
    """The statistic of each replicate (h, or the difference) and its error, from influence functions."""
    moments = Moments.of(table, sizes, weights)
    p, q = sizes.share, 1 - sizes.share
    fx, fy = sizes.n / (sizes.n - 1), sizes.m / (sizes.m - 1)
    x, y = moments.x, moments.y
    of_x, of_y = weights.x, -weights.y  # what the statistic gains with each association
    change_x, change_y = x, -y  # and with the weight of each target
    result, slope = moments.difference, np.ones(moments.difference.size)
    if scaled:
        within = moments.within(sizes)
        s = np.sqrt(within)
        g = moments.difference / s
        change_x = x / s - g * p * (fx * x * x - moments.x_variance) / (2 * within)
        change_y = -y / s - g * q * (fy * y * y - moments.y_variance) / (2 * within)
        of_x = weights.x * (1 / s - g * p * fx * x / within)
        of_y = weights.y * (-1 / s - g * q * fy * y / within)
        result, slope = np.arcsinh(g * sizes.unit), sizes.unit / np.sqrt(1 + (sizes.unit * g) ** 2)
    variance = (weights.x * change_x**2).sum(axis=0) / (sizes.n - 1)
    variance = variance + (weights.y * change_y**2).sum(axis=0) / (sizes.m - 1)
    if not sizes.fixed:
        by_attribute = table.T @ np.concatenate([of_x, of_y])
        variance = variance + _spread(by_attribute[: sizes.na], weights.a)
        variance = variance + _spread(by_attribute[sizes.na :], weights.b)
    return result, np.asarray(np.sqrt(variance) * slope)


def _spread(gains: Floats, shares: Floats) -> Floats:
    """Variance of the mean of what attributes add, shape (R,)."""
    centred = gains - (shares * gains).sum(axis=0)
    return np.asarray((shares * centred**2).sum(axis=0) / (len(gains) - 1))


def jackknife_error(table: Floats, sizes: Sizes) -> float:
    """Error of h from leaving out each target and each attribute in turn, all in closed form."""
    by_a, by_b = table[:, : sizes.na], table[:, sizes.na :]
    a_mean, b_mean = by_a.mean(axis=1, keepdims=True), by_b.mean(axis=1, keepdims=True)
    phi = a_mean - b_mean
    x, y = phi[: sizes.n, 0], phi[sizes.n :, 0]
    whole_x, whole_y = (x.mean(), x.var(ddof=1)), (y.mean(), y.var(ddof=1))
    parts = [_h_of(_less_one(x), whole_y, sizes), _h_of(whole_x, _less_one(y), sizes)]
    if not sizes.fixed:
        less_a = phi + (a_mean - by_a) / (sizes.na - 1)
        less_b = phi - (b_mean - by_b) / (sizes.nb - 1)
        for less in (less_a, less_b):
            x, y = less[: sizes.n], less[sizes.n :]
            moments = [(part.mean(axis=0), part.var(axis=0, ddof=1)) for part in (x, y)]
            parts.append(_h_of(moments[0], moments[1], sizes))
    return float(np.sqrt(sum(part.var() * (part.size - 1) for part in parts)))


def _less_one(numbers: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (ddof 1) without each number in turn."""
    k, away = numbers.size, numbers - numbers.mean()
    left = (away @ away - away**2 * k / (k - 1)) / (k - 2)
    return numbers.mean() - away / (k - 1), np.maximum(left, 0)


def _h_of(x: tuple[Floats, Floats], y: tuple[Floats, Floats], sizes: Sizes) -> Floats:
    """The scale on which intervals are made, from means and variances of the two sets."""
    within = sizes.share * x[1] + (1 - sizes.share) * y[1]
    within = np.where(within > _NOTHING, within, np.nan)
    return np.asarray(np.arcsinh((x[0] - y[0]) / np.sqrt(within) * sizes.unit))


def _shares(size: int, count: int, rng: np.random.Generator) -> Floats:
    """Shares of ``count`` draws of ``size`` from as many, with replacement, shape (size, count)."""
    return np.asarray(rng.multinomial(size, np.full(size, 1 / size), count).T / size)
