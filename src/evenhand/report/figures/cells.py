"""Heatmaps, and what stands at places in pixels: rectangles inside each other, pictures, tables, lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from evenhand.core.unseen import visible
from evenhand.display.marks import Spec, number
from evenhand.display.text.formatting import shorten
from evenhand.report.figures import style
from evenhand.report.figures.frame import FigureData, Panel, Row, chosen, words
from evenhand.report.figures.panels import Plot, layer, pixels, shade_ends
from evenhand.report.figures.table import TableFigure

if TYPE_CHECKING:
    import polars as pl

    from evenhand.core.figure import Figure

_CELL_HEIGHT = 24.0
_LEAF_HEIGHT = 21.0
_WIDEST_TEXT = 250.0
_PICTURE, _GAP, _HEADING, _WIDEST_NAME = 96.0, 6.0, 24.0, 160.0
_ROW_HEIGHT, _COLUMN_GAP, _LINE, _WIDEST_CELL, _WIDEST_HEADING = 21.0, 22.0, 14.0, 300.0, 13
MOST_DRAWN = 1500
"""Rows of a table that are drawn."""


def draw_heatmap(prepared: FigureData, panel: Panel) -> Spec:
    """Rectangles coloured by value with the value in them; what has no value stays empty with a dash."""
    across, down = prepared.order_in("x", panel), prepared.order_in("y", panel)
    width = max(max(46.0, min(90.0, 760.0 / max(len(across), 1))) * len(across), 60)
    plot = Plot(prepared, panel, width, max(_CELL_HEIGHT * len(down), 30))
    low, high = shade_ends(prepared)
    for row in panel.rows:
        share = (row["value"] - low) / (high - low)
        row["dark"] = share > 0.62 if plot.figure.centre is None else abs(share - 0.5) > 0.33
    cells = {(row["x"], row["y"]) for row in panel.rows}
    empty = [{"x": x, "y": y, "value_text": "–"} for y in down for x in across if (x, y) not in cells]
    for role in ("x", "y"):
        plot.places[role]["scale"] = {"domain": prepared.order_in(role, panel), "padding": 0}
    ink = {"value": style.ON_LIGHT, "condition": {"test": "datum.dark", "value": style.ON_DARK}}
    text = {"text": {"field": "value_text"}}
    return plot.finished([
        plot.mark("rect", panel.rows, plot.shade() | plot.hint(), stroke=style.PAPER, strokeWidth=1.5),
        plot.mark("text", panel.rows, {**text, "color": ink, **plot.hint()}, fontSize=10.5),
        plot.mark("text", empty, text, color=style.MUTED),
    ])  # fmt: skip


def texts(rows: Sequence[Row], **mark: Any) -> Spec:
    """The text of each row at its pixels from the upper left corner, read out as it is."""
    look = {"align": "left", "baseline": "middle", "fontSize": 11, "color": style.INK, **mark}
    words_of = {"field": "text"}
    return layer("text", rows, {**pixels(), "text": words_of, "description": words_of}, **look)


def draw_nested(figure: Figure, table: pl.DataFrame) -> Spec:
    """Levels from left to right, each value as high as what is inside it."""
    table = chosen(figure, table)
    rows = [
        {**row, **{name: _text(row[name]) for name in figure.levels}} for row in table.iter_rows(named=True)
    ]
    leads = list(dict.fromkeys(row[figure.levels[0]] for row in rows))
    rows.sort(key=lambda row: leads.index(row[figure.levels[0]]))
    tints = dict(zip(leads, style.colours(len(leads)), strict=True))
    boxes, labels, headings, left = [], [], [], 0.0
    for depth, level in enumerate(figure.levels, 1):
        groups = [list(group) for _, group in groupby(rows, itemgetter(*figure.levels[:depth]))]
        titles = [_boxed(figure, group, level) for group in groups]
        width = max(style.label_width([*titles, words(figure, level)], _WIDEST_TEXT) + 18, 60)
        headings.append({"x": left + 8, "y": -6, "text": words(figure, level)})
        top = 0.0
        for group, title in zip(groups, titles, strict=True):
            bottom = top + len(group) * _LEAF_HEIGHT
            labels.append({"x": left + 8, "y": (top + bottom) / 2, "text": title})
            boxes.append({
                "left": left, "right": left + width, "top": top, "bottom": bottom,
                "tint": tints[group[0][figure.levels[0]]], "strength": 0.3 / depth,
            })  # fmt: skip
            top = bottom
        left += width
    corners = {
        **pixels("left", "top"), "x2": {"field": "right"}, "y2": {"field": "bottom"},
        "color": {"field": "tint", "scale": None}, "fillOpacity": number("strength", scale=None),
    }  # fmt: skip
    layers = [
        layer("rect", boxes, corners, stroke=style.PAPER, strokeWidth=1.5),
        texts(labels, limit=_WIDEST_TEXT),
        texts(headings, baseline="bottom", color=style.MUTED),
    ]
    return {"layer": layers, "width": left, "height": max(len(rows), 1) * _LEAF_HEIGHT}


def _boxed(figure: Figure, rows: Sequence[Row], level: str) -> str:
    text = shorten(rows[0][level], 34)
    if not figure.value:
        return text
    values = [row[figure.value] for row in rows]
    if None in values:
        return f"{text} –"
    total = values[0] if len(values) == 1 and level == figure.levels[-1] else sum(values)
    return f"{text} {style.written(total, figure.formats.get(figure.value, 'count'))}"


def _text(value: object) -> str:
    return "(none)" if value is None else str(value)


def draw_pictures(figure: Figure, table: pl.DataFrame) -> Spec:
    """A row of small pictures for each name on ``y``, under a heading for each ``facet``.

    ``value`` is the column of pictures, as ``data:`` addresses; nothing is fetched, and rows without a
    picture are left out.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in chosen(figure, table).iter_rows(named=True):
        if str(row[figure.value]).startswith("data:image/"):
            values = (row[column] if column else None for column in (figure.facet, figure.y))
            key = tuple("" if value is None else visible(str(value)) for value in values)
            groups.setdefault(key, []).append(row[figure.value])
    names = [name for _, name in groups]
    left = min(style.label_width(names, _WIDEST_NAME) + 14, _WIDEST_NAME)
    pictures, headings, labels = [], [], []
    top, last = 0.0, ""
    for (facet, name), urls in groups.items():
        if facet and facet != last:
            headings.append({"x": 0, "y": top + _HEADING / 2, "text": facet})
            top, last = top + _HEADING, facet
        middle = top + _PICTURE / 2
        labels.append({"x": 0, "y": middle, "text": shorten(name, 26)})
        places = [left + index * (_PICTURE + _GAP) + _PICTURE / 2 for index in range(len(urls))]
        pictures += [{"x": x, "y": middle, "url": url} for x, url in zip(places, urls, strict=True)]
        top += _PICTURE + _GAP
    at = {**pixels(), "url": {"field": "url"}}
    layers = [
        layer("image", pictures, at, width=_PICTURE, height=_PICTURE, aspect=True),
        texts(headings, fontWeight="bold"), texts(labels),
    ]  # fmt: skip
    width = left + max(map(len, groups.values()), default=1) * (_PICTURE + _GAP)
    return {"layer": layers, "width": width, "height": max(top, _PICTURE)}


