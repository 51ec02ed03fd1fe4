"""Images that a model will be measured on: every image of a folder, or those that a table names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.labelled_images import read_samples
from evenhand.benchmarks.datasets.readers.folders import is_image_name
from evenhand.core.errors import InputError
from evenhand.files.images.sources import ImageBytes, ImageFiles, TarImages
from evenhand.files.images.tar import members
from evenhand.files.json_file import read_json
from evenhand.files.tables import scan as sources
from evenhand.workflows.execution.leakage import hashes_of

_TARS = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2")
_PARQUET = (".parquet", ".pq")
_ABOVE = 3  # folders above a table where its paths may begin


def read_evaluation(source: str | Path) -> set[str]:
    """Content hashes of images that a model will be measured on.

    Of a folder every image counts, in files, tar files and Parquet, at any depth; of a table or JSON every
    text that is the path of an image; anything else is read as ``classification`` reads it.
    """
    path = Path(source).expanduser()
    if path.is_dir():
        hashes = _inside(path)
    elif path.suffix.lower() == ".json" or sources.is_table(path):
        hashes = _of_table(path)
    else:
        hashes = _hashes(read_samples(path).images)
    if hashes:
        return hashes
    if path.is_dir():
        return _hashes(read_samples(path).images)  # says what a folder can hold
    raise InputError(
        f"--evaluation {str(path)!r} names no image that can be read; give the folder of the images"
    )


def _hashes(images: Any) -> set[str]:
    return {digest for digest, _ in hashes_of(images)}


def _inside(folder: Path) -> set[str]:
    """Of every image in a folder, in whatever it lies."""
    loose: list[str] = []
    hashes: set[str] = set()
    for directory, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(directory, name)
            if is_image_name(name):
                loose.append(str(path))
            elif name.lower().endswith(_TARS):
                hashes |= _of_tar(path)
            elif path.suffix.lower() in _PARQUET:
                hashes |= _of_parquet(path)
            elif name == "state.json":
                hashes |= _of_saved(Path(directory))
    return hashes | _hashes(ImageFiles(loose))


def _of_tar(path: Path) -> set[str]:
    images = [(0, member) for member in members(path) if is_image_name(member.name.rpartition("/")[2])]
    return _hashes(TarImages([path], images))


def _of_parquet(path: Path) -> set[str]:
    """Of the images in every column of bytes; a table without one holds none."""
    with sources.reading(path):
        schema = pl.read_parquet_schema(path)
    hashes: set[str] = set()
    for name, dtype in schema.items():
        fields = dtype.fields if isinstance(dtype, pl.Struct) else []
        if dtype == pl.Binary or any(field.name == "bytes" and field.dtype == pl.Binary for field in fields):
            hashes |= _hashes(ImageBytes([path], name))
    return hashes


def _of_table(path: Path) -> set[str]:
    """Of the images in a table, and of those that it names."""
    if not path.is_file():
        raise InputError(f"--evaluation {str(path)!r} does not exist; give a folder or a table")
    if path.suffix.lower() in (".arrow", ".feather", ".ipc"):
        inside = _of_saved(path)
    else:
        inside = _of_parquet(path) if path.suffix.lower() in _PARQUET else set()
    return inside | _hashes(ImageFiles(sorted(_named(path))))


def _of_saved(path: Path) -> set[str]:
    """Of what the Hugging Face library wrote; it may as well hold no images."""
    try:
        return _hashes(read_samples(path).images)
    except InputError:
        return set()


def _named(path: Path) -> set[str]:
    """Files that the texts of a table name, from its folder on or from one above."""
    starts = [path.resolve().parent, *list(path.resolve().parents)[1:_ABOVE]]
    paths = set()
    for text in set(_texts(path)):
        if is_image_name(text.replace("\\", "/").rpartition("/")[2]):
            candidates = (start / text for start in starts)
            paths |= {
                str(candidate)
                for candidate in _first(candidate for candidate in candidates if candidate.is_file())
            }
    return paths


def _first(candidates: Iterator[Path]) -> list[Path]:
    path = next(candidates, None)
    return [] if path is None else [path]


def _texts(path: Path) -> Iterable[str]:
    if path.suffix.lower() == ".json":
        yield from _of_json(path)
        return
    with sources.reading(path):
        lazy, _ = sources.scan(path)
        names = [name for name, dtype in lazy.collect_schema().items() if dtype == pl.String]
        for name in names:
            yield from lazy.select(pl.col(name).drop_nulls().unique()).collect()[name].to_list()


def _of_json(path: Path) -> Iterable[str]:
    """Every text in it, names of fields too, at any depth."""
    waiting: list[Any] = [read_json(path, "give --evaluation the folder of the images")]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            waiting += [*node, *node.values()]
        elif isinstance(node, list):
            waiting += node
