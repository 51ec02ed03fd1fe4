"""Units (persons, households) whose groups are exchanged at random, as a model that knows nothing of groups.

Units whose rows are all of one label change places as wholes, within strata where there are any; the labels
of a unit of several change places with each other inside it, so that rows of one unit and label (a piece,
such as the photos of one of two persons of a home) stay together. Both happen in one draw. It serves figures
that need labels, such as those of rankings.

Rates add up over units, and are drawn by their shares (``UnitShares``). What a unit adds to the groups has
two parts: what its rows have in common, of which each group gets the share of its rows, and what its groups
differ by inside. Under the null neither has to do with the groups:

* shares change places between units, so that a unit of one group changes its group as a whole (DiCiccio and
  Romano 2017, who permute what may be correlated and compare studentised);
* differences inside a unit get a random number of mean 0 and variance 1, the same for all of them, so that
  what is alike within it stays alike (cluster scores: Cameron, Gelbach and Miller 2008; Canay, Romano and
  Shaikh 2017). The six points of Webb (2023) leave few units more draws than signs do.

Nothing is supposed of how rows of a unit, or of its groups, are alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import (
    Floats,
    Integers,
    Mask,
    codes_of,
    keys_and_codes,
    pieces,
    ratio,
    run_starts,
    sum_by,
)

_LARGE = 8  # members of a block from which it is shuffled by itself, not sorted with the others
_FEW_LEVELS = 4  # different values of a block that are always drawn by their numbers, not one by one
_DEAR = 20  # members that are shuffled while one number is drawn
_HELD = 1_000_000  # numbers that are added up at a time: some megabytes
_WEBB = np.sqrt([0.5, 1.0, 1.5])


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Labels of rows that come in units."""

    label: Integers  # of each row, codes from 0, shape (N,)
    unit: Integers  # unit of each row, numbered from 0, shape (N,)
    # codes from 0 within which labels are exchanged, shape (N,); None: among all. A unit that lies in several
    # strata changes places with any other such
    stratum: Integers | None = None

    @cached_property
    def mixed(self) -> Mask:
        """Which units have several labels, shape (units,)."""
        return several_in(self.unit, self.label)

    @cached_property
    def whole(self) -> Integers:
        """Units that change places as wholes, shape (K,)."""
        return np.flatnonzero(~self.mixed)

    @cached_property
    def label_of(self) -> Integers:
        """The label of each of these, shape (K,)."""
        label = np.zeros(self.mixed.size, dtype=np.int64)
        label[self.unit] = self.label
        return label[self.whole]

    @cached_property
    def unit_block(self) -> Integers:
        """What each unit changes places within, shape (units,): its stratum, or -1 for several."""
        block = np.zeros(self.mixed.size, dtype=np.int64)
        if self.stratum is not None:
            block[self.unit] = self.stratum
            block[several_in(self.unit, self.stratum)] = -1
        return block

    @property
    def block(self) -> Integers:
        """The same of these, shape (K,)."""
        return self.unit_block[self.whole]

    @cached_property
    def inside(self) -> Integers:
        """Rows of units of several labels, shape (M,)."""
        return np.flatnonzero(self.mixed[self.unit])

    @cached_property
    def piece(self) -> Integers:
        """The unit, stratum (of a unit of several labels) and label of each row, from 0, shape (N,)."""
        labels, code = keys_and_codes(self.label)
        key = self.inside_block * labels.size + code
        return codes_of(key)

    @cached_property
    def inside_block(self) -> Integers:
        """What labels of rows inside units change places within, shape (N,)."""
        return self.key_of(self.unit, self.stratum)

    def key_of(self, unit: Integers, stratum: Integers | None) -> Integers:
        """A number of units, or of their rows of one stratum where they have several labels."""
        return unit if stratum is None else unit * self.strata + np.where(self.mixed[unit], stratum, 0)

    @cached_property
    def strata(self) -> int:
        """How many strata there are."""
        return 1 if self.stratum is None else int(self.stratum.max(initial=0)) + 1

    @property
    def fixed(self) -> bool:
        """Whether nothing says how units vary: there is one; or none is mixed, no stratum has two of a label.

        Neither does a draw that can change nothing, because all units of each stratum have one label.
        """
        if self.mixed.any():
            return self.mixed.size == 1
        block = codes_of(self.block)
        labels = units_in(self.label_of, block, int(block.max(initial=-1)) + 1)
        return bool((np.bincount(block) <= labels).all() or not self.movable.any())

    @property
    def movable(self) -> Mask:
        """Which of the units that are wholes have one of another label in their stratum, shape (K,)."""
        block = codes_of(self.block)
        return several_in(block, self.label_of)[block]

    def wholes(self, rng: np.random.Generator, size: int) -> Integers:
        """Labels of the units that are wholes, in so many draws, shape (size, K)."""
        return shuffled(rng, self.label_of, self.block, size)

    def insides(self, rng: np.random.Generator, size: int) -> Integers:
        """Labels of the rows of the others, shape (size, M): a piece keeps together."""
        _, first, piece = np.unique(self.piece[self.inside], return_index=True, return_inverse=True)
        row = self.inside[first]
        return shuffled(rng, self.label[row], self.inside_block[row], size)[:, piece]

    def drawn(self, rng: np.random.Generator, size: int) -> Integers:
        """Labels of all rows, shape (size, N)."""
        labels = np.repeat(self.label[None], size, axis=0)
        if self.whole.size:
            of_unit = np.zeros((size, self.mixed.size), dtype=np.int64)
            of_unit[:, self.whole] = self.wholes(rng, size)
            some = ~self.mixed[self.unit]
            labels[:, some] = of_unit[:, self.unit[some]]
        if self.inside.size:
            labels[:, self.inside] = self.insides(rng, size)
        return labels


