"""Two models' answers added up by group: limits of the difference of what is made of their rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.stats.arrays import (
    Floats,
    Integers,
    Limits,
    Mask,
    Pair,
    Rng,
    nan_without_warning,
    pair_of,
    pieces,
)
from evenhand.stats.association.families import unit_of
from evenhand.stats.rates.clustered import ClusterMean
from evenhand.stats.rates.differences import paired_correlation
from evenhand.stats.rates.rates import Figure, Rates, mean_limits, mover, range_limits, worst_limits

_HELD = 4_000_000  # numbers of one array of draws held at a time
_REPLICATES = 999
_SLACK = 1e-9


@dataclass(frozen=True)
class Summary:
    """One number made of the rates of some columns."""

    how: str  # `weights` (their weighted sum), `range` (largest minus smallest) or `least`
    columns: tuple[int, ...]  # which columns
    weights: tuple[float, ...] = ()  # one for each, where they are weighted

    def of(self, rates: Floats) -> Floats:
        """The number for every draw.

        Rates have shape (..., C), NaN where a column has no sample: then what needs it is NaN.
        """
        selected_rates = rates[..., list(self.columns)]
        if self.how == "weights":
            return np.asarray(selected_rates @ np.array(self.weights))
        least = selected_rates.min(axis=-1)
        return np.asarray(selected_rates.max(axis=-1) - least if self.how == "range" else least)


@dataclass(frozen=True, eq=False)
class PairedSums:
    """What each unit (a sample, or a cluster of them) adds to each column, for two models.

    Units that add the same are kept once with their number. A unit is always drawn as a whole.
    """

    first: Floats  # sums of the first model's values, shape (K, C)
    second: Floats  # those of the second model, same shape
    size: Floats  # what the unit counts for, same shape; the two models answered the same samples
    units: Integers  # how many units are like this, shape (K,)
    stratum: Integers  # codes within which units are drawn again, shape (K,)
    summaries: tuple[Summary, ...]  # what is made of the rates of the C columns
    # how many samples the unit has in each column, shape (K, C): more than `size` where it counts once with
    # their mean
    samples: Floats

    @classmethod
    def of(
        cls, first: Floats, second: Floats, size: Floats, stratum: Integers, summaries: Sequence[Summary],
        samples: Floats | None = None,
    ) -> PairedSums:  # fmt: skip
        """From a row for each unit, shape (U, C) each and (U,); equal rows are put together."""
        kinds = [first, second, size, size if samples is None else samples]
        rows = np.concatenate([*kinds, stratum[:, None]], axis=1)
        alike, units = np.unique(rows, axis=0, return_counts=True)
        first_sums, second_sums, count, many = np.split(alike[:, :-1], 4, axis=1)
        strata = alike[:, -1].astype(np.int64)
        return cls(first_sums, second_sums, count, units.astype(np.int64), strata, tuple(summaries), many)

    @property
    def count(self) -> int:
        """How many units there are."""
        return int(self.units.sum())

    def _summed(self, sums: Floats, size: Floats) -> Floats:
        """Every summary of sums of shape (..., C), shape (..., S)."""
        with nan_without_warning():
            rates = sums / size
        return np.stack([summary.of(rates) for summary in self.summaries], axis=-1)

    def observed(self) -> Floats:
        """Every summary of the two models, shape (2, S); NaN where a column has no sample."""
        size = self.units @ self.size
        return np.stack([self._summed(self.units @ sums, size) for sums in (self.first, self.second)])

    def limits(self, at: int, rng: Rng) -> Limits:
        """Limits of one summary of the first model minus that of the second.

        * weighted sums of rates in [0, 1]: MOVER over the rates of both models, correlated by the units that
          they share;
        * weighted sums of other numbers: t over units;
        * ranges and least rates: the limits of each model, by MOVER, with the correlation of resamples.
        """
        summary = self.summaries[at]
        columns = np.array(summary.columns)
        if summary.how != "weights":
            return self._of_extremes(at, columns, rng)
        signs = np.array([*summary.weights, *(-weight for weight in summary.weights)])
        pair = np.stack([self.first, self.second])
        if not ((pair >= -_SLACK) & (pair <= self.size + _SLACK)).all():
            return self._of_numbers(columns, signs)
        rates = self._rates(columns)

        def limits(level: float) -> Pair:
            return pair_of(mean_limits(rates, signs, level, hidden=0.0))

        return limits

    @cached_property
    def _each(self) -> list[Floats]:
        """First, second, size and samples with a row for every unit."""
        kinds = (self.first, self.second, self.size, self.samples)
        return [np.repeat(kind, self.units, axis=0) for kind in kinds]

    def _means(self, columns: Integers) -> list[ClusterMean]:
        """The first model's columns, then the second's."""
        first, second, size, samples = self._each
        means = []
        for sums in (first, second):
            for column in columns:
                there = np.flatnonzero(size[:, column] > 0)
                added, sizes, many = (array[there, column] for array in (sums, size, samples))
                means.append(ClusterMean.of(added, sizes, many, there, self.count))
        return means

    def _rates(self, columns: Integers) -> Rates:
        """The rates of both models; the correlation of the two over n units is reduced by n / (n + 2)."""
        means = self._means(columns)
        rates = Rates.of_clusters(means)
        single = bool((self.samples[:, columns] <= 1).all())
        if single:  # samples are their own units
            size = np.array([float(mean.clusters) if mean.clusters > 1 else 0.0 for mean in means])
            rates = replace(rates, size=size, freedom=np.full(size.shape, np.inf))
        if rates.covariance is None:
            return rates
        half = len(columns)
        units = np.array([mean.effective for mean in means])
        shrinkage, covariance = units / (units + 2), rates.covariance.copy()
        covariance[:half, half:] *= shrinkage[:half, None]
        covariance[half:, :half] *= shrinkage[None, :half]
        return replace(rates, covariance=covariance)

    def _of_numbers(self, columns: Integers, signs: Floats) -> Limits:
        """Value and t times the standard error that leaving out each unit gives; NaN without spread."""
        means = self._means(columns)
        shifts = signs @ np.stack([mean.shifts for mean in means])
        freedom = max(min(mean.effective for mean in means) - 1, 1.0)
        value = float(signs @ np.array([mean.value for mean in means]))
        return _t_limits(value, float(np.sqrt(shifts @ shifts)), freedom)

    def _of_extremes(self, at: int, columns: Integers, rng: Rng) -> Limits:
        summary, half = self.summaries[at], len(columns)
        rates = self._rates(columns)
        of = range_limits if summary.how == "range" else worst_limits
        draws = self.resampled(rng, _REPLICATES)[..., at]
        correlation = paired_correlation(draws[0], draws[1], self.count)
        values = self.observed()[:, at]
        mine = [rates.take(np.arange(half)), rates.take(np.arange(half, 2 * half))]

        def figure(model: int, level: float) -> Figure:
            low, high = of(mine[model], level)
            return np.minimum(low, values[model]), values[model], np.maximum(high, values[model])

        def limits(level: float) -> Pair:
            return pair_of(mover(figure(0, level), figure(1, level), correlation), -1.0, 1.0)

        return limits

    def resampled(self, rng: Rng, replicates: int) -> Floats:
        """Units drawn again within their stratum, with the answers of both models: (2, replicates, S)."""
        draws = np.empty((2, replicates, len(self.summaries)))
        for part in pieces(replicates, _HELD, max(self.size.shape)):
            unit_counts = drawn_units(rng, self.units, self.stratum, part.stop - part.start)
            size = unit_counts @ self.size
            for model, sums in enumerate((self.first, self.second)):
                draws[model, part] = self._summed(unit_counts @ sums, size)
        return draws


def _t_limits(value: float, error: float, freedom: float) -> Limits:
    """T times a standard error on both sides; NaN where nothing varies."""

    def limits(level: float) -> Pair:
        reach = error * float(special.stdtrit(freedom, (1 + level) / 2)) if error > _SLACK else np.nan
        return value - reach, value + reach

    return limits


def drawn_units(rng: Rng, units: Integers, stratum: Integers, replicates: int) -> Integers:
    """How often units are drawn again within their stratum, shape (replicates, U).

    ``units``: how many are like each, shape (U,).
    """
    times = np.empty((replicates, units.size), dtype=np.int64)
    for code in np.unique(stratum):
        rows = np.flatnonzero(stratum == code)
        total = units[rows].sum()
        times[:, rows] = rng.multinomial(total, units[rows] / total, replicates)
    return times


def strata_of(size: Floats) -> Integers:
    """Units of the same columns as a stratum; one stratum where the units of one would be too few.

    ``size`` is what each unit counts for in each column, shape (U, C).
    """
    kinds, code, count = np.unique(size > 0, axis=0, return_inverse=True, return_counts=True)
    if len(kinds) > size.shape[1] or count.min(initial=2) < 2:
        return np.zeros(len(size), dtype=np.int64)
    return code.reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PairedEffects:
    """Associations of the same items by two models, of whose effect sizes d the difference is wanted.

    Two models measure on scales of their own (one's cosines all lie near .2, another's spread widely), which
    d does not depend on.
    """

    first: Floats  # the first model's associations, shape (N,)
    second: Floats  # the second model's, shape (N,)
    in_x: Mask  # whether an item belongs to X, shape (N,)
    ddof: int = 1  # of d
    families: Integers | None = None  # of the items, shape (N,): a family is drawn whole; None: each is alone

    @cached_property
    def _units(self) -> list[tuple[Integers, int]]:
        """Of X and of Y: the unit of each item, from 0, and how many there are."""
        families = np.arange(self.first.size) if self.families is None else self.families
        return [unit_of(families[here]) for here in (self.in_x, ~self.in_x)]

    @property
    def count(self) -> int:
        """How many units there are."""
        return sum(units for _, units in self._units)

    def observed(self) -> Floats:
        """Effect size d of the two models, shape (2, 1)."""
        return self._effects([np.ones((1, unit.size)) for unit, _ in self._units])

    def _effects(self, times: Sequence[Floats]) -> Floats:
        """D of both models, with each item of X and of Y so many times: shapes (R, n), (R, m); (2, R)."""
        together = np.concatenate(times, axis=1)
        total = together.sum(axis=1)
        effects = np.empty((2, len(together)))
        for model, values in enumerate((self.first, self.second)):
            away = np.concatenate([values[self.in_x], values[~self.in_x]]) - values.mean()
            parts = np.split(away, [times[0].shape[1]])
            means = [many @ part / many.sum(axis=1) for many, part in zip(times, parts, strict=True)]
            squares = together @ away**2 - (together @ away) ** 2 / total
            spread = squares > _SLACK**2 * (away @ away)
            sd = np.sqrt(np.where(spread, squares, np.nan) / (total - self.ddof))
            effects[model] = (means[0] - means[1]) / sd
        return effects

    def limits(self, at: int, rng: Rng) -> Limits:
        """The difference and t times its standard deviation in resamples; NaN where it does not spread."""
        draws, values = self.resampled(rng, _REPLICATES)[..., at], self.observed()[:, at]
        error = float(np.nanstd(draws[0] - draws[1], ddof=1))
        return _t_limits(float(values[0] - values[1]), error, self.count - 2)

    def resampled(self, rng: Rng, replicates: int) -> Floats:
        """Units drawn again within X and within Y, the same for both models: (2, replicates, 1)."""
        effects = np.empty((2, replicates, 1))
        for part in pieces(replicates, _HELD, self.first.size):
            size = part.stop - part.start
            times = []
            for unit, units in self._units:
                cells = rng.integers(units, size=(units, size)) * size + np.arange(size)
                drawn_times = np.bincount(cells.ravel(), minlength=units * size).reshape(units, size)
                times.append(drawn_times[unit].T.astype(np.float64))
            effects[:, part, 0] = self._effects(times)
        return effects
