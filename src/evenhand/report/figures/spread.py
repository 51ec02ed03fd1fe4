"""How values are spread: histograms and densities, with the normal distribution fitted to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.display.text.language import _
from evenhand.report.figures import axes, style, vega
from evenhand.report.figures.frame import FigureData, Panel, Row

_FEWEST_BINS, _MOST_BINS = 6, 40
_CURVE = 121


def draw_spread(prepared: FigureData, panel: Panel) -> Any:
    """Bars of counts, or smooth densities, one colour each, over the same bins in all panels."""
    width, _ = axes.panel_size(prepared)
    layers: list[Any] = []
    highest = 0.0
    colours = prepared.orders["colour"] or [""]
    shapes, curves = [], []
    for colour in colours:
        values = _values(panel.rows, colour)
        if not len(values):
            continue
        rows = (
            _bins(prepared, values, colour)
            if prepared.figure.kind == "histogram"
            else _density(values, colour)
        )
        fitted = _normal(prepared, values, colour) if prepared.figure.fit else []
        shapes.append(rows)
        curves.append(fitted)
        highest = max([highest, *(row["y"] for row in [*rows, *fitted])])
    x = _x(prepared, panel, width)
    y = vega.options(
        field="y", type="quantitative", stack=None,
        title=_height_title(prepared) if panel.position[1] == 0 else None,
        scale=vega.options(domain=[0, highest * 1.05 or 1.0], nice=False),
        axis=vega.options(tickCount=4, format=",.3~f", labels=True),
    )  # fmt: skip
    several = len(shapes) > 1
    colour_channel = axes.colour(prepared, 780)
    for rows in shapes:
        chart = vega.Layer(style.inline(rows))
        if prepared.figure.kind == "histogram":
            bars = chart.mark("rect", opacity=0.45 if several else 0.75, stroke=style.PAPER, strokeWidth=0.6)
            ends = {"x2": vega.options(field="x2"), "y2": vega.options(field="zero")}
            hints = [vega.options(field="told", type="nominal", title=f"{prepared.title('x')} ")]
            layers.append(bars.encode(x=x, y=y, color=colour_channel, tooltip=hints, **ends))
        else:
            area = chart.mark("area", opacity=0.25 if several else 0.45, line={"strokeWidth": 1.6}, clip=True)
            layers.append(area.encode(x=x, y=y, color=colour_channel))
            hints = [vega.options(field="told", type="nominal", title=f"{prepared.title('x')} ")]
            places = vega.Layer(style.inline(_hover_points(prepared, rows))).mark(
                "point", opacity=0, size=160, clip=True
            )
            layers.append(places.encode(x=x, y=y, tooltip=hints))
    for rows in curves:
        if rows:
            line = vega.Layer(style.inline(rows)).mark("line", strokeWidth=1.6, clip=True)
            tint: Any = colour_channel if several else vega.constant(style.INK)
            layers.append(line.encode(x=x, y=y, color=tint))
    layers = layers or [vega.Layer(style.inline([])).mark("rect").encode(x=x, y=y)]
    return axes.with_heading(layers, prepared, panel)


def _height_title(prepared: FigureData) -> str:
    return _("count") if prepared.figure.kind == "histogram" else _("density")


def _x(prepared: FigureData, panel: Panel, width: float) -> Any:
    channel = axes.number_axis(prepared, panel, "x", width)
    edges = _edges(prepared)
    if "x" not in prepared.figure.domain and prepared.figure.kind == "histogram":
        channel["scale"] = vega.options(domain=[float(edges[0]), float(edges[-1])], nice=False, zero=False)
    return channel


def _values(rows: list[Row], colour: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([row["x"] for row in rows if row["colour"] == colour], dtype=np.float64)


def _edges(prepared: FigureData) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Round bin edges over the values of all panels, about as many bins as the root of their number."""
    values = np.array([row["x"] for row in prepared.rows] or [0.0])
    low, high = prepared.figure.domain.get("x", (float(values.min()), float(values.max())))
    n_bins = min(_MOST_BINS, max(_FEWEST_BINS, round(float(np.sqrt(len(values))))))
    raw = (high - low or 1.0) / n_bins
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9))
    return np.array([axes.nearest(index * step) for index in range(first, max(last, first + 1) + 1)])


def _bins(prepared: FigureData, values: np.ndarray[Any, np.dtype[np.float64]], colour: str) -> list[Row]:
    edges = _edges(prepared)
    counts = np.histogram(values, bins=edges)[0]
    how = prepared.figure.formats.get(prepared.figure.x, "number")
    ends = [style.written(float(edge), how) for edge in edges]
    name = f"{colour}: " if colour else ""

    def bin_text(first: str, last: str, n: int) -> str:
        return f"{name}{_('{low} to {high}', low=first, high=last)}: {style.written(n, 'count')}"

    return [
        {
            "x": float(low), "x2": float(high), "y": int(n), "zero": 0, "colour": colour,
            "told": bin_text(first, last, int(n)),
        }
        for low, high, n, first, last in zip(
            edges[:-1], edges[1:], counts, ends[:-1], ends[1:], strict=True
        )
        if n
    ]  # fmt: skip


def _hover_points(prepared: FigureData, rows: list[Row]) -> list[Row]:
    """Places along a curve that say what it says there."""
    how = prepared.figure.formats.get(prepared.figure.x, "number")
    return [
        {
            "x": row["x"], "y": row["y"],
            "told": f"{style.written(row['x'], how)}: {style.written(row['y'])}"
            + (f" ({row['colour']})" if row["colour"] else ""),
        }
        for row in rows[:: _CURVE // 30]
    ]  # fmt: skip


def _density(values: np.ndarray[Any, np.dtype[np.float64]], colour: str) -> list[Row]:
    """A Gaussian kernel estimate with Silverman's bandwidth."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    quartiles = np.percentile(values, [75, 25])
    scale = min(spread, float(quartiles[0] - quartiles[1]) / 1.34) or spread
    width = 0.9 * scale * len(values) ** -0.2
    if not width > 0:
        return []
    at = np.linspace(values.min() - 3 * width, values.max() + 3 * width, _CURVE)
    heights = np.zeros(_CURVE)
    for part in np.array_split(values, max(1, len(values) // 20_000)):
        heights += np.exp(-0.5 * ((at[:, None] - part[None, :]) / width) ** 2).sum(axis=1)
    heights /= len(values) * width * np.sqrt(2 * np.pi)
    return _curve(at, heights, colour)


def _normal(prepared: FigureData, values: np.ndarray[Any, np.dtype[np.float64]], colour: str) -> list[Row]:
    """The normal distribution with the values' mean and standard deviation, as high as the bars."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if not spread > 0:
        return []
    edges = _edges(prepared)
    low, high = float(edges[0]), float(edges[-1])
    at = np.linspace(low, high, _CURVE)
    heights = np.exp(-0.5 * ((at - values.mean()) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    if prepared.figure.kind == "histogram":
        heights = heights * len(values) * float(edges[1] - edges[0])
    return _curve(at, heights, colour)


def _curve(
    at: np.ndarray[Any, np.dtype[np.float64]], heights: np.ndarray[Any, np.dtype[np.float64]], colour: str
) -> list[Row]:
    return [
        {"x": axes.nearest(float(x)), "y": axes.nearest(float(y)), "colour": colour}
        for x, y in zip(at, heights, strict=True)
    ]
