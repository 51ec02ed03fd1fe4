"""Charts of what changed between two models: the change beside chance, and both models' values.

Colours are custom properties of the page's stylesheet, as in the other charts, whose settings these share.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from evenhand.report.views import charts
from evenhand.report.views.charts import Spec

_ACCENT, _INK, _MUTED, _PAPER, _CHANCE = (
    f"var(--{name})" for name in ("accent", "ink", "muted", "paper", "chance")
)
_LABEL = {
    "field": "label",
    "type": "nominal",
    "sort": None,
    "title": None,
    "axis": {"labelLimit": 190, "domain": False, "ticks": False},
}
_TOOLTIP: list[dict[str, Any]] = [
    {"field": "part", "type": "nominal", "title": "part"},
    {"field": "models", "type": "nominal", "title": "models"},
    {"field": "change", "type": "nominal", "title": "first minus second"},
    {"field": "interval", "type": "nominal", "title": "interval"},
    {"field": "null", "type": "nominal", "title": "null band"},
    {"field": "both", "type": "nominal", "title": "first and second"},
    {"field": "adjusted", "type": "nominal", "title": "adjusted p"},
    {"field": "n", "type": "quantitative", "title": "rows", "format": ","},
]


@cache
def change() -> Spec:
    """The change of each part with its interval over its null band; filled where it is more than noise."""
    zero = {"data": {"values": [{"zero": 0}]}, "mark": _rule(_MUTED, 1), "encoding": {"x": _x("zero")}}
    band = {
        "mark": {"type": "bar", "size": 11, "color": _CHANCE, "cornerRadius": 2},
        "encoding": {"x": _x("null_low"), "x2": {"field": "null_high"}},
    }
    interval = {"mark": _rule(_INK, 1.6), "encoding": {"x": _x("low"), "x2": {"field": "high"}}}
    fill = {"condition": {"test": "datum.outside", "value": _ACCENT}, "value": _PAPER}
    point = {
        "mark": {"type": "point", "size": 64, "opacity": 1, "stroke": _ACCENT, "strokeWidth": 1.5},
        "encoding": {"x": _x("value", "change (first minus second)"), "fill": fill},
    }
    return _over_lines([band, zero, interval, point])


@cache
def before_after() -> Spec:
    """Both models' values of each part, joined: a square for the second, a filled circle for the first."""
    line = {"mark": _rule(_MUTED, 2), "encoding": {"x": _x("second"), "x2": {"field": "first"}}}
    second = {
        "mark": {
            "type": "point",
            "shape": "square",
            "size": 60,
            "opacity": 1,
            "stroke": _INK,
            "fill": _PAPER,
        },
        "encoding": {"x": _x("second")},
    }
    first = {
        "mark": {"type": "point", "size": 64, "opacity": 1, "stroke": _ACCENT, "fill": _ACCENT},
        "encoding": {"x": _x("first", "value of both models")},
    }
    return _over_lines([line, second, first])


def _rule(colour: str, width: float) -> dict[str, Any]:
    return {"type": "rule", "strokeWidth": width, "color": colour, "clip": True}


def _x(field: str, title: str | None = None) -> dict[str, Any]:
    axis = {"tickCount": 6, "format": ".3~f", "labelFlush": False, "labelOverlap": True}
    scale = {"zero": False, "padding": 12}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _over_lines(layers: list[dict[str, Any]]) -> Spec:
    """Layers over one named line for each part."""
    shared = charts.groups()
    for layer in layers:
        if "data" not in layer:
            layer["encoding"] |= {"y": _LABEL, "tooltip": _TOOLTIP}
    return {
        "data": {"name": charts.ROWS},
        "layer": layers,
        "width": "container",
        "config": shared["config"],
        "autosize": shared["autosize"],
    }
