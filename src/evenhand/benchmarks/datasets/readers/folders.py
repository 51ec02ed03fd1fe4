"""A folder for each class; attributes stand in an ``annotations.csv`` beside the folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, ImageRows
from evenhand.core.errors import InputError
from evenhand.files.images.sources import ImageFiles
from evenhand.files.tables import scan as sources

_IMAGE = re.compile(r"[^.].*\.(jpe?g|png|webp|gif|bmp|tiff?|p[bgp]m|heic|avif)", re.IGNORECASE)

_ANNOTATIONS = "annotations.csv"
_PATH = "path"
_CLASS = "\0class"


def is_image_name(name: str) -> bool:
    """Whether a file counts as an image; whether it can be decoded is reported for each sample."""
    return _IMAGE.fullmatch(name) is not None


def class_folders(folder: Path) -> list[str]:
    """Names of the subfolders that hold images, sorted; links to folders are not followed."""
    with os.scandir(folder) as entries:
        subfolders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    inside = sorted(name for name in subfolders if not _hidden(name))
    return [name for name in inside if next(_images(folder / name), None) is not None]


def read_folders(folder: Path, spec: ColumnSpec) -> ImageRows:
    """Read images whose class is the name of the subfolder they lie in, at any depth.

    ``spec`` names columns of ``annotations.csv``; without ``truth`` the subfolder is the truth.
    """
    classes = class_folders(folder)
    loose = next((name for name in sorted(os.listdir(folder)) if is_image_name(name)), None)
    if loose is not None:
        raise InputError(
            f"{str(folder)!r} holds images such as {loose!r} outside of class folders; move them into a "
            "folder for each class, or give a table of paths and labels"
        )
    places = [file for name in classes for file in sorted(_images(folder / name))]
    relative = [file.relative_to(folder).as_posix() for file in places]
    truth = [path.split("/", 1)[0] for path in relative]
    table = pl.DataFrame({_PATH: relative, _CLASS: truth}, schema={_PATH: pl.String, _CLASS: pl.String})
    if spec.columns():
        table = _joined(table, folder, spec)
    return ImageRows(table, ImageFiles(places), relative, spec.truth or _CLASS, is_text=True)


def _joined(table: pl.DataFrame, folder: Path, spec: ColumnSpec) -> pl.DataFrame:
    """The images with their annotations; those without get none."""
    file = folder / _ANNOTATIONS
    if not file.is_file():
        column_names = ", ".join(map(repr, spec.columns()))
        raise InputError(
            f"{str(folder)!r} holds a folder for each class but no {_ANNOTATIONS}, where {column_names} "
            f"would stand beside a column {_PATH!r} of paths such as {table[_PATH][0]!r}"
        )
    with sources.reading(file):
        lazy, _ = sources.scan(file)
        columns = lazy.collect_schema().names()
        ColumnSpec(truth=_PATH).check(columns)
        spec.check(columns)
        annotations = lazy.select(list(dict.fromkeys([_PATH, *spec.columns()]))).collect()
    twice = annotations.filter(pl.col(_PATH).is_duplicated())
    if len(twice):
        raise InputError(f"{str(file)!r} has several rows for {twice[_PATH][0]!r}; keep one")
    if not len(annotations.filter(pl.col(_PATH).is_in(table[_PATH].implode()))):
        raise InputError(
            f"no path in {str(file)!r} is that of an image; write them from the folder on, "
            f"such as {table[_PATH][0]!r}"
        )
    return table.join(annotations, on=_PATH, how="left", maintain_order="left")


def _images(folder: Path) -> Iterator[Path]:
    for directory, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        for name in sorted(files):
            if is_image_name(name):
                yield Path(directory, name)


def _hidden(name: str) -> bool:
    """Names such as ``._1.jpg`` and ``.ipynb_checkpoints``, which other programs leave."""
    return name.startswith(".")
