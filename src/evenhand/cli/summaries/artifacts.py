"""What the terminal shows of a table or figure of a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.text import console_of

if TYPE_CHECKING:
    from evenhand.workflows.outputs.artifact import MadeArtifact

_MOST = 10  # columns that can be read beside each other


def print_artifact(artifact: MadeArtifact) -> None:
    """Its tables under their headings, and its notes; of a wide table the first columns."""
    console = console_of(240)
    console.print(escape(artifact.title), style="italic")
    for title, sheet in artifact.sheets():
        rich_table = Table(title=escape(title) or None, box=None, title_justify="left")
        for heading, right in list(zip(sheet.headings, sheet.right, strict=True))[:_MOST]:
            rich_table.add_column(escape(heading), justify="right" if right else "left")
        for row, of_paper in zip(sheet.cells, sheet.paper, strict=True):
            rich_table.add_row(*map(escape, row[:_MOST]), style="italic" if of_paper else None)
        console.print(rich_table)
        if len(sheet.headings) > _MOST:
            more = ", ".join(sheet.headings[_MOST:])
            console.print(escape(f"{len(sheet.headings) - _MOST} columns more with -o FILE.html: {more}"))
        for note in sheet.notes:
            console.print(escape(note))
    for note in artifact.notes:
        console.print(escape(note))
