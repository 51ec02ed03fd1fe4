"""Writing a run's files: each whole or not at all, and one line with a remedy where there is no room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.files.atomic import atomic_path


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a Parquet file, whole or not at all."""
    with telling_where(path), atomic_path(path) as temporary:
        table.write_parquet(temporary)


@contextmanager
def telling_where(path: Path) -> Iterator[None]:
    """Turn what the system and Polars report about writing here into one line with a remedy."""
    try:
        yield
    except OSError as problem:
        raise InputError(
            f"{str(path)!r} could not be written: {one_line(problem)}; free some space or check permissions, "
            "and type the same command again: what was answered is kept"
        ) from problem
    except pl.exceptions.PolarsError as problem:
        raise InputError(
            f"{str(path)!r} could not be written: {one_line(problem)}; if this names a type of values, turn "
            "the columns that hold such values into text first, or leave them out"
        ) from problem
