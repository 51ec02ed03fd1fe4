"""Figures from tidy tables, drawn and written as SVG, PNG or Vega-Lite JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import import_extra
from evenhand.core.unseen import visible
from evenhand.report.figures import style, vega
from evenhand.report.figures.bars import draw_bars, draw_dots, draw_stacked
from evenhand.report.figures.cells import draw_heatmap, draw_nested
from evenhand.report.figures.frame import prepare
from evenhand.report.figures.layout import Spec, grid, plain, under
from evenhand.report.figures.pictures import draw_pictures
from evenhand.report.figures.points import draw_lines, draw_scatter
from evenhand.report.figures.spread import draw_spread
from evenhand.report.figures.table import draw_table

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
    """One figure, drawn."""

    chart: Spec  # its specification, without title, notes and configuration
    notes: list[str]  # lines that belong under it: values without a place, what marks mean


def draw(figure: Figure, table: pl.DataFrame) -> Drawing:
    """Draw one figure; rows of the table whose ``source`` is ``paper`` are drawn distinctly."""
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
    return Drawing(grid(dict(zip((panel.position for panel in prepared.panels), charts, strict=True))), notes)


def compose(
    figures: Sequence[Figure], table: pl.DataFrame, title: str = "", notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Figures under each other with title and notes, as a Vega-Lite specification with its data.

    ``notes`` stand under the figures, after their own.
    """
    import altair

    parts: list[Spec] = []
    for figure in figures:
        drawing = draw(figure, table)
        chart = drawing.chart
        chart_notes = drawing.notes if figure is not figures[-1] else [*drawing.notes, *map(visible, notes)]
        if figure.title:
            chart = under([chart], title={"text": visible(figure.title), "fontSize": 12})
        parts += [chart, *_note_chart(chart_notes)]
    own_scales = dict.fromkeys(("color", "shape", "xOffset", "yOffset"), "independent")
    heading = textwrap.wrap(visible(title), 95) or [""]
    top = {"title": {"text": heading, "fontSize": 14, "offset": 12}} if title else {}
    spec = specification(under(parts, 14, resolve={"scale": own_scales}, **top))
    datasets = spec.pop("datasets")
    return {**spec, "$schema": altair.SCHEMA_URL, "datasets": datasets}


def _note_chart(notes: Sequence[str]) -> list[Spec]:
    lines = [line for note in notes for line in textwrap.wrap(note, _NOTE_WIDTH, break_long_words=True)]
    if not lines:
        return []
    rows = [{"line": line, "place": index * _NOTE_LINE} for index, line in enumerate(lines)]
    height = _NOTE_LINE * len(lines)
    scale = vega.options(domain=[height, 0], nice=False, zero=False)
    text = vega.Layer(style.inline(rows)).mark(
        "text", align="left", baseline="top", fontSize=10.5, color=style.MUTED
    )
    text = text.encode(
        x=vega.constant(0), y=vega.options(field="place", type="quantitative", scale=scale, axis=None),
        text=vega.options(field="line", type="nominal"),
    )  # fmt: skip
    return [{**plain(text), "width": 20, "height": height, "view": {"stroke": None}}]


def specification(chart: Spec) -> dict[str, Any]:
    """A drawing with our configuration and its rows under names, without the schema's address."""
    datasets: dict[str, list[dict[str, Any]]] = {}
    spec = _named_data(chart, datasets, {})
    return {"config": style.config(), **spec, "datasets": datasets}


def _named_data(node: Any, datasets: dict[str, list[dict[str, Any]]], names: dict[str, str]) -> Any:
    """The same with rows that several layers draw written once, under the name that their text has."""
    if isinstance(node, list):
        return [_named_data(item, datasets, names) for item in node]
    if not isinstance(node, dict):
        return node
    named_node = {}
    for key, value in node.items():
        if key == "data" and isinstance(value, dict) and "values" in value:
            name = names.setdefault(json.dumps(value["values"]), f"rows {len(names) + 1}")
            datasets[name] = value["values"]
            named_node[key] = {"name": name}
        else:
            named_node[key] = _named_data(value, datasets, names)
    return named_node


def spec_json(spec: dict[str, Any]) -> str:
    """A specification as text, alike for equal content."""
    return json.dumps(spec, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def drawing_engine() -> Any:
    """vl-convert, which turns specifications into images."""
    return import_extra("vl_convert", "figures")


def svg(spec: dict[str, Any]) -> str:
    """A specification drawn as SVG, alike for equal specifications."""
    text: str = drawing_engine().vegalite_to_svg(spec)
    # The drawing engine counts clips and gradients over its whole life; here each drawing begins at 1.
    names: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"{match[1]}{len(names) + 1}")

    return _TAG.sub(lambda tag: _COUNTED.sub(numbered, tag[0]), text)


def png(spec: dict[str, Any]) -> bytes:
    """A specification drawn as PNG, two pixels for each of the drawing's."""
    content: bytes = drawing_engine().vegalite_to_png(spec, scale=SCALE)
    return content