def several_in(unit: Integers, label: Integers) -> Mask:
    """Which units have rows of several labels, shape (units,)."""
    count = int(unit.max(initial=-1)) + 1
    lowest, highest = np.full(count, int(label.max(initial=0)) + 1), np.full(count, -1)
    np.minimum.at(lowest, unit, label)
    np.maximum.at(highest, unit, label)
    return lowest < highest


def units_in(unit: Integers, label: Integers, labels: int) -> Integers:
    """How many units have rows of each label, shape (labels,)."""
    return np.bincount(keys_and_codes(unit * labels + label)[0] % labels, minlength=labels)


def shuffled(rng: np.random.Generator, label: Integers, block: Integers, size: int) -> Integers:
    """Labels in random order within blocks, shape (size, N); blocks are any codes, shape (N,)."""
    labels = np.repeat(label[None], size, axis=0)
    if not np.ptp(block):  # one block is shuffled where it is
        return rng.permuted(labels, axis=1, out=labels)
    order = np.argsort(block, kind="stable")
    edges = run_starts(block[order])[1:]
    if edges.size < max(1, label.size // _LARGE):
        for some in np.split(order, edges):
            labels[:, some] = rng.permuted(labels[:, some], axis=1)
        return labels
    code = np.repeat(np.arange(edges.size + 1), np.diff(edges, prepend=0, append=label.size))
    labels[:, order] = label[order][np.argsort(code + rng.random((size, label.size)), axis=1)]
    return labels


@dataclass(frozen=True, eq=False)
class Levels:
    """Exchanges in blocks of few different values: only how often a label gets each has to be drawn."""

    moments: Floats  # of each value, shape (blocks, L, moments)
    counts: Integers  # how often it occurs, shape (blocks, L)
    sizes: Integers  # members of each label, shape (labels, blocks)

    @classmethod
    def of(
        cls, block: Integers | None, level: Integers, moments: Floats, label: Integers, labels: int
    ) -> Levels | None:
        """From blocks of any codes (None: a single one) and values as of ``levels_of``, shape (N,).

        ``moments`` are those of each value, ascending, shape (V, M). None where nothing is saved.
        """
        code: Integers | int = 0 if block is None else codes_of(block)
        cells, cell = np.arange(len(moments)), level  # each value occurs
        if block is not None:
            cells, cell = keys_and_codes(code * len(moments) + level)
        block_of, level_of = np.divmod(cells, len(moments))
        start = run_starts(block_of)
        rank = np.arange(cells.size) - np.repeat(start, np.diff(start, append=cells.size))
        blocks, deepest = start.size, int(rank.max()) + 1
        work = blocks * (deepest - 1) * (labels - 1)
        if work > level.size or (deepest > _FEW_LEVELS and work * _DEAR > level.size):
            return None
        of_levels, number = (
            np.zeros((blocks, deepest, moments.shape[1])),
            np.zeros((blocks, deepest), np.int64),
        )
        of_levels[block_of, rank], number[block_of, rank] = moments[level_of], np.bincount(cell)
        sizes = np.bincount(label * blocks + code, minlength=labels * blocks).reshape(labels, blocks)
        return cls(of_levels, number, sizes)

    def drawn(self, rng: np.random.Generator, size: int) -> Integers:
        """How many of each value each label gets, shape (size, labels, blocks, L): hypergeometric in turn."""
        counts = np.zeros((size, len(self.sizes), *self.counts.shape), dtype=np.int64)
        left = np.repeat(self.counts[None], size, axis=0)
        for label, members in enumerate(self.sizes[:-1]):
            remaining = np.repeat(members[None], size, axis=0)
            rest = sum(np.moveaxis(left, 2, 0)[1:], left[..., 0])  # of so few quicker than left.sum(axis=2)
            for level in range(self.counts.shape[1] - 1):
                rest = rest - left[..., level]
                counts[:, label, :, level] = rng.hypergeometric(left[..., level], rest, remaining)
                remaining -= counts[:, label, :, level]
            counts[:, label, :, -1] = remaining
            left -= counts[:, label]
        counts[:, -1] = left
        return counts

    def totals(self, rng: np.random.Generator, size: int) -> Floats:
        """Moments of labels, shape (size, labels, moments)."""
        counts = self.drawn(rng, size)
        width = self.moments.shape[-1]
        of_values = counts.reshape(size * len(self.sizes), -1) @ self.moments.reshape(-1, width)
        return np.asarray(of_values).reshape(size, -1, width)


def levels_of(values: Floats) -> tuple[Integers, Integers]:
    """Where each different value stands first, ascending by value, and which of them each is.

    Values that differ by rounding, in the twelfth digit of the largest, are one.
    """
    is_hit = values == 1
    if (is_hit | (values == 0)).all() and 0 < np.count_nonzero(is_hit) < values.size:
        return np.array([int(is_hit.argmin()), int(is_hit.argmax())]), is_hit.astype(np.int64)
    size = float(np.abs(values).max(initial=0)) or 1.0
    _, first, codes = np.unique(np.round(values / size, 12), return_index=True, return_inverse=True)
    return first, codes.astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class DrawnShares:
    """Shares of units in each group, as they are (R = 1) or in R draws.

    Of atoms, and of their units over all strata; choices are the same where there are no strata.
    """

    of_atoms: Floats  # shape (A, R, G)
    of_units: Floats  # shape (C, R, G)
    inside_atoms: Floats  # the number that goes with what an atom's groups differ by, shape (A, R)
    inside_units: Floats  # the same of the units, shape (C, R)


@dataclass(frozen=True, eq=False)
class UnitShares(Relabelling):
    """How the rows of each unit are spread over the groups, which are the labels.

    An atom is a unit or, of a unit of several groups, its rows of one stratum. A unit of several strata takes
    its share in each of them or, where the unit it changes places with has none, its share of all rows.
    """

    weight: Floats = field(kw_only=True)  # of each row, shape (N,)
    groups: int = field(kw_only=True)  # how many groups there are

    @cached_property
    def _keys(self) -> tuple[Integers, Integers]:
        return keys_and_codes(self.inside_block)

    @property
    def atom(self) -> Integers:
        """The atom of each row, shape (N,)."""
        return self._keys[1]

    @cached_property
    def share(self) -> Floats:
        """Of the weight of each atom in each group, shape (A, G)."""
        return self._shares(self.atom, self._keys[0].size)

    @cached_property
    def of_units(self) -> Floats:
        """Of the weight of each unit in each group, shape (C, G)."""
        return (
            self.share if self.share.shape[0] == self.mixed.size else self._shares(self.unit, self.mixed.size)
        )

    def _shares(self, code: Integers, count: int) -> Floats:
        # by group in memory, in which units are many and groups few
        inside = np.bincount(self.label * count + code, self.weight, self.groups * count)
        inside = inside.reshape(self.groups, count)
        return ratio(inside, inside.sum(axis=0), 1 / self.groups).T

    @property
    def observed(self) -> DrawnShares:
        """Shares as they are, R = 1."""
        atoms, units = self.share[:, None], self.of_units[:, None]
        return DrawnShares(atoms, units, np.ones(atoms.shape[:2]), np.ones(units.shape[:2]))

    @cached_property
    def units(self) -> Integers:
        """Units of each group, as many in every draw, shape (G,)."""
        return np.asarray((self.of_units > 0).sum(axis=0))

    def added(self, values: Floats) -> UnitValues:
        """A number of each row, added up."""
        shape = self.groups, self.mixed.size
        cell = self.label * shape[1] + self.unit
        of_cells = sum_by(cell, self.weight * values, shape[0] * shape[1]).reshape(shape)
        sums = of_cells.sum(axis=0)
        inside = of_cells - self.of_units.T * sums
        return UnitValues(self, sums, sum_by(self.unit, self.weight), inside)

    def exchanged(self, rng: np.random.Generator, size: int) -> DrawnShares:
        """Shares and numbers of so many draws."""
        donor = shuffled(rng, np.arange(self.mixed.size), self.unit_block, size)
        signs = np.ones(donor.T.shape)
        if self.mixed.any():
            signs = np.take([-1.0, 1.0], rng.integers(0, 2, signs.shape))
            signs *= np.take(_WEBB, rng.integers(0, 3, signs.shape))
        units, donor = np.take(self.of_units.T, donor, axis=1).T, donor.T
        keys = self._keys[0]
        if keys.size == self.mixed.size:
            return DrawnShares(units, units, signs, signs)
        of, stratum = np.divmod(keys, self.strata)
        other = donor[of]
        donor_key = self.key_of(other, stratum[:, None])
        position = np.minimum(np.searchsorted(keys, donor_key), keys.size - 1)
        choices = np.concatenate([self.share, self.of_units])
        index = np.where((keys[position] == donor_key) & self.mixed[of, None], position, keys.size + other)
        return DrawnShares(choices[index], units, signs[of], signs)


@dataclass(frozen=True, eq=False)
class UnitValues:
    """A number of each row, added up by unit."""

    shares: UnitShares  # how the rows of each unit are spread over the groups
    sums: Floats  # shape (C,)
    weights: Floats  # shape (C,)
    inside: Floats  # what groups of a unit differ by: their sums less their shares of its sum, shape (G, C)

    def spread(self, draws: DrawnShares) -> SpreadValues:
        """What groups get that have such shares of the units."""
        share, sign = draws.of_units.T, draws.inside_units.T
        groups, size, units = share.shape
        columns = np.stack([self.sums, self.weights])[:, None, None]
        both = np.empty((size, 2 * groups))
        products = np.empty((size, 2 * groups, 2 * groups))
        for some in pieces(size, _HELD, 2 * groups * units):  # what is held in a cache is added up soonest
            added = share[:, some] * columns
            if self.shares.mixed.any():
                added[0] += sign[some] * self.inside[:, None]
            flat = np.moveaxis(added.reshape(2 * groups, -1, units), 1, 0)
            both[some], products[some] = flat.sum(axis=2), flat @ flat.swapaxes(1, 2)
        return SpreadValues(both.reshape(size, 2, groups), products.reshape(size, 2, groups, 2, groups))


@dataclass(frozen=True, eq=False)
class SpreadValues:
    """Sums s and weights w of groups in R draws, and products of what each unit adds to them."""

    both: Floats  # s and w, shape (R, 2, G)
    products: Floats  # of s or w of one group and s or w of another, over units, shape (R, 2, G, 2, G)

    def totals(self) -> list[Floats]:
        """Sums over units of s, w, s^2, s w and w^2, shape (R, G) each."""
        same, both, p = np.arange(self.both.shape[2]), self.both, self.products
        squares = [p[:, 0, same, 0, same], p[:, 0, same, 1, same], p[:, 1, same, 1, same]]
        return [both[:, 0], both[:, 1], *squares]

    def covariance(self, rates: Floats, total: Floats) -> Floats:
        """Of the rates of each two groups, shape (R, G, G), without a correction for few units.

        Rates, which are NaN without weight, and the total weight have shape (R, G).
        """
        first, second, p = rates[:, :, None], rates[:, None], self.products
        away = p[:, 0, :, 0] - second * p[:, 0, :, 1] - first * p[:, 1, :, 0] + first * second * p[:, 1, :, 1]
        return np.asarray(away / (total[:, :, None] * total[:, None]))
