"""The numbers that a paper prints: a CSV file for each of its tables, in ``printed`` beside its modules."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl


def printed(module: str, table: str, *, keys: int = 1) -> dict[Any, tuple[Any, ...]]:
    """What a row is of, to the numbers that stand in it; None where the paper prints none.

    ``module`` is the ``__file__`` of a module of the paper. The first ``keys`` columns say what a row is of:
    a text of one, a tuple of several.
    """
    with (Path(module).parent / "printed" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {row[0] if keys == 1 else tuple(row[:keys]): tuple(map(_number, row[keys:])) for row in rows}


def printed_cells(
    module: str, table: str, over: Sequence[str], *, keys: int | Sequence[str] = 1, **same: str
) -> pl.DataFrame:
    """A printed table with one row for each of its numbers: the keys, what its column is of, ``value``.

    ``over`` names what a heading says, a word each: ``single gap`` is of a setting and a quantity. ``keys``
    are so many of the first columns, or what they are to be called. ``same`` are columns with one text.
    """
    file = Path(module).parent / "printed" / f"{table}.csv"
    wide = pl.read_csv(file, infer_schema=False).with_row_index("row")
    n = keys if isinstance(keys, int) else len(keys)
    headings, index = wide.columns[1 + n :], wide.columns[: 1 + n]
    long = wide.unpivot(headings, index=index, variable_name="heading")
    words = pl.col("heading").str.splitn(" ", len(over)).struct.rename_fields([*over])
    names = {} if isinstance(keys, int) else dict(zip(index[1:], keys, strict=True))
    return (
        long.sort("row", pl.col("heading").replace_strict(headings, range(len(headings))))
        .with_columns(words, pl.col("value").cast(pl.Float64))
        .unnest("heading")
        .drop("row")
        .rename(names)
        .with_columns(pl.lit(text).alias(name) for name, text in same.items())
    )


def _number(cell: str) -> float | None:
    """A whole number or a decimal as it stands; None of an empty cell."""
    if not cell:
        return None
    return float(cell) if "." in cell else int(cell)
