"""Bars beside and on each other, and dots with intervals: names on one axis, values on the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.core.findings import Ends
from evenhand.report.figures import axes, style, vega
from evenhand.report.figures.frame import FigureData, Panel, Row, spanned
from evenhand.report.figures.layout import layered

_LONGEST = 860.0
_LABELLED = 620.0
_WIDEST_STEP, _NARROWEST_STEP = 30.0, 7.0


def draw_bars(prepared: FigureData, panel: Panel) -> Any:
    """Bars beside each other with intervals and the null band behind them."""
    return _Named(prepared, panel).layered([_band, _solid_bars, _hollow_bars, _interval, _values])


def draw_dots(prepared: FigureData, panel: Panel) -> Any:
    """Dots with intervals and the null band behind them."""
    return _Named(prepared, panel).layered([_band, _interval, _dots])


def draw_stacked(prepared: FigureData, panel: Panel) -> Any:
    """Bars on each other, in the order of the colours; the paper's stand beside ours, hollow."""
    order = prepared.orders["colour"]
    for row in prepared.rows:
        row["stack"] = order.index(row["colour"])
        row["series"] = row["source"]
    layout = _Named(
        prepared, panel, [s for s in ("ours", "paper") if any(r["source"] == s for r in prepared.rows)]
    )
    role = layout.role
    ends = _stack_ends(prepared, role)
    layers = []
    for source in ("ours", "paper"):
        rows = [row for row in panel.rows if row["source"] == source]
        mark: dict[str, Any] = {"stroke": style.PAPER, "strokeWidth": 0.8}
        if source == "paper":
            mark = {
                "filled": True,
                "fillOpacity": 0.25,
                "stroke": style.INK,
                "strokeWidth": 0.7,
                "strokeDash": [3, 2],
            }
        hints = axes.tooltip(prepared, rows)
        chart = (
            layout.base(rows)
            .mark("bar", size=layout.thick * 0.92, **mark)
            .encode(
                color=axes.colour(prepared, layout.legend_width),
                order=vega.options(field="stack", type="quantitative"),
                tooltip=hints,
            )
        )
        value = axes.number_axis(prepared, panel, role, layout.value_size)
        value["stack"] = "zero"
        value["scale"]["domain"] = list(prepared.figure.domain.get(role, ends))
        layers.append(chart.encode(**{role: value}))
    return layout.finished(layers)


def _stack_ends(prepared: FigureData, role: str) -> Ends:
    totals: dict[tuple[Any, ...], float] = {}
    other = "y" if role == "x" else "x"
    for row in prepared.rows:
        key = (row["facets"], row[other], row["source"])
        totals[key] = totals.get(key, 0.0) + row[role]
    highest = max(totals.values(), default=1.0)
    return 0.0, 1.0 if 0.98 < highest < 1.0001 else highest * 1.04 or 1.0


class _Named:
    """A panel with names along one axis, each with a place for every series."""

    def __init__(self, prepared: FigureData, panel: Panel, series: list[str] | None = None) -> None:
        self.prepared, self.panel = prepared, panel
        self.role = axes.value_role(prepared)
        self.names = "y" if self.role == "x" else "x"
        self.series = prepared.orders["series"] if series is None else series
        across = 1 + max(other.position[1] for other in prepared.panels)
        count = len(prepared.order_in(self.names, panel)) or 1
        beside = count * max(len(self.series), 1)
        room = _LONGEST / (across if self.names == "x" else 1)
        step = min(_WIDEST_STEP, max(_NARROWEST_STEP, room / (beside * 1.25)))
        if self.names == "y":
            step = 15.0 if len(self.series) > 1 else 20.0
        self.size = max(70.0 if self.names == "y" else 110.0, round(beside * step * 1.25))
        if self.names == "x":
            longest = style.label_width(prepared.order_in("x", panel)) + 14
            self.size = max(self.size, min(count * longest, _LABELLED / across))
        self.step = self.size / count
        band = self.size / (count - axes.INNER + 2 * axes.OUTER) * (1 - axes.INNER)
        self.thick = band / max(len(self.series), 1)
        self.value_size = (
            (460.0 if across == 1 else max(170.0, 760.0 / across)) if self.names == "y"
            else (280.0 if len(prepared.panels) == 1 else 200.0)
        )  # fmt: skip
        self.width, self.height = (
            (self.value_size, self.size) if self.names == "y" else (self.size, self.value_size)
        )
        # Panels share one legend, so they must ask for the same.
        alone = len(prepared.panels) == 1
        self.legend_width = max(400.0, min(820.0, self.width)) if alone else _LABELLED + 160.0

    def base(self, rows: list[Row]) -> Any:
        """A chart of rows with their names and places."""
        chart = vega.Layer(axes.data(rows))
        names = axes.name_axis(self.prepared, self.panel, self.names, self.step)
        chart = chart.encode(**{self.names: names})
        if len(self.series) > 1:
            scale = vega.options(domain=self.series, paddingInner=0.0, paddingOuter=0.0)
            channel = vega.options(field="series", type="nominal", sort=None, scale=scale)
            chart = chart.encode(**{f"{self.names}Offset": channel})
        return chart

    def value(self, field: str | None = None) -> dict[str, Any]:
        """The channel of the values."""
        axis = axes.number_axis(self.prepared, self.panel, self.role, self.value_size, field=field)
        return {self.role: axis}

    def span(self, low: str, high: str) -> dict[str, Any]:
        """The channels of something from one key to another."""
        return {**self.value(low), f"{self.role}2": vega.options(field=high)}

    def layered(self, makers: list[Any]) -> Any:
        """All layers that have anything to show."""
        return self.finished([layer for make in makers if (layer := make(self)) is not None])

    def finished(self, layers: list[Any]) -> Any:
        """Layers and reference lines as one panel."""
        layers = layers or [self.base([]).mark("point").encode(**self.value())]
        lines = axes.reference_layers(self.panel, self.width)
        size = {"width": self.width, "height": self.height}
        return layered([*layers, *lines, *axes.panel_heading(self.prepared, self.panel)], **size)


