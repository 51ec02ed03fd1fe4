"""Labels of rows exchanged at random, where rows come in sampling units such as persons.

Units whose rows are all of one label change places as wholes, within strata where there are any; the labels
of a unit of several change places with each other inside it, so that rows of one unit and label (a piece,
such as the photos of one of two persons of a home) stay together. Both happen in one draw. It serves figures
that need labels, such as those of rankings; rates, which add up over units, are drawn by ``UnitShares``. What
is compared in a draw is left to the metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask, codes_of, keys_and_codes

_LARGE = 8  # members of a block from which it is shuffled by itself, not sorted with the others
_FEW_LEVELS = 4  # different values of a block that are always drawn by their numbers, not one by one
_DEAR = 20  # members that are shuffled while one number is drawn


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
    edges = np.flatnonzero(np.diff(block[order])) + 1
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
        cls, block: Integers, level: Integers, moments: Floats, label: Integers, labels: int
    ) -> Levels | None:
        """From blocks of any codes and values as of ``levels_of``, shape (N,); None where nothing is saved.

        ``moments`` are those of each value, ascending, shape (V, M).
        """
        code = codes_of(block)
        cells, cell = keys_and_codes(code * len(moments) + level)
        block_of, level_of = np.divmod(cells, len(moments))
        start = np.flatnonzero(np.diff(block_of, prepend=-1))
        rank = np.arange(cells.size) - np.repeat(start, np.diff(start, append=cells.size))
        blocks, deepest = start.size, int(rank.max()) + 1
        work = blocks * (deepest - 1) * (labels - 1)
        if work > code.size or (deepest > _FEW_LEVELS and work * _DEAR > code.size):
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
