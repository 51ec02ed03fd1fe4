"""What a run's findings rest on, as tables that its report can open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from evenhand.workflows.outputs.drilled_rows import rows_of

if TYPE_CHECKING:
    from evenhand.runs.run_folder import RunFolder

MOST_ROWS = 200_000
"""Rows of samples that are read for a report; it shows the first of each cell."""

_KINDS = ("predictions", "answers", "rankings", "scores")


def evidence_of(run: RunFolder) -> dict[str, pl.DataFrame]:
    """Cells of counts, rows that the benchmark's findings rest on, and the samples as they were answered.

    Args:
        run: Counts are taken as they are; samples are read from its folder, joined with their attributes.

    Returns:
        Tables by name, in the order in which a chapter chooses; empty where the run kept nothing.
    """
    tables = {name: counts.table() for name, counts in run.counts.items() if not counts.paired}
    tables |= rows_of(run)
    annotations = run.annotations
    if run.folder is None or annotations is None:
        return tables
    for kind in _KINDS:
        parts = sorted((run.folder / "evidence" / kind).glob("part-*.parquet"))
        rows = _read(parts)
        if rows is not None and "sample" in rows.columns:
            known = [column for column in annotations.columns if column not in rows.columns]
            tables[f"{kind}/samples"] = rows.join(
                annotations.select("sample", *known), on="sample", how="left"
            )
    return tables


def _read(parts: list[Path]) -> pl.DataFrame | None:
    """The first rows, of several ranks the best; None where there is nothing that can be read."""
    if not parts:
        return None
    try:
        rows = pl.scan_parquet(parts)
        best = rows.filter(pl.col("rank") == 1) if "rank" in rows.collect_schema() else rows
        return best.head(MOST_ROWS).collect()
    except pl.exceptions.PolarsError:
        return None
