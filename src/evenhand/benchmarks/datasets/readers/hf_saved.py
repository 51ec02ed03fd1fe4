"""Tables saved by the Hugging Face library ``datasets`` (``save_to_disk``, or one ``.arrow`` file)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, ImageRows, named
from evenhand.core.errors import InputError, check_known
from evenhand.files.images.sources import HFImages, load_saved


def read_saved(data: Path, spec: ColumnSpec) -> ImageRows:
    """Read a saved Hugging Face table; numbers of classes become their names."""
    saved = load_saved(data)
    spec.check(saved.column_names)
    image = _image_column(data, saved, spec.image)
    columns = spec.columns()
    table = saved.select_columns(columns).to_polars() if columns else pl.DataFrame()
    for name in columns:
        names = getattr(saved.features[name], "names", None)
        if names is not None:
            table = table.with_columns(named(table[name], names).alias(name))
    return ImageRows(table, HFImages(data, image), [None] * len(saved), spec.truth)


def _image_column(data: Path, saved: Any, column: str | None) -> str:
    if column is not None:
        check_known("column", column, saved.column_names)
        return column
    holding: list[str] = [
        name for name, feature in saved.features.items() if type(feature).__name__ == "Image"
    ]
    if len(holding) == 1:
        return holding[0]
    listing = ", ".join(map(repr, holding or saved.column_names))
    raise InputError(f"{str(data)!r} needs --image to name its column of images, one of {listing}")
