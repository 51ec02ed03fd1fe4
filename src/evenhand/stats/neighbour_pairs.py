"""Precision of nearest neighbours by group, and how it varies with queries and database.

Each neighbour of a query is a pair of two units, that of the query and that of the database sample; pairs
that share a unit go together. Variances are those of dyads (Fafchamps and Gubert 2007; Aronow, Samii and
Assenova 2015): ``sum_c S_c^2 - sum_cd E_cd^2``, where ``E_cd`` is what the pairs of two units add to how far
a precision is from its mean, and ``S_c`` what all pairs of a unit do. They hold for other queries and for
another database with the same mix of labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.stats.clustered import blended, effective_size
from evenhand.stats.rates import Rates

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Marks:
    """What queries ask for, their groups, and the labels of items: all that an exchange moves.

    Attributes:
        asked: Label that each query asks for, codes from 0, shape (N,).
        group: Group of each query, shape (N,).
        labels: Label of every item, shape (M,); -1: one that nobody asks for.
    """

    asked: Integers
    group: Integers
    labels: Integers


@dataclass(frozen=True, eq=False)
class Precision:
    """Precision of groups under some marks.

    Attributes:
        value: Shape (G,).
        chance: What random items would give, shape (G,).
        covariance: Of the values, shape (G, G).
        total: Precision of all queries.
        total_chance: What random items would give them.
    """

    value: Floats
    chance: Floats
    covariance: Floats
    total: float
    total_chance: float


@dataclass(frozen=True, eq=False)
class NeighbourRows:
    """Nearest items of queries.

    Attributes:
        items: Items of each query, shape (N, K).
        weight: How much each counts, shape (N, K); they add up to at most k in each row.
        k: How many neighbours count.
        marks: As observed; each group occurs.
        groups: How many groups there are.
        unit: Codes of what was sampled as a whole, of queries, shape (N,).
        item_unit: The same of items, shape (M,); an equal code is the same unit.
    """

    items: Integers
    weight: Floats
    k: int
    marks: Marks
    groups: int
    unit: Integers
    item_unit: Integers

    def whole(self) -> NeighbourRows:
        """The same as one group."""
        marks = Marks(self.marks.asked, np.zeros_like(self.marks.group), self.marks.labels)
        return NeighbourRows(self.items, self.weight, self.k, marks, 1, self.unit, self.item_unit)

    @property
    def shared(self) -> bool:
        """Whether a unit is on both sides."""
        return bool(np.isin(self.unit, self.item_unit).any())

    @cached_property
    def pairs(self) -> _Pairs:
        """The pairs by their units."""
        return _Pairs.of(self)

    @cached_property
    def values(self) -> int:
        """How many labels there are."""
        return int(max(self.marks.labels.max(initial=-1), self.marks.asked.max(initial=-1))) + 1

    @cached_property
    def fits(self) -> float:
        """Share of the k neighbours that there are: below 1 where the database is smaller than k."""
        return float(self.weight.sum() / max(len(self.weight) * self.k, 1))

    def precision(self, marks: Marks) -> Precision:
        """Precision of the groups under some marks, with a variance that is blended with the common one."""
        n = np.bincount(marks.group, minlength=self.groups).astype(np.float64)
        same = (marks.labels[self.items] == marks.asked[:, None]) * self.weight
        found = same.sum(axis=1) / self.k
        value = np.bincount(marks.group, found, self.groups) / n
        units = self.pairs.by_unit(marks.group, self.groups)
        share = np.stack([units / n, np.zeros(units.shape)])
        covariance = self.pairs.covariance(self._away(same, value, marks, n), marks, self.groups, share)
        held = np.bincount(marks.labels[marks.labels >= 0], minlength=self.values) / marks.labels.size
        chance = held[marks.asked] * self.fits
        expected = found.var() * (units**2).sum(axis=0) / n**2
        count = np.count_nonzero(units, axis=0)
        own = np.diagonal(covariance)
        np.fill_diagonal(covariance, np.where(count > 1, blended(own, count, expected), expected))
        group_chance = np.bincount(marks.group, chance, self.groups) / n
        return Precision(value, group_chance, covariance, float(found.mean()), float(chance.mean()))

    def _away(self, same: Floats, value: Floats, marks: Marks, n: Floats) -> Floats:
        """What each pair adds to how far its group's precision is from its mean, shape (N, K)."""
        mean = (value / max(self.fits, 1e-12))[marks.group][:, None]
        return np.asarray((same - self.weight * mean) / (n[marks.group][:, None] * self.k))

    @cached_property
    def rates(self) -> Rates:
        """Precision of each group as rates, for their limits."""
        marks, groups = self.marks, self.groups
        n = np.bincount(marks.group, minlength=groups).astype(np.float64)
        same = (marks.labels[self.items] == marks.asked[:, None]) * self.weight
        value = np.minimum(np.bincount(marks.group, same.sum(axis=1) / self.k, groups) / n, 1)
        away = self._away(same, value, marks, n)
        mass = self.weight / (max(self.fits, 1e-12) * self.k * n[marks.group][:, None])
        share = self.pairs.shares(mass, marks, groups)
        covariance = self.pairs.covariance(away, marks, groups, share)
        variance = np.diagonal(covariance)
        effective = 1 / np.square(share).sum(axis=1).max(axis=0)
        most = n * np.count_nonzero(self.weight, axis=1).max(initial=1)
        size = effective_size(value, variance, effective, most)
        alone = share[0].max(axis=0) > 1 - _ROUNDING
        return Rates(value, np.where(alone, 0.0, size), np.maximum(effective - 1, 1.0), covariance)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a query and an item by their units.

    Attributes:
        items: Item of each pair, numbered from 0 among those that occur, shape (N, K).
        occurring: These items.
        owner: Unit of each of them.
        asker: Unit of each query; units are numbered from 0.
        units: How many units there are.
        cell: Code of the two units of each pair, shape (N, K).
        cells: How many such codes there are.
        own: Codes of pairs within one unit, and that unit.
    """

    items: Integers
    occurring: Integers
    owner: Integers
    asker: Integers
    units: int
    cell: Integers
    cells: int
    own: tuple[Integers, Integers]

    @classmethod
    def of(cls, rows: NeighbourRows) -> _Pairs:
        occurring, items = np.unique(rows.items, return_inverse=True)
        items = items.reshape(rows.items.shape)
        both = np.concatenate([rows.unit, rows.item_unit[occurring]])
        units, code = np.unique(both, return_inverse=True)
        asker, owner = code[: rows.unit.size], code[rows.unit.size :]
        found, cell = np.unique(asker[:, None] * units.size + owner[items], return_inverse=True)
        own = np.flatnonzero(found // units.size == found % units.size)
        return cls(
            items, occurring, owner, asker, units.size, cell.reshape(items.shape), found.size,
            (own, found[own] // units.size),
        )  # fmt: skip

    def by_unit(self, group: Integers, groups: int) -> Floats:
        """Queries of each unit in each group, shape (U, G)."""
        found = np.bincount(self.asker * groups + group, minlength=self.units * groups)
        return found.reshape(self.units, groups).astype(np.float64)

    def covariance(self, away: Floats, marks: Marks, groups: int, share: Floats | None = None) -> Floats:
        """Covariance of groups, shape (G, G), from what pairs add.

        Args:
            away: Shape (N, K).
            marks: Groups of queries and labels of items.
            groups: How many groups there are.
            share: Share that each end has in the groups; with it a unit's part is that of leaving it out.
        """
        by = marks.group[:, None]
        asking = _summed(self.asker * groups + marks.group, away.sum(axis=1), self.units, groups)
        item = _summed(self.items * groups + by, away, self.occurring.size, groups)
        label = marks.labels[self.occurring] + 1
        held = np.bincount(marks.labels + 1)
        middle = np.stack([np.bincount(label, part, held.size) for part in item.T], axis=1)
        item = item - (middle / np.maximum(held, 1)[:, None])[label]
        owned = np.stack([np.bincount(self.owner, part, self.units) for part in item.T], axis=1)
        if share is not None:
            left = 1 / np.maximum(1 - share, 0.05)
            asking, owned = asking * left[0], owned * left[1]
        total = asking + owned
        if self.cells == away.size and not self.own[0].size:  # no two pairs have the same two units
            twice: Floats = np.diag(np.bincount(marks.group, np.square(away).sum(axis=1), groups))
        else:
            pair = _summed(self.cell * groups + by, away, self.cells, groups)
            total[self.own[1]] -= pair[self.own[0]]
            twice = pair.T @ pair
        covariance = total.T @ total - twice
        least = np.square(asking).sum(axis=0)
        np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), least))
        return np.asarray(covariance)

    def shares(self, mass: Floats, marks: Marks, groups: int) -> Floats:
        """Share of the pairs of each group that a unit has as asker and as owner, shape (2, U, G)."""
        by = marks.group[:, None]
        asking = _summed(self.asker * groups + marks.group, mass.sum(axis=1), self.units, groups)
        owned = _summed(self.owner[self.items] * groups + by, mass, self.units, groups)
        return np.stack([asking, owned])


def _summed(key: Integers, values: Floats, size: int, groups: int) -> Floats:
    found = np.bincount(key.ravel(), values.ravel(), size * groups)
    return np.asarray(found.reshape(size, groups), dtype=np.float64)
