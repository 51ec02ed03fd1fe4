"""``evenhand artifact``: a paper's table from run folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.benchmarks.declaration import Artifact
from evenhand.core.errors import InputError
from evenhand.evidence.run_folder import Run
from evenhand.files.atomic import atomic_path


def make_artifact(name: str, runs: Sequence[Path], out: Path | None) -> None:
    """Print the table, or write it as CSV or Parquet."""
    artifact: Artifact = ARTIFACTS.get(name)
    table = artifact.make([Run.read(folder) for folder in runs])
    if out is None:
        _print(artifact.title, table)
        return
    writers: dict[str, Callable[[Path], object]] = {".csv": table.write_csv, ".parquet": table.write_parquet}
    if out.suffix not in writers:
        raise InputError(f"-o {str(out)!r} has an unknown format; possible: {', '.join(writers)}")
    with atomic_path(out) as temporary:
        writers[out.suffix](temporary)


def _print(title: str, table: pl.DataFrame) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=240)
    shown = Table(title=title, box=None, title_justify="left")
    for column in table.columns:
        shown.add_column(column, justify="right" if table[column].dtype.is_numeric() else "left")
    for row in table.iter_rows():
        shown.add_row(*("–" if cell is None else _cell(cell) for cell in row))
    console.print(shown)


def _cell(cell: object) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else escape(str(cell))
