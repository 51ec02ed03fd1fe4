"""The same comparisons where rows come in clusters: scores that heed them, and clusters exchanged.

The score of a mistake is the difference of its two rates in a standard error from how far clusters are from
the rates, blended with the expected one, so that few clusters which agree by chance do not count as certain.
Under the null, groups are exchanged among the clusters of a class (those of several groups: inside them);
q is that of the step-down largest score (Westfall and Young 1993, algorithm 2.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import (
    Ends,
    Floats,
    Integers,
    Rng,
    keys_and_codes,
    nan_without_warning,
    piece_sizes,
    pieces,
    ratio,
    sum_by,
)
from evenhand.stats.contingency.tables import looked_up
from evenhand.stats.disparities.candidates import MISS, Candidates, Mistakes
from evenhand.stats.disparities.lines import Lines, Spread
from evenhand.stats.exchange.relabelling import Relabelling
from evenhand.stats.multiplicity import step_down_p
from evenhand.stats.rates.clustered import FEWEST, effective_size, likeness_of, unit_variance

REPLICATES = 999
_ROUNDING = 1e-9
_HELD = 2_000_000  # pieces of lines, or labels of rows in draws, held at a time
_AT_ONCE = (
    100_000  # pieces of draws that are scored together: enough to hide the calls, few enough for caches
)
_MOST_ALIKE = 0.99


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Rows with their clusters, shape (N,) each; codes as of ``Mistakes``, clusters from 0."""

    truth: Integers
    group: Integers
    prediction: Integers
    unit: Integers

    @cached_property
    def relabelling(self) -> Relabelling:
        """How groups are exchanged within a class."""
        return Relabelling(self.group, self.unit, self.truth)

    @property
    def is_mixed(self) -> bool:
        """Whether a cluster lies in several groups."""
        return bool(self.relabelling.mixed.any())

    @property
    def atom(self) -> Integers:
        """What changes places with each row: those of its cluster and group."""
        return self.relabelling.piece

    def mistakes(self, mistakes: Mistakes) -> tuple[Integers, Integers]:
        """Wrong rows, those of classes with a miss twice, and the number of the mistake that each makes."""
        wrong = np.flatnonzero(self.truth != self.prediction)
        labels = (self.prediction[wrong], np.full(wrong.size, MISS))
        pair = np.concatenate([_pairs(mistakes, self.truth[wrong], label) for label in labels])
        return np.tile(wrong, 2)[pair >= 0], pair[pair >= 0]


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Rows of some units by class, and with each mistake."""

    truth: Integers  # of each (class, unit), shape (A,), sorted
    unit: Integers
    w: Floats  # rows
    pair: Integers  # of each (mistake, unit), shape (B,)
    where: Integers  # which (class, unit) it lies in
    s: Floats  # rows with the mistake

    @classmethod
    def of(cls, rows: ClusterRows, mistakes: Mistakes, unit: Integers) -> _Pieces:
        """From rows and what each counts as a unit of."""
        width = int(unit.max(initial=0)) + 1
        keys, where = keys_and_codes(rows.truth * width + unit)
        row, pair = rows.mistakes(mistakes)
        cells, index = keys_and_codes(pair * keys.size + where[row])
        s = sum_by(index, np.ones(index.size), cells.size)
        rows_of = sum_by(where, np.ones(where.size), keys.size)
        return cls(keys // width, keys % width, rows_of, cells // keys.size, cells % keys.size, s)


def _pairs(mistakes: Mistakes, truth: Integers, label: Integers) -> Integers:
    """Numbers of the pairs of classes and labels; -1 where there is none."""
    width = int(mistakes.pair_label.max(initial=0)) + 2
    keys = mistakes.pair_truth * width + mistakes.pair_label + 1
    order = np.argsort(keys)
    key = truth * width + label + 1
    if not keys.size:
        return np.full(key.size, -1)
    number = order[np.minimum(np.searchsorted(keys[order], key), keys.size - 1)]
    return np.where(keys[number] == key, number, -1)


class _Sums:
    """Sums by the cells that pieces lie in, in each of some draws."""

    def __init__(self, cell: Integers, cells: int) -> None:
        """Of the cell of each piece in each draw, shape (D, P), and how many cells there are."""
        self._draws, self._cells = len(cell), cells
        self._index = (cell + cells * np.arange(len(cell))[:, None]).ravel()

    def of(self, values: Floats) -> Floats:
        """From a value of each piece, shape (P,), to sums, shape (D, cells)."""
        sums = sum_by(self._index, np.tile(values, self._draws), self._draws * self._cells)
        return sums.reshape(self._draws, self._cells)


@dataclass(frozen=True, eq=False)
class _Scores:
    """Scores of candidates, observed and with groups exchanged."""

    candidates: Candidates
    rows: ClusterRows
    pieces: _Pieces  # by what changes places

    def observed(self) -> Floats:
        """As groups are, shape (C,)."""
        return np.squeeze(self._of(self.rows.group[None]), axis=0)

    def draws(self, rng: Rng, replicates: int) -> Iterator[Floats]:
        """With groups exchanged, some draws at a time, shape (D, C)."""
        mistakes = self.candidates.mistakes
        widest = max(self.pieces.w.size, self.pieces.s.size, mistakes.pair_truth.size * mistakes.groups)
        for size in piece_sizes(replicates, _HELD, self.rows.unit.size):
            labels = self.rows.relabelling.drawn(rng, size)
            yield from (self._of(labels[some]) for some in pieces(size, _AT_ONCE, widest))

    @cached_property
    def _cells(self) -> tuple[Integers, Integers, int]:
        """Number of each candidate's (class, group) and (mistake, group), and how many groups there are."""
        mistakes, groups = self.candidates.mistakes, self.candidates.mistakes.groups
        group = mistakes.group[self.candidates.stratum]
        return self.candidates.truth * groups + group, self.candidates.pair * groups + group, groups

    @cached_property
    def _totals(self) -> tuple[Floats, ...]:
        """Of each candidate in all groups: s, w, s^2, s w, w^2 and how many units there are."""
        p, c = self.pieces, self.candidates
        w, pairs, classes = p.w[p.where], c.mistakes.pair_truth.size, c.mistakes.classes
        of_pair = (sum_by(p.pair, values, pairs)[c.pair] for values in (p.s, p.s**2, p.s * w))
        of_class = (sum_by(p.truth, values, classes)[c.truth] for values in (p.w, p.w**2, np.ones(p.w.size)))
        (s, ss, sw), (all_w, ww, units) = of_pair, of_class
        return s, all_w, ss, sw, ww, units

    @cached_property
    def _alike(self) -> Floats:
        """How alike the rows of a unit are, in [0, 1]."""
        s, w, *squares, _ = self._totals
        return likeness_of(s, w, tuple(squares))

    def _of(self, labels: Integers) -> Floats:
        """Scores by the groups of rows in some draws, shape (D, N)."""
        p, (stratum, cell, groups) = self.pieces, self._cells
        group = np.zeros((len(labels), int(self.rows.atom.max(initial=0)) + 1), dtype=np.int64)
        group[:, self.rows.atom] = labels
        w, mistakes = p.w[p.where], self.candidates.mistakes
        strata = _Sums(p.truth * groups + group[:, p.unit], mistakes.classes * groups)
        cells = _Sums(p.pair * groups + group[:, p.unit[p.where]], mistakes.pair_truth.size * groups)
        n, ww, units = (strata.of(values)[:, stratum] for values in (p.w, p.w**2, np.ones(p.w.size)))
        a, ss, sw = (cells.of(values)[:, cell] for values in (p.s, p.s**2, p.s * w))
        inside = (a, n, ss, sw, ww, units)
        outside = tuple(total - part for total, part in zip(self._totals, inside, strict=True))
        has_rows = (n > 0) & (outside[1] > 0)
        with nan_without_warning():
            variance = self._variance(inside) + self._variance(outside)
            score = (a / n - outside[0] / outside[1]) / np.sqrt(variance)
        return np.where(has_rows & (variance > 0), score, 0.0)

    def _variance(self, moments: tuple[Floats, ...]) -> Floats:
        s, w, *squares, units = moments
        pooled = self._totals[0] / self._totals[1]
        return unit_variance(s / w, pooled, w, units, tuple(squares), self._alike)