def _band(layout: _Named) -> Any:
    rows = spanned(layout.panel.rows, "null_low", "null_high")
    if not rows:
        return None
    chart = layout.base(rows).mark("bar", size=layout.thick * 0.98, color=style.BAND, clip=True)
    return chart.encode(**layout.span("null_low", "null_high"))


def _interval(layout: _Named) -> Any:
    rows = spanned(layout.panel.rows, "low", "high")
    if not rows:
        return None
    chart = layout.base(rows).mark("rule", color=style.INK, strokeWidth=1.3, clip=True)
    return chart.encode(**layout.span("low", "high"))


def _solid_bars(layout: _Named) -> Any:
    rows = [row for row in layout.panel.rows if row["source"] == "ours"]
    return _coloured(layout, layout.base(rows).mark("bar", size=layout.thick * 0.7), rows)


def _hollow_bars(layout: _Named) -> Any:
    rows = [row for row in layout.panel.rows if row["source"] == "paper"]
    if not rows:
        return None
    size = layout.thick * 0.7 - 1.5
    chart = layout.base(rows).mark("bar", size=size, filled=False, strokeWidth=1.5, strokeDash=[3, 2])
    return _coloured(layout, chart, rows)


def _values(layout: _Named) -> Any:
    """The value of each bar at its end, where the figure asks for it."""
    figure = layout.prepared.figure
    if not figure.printed:
        return None
    how = figure.formats.get(figure.x if layout.role == "x" else figure.y, "number")
    rows = [{**row, "value_text": style.written(row[layout.role], how)} for row in layout.panel.rows]
    beside: dict[str, Any] = {"align": "left", "dx": 3} if layout.role == "x" else {"dy": -6}
    chart = layout.base(rows).mark("text", color=style.INK, fontSize=9, baseline="middle", **beside)
    return chart.encode(**layout.value(), text=vega.options(field="value_text", type="nominal"))


def _dots(layout: _Named) -> Any:
    layers = []
    for source in ("ours", "paper"):
        rows = [row for row in layout.panel.rows if row["source"] == source]
        if not rows:
            continue
        hollow = {"filled": False, "strokeWidth": 1.8} if source == "paper" else {"filled": True}
        chart = layout.base(rows).mark("point", size=58, opacity=1, **hollow)
        layers.append(
            _coloured(layout, chart, rows).encode(shape=axes.shape(layout.prepared, layout.legend_width))
        )
    return layered(layers) if layers else None


def _coloured(layout: _Named, chart: Any, rows: list[Row]) -> Any:
    hints = axes.tooltip(layout.prepared, rows)
    chart = replace(chart, rows=axes.data(rows))  # the tooltip's texts were written into the rows
    shaped = layout.prepared.figure.kind == "dots"
    return chart.encode(
        **layout.value(),
        color=axes.colour(layout.prepared, layout.legend_width, shaped=shaped),
        tooltip=hints,
    )
