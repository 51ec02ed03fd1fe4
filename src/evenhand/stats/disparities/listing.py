"""Which of the lines beyond chance are listed: those that another one does not explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask, codes_of, keys_and_codes, run_starts, sum_by
from evenhand.stats.contingency.tables import looked_up
from evenhand.stats.disparities.candidates import MISS, Mistakes
from evenhand.stats.disparities.lines import Lines

_HALF = 0.5


def listed(lines: Lines, mistakes: Mistakes, *, alpha: float, min_rows: int) -> Integers:
    """Indices of the lines that are listed, ascending.

    Lines that others explain do not count: where R of K lines are listed, each has p of at most
    ``alpha R / K``; where none has, the first is listed alone.

    Source: Katsevich, Sabatti and Bogomolov 2021 (filters in the step-up rule).
    """
    index, count = lines.beyond(alpha)
    rivals = _Rivals.of(lines.take(index), mistakes, min_rows)
    while True:
        selected = rivals.unexplained(alpha * count / max(len(lines), 1))
        corrected = lines.p_of_listing[index] * len(lines)
        holds = np.flatnonzero(corrected[selected] <= alpha * np.arange(1, selected.sum() + 1))
        if not holds.size:
            return index[selected][:1]
        count = int(holds[-1]) + 1
        few = np.flatnonzero(corrected <= alpha * count)
        if few.size == index.size:
            return np.sort(index[selected])
        index, rivals = index[few], rivals.take(few)


def _turns(lines: Lines) -> Iterator[Integers]:
    """Indices of lines, each after all earlier ones of its class that it may be the mirror image of.

    Lines of different labels wait for none of each other, only for the misses between them.
    """
    is_miss = lines.label == MISS
    misses = _running(lines.truth, is_miss.astype(np.int64))
    key = lines.pair + misses * (lines.pair.max(initial=0) + 1)
    turn = np.where(is_miss, len(lines), _running(key, np.ones_like(key))) + misses * (len(lines) + 1)
    order = np.argsort(turn, kind="stable")
    yield from np.split(order, run_starts(turn[order])[1:]) if order.size else ()


def _running(key: Integers, values: Integers) -> Integers:
    """Sum of the values before each place, of those with the same key."""
    order = np.argsort(key, kind="stable")
    before = np.cumsum(values[order]) - values[order]
    start = run_starts(key[order])
    result = np.empty(key.size, dtype=np.int64)
    result[order] = before - np.repeat(before[start], np.diff(np.append(start, key.size)))
    return result


def _joined(first: Integers, second: Integers) -> tuple[Integers, Integers]:
    """Places of all pairs of equal keys."""
    order = np.argsort(second, kind="stable")
    low, high = (np.searchsorted(second[order], first, side) for side in ("left", "right"))
    times = high - low
    start = np.repeat(low - np.cumsum(times) + times, times)
    return np.repeat(np.arange(first.size), times), order[start + np.arange(start.size)]


@dataclass(frozen=True, eq=False)
class _Rivals:
    """Lines, and rows of each class and group, of which some have each mistake; keys ascend."""

    lines: Lines  # the least p first
    min_rows: int
    groups: int
    strata: tuple[Integers, Floats]  # keys (class, group)
    cells: tuple[Integers, Floats]  # keys (mistake, group)

    @classmethod
    def of(cls, lines: Lines, mistakes: Mistakes, min_rows: int) -> _Rivals:
        """From all mistakes."""
        of_lines = np.zeros(mistakes.pair_truth.size, dtype=bool)
        of_lines[lines.pair] = True
        some = np.flatnonzero(of_lines[mistakes.cell_pair])
        key = mistakes.cell_pair[some] * mistakes.groups + mistakes.group[mistakes.cell_stratum[some]]
        order = np.argsort(key)
        strata = mistakes.truth * mistakes.groups + mistakes.group, mistakes.n
        cells = key[order], mistakes.cell_n[some[order]]
        return cls(lines, min_rows, mistakes.groups, strata, cells)

    def take(self, index: Integers) -> _Rivals:
        """Some of the lines, in the same order."""
        return replace(self, lines=self.lines.take(index))

    def unexplained(self, level: float) -> Mask:
        """Which lines say what no other one does.

        Lines take turns in each class, the least p first. A line is selected if it holds, at a level, with
        the groups taken out of elsewhere that are listed in the other direction for the same mistake or one
        that overlaps it, as a miss does every label; else it is their mirror image, and where they are its
        mirror images, too, the group that is wrong more often is listed. A miss only if listed labels of its
        class, group and direction hold less than half of its excess.
        """
        selected = np.zeros(len(self.lines), dtype=bool)
        for turn in _turns(self.lines):
            undecided = turn
            while undecided.size:
                undecided = self._decide(undecided, selected, level)
        return selected & ~_named_by_labels(self.lines, selected)

    def _decide(self, here: Integers, selected: Mask, level: float) -> Integers:
        """Select the lines of a turn that hold, in place; returns those that are to be decided again.

        Of each class the first that fails, but is wrong more often and without which its rivals fail,
        replaces them; later ones then have other rivals.
        """
        mine, other = self._opposed(here, np.flatnonzero(selected))
        out = np.unique(mine * self.groups + self.lines.group[other])
        selected[here] = self._hold(here, out // self.groups, out % self.groups, level)
        fails = self.lines.is_more[here] & ~selected[here]
        mine, other = mine[fails[mine]], other[fails[mine]]
        replaces = fails.copy()
        groups = self.lines.group[here[mine]]
        replaces[mine[self._hold(other, np.arange(other.size), groups, level)]] = False
        truth = self.lines.truth[here]
        at = np.full(int(truth.max()) + 1, here.size)
        first = np.flatnonzero(replaces)[::-1]
        at[truth[first]] = first  # the first of several is written last
        selected[here[np.unique(at[at < here.size])]] = True
        selected[other[mine == at[truth[mine]]]] = False
        return here[fails & (np.arange(here.size) > at[truth])]

    def _opposed(self, here: Integers, before: Integers) -> tuple[Integers, Integers]:
        """Pairs of a line, by its place among some, and a listed one of which it may be the mirror image."""
        misses = [np.flatnonzero(self.lines.label[index] == MISS) for index in (here, before)]
        every = np.arange(here.size), np.arange(before.size)
        links = []
        for key, some, others in (
            (self.lines.pair, *every), (self.lines.truth, every[0], misses[1]),
            (self.lines.truth, misses[0], every[1]),
        ):  # fmt: skip
            mine, other = _joined(key[here[some]], key[before[others]])
            links.append(np.stack([some[mine], before[others[other]]]))
        mine, other = np.concatenate(links, axis=1)
        opposed = self.lines.is_more[here[mine]] != self.lines.is_more[other]
        opposed &= self.lines.group[here[mine]] != self.lines.group[other]
        return mine[opposed], other[opposed]

    def _hold(self, index: Integers, line: Integers, group: Integers, level: float) -> Mask:
        """Whether some lines hold with groups taken out of elsewhere: of which line, by its place, which."""
        lines = self.lines.take(index)
        hits = looked_up(*self.cells, lines.pair[line] * self.groups + group)
        rows = looked_up(*self.strata, lines.truth[line] * self.groups + group)
        b, m = lines.b - sum_by(line, hits, index.size), lines.m - sum_by(line, rows, index.size)
        holds = (m >= self.min_rows) | (m == lines.m)
        fewer = np.flatnonzero(holds & (m < lines.m))
        lines, b, m = lines.take(fewer), b[fewer], m[fewer]
        alike = _goes(lines.is_more, lines.a * m, b * lines.n)
        holds[fewer] = alike & (lines.p_of(lines.a, lines.n, lines.n + m, lines.a + b) <= level)
        return np.asarray(holds)


def _named_by_labels(lines: Lines, selected: Mask) -> Mask:
    """Misses half of whose excess, or more, is in selected labels of their class, group and direction."""
    key = (lines.truth * (int(lines.group.max(initial=0)) + 1) + lines.group) * 2 + lines.is_more
    where = codes_of(key)
    is_miss = lines.label == MISS
    excess = np.where(selected & ~is_miss, lines.excess, 0.0)
    by_labels = sum_by(where, excess, 1)[where] if where.size else excess
    return np.asarray(is_miss & (by_labels >= _HALF * lines.excess))


@dataclass(frozen=True, eq=False)
class Parents:
    """A wider group that each of some lines lies in, which shares some of its crossed attributes."""

    rows: Floats  # of the class in the wider group, shape (N,)
    count: Floats  # of them with the mistake
    p_against_rest: Floats  # the wider group against the rest of the class
    repeats: Mask  # whether the line says no more than that of the wider group

    @classmethod
    def of(cls, lines: Lines, mistakes: Mistakes, wider: Integers, alpha: float) -> Parents:
        """From the code of the wider group that each group lies in, shape (groups,).

        A line repeats it if the wider group against the rest of the class has p at most ``alpha`` in the
        same direction, and its own group against the rest of the wider one has not.
        """
        width = int(wider.max(initial=0)) + 1
        rows = _at(
            mistakes.truth * width + wider[mistakes.group],
            mistakes.n,
            lines.truth * width + wider[lines.group],
        )
        of_line = np.zeros(mistakes.pair_truth.size, dtype=bool)
        of_line[lines.pair] = True
        cells = np.flatnonzero(of_line[mistakes.cell_pair])
        group = mistakes.group[mistakes.cell_stratum[cells]]
        count = _at(
            mistakes.cell_pair[cells] * width + wider[group], mistakes.cell_n[cells],
            lines.pair * width + wider[lines.group],
        )  # fmt: skip
        total, hits = lines.n + lines.m, lines.a + lines.b
        outer, inner = lines.p_of(count, rows, total, hits), lines.p_of(lines.a, lines.n, rows, count)
        holds = (outer <= alpha) & _goes(lines.is_more, count * total, rows * hits)
        more = (inner <= alpha) & _goes(lines.is_more, lines.a * rows, lines.n * count)
        return cls(rows, count, outer, holds & ~more)


def _goes(is_more: Mask, mine: Floats, expected: Floats) -> Mask:
    return np.where(is_more, mine > expected, mine < expected)


def _at(key: Integers, values: Floats, targets: Integers) -> Floats:
    """Sums of values by key, at some keys; 0 where one does not occur."""
    keys, where = keys_and_codes(np.concatenate([targets, key]))
    sums = sum_by(where[targets.size :], values, keys.size)
    return sums[where[: targets.size]]