def clustered_lines(
    candidates: Candidates,
    rows: ClusterRows,
    rng: Rng,
    alpha: float,
    replicates: int = REPLICATES,
) -> Lines:
    """Lines of all candidates, with p and step-down q by exchange of clusters, and their spread.

    Those with ``q <= alpha`` have limits that leave out 0, too, or a larger q.
    """
    scores = _Scores(candidates, rows, _Pieces.of(rows, candidates.mistakes, rows.atom))
    observed = scores.observed()
    p, q = step_down_p(np.abs(observed), map(np.abs, scores.draws(rng, replicates)), replicates)
    lines = Lines.of(candidates, p, q)
    spread = _spread(lines, _Pieces.of(rows, candidates.mistakes, rows.unit), rows, candidates.mistakes)
    return lines.with_spread(spread, observed, alpha)


def _spread(lines: Lines, pieces: _Pieces, rows: ClusterRows, mistakes: Mistakes) -> Spread:
    """Effective sizes of both rates of each line by leaving out each cluster in turn."""
    first = np.searchsorted(pieces.truth, np.arange(mistakes.classes + 1))
    lengths = np.diff(first)[lines.truth]
    numbers = np.zeros((5, len(lines)))
    ends = np.append(0, np.cumsum(lengths))
    start = 0
    inside = _Inside.of(rows, pieces, mistakes)
    while start < len(lines):
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + _HELD, side="right")) - 1)
        some = slice(start, stop)
        owner = np.repeat(np.arange(stop - start), lengths[some])
        piece = first[lines.truth[some]][owner] + np.arange(owner.size) - (ends[some] - ends[start])[owner]
        numbers[:, some] = _sizes(lines.take(np.arange(start, stop)), owner, piece, inside, rows.is_mixed)
        start = stop
    shared = numbers[4] if rows.is_mixed else None
    return Spread((numbers[0], numbers[1]), (numbers[2], numbers[3]), shared)


