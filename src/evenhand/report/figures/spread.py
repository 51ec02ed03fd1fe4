"""How values are spread: histograms and densities, with the normal distribution fitted to them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from evenhand.display.marks import Spec, number
from evenhand.display.text.language import _
from evenhand.report.figures import style
from evenhand.report.figures.frame import FigureData, Panel, Row
from evenhand.report.figures.panels import Plot, between, nearest

_FEWEST_BINS, _MOST_BINS = 6, 40
_CURVE = 121
Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]


def draw_spread(prepared: FigureData, panel: Panel) -> Spec:
    """Bars of counts, or smooth densities, one colour each, over the same bins in all panels."""
    plot, is_histogram = Plot(prepared, panel), prepared.figure.kind == "histogram"
    edges = _edges(prepared)
    if is_histogram and "x" not in plot.figure.domain:
        plot.places["x"]["scale"] = between(float(edges[0]), float(edges[-1]))
    values = {
        colour: np.array([row["x"] for row in panel.rows if row["colour"] == colour])
        for colour in prepared.orders["colour"]
    }
    values = {colour: numbers for colour, numbers in values.items() if len(numbers)}
    several = len(values) > 1
    shapes, curves = [], []
    for colour, numbers in values.items():
        rows = _bins(prepared, numbers, edges, colour) if is_histogram else _density(numbers, colour)
        shapes.append(rows)
        if plot.figure.fit:
            curves.append(_normal(numbers, edges, colour, is_histogram))
    highest = max((row["y"] for rows in (*shapes, *curves) for row in rows), default=0.0)
    title = _("count") if is_histogram else _("density")
    plot.places["y"] = number(
        "y", title=title if panel.position[1] == 0 else None, stack=None,
        scale=between(0, highest * 1.05 or 1.0), axis={"tickCount": 4, "format": ",.3~f"},
    )  # fmt: skip
    hint = {"tooltip": [{"field": "told", "title": f"{prepared.title('x')} "}]}
    layers = [] if shapes else [plot.mark("rect", [])]
    for rows in shapes:
        if is_histogram:
            ends = {"x2": {"field": "x2"}, "y2": {"field": "zero"}, **plot.tint(), **hint}
            look = {"opacity": 0.45 if several else 0.75, "stroke": style.PAPER, "strokeWidth": 0.6}
            layers.append(plot.mark("rect", rows, ends, **look))
        else:
            look = {"opacity": 0.25 if several else 0.45, "line": {"strokeWidth": 1.6}, "clip": True}
            layers.append(plot.mark("area", rows, plot.tint(), **look))
            places = _hover_points(prepared, rows)
            layers.append(plot.mark("point", places, hint, opacity=0, size=160, clip=True))
    for rows in filter(None, curves):
        tint = plot.tint() if several else {"color": {"value": style.INK}}
        layers.append(plot.mark("line", rows, tint, strokeWidth=1.6, clip=True))
    return plot.finished(layers)


def _edges(prepared: FigureData) -> Numbers:
    """Round bin edges over the values of all panels, about as many bins as the root of their number."""
    values = [row["x"] for row in prepared.rows] or [0.0]
    low, high = prepared.figure.domain.get("x", (min(values), max(values)))
    n_bins = min(_MOST_BINS, max(_FEWEST_BINS, round(len(values) ** 0.5)))
    raw = (high - low or 1.0) / n_bins
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9))
    return np.array([nearest(index * step) for index in range(first, max(last, first + 1) + 1)])


def _bins(prepared: FigureData, values: Numbers, edges: Numbers, colour: str) -> list[Row]:
    how = prepared.figure.formats.get(prepared.figure.x, "number")
    rows = []
    counts = np.histogram(values, bins=edges)[0].tolist()
    for low, high, n in zip(edges[:-1].tolist(), edges[1:].tolist(), counts, strict=True):
        reach = _("{low} to {high}", low=style.written(low, how), high=style.written(high, how))
        text = f"{f'{colour}: ' if colour else ''}{reach}: {style.written(n, 'count')}"
        rows.append({"x": low, "x2": high, "y": n, "zero": 0, "colour": colour, "told": text})
    return [row for row in rows if row["y"]]


def _hover_points(prepared: FigureData, rows: list[Row]) -> list[Row]:
    """Places along a curve that say what it says there."""
    how = prepared.figure.formats.get(prepared.figure.x, "number")
    places = []
    for row in rows[:: _CURVE // 30]:
        text = f"{style.written(row['x'], how)}: {style.written(row['y'])}"
        text += f" ({row['colour']})" if row["colour"] else ""
        places.append({"x": row["x"], "y": row["y"], "told": text})
    return places


def _deviation(values: Numbers) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _density(values: Numbers, colour: str) -> list[Row]:
    """A Gaussian kernel estimate with Silverman's bandwidth."""
    spread = _deviation(values)
    upper, lower = np.percentile(values, [75, 25])
    width = 0.9 * (min(spread, float(upper - lower) / 1.34) or spread) * len(values) ** -0.2
    if not width > 0:
        return []
    at = np.linspace(values.min() - 3 * width, values.max() + 3 * width, _CURVE)
    heights = np.zeros(_CURVE)
    for part in np.array_split(values, max(1, len(values) // 20_000)):
        heights += np.exp(-0.5 * ((at[:, None] - part[None, :]) / width) ** 2).sum(axis=1)
    return _curve(at, heights / (len(values) * width * np.sqrt(2 * np.pi)), colour)


def _normal(values: Numbers, edges: Numbers, colour: str, is_histogram: bool) -> list[Row]:
    """The normal distribution with the values' mean and standard deviation, as high as the bars."""
    if not (spread := _deviation(values)) > 0:
        return []
    at = np.linspace(edges[0], edges[-1], _CURVE)
    heights = np.array([NormalDist(float(values.mean()), spread).pdf(x) for x in at.tolist()])
    return _curve(at, heights * (len(values) * (edges[1] - edges[0]) if is_histogram else 1), colour)


def _curve(at: Numbers, heights: Numbers, colour: str) -> list[Row]:
    return [
        {"x": nearest(x), "y": nearest(y), "colour": colour}
        for x, y in zip(at.tolist(), heights.tolist(), strict=True)
    ]
