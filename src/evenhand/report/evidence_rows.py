"""What the parts of a chapter rest on: cells of counts, or rows of samples, found by a part's key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.report.chapters import Chapter
from evenhand.report.formats import key_text, visible
from evenhand.report.frames import PageData

if TYPE_CHECKING:
    import polars

    from evenhand.report.content import RunContent

MOST_ROWS = 24_000
"""Rows of evidence on a page, over all chapters: what a browser reads in a moment."""

_A_CHAPTER = 6_000
MOST_PICTURES = 300
"""Thumbnails on a page: some three kilobytes each."""

_PICTURES_OF_A_CELL = 4
_OF_A_CELL = 20  # samples kept of each combination of truth and group
_GROUP = "group"


def add_evidence(data: PageData, chapter: Chapter, content: RunContent, budget: int) -> list[dict[str, Any]]:
    """Keep a chapter's evidence as frames: cells of counts; samples where there are none, or with pictures.

    Args:
        data: Where to keep it.
        chapter: Its grouping says which columns make the groups.
        content: The run; its ``evidence`` by name, and how few rows are hidden.
        budget: The most rows to keep.

    Returns:
        For each frame its name, its columns, what it holds (``cells`` or ``samples``), how many rows were
        kept and left out, and for each kind of part the column that holds its key. Empty where nothing fits.
    """
    fitting = [
        table for table in content.evidence.values() if chapter.by and set(chapter.by) <= set(table.columns)
    ]
    cells = [table for table in fitting if {"truth", "prediction", "n"} <= set(table.columns)][:1]
    kept = [_kept(data, chapter, _cells(one, chapter.by, content.fewest), budget, "cells") for one in cells]
    samples = [table for table in fitting if "sample" in table.columns][:1]
    if samples and (content.pictures is not None or not cells):
        rows = _samples(samples[0], chapter)
        if content.pictures is not None:
            rows = _with_pictures(rows, data, content.pictures)
        kept.append(_kept(data, chapter, rows, budget, "samples"))
    return [one for one in kept if one]


def _cells(table: polars.DataFrame, by: Sequence[str], fewest: int) -> polars.DataFrame:
    """Cells of truth, group and prediction, each with its share of the rows of this truth and group."""
    import polars

    summed = _grouped(table, by).drop_nulls([_GROUP, "truth"]).group_by("truth", _GROUP, "prediction")
    cells = summed.agg(polars.col("n").sum().cast(polars.Float64))
    total = polars.col("n").sum().over("truth", _GROUP)
    hidden = polars.col("n") < fewest
    # One share beside its count gives the total, and so the one cell that is hidden.
    told = ~hidden.any().over("truth", _GROUP)
    cells = cells.with_columns(share=polars.when(told).then(polars.col("n") / total))
    return cells.with_columns(n=polars.when(hidden).then(float(-fewest)).otherwise(polars.col("n")))


def _samples(table: polars.DataFrame, chapter: Chapter) -> polars.DataFrame:
    """The first samples of each group and of what else the chapter's parts are about, mistakes ahead."""
    import polars

    kinds = {kind for finding in chapter.findings for part in finding.parts for kind in part.kind.split("*")}
    about = [column for column in table.columns if column in {*kinds, "truth"} and column not in chapter.by]
    rows = _grouped(table, chapter.by).drop_nulls(_GROUP)
    if {"truth", "prediction"} <= set(rows.columns):
        rows = rows.sort(
            polars.col("truth") == polars.col("prediction").cast(polars.String), maintain_order=True
        )
    return rows.group_by(_GROUP, *about, maintain_order=True).head(_OF_A_CELL)


def _with_pictures(
    rows: polars.DataFrame, data: PageData, pictures: Callable[[Sequence[str]], Mapping[str, str]]
) -> polars.DataFrame:
    """The first of each truth and group, with their thumbnails."""
    import polars

    told = [column for column in ("truth", _GROUP) if column in rows.columns]
    shown = rows.group_by(*told, maintain_order=True).head(_PICTURES_OF_A_CELL)
    taken = sum(one["rows"] for kept in data.evidence.values() for one in kept if one["of"] == "samples")
    shown = shown.head(max(MOST_PICTURES - taken, 0))
    found = pictures(shown["sample"].to_list())
    addresses = [found.get(sample) for sample in shown["sample"]]
    pictured = shown.with_columns(picture=polars.Series(addresses, dtype=polars.String))
    return pictured.select("sample", "picture", polars.exclude("sample", "picture"))


def _grouped(table: polars.DataFrame, by: Sequence[str]) -> polars.DataFrame:
    """With the group as the keys of parts say it."""
    import polars

    parts = [polars.col(column).cast(polars.String) for column in by]
    named = table.with_columns(polars.concat_str(parts, separator=key_text(["", ""])).alias(_GROUP))
    return named.with_columns(polars.col("truth").cast(polars.String)) if "truth" in named.columns else named


def _in_order(rows: polars.DataFrame, chapter: Chapter) -> polars.DataFrame:
    """Classes as the chapter ranks them, the most frequent answers first."""
    import polars

    ranked = [key_text(part.key) for part in chapter.ranked]
    places = {name: place for place, name in enumerate(ranked)}
    first = polars.col("truth").replace_strict(places, default=len(places), return_dtype=polars.Int64)
    if "truth" not in rows.columns:
        return rows.sort(_GROUP, maintain_order=True)
    ahead = ["__place", "truth", _GROUP]
    order = rows.with_columns(__place=first)
    if {"n", "prediction"} <= set(rows.columns):
        downward = [False, False, False, True, False]
        return order.sort(*ahead, "n", "prediction", descending=downward).drop("__place")
    return order.sort(*ahead, maintain_order=True).drop("__place")


def _kept(data: PageData, chapter: Chapter, rows: polars.DataFrame, budget: int, of: str) -> dict[str, Any]:
    rows = _in_order(rows, chapter)
    kept = rows.head(max(min(budget, _A_CHAPTER), 0))
    if not kept.height:
        return {}
    name = f"{chapter.id}-{of}"
    numeric = [column for column, dtype in kept.schema.items() if dtype.is_numeric()]
    texts = {
        column: [None if cell is None else str(cell) for cell in kept[column]]
        for column in kept.columns
        if column not in numeric
    }
    data.add_frame(name, {column: kept[column].to_list() for column in numeric}, texts)
    kinds = {"n": "count", "rank": "count", "picture": "picture"}
    columns = [
        {
            "key": column,
            "title": visible(column.replace("_", " ")),
            "kind": kinds.get(column, "number" if column in numeric else "label"),
        }
        for column in kept.columns
    ]
    return {
        "frame": name,
        "columns": columns,
        "keys": {**{column: column for column in texts}, "class": "truth", "group": _GROUP},
        "of": of,
        "rows": kept.height,
        "left": rows.height - kept.height,
    }
