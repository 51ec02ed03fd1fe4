"""What a run's findings rest on, as tables that its report can open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from evenhand.runs.run_folder import OUTCOMES, PER_SAMPLE, RunFolder
from evenhand.workflows.outputs.drilled_rows import rows_of

MOST_ROWS = 200_000
"""Rows of samples that are read for a report; it shows the first of each cell."""

_KINDS = ("predictions", "answers", "rankings", "scores")


def evidence_of(run: RunFolder) -> dict[str, pl.DataFrame]:
    """Cells of counts, rows that the benchmark's findings rest on, and the samples as they were answered.

    The tables are in the order in which a chapter chooses.
    """
    tables = {name: counts.table() for name, counts in run.counts.items() if not counts.paired}
    tables |= rows_of(run)
    annotations = run.annotations
    if annotations is None:
        return tables
    for name, table in sorted(run.tables.items()):  # of a benchmark that has no reader of its own
        if "sample" in table.columns and name not in (PER_SAMPLE, OUTCOMES):
            tables.setdefault(f"{name}/samples", _annotated(table.head(MOST_ROWS), annotations))
    if run.folder is None:
        return tables
    for kind in _KINDS:
        parts = sorted((run.folder / "evidence" / kind).glob("part-*.parquet"))
        rows = _read(parts)
        if rows is not None and "sample" in rows.columns:
            tables[f"{kind}/samples"] = _annotated(rows, annotations)
    return tables


def weighted_rows_of(run: RunFolder) -> dict[str, pl.DataFrame]:
    """How many rows the cells of its weighted counts have, by the names of ``evidence_of``."""
    plain = {name: counts.unclustered() for name, counts in run.counts.items() if not counts.paired}
    return {
        name: replace(counts, n=counts.moments[0], moments=None, memo={}).table()
        for name, counts in plain.items()
        if counts.moments is not None
    }


def _annotated(rows: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
    """Rows of samples with the attributes that they lack."""
    lacking = [column for column in annotations.columns if column not in rows.columns]
    return rows.join(annotations.select("sample", *lacking), on="sample", how="left", maintain_order="left")


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
