"""Cells as whole numbers: packed from their codes, sorted, added up and unpacked again; and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.columns.arrays import Integers
from evenhand.evidence.predictions.levels import Codes

LARGEST_KEY = np.iinfo(np.int64).max // 2  # combinations of levels beyond this are sorted column by column
DENSE_CELLS = 1 << 26  # the largest dense array of cells (512 MiB) used for counting and sorting


WEIGHT = "weight:"  # what the column of weights is called while rows are counted
MOMENTS = ("weight:rows", "weight:squares", "weight:zeros")
_LARGEST = 1e60  # so that sums of squared squares are numbers


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


def weighed(cells: pl.DataFrame, column: str) -> pl.DataFrame:
    """Cells by weight as rows of ``Counts.from_table``.

    Args:
        cells: One row per combination of values and weight (``WEIGHT``), with its number ``n``.
        column: What the user calls the weights.

    Returns:
        The cells in the order of their weights, so that sums do not depend on the order of rows: ``n``, the
        weight of all rows of a cell, and ``MOMENTS``.

    Raises:
        InputError: A weight that is missing, negative, infinite or no number.
    """
    if cells.is_empty():
        return cells.with_columns(pl.lit(0.0).alias(name) for name in ("n", *MOMENTS))
    numbers = weight_numbers(cells[WEIGHT], column)
    weight, rows = pl.col(WEIGHT), pl.col("n")
    counting = pl.when(weight > 0).then(rows).otherwise(0)
    moments = dict(zip(MOMENTS, (counting, rows * weight**2, rows - counting), strict=True))
    return cells.with_columns(numbers).sort(WEIGHT).with_columns(n=rows * weight, **moments).drop(WEIGHT)


def weight_numbers(values: pl.Series, column: str) -> pl.Series:
    """Weights as floats of 0 or more."""
    if not (values.dtype.is_numeric() or values.dtype in (pl.String, pl.Null)):
        raise InputError(
            f"weight column {column!r} holds {one_line(values.dtype)} values; weights are numbers, 0 or more"
        )
    numbers = values.cast(pl.Float64, strict=False)
    wrong = values.filter(~(numbers.is_finite() & (numbers >= 0)).fill_null(False))
    extreme = numbers.filter((numbers > 0) & ~numbers.is_between(1 / _LARGEST, _LARGEST))
    if wrong.is_empty() and not extreme.is_empty():
        raise InputError(
            f"weight column {column!r} has rows with the weight {extreme[0]:g}; weights are 0, or from "
            f"{1 / _LARGEST:g} to {_LARGEST:g}: divide all by their mean"
        )
    if not wrong.is_empty():
        example = "no weight" if wrong[0] is None else one_line(repr(wrong[0]), 60)
        raise InputError(
            f"weight column {column!r} has rows with {example}; weights are numbers, 0 or more: mend them, "
            "or give these rows the weight 0, which leaves them out and counts them"
        )
    return numbers
