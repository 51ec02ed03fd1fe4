"""Heatmaps, and rectangles inside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.display.text.formatting import shorten
from evenhand.report.figures import axes, style, vega
from evenhand.report.figures.frame import FigureData, Panel, chosen, words
from evenhand.report.figures.layout import layered

if TYPE_CHECKING:
    import polars as pl

    from evenhand.core.figure import Figure

_CELL_HEIGHT = 24.0
_LEAF_HEIGHT = 21.0
_WIDEST_TEXT = 250.0


def draw_heatmap(prepared: FigureData, panel: Panel) -> Any:
    """Rectangles coloured by value with the value in them; what has no value stays empty with a dash."""
    figure = prepared.figure
    across, down = prepared.order_in("x", panel), prepared.order_in("y", panel)
    step = max(46.0, min(90.0, 760.0 / max(len(across), 1)))
    low, high = axes.shade_ends(prepared)
    how = figure.formats.get(figure.value, "number")
    for row in panel.rows:
        row["text"] = style.written(row["value"], how)
        share = (row["value"] - low) / (high - low)
        row["dark"] = abs(share - 0.5) > 0.33 if figure.centre is not None else share > 0.62
    filled = {(row["x"], row["y"]) for row in panel.rows}
    empty = [{"x": x, "y": y, "text": "–"} for y in down for x in across if (x, y) not in filled]
    hints = axes.tooltip(prepared, panel.rows)
    colour = axes.shade(prepared, low, high)
    places = {
        "x": axes.name_axis(prepared, panel, "x", step),
        "y": axes.name_axis(prepared, panel, "y", _CELL_HEIGHT),
    }
    for channel in places.values():
        channel["scale"] = vega.options(domain=channel["scale"]["domain"], padding=0)
    base = vega.Layer(axes.data(panel.rows)).encode(**places)
    rectangles = base.mark("rect", stroke=style.PAPER, strokeWidth=1.5).encode(color=colour, tooltip=hints)
    ink = vega.constant(style.ON_LIGHT, condition={"test": "datum.dark", "value": style.ON_DARK})
    text = base.mark("text", fontSize=10.5).encode(
        text=vega.options(field="text", type="nominal"), color=ink, tooltip=hints
    )
    dashes = vega.Layer(axes.data(empty)).encode(**places).mark("text", color=style.MUTED)
    layers = [rectangles, text, dashes.encode(text=vega.options(field="text", type="nominal"))]
    size = {"width": max(step * len(across), 60), "height": max(_CELL_HEIGHT * len(down), 30)}
    return layered([*layers, *axes.panel_heading(prepared, panel)], **size)


def draw_nested(figure: Figure, table: pl.DataFrame) -> Any:
    """Levels from left to right, each value as high as what is inside it."""
    table = chosen(figure, table)
    rows = list(table.iter_rows(named=True))
    leads = list(dict.fromkeys(_text(row[figure.levels[0]]) for row in rows))
    rows.sort(key=lambda row: leads.index(_text(row[figure.levels[0]])))
    how = figure.formats.get(figure.value, "count")
    boxes, left = [], 0.0
    tints = dict(zip(leads, style.colours(len(leads)), strict=True))
    for depth, level in enumerate(figure.levels):
        spans = _spans(rows, figure.levels[: depth + 1])
        last = depth == len(figure.levels) - 1
        texts = [_boxed(figure, rows[a:b], level, how, total=not last) for a, b in spans]
        width = max(style.label_width([*texts, words(figure, level)], _WIDEST_TEXT) + 18, 60)
        boxes += [
            {
                "left": left, "right": left + width, "top": a * _LEAF_HEIGHT, "bottom": b * _LEAF_HEIGHT,
                "text": text, "tint": tints[_text(rows[a][figure.levels[0]])], "strength": 0.3 / (depth + 1),
                "middle": (a + b) / 2 * _LEAF_HEIGHT, "inset": left + 8,
            }
            for (a, b), text in zip(spans, texts, strict=True)
        ]  # fmt: skip
        boxes.append({"inset": left + 8, "heading": words(figure, level)})
        left += width
    return _boxes(boxes, left, max(len(rows), 1) * _LEAF_HEIGHT)


def _boxes(boxes: Sequence[Mapping[str, Any]], width: float, height: float) -> Any:
    """Boxes with their texts, in pixels from the upper left corner."""
    across, down = [0.0, width], [height, 0.0]
    filled = vega.Layer(style.inline([box for box in boxes if "heading" not in box]))
    headings = vega.Layer(style.inline([box for box in boxes if "heading" in box]))
    x, y = vega.pixels("left", across), vega.pixels("top", down)
    rectangle = filled.mark("rect", stroke=style.PAPER, strokeWidth=1.5).encode(
        x=x, x2=vega.options(field="right"), y=y, y2=vega.options(field="bottom"),
        color=vega.options(field="tint", type="nominal", scale=None),
        fillOpacity=vega.options(field="strength", type="quantitative", scale=None),
    )  # fmt: skip
    inset = vega.pixels("inset", across)
    text = filled.mark(
        "text", align="left", baseline="middle", fontSize=11, color=style.INK, limit=_WIDEST_TEXT
    )
    text = text.encode(
        x=inset, y=vega.pixels("middle", down), text=vega.options(field="text", type="nominal")
    )
    head = headings.mark("text", align="left", baseline="bottom", fontSize=11, color=style.MUTED)
    head = head.encode(x=inset, y=vega.constant(-6), text=vega.options(field="heading", type="nominal"))
    return layered([rectangle, text, head], width=width, height=height)


def _spans(rows: Sequence[Mapping[str, Any]], levels: Sequence[str]) -> list[tuple[int, int]]:
    """Runs of rows that agree in all of the levels."""
    edges = [0] + [
        index
        for index in range(1, len(rows))
        if any(rows[index][level] != rows[index - 1][level] for level in levels)
    ]
    return list(zip(edges, [*edges[1:], len(rows)], strict=True)) if rows else []


def _boxed(figure: Figure, rows: Sequence[Mapping[str, Any]], level: str, how: Any, *, total: bool) -> str:
    text = shorten(_text(rows[0][level]), 34)
    if not figure.value:
        return text
    values = [row[figure.value] for row in rows]
    if any(value is None for value in values):
        return f"{text} –"
    return f"{text} {style.written(sum(values) if total or len(values) > 1 else values[0], how)}"


def _text(value: object) -> str:
    return "(none)" if value is None else str(value)