@dataclass(frozen=True, eq=False)
class _Inside:
    """Rows, and rows with a mistake, of each cluster in all groups and in each."""

    pieces: _Pieces
    groups: int
    by_group: tuple[Integers, Floats]  # keys (class and cluster, group), ascending, and rows
    mistakes: tuple[Integers, Floats]  # keys (mistake, class and cluster), ascending
    mistakes_by_group: tuple[Integers, Floats]  # keys (mistake, class and cluster, group)

    @classmethod
    def of(cls, rows: ClusterRows, pieces: _Pieces, mistakes: Mistakes) -> _Inside:
        width, groups = int(rows.unit.max(initial=0)) + 1, mistakes.groups
        where = np.searchsorted(pieces.truth * width + pieces.unit, rows.truth * width + rows.unit)
        row, pair = rows.mistakes(mistakes)
        by_group = np.unique(where * groups + rows.group, return_counts=True)
        keys = (pair * pieces.w.size + where[row]) * groups + rows.group[row]
        cells = np.unique(keys, return_counts=True)
        return cls(
            pieces, groups, (by_group[0], by_group[1].astype(np.float64)),
            (pieces.pair * pieces.w.size + pieces.where, pieces.s), (cells[0], cells[1].astype(np.float64)),
        )  # fmt: skip

    def of_lines(self, pair: Integers, group: Integers, piece: Integers) -> tuple[Ends, Ends]:
        """Rows with the mistake, and rows, of some clusters in a group and in the others."""
        key = pair * self.pieces.w.size + piece
        s, w = looked_up(*self.mistakes, key), self.pieces.w[piece]
        mine = looked_up(*self.mistakes_by_group, key * self.groups + group)
        mine_w = looked_up(*self.by_group, piece * self.groups + group)
        return (mine, mine_w), (s - mine, w - mine_w)


def _sizes(lines: Lines, owner: Integers, piece: Integers, inside: _Inside, is_mixed: bool) -> Floats:
    """Sizes, degrees of freedom and correlation of both rates of some lines, shape (5, lines)."""
    count, numbers, shifts = len(lines), np.zeros((5, len(lines))), []
    tables = inside.of_lines(lines.pair[owner], lines.group[owner], piece)
    for row, (s, w) in enumerate(tables):
        total, hits = sum_by(owner, w, count), sum_by(owner, s, count)
        units = sum_by(owner, (w > 0).astype(np.float64), count)
        rate, share = hits / total, w / total[owner]
        shift = (s - rate[owner] * w) / total[owner] / np.maximum(1 - share, 1e-12)
        shift *= np.sqrt(np.maximum(units - 1, 0) / units)[owner]
        effective = 1 / sum_by(owner, share**2, count)
        size = effective_size(rate, sum_by(owner, shift**2, count), effective, total)
        numbers[row] = np.where(units < FEWEST, 0.0, np.nan_to_num(size))
        numbers[row + 2] = np.maximum(effective - 1, 1.0)
        shifts.append(shift)
    if is_mixed:
        products = [sum_by(owner, first * second, count) for first, second in
                ((shifts[0], shifts[1]), (shifts[0], shifts[0]), (shifts[1], shifts[1]))]  # fmt: skip
        scale = np.sqrt(products[1] * products[2])
        numbers[4] = np.clip(ratio(products[0], scale, 0.0), -_MOST_ALIKE, _MOST_ALIKE)
    return numbers
