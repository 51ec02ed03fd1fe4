"""Figures from tidy tables, drawn with Altair and written as SVG, PNG or Vega-Lite JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.report import figures_style as style
from evenhand.report.figures_bars import draw_bars, draw_dots, draw_stacked
from evenhand.report.figures_cells import draw_heatmap, draw_nested
from evenhand.report.figures_frame import Prepared, prepare
from evenhand.report.figures_pictures import draw_pictures
from evenhand.report.figures_points import draw_lines, draw_scatter
from evenhand.report.figures_spread import draw_spread
from evenhand.report.figures_table import draw_table
from evenhand.report.formats import visible

if TYPE_CHECKING:
    import polars as pl

    from evenhand.core.figure import Figure

_DRAWERS = {
    "bars": draw_bars,
    "stacked": draw_stacked,
    "dots": draw_dots,
    "scatter": draw_scatter,
    "lines": draw_lines,
    "heatmap": draw_heatmap,
    "histogram": draw_spread,
    "density": draw_spread,
}
_NOTE_LINE = 15
_TAG = re.compile(r"<[^>]*>")
_COUNTED = re.compile(r"(?<=[\"#])(clip|gradient_)\d+(?=[\")])")
_NOTE_WIDTH = 110
SCALE = 2
"""Pixels of a PNG for each of the drawing's."""


@dataclass(frozen=True)
class Drawing:
    """One figure, drawn.

    Attributes:
        chart: An Altair chart without title and notes.
        notes: Lines that belong under it.
    """

    chart: Any
    notes: list[str]


def draw(figure: Figure, table: pl.DataFrame) -> Drawing:
    """Draw one figure.

    Args:
        figure: What is drawn how.
        table: Tidy columns; rows whose ``source`` is ``paper`` are drawn distinctly.

    Returns:
        The chart, and the notes that belong under it: values without a place, what marks mean.

    Raises:
        UserError: The table has not the columns, or they do not fit the kind.
    """
    if figure.kind == "table":
        chart, notes = draw_table(figure, table)
        return Drawing(chart, [*notes, *(visible(note) for note in figure.notes)])
    if figure.kind == "nested":
        return Drawing(draw_nested(figure, table), [visible(note) for note in figure.notes])
    if figure.kind == "pictures":
        return Drawing(draw_pictures(figure, table), [visible(note) for note in figure.notes])
    prepared = prepare(figure, table)
    drawer = _DRAWERS[figure.kind]
    charts = [drawer(prepared, panel) for panel in prepared.panels]
    notes = prepared.notes if prepared.rows else ["Nothing to draw: no row has a value.", *prepared.notes]
    return Drawing(_arranged(prepared, charts), notes)


def _arranged(prepared: Prepared, charts: Sequence[Any]) -> Any:
    """Panels beside and under each other; colours mean the same in all of them."""
    import altair as alt

    if len(charts) == 1:
        return charts[0]
    lines: dict[int, list[Any]] = {}
    for panel, chart in zip(prepared.panels, charts, strict=True):
        lines.setdefault(panel.place[0], []).append(chart)
    rows = [alt.hconcat(*line, spacing=18) for line in lines.values()]
    return rows[0] if len(rows) == 1 else alt.vconcat(*rows, spacing=22)


def compose(
    figures: Sequence[Figure], table: pl.DataFrame, title: str = "", notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Figures under each other with title and notes, as a Vega-Lite specification with its data.

    Args:
        figures: In order.
        table: What they show.
        title: Above them.
        notes: Under them, after their own.

    Raises:
        UserError: The table has not the columns, or they do not fit the kind.
    """
    import altair as alt

    parts: list[Any] = []
    for figure in figures:
        drawing = draw(figure, table)
        chart = drawing.chart
        own = drawing.notes if figure is not figures[-1] else [*drawing.notes, *map(visible, notes)]
        if figure.title:
            chart = alt.vconcat(chart, title=alt.TitleParams(text=visible(figure.title), fontSize=12))
        parts += [chart, *_note_chart(own)]
    own_scales: dict[str, Any] = dict.fromkeys(("color", "shape", "xOffset", "yOffset"), "independent")
    whole = alt.vconcat(*parts, spacing=14).resolve_scale(**own_scales)
    heading = textwrap.wrap(visible(title), 95) or [""]
    whole = whole.properties(title=alt.TitleParams(text=heading, fontSize=14, offset=12)) if title else whole
    return specification(whole)


def _note_chart(notes: Sequence[str]) -> list[Any]:
    import altair as alt

    lines = [line for note in notes for line in textwrap.wrap(note, _NOTE_WIDTH, break_long_words=True)]
    if not lines:
        return []
    rows = [{"line": line, "place": place * _NOTE_LINE} for place, line in enumerate(lines)]
    height = _NOTE_LINE * len(lines)
    scale = alt.Scale(domain=[height, 0], nice=False, zero=False)
    text = alt.Chart(style.inline(rows)).mark_text(
        align="left", baseline="top", fontSize=10.5, color=style.MUTED
    )
    text = text.encode(
        x=alt.value(0), y=alt.Y(field="place", type="quantitative", scale=scale, axis=None),
        text=alt.Text(field="line", type="nominal"),
    )  # fmt: skip
    return [text.properties(width=20, height=height, view=alt.ViewConfig(stroke=None))]


def specification(chart: Any) -> dict[str, Any]:
    """A chart as Vega-Lite, checked against its schema, with our configuration."""
    spec: dict[str, Any] = chart.to_dict()
    kept: dict[str, list[dict[str, Any]]] = {}
    _name_data(spec, kept, {})
    spec["datasets"] = kept
    spec["config"] = style.config()
    return spec


def _name_data(node: Any, kept: dict[str, list[dict[str, Any]]], names: dict[str, str]) -> None:
    """Rows that several layers draw are written once, under a name; ``names`` are those of their text."""
    if isinstance(node, list):
        for item in node:
            _name_data(item, kept, names)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key == "data" and isinstance(value, dict) and "values" in value:
            text = json.dumps(value["values"])
            name = names.setdefault(text, f"rows {len(names) + 1}")
            kept[name] = value["values"]
            node[key] = {"name": name}
        else:
            _name_data(value, kept, names)


def spec_json(spec: dict[str, Any]) -> str:
    """A specification as text, alike for equal content."""
    return json.dumps(spec, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def svg(spec: dict[str, Any]) -> str:
    """A specification drawn as SVG, alike for equal specifications."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(spec)
    # The drawing engine counts clips and gradients over its whole life; here each drawing begins at 1.
    names: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"{found[1]}{len(names) + 1}")

    return _TAG.sub(lambda tag: _COUNTED.sub(numbered, tag[0]), drawn)


def png(spec: dict[str, Any]) -> bytes:
    """A specification drawn as PNG, two pixels for each of the drawing's."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(spec, scale=SCALE)
    return drawn
