"""Points and lines over two number axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.core.findings import Ends
from evenhand.report.figures import axes, style, vega
from evenhand.report.figures.frame import FigureData, Panel, Row, lone_points, spanned

# Where a name may stand beside its point: shift in x and y, and how the text is aligned to that place.
_PLACES = (
    (7, 0, "left", "middle"), (-7, 0, "right", "middle"),
    (0, -8, "center", "bottom"), (0, 8, "center", "top"),
    (6, -7, "left", "bottom"), (-6, -7, "right", "bottom"), (6, 7, "left", "top"), (-6, 7, "right", "top"),
)  # fmt: skip
Box = tuple[float, float, float, float]
_LABEL_HEIGHT = 12.0
_MOST_LABELS = 400


def draw_scatter(prepared: FigureData, panel: Panel) -> Any:
    """Points with names beside them and a fitted line a colour."""
    width, height = axes.panel_size(prepared)
    layers: list[Any] = _reaches(prepared, panel, width, height)
    for source in ("ours", "paper"):
        rows = [row for row in panel.rows if row["source"] == source]
        if rows or source == "ours":
            hints = axes.tooltip(prepared, rows)
            layers += [
                _base(prepared, panel, part)
                .mark("point", filled=source == "ours", strokeWidth=1.6, opacity=0.85, size=48, **more)
                .encode(shape=axes.shape(prepared, 780), tooltip=hints, **tint)
                for part, tint, more in _tinted(prepared, rows)
            ]
    if prepared.figure.fit:
        layers = [*_fits(prepared, panel), *layers]
    if prepared.figure.label:
        layers += _names(prepared, panel, width, height)
    return axes.with_heading(layers, prepared, panel)


def _tinted(prepared: FigureData, rows: list[Row]) -> list[tuple[list[Row], dict[str, Any], dict[str, Any]]]:
    """Points with their colour: by name, or by value, and then grey where there is none."""
    if not prepared.figure.value:
        return [(rows, {"color": _colour(prepared)}, {})]
    shaded = [row for row in rows if row["value"] is not None]
    bare = [row for row in rows if row["value"] is None]
    edge = {"stroke": style.INK, "strokeOpacity": 0.5}
    by_value = {"color": axes.shade(prepared, *axes.shade_ends(prepared))}
    return [(shaded, by_value, edge), *([(bare, {}, {"color": style.BAND})] if bare else [])]


def _reaches(prepared: FigureData, panel: Panel, width: float, height: float) -> list[Any]:
    """Thin lines along the intervals of points, upright and lying."""
    layers = []
    spans = (("y", "low", "high", height), ("x", "left", "right", width))
    for role, low, high, size in spans:
        rows = spanned(panel.rows, low, high)
        if rows and role not in prepared.names:
            start = axes.number_axis(prepared, panel, role, size, field=low)
            rule = _base(prepared, panel, rows).mark("rule", strokeWidth=1.1, opacity=0.55, clip=True)
            rule = rule.encode(**{role: start, f"{role}2": vega.options(field=high)})
            layers.append(rule.encode(color=vega.constant(style.MUTED)))
    return layers


def draw_lines(prepared: FigureData, panel: Panel) -> Any:
    """Lines with points; intervals as bands, and the null band in grey."""
    width, height = axes.panel_size(prepared)
    layers: list[Any] = []
    spans = (("null_low", "null_high", style.BAND, 0.6), ("low", "high", None, 0.16))
    for low, high, fixed, opacity in spans:
        rows = spanned(panel.rows, low, high)
        if rows:
            y = axes.number_axis(prepared, panel, "y", height, field=low)
            area = _base(prepared, panel, rows, y=y).mark("area", opacity=opacity, clip=True, line=False)
            tint: Any = vega.constant(fixed) if fixed else _colour(prepared)
            detail = vega.options(field="series", type="nominal")
            layers.append(area.encode(y2=vega.options(field=high), color=tint, detail=detail))
    alone = replace(panel, rows=lone_points(panel.rows))
    layers += [reach.encode(color=_colour(prepared)) for reach in _reaches(prepared, alone, width, height)]
    for source in ("ours", "paper"):
        rows = [row for row in panel.rows if row["source"] == source]
        if not rows and source == "paper":
            continue
        hints = axes.tooltip(prepared, rows)
        base = _base(prepared, panel, rows)
        dash = {"strokeDash": [4, 3]} if source == "paper" else {}
        order = vega.options(field="place", type="quantitative")
        layers.append(base.mark("line", strokeWidth=2, **dash).encode(color=_colour(prepared), order=order))
        hollow: dict[str, Any] = {"filled": False, "fill": style.PAPER, "strokeWidth": 1.6}
        points = base.mark("point", size=42, opacity=1, **({"filled": True} if source == "ours" else hollow))
        layers.append(points.encode(color=_colour(prepared), shape=axes.shape(prepared, 780), tooltip=hints))
    return axes.with_heading(layers, prepared, panel)


def _colour(prepared: FigureData) -> Any:
    return axes.colour(prepared, 780, shaped=True)


def _base(prepared: FigureData, panel: Panel, rows: Sequence[Row], y: Any = None) -> Any:
    """A chart of rows on the panel's axes; names along x keep their order along a line, too."""
    width, height = axes.panel_size(prepared)
    x_place = {name: place for place, name in enumerate(prepared.orders.get("x", []))}
    for row in rows:
        row["place"] = x_place[row["x"]] if "x" in prepared.names else row["x"]
    channels = {}
    for role, size in (("x", width), ("y", height)):
        if role in prepared.names:
            channels[role] = axes.name_axis(prepared, panel, role, size / max(len(prepared.orders[role]), 1))
        else:
            channels[role] = axes.number_axis(prepared, panel, role, size)
    if y is not None:
        channels["y"] = y
    return vega.Layer(axes.data(rows)).encode(**channels)


