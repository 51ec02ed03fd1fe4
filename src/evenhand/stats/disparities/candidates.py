"""Mistakes by class, group and label, and which of them are compared with the other groups of their class.

Everything is kept by occupied cells: nothing has an entry for each class, label and group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Codes, Floats, Integers, Mask, keys_and_codes, run_starts, sum_by

MISS = -1
"""The label of a miss: any wrong label."""
_FEWEST_HITS = 2
_DENSE = 16  # pairs of class and label are numbered as they come, up to so many for each cell


@dataclass(frozen=True, eq=False)
class Mistakes:
    """What rows of each class and group were taken for, wrongly.

    Strata are the (class, group) that occur; pairs the (class, wrong label) that occur, then a miss of each
    class with two wrong labels or more; cells are the (pair, stratum) that occur.
    """

    truth: Integers  # of each stratum, shape (S,), sorted
    group: Integers  # of each stratum, sorted within a class
    n: Floats  # rows of each stratum; with weights their sum
    rows: Integers  # rows of each stratum, whatever they weigh
    pair_truth: Integers  # shape (P,)
    pair_label: Integers  # MISS for any
    cell_pair: Integers  # shape (W,)
    cell_stratum: Integers
    cell_n: Floats
    cell_rows: Integers  # rows, whatever they weigh
    groups: int  # how many there are
    classes: int  # above the code of each class

    @classmethod
    def of_cells(
        cls,
        truth: Codes,
        group: Codes,
        prediction: Codes,
        n: Codes | Floats,
        rows: Codes | Floats,
        groups: int,
    ) -> Mistakes:
        """From all occupied cells, sorted by class, group and prediction; shape (K,) each."""
        start = run_starts(truth, group)
        stratum = np.repeat(np.arange(start.size), np.diff(np.append(start, truth.size)))
        wrong = np.flatnonzero(truth != prediction)
        labels = int(max(truth.max(initial=-1), prediction.max(initial=-1))) + 1
        key = truth[wrong].astype(np.int64) * labels + prediction[wrong]
        keys, pair = _numbered(key, labels * labels)
        pair_truth, pair_label = keys // max(labels, 1), keys % max(labels, 1)
        several = np.flatnonzero(np.bincount(pair_truth, minlength=labels) > 1)
        miss_of = np.full(labels, -1)
        miss_of[several] = keys.size + np.arange(several.size)
        missed = wrong[miss_of[truth[wrong]] >= 0]
        missing, first = np.unique(stratum[missed], return_index=True)

        def cells(values: Floats) -> Floats:
            sums = np.add.reduceat(values[missed], first) if first.size else values[:0]
            return np.concatenate([values[wrong], sums])

        def strata(values: Floats) -> Floats:
            return np.add.reduceat(values, start) if start.size else values

        weights, counts = (values.astype(np.float64, copy=False) for values in (n, rows))
        return cls(
            truth[start].astype(np.int64), group[start].astype(np.int64),
            strata(weights), strata(counts).astype(np.int64),
            np.concatenate([pair_truth, several]),
            np.concatenate([pair_label, np.full(several.size, MISS)]),
            np.concatenate([pair, miss_of[truth[missed[first]]]]),
            np.concatenate([stratum[wrong], missing]),
            cells(weights), cells(counts).astype(np.int64), groups, labels,
        )  # fmt: skip

    @cached_property
    def class_n(self) -> Floats:
        """Rows of each class, shape (classes,); with weights their sum."""
        return sum_by(self.truth, self.n, self.classes)

    @cached_property
    def class_rows(self) -> Integers:
        """Rows of each class, whatever they weigh."""
        return sum_by(self.truth, self.rows.astype(np.float64), self.classes).astype(np.int64)

    @cached_property
    def pair_n(self) -> Floats:
        """Rows with each mistake in all groups, shape (P,); with weights their sum."""
        return sum_by(self.cell_pair, self.cell_n, self.pair_truth.size)

    @cached_property
    def pair_rows(self) -> Integers:
        """Rows with each mistake in all groups, whatever they weigh."""
        return sum_by(self.cell_pair, self.cell_rows.astype(np.float64), self.pair_truth.size).astype(
            np.int64
        )

    def eligible(self, min_rows: int) -> Mask:
        """Strata with enough rows, in the group and in the others of the class."""
        others = self.class_rows[self.truth] - self.rows
        return (self.rows >= min_rows) & (others >= min_rows)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Mistakes of a group beside those of the other groups of the class, shape (C,) each."""

    mistakes: Mistakes
    pair: Integers
    stratum: Integers
    a: Floats  # rows of the group with the mistake; with weights their sum

    @classmethod
    def of(cls, mistakes: Mistakes, min_rows: int) -> Candidates:
        """Every group of every mistake that two rows make, where group and others have enough rows.

        Groups without the mistake belong to them. With two groups there is one for each mistake, of the
        group with the higher rate (the first of two equal ones), since the other says the same.
        """
        strata = np.flatnonzero(mistakes.eligible(min_rows))
        by_class = np.bincount(mistakes.truth[strata], minlength=mistakes.classes)
        local = np.full(mistakes.truth.size, -1)
        starts = np.cumsum(by_class) - by_class
        local[strata] = np.arange(strata.size) - np.repeat(starts, by_class)
        times = np.where(mistakes.pair_rows >= _FEWEST_HITS, by_class[mistakes.pair_truth], 0)
        offset = np.cumsum(times) - times
        pair = np.repeat(np.arange(times.size), times)
        position = np.arange(pair.size) - np.repeat(offset, times)
        stratum = strata[np.repeat(starts[mistakes.pair_truth], times) + position]
        a = np.zeros(pair.size, dtype=mistakes.cell_n.dtype)
        is_candidate = (times[mistakes.cell_pair] > 0) & (local[mistakes.cell_stratum] >= 0)
        a[offset[mistakes.cell_pair[is_candidate]] + local[mistakes.cell_stratum[is_candidate]]] = (
            mistakes.cell_n[is_candidate]
        )
        everything = cls(mistakes, pair, stratum, a)
        return everything.take(everything._higher()) if mistakes.groups == 2 else everything

    def _higher(self) -> Integers:
        """With two groups, whose candidates follow each other: those of the higher rates."""
        first, second = self.a.reshape(-1, 2).T
        n, m = self.n.reshape(-1, 2).T
        return np.arange(0, self.a.size, 2) + (second * n > first * m)

    def take(self, index: Codes | Mask) -> Candidates:
        """Some of them."""
        return Candidates(self.mistakes, self.pair[index], self.stratum[index], self.a[index])

    @property
    def truth(self) -> Integers:
        """The class of each."""
        return self.mistakes.truth[self.stratum]

    @property
    def n(self) -> Floats:
        """Rows of the class in the group."""
        return self.mistakes.n[self.stratum]

    @property
    def total(self) -> Floats:
        """Rows of the class."""
        return self.mistakes.class_n[self.truth]

    @property
    def hits(self) -> Floats:
        """Rows of the class with the mistake."""
        return self.mistakes.pair_n[self.pair]


def _numbered(key: Integers, space: int) -> tuple[Integers, Integers]:
    """Distinct keys, sorted, and which of them each is."""
    if space > _DENSE * max(key.size, 1):
        keys, index = keys_and_codes(key)
        return keys, index.astype(np.int64)
    occurs = np.zeros(space, dtype=bool)
    occurs[key] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[key]
