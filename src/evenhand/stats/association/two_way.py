"""An association test over targets and attributes at once: the t test and interval of crossed samples.

Images and words are both samples: other photos and other words of the same kind would have given another
difference. Its variance is that over targets plus that over attributes, less that of their interaction, which
both hold (Clark 1973, quasi-F; Owen 2007), with Satterthwaite's degrees of freedom (1946). Functions take the
matrix of similarities with rows ``x1 ... xn y1 ... ym`` and columns ``a1 ... b1 ...``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import Ends, Floats, Integers, Pair
from evenhand.stats.association.effect_size import ROUNDING, effect_size, has_spread, without_each_attribute
from evenhand.stats.association.families import by_family, unit_of

Families = tuple[Integers | None, Integers | None]  # of the rows and of the columns
Component = tuple[float, float]  # a variance and its degrees of freedom

STATISTICS = ("d", "difference")
ALONE: Families = (None, None)
_STEPS = 1001  # places on the edge of an ellipse
_UNKNOWN = (float("nan"), float("nan"))
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
        """Whether a test can be made: a set less one member must still vary."""
        return min(self.n, self.m) >= 3 and (self.fixed or min(self.na, self.nb) >= 2)


@dataclass(frozen=True)
class TwoWayEstimate:
    """A statistic with its error."""

    # the difference, or ``h = asinh(g u)`` of the effect size: ``g = difference / s``, s^2 the variance
    # within the sets (each by its share of the targets), ``u^2 = n m / (2 N^2)``. The variance of h hardly
    # depends on g.
    value: float
    error: float  # standard error
    freedom: float  # degrees of freedom of t
    back: Callable[[float], float] = float  # from the scale of the value to that of the statistic

    def p_value(self, alternative: str = "two_sided") -> float:
        """The tail of t beyond the value: ``two_sided``, ``greater`` or ``less``."""
        t = self.value / self.error
        if alternative == "two_sided":
            return float(2 * special.stdtr(self.freedom, -abs(t)))
        return float(special.stdtr(self.freedom, -t if alternative == "greater" else t))

    def reach(self, level: float) -> float:
        """How far the limits lie from the value."""
        return float(special.stdtrit(self.freedom, (1 + level) / 2)) * self.error

    def limits(self, level: float) -> Pair:
        """Limits of the statistic."""
        reach = self.reach(level)
        return self.back(self.value - reach), self.back(self.value + reach)

    def band(self, level: float) -> Pair:
        """Values of the statistic, about 0, that the test of no difference does not reject."""
        half = self.back(self.reach(level))
        return -half, half


def two_way(
    values: npt.ArrayLike, sizes: Sizes, statistic: str = "d", ddof: int = 1, families: Families = ALONE
) -> TwoWayEstimate | None:
    """The difference of mean associations of X and Y, or the effect size, over targets and attributes.

    The error of h is that of leaving out each target and attribute in turn, but at least that with which the
    test of h = 0 is the test of no difference: as h grows, its slope would hide how uncertain the sign is.
    Of ``families`` (of the rows, of the columns) each is one unit, left out whole. None where a set is too
    small (3 units of targets, 2 of attributes), a number is not finite, or neither X nor Y varies.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"no interval of {statistic!r}; there is one of {', '.join(STATISTICS)}")
    table, sizes = _columns(values, sizes, families[1])
    rows, (n, m) = by_family(table.T, (sizes.n, sizes.m), families[0])
    units, unit_sizes = rows.T, replace(sizes, n=n, m=m)
    if not (unit_sizes.enough and np.isfinite(table).all()):
        return None
    if not any(has_spread(side) for side in _sides(table, sizes)):
        return None
    plain = _difference(units, unit_sizes)
    if plain is None or statistic == "difference":
        return plain
    h, slope = _scaled(table, sizes)
    parts = [float(part.var() * (part.size - 1)) for part in left_out(table, sizes, families[0])]
    together = [] if sizes.fixed else _together(units, unit_sizes)
    error_variance = _crossed(
        parts[:2], parts[2:], [(variance * slope**2, freedom) for variance, freedom in together]
    )
    if not np.isfinite(error_variance):  # a set less one item has no spread, so that h without it is infinite
        return None
    chord = plain.error * (h / plain.value if plain.value else slope)
    error = max(error_variance**0.5, chord)
    return TwoWayEstimate(h, error, plain.freedom, lambda h: float(d_of(h, sizes, ddof)))


