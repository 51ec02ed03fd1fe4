"""Which local pictures the rows of a table are about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import narwhals as nw
import polars as pl

from evenhand.evidence.predictions.checks.rows import is_small
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions

COLUMNS = ("image_path", "img_path", "file_path", "filepath", "image", "img", "path", "file", "filename",
           "file_name")  # fmt: skip
_TRIED = 20  # names of which most have to be pictures, before the rest is looked for


def picture_files(predictions: Predictions, counts: Counts) -> tuple[str, list[Path]]:
    """The column of pictures' paths, and the files that exist, each once, in the order of their names.

    A path begins in the folder of the table, else in the current one. Nothing is opened.

    Returns:
        Empty where no column names local pictures, or where reading the table once more costs much.
    """
    columns = {column.casefold(): column for column in reversed(predictions.columns)}
    column = next((columns[name] for name in COLUMNS if name in columns), None)
    if column is None or not is_small(predictions, counts):
        return "", []
    from evenhand.files.download.downloads import SUFFIXES

    names = to_polars(predictions.frame.select(nw.col(column).alias("name")).unique())["name"]
    if names.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return "", []
    paths = [name for name in sorted(names.cast(pl.String).drop_nulls()) if name.lower().endswith(SUFFIXES)]
    files = predictions.origin.files if predictions.origin is not None else ()
    folders = [*dict.fromkeys(file.parent for file in files[:1]), Path()]
    tried = _existing(paths[:_TRIED], folders)
    if 2 * len(tried) <= min(_TRIED, len(paths)):
        return "", []
    return column, _existing(paths, folders)


def _existing(names: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    candidates = ([folder / name for folder in folders] for name in names if "\0" not in name)
    existing = (next((path for path in paths if path.is_file()), None) for paths in candidates)
    return [path for path in dict.fromkeys(existing) if path is not None]
