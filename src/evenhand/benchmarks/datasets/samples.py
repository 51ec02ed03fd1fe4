"""What readers of data hand over, and what they are made of: files by their paths, tables, rules for rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.listing import list_files
from evenhand.core.errors import InputError, check_known
from evenhand.core.requests import ImageSource
from evenhand.files.images.sources import ImageFiles


@dataclass(frozen=True, eq=False)
class Samples:
    """What a benchmark asks about, and what became of the rest of its data.

    Attributes:
        table: One row a sample: ``sample`` (unique text), attributes, perhaps ``truth``, and the columns that
            its way of asking names.
        images: Those that the table is about.
        dropped: Rows of the data that became no sample, by reason.
        notes: What else happened to rows, with how many.
        about: What the samples are, for the manifest: ``layout``, ``annotated_by``.
        by: Groupings, where the data says which; else those of the benchmark.
    """

    table: pl.DataFrame
    images: ImageSource
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    by: Sequence[tuple[str, ...]] = ()


def files(data: Path | None, pattern: str, layout: str, needed: str) -> tuple[pl.DataFrame, ImageFiles, int]:
    """Images by what the named groups of a regular expression find in their paths, and how many are others.

    Args:
        data: The user's folder.
        pattern: Of the path below it, with named groups: ``(?<scene>[^/]+)/(?<who>[^/]+)[.]png$``.
        layout: What lies there, for who gave another folder.
        needed: What to type, for who gave none.

    Returns:
        A column for each group and ``image``, the position in the images, sorted; of several images that are
        the same in every group the first. The images. How many others the folder has.

    Raises:
        InputError: No folder, or no such image in it.
    """
    if data is None:
        raise InputError(needed)
    listing = list_files(data)
    groups = pl.col("path").str.extract_groups(pattern)
    rows = pl.DataFrame({"path": listing.images}, schema={"path": pl.String})
    rows = rows.select(groups.alias("groups"), "path").unnest("groups").drop_nulls()
    names = rows.columns[:-1]
    rows = rows.unique(names, keep="first", maintain_order=True).sort(names)
    if rows.is_empty():
        raise InputError(f"{str(data)!r} holds no {layout}")
    images = ImageFiles([listing.folder / path for path in rows["path"].to_list()])
    table = rows.drop("path").with_columns(image=pl.int_range(pl.len()))
    return table, images, len(listing.images) - len(table)


def table(file: str | Path, columns: Sequence[str], absent: str) -> pl.DataFrame:
    """Complete rows of some columns of a CSV, as text; ``absent`` says what to do where there is none.

    Raises:
        InputError: There is no such file.
        UnknownName: It lacks a column.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise InputError(absent)
    rows = pl.read_csv(path, infer_schema=False)
    check_known(f"column of {path.name}", columns, rows.columns)
    return rows.select(columns).drop_nulls()


def filtered(
    rows: pl.DataFrame, rules: Mapping[str, pl.Expr], before: Mapping[str, int] | None = None
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows that meet every rule, one rule after the other, and how many did not, by reason.

    A rule that is null is not met; ``before`` counts what was left out earlier.
    """
    dropped = dict(before or {})
    for reason, rule in rules.items():
        remaining = rows.filter(rule.fill_null(False))
        if remaining.height < rows.height:
            dropped[reason] = rows.height - remaining.height
        rows = remaining
    return rows, dropped
