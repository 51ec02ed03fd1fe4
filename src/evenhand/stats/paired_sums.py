"""Two models' answers added up by group: what exchanging them, or drawing the samples again, would give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_HELD = 4_000_000  # numbers of one array of draws held at a time


@dataclass(frozen=True)
class Summary:
    """One number made of the rates of some columns.

    Attributes:
        how: ``weights`` (their weighted sum), ``range`` (largest minus smallest) or ``least``.
        columns: Which columns.
        weights: One for each, where they are weighted.
    """

    how: str
    columns: tuple[int, ...]
    weights: tuple[float, ...] = ()

    def of(self, rates: Floats) -> Floats:
        """The number for every draw.

        Args:
            rates: Shape (..., C); NaN where a column has no sample.

        Returns:
            Shape (...); NaN where a column that it needs has none.
        """
        chosen = rates[..., list(self.columns)]
        if self.how == "weights":
            return np.asarray(chosen @ np.array(self.weights))
        least = chosen.min(axis=-1)
        return np.asarray(chosen.max(axis=-1) - least if self.how == "range" else least)


@dataclass(frozen=True, eq=False)
class PairedSums:
    """What each unit (a sample, or a cluster of them) adds to each column, for two models.

    Units that add the same are kept once with their number. A unit always changes places, and is always
    drawn, as a whole.

    Attributes:
        first: Sums of the first model's values, shape (K, C).
        second: Those of the second model, same shape.
        size: What the unit counts for, same shape; the two models answered the same samples.
        units: How many units are like this, shape (K,).
        stratum: Codes within which units are drawn again, shape (K,).
        summaries: What is made of the rates of the C columns.
    """

    first: Floats
    second: Floats
    size: Floats
    units: Integers
    stratum: Integers
    summaries: tuple[Summary, ...]

    @classmethod
    def of(
        cls, first: Floats, second: Floats, size: Floats, stratum: Integers, summaries: Sequence[Summary]
    ) -> PairedSums:
        """From a row for each unit, shape (U, C) each and (U,); equal rows are put together."""
        columns = first.shape[1]
        rows = np.concatenate([first, second, size, stratum[:, None]], axis=1)
        alike, units = np.unique(rows, axis=0, return_counts=True)
        one, other, count = (alike[:, place * columns : (place + 1) * columns] for place in range(3))
        return cls(one, other, count, units.astype(np.int64), alike[:, -1].astype(np.int64), tuple(summaries))

    @property
    def count(self) -> int:
        """How many units there are."""
        return int(self.units.sum())

    @property
    def linear(self) -> bool:
        """Whether every number is a weighted sum of rates."""
        return all(one.how == "weights" for one in self.summaries)

    def _summed(self, sums: Floats, size: Floats) -> Floats:
        """Every summary of sums of shape (..., C), shape (..., S)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = sums / size
        return np.stack([one.of(rates) for one in self.summaries], axis=-1)

    def observed(self) -> Floats:
        """Every summary of the two models, shape (2, S); NaN where a column has no sample."""
        size = self.units @ self.size
        return np.stack([self._summed(self.units @ sums, size) for sums in (self.first, self.second)])

    def exchanged(self, rng: np.random.Generator, replicates: int) -> Floats:
        """The answers of each unit change places with probability 1/2.

        Of the units that are alike a binomial number changes places.

        Returns:
            Shape (2, replicates, S).
        """
        size, totals = self.units @ self.size, [self.units @ sums for sums in (self.first, self.second)]
        away = self.first - self.second
        moving = np.flatnonzero(away.any(axis=1))
        made = np.empty((2, replicates, len(self.summaries)))
        for part in _parts(replicates, max(moving.size, *self.size.shape)):
            swapped = rng.binomial(self.units[moving], 0.5, (part.stop - part.start, moving.size))
            moved = swapped @ away[moving]
            made[0, part] = self._summed(totals[0] - moved, size)
            made[1, part] = self._summed(totals[1] + moved, size)
        return made

    def resampled(self, rng: np.random.Generator, replicates: int) -> Floats:
        """Units drawn again within their stratum, with the answers of both models: (2, replicates, S)."""
        made = np.empty((2, replicates, len(self.summaries)))
        strata = [np.flatnonzero(self.stratum == one) for one in np.unique(self.stratum)]
        for part in _parts(replicates, max(self.size.shape)):
            drawn = np.empty((part.stop - part.start, self.units.size), dtype=np.int64)
            for rows in strata:
                units = self.units[rows]
                drawn[:, rows] = rng.multinomial(units.sum(), units / units.sum(), part.stop - part.start)
            size = drawn @ self.size
            for model, sums in enumerate((self.first, self.second)):
                made[model, part] = self._summed(drawn @ sums, size)
        return made


