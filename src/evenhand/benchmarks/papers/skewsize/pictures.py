"""Small copies of a run's own images, found through its annotations, for those who ask for them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evenhand.benchmarks.papers.rows import Row
from evenhand.benchmarks.papers.skewsize.views import RAW, RunSlice
from evenhand.core.errors import InputError
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.sources import ImageFiles
from evenhand.files.images.thumbnails import thumbnail

_PLACES = ("image", "path", "sample")  # columns that may say where an image lies


def pictures(view: RunSlice, predictions: pl.DataFrame, of_each: int, data: Path | None) -> list[Row]:
    """A row for each image behind predictions of the run, with a small copy, or why there is none.

    Relative paths begin in ``data``, else where the command is typed.
    """
    # a benchmark may write predictions in the spelling of its truths
    word = pl.col("prediction").str.to_lowercase().alias("word")
    samples = _samples(view).with_columns(word).drop("prediction").sort("sample")
    images = (
        predictions.drop_nulls("prediction")
        .with_columns(word, part=pl.lit("pictures"))
        .with_row_index()
        .join(samples, on=["class", "group", "word"], maintain_order="left_right")
        .filter(pl.int_range(pl.len()).over("index") < of_each)
    )
    rows = [
        {**row, "heading": f"{row['class']}, {row['group']} ({view.model})", **_copy(str(row["place"]), data)}
        for row in images.iter_rows(named=True)
    ]
    if not any(row.get("picture") for row in rows):
        raise InputError(
            "skewsize/figure3: no image is where the run's annotations say; add --data FOLDER, where their "
            "paths begin, or leave out -p images=yes"
        )
    return rows


def _samples(view: RunSlice) -> pl.DataFrame:
    """The run's samples with class, group, what was predicted, and where the image lies."""
    annotations, predicted = view.run.annotations, _predicted(view)
    if annotations is None or predicted is None or not {"truth", *view.by} <= set(annotations.columns):
        raise InputError(
            "skewsize/figure3: the run keeps no samples beside its counts (an audit never does), so no image "
            "can be found; leave out -p images=yes"
        )
    where = next(name for name in _PLACES if name in annotations.columns)
    columns = annotations.select(
        pl.col("sample").cast(pl.String),
        pl.col("truth").cast(pl.String).alias("class"),
        pl.col(where).alias("place"),
        group=pl.concat_str(view.by, separator=" · "),
    )
    return columns.join(predicted, on="sample")


def _predicted(view: RunSlice) -> pl.DataFrame | None:
    """Sample to prediction: of answers in words as they were counted, else as the model named a label."""
    table, column = view.run.tables.get("answers"), "raw" if view.answers == RAW else "prediction"
    if table is None or not {"sample", column} <= set(table.columns):
        folder, column = view.run.folder, "prediction"
        files = [] if folder is None else sorted((folder / "evidence" / "predictions").glob("part-*.parquet"))
        if not files:
            return None
        table = pl.concat(map(pl.read_parquet, files), how="diagonal_relaxed")
        if "rank" in table.columns:
            table = table.filter(pl.col("rank").is_null() | (pl.col("rank") == 1))
    return table.select("sample", prediction=column).cast(pl.String)


def _copy(image_path: str, data: Path | None) -> Row:
    """A small copy of an image, or why there is none."""
    folder = data if data is None or data.is_dir() else data.parent
    try:
        return {"picture": thumbnail(ImageFiles([(folder or Path()) / image_path]).load(0), 96)}
    except UnreadableImage as problem:
        return {"reason": problem.reason}
