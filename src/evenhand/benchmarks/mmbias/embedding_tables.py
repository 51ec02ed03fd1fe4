"""Embeddings that were made elsewhere, found in files and folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.mmbias.questions import IMAGES, TEXTS
from evenhand.core.errors import InputError, one_line
from evenhand.files.tables import scan as sources

_COLUMNS = ("sample", "modality", "vector")
_TABLES = {"image": IMAGES, "text": TEXTS}


def read_embeddings(places: Sequence[Path]) -> dict[str, pl.LazyFrame]:
    """Embeddings of ``images`` and ``texts``, those that the tables hold; other tables are passed over."""
    tables = []
    for file in _files(places):
        with sources.reading(file):
            lazy, _ = sources.scan(file)
            columns = lazy.collect_schema().names()
        if set(_COLUMNS) <= set(columns):
            tables.append(lazy.select(pl.col(_COLUMNS)).cast({"sample": pl.String, "modality": pl.String}))
    listed_paths = ", ".join(one_line(path) for path in places)
    if not tables:
        raise InputError(
            f"{listed_paths} holds no embeddings; give tables with the columns {', '.join(_COLUMNS)} "
            "(sample: an image id or a prompt; modality: image or text)"
        )
    all_vectors = pl.concat(tables, how="vertical_relaxed")
    present = all_vectors.select(pl.col("modality").unique()).collect()["modality"].to_list()
    embeddings = {
        table: all_vectors.filter(pl.col("modality") == modality)
        for modality, table in _TABLES.items()
        if modality in present
    }
    if not embeddings:
        raise InputError(
            f"{listed_paths} has the modalities {', '.join(map(repr, present))}; write 'image' or 'text' in "
            "the column modality"
        )
    for table, lazy in embeddings.items():
        _refuse_repeated(table, lazy)
    return embeddings


def _refuse_repeated(table: str, lazy: pl.LazyFrame) -> None:
    samples = lazy.select("sample").collect()["sample"]
    repeated = samples.filter(samples.is_duplicated())
    if len(repeated):
        raise InputError(
            f"there are several vectors of {one_line(repeated[0], 80)!r} among the {table}; keep one of them"
        )


def _files(places: Sequence[Path]) -> list[Path]:
    """Files as given, and of folders all that may be tables."""
    files = []
    for path in (path.expanduser() for path in places):
        if not path.exists():
            raise InputError(f"there is no {one_line(path)}; give a table of embeddings or a folder of them")
        inside = sorted(file for file in path.rglob("*") if sources.is_table(file))
        files += inside if path.is_dir() else [path]
    return files
