"""Attributes of samples that stand in a table of their own, joined to predictions by a column of both."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl

from evenhand.core.errors import InputError, UnknownName

BESIDE = "groups."
"""Stands before the name of a column that the predictions have, too."""


def _check_keys(keys: pl.LazyFrame, column: str, what: str) -> None:
    """Refuse a value that stands twice among the groups."""
    twice = keys.group_by("key").len().filter(pl.col("len") > 1).sort("key").head(1).collect()
    if twice.height:
        key, count = twice.row(0)
        raise InputError(
            f"{key!r} stands {count} times in column {column!r} of {what}; keep a row for each value"
        )


def join_groups(frame: Any, groups: Any, on: str, what: str) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    """Rows with the columns of the groups, and notes; rows that the groups do not name have null there.

    ``on`` is a column of both, or ``COLUMN=COLUMN`` where the groups call it otherwise. Values are compared
    as text, so that 7 in a log is 7 in a CSV.
    """
    native = nw.to_native(frame, pass_through=True)
    if not isinstance(native, pl.DataFrame | pl.LazyFrame):
        raise InputError(
            f"groups are joined to files and to frames of Polars, not to {type(native).__module__}; join "
            "them there, and give the joined frame"
        )
    rows = native.lazy()
    columns = rows.collect_schema().names()
    left, _, right = (on, "", on) if on in columns else on.partition("=")
    right = right or left
    names = groups.collect_schema().names()
    for name, possible, where in ((left, columns, "the predictions"), (right, names, what)):
        if name not in possible:
            raise UnknownName(f"column of {where}", name, possible)
    keys = groups.select(pl.col(right).cast(pl.String).alias("key")).drop_nulls()
    _check_keys(keys, right, what)
    unknown = rows.select(pl.col(left).cast(pl.String).alias("key")).join(keys, on="key", how="anti")
    missing, total = (table.select(pl.len()).collect().item() for table in (unknown, rows))
    if total and missing == total:
        samples = [str(table.head(1).collect().item() if height else None) for table, height in (
            (unknown.select("key"), total), (keys, keys.select(pl.len()).collect().item()))]  # fmt: skip
        raise InputError(
            f"no row has a group: column {left!r} of the predictions holds values such as {samples[0]!r}, "
            f"column {right!r} of {what} such as {samples[1]!r}; name columns of equal values with --on"
        )
    renamed = {name: BESIDE + name if name in columns else name for name in names if name != right}
    attributes = groups.filter(pl.col(right).is_not_null()).select(
        pl.col(right).cast(pl.String).alias("\0key"),
        *(pl.col(name).alias(new) for name, new in renamed.items()),
    )
    answers = rows.with_columns(pl.col(left).cast(pl.String).alias("\0key")).join(
        attributes, on="\0key", how="left", maintain_order="left"
    )
    notes = [f"{missing:,} of {total:,} rows are not in {what}: without a group"] if missing else []
    notes += [
        f"both tables have a column {name!r}: {name} is that of the predictions, {new} that of {what}"
        for name, new in renamed.items()
        if name != new
    ]
    return answers.drop("\0key"), tuple(notes)
