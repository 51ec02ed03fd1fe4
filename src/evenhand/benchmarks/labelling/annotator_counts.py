"""Attributes that several annotators gave: columns with how many of them named each group."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from math import isfinite

import polars as pl

WEIGHT = "annotators"
"""The column with a group's share of a sample's annotators."""

_LONGEST = 2_000  # characters of a box


def largest_group(counts: Mapping[str, pl.Expr]) -> pl.Expr:
    """The group that most annotators named; null without one, or where several were named as often."""
    numbers = list(counts.values())
    most = pl.max_horizontal(numbers)
    alone = pl.sum_horizontal([count == most for count in numbers]) == 1
    pairs = zip(counts, numbers, strict=True)
    group_of_most = pl.coalesce([pl.when(count == most).then(pl.lit(group)) for group, count in pairs])
    return pl.when((most > 0) & alone).then(group_of_most)


def by_share(annotations: pl.DataFrame, attribute: str, columns: Sequence[str]) -> pl.DataFrame:
    """A row for each sample and group that somebody named, with the share in ``WEIGHT``.

    The ``columns`` of counts are called ``attribute_GROUP``; a column ``attribute`` is replaced.
    """
    others = [name for name in annotations.columns if name not in (*columns, attribute)]
    long = annotations.select(*others, *columns).unpivot(columns, index=others, variable_name=attribute)
    share = (pl.col("value") / pl.col("value").sum().over("sample")).alias(WEIGHT)
    group = pl.col(attribute).str.strip_prefix(f"{attribute}_")
    return long.filter(pl.col("value") > 0).with_columns(share, group).drop("value")


def box_of(text: str | None) -> list[float] | None:
    """Left, top, right and bottom of a dict with x, y, width and height, as Python or JSON writes it.

    None where the text is no box of finite numbers, or one without an extent; nothing in it is run.
    """
    if text is None or len(text) > _LONGEST:
        return None
    try:
        box = json.loads(text) if '"' in text else ast.literal_eval(text)
        x, y, width, height = (float(box[name]) for name in ("x", "y", "width", "height"))
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError, IndexError):
        return None
    if not all(map(isfinite, (x, y, width, height))) or min(width, height) <= 0:
        return None
    return [x, y, x + width, y + height]
