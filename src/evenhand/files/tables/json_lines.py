"""Lines of JSON whose objects a table cannot show as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.files.tables.text import LINES, format_of

_HALF = r"(^|[^\\])\\u[dD][89a-fA-F]"  # an escape of half of a character


def check_lines(files: Sequence[Path], columns: Sequence[str]) -> None:
    """Refuse lines of JSON that are read as something else than they say.

    A column with text and other values would become text, of a key that stands twice in an object one value
    would be kept; and half of a character is none.
    """
    if not files or format_of(files[0]) not in LINES:
        return
    line = pl.col("line")
    checks = [line.str.contains(_HALF).any().alias("half")]
    for index, column in enumerate(columns):
        name = re.escape(json.dumps(column, ensure_ascii=False)) + r"\s*:\s*"
        checks.append(line.str.contains(name + '"').any().alias(f"text{index}"))
        checks.append(line.str.contains(name + "[-0-9tf]").any().alias(f"other{index}"))
        checks.append((line.str.count_matches(name) > 1).any().alias(f"twice{index}"))
    lines = _lines(files)
    flags = lines.select(checks).collect(engine="streaming").row(0, named=True)
    for index, column in enumerate(columns):
        if flags[f"text{index}"] and flags[f"other{index}"]:
            raise InputError(
                f"column {column!r} mixes text with numbers or booleans; labels and attributes are one kind "
                "in a column: convert it first"
            )
    if any(flags[f"twice{index}"] for index in range(len(columns))):
        _check_keys(files, columns)
    if flags["half"]:
        for (text,) in lines.filter(line.str.contains(_HALF)).collect(engine="streaming").iter_rows():
            _check_whole(text)


def _lines(files: Sequence[Path]) -> pl.LazyFrame:
    return pl.scan_csv(
        list(files),
        has_header=False,
        separator="\x01",
        quote_char=None,
        new_columns=["line"],
        infer_schema=False,
    )


def _check_keys(files: Sequence[Path], columns: Sequence[str]) -> None:
    """Refuse the first object in which a used key stands twice; objects in it may have keys so called."""
    names = [re.escape(json.dumps(column, ensure_ascii=False)) + r"\s*:" for column in columns]
    several = pl.any_horizontal(pl.col("line").str.count_matches(name) > 1 for name in names)
    for file in files:
        rows = _lines([file]).with_row_index("row").filter(several).collect(engine="streaming")
        for row, text in rows.iter_rows():
            keys = _keys(text)
            twice = next((column for column in columns if keys.count(column) > 1), None)
            if twice is not None:
                raise InputError(
                    f"line {row + 1:,} of {str(file)!r} has the key {twice!r} {keys.count(twice)} times, so "
                    "nobody knows which value is meant; keep one"
                )


def _keys(text: str) -> list[str]:
    """The keys of an object, each as often as it stands there; those of objects in it left out."""
    keys: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys[:] = [key for key, _ in pairs]  # the outermost object is complete last
        return dict(pairs)

    json.loads(text, object_pairs_hook=collect)
    return keys


def _check_whole(text: str) -> None:
    """Refuse a text that holds half of a character, escaped."""
    plain = json.dumps(json.loads(text), ensure_ascii=False)
    half = re.search("[\ud800-\udfff]", plain)
    if half:
        start = one_line(ascii(plain[max(0, half.start() - 20) : half.end()]))
        raise InputError(
            f"a text ends in half of a character (a lone surrogate): {start}; write the whole character"
        )
