"""Bars beside and on each other, and dots with intervals: names on one axis, values on the other."""

from __future__ import annotations

from evenhand.display.marks import Spec, number
from evenhand.report.figures import style
from evenhand.report.figures.frame import FigureData, Panel
from evenhand.report.figures.panels import INNER, OUTER, Plot, value_role

_LONGEST = 860.0
_LABELLED = 620.0
_WIDEST_STEP, _NARROWEST_STEP = 30.0, 7.0


def draw_bars(prepared: FigureData, panel: Panel) -> Spec:
    """Bars beside each other with intervals and the null band behind them."""
    plot = _Named(prepared, panel)
    bar = {**plot.tint(), **plot.hint()}
    size = plot.thick * 0.7
    hollow: Spec = {"size": size - 1.5, "filled": False, "strokeWidth": 1.5, "strokeDash": [3, 2]}
    bars = [plot.mark("bar", rows, bar, **look) for rows, look in plot.by_source({"size": size}, hollow)]
    layers = [*plot.band(), *bars, *plot.interval()]
    if plot.figure.printed:  # the value of each bar at its end
        beside = {"align": "left", "dx": 3} if plot.role == "x" else {"dy": -6}
        text = {"text": {"field": f"{plot.role}_text"}}
        look = {"color": style.INK, "fontSize": 9, "baseline": "middle", **beside}
        layers.append(plot.mark("text", panel.rows, text, **look))
    return plot.finished(layers)


def draw_dots(prepared: FigureData, panel: Panel) -> Spec:
    """Dots with intervals and the null band behind them."""
    plot = _Named(prepared, panel)
    layers = [*plot.band(), *plot.interval()]
    dot, hollow = {**plot.shaped(), **plot.hint()}, {"filled": False, "strokeWidth": 1.8}
    for rows, look in plot.by_source({"filled": True}, hollow):
        layers += [plot.mark("point", rows, dot, size=58, opacity=1, **look)] if rows else []
    return plot.finished(layers or [plot.mark("point", [])])


def draw_stacked(prepared: FigureData, panel: Panel) -> Spec:
    """Bars on each other, in the order of the colours; the paper's stand beside ours, hollow."""
    plot, order = _Named(prepared, panel), prepared.orders["colour"]
    plot.places[plot.role]["stack"] = "zero"
    bar = {**plot.tint(), **plot.hint(), "order": number("stack")}
    hollow: Spec = {"fillOpacity": 0.25, "stroke": style.INK, "strokeWidth": 0.7, "strokeDash": [3, 2]}
    for row in panel.rows:
        row["stack"] = order.index(row["colour"])
    return plot.finished([
        plot.mark("bar", rows, bar, size=plot.thick * 0.92, **look)
        for rows, look in plot.by_source({"stroke": style.PAPER, "strokeWidth": 0.8}, hollow)
    ])  # fmt: skip


class _Named(Plot):
    """A panel with names along one axis, each with a place for every series."""

    def __init__(self, prepared: FigureData, panel: Panel) -> None:
        self.role = value_role(prepared)
        lying, series = self.role == "x", prepared.orders["series"]
        across, alone = 1 + max(other.position[1] for other in prepared.panels), len(prepared.panels) == 1
        names = prepared.order_in("y" if lying else "x", panel)
        count, n_series = len(names) or 1, len(series) or 1
        room = _LONGEST / (1 if lying else across)
        step = min(_WIDEST_STEP, max(_NARROWEST_STEP, room / (count * n_series * 1.25)))
        if lying:
            step = 15.0 if n_series > 1 else 20.0
        size = max(70.0 if lying else 110.0, round(count * n_series * step * 1.25))
        if not lying:
            size = max(size, min(count * (style.label_width(names) + 14), _LABELLED / across))
        self.thick = size / (count - INNER + 2 * OUTER) * (1 - INNER) / n_series
        reach = (460.0 if across == 1 else max(170.0, 760.0 / across)) if lying else 280.0 if alone else 200.0
        width, height = (reach, size) if lying else (size, reach)
        # Panels share one legend, so they must ask for the same.
        legend = max(400.0, min(820.0, width)) if alone else _LABELLED + 160.0
        super().__init__(prepared, panel, width, height, legend)
        if n_series > 1:
            beside = {"domain": series, "paddingInner": 0, "paddingOuter": 0}
            self.places["yOffset" if lying else "xOffset"] = {
                "field": "series",
                "sort": None,
                "scale": beside,
            }

    def band(self) -> list[Spec]:
        """What chance gives, behind the marks."""
        return self.spans("bar", self.role, "null_low", "null_high", size=self.thick * 0.98, color=style.BAND)

    def interval(self) -> list[Spec]:
        """Lines over the intervals."""
        return self.spans("rule", self.role, "low", "high", color=style.INK, strokeWidth=1.3)
