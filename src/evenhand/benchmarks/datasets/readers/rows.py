"""What every reader gives: a table with a row for each image, and what becomes of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from evenhand.core.errors import InputError, check_known
from evenhand.core.requests import ImageSource
from evenhand.evidence.predictions.levels import Encoder, Label, plain_numbers

RESERVED: tuple[str, ...] = ("sample", "truth", "prediction", "rank", "n")
"""Names of columns that evidence has already, so that no attribute can have them."""


@dataclass(frozen=True)
class ColumnSpec:
    """Which columns a user asked for."""

    image: str | None = None  # of the images, or of their paths
    truth: str | None = None
    by: tuple[str, ...] = ()  # the attributes
    id: str | None = None  # of the sample ids

    def columns(self) -> list[str]:
        """Truth, attributes and id, each once."""
        return list(dict.fromkeys(name for name in (self.truth, *self.by, self.id) if name is not None))

    def check(self, possible: Sequence[str]) -> None:
        """Raise UnknownName unless all columns exist."""
        check_known("column", self.columns(), possible)


@dataclass(frozen=True, eq=False)
class ImageRows:
    """Labelled images as a reader found them."""

    table: pl.DataFrame  # the wanted columns, one row an image
    images: ImageSource  # in the order of the rows
    places: Sequence[str | None]  # of each image a name such as its path; None where there is none
    truth: str | None  # column of the table
    is_text: bool = False  # whether numbers were written as text, so that 97 may stand there as 97.0
    dropped: Mapping[str, int] = field(default_factory=dict)  # rows that have no image, by reason
    by_name: int = 0  # images that were found by their file name alone


def as_text(values: pl.Series, column: str, *, labels: bool, is_text: bool) -> pl.Series:
    """Labels as text, null where they are missing: what ``Predictions.read`` makes of the same column.

    ``labels`` are true labels, which may not be fractional; ``is_text``: the format writes numbers as text.
    """
    encoder = Encoder.fit(values, "truth" if labels else column, column, labels=labels)
    axis = plain_numbers(encoder.axis, column) if labels and is_text else encoder.axis
    levels = pl.Series([_word(level) for level in axis.levels], dtype=pl.String)
    codes = pl.Series(encoder.codes(values))
    if not len(levels):
        return pl.Series([None] * len(values), dtype=pl.String)
    is_known = codes >= 0
    return pl.select(pl.when(is_known).then(levels.gather(codes.clip(lower_bound=0)))).to_series()


def named(values: pl.Series, names: Sequence[str]) -> pl.Series:
    """Class numbers as the names that stand beside the table; -1 means that there is no label."""
    return pl.Series([_nth(names, value) for value in values.to_list()], dtype=pl.String)


def unique_ids(
    id_values: pl.Series | None, column: str | None, places: Sequence[str | None]
) -> tuple[list[str], int]:
    """A unique id for each row, and how many rows repeat one.

    The ids are those given, else the images' places, else row numbers from 0. What repeats gets ``#2``,
    ``#3`` and so on.
    """
    if id_values is not None:
        names = _ids(id_values, str(column))
    elif all(path is not None for path in places):
        names = [str(path) for path in places]
    else:
        names = [str(row) for row in range(len(places))]
    counts, used_ids, ids = dict.fromkeys(names, 0), set(names), []
    for name in names:
        counts[name] += 1
        unique = name
        if counts[name] > 1:
            while (unique := f"{name}#{counts[name]}") in used_ids:
                counts[name] += 1
            used_ids.add(unique)
        ids.append(unique)
    return ids, len(names) - len(counts)


def _ids(values: pl.Series, column: str) -> list[str]:
    missing = values.null_count()
    if missing:
        raise InputError(f"id column {column!r} has {missing} empty cells; fill them, or give no id column")
    if values.dtype.is_float() and (values == values.round()).all():
        values = values.cast(pl.Int64)
    try:
        return [str(value) for value in values.cast(pl.String).to_list()]
    except pl.exceptions.PolarsError:
        raise InputError(
            f"id column {column!r} holds {values.dtype} values; ids are text or integers"
        ) from None


def _nth(names: Sequence[str], value: object) -> str | None:
    if not isinstance(value, int) or value < 0:
        return None
    return names[value] if value < len(names) else str(value)


def _word(level: Label) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)