def _columns(values: npt.ArrayLike, sizes: Sizes, families: Integers | None) -> tuple[Floats, Sizes]:
    """The table with families for attributes."""
    table, (na, nb) = by_family(values, (sizes.na, sizes.nb), families)
    return table, replace(sizes, na=na, nb=nb)


def single_set(values: npt.ArrayLike, na: int, families: Families = ALONE) -> TwoWayEstimate | None:
    """The mean association of one set with A (the first ``na`` columns) less that with B.

    ``families`` as in ``two_way``. None where a set has one unit or nothing varies.
    """
    table = np.asarray(values, dtype=np.float64)
    table, (na, nb) = by_family(table, (na, table.shape[1] - na), families[1])
    table = by_family(table.T, (len(table),), families[0])[0].T
    n = len(table)
    if min(n, na, nb) < 2:
        return None
    blocks, words = (table[:, :na], table[:, na:]), table.mean(axis=0)
    phi = blocks[0].mean(axis=1) - blocks[1].mean(axis=1)
    targets = [(float(phi.var(ddof=1)) / n, n - 1.0)]
    attributes = [(float(part.var(ddof=1)) / part.size, part.size - 1.0) for part in (words[:na], words[na:])]
    return _estimate(float(phi.mean()), targets, attributes, [_apart(side) for side in blocks])


def reduction_interval(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    sizes: Sizes,
    *,
    level: float = 0.95,
    ddof: int = 1,
    families: Families = ALONE,
) -> Pair:
    """Interval of a reduction: ``|d before| - |d after|``, on the same items; NaN where either d has none.

    The lowest and the highest reduction that a pair of d can have on the edge of an ellipse: its half axes
    are the reaches of the two intervals on their scale h, tilted by the correlation r of the two h when items
    are left out. For a reduction linear in h that is MOVER (Zou and Donner 2008), ``sqrt(u^2 + v^2 -
    2 r u v)`` to each side; without any change r is 1, the ellipse a line, and both ends are 0.
    """
    first, second = (two_way(table, sizes, families=families) for table in (before, after))
    if first is None or second is None:
        return _UNKNOWN
    tables = [_columns(table, sizes, families[1])[0] for table in (before, after)]
    sizes = _columns(before, sizes, families[1])[1]
    # what each unit adds to the deviation of h: squares add up to its variance
    parts = [
        np.concatenate(
            [(h - h.mean()) * np.sqrt((h.size - 1) / h.size) for h in left_out(table, sizes, families[0])]
        )
        for table in tables
    ]
    scale = float(np.sqrt((parts[0] @ parts[0]) * (parts[1] @ parts[1])))
    r = float(parts[0] @ parts[1]) / scale if scale > 0 else 0.0

    def reduction(h: npt.ArrayLike, other: npt.ArrayLike) -> Floats:
        return abs(d_of(h, sizes, ddof)) - abs(d_of(other, sizes, ddof))

    angle = np.linspace(0, 2 * np.pi, _STEPS)
    along = r * np.cos(angle) + np.sqrt(max(1 - r * r, 0)) * np.sin(angle)
    ends = reduction(
        first.value + first.reach(level) * np.cos(angle), second.value + second.reach(level) * along
    )
    moves = ends - reduction(first.value, second.value)
    d = [abs(effect_size(x, y, ddof)) for x, y in (_sides(table, sizes) for table in tables)]
    reduced = d[0] - d[1]
    return reduced + float(moves.min()), reduced + float(moves.max())


def d_of(h: npt.ArrayLike, sizes: Sizes, ddof: int) -> Floats:
    """From h to d: ``g / sqrt(1 + g^2 n m / N^2) sqrt((N - ddof) / N)``, which never passes the bound."""
    sinh = np.sinh(np.clip(h, -_FARTHEST, _FARTHEST))
    scale = np.sqrt((sizes.total - ddof) / sizes.total) / sizes.unit
    return np.asarray(scale * sinh / np.sqrt(1 + 2 * sinh**2))


def left_out(table: Floats, sizes: Sizes, families: Integers | None = None) -> list[Floats]:
    """H without each member of X, of Y, and, where attributes are a sample, of A and of B: closed forms.

    Where targets have families, without each of these.
    """
    x, y = _sides(table, sizes)
    whole_x, whole_y = (x.mean(), x.var(ddof=1)), (y.mean(), y.var(ddof=1))
    of_x, of_y = (None, None) if families is None else np.split(families, [sizes.n])
    parts = [_h_of(_less_one(x, of_x), whole_y, sizes), _h_of(whole_x, _less_one(y, of_y), sizes)]
    if not sizes.fixed:
        columns = np.arange(sizes.na + sizes.nb)
        without = without_each_attribute(table, columns[: sizes.na], columns[sizes.na :])
        moments = [(part.mean(axis=0), part.var(axis=0, ddof=1)) for part in np.split(without, [sizes.n])]
        parts += np.split(_h_of(moments[0], moments[1], sizes), [sizes.na])
    return parts