def draw_table(text_table: TableFigure) -> Spec:
    """A table as a drawing, its first rows if there are very many."""
    headings = [_broken(heading) for heading in text_table.headings]
    n_lines, n_rows = max(map(len, headings), default=1), min(len(text_table.cells), MOST_DRAWN)
    top = n_lines * _LINE + 10
    height = top + _ROW_HEIGHT * n_rows + 4
    marks: dict[str, Spec] = {
        "heading": {"fontWeight": "bold"}, "ours": {}, "paper": {"fontStyle": "italic", "color": style.MUTED}
    }  # fmt: skip
    looks: dict[tuple[str, bool], list[dict[str, Any]]] = {
        (kind, right): [] for kind in marks for right in (False, True)
    }
    left = 0.0
    for column, (lines, right) in enumerate(zip(headings, text_table.right, strict=True)):
        cells = [shorten(row[column], 44) for row in text_table.cells[:n_rows]]
        width = max(style.label_width([*lines, *cells], _WIDEST_CELL), 24.0)
        x = left + width if right else left
        first = top - 10 - _LINE * (len(lines) - 1)
        looks["heading", right] += [
            {"x": x, "y": first + _LINE * index, "text": line} for index, line in enumerate(lines)
        ]
        for index, (text, slanted) in enumerate(zip(cells, text_table.paper, strict=False)):
            look = looks["paper" if slanted else "ours", right]
            look.append({"x": x, "y": top + _ROW_HEIGHT * index + 14, "text": text})
        left += width + _COLUMN_GAP
    width = max(left - _COLUMN_GAP, 60.0)
    rules = [{"y": at, "weight": weight} for at, weight in ((0, 1.4), (top - 2, 0.8), (height, 1.4))]
    across = {"y": pixels()["y"], "strokeWidth": number("weight", scale=None)}
    layers = [layer("rule", rules, across, color=style.INK, x=0, x2=width)]
    for (kind, right), rows in looks.items():
        if rows:
            align = {"align": "right" if right else "left", "baseline": "alphabetic", **marks[kind]}
            layers.append(texts(rows, limit=_WIDEST_CELL, **align))
    return {"layer": layers, "width": width, "height": height}


def _broken(heading: str) -> list[str]:
    """A heading on lines of a few words."""
    lines: list[str] = [""]
    for word in shorten(heading, 60).split() or [""]:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(longer) > _WIDEST_HEADING:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
