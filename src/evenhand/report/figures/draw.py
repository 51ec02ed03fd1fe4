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
from evenhand.display.marks import Spec
from evenhand.report.figures import style
from evenhand.report.figures.bars import draw_bars, draw_dots, draw_stacked
from evenhand.report.figures.cells import (
    MOST_DRAWN,
    draw_heatmap,
    draw_nested,
    draw_pictures,
    draw_table,
    texts,
)
from evenhand.report.figures.frame import prepare
from evenhand.report.figures.panels import layer
from evenhand.report.figures.points import draw_lines, draw_scatter
from evenhand.report.figures.spread import draw_spread
from evenhand.report.figures.table import sheet

if TYPE_CHECKING:
    import polars as pl

    from evenhand.core.figure import Figure

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
_DRAWERS = {
    "bars": draw_bars, "stacked": draw_stacked, "dots": draw_dots, "scatter": draw_scatter,
    "lines": draw_lines, "heatmap": draw_heatmap, "histogram": draw_spread, "density": draw_spread,
}  # fmt: skip
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
    notes = list(map(visible, figure.notes))
    if figure.kind == "table":
        text_table = sheet(figure, table)
        n, cut = len(text_table.cells), f"The first {MOST_DRAWN:,}"
        left = [f"{cut} of {n:,} rows; write all with -o FILE.csv."] if n > MOST_DRAWN else []
        return Drawing(draw_table(text_table), [*text_table.notes, *left, *notes])
    if figure.kind in ("nested", "pictures"):
        return Drawing((draw_nested if figure.kind == "nested" else draw_pictures)(figure, table), notes)
    prepared = prepare(figure, table)
    panels = {panel.position: _DRAWERS[figure.kind](prepared, panel) for panel in prepared.panels}
    if not prepared.rows:
        prepared.notes.insert(0, "Nothing to draw: no row has a value.")
    return Drawing(_grid(panels), prepared.notes)


def _grid(panels: dict[tuple[int, int], Spec]) -> Spec:
    """Panels in rows and columns whose axes stand exactly above and beside each other.

    One panel is a grid, too: a legend keeps clear of what is written above the panels of a grid only. A
    place without a panel stays empty.
    """
    if not panels:
        return {"vconcat": []}
    last, columns = max(panels), 1 + max(column for _, column in panels)
    size = {key: value for key, value in next(iter(panels.values())).items() if key != "layer"}
    blank = {**layer("point", [], {}), **size}
    places = [divmod(index, columns) for index in range(last[0] * columns + last[1] + 1)]
    grid = [panels.get(position, blank) for position in places]
    return {"concat": grid, "columns": columns, "spacing": {"row": 22, "column": 18}}


def compose(
    figures: Sequence[Figure], table: pl.DataFrame, title: str = "", notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Figures under each other with title and notes, as a Vega-Lite specification with its data.

    ``notes`` stand under the figures, after their own.
    """
    parts: list[Spec] = []
    for figure in figures:
        drawing = draw(figure, table)
        chart = drawing.chart
        if figure.title:
            chart = {"vconcat": [chart], "title": {"text": visible(figure.title), "fontSize": 12}}
        further = map(visible, notes) if figure is figures[-1] else ()
        parts += [chart, *_note_chart([*drawing.notes, *further])]
    own_scales = dict.fromkeys(("color", "shape", "xOffset", "yOffset"), "independent")
    spec: Spec = {"vconcat": parts, "spacing": 14, "resolve": {"scale": own_scales}}
    if title:
        heading = textwrap.wrap(visible(title), 95) or [""]
        spec["title"] = {"text": heading, "fontSize": 14, "offset": 12}
    return {"$schema": _SCHEMA, **specification(spec)}


def _note_chart(notes: Sequence[str]) -> list[Spec]:
    lines = [line for note in notes for line in textwrap.wrap(note, _NOTE_WIDTH, break_long_words=True)]
    if not lines:
        return []
    rows = [{"x": 0, "y": index * _NOTE_LINE, "text": line} for index, line in enumerate(lines)]
    text = texts(rows, baseline="top", fontSize=10.5, color=style.MUTED)
    return [{**text, "width": 20, "height": _NOTE_LINE * len(lines), "view": {"stroke": None}}]


def specification(chart: Spec) -> dict[str, Any]:
    """A drawing with our configuration and its rows under names, without the schema's address."""
    names: dict[str, str] = {}
    spec = {"config": style.config(), **_named_data(chart, names)}
    return {**spec, "datasets": {name: json.loads(text) for text, name in names.items()}}


def _named_data(spec: Spec, names: dict[str, str]) -> Spec:
    """The same with the rows of a layer under the name that their text has: several layers draw the same.

    What is empty, and what only the preparation needed, is left out.
    """
    for key in ("layer", "concat", "vconcat"):
        if key in spec:
            return {**spec, key: [_named_data(part, names) for part in spec[key]]}
    rows = [
        {
            key: value
            for key, value in row.items()
            if value is not None and key not in ("from", "facets", "lost")
        }
        for row in spec["data"]["values"]
    ]
    return {**spec, "data": {"name": names.setdefault(json.dumps(rows), f"rows {len(names) + 1}")}}


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
