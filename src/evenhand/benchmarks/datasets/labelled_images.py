"""A user's own labelled images, in whatever form they lie there, as annotations and a source of images."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from evenhand.benchmarks.datasets.readers.folders import class_folders, read_folders
from evenhand.benchmarks.datasets.readers.hf_saved import read_saved
from evenhand.benchmarks.datasets.readers.lists import read_lists
from evenhand.benchmarks.datasets.readers.rows import RESERVED, ColumnSpec, ImageRows, as_text, unique_ids
from evenhand.benchmarks.datasets.readers.tables import read_table
from evenhand.benchmarks.datasets.readers.webdataset import read_shards
from evenhand.core.errors import InputError
from evenhand.core.requests import ImageSource
from evenhand.files.images.sources import FirstImages
from evenhand.files.tables.scan import is_table

_ARROW = ".arrow"  # files of a saved data set are no tables of samples
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2")
_FORMS = (
    "a table of image paths and labels, a folder for each class, Parquet with images, a saved Hugging Face "
    "table, tar shards, or lists (.txt) of 'path number' lines"
)


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Labelled images."""

    annotations: pl.DataFrame  # sample (unique), truth, attributes: text, null where not annotated
    images: ImageSource  # in the order of the rows
    dropped: Mapping[str, int] = field(default_factory=dict)  # rows without an image; unreadable images stay
    repeated: int = 0  # rows whose id stands on an earlier row, which got #2, #3 and so on
    by_name: int = 0  # images that were found by their file name alone
    truth: str = ""  # the column of true labels, where there is one

    def __len__(self) -> int:
        return len(self.annotations)


def read_samples(
    data: str | Path,  # any of _FORMS, a folder with one table, a glob of shards or lists
    *,
    image: str | None = None,  # column of the images or their paths; of shards, the extension
    truth: str | None = None,  # column; of class folders, the folder if left out
    by: Sequence[str] = (),  # columns of the attributes
    id: str | None = None,  # column; else the paths are the ids, else the row numbers from 0
    roots: Sequence[str | Path] = (),  # where paths begin, the first with the file; else the table's folder
    limit: int | None = None,  # only so many samples, the first
) -> LabelledImages:
    """Read labelled images; no image is opened yet."""
    for name in by:
        if name in RESERVED:
            raise InputError(f"an attribute cannot be called {name!r} here; rename the column first")
    spec = ColumnSpec(image, truth, tuple(dict.fromkeys(by)), id)
    rows = _read(Path(data).expanduser(), spec, [Path(root).expanduser() for root in roots])
    if not len(rows.images):
        raise InputError(f"{str(data)!r} holds no images; give {_FORMS}")
    samples = _samples(rows, spec)
    if limit is None or limit >= len(samples):
        return samples
    return replace(
        samples, annotations=samples.annotations.head(limit), images=FirstImages(samples.images, limit)
    )


def _samples(rows: ImageRows, spec: ColumnSpec) -> LabelledImages:
    id_values = rows.table[spec.id] if spec.id is not None else None
    ids, repeated = unique_ids(id_values, spec.id, rows.places)
    columns = {"sample": pl.Series(ids, dtype=pl.String)}
    if rows.truth is None:
        columns["truth"] = pl.Series([None] * len(ids), dtype=pl.String)
    else:
        truth_column = spec.truth or "truth"
        columns["truth"] = as_text(rows.table[rows.truth], truth_column, labels=True, is_text=rows.is_text)
    for name in spec.by:
        columns[name] = as_text(rows.table[name], name, labels=False, is_text=rows.is_text)
    truth = rows.truth or ""
    return LabelledImages(pl.DataFrame(columns), rows.images, rows.dropped, repeated, rows.by_name, truth)


def _read(data: Path, spec: ColumnSpec, roots: Sequence[Path]) -> ImageRows:
    if data.is_dir():
        return _read_folder(data, spec, roots)
    if data.name.lower().endswith(_TARS):
        return read_shards(_matching(data), spec)
    if data.suffix.lower() == ".txt":
        return read_lists(_matching(data), spec)
    if data.suffix.lower() == ".arrow" and data.is_file():
        return read_saved(data, spec)
    return read_table(data, spec, roots)


def _read_folder(folder: Path, spec: ColumnSpec, roots: Sequence[Path]) -> ImageRows:
    """Of a folder, what lies in it says what it is."""
    if (folder / "state.json").is_file() or (folder / "dataset_dict.json").is_file():
        return read_saved(folder, spec)
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    shards = [folder / name for name in names if name.lower().endswith(_TARS)]
    if shards:
        return read_shards(shards, spec)
    if spec.image is None and class_folders(folder):
        return read_folders(folder, spec)
    return read_table(_table_in(folder, names, spec), spec, roots)


def _table_in(folder: Path, names: Sequence[str], spec: ColumnSpec) -> Path:
    """The one table of a folder, or the folder itself where it holds Parquet files."""
    tables = [folder / name for name in names if is_table(name) and not name.lower().endswith(_ARROW)]
    if len(tables) == 1:
        return tables[0]
    if all(table.suffix.lower() == ".parquet" for table in tables) and next(folder.rglob("*.parquet"), None):
        return folder
    if tables:
        listing = ", ".join(repr(table.name) for table in tables[:12])
        raise InputError(f"{str(folder)!r} holds several tables; give one of {listing} as the data")
    hint = "; leave --image out to read a folder for each class" if spec.image is not None else ""
    raise InputError(f"no table and no class folders with images in {str(folder)!r}{hint}; give {_FORMS}")


def _matching(pattern: Path) -> list[Path]:
    paths = [pattern] if pattern.is_file() else sorted(map(Path, glob.glob(str(pattern), recursive=True)))
    if not paths:
        raise InputError(f"there is no file {str(pattern)!r}; check the path, or give a glob in quotes")
    return paths
