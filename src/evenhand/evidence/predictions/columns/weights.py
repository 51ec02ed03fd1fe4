"""Weights of rows: those of surveys, checked and summed over cells."""

from __future__ import annotations

import polars as pl

from evenhand.core.errors import InputError, one_line

WEIGHT = "weight:"  # what the column of weights is called while rows are counted
MOMENTS = ("weight:rows", "weight:squares", "weight:zeros")
_LARGEST = 1e60  # so that sums of squared squares are numbers


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
