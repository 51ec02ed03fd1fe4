"""Columns of a table as they stand there, those that it lacks null, with the images of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, ImageRows
from evenhand.benchmarks.datasets.readers.tables import find_files, read_table
from evenhand.core.errors import InputError, UnknownName, check_known
from evenhand.files.images.sources import ImageFiles
from evenhand.files.json_file import read_json
from evenhand.files.tables import scan as sources

_JSON = ".json"


def read_columns(
    data: Path, *, image: Sequence[str], needed: Sequence[str], optional: Sequence[str] = ()
) -> ImageRows:
    """Read a table with an image for each row: any that ``read_table`` reads, or lists of records in JSON.

    The first column of ``image`` that is there counts; ``optional`` columns are null where they are not.
    """
    lists = [data] if data.suffix.lower() == _JSON else sorted(data.glob(f"*{_JSON}"))
    if any(data.glob("**/*.parquet")):
        data, lists = data / "**" / "*.parquet", []  # whatever lies beside them
    if lists:
        table = pl.DataFrame([row for file in lists for row in _records(file)], infer_schema_length=None)
        column = _image_of(table.columns, image, needed)
        places = table[column].cast(pl.String).to_list()
        files, by_name = find_files(places, [lists[0].parent], by_name=True)
        rows = ImageRows(table, ImageFiles(files), places, None, by_name=by_name)
    else:
        with sources.reading(data):
            columns = sources.scan(data)[0].collect_schema().names()
        column = _image_of(columns, image, needed)
        there = tuple(name for name in (*needed, *optional) if name in columns)
        rows = read_table(data, ColumnSpec(column, by=there), [])
    absent = [pl.lit(None).alias(name) for name in optional if name not in rows.table.columns]
    return replace(rows, table=rows.table.with_columns(absent).select(*needed, *optional))


def _records(file: Path) -> list[dict[str, object]]:
    """A list of records."""
    content: list[dict[str, object]] = read_json(file, "give a list of records", list)
    if not all(isinstance(row, dict) for row in content):
        raise InputError(f"{str(file)!r} holds no list of records; give [{{...}}, {{...}}]")
    return content


def _image_of(columns: Sequence[str], image: Sequence[str], needed: Sequence[str]) -> str:
    """The column of images; everything that is needed is there."""
    check_known("column", needed, columns)
    found_columns = [name for name in image if name in columns]
    if not found_columns:
        raise UnknownName("column of images", image[0], columns)
    return found_columns[0]
