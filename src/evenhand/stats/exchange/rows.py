"""Groups exchanged at random: what a model that knows nothing of the groups would show on these very rows.

Units (persons, households, rows ...) are drawn as of ``UnitShares``. Because groups may hold units of other
sizes, differences are compared in standard errors that heed the units of each draw (Janssen 1997; Chung and
Romano 2013): the test stays right where only the spread of groups differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import (
    Floats,
    Integers,
    Mask,
    Pair,
    codes_of,
    draw_blocks,
    nan_without_warning,
    sum_by,
)
from evenhand.stats.exchange.compared_rates import ComparedRates, ExchangedRates
from evenhand.stats.exchange.relabelling import (
    DrawnShares,
    Levels,
    Relabelling,
    UnitShares,
    UnitValues,
    levels_of,
)
from evenhand.stats.rates.clustered import blended, ratio_variance

_WORK = 20_000_000  # units and rows x replicates that are drawn in all
_FEWEST, _MOST = 999, 9_999
_ROUNDING = 1e-9
_MANY = 20_000  # rows of real numbers from which on alike ones are drawn together,
_KINDS = 12  # in so many kinds


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows of one rate, by group and unit."""

    value: Floats  # in [0, 1], or real numbers of the range `ends`, shape (N,)
    group: Integers  # codes below `groups`, shape (N,); each occurs
    groups: int  # how many groups there are
    # codes of what was sampled as a whole, shape (N,); None: each row is its own
    unit: Integers | None = None
    weight: Floats | None = None  # of each row, shape (N,); None: all count alike
    ends: Pair | None = None  # the range of real numbers, which may be infinite; None: values are rates

    @cached_property
    def units(self) -> Integers:
        """Unit of each row, numbered from 0."""
        if self.unit is None:
            return np.arange(self.value.size)
        return codes_of(self.unit)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row."""
        return np.ones(self.value.size) if self.weight is None else self.weight

    @cached_property
    def mean(self) -> float:
        """The rate of all rows."""
        return float(self.weights @ self.value / self.weights.sum())

    @cached_property
    def spread(self) -> Pair:
        """Two factors of the variance of a row where groups make no difference: p (1 - p) of rates."""
        mean = self.mean
        if self.ends is not None:
            return float(self.weights @ (self.value - mean) ** 2 / self.weights.sum()), 1.0
        mean = min(max(mean, 0.0), 1.0)
        return mean, 1 - mean

    def relabelling(self, stratum: Integers | None = None) -> Relabelling:
        """How groups are exchanged, within strata of any codes where there are any."""
        code = None if stratum is None else codes_of(stratum)
        return Relabelling(self.group, self.units, code)

    @cached_property
    def mixed(self) -> Mask:
        """Which units lie in several groups."""
        return np.zeros(self.value.size, dtype=bool) if self.unit is None else self.relabelling().mixed

    @property
    def fixed(self) -> bool:
        """Whether nothing can change places: no unit lies in several groups, and each group is one unit."""
        if self.unit is not None:
            return self.relabelling().fixed
        return self.groups < 2 or int(np.bincount(self.group).max(initial=0)) < 2

    def within(self, stratum: Integers) -> UnitRows:
        """The same without what strata (topics, classes) make of it: values less their stratum's mean.

        Values keep the mean of all rows, so that rates compare groups of one mix of strata, and may lie a
        little outside [0, 1].
        """
        code = codes_of(stratum)
        total = np.bincount(code, self.weights * self.value) / np.bincount(code, self.weights)
        return replace(self, value=self.value - total[code] + self.mean)


def likeness(rows: UnitRows) -> float:
    """How alike the rows of a unit are: the intra-class correlation by moments, in [0, 1].

    ``sum over pairs of a unit's rows of (y_i - p)(y_j - p) / (pairs p (1 - p))``; groups play no part in it,
    so an exchange leaves it as it is. 0 where no unit has two rows.
    """
    mean = rows.mean
    away = rows.value - mean
    variance = float(rows.weights @ away**2 / rows.weights.sum())
    size = np.bincount(rows.units)
    pairs = float((size * (size - 1)).sum())
    if not pairs or variance <= 0:
        return 0.0
    sums = np.bincount(rows.units, away)
    squares = np.bincount(rows.units, away**2)
    return float(np.clip((sums**2 - squares).sum() / pairs / variance, 0, 1))


def expected_variance(rows: UnitRows) -> Floats:
    """What the sum of each unit varies by where groups make no difference, shape (units,).

    ``w^2 p (1 - p) (rho + (1 - rho) / n)`` for a unit of weight w and n rows; of real numbers their variance
    in place of p (1 - p).
    """
    size = np.bincount(rows.units).astype(np.float64)
    weight = np.bincount(rows.units, rows.weights)
    alike, (first, second) = likeness(rows), rows.spread
    return weight**2 * first * second * (alike + (1 - alike) / size)


def exchange(
    rows: UnitRows,
    rng: np.random.Generator,
    replicates: int | None = None,
    *,
    stratum: Integers | None = None,
) -> ExchangedRates:
    """Exchange the groups of units at random.

    By default there are 9,999 draws, or fewer, 999 at least, for many units. ``stratum`` holds codes within
    which groups are exchanged, for designs whose groups were drawn within strata; a unit of several strata
    changes places with any other.
    """
    design: _Cells | _Design = _Cells.of(rows, stratum) or _Design.of(rows, stratum)
    if replicates is None:
        work = design.work
        work += 4 * rows.groups**2  # each two groups are compared
        replicates = int(np.clip(_WORK // max(work, 1), _FEWEST, _MOST))
    draws, ends = ComparedRates.joined(list(design.draws(rng, replicates))), rows.ends or (0.0, 1.0)
    return ExchangedRates(design.observed(), draws, design.unequal, ends)


@dataclass(frozen=True, eq=False)
class _Design:
    """Units by what can happen to them."""

    rows: UnitRows  # the rows
    labels: Relabelling  # which units are alike, and how the groups of those of one are exchanged
    # moments of the units, shape (C, 6): sum, weight, their squares and product, and the variance that is
    # expected of the sum
    moments: Floats
    share: Floats  # weight of each group, shape (G,)
    added: UnitValues | None  # what units add to groups, where some are of several
    middle: float  # what real numbers are less here, so that no digit is lost; of rates 0

    @classmethod
    def of(cls, rows: UnitRows, stratum: Integers | None) -> _Design:
        labels, (rows, middle) = rows.relabelling(stratum), _centred(rows)
        sums = np.bincount(rows.units, rows.weights * rows.value)
        weights = np.bincount(rows.units, rows.weights)
        expected = expected_variance(rows)
        moments = np.stack([sums, weights, sums**2, sums * weights, weights**2, expected], axis=1)
        added = None
        if labels.mixed.any():
            shares = UnitShares(
                rows.group, rows.units, labels.stratum, weight=rows.weights, groups=rows.groups
            )
            added = shares.added(rows.value)
        share = np.bincount(rows.group, rows.weights, rows.groups).astype(np.float64)
        return cls(rows, labels, moments, share, added, middle)

    @property
    def work(self) -> int:
        """Numbers that a draw takes."""
        return self.labels.mixed.size * (1 if self.added is None else 4 * self.rows.groups)

    @property
    def unequal(self) -> bool:
        """Whether units have other weights, so that groups change in size."""
        weight = self.moments[:, 1]
        return bool(np.ptp(weight) > _ROUNDING * weight.max())

    @cached_property
    def binary(self) -> bool:
        """Whether units are of one weight and hit or miss altogether, all in one group each.

        Then the spread of a group is known from the common rate, as in Pearson's test; that of a few units
        that all miss would be next to nothing. Of real numbers none are known to be hits.
        """
        sums, weight = self.moments[:, 0], self.moments[:, 1].max(initial=0)
        same = np.abs(self.moments[:, 1] - weight) <= _ROUNDING * weight
        altogether = (np.abs(sums) <= _ROUNDING) | (np.abs(sums - weight) <= _ROUNDING * weight)
        return self.added is None and self.rows.ends is None and bool((same & altogether).all())

    def observed(self) -> ComparedRates:
        """The comparison as it is."""
        if self.added is not None:
            return self._of_shares(self.added, self.added.shares.observed)
        return self._compared(self._summed(self.labels.label_of[None]))

    def draws(self, rng: np.random.Generator, replicates: int) -> Iterator[ComparedRates]:
        """Draws, several at a time."""
        wide = len(self.moments) * (1 if self.added is None else self.rows.groups)
        for size in draw_blocks(replicates, wide):
            if self.added is not None:
                yield self._of_shares(self.added, self.added.shares.exchanged(rng, size))
            else:
                yield self._compared(self._totals(rng, size))

    def _totals(self, rng: np.random.Generator, size: int) -> Floats:
        """Moments of groups with units exchanged, shape (size, groups, 6)."""
        if self._unit_levels is None:
            return self._summed(self.labels.wholes(rng, size))
        return self._unit_levels.totals(rng, size)

    def _summed(self, groups: Integers) -> Floats:
        """Moments of groups from the groups of units, shape (draws, groups, 6)."""
        size, count = len(groups), self.rows.groups
        key = (groups + np.arange(size)[:, None] * count).ravel()
        totals = [np.bincount(key, np.tile(moment, size), size * count) for moment in self.moments.T]
        return np.stack(totals, axis=1).reshape(size, count, -1).astype(np.float64)

    @cached_property
    def _unit_levels(self) -> Levels | None:
        """Units as numbers of alike ones in each block, where that is possible."""
        level = np.zeros(len(self.moments), dtype=np.int64)
        for column in (0, 1, 5):  # the other moments are products of the first two
            code = levels_of(self.moments[:, column])[1]
            level = level * (int(code.max()) + 1) + code
        _, first, level = np.unique(level, return_index=True, return_inverse=True)
        return Levels.of(
            self.labels.block, level, self.moments[first], self.labels.label_of, self.rows.groups
        )

    @cached_property
    def _alike(self) -> float:
        return likeness(self.rows)

    @cached_property
    def _squares_by_row(self) -> Floats:
        return np.asarray(self.moments[:, 4] / np.bincount(self.rows.units))

    def _of_shares(self, added: UnitValues, draws: DrawnShares) -> ComparedRates:
        """Rates and their covariance from drawn shares of the units."""
        values, (first, second) = added.spread(draws), self.rows.spread
        totals = values.totals()
        apart = (draws.of_units.T @ self._squares_by_row).T  # where rows of a unit are not alike
        expected = first * second * (self._alike * totals[4] + (1 - self._alike) * apart)
        with nan_without_warning():
            covariance = values.covariance(totals[0] / totals[1], totals[1])
        units, same = added.shares.units, np.arange(self.rows.groups)
        weight = blended(np.ones(()), units, np.zeros(()))
        covariance *= (weight[:, None] + weight) / 2
        covariance[:, same, same] = 0
        return self._compared(np.stack([*totals, expected], axis=-1), units, covariance)

    def _compared(
        self, totals: Floats, units: Integers | None = None, covariance: Floats | None = None
    ) -> ComparedRates:
        if units is None:
            units = np.bincount(self.labels.label_of, minlength=self.rows.groups)
        return _of_moments(totals, units, self.share, covariance, binary=self.binary, middle=self.middle)


def _centred(rows: UnitRows) -> tuple[UnitRows, float]:
    """Rows of real numbers less their mean, and that mean; of rates as they are, and 0."""
    if rows.ends is None:
        return rows, 0.0
    return replace(rows, value=rows.value - rows.mean), rows.mean


@dataclass(frozen=True, eq=False)
class _Cells:
    """Rows that are their own units, as numbers of alike ones: work does not grow with their number."""

    levels: Levels
    rows: Integers  # of each group, shape (G,)
    observed_moments: Floats  # of the groups as they are, shape (G, 6)
    binary: bool  # whether all values are 0 or 1
    middle: float  # what real numbers are less here

    unequal = False

    @classmethod
    def of(cls, rows: UnitRows, stratum: Integers | None) -> _Cells | None:
        """None of rows that have units or weights, and of many different values."""
        if rows.unit is not None or rows.weight is not None:
            return None
        (p, q), (rows, middle) = rows.spread, _centred(rows)
        if rows.ends is not None and rows.value.size >= _MANY:
            values, squares, level = _kinds(rows.value)
        else:
            first, level = levels_of(rows.value)
            values = rows.value[first]
            squares = values**2
        one = np.ones(values.size)
        moments = np.stack([values, one, squares, values, one, one * p * q], axis=1)
        levels = Levels.of(stratum, level, moments, rows.group, rows.groups)
        if levels is None:
            return None
        size = np.bincount(rows.group, minlength=rows.groups)
        sums, square_sums = (sum_by(rows.group, w, rows.groups) for w in (rows.value, rows.value**2))
        of_groups = np.stack([sums, size, square_sums, sums, size, size * p * q], axis=1)
        binary = rows.ends is None and bool(np.isin(values, (0.0, 1.0)).all())
        return cls(levels, size, of_groups, binary, middle)

    @property
    def work(self) -> int:
        """Numbers that a draw takes."""
        return self.levels.counts.size * self.rows.size

    def observed(self) -> ComparedRates:
        """The comparison as it is."""
        return self._compared(self.observed_moments[None])

    def draws(self, rng: np.random.Generator, replicates: int) -> Iterator[ComparedRates]:
        """Draws, several at a time."""
        for size in draw_blocks(replicates, self.work):
            yield self._compared(self.levels.totals(rng, size))

    def _compared(self, totals: Floats) -> ComparedRates:
        return _of_moments(totals, self.rows, self.rows, binary=self.binary, middle=self.middle)


def _kinds(value: Floats) -> tuple[Floats, Floats, Integers]:
    """Many real numbers of mean 0 as few kinds: value and square of each kind, and the kind of each number.

    Numbers of a kind lie beside each other; kinds are narrow where numbers are many or far out. Values are
    means, times what keeps the sum of squares, so that an exchange has the mean and variance of the numbers'.
    """
    some = np.unique(value[:: value.size // _MANY])
    far = np.cumsum((some - np.median(some)) ** 2)
    share = np.arange(1, some.size + 1) / some.size + far / max(float(far[-1]), 1e-300)
    edges = np.unique(some[np.searchsorted(share, share[-1] * np.arange(1, _KINDS) / _KINDS)])
    level = np.zeros(value.size, dtype=np.min_scalar_type(_KINDS))
    for edge in edges:  # which are among the numbers, so that no kind between two is empty
        level += value > edge  # of so few edges sooner than np.searchsorted
    size, sums, squares = (np.bincount(level, w) for w in (None, value, value**2))
    stretch = float(squares.sum()) / max(float((sums**2 / size).sum()), 1e-300)
    return np.asarray(sums / size * np.sqrt(stretch)), np.asarray(squares / size), level.astype(np.int64)


def _of_moments(
    totals: Floats, units: Integers, share: npt.ArrayLike, covariance: Floats | None = None, *, binary: bool,
    middle: float,
) -> ComparedRates:  # fmt: skip
    """Rates and their variances from moments of groups, shape (R, G, 6)."""
    s, w, a, b, q, e = np.moveaxis(totals, -1, 0)
    n = np.broadcast_to(units, s.shape).astype(np.float64)
    with nan_without_warning():
        rates, expected = s / w, e / w**2
        own_variance = blended(ratio_variance(rates, w, n, (a, b, q)), n, expected)
        variance = np.where((n > 1) & (not binary), own_variance, expected)
    shared = None if covariance is None else covariance[..., None]
    weight = np.asarray(share, dtype=np.float64)[:, None]
    return ComparedRates((rates + middle)[..., None], weight, variance[..., None], shared)
