"""Names of the arrays and limits that statistics take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer]
"""Integers of any width."""
Mask = npt.NDArray[np.bool_]
Rng = np.random.Generator
Ends = tuple[Floats, Floats]
"""Two arrays, such as low and high limits."""
Pair = tuple[float, float]
"""Two numbers, such as a low and a high limit."""
Limits = Callable[[float], Pair]
"""From a level to the limits at it; NaN where nothing varies."""


_OF_A_BLOCK = 2_000_000  # numbers of the draws that are made at a time
_MANY = 20_000  # rows from which on it matters whether they are in order


def pair_of(ends: Ends | Pair, least: float = -np.inf, most: float = np.inf) -> Pair:
    """Two limits as plain numbers, not outside of what is possible."""
    low, high = ends
    return max(float(low), least), min(float(high), most)


def central(level: float) -> Pair:
    """The shares below the two ends of the central part of a distribution: .025 and .975 for .95."""
    return (1 - level) / 2, (1 + level) / 2


def pieces(total: int, most: int, width: int = 1) -> Iterator[slice]:
    """Slices of so many things of a width that hold at most so many numbers each, or one thing."""
    step = max(1, most // max(width, 1))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def piece_sizes(total: int, most: int, width: int = 1) -> Iterator[int]:
    """How many things each of these has."""
    step = max(1, most // max(width, 1))
    for start in range(0, total, step):
        yield min(step, total - start)


def draw_blocks(draws: int, width: int) -> Iterator[int]:
    """How many draws are made at a time of data that take so many numbers a draw.

    Draws of one block take turns at the random numbers, so what a seed draws depends on it: it is a function
    of the data alone, and no budget of memory changes it.
    """
    return piece_sizes(draws, _OF_A_BLOCK, width)


def run_starts(*columns: Codes) -> Integers:
    """First place of each run of rows that are equal in all of these columns; none of empty ones."""
    if not columns[0].size:
        return np.zeros(0, dtype=np.int64)
    changes = np.zeros(columns[0].size - 1, dtype=bool)
    for column in columns:
        changes |= column[1:] != column[:-1]
    return np.concatenate(([0], np.flatnonzero(changes) + 1))


def is_sorted(*columns: Codes) -> bool:
    """Whether rows stand in the order of the first column, those equal there in that of the second, ..."""
    tied = np.ones(max(columns[0].size - 1, 0), dtype=bool)
    for column in columns:
        before, after = column[:-1], column[1:]
        if (tied & (after < before)).any():
            return False
        tied &= after == before
    return True


def ratio(part: npt.ArrayLike, total: npt.ArrayLike, otherwise: float = np.nan) -> Floats:
    """``part / total`` where the total is above 0, else ``otherwise``; of any shapes that go together."""
    below = np.asarray(total, dtype=np.float64)
    quotient = np.asarray(part, dtype=np.float64) / np.where(below > 0, below, np.nan)
    return quotient if np.isnan(otherwise) else np.where(below > 0, quotient, otherwise)


def sum_by(index: Codes, values: Floats, size: int = 0) -> Floats:
    """Sum of ``values`` for every index 0, 1, ..., at least ``size`` of them."""
    if index.size >= _MANY and (index[1:] >= index[:-1]).all():  # runs are summed sooner than rows
        starts = run_starts(index)
        sums = np.zeros(max(size, int(index[-1]) + 1))
        sums[index[starts]] = np.add.reduceat(values, starts, dtype=np.float64)
        return sums
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def crossing(
    holds: Callable[[Floats], npt.ArrayLike], low: npt.ArrayLike, high: npt.ArrayLike, steps: int,
    *, of_logarithms: bool = False,
) -> Ends:  # fmt: skip
    """Numbers close together between which ``holds`` turns: it holds at ``low`` and not at ``high``.

    Halfway is the mean of both, or that of their logarithms.
    """
    for _ in range(steps):
        low, high = np.asarray(low), np.asarray(high)
        middle = np.sqrt(low * high) if of_logarithms else (low + high) / 2
        at_middle = holds(middle)
        low, high = np.where(at_middle, middle, low), np.where(at_middle, high, middle)
    return np.asarray(low), np.asarray(high)


def least_whole(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least number from ``low`` to ``high`` that holds, as all larger ones do; the last is taken to."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def keys_and_codes(values: npt.ArrayLike) -> tuple[Integers, Integers]:
    """The whole numbers that occur, ascending, and which of them each is."""
    numbers = np.asarray(values)
    if numbers.dtype.kind == "i" and numbers.size and numbers.min() >= 0 and numbers.max() < 4 * numbers.size:
        occurs = np.zeros(numbers.max() + 1, dtype=bool)  # where they lie close together a table beats a sort
        occurs[numbers] = True
        return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]
    keys, codes = np.unique(numbers, return_inverse=True)
    return keys, codes.astype(np.int64, copy=False)


def codes_of(values: npt.ArrayLike) -> Integers:
    """Which of the values that occur each is, ascending from 0."""
    return keys_and_codes(values)[1]


def nan_without_warning() -> np.errstate:
    """For a division whose undefined results are dealt with afterwards."""
    return np.errstate(divide="ignore", invalid="ignore")
