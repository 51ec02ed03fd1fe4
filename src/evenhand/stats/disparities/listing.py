"""Which of the lines beyond chance are listed: those that another one does not explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Ends, Floats, Integers, Mask
from evenhand.stats.contingency.tables import looked_up, sum_by
from evenhand.stats.disparities.candidates import MISS, Mistakes
from evenhand.stats.disparities.lines import Lines

_HALF = 0.5


def listed(lines: Lines, mistakes: Mistakes, *, alpha: float, min_rows: int) -> Integers:
    """Indices of the lines that are listed, ascending.

    Lines beyond chance take turns in each class, the least p first. A line is listed if it holds, at the
    level of all of them, with the groups taken out of elsewhere that are listed in the other direction for
    the same mistake or one that overlaps it, as a miss does every label; else it is their mirror image. A
    miss only if listed labels of its class, group and direction hold less than half of its excess.
    """
    index, count = lines.beyond(alpha)
    some, rows = lines.take(index), _GroupRows.of(lines, mistakes)
    selected = np.zeros(len(some), dtype=bool)
    for here in _turns(some):
        b, m = rows.elsewhere(some, here, np.flatnonzero(selected))
        selected[here] = _still_holds(some.take(here), b, m, alpha * count / len(lines), min_rows)
    selected &= ~_named_by_labels(some, selected)
    return np.sort(index[selected])


def _turns(lines: Lines) -> Iterator[Integers]:
    """Indices of lines, each after all earlier ones of its class that it may be the mirror image of.

    Lines of different labels wait for none of each other, only for the misses between them.
    """
    is_miss = lines.label == MISS
    misses = _running(lines.truth, is_miss)
    turn_of_label = _running(lines.pair + misses * (lines.pair.max(initial=0) + 1), np.ones(len(lines)))
    turn = np.where(is_miss, len(lines), turn_of_label) + misses * (len(lines) + 1)
    order = np.argsort(turn, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(turn[order])) + 1) if order.size else ()


def _running(key: Integers, values: Mask | Floats) -> Integers:
    """Sum of the values before each place, of those with the same key."""
    order = np.argsort(key, kind="stable")
    before = np.cumsum(values[order]) - values[order]
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
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
class _GroupRows:
    """Rows of each class and group, and of them those with each mistake; keys ascend."""

    groups: int
    strata: tuple[Integers, Floats]  # keys (class, group)
    cells: tuple[Integers, Floats]  # keys (mistake, group)

    @classmethod
    def of(cls, lines: Lines, mistakes: Mistakes) -> _GroupRows:
        """Of the mistakes of some lines."""
        of_lines = np.zeros(mistakes.pair_truth.size, dtype=bool)
        of_lines[lines.pair] = True
        some = np.flatnonzero(of_lines[mistakes.cell_pair])
        key = mistakes.cell_pair[some] * mistakes.groups + mistakes.group[mistakes.cell_stratum[some]]
        order = np.argsort(key)
        strata = mistakes.truth * mistakes.groups + mistakes.group
        return cls(mistakes.groups, (strata, mistakes.n), (key[order], mistakes.cell_n[some[order]]))

    def elsewhere(self, lines: Lines, here: Integers, before: Integers) -> Ends:
        """Rows with the mistake, and rows, elsewhere for some lines, some groups left out.

        Those of earlier lines of the class in the other direction, of the same mistake or an overlapping one.
        """
        misses = [index[lines.label[index] == MISS] for index in (here, before)]
        links = []
        for key, some, others in (
            (lines.pair, here, before), (lines.truth, here, misses[1]), (lines.truth, misses[0], before),
        ):  # fmt: skip
            mine, other = _joined(key[some], key[others])
            mine, other = some[mine], others[other]
            opposed = lines.is_more[mine] != lines.is_more[other]
            links.append((mine * self.groups + lines.group[other])[opposed])
        out = np.unique(np.concatenate(links))
        mine, group = out // self.groups, out % self.groups
        hits = looked_up(*self.cells, lines.pair[mine] * self.groups + group)
        rows = looked_up(*self.strata, lines.truth[mine] * self.groups + group)
        b, m = (sum_by(mine, values, len(lines))[here] for values in (hits, rows))
        return lines.b[here] - b, lines.m[here] - m


def _still_holds(lines: Lines, b: Floats, m: Floats, level: float, min_rows: int) -> Mask:
    """Whether lines hold beside so many rows of elsewhere, of which so many have the mistake.

    Those of which nothing was left out do.
    """
    holds = (m >= min_rows) | (m == lines.m)
    fewer = holds & (m < lines.m)
    lines, b, m = lines.take(fewer), b[fewer], m[fewer]
    alike = _goes(lines.is_more, lines.a * m, b * lines.n)
    holds[fewer] = alike & (lines.p_of(lines.a, lines.n, lines.n + m, lines.a + b) <= level)
    return holds


def _named_by_labels(lines: Lines, selected: Mask) -> Mask:
    """Misses half of whose excess, or more, is in selected labels of their class, group and direction."""
    key = (lines.truth * (int(lines.group.max(initial=0)) + 1) + lines.group) * 2 + lines.is_more
    _, where = np.unique(key, return_inverse=True)
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
    p_inside: Floats  # the line's group against the rest of the wider one
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
        return cls(rows, count, outer, inner, holds & ~more)


def _goes(is_more: Mask, mine: Floats, expected: Floats) -> Mask:
    return np.where(is_more, mine > expected, mine < expected)


def _at(key: Integers, values: Floats, targets: Integers) -> Floats:
    """Sums of values by key, at some keys; 0 where one does not occur."""
    keys, where = np.unique(np.concatenate([targets, key]), return_inverse=True)
    sums = sum_by(where[targets.size :], values, keys.size)
    return sums[where[: targets.size]]
