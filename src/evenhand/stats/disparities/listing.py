"""Which of the lines beyond chance are listed: those that another one does not explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask
from evenhand.stats.contingency.tables import sum_by
from evenhand.stats.disparities.candidates import MISS, Mistakes
from evenhand.stats.disparities.lines import Lines

_HALF = 0.5


def listed(lines: Lines, *, alpha: float, min_rows: int) -> Integers:
    """Indices of the lines that are listed, ascending.

    Of each mistake of a class, the line with the least p (ties: the larger score, then the first group). A
    further one only if it holds with the groups listed so far taken out of elsewhere; else it is the mirror
    image of one of them. A miss only if listed labels of its class, group and direction hold less than half
    of its excess.
    """
    index = np.flatnonzero(lines.q <= alpha)
    some = lines.take(index)
    order = np.lexsort((some.group, -np.abs(some.score), some.p, some.pair))
    some = some.take(order)
    is_first = np.diff(some.pair, prepend=-1) != 0
    start = np.flatnonzero(is_first)
    turn = np.arange(len(some)) - np.repeat(start, np.diff(np.append(start, len(some))))
    selected = is_first.copy()
    # what is taken out of elsewhere so far, by the first line of each mistake
    owner = np.cumsum(is_first) - 1
    hits, rows = some.a[start].copy(), some.n[start].copy()
    turns = np.argsort(turn, kind="stable")
    ends = np.cumsum(np.bincount(turn, minlength=1))
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        here = turns[first:last]
        holds = _still_holds(some.take(here), hits[owner[here]], rows[owner[here]], alpha, min_rows)
        selected[here] = holds
        hits[owner[here]] += np.where(holds, some.a[here], 0)
        rows[owner[here]] += np.where(holds, some.n[here], 0)
    selected &= ~_named_by_labels(some, selected)
    return np.sort(index[order[selected]])


def _still_holds(lines: Lines, hits: Floats, rows: Floats, alpha: float, min_rows: int) -> Mask:
    """Whether lines hold without so many rows of elsewhere, of which so many have the mistake."""
    b, m = lines.b - hits, lines.m - rows
    holds = m >= min_rows
    lines, b, m = lines.take(holds), b[holds], m[holds]
    alike = _goes(lines.is_more, lines.a * m, b * lines.n)
    holds[holds] = alike & (lines.p_of(lines.a, lines.n, lines.n + m, lines.a + b) <= alpha)
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
