"""Tables with a column of image paths (CSV, TSV, JSONL, Arrow, Parquet) or of image bytes (Parquet)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, ImageRows, named
from evenhand.core.errors import InputError, check_known, one_line
from evenhand.files.images.sources import ImageBytes, ImageFiles
from evenhand.files.tables import scan as sources
from evenhand.files.tables.json_lines import check_lines

NO_PATH = "no image path in the row"


def read_table(data: Path, spec: ColumnSpec, roots: Sequence[Path]) -> ImageRows:
    """Read labelled images of a table, a glob of tables or a folder of Parquet files.

    The paths begin in ``roots``, in the table's own folder if there are none.
    """
    with sources.reading(data):
        lazy, files = _scan(data)
        schema = lazy.collect_schema()
        spec.check(schema.names())
        image = _image_column(data, schema, spec.image)
        inside = _holds_bytes(schema[image])
        if not inside and schema[image] not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            raise InputError(
                f"column {image!r} holds {one_line(schema[image])} values; "
                "images are paths, or bytes in Parquet"
            )
        check_lines(files, [name for name in (spec.truth, *spec.by) if name is not None])
        path_column = _path_expression(image, schema[image])
        table = lazy.select(*spec.columns(), path_column.alias("\0place")).collect(engine="streaming")
    places = table["\0place"]
    table = _with_names(table.drop("\0place"), _class_names(files))
    is_text = files[0].suffix.lower() in (".csv", ".tsv")
    if inside:
        listed = places.to_list() if places.dtype == pl.String else [None] * len(table)
        return ImageRows(table, ImageBytes(files, image), listed, spec.truth, is_text)
    present = places.is_not_null()
    listed = places.filter(present).cast(pl.String).to_list()
    image_paths, by_name = find_files(listed, roots or [files[0].parent], by_name=bool(roots))
    dropped = {NO_PATH: len(table) - len(listed)} if len(listed) < len(table) else {}
    table = table.filter(present) if table.width else table
    return ImageRows(table, ImageFiles(image_paths), listed, spec.truth, is_text, dropped, by_name)


def find_files(paths: Sequence[str], roots: Sequence[Path], *, by_name: bool) -> tuple[list[str], int]:
    """Where each file lies, and how many were found by their file name alone.

    With ``by_name`` that is the first root that has it, by its path, else by its name. A file that no root
    has, and without ``by_name`` every file, keeps its path in the first root: it is missed when it is read.
    """
    for root in roots:
        if not root.is_dir():
            raise InputError(f"there is no folder {str(root)!r} to look for images in; check the path")
    names: dict[Path, dict[str, list[str]]] = {}
    files, alone = [], 0
    for path in paths:
        file, named_only = None, False
        for root in roots if by_name else ():
            file = os.path.join(root, path)
            if os.path.isfile(file):
                break
            file = _by_name(path, root, names)
            if file is not None:
                named_only = True
                break
        files.append(file or os.path.join(roots[0], path))
        alone += named_only
    return files, alone


def _by_name(path: str, root: Path, names: dict[Path, dict[str, list[str]]]) -> str | None:
    if root not in names:
        names[root] = {}
        for folder, _, files in os.walk(root):
            for file in files:
                names[root].setdefault(file, []).append(os.path.join(folder, file))
    places = names[root].get(os.path.basename(path), [])
    if len(places) > 1:
        raise InputError(
            f"{str(root)!r} has no {path!r} but {len(places)} files of that name, such as {places[0]!r} and "
            f"{places[1]!r}; give the folder that is meant"
        )
    return places[0] if places else None


def _scan(data: Path) -> tuple[pl.LazyFrame, list[Path]]:
    """As evidence is scanned; of a folder the files are named, so that images and labels keep one order."""
    if "://" in str(data) or str(data).startswith(("s3:/", "hf:/", "gs:/", "https:/", "http:/")):
        raise InputError(f"{str(data)!r} is not on this machine; download images and table first")
    lazy, files = sources.scan(data)
    if data.is_dir():
        lazy = pl.scan_parquet(list(files), glob=False, hive_partitioning=True)
    return lazy, files


def _image_column(data: Path, schema: pl.Schema, column: str | None) -> str:
    if column is not None:
        check_known("column", column, schema.names())
        return column
    holding = [name for name, dtype in schema.items() if _holds_bytes(dtype)]
    if len(holding) == 1:
        return holding[0]
    listing = ", ".join(map(repr, schema.names()[:12]))
    raise InputError(f"{str(data)!r} is a table; name its column of images with --image, one of {listing}")


def _holds_bytes(dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.Struct):
        return any(field.name == "bytes" and field.dtype == pl.Binary for field in dtype.fields)
    return dtype == pl.Binary


def _path_expression(image: str, dtype: pl.DataType) -> pl.Expr:
    if not isinstance(dtype, pl.Struct):
        return pl.lit(None) if dtype == pl.Binary else pl.col(image)
    named_too = any(field.name == "path" and field.dtype == pl.String for field in dtype.fields)
    return pl.col(image).struct.field("path") if named_too else pl.lit(None)


def _class_names(files: Sequence[Path]) -> Mapping[str, Sequence[str]]:
    """Names of classes that the Hugging Face library left in a Parquet file, by column."""
    if files[0].suffix.lower() not in (".parquet", ".pq"):
        return {}
    try:
        features = json.loads(pl.read_parquet_metadata(files[0])["huggingface"])["info"]["features"]
        return {name: feature["names"] for name, feature in features.items() if "names" in feature}
    except (KeyError, TypeError, AttributeError, ValueError):  # other tools leave nothing, or something else
        return {}


def _with_names(table: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    coded_columns = [name for name in table.columns if name in names and table[name].dtype.is_integer()]
    return table.with_columns(named(table[name], names[name]).alias(name) for name in coded_columns)
