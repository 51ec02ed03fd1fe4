"""Precision of nearest neighbours by group, ties averaged, and how it varies with queries and database.

Each neighbour of a query is a pair of two units, that of the query and that of the database sample; pairs
that share a unit go together. Variances are those of dyads (Fafchamps and Gubert 2007; Aronow, Samii and
Assenova 2015): ``sum_c S_c^2 - sum_cd E_cd^2``, where ``E_cd`` is what the pairs of two units add to how far
a precision is from its mean, and ``S_c`` what all pairs of a unit do. They hold for other queries and for
another database with the same mix of labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Floats, Integers, Mask, keys_and_codes
from evenhand.stats.rates.clustered import blended, effective_size
from evenhand.stats.rates.rates import Rates

_ROUNDING = 1e-9
TIED = 2.0**-22
"""Cosines of float32 that differ by less are the same: four units in the last place of 1."""


@dataclass(frozen=True, eq=False)
class FirstItems:
    """How much each of the nearest items counts among the first k, on average over all orders of ties."""

    weight: Floats  # (N, K): 1 before the items tied at place k, the share that fits at those, 0 beyond
    tied: Mask  # whether items at places k and k + 1 are tied, shape (N,)
    unknown: Mask  # whether the tie may reach beyond the items that are known, shape (N,)

    @classmethod
    def of(cls, values: npt.NDArray[np.floating], k: int, size: int) -> FirstItems:
        """From the values of the nearest of ``size`` items, best first, shape (N, K) with K >= k."""
        count, depth = values.shape
        new = np.ones((count, depth + 1), dtype=bool)
        new[:, 1:depth] = values[:, :-1] - values[:, 1:] > TIED
        position = np.arange(depth + 1)
        first = np.where(new[:, :k], position[:k], 0).max(axis=1)
        after = np.where(new[:, k:], position[k:], depth).min(axis=1)
        inside = (position[:-1] >= first[:, None]) & (position[:-1] < after[:, None])
        share = (k - first) / (after - first)
        weight = np.where(inside, share[:, None], position[:-1] < first[:, None])
        tied = after > k
        return cls(weight, tied, tied & (after == depth) & (depth < size))

    @classmethod
    def in_order(cls, shape: tuple[int, int], k: int) -> FirstItems:
        """The first k as they come, whether tied or not."""
        none = np.zeros(shape[0], dtype=bool)
        return cls(np.broadcast_to((np.arange(shape[1]) < k).astype(np.float64), shape), none, none)

    def take(self, mask: Mask) -> FirstItems:
        """Those of some rows."""
        return FirstItems(self.weight[mask], self.tied[mask], self.unknown[mask])


@dataclass(frozen=True, eq=False)
class Marks:
    """What queries ask for, their groups, and the labels of items: all that an exchange moves."""

    query_labels: Integers  # label that each query asks for, codes from 0, shape (N,)
    group: Integers  # group of each query, shape (N,)
    labels: Integers  # label of every item, shape (M,); -1: one that nobody asks for

    @property
    def once(self) -> Marks:
        """The same as one draw of several, whose axis is the first."""
        return Marks(self.query_labels[None], self.group[None], self.labels[None])


@dataclass(frozen=True, eq=False)
class Precisions:
    """Precision of groups under each of R draws of marks; under marks of one draw there is no axis R."""

    value: Floats  # shape (R, G)
    chance: Floats  # what random items would give, shape (R, G)
    covariance: Floats  # of the values, shape (R, G, G)
    total: Floats  # precision of all queries, shape (R,)
    total_chance: Floats  # what random items would give them, shape (R,)

    def at(self, draw: int) -> Precisions:
        """One of them."""
        parts = (self.value, self.chance, self.covariance, self.total, self.total_chance)
        return Precisions(*(part[draw] for part in parts))


@dataclass(frozen=True, eq=False)
class NeighbourRows:
    """Nearest items of queries."""

    items: Integers  # items of each query, shape (N, K)
    weight: Floats  # how much each counts, shape (N, K); they add up to at most k in each row
    k: int  # how many neighbours count
    marks: Marks  # as observed; each group occurs
    groups: int  # how many groups there are
    unit: Integers  # codes of what was sampled as a whole, of queries, shape (N,)
    item_unit: Integers  # the same of items, shape (M,); an equal code is the same unit

    def whole(self) -> NeighbourRows:
        """The same as one group."""
        return replace(self, marks=replace(self.marks, group=np.zeros_like(self.marks.group)), groups=1)

    @property
    def shared(self) -> bool:
        """Whether a unit is on both sides."""
        return bool(np.isin(self.unit, self.item_unit).any())

    @cached_property
    def pairs(self) -> _Pairs:
        """The pairs by their units."""
        return _Pairs.of(self)

    @cached_property
    def numbers(self) -> int:
        """How many numbers a draw of marks takes, to hold several at a time."""
        pairs = self.pairs
        cells = 0 if pairs.single else pairs.cells
        return self.items.size + (cells + 2 * pairs.units + pairs.occurring.size) * self.groups

    @cached_property
    def values(self) -> int:
        """How many labels there are."""
        return int(max(self.marks.labels.max(initial=-1), self.marks.query_labels.max(initial=-1))) + 1

    @cached_property
    def fits(self) -> float:
        """Share of the k neighbours that there are: below 1 where the database is smaller than k."""
        return float(self.weight.sum() / max(len(self.weight) * self.k, 1))

    def precision(self, marks: Marks) -> Precisions:
        """Precision of the groups under marks of one draw."""
        return self.precisions(marks.once).at(0)

    def precisions(self, marks: Marks) -> Precisions:
        """The same of R draws of marks, with a variance that is blended with the common one."""
        n = _summed(marks.group, np.ones(marks.group.shape), self.groups)
        same = (marks.labels[:, self.items] == marks.query_labels[..., None]) * self.weight
        precision = same.sum(axis=2) / self.k
        value = _summed(marks.group, precision, self.groups) / n
        units = self.pairs.by_unit(marks.group, self.groups)
        share = np.stack([units / n[:, None], np.zeros(units.shape)])
        covariance = self.pairs.covariance(self._away(same, value, marks, n), marks, self.groups, share)
        has_label = (marks.labels >= 0).astype(np.float64)
        label_shares = _summed(marks.labels + 1, has_label, self.values + 1)[:, 1:] / marks.labels.shape[1]
        chance = np.take_along_axis(label_shares, marks.query_labels, axis=1) * self.fits
        expected = precision.var(axis=1)[:, None] * (units**2).sum(axis=1) / n**2
        count = np.count_nonzero(units, axis=1)
        own_variance = np.diagonal(covariance, axis1=1, axis2=2)
        code = np.arange(self.groups)
        covariance[:, code, code] = np.where(count > 1, blended(own_variance, count, expected), expected)
        group_chance = _summed(marks.group, chance, self.groups) / n
        return Precisions(value, group_chance, covariance, precision.mean(axis=1), chance.mean(axis=1))

    def _away(self, same: Floats, value: Floats, marks: Marks, n: Floats) -> Floats:
        """What each pair adds to how far its group's precision is from its mean, shape (R, N, K)."""
        mean = np.take_along_axis(value / max(self.fits, 1e-12), marks.group, axis=1)[..., None]
        size = np.take_along_axis(n, marks.group, axis=1)[..., None]
        return (same - self.weight * mean) / (size * self.k)

    @cached_property
    def rates(self) -> Rates:
        """Precision of each group as rates, for their limits."""
        marks, groups = self.marks, self.groups
        n = np.bincount(marks.group, minlength=groups).astype(np.float64)
        same = (marks.labels[self.items] == marks.query_labels[:, None]) * self.weight
        value = np.minimum(np.bincount(marks.group, same.sum(axis=1) / self.k, groups) / n, 1)
        single_draw = marks.once
        away = self._away(same[None], value[None], single_draw, n[None])
        mass = self.weight / (max(self.fits, 1e-12) * self.k * n[marks.group][:, None])
        share = self.pairs.shares(mass, marks, groups)
        covariance = self.pairs.covariance(away, single_draw, groups, share[:, None])[0]
        variance = np.diagonal(covariance)
        effective = 1 / np.square(share).sum(axis=1).max(axis=0)
        most = n * np.count_nonzero(self.weight, axis=1).max(initial=1)
        size = effective_size(value, variance, effective, most)
        alone = share[0].max(axis=0) > 1 - _ROUNDING
        return Rates(value, np.where(alone, 0.0, size), np.maximum(effective - 1, 1.0), covariance)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a query and an item by their units."""

    items: Integers  # item of each pair, numbered from 0 among those that occur, shape (N, K)
    occurring: Integers  # these items
    owner: Integers  # unit of each of them
    asker: Integers  # unit of each query; units are numbered from 0
    units: int  # how many units there are
    cell: Integers  # code of the two units of each pair, shape (N, K)
    cells: int  # how many such codes there are
    within: tuple[Integers, Integers]  # codes of pairs within one unit, and that unit

    @classmethod
    def of(cls, rows: NeighbourRows) -> _Pairs:
        occurring, items = keys_and_codes(rows.items)
        items = items.reshape(rows.items.shape)
        all_units = np.concatenate([rows.unit, rows.item_unit[occurring]])
        units, code = keys_and_codes(all_units)
        asker, owner = code[: rows.unit.size], code[rows.unit.size :]
        pair_codes, cell = keys_and_codes(asker[:, None] * units.size + owner[items])
        within_unit = np.flatnonzero(pair_codes // units.size == pair_codes % units.size)
        return cls(
            items, occurring, owner, asker, units.size, cell.reshape(items.shape), pair_codes.size,
            (within_unit, pair_codes[within_unit] // units.size),
        )  # fmt: skip

    @property
    def single(self) -> bool:
        """Whether no two pairs have the same two units."""
        return self.cells == self.cell.size and not self.within[0].size

    def by_unit(self, group: Integers, groups: int) -> Floats:
        """Queries of each unit in each group, shape (R, U, G)."""
        return self._binned(self.asker * groups + group, np.ones(group.shape), self.units, groups)

    def covariance(self, away: Floats, marks: Marks, groups: int, share: Floats) -> Floats:
        """Covariance of groups in R draws, shape (R, G, G), from what pairs add, shape (R, N, K).

        The part of a unit is that of leaving it out: its share in the groups as asker and as owner has the
        shape (2, R, U, G).
        """
        by, size = marks.group[..., None], self.occurring.size
        asking = self._binned(self.asker * groups + marks.group, away.sum(axis=2), self.units, groups)
        item = self._binned(self.items * groups + by, away, size, groups)
        label = marks.labels[:, self.occurring] + 1
        labels = int(marks.labels.max(initial=-1)) + 2
        label_counts = _summed(marks.labels + 1, np.ones(marks.labels.shape), labels)
        code = np.arange(groups)
        middle = self._binned(label[..., None] * groups + code, item, labels, groups)
        middle /= np.maximum(label_counts, 1)[..., None]
        item -= np.take_along_axis(middle, label[..., None], axis=1)
        owned = self._binned(
            np.broadcast_to(self.owner[:, None] * groups + code, item.shape), item, self.units, groups
        )
        left = 1 / np.maximum(1 - share, 0.05)
        asking, owned = asking * left[0], owned * left[1]
        total = asking + owned
        if self.single:
            twice = np.zeros((len(away), groups, groups))
            twice[:, code, code] = _summed(marks.group, np.square(away).sum(axis=2), groups)
        else:
            pair = self._binned(self.cell * groups + by, away, self.cells, groups)
            total[:, self.within[1]] -= pair[:, self.within[0]]
            twice = pair.transpose(0, 2, 1) @ pair
        covariance = total.transpose(0, 2, 1) @ total - twice
        least = np.square(asking).sum(axis=1)
        covariance[:, code, code] = np.maximum(covariance[:, code, code], least)
        return np.asarray(covariance)

    def shares(self, mass: Floats, marks: Marks, groups: int) -> Floats:
        """Share of the pairs of each group that a unit has as asker and as owner, shape (2, U, G)."""
        asking = self._binned((self.asker * groups + marks.group)[None], mass.sum(axis=1), self.units, groups)
        key = self.owner[self.items] * groups + marks.group[:, None]
        return np.stack([asking[0], self._binned(key[None], mass, self.units, groups)[0]])

    def _binned(self, key: Integers, values: Floats, size: int, groups: int) -> Floats:
        """Sums by code ``place * groups + group``, shape (R, size, groups)."""
        return _summed(key, values, size * groups).reshape(len(key), size, groups)


def _summed(key: Integers, values: Floats, size: int) -> Floats:
    """Sums of values by code below ``size``, in each of R draws, shape (R, size)."""
    draws = len(key)
    start = np.arange(draws).reshape(-1, *[1] * (key.ndim - 1)) * size
    return np.asarray(np.bincount((key + start).ravel(), values.ravel(), draws * size).reshape(draws, size))