def _sides(table: Floats, sizes: Sizes) -> list[Floats]:
    """Associations of the members of X, and of Y."""
    return np.split(table[:, : sizes.na].mean(axis=1) - table[:, sizes.na :].mean(axis=1), [sizes.n])


def _difference(table: Floats, sizes: Sizes) -> TwoWayEstimate | None:
    """The difference of mean associations with its components of variance."""
    x, y = _sides(table, sizes)
    gain = table[: sizes.n].mean(axis=0) - table[sizes.n :].mean(axis=0)
    samples = [x, y] if sizes.fixed else [x, y, *np.split(gain, [sizes.na])]
    components = [(float(part.var(ddof=1)) / part.size, part.size - 1.0) for part in samples]
    together = [] if sizes.fixed else _together(table, sizes)
    return _estimate(float(x.mean() - y.mean()), components[:2], components[2:], together)


def _together(table: Floats, sizes: Sizes) -> list[Component]:
    """What the means of the four blocks of targets and attributes vary by beside rows and columns."""
    columns = slice(None, sizes.na), slice(sizes.na, None)
    return [_apart(side[:, part]) for side in (table[: sizes.n], table[sizes.n :]) for part in columns]


def _apart(block: Floats) -> Component:
    """What the mean of a block varies by beside its rows and columns."""
    rows, columns = block.shape
    away = block - block.mean()
    squares = float(np.einsum("ij,ij->", away, away))
    squares -= columns * float((away.mean(axis=1) ** 2).sum()) + rows * float((away.mean(axis=0) ** 2).sum())
    freedom = (rows - 1) * (columns - 1)
    return max(squares, 0.0) / freedom / block.size, float(freedom)


def _estimate(
    value: float, targets: Sequence[Component], attributes: Sequence[Component], together: Sequence[Component]
) -> TwoWayEstimate | None:
    """A difference with the error of crossed samples; never below that over targets or attributes alone."""
    variance = _crossed([noise for noise, _ in targets], [noise for noise, _ in attributes], together)
    if not variance > _NOTHING:
        return None
    every = [*targets, *attributes]
    spread = sum(noise**2 / freedom for noise, freedom in (*every, *together))
    return TwoWayEstimate(
        value, variance**0.5, max(variance**2 / spread, min(freedom for _, freedom in every))
    )


def _crossed(targets: Sequence[float], attributes: Sequence[float], together: Sequence[Component]) -> float:
    over, beside = sum(targets), sum(attributes)
    return max(over + beside - sum(variance for variance, _ in together), over, beside)


def _scaled(table: Floats, sizes: Sizes) -> Pair:
    """The effect on the scale h, and how steeply h grows with the difference."""
    x, y = _sides(table, sizes)
    within = float(np.sqrt(sizes.share * x.var(ddof=1) + (1 - sizes.share) * y.var(ddof=1)))
    g = float(x.mean() - y.mean()) / within
    return float(np.arcsinh(g * sizes.unit)), sizes.unit / float(np.sqrt(1 + (sizes.unit * g) ** 2)) / within


def _less_one(numbers: Floats, families: Integers | None = None) -> tuple[Floats, Floats]:
    """Mean and variance (ddof 1) without each number in turn, or without each family of them."""
    away = numbers - numbers.mean()
    unit, units = (np.arange(away.size), away.size) if families is None else unit_of(families)
    counts, total, squares = (np.bincount(unit, weights, units) for weights in (None, away, away**2))
    rest = away.size - counts
    left = (away @ away - squares - total**2 / rest) / (rest - 1)
    return numbers.mean() - total / rest, np.maximum(left, 0)


def _h_of(x: Ends, y: Ends, sizes: Sizes) -> Floats:
    """The scale on which intervals are made, from means and variances of the two sets."""
    within = sizes.share * x[1] + (1 - sizes.share) * y[1]
    within = np.where(within > _NOTHING, within, np.nan)
    return np.arcsinh((x[0] - y[0]) / np.sqrt(within) * sizes.unit)