def _parts(replicates: int, width: int) -> Iterator[slice]:
    """Replicates in pieces of bounded size."""
    step = max(1, min(replicates, _HELD // max(width, 1)))
    for start in range(0, replicates, step):
        yield slice(start, min(start + step, replicates))


def strata_of(size: Floats) -> Integers:
    """Units of the same columns as a stratum; one stratum where the units of one would be too few.

    Args:
        size: What each unit counts for in each column, shape (U, C).

    Returns:
        Codes, shape (U,).
    """
    kinds, code, count = np.unique(size > 0, axis=0, return_inverse=True, return_counts=True)
    if len(kinds) > size.shape[1] or count.min(initial=2) < 2:
        return np.zeros(len(size), dtype=np.int64)
    return code.reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PairedEffects:
    """Associations of the same items by two models, of whose effect sizes d the difference is wanted.

    Two models measure on scales of their own (one's cosines all lie near .2, another's spread widely), which
    d does not depend on. Before items are exchanged, each model's associations are therefore brought to mean
    0 and standard deviation 1 over both sets.

    Attributes:
        first: The first model's associations, shape (N,).
        second: The second model's, shape (N,).
        in_x: Whether an item belongs to X, shape (N,).
        ddof: Of d.
    """

    first: Floats
    second: Floats
    in_x: npt.NDArray[np.bool_]
    ddof: int = 1
    linear = False

    @property
    def count(self) -> int:
        """How many items there are."""
        return int(self.first.size)

    def _d(self, x: Floats, y: Floats) -> Floats:
        """Effect size d of every draw from items of shape (n, R) and (m, R)."""
        from evenhand.stats.association import effect_sizes

        return effect_sizes(x, y, self.ddof)

    def observed(self) -> Floats:
        """Effect size d of the two models, shape (2, 1)."""
        return np.stack([self._d(one[self.in_x, None], one[~self.in_x, None]) for one in self._both])

    @property
    def _both(self) -> tuple[Floats, Floats]:
        return self.first, self.second

    def exchanged(self, rng: np.random.Generator, replicates: int) -> Floats:
        """The two standardised associations of each item change places with probability 1/2.

        Returns:
            Shape (2, replicates, 1).
        """
        a, b = (self._standardised(one) for one in self._both)
        made = np.empty((2, replicates, 1))
        for part in _parts(replicates, a.size):
            swapped = rng.random((a.size, part.stop - part.start)) < 0.5
            for model, (own, other) in enumerate(((a, b), (b, a))):
                mixed = np.where(swapped, other[:, None], own[:, None])
                made[model, part, 0] = self._d(mixed[self.in_x], mixed[~self.in_x])
        return made

    def _standardised(self, values: Floats) -> Floats:
        spread = values.std(ddof=self.ddof)
        return np.asarray((values - values.mean()) / (spread if spread > 0 else 1))

    def resampled(self, rng: np.random.Generator, replicates: int) -> Floats:
        """Items drawn again within X and within Y, the same for both models: (2, replicates, 1)."""
        x, y = np.flatnonzero(self.in_x), np.flatnonzero(~self.in_x)
        made = np.empty((2, replicates, 1))
        for part in _parts(replicates, self.count):
            rows = [
                some[rng.integers(some.size, size=(some.size, part.stop - part.start))] for some in (x, y)
            ]
            for model, values in enumerate(self._both):
                made[model, part, 0] = self._d(values[rows[0]], values[rows[1]])
        return made
