"""What a run's findings rest on, as tables that its report can open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from evenhand.evidence.run_folder import Run
    from evenhand.report.content import DrawnTable

MOST_ROWS = 200_000
"""Rows of samples that are read for a report; it shows the first of each cell."""

_KINDS = ("predictions", "answers", "rankings", "scores")


def evidence_of(run: Run) -> dict[str, pl.DataFrame]:
    """Cells of counts and rows of samples of a run, cells first.

    Args:
        run: Counts are taken as they are; samples are read from its folder, joined with their attributes.

    Returns:
        Tables by name; empty where the run kept neither.
    """
    found = {name: counts.table() for name, counts in run.counts.items() if not counts.paired}
    annotations = run.annotations
    if run.folder is None or annotations is None:
        return found
    for kind in _KINDS:
        parts = sorted((run.folder / "evidence" / kind).glob("part-*.parquet"))
        rows = _read(parts)
        if rows is not None and "sample" in rows.columns:
            known = [column for column in annotations.columns if column not in rows.columns]
            found[f"{kind}/samples"] = rows.join(
                annotations.select("sample", *known), on="sample", how="left"
            )
    return found


def drawn_of(run: Run) -> list[DrawnTable]:
    """Tables that belong to artifacts, with the artifacts' titles and figures.

    Args:
        run: Its table ``skewsize-table1`` is the artifact ``skewsize/table1``.

    Returns:
        In the order of the catalogue.
    """
    from evenhand.benchmarks.catalogue import ARTIFACTS
    from evenhand.report.content import DrawnTable

    names = {name.replace("/", "-"): name for name in ARTIFACTS.names()}
    found = []
    for table, name in names.items():
        if table in run.tables:
            made = ARTIFACTS.get(name)
            found.append(DrawnTable(name, made.title, run.tables[table], made.figures))
    return found


def _read(parts: list[Path]) -> pl.DataFrame | None:
    """The first rows; None where there is nothing that can be read."""
    if not parts:
        return None
    try:
        return pl.scan_parquet(parts).head(MOST_ROWS).collect()
    except pl.exceptions.PolarsError:
        return None