def _fits(prepared: FigureData, panel: Panel) -> list[Any]:
    """A line through our points of each colour: at least three points, at two places."""
    layers = []
    for colour in prepared.orders["colour"]:
        rows = [row for row in panel.rows if row["colour"] == colour and row["source"] == "ours"]
        ends = _fitted(prepared, rows)
        if ends:
            line_ends = [{"x": x, "y": y, "colour": colour} for x, y in ends]
            line = _base(prepared, panel, line_ends).mark("line", strokeWidth=1.5, opacity=0.8, clip=True)
            layers.append(line.encode(color=_colour(prepared)))
    return layers


def _fitted(prepared: FigureData, rows: Sequence[Row]) -> list[Ends]:
    if len(rows) < 3 or prepared.names:
        return []
    log = prepared.figure.log
    x, y = (
        np.array([np.log10(row[role]) if role in log else row[role] for row in rows]) for role in ("x", "y")
    )
    spread = float(((x - x.mean()) ** 2).sum())
    if spread <= 0:
        return []
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    ends = [float(x.min()), float(x.max())]
    pairs = [(end, float(y.mean()) + slope * (end - float(x.mean()))) for end in ends]
    return [
        (axes.nearest(10**a if "x" in log else a), axes.nearest(10**b if "y" in log else b)) for a, b in pairs
    ]


def _names(prepared: FigureData, panel: Panel, width: float, height: float) -> list[Any]:
    """Names beside points; one that finds no room beside the others is left to the tooltip."""
    rows = panel.rows[:_MOST_LABELS]
    across, down = _pixels(prepared, panel, "x", width), _pixels(prepared, panel, "y", height)
    at = [(across(row["x"]), down(row["y"])) for row in rows]
    occupied = _Taken([(x - 4.0, y - 4.0, x + 4.0, y + 4.0) for x, y in at])
    for row, (_, y) in zip(rows, at, strict=True):
        if row["left"] is not None and row["right"] is not None:
            occupied.add((across(row["left"]), y - 1.0, across(row["right"]), y + 1.0))
    groups: dict[int, list[Row]] = {}
    for row, (x, y) in zip(rows, at, strict=True):
        if row["label"]:
            length = min(len(row["label"]), 30) * 5.6
            boxes = [_box(x, y, length, index) for index in range(len(_PLACES))]
            free = (
                index for index, box in enumerate(boxes) if _inside(box, width, height) and occupied.free(box)
            )
            best = next(free, None)
            if best is not None:
                occupied.add(boxes[best])
                groups.setdefault(best, []).append(row)
    layers = []
    for index, members in sorted(groups.items()):
        dx, dy, align, baseline = _PLACES[index]
        text = _base(prepared, panel, members).mark(
            "text", dx=dx, dy=dy, align=align, baseline=baseline, fontSize=9.5, color=style.INK, limit=170
        )
        layers.append(text.encode(text=vega.options(field="label", type="nominal")))
    return layers


def _pixels(prepared: FigureData, panel: Panel, role: str, size: float) -> Callable[[Any], float]:
    """Where a value of an axis lies; the axis is measured once, not for each of its values."""
    if role in prepared.names:
        order = prepared.order_in(role, panel)
        return lambda name: (order.index(name) + 0.5) / len(order) * size
    low, high = axes.extent(prepared, role, panel)
    log = role in prepared.figure.log
    start, end = (np.log10(low), np.log10(high)) if log else (low, high)

    def pixel(value: float) -> float:
        share = float(((np.log10(value) if log else value) - start) / (end - start))
        return share * size if role == "x" else (1 - share) * size

    return pixel


def _box(x: float, y: float, length: float, index: int) -> Box:
    dx, dy, align, baseline = _PLACES[index]
    left = x + dx - {"left": 0.0, "right": length, "center": length / 2}[align]
    top = y + dy - {"top": 0.0, "bottom": _LABEL_HEIGHT, "middle": _LABEL_HEIGHT / 2}[baseline]
    return left, top, left + length, top + _LABEL_HEIGHT


def _inside(box: Box, width: float, height: float) -> bool:
    left, top, right, bottom = box
    return left >= -6 and right <= width + 30 and top >= -6 and bottom <= height + 6


class _Taken:
    """Boxes that are taken, in arrays, since every name asks them all in each of its places."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self._boxes = np.zeros((max(64, 4 * len(boxes)), 4))
        self._n = 0
        for box in boxes:
            self.add(box)

    def add(self, box: Box) -> None:
        if self._n == len(self._boxes):
            self._boxes = np.concatenate([self._boxes, np.zeros_like(self._boxes)])
        self._boxes[self._n] = box
        self._n += 1

    def free(self, box: Box) -> bool:
        left, top, right, bottom = box
        others = self._boxes[: self._n].T
        return not bool(
            ((left < others[2]) & (others[0] < right) & (top < others[3]) & (others[1] < bottom)).any()
        )
