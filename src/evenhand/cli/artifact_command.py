"""``evenhand artifact``: a paper's table from run folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.runner.artifact_engine import artifact, write_table


def make_artifact(name: str, runs: Sequence[Path], out: Path | None) -> None:
    """Print the table, or write it as CSV or Parquet."""
    title, table = artifact(name, runs)
    if out is None:
        _print(title, table)
    else:
        write_table(table, out)


def _print(title: str, table: Any) -> None:
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
