"""Small copies of a run's own images, found through its annotations, for those who ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.papers.rows import Row
from evenhand.benchmarks.papers.skewsize.views import RAW, RunSlice
from evenhand.core.errors import InputError
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.sources import ImageFiles
from evenhand.files.images.thumbnails import thumbnail

_PLACES = ("image", "path", "sample")  # columns that may say where an image lies


def picture_rows(view: RunSlice, rows: Sequence[Row], of_each: int, data: Path | None) -> list[Row]:
    """Images behind the predictions of a figure, at most ``of_each`` each; rows of other runs are left out.

    A row an image: that of the prediction with ``sample`` and ``picture``, or ``reason`` where it cannot be
    read. Relative paths begin in ``data``, else where the command is typed.
    """
    table = _samples(view)
    pictures: list[Row] = []
    for row in rows:
        if row["model"] == view.model and row.get("prediction") is not None:
            pictures += _of_prediction(view, table, row, of_each, data)
    if not any(row.get("picture") for row in pictures):
        raise InputError(
            "skewsize/figure3: no image is where the run's annotations say; add --data FOLDER, where their "
            "paths begin, or leave out -p images=yes"
        )
    return pictures


def _samples(view: RunSlice) -> pl.DataFrame:
    """The run's samples with truth, attributes, what was predicted, and where the image lies."""
    annotations, predicted = view.run.annotations, _predicted(view)
    lacking = [name for name in ("truth", *view.by) if annotations is None or name not in annotations.columns]
    if annotations is None or predicted is None or lacking:
        raise InputError(
            "skewsize/figure3: the run keeps no samples beside its counts (an audit never does), so no image "
            "can be found; leave out -p images=yes"
        )
    where = next(name for name in _PLACES if name in annotations.columns)
    columns = [pl.col("sample", "truth", *view.by).cast(pl.String), pl.col(where).alias("place")]
    return annotations.select(columns).join(predicted, on="sample", how="inner")


def _predicted(view: RunSlice) -> pl.DataFrame | None:
    """Sample to prediction: of answers in words as they were counted, else as the model named a label."""
    answers = view.run.tables.get("answers")
    column = "raw" if view.answers == RAW else "prediction"
    if answers is not None and {"sample", column} <= set(answers.columns):
        return answers.select(pl.col("sample").cast(pl.String), prediction=pl.col(column).cast(pl.String))
    folder = view.run.folder / "evidence" / "predictions" if view.run.folder is not None else None
    parts = sorted(folder.glob("part-*.parquet")) if folder is not None else []
    if not parts:
        return None
    table = pl.concat([pl.read_parquet(part) for part in parts], how="diagonal_relaxed")
    if "rank" in table.columns:
        table = table.filter(pl.col("rank").is_null() | (pl.col("rank") == 1))
    return table.select(pl.col("sample", "prediction").cast(pl.String))


def _of_prediction(
    view: RunSlice, table: pl.DataFrame, row: Row, of_each: int, data: Path | None
) -> Iterator[Row]:
    group = pl.concat_str([pl.col(name) for name in view.by], separator=" · ")
    # a benchmark may write predictions in the spelling of its truths
    same = pl.col("prediction").str.to_lowercase() == str(row["prediction"]).lower()
    mine = table.filter((pl.col("truth") == row["class"]) & (group == row["group"]) & same)
    for sample, image_path in mine.sort("sample").select("sample", "place").head(of_each).iter_rows():
        heading = f"{row['class']}, {row['group']} ({view.model})"
        yield {
            **row,
            "part": "pictures",
            "sample": sample,
            "heading": heading,
            **_copy(str(image_path), data),
        }


def _copy(image_path: str, data: Path | None) -> Row:
    folder = data if data is None or data.is_dir() else data.parent
    path = Path(image_path) if folder is None else folder / image_path
    try:
        return {"picture": thumbnail(ImageFiles([path]).load(0), 96)}
    except UnreadableImage as problem:
        return {"reason": problem.reason}
