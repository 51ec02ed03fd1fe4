"""Tables of the WILDS layouts: read with every malformed row counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.benchmarks.skewsize_studies.material import OUTSIDE_FOLDER, REPEATED, leaves
from evenhand.core.errors import InputError, UnknownName
from evenhand.evidence import sources

SPLITS: tuple[str, ...] = ("train", "val", "test")
"""By their number in the tables."""

CHOICES: tuple[str, ...] = ("test", "val", "train", "all")
"""Of ``-p split=``."""

MALFORMED = "row with a value that cannot be"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table.

    Attributes:
        table: The columns asked for, as text; the path and every coded column is whole.
        dropped: Rows that are not there, by reason.
    """

    table: pl.DataFrame
    dropped: Mapping[str, int]


def find_table(folder: Path, name: str, layout: str) -> Path:
    """A table of a folder, or of the one folder below it that archives unpack to.

    Args:
        folder: As the user gave it.
        name: Of the table.
        layout: What should lie there, for the message.

    Raises:
        InputError: It is not there, or there are several.
    """
    if (folder / name).is_file():
        return folder / name
    below = sorted(folder.glob(f"*/{name}"))
    if len(below) == 1:
        return below[0]
    there = f"{len(below)} of it, such as {str(below[0])!r}" if below else "none"
    raise InputError(f"{str(folder)!r} needs one {name} and has {there}; it should hold {layout}")


def read_rows(file: Path, path: str, coded: Mapping[str, Mapping[str, str]]) -> Rows:
    """Columns of a CSV table with numbers for words.

    Args:
        file: The table.
        path: Column of image paths.
        coded: Column to number, as it is written, to word. A row with another value is dropped.

    Raises:
        InputError: It cannot be read.
        UnknownName: A column that it lacks.
    """
    with sources.reading(f"{str(file)!r}"):
        lazy, _ = sources.scan(file)
        columns = lazy.collect_schema().names()
        for name in (path, *coded):
            if name not in columns:
                raise UnknownName("column", name, columns, f"{str(file)!r} is another table")
        table = lazy.select(path, *coded).collect()
    dropped: Counter[str] = Counter()
    table = table.with_columns(
        pl.col(name).str.strip_chars().replace_strict(dict(words), default=None, return_dtype=pl.String)
        for name, words in coded.items()
    )
    whole = table.drop_nulls()
    dropped[MALFORMED] += len(table) - len(whole)
    outside = pl.Series([leaves(place) or not place.strip() for place in whole[path]], dtype=pl.Boolean)
    inside = whole.filter(~outside)
    dropped[OUTSIDE_FOLDER] += len(whole) - len(inside)
    once = inside.unique(path, keep="first", maintain_order=True)
    dropped[REPEATED] += len(inside) - len(once)
    return Rows(once, +dropped)


def split_codes() -> dict[str, str]:
    """How tables number the splits."""
    return {str(number): name for number, name in enumerate(SPLITS)}


def in_split(table: pl.DataFrame, split: str, file: Path) -> pl.DataFrame:
    """The rows of a split.

    Raises:
        InputError: There is none.
    """
    kept = table if split == "all" else table.filter(pl.col("split") == split)
    if not len(kept):
        raise InputError(f"{str(file)!r} has no usable row of the split {split!r}; choose another -p split=")
    return kept
