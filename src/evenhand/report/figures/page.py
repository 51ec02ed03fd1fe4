"""Figures as one HTML page that works offline: drawings, set tables, and the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from evenhand.core.figure import Figure
from evenhand.core.unseen import visible
from evenhand.display.text.language import _, filled
from evenhand.report import inline
from evenhand.report.figures import style
from evenhand.report.figures.draw import draw, specification
from evenhand.report.figures.frame import words
from evenhand.report.figures.table import TableFigure, sheet

if TYPE_CHECKING:
    import jinja2
    import polars as pl

    from evenhand.core.figure import Format

_MOST_ROWS = 1000


@dataclass(frozen=True)
class FigurePart:
    """One figure of a page: a drawing, or a set table."""

    title: str
    sheet: TableFigure | None  # the set table; None for a drawing
    notes: list[str]  # lines under it
    index: int | None  # of a drawing's specification in the page's list; None for a set table
    alternative: str = ""  # of a drawing: what it shows, in words


def figure_parts(
    figures: Sequence[Figure], table: pl.DataFrame, specs: list[dict[str, Any]], most: int | None = None
) -> list[FigurePart]:
    """Draw or set each figure; specifications of drawings are added to ``specs``.

    Their colours follow light and dark. ``most`` lines of a set table are shown; None: all.
    """
    parts: list[FigurePart] = []
    for figure in figures:
        if figure.kind == "table":
            text_table = sheet(figure, table, most)
            n_lines = len(text_table.cells) + text_table.left
            more = [_("The first {n} of {all} lines.", n=most, all=n_lines)] if text_table.left else []
            under = [*more, *map(filled, text_table.notes), *map(visible, map(filled, figure.notes))]
            parts.append(FigurePart(visible(filled(figure.title)), text_table, under, None))
        else:
            drawing = draw(figure, table)
            notes = list(map(filled, drawing.notes))
            title, alternative = visible(filled(figure.title)), _alternative(figure, notes)
            parts.append(FigurePart(title, None, notes, len(specs), alternative))
            specs.append(on_page(specification(drawing.chart)))
    return parts


def table_behind(figures: Sequence[Figure], table: pl.DataFrame, most: int = _MOST_ROWS) -> TableFigure:
    """The first rows of the numbers behind figures, without the columns that hold pictures."""
    rows = table.drop([figure.value for figure in figures if figure.kind == "pictures"]).head(most)
    return sheet(Figure("table", formats=_formats(figures)), rows)


def figures_html(
    figures: Sequence[Figure], table: pl.DataFrame, title: str, notes: Sequence[str] = (), name: str = ""
) -> str:
    """Figures and the table behind them as one self-contained page.

    It makes no network request: scripts, styles and data are inside it, and its content security policy
    allows nothing else.
    """
    specs: list[dict[str, Any]] = []
    parts = figure_parts(figures, table, specs)
    # A page whose only part is the whole table does not need it twice.
    table_figure = table_behind(figures, table) if specs else None
    scripts = [inline.chart_library(), inline.own_script("artifact.js")] if specs else []
    text = (
        _environment()
        .get_template("artifact.html.j2")
        .render(
            name=name,
            title=visible(title),
            parts=parts,
            notes=[visible(note) for note in notes],
            whole=table_figure,
            left=max(table.height - _MOST_ROWS, 0),
            data=inline.script_json(specs),
            style=inline.template_text("schemes.css", "artifact.css"),
            scripts=scripts,
            hashes=[inline.script_hash(script) for script in scripts],
        )
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def _formats(figures: Sequence[Figure]) -> dict[str, Format]:
    """How columns are written; the ends of intervals as the values they belong to."""
    formats: dict[str, Format] = {}
    for figure in figures:
        formats |= figure.formats
        how = next(
            (figure.formats[name] for name in (figure.y, figure.x, figure.value) if name in figure.formats),
            None,
        )
        ends = (figure.low, figure.high, figure.null_low, figure.null_high)
        if how is not None:
            formats |= {end: how for end in ends if end and end not in formats}
    return formats


_SHAPES = {
    "bars": "Bars", "stacked": "Bars on each other", "dots": "Points", "scatter": "Points", "lines": "Lines",
    "heatmap": "A grid of shaded cells", "nested": "Boxes inside each other", "histogram": "A histogram",
    "density": "Curves of density", "pictures": "Pictures",
}  # fmt: skip


def _alternative(figure: Figure, notes: Sequence[str]) -> str:
    """What a drawing shows, for those who do not see it: its kind, axes, colours, panels and notes."""
    axes = [f"{role}: {name}" for role in ("x", "y") if (name := words(figure, getattr(figure, role)))]
    apart = words(figure, figure.colour)
    panels = [words(figure, name) for name in (figure.facet, figure.row, figure.column) if name]
    columns = f" {_('and')} ".join(filter(None, panels))
    phrases = [
        _(_SHAPES[figure.kind]), *axes, *([f"{_('colours')}: {apart}"] if apart else []),
        *([_("a panel for each {columns}", columns=columns)] if columns else []),
    ]  # fmt: skip
    return " ".join([f"{'; '.join(phrases)}.", *notes[:2]])


def on_page(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification for a page: without the schema's address, in colours that the page's style gives."""
    without_schema = {key: value for key, value in spec.items() if key != "$schema"}
    page_spec: dict[str, Any] = style.following(without_schema)
    page_spec["config"]["background"] = None
    return page_spec


@cache
def _environment() -> jinja2.Environment:
    return inline.page_environment()
