"""Points and lines over two number axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.findings import Ends
from evenhand.display.marks import Spec, number
from evenhand.report.figures import style
from evenhand.report.figures.frame import FigureData, Panel, Row, lone_points
from evenhand.report.figures.panels import Plot, nearest

# Where a name may stand beside its point: shift in x and y, and how the text is aligned to that place.
_PLACES = (
    (7, 0, "left", "middle"), (-7, 0, "right", "middle"),
    (0, -8, "center", "bottom"), (0, 8, "center", "top"),
    (6, -7, "left", "bottom"), (-6, -7, "right", "bottom"), (6, 7, "left", "top"), (-6, 7, "right", "top"),
)  # fmt: skip
_BEGIN = {"left": 0.0, "right": 1.0, "center": 0.5, "top": 0.0, "bottom": 1.0, "middle": 0.5}
_LABEL_HEIGHT = 12.0
_MOST_LABELS = 400


def draw_scatter(prepared: FigureData, panel: Panel) -> Spec:
    """Points with names beside them and a fitted line a colour."""
    plot = Plot(prepared, panel)
    layers = [
        *(_fits(plot) if plot.figure.fit else []),
        *_reaches(plot, panel.rows, {"color": {"value": style.MUTED}}),
    ]
    for rows, look in plot.by_source({"filled": True}, {"filled": False}):
        look |= {"strokeWidth": 1.6, "opacity": 0.85, "size": 48}
        encoding = {**plot.shaped(), **plot.hint()}
        if not plot.figure.value:
            layers.append(plot.mark("point", rows, encoding, **look))
            continue
        shaded = [row for row in rows if row["value"] is not None]
        bare = [row for row in rows if row["value"] is None]
        edge = {"stroke": style.INK, "strokeOpacity": 0.5}
        layers.append(plot.mark("point", shaded, {**encoding, **plot.shade()}, **look, **edge))
        if bare:
            del encoding["color"]
            layers.append(plot.mark("point", bare, encoding, **look, color=style.BAND))
    return plot.finished([*layers, *(_names(plot) if plot.figure.label else [])])


def _reaches(plot: Plot, rows: Sequence[Row], tint: Spec) -> list[Spec]:
    """Thin lines along the intervals of points, upright and lying."""
    look: Spec = {"strokeWidth": 1.1, "opacity": 0.55}
    spans = [span for span in (("y", "low", "high"), ("x", "left", "right")) if span[0] in plot.ends]
    return [reach for span in spans for reach in plot.spans("rule", *span, encoding=tint, rows=rows, **look)]


def draw_lines(prepared: FigureData, panel: Panel) -> Spec:
    """Lines with points; intervals as bands, and the null band in grey."""
    order = {name: index for index, name in enumerate(prepared.orders.get("x", []))}
    for row in panel.rows:  # names along x keep their order along a line, too
        row["place"] = order.get(row["x"], row["x"])
    plot, apart = Plot(prepared, panel), {"detail": {"field": "series"}}
    grey: Spec = {"color": {"value": style.BAND}, **apart}
    layers = [
        *plot.spans("area", "y", "null_low", "null_high", grey, opacity=0.6),
        *plot.spans("area", "y", "low", "high", {**plot.tint(), **apart}, opacity=0.16),
        *_reaches(plot, lone_points(panel.rows), plot.tint()),
    ]
    along = {**plot.tint(), "order": number("place")}
    hollow: Spec = {"filled": False, "fill": style.PAPER, "strokeWidth": 1.6}
    for rows, look in plot.by_source({"filled": True}, hollow):
        dash = {} if look["filled"] else {"strokeDash": [4, 3]}
        layers.append(plot.mark("line", rows, along, strokeWidth=2, **dash))
        layers.append(plot.mark("point", rows, {**plot.shaped(), **plot.hint()}, size=42, opacity=1, **look))
    return plot.finished(layers)


def _fits(plot: Plot) -> list[Spec]:
    """A line through our points of each colour: at least three points, at two places."""
    layers = []
    for colour in plot.prepared.orders["colour"]:
        rows = [row for row in plot.panel.rows if row["colour"] == colour and row["source"] == "ours"]
        if ends := _fitted(plot, rows):
            line = [{"x": x, "y": y, "colour": colour} for x, y in ends]
            layers.append(plot.mark("line", line, plot.tint(), strokeWidth=1.5, opacity=0.8, clip=True))
    return layers


def _fitted(plot: Plot, rows: Sequence[Row]) -> list[Ends]:
    if len(rows) < 3 or plot.prepared.names:
        return []
    log = plot.figure.log
    x, y = (
        np.array([np.log10(row[role]) if role in log else row[role] for row in rows]) for role in ("x", "y")
    )
    spread = float(((x - x.mean()) ** 2).sum())
    if spread <= 0:
        return []
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    pairs = [(end, y.mean() + slope * (end - x.mean())) for end in (x.min(), x.max())]
    return [
        (nearest(float(10**a if "x" in log else a)), nearest(float(10**b if "y" in log else b)))
        for a, b in pairs
    ]


def _names(plot: Plot) -> list[Spec]:
    """Names beside points; one that finds no room beside the others is left to the tooltip."""
    rows = plot.panel.rows[:_MOST_LABELS]
    across, down = (_pixels(plot, role, rows, role) for role in ("x", "y"))
    occupied = np.column_stack([across - 4.0, down - 4.0, across + 4.0, down + 4.0])
    if any(row["left"] is not None and row["right"] is not None for row in rows):
        left, right = (_pixels(plot, "x", rows, key) for key in ("left", "right"))
        lines = np.column_stack([left, down - 1.0, right, down + 1.0])
        occupied = np.vstack([occupied, lines[~np.isnan(lines).any(axis=1)]])
    groups: dict[int, list[Row]] = {}
    for row, x, y in zip(rows, across.tolist(), down.tolist(), strict=True):
        length = min(len(row["label"]), 30) * 5.6
        for index, (dx, dy, align, baseline) in enumerate(_PLACES if row["label"] else ()):
            corner = np.array([x + dx - length * _BEGIN[align], y + dy - _LABEL_HEIGHT * _BEGIN[baseline]])
            end = corner + np.array([length, _LABEL_HEIGHT])
            inside = (corner >= -6).all() and (end <= (plot.width + 30, plot.height + 6)).all()
            meets = ((corner < occupied[:, 2:]) & (occupied[:, :2] < end)).all(axis=1)
            if inside and not meets.any():
                occupied = np.vstack([occupied, [*corner, *end]])
                groups.setdefault(index, []).append(row)
                break
    layers = []
    for index, members in sorted(groups.items()):
        look = dict(zip(("dx", "dy", "align", "baseline"), _PLACES[index], strict=True))
        look |= {"fontSize": 9.5, "color": style.INK, "limit": 170}
        layers.append(plot.mark("text", members, {"text": {"field": "label"}}, **look))
    return layers


def _pixels(
    plot: Plot, role: str, rows: Sequence[Row], key: str
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Where the values of a key lie along an axis; nan where there is none."""
    size = plot.width if role == "x" else plot.height
    if role in plot.prepared.names:
        order = plot.prepared.order_in(role, plot.panel)
        return np.array([(order.index(row[key]) + 0.5) / len(order) * size for row in rows])
    in_steps = np.log10 if role in plot.figure.log else np.asarray
    low, high = in_steps(plot.ends[role])
    shares = (in_steps(np.array([row[key] for row in rows], dtype=np.float64)) - low) / (high - low)
    return np.asarray((shares if role == "x" else 1 - shares) * size)
