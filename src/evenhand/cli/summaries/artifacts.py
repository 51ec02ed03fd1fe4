"""What the terminal shows of a table or figure of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def print_artifact(title: str, table: Any, notes: Sequence[str]) -> None:
    """The table with its title and notes."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=240)
    rich_table = Table(title=escape(title), box=None, title_justify="left")
    for column in table.columns:
        rich_table.add_column(escape(column), justify="right" if table[column].dtype.is_numeric() else "left")
    for row in table.iter_rows():
        rich_table.add_row(*("–" if cell is None else _cell(cell) for cell in row))
    console.print(rich_table)
    for note in notes:
        console.print(escape(note))


def _cell(cell: object) -> str:
    return f"{cell:z.3f}" if isinstance(cell, float) else escape(str(cell))
