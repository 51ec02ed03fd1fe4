"""Subgroups of rows by a few attributes, and regions: a subgroup in all classes, or within one of them.

The score of a region is the Mantel-Haenszel z of its mistakes: ``sum_y (o_y - e_y) / sqrt(sum_y v_y)`` over
its classes, with o of n rows wrong in the subgroup, W of N in the class, ``e = n W / N`` and
``v = n (N - n) W (N - W) / (N^2 (N - 1))``: mistakes above what its classes give (Mantel and Haenszel 1959).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from evenhand.stats.arrays import Codes, Floats, Integers, Mask, ratio, sum_by

ALL = -1
"""The class of a region of all classes, and the value of an attribute that a subgroup leaves open."""
MIN_ROWS, MIN_EXPECTED = 20, 2.0
MIN_ROWS_OF_CLASS, MIN_EXPECTED_OF_CLASS = 10, 1.0
MOST_CLASSES = 50  # that are searched one by one


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows and mistakes by class and crossed group; shape (K,) each, sorted by class, each pair once."""

    truth: Integers
    group: Integers
    rows: Floats
    wrong: Floats
    levels: Integers  # value of each attribute in each group, shape (G, A)

    @cached_property
    def class_rows(self) -> Floats:
        """Rows of each class."""
        return sum_by(self.truth, self.rows)

    @cached_property
    def class_wrong(self) -> Floats:
        """Mistakes of each class."""
        return sum_by(self.truth, self.wrong)

    @cached_property
    def group_rows(self) -> Floats:
        """Rows of each group."""
        return sum_by(self.group, self.rows, len(self.levels))

    def by_class(self, values: Floats) -> sparse.csr_array:
        """One of its columns as a table of groups and classes."""
        shape = (len(self.levels), self.class_rows.size)
        return sparse.csr_array((values, (self.group, self.truth)), shape=shape)


@dataclass(frozen=True, eq=False)
class Subgroups:
    """Rows that share the values of up to so many attributes; those of the same rows are one subgroup."""

    levels: Integers  # shape (M, A), ALL where an attribute is left open
    members: sparse.csr_array  # which groups each consists of, shape (M, G)

    @classmethod
    def of(cls, cells: Cells, choices: Sequence[tuple[int, ...]]) -> Subgroups:
        """Those with ``MIN_ROWS_OF_CLASS`` rows, and as many in the rest, by choices of attributes.

        Of several with the same rows that of the first choice.
        """
        tables = [_conjunctions(cells, some) for some in choices]
        owner = np.concatenate([np.zeros(0, dtype=np.int64), *(index for index, _, _ in tables)])
        group = np.concatenate([np.zeros(0, dtype=np.int64), *(members for _, members, _ in tables)])
        levels = np.concatenate([cells.levels[:0], *(values for _, _, values in tables)])
        sizes = [len(values) for _, _, values in tables]
        owner += np.repeat(np.cumsum([0, *sizes[:-1]]), [index.size for index, _, _ in tables])
        shape = (len(levels), len(cells.levels))
        members = sparse.csr_array((np.ones(owner.size), (owner, group)), shape=shape)
        marks = np.random.default_rng(0).integers(2**62, size=shape[1], dtype=np.uint64)
        _, first = np.unique(np.asarray(members.astype(np.uint64) @ marks), return_index=True)
        first.sort()
        return cls(levels[first], members[first])

    def __len__(self) -> int:
        return len(self.levels)


def _conjunctions(cells: Cells, attributes: tuple[int, ...]) -> tuple[Integers, Integers, Integers]:
    """Of some attributes: pairs of subgroup and group in it, and the values of each subgroup."""
    sizes, total = cells.levels.max(axis=0, initial=0) + 1, cells.group_rows.sum()
    code = np.zeros(len(cells.levels), dtype=np.int64)
    for attribute in attributes:
        code = code * int(sizes[attribute]) + cells.levels[:, attribute]
    _, first, index = np.unique(code, return_index=True, return_inverse=True)
    rows = sum_by(index, cells.group_rows)
    enough = (rows >= MIN_ROWS_OF_CLASS) & (total - rows >= MIN_ROWS_OF_CLASS)
    values = np.full((int(enough.sum()), cells.levels.shape[1]), ALL, dtype=np.int64)
    values[:, attributes] = cells.levels[first[enough]][:, attributes]
    group = np.flatnonzero(enough[index])
    return (np.cumsum(enough) - 1)[index[group]], group, values


@dataclass(frozen=True, eq=False)
class Regions:
    """Subgroups in all classes or within one, shape (R,) each."""

    subgroup: Integers
    truth: Integers  # ALL: in all classes
    rows: Floats
    mistakes: Floats
    rest_rows: Floats  # all others of these classes
    rest_mistakes: Floats
    expected: Floats
    variance: Floats

    @classmethod
    def of(cls, cells: Cells, subgroups: Subgroups) -> Regions:
        """Those large enough to be tested: in all classes first, then by class.

        In all classes with ``MIN_ROWS`` in the subgroup and in the rest, and ``MIN_EXPECTED`` mistakes
        expected; within each of the ``MOST_CLASSES`` classes with most mistakes likewise with
        ``MIN_ROWS_OF_CLASS`` and ``MIN_EXPECTED_OF_CLASS``.
        """
        rows, wrong = (subgroups.members @ cells.by_class(values) for values in (cells.rows, cells.wrong))
        total, mistakes = cells.class_rows, cells.class_wrong
        share = _ratio(mistakes, total)
        spread = share * (1 - share) / np.maximum(total - 1, 1)
        pairs = rows.tocoo()
        variance = spread[pairs.col] * pairs.data * (total[pairs.col] - pairs.data)
        every = cls(
            np.arange(len(subgroups)), np.full(len(subgroups), ALL), rows.sum(axis=1), wrong.sum(axis=1),
            total.sum() - rows.sum(axis=1), mistakes.sum() - wrong.sum(axis=1), rows @ share,
            sum_by(pairs.row.astype(np.int64), variance, len(subgroups)),
        )  # fmt: skip
        parts = [every.take(every._is_large(MIN_ROWS, MIN_EXPECTED))]
        by_class = rows.tocsc(), wrong.tocsc()
        for y in np.sort(np.argsort(-mistakes, kind="stable")[:MOST_CLASSES]).tolist():
            n, o = (table[:, [y]].toarray()[:, 0] for table in by_class)
            within = cls(
                every.subgroup, np.full(n.size, y), n, o, total[y] - n, mistakes[y] - o, n * share[y],
                spread[y] * n * (total[y] - n),
            )  # fmt: skip
            parts.append(within.take(within._is_large(MIN_ROWS_OF_CLASS, MIN_EXPECTED_OF_CLASS)))
        columns = {name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(every)}
        return replace(every, **columns)

    def _is_large(self, rows: float, expected: float) -> Mask:
        enough = (self.rows >= rows) & (self.rest_rows >= rows) & (self.expected >= expected)
        return enough & (self.variance > 0)

    def take(self, index: Codes | Mask) -> Regions:
        """Some of them."""
        return replace(self, **{name: column[index] for name, column in vars(self).items()})

    def __len__(self) -> int:
        return self.subgroup.size

    @property
    def z(self) -> Floats:
        """Mistakes above expectation in standard errors; 0 where nothing can vary."""
        return _ratio(self.mistakes - self.expected, np.sqrt(self.variance))


def _ratio(above: Floats, below: Floats) -> Floats:
    return ratio(above, below, 0.0)
