"""All drawings and tables on one page that works offline, without a script."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

from evenhand.core.figure import Figure
from evenhand.core.unseen import visible
from evenhand.files.atomic import write_bytes
from evenhand.report.figures.draw import draw, specification, svg
from evenhand.report.figures.table import TableFigure, sheet
from evenhand.workflows.outputs.artifact import MadeArtifact

MOST_ROWS = 120
"""Rows of the table behind a drawing; the rest is left out of the page."""


@dataclass(frozen=True)
class Part:
    """One figure: a drawing as SVG, or a table as text.

    Attributes:
        title: Above it.
        notes: Under it.
        sheet: The table's cells.
        drawn: The drawing.
    """

    title: str
    notes: Sequence[str]
    sheet: TableFigure | None = None
    drawn: str = ""

    @property
    def picture(self) -> str:
        """The drawing as an address; apart from the page, so that names inside it stay its own."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.drawn.encode()).decode()}"


@dataclass(frozen=True)
class Shown:
    """An artifact on the page."""

    name: str
    title: str
    parts: Sequence[Part]
    notes: Sequence[str]
    whole: TableFigure | None
    rows: int
    most: int = field(default=MOST_ROWS)

    @property
    def anchor(self) -> str:
        """Its anchor."""
        return self.name.replace("/", "-")


def show(made: MadeArtifact) -> Shown:
    """Draw every figure of an artifact, and set its tables."""
    parts = [_part(figure, made) for figure in made.figures]
    pictures = [figure.value for figure in made.figures if figure.kind == "pictures"]
    drawn = any(part.drawn for part in parts)
    whole = sheet(Figure("table"), made.table.drop(pictures).head(MOST_ROWS)) if drawn else None
    notes = [visible(note) for note in made.notes]
    return Shown(made.name, visible(made.title), parts, notes, whole, made.table.height)


def _part(figure: Figure, made: MadeArtifact) -> Part:
    title = visible(figure.title)
    if figure.kind == "table":
        return Part(title, list(map(visible, figure.notes)), sheet=sheet(figure, made.table))
    drawing = draw(figure, made.table)
    return Part(title, drawing.notes, drawn=svg(specification(drawing.chart)))


def write_page(shown: Iterable[Shown], path: Path, runs: int) -> None:
    """Write the page, whole or not at all.

    Args:
        shown: In order.
        path: The file.
        runs: How many runs they are made from.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    text = environment.get_template("page.html.j2").render(shown=list(shown), runs=runs)
    write_bytes(path, text.encode("utf-8", "replace"))
