"""Tables of the WILDS layouts: read with every malformed row counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.benchmarks.datasets.samples import filtered
from evenhand.benchmarks.skewsize.data.samples import OUTSIDE_FOLDER, REPEATED, stays
from evenhand.core.errors import InputError, UnknownName, one_line
from evenhand.files.download.downloads import SUFFIXES
from evenhand.files.tables import scan as sources

SPLITS: tuple[str, ...] = ("train", "val", "test")
"""By their number in the tables."""

CHOICES: tuple[str, ...] = ("test", "val", "train", "all")
"""Of ``-p split=``."""

MALFORMED = "row with a value that cannot be"


@dataclass(frozen=True, eq=False)
class WildsTable:
    """Rows of a table."""

    table: pl.DataFrame  # columns as text; the path and every coded one is whole
    dropped: Mapping[str, int]  # rows that are not there, by reason
    odd: str = ""  # the first value that cannot be, for messages; empty: none


def find_table(folder: Path, name: str, layout: str) -> Path:
    """A ``.csv``, else ``.txt``, of a folder, or of the one folder below it that archives unpack to."""
    names = (name, f"{Path(name).stem}.txt")
    places = [[folder / file_name] for file_name in names] + [
        sorted(folder.glob(f"*/{file_name}")) for file_name in names
    ]
    there = next((files for paths in places if (files := [path for path in paths if path.is_file()])), [])
    if len(there) == 1:
        return there[0]
    several = f"{len(there)} of it, such as {str(there[0])!r}" if there else "none"
    raise InputError(f"{str(folder)!r} needs one {name} and has {several}; it should hold {layout}")


def read_rows(
    file: Path,  # CSV, or columns separated by blanks as CelebA's authors write them
    path: str,  # column of image paths; between blanks the first, if it has no name
    coded: Mapping[str, Mapping[str, str]],  # column -> number as written (or with ``.0``) -> word
    headless: tuple[str, ...] = (),  # names of the columns where the first line is a row already
    hint: str = "",  # what to type where a coded column is not there
) -> WildsTable:
    """Columns of a table with words for its numbers; a row with another value is dropped."""
    with sources.reading(file):
        lazy = _blank_separated(file, path, headless)
        if lazy is None:
            lazy, _ = sources.scan(file)
        columns = lazy.collect_schema().names()
        for name in (path, *coded):
            if name not in columns:
                message = f"{str(file)!r} is another table"
                raise UnknownName("column", name, columns, hint if hint and path in columns else message)
        table = lazy.select(path, *coded).collect()
    raw_table = table
    table = table.with_columns(
        pl.col(name)
        .str.strip_chars()
        .str.replace(r"^(-?\d+)\.0+$", "$1")
        .replace_strict(dict(words), default=None, return_dtype=pl.String)
        for name, words in coded.items()
    )
    rules = {
        MALFORMED: pl.all_horizontal(pl.all().is_not_null()),
        OUTSIDE_FOLDER: stays(path) & (pl.col(path).str.strip_chars() != ""),
        REPEATED: pl.col(path).is_first_distinct(),
    }
    usable, dropped = filtered(table, rules)
    return WildsTable(usable, dropped, _first_odd(raw_table, table, coded))


def _blank_separated(file: Path, path: str, headless: tuple[str, ...]) -> pl.LazyFrame | None:
    """A table whose columns blanks separate, as text; None if it is none. A count on top is passed over."""
    with file.open(encoding="utf-8-sig") as opened:
        lines = filter(str.strip, opened)
        first = next(lines, "")
        if set(first) & set(",\t") or (len(first.split()) < 2 and not first.strip().isdigit()):
            return None
        head = (next(lines, "") if first.strip().isdigit() else first).split()
        rows = [line.split() for line in lines]
    if head and head[0].lower().endswith(SUFFIXES):
        rows, head = [head, *rows], list(headless)
    elif rows and len(rows[0]) == len(head) + 1:
        head = [path, *head]
    wide = len(head)
    padded = [(*row, *[None] * (wide - len(row)))[:wide] for row in rows]
    return pl.LazyFrame(padded, schema=dict.fromkeys(head, pl.String), orient="row")


def _first_odd(raw_table: pl.DataFrame, parsed: pl.DataFrame, coded: Mapping[str, Mapping[str, str]]) -> str:
    """The first value that stands for no word, with those that do."""
    for name, words in coded.items():
        odd = raw_table[name].filter(parsed[name].is_null())
        if len(odd):
            value = "nothing" if odd[0] is None else repr(one_line(odd[0], 40))
            return f"such as {value} in {name!r}, where {', '.join(words)} can be"
    return ""


def split_codes() -> dict[str, str]:
    """How tables number the splits."""
    return {str(number): name for number, name in enumerate(SPLITS)}


def in_split(rows: WildsTable, split: str, file: Path) -> pl.DataFrame:
    """The rows of a split."""
    table = rows.table
    selected = table if split == "all" else table.filter(pl.col("split") == split)
    if len(selected):
        return selected
    counts = Counter(table["split"].to_list())
    there = ", ".join(f"{name}: {counts[name]:,}" for name in SPLITS if counts[name]) or "no row"
    lost = ", ".join(f"{reason}: {count:,}" for reason, count in rows.dropped.items())
    lost = f" (left out: {lost}{', ' + rows.odd if rows.odd else ''})" if lost else ""
    do = "choose another -p split=" if counts else "mend the table"
    raise InputError(f"{str(file)!r} has no usable row of the split {split!r}, but {there}{lost}; {do}")
