"""Cells as whole numbers: packed from their codes, sorted, added up and unpacked again."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.evidence.predictions.columns.arrays import Integers
from evenhand.evidence.predictions.levels import Codes

LARGEST_KEY = np.iinfo(np.int64).max // 2  # combinations of levels beyond this are sorted column by column
DENSE_CELLS = 1 << 26  # the largest dense array of cells (512 MiB) used for counting and sorting


def sum_sorted(codes: Codes, numbers: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[Any]]:
    """Distinct columns of sorted codes, and the sums of their numbers (along the last axis)."""
    first = np.r_[True, (np.diff(codes, axis=1) != 0).any(axis=0)][: codes.shape[1]]
    if not first.size:
        return codes, numbers
    return codes[:, first], np.add.reduceat(numbers, np.flatnonzero(first), axis=-1)


def pack(codes: Sequence[Codes], sizes: Sequence[int]) -> Integers:
    """One key per row from its codes (-1 included), ordered as the codes are."""
    keys = np.zeros(codes[0].size, dtype=np.int64)
    for size, code in zip(sizes, codes, strict=True):
        keys *= size
        keys += code
        keys += 1
    return keys


def sum_keys(keys: Integers, n: Integers, space: int) -> tuple[Integers, Integers]:
    """Distinct keys, ascending, and the sums of their n; ``space``: keys lie below it."""
    if space <= min(DENSE_CELLS, 16 * keys.size):
        dense = np.zeros(space, dtype=np.int64)
        np.add.at(dense, keys, n)
        unique = np.flatnonzero(dense)
        return unique, dense[unique]
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    start = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: keys.size])
    return ordered[start], np.add.reduceat(n[order], start) if keys.size else n


def unpack(keys: npt.NDArray[np.integer], sizes: Sequence[int]) -> Codes:
    """The codes that ``pack`` made keys of, shape (axes, K)."""
    codes = np.empty((len(sizes), keys.size), dtype=np.int32)
    if prod(sizes) < np.iinfo(np.uint32).max:
        keys = keys.astype(np.uint32)  # divides several times faster
    for position in range(len(sizes) - 1, -1, -1):
        quotient = keys // sizes[position]
        codes[position] = (keys - quotient * sizes[position]).astype(np.int32) - 1
        keys = quotient
    return codes
