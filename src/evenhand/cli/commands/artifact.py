"""``evenhand artifact``: a paper's table or figure from run folders or data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.arguments.pairs import parse_pairs
from evenhand.workflows.outputs.artifact import artifact, check_format, write_artifact


def make_artifact(
    name: str,
    runs: Sequence[Path],
    out: Path | None,
    *,
    data: Path | None = None,
    parameters: Sequence[str] = (),
    seed: int = 0,
) -> None:
    """Print the table, or write it in the format of the file's name.

    Args:
        name: The artifact.
        runs: Run folders; none for artifacts that describe data.
        out: ``.csv``, ``.parquet``, ``.html``, ``.svg``, ``.png`` or ``.json``; None: print.
        data: The benchmark's data, where the artifact needs it.
        parameters: ``key=value`` texts of ``-p``.
        seed: Of resampling.

    Raises:
        UserError: Something given cannot be used; the message says what can.
    """
    if out is not None:
        check_format(out)
    drawn = artifact(name, runs, data=data, parameters=parse_pairs("-p", parameters), seed=seed)
    if out is None:
        _print(drawn.title, drawn.table, drawn.notes)
    else:
        write_artifact(drawn, out)


def _print(title: str, table: Any, notes: Sequence[str]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=240)
    shown = Table(title=escape(title), box=None, title_justify="left")
    for column in table.columns:
        shown.add_column(escape(column), justify="right" if table[column].dtype.is_numeric() else "left")
    for row in table.iter_rows():
        shown.add_row(*("–" if cell is None else _cell(cell) for cell in row))
    console.print(shown)
    for note in notes:
        console.print(escape(note))


def _cell(cell: object) -> str:
    return f"{cell:z.3f}" if isinstance(cell, float) else escape(str(cell))
