"""Vega-Lite specifications of the report's charts; they name their data and hold none.

Colours are custom properties of the page's stylesheet, so that one drawing serves light, dark and print. They
are written as data: a library for them takes a tenth of the time of a small audit.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

ROWS = "rows"
OVERALL = "overall"
TYPICAL = "typical"
LABELLED = 40
DRAWN = 3000
LINE_HEIGHT = 22

Spec = dict[str, Any]

_FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_ACCENT, _INK, _MUTED, _LINE, _PAPER, _CHANCE = (
    f"var(--{name})" for name in ("accent", "ink", "muted", "line", "paper", "chance")
)
_BANDS = ["negligible", "small", "medium", "large"]
_BAND_COLOURS = [f"var(--{band})" for band in _BANDS]
_BAND_SHAPES = ["circle", "square", "triangle-up", "diamond"]
_TICKS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

_FEW: Spec = {"tickCount": 6, "format": ".3~f", "labelFlush": False, "labelOverlap": True}
_WHOLE: Spec = {"tickCount": 5, "labelExpr": "datum.value % 1 ? '' : format(datum.value, ',')"}


def _field(name: str, **more: Any) -> Spec:
    return {"field": name, "type": "quantitative", **more}


def _name(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "nominal", **more}


_LABEL = _name("label", sort=None, title=None, axis={"labelLimit": 190, "domain": False, "ticks": False})
_BAND = _name("band", scale={"domain": _BANDS, "range": _BAND_COLOURS}, legend=None)
_SHAPE = _name("band", scale={"domain": _BANDS, "range": _BAND_SHAPES}, legend=None)
_TOOLTIP = [
    _name("label", title="class"),
    _field("corrected", title="effect size, corrected for chance", format=".3f"),
    _name("interval", title="interval of the corrected"),
    _field("value", title="plain effect size", format=".3f"),
    _name("null", title="null band"),
    _name("reading", title="reading"),
    _field("n", title="rows", format=","),
]


def axis_end(values: Iterable[float | None]) -> float:
    """Where an effect size axis ends: the first band edge that nothing drawn exceeds."""
    highest = max((value for value in values if value is not None), default=1.0)
    return next((edge for edge in (0.3, 0.5) if highest <= edge), 1.0)


@cache
def classes(end: float) -> Spec:
    """Effect size of each class by name, corrected where that is known, with interval, and null band."""

    def layer(mark: Spec, field: str, to: str = "") -> Spec:
        return _layer(mark, y=_LABEL, tooltip=_TOOLTIP, x=_effect(field, end), **_second("x2", to))

    point = layer(_point(64, 1.5), "lead")
    point["encoding"] |= _ink()
    layers = [
        layer({"type": "bar", "size": 11, "color": _CHANCE, "cornerRadius": 2}, "null_low", "null_high"),
        layer({"type": "rule", "strokeWidth": 1.6, "color": _INK, "clip": True}, "low", "high"),
        layer({"type": "tick", "thickness": 2, "size": 9, "color": _INK}, "plain"),
        point,
    ]
    return _finish(layers, data={"name": ROWS})


@cache
def overview(end: float) -> Spec:
    """Effect sizes of all classes in order, for runs with more classes than names fit."""
    x = _field(
        "rank",
        title="classes, highest effect size first",
        axis={"grid": False, "format": ",d"},
        scale={"nice": False, "zero": False, "padding": 6},
    )

    def layer(mark: Spec, field: str, to: str = "") -> Spec:
        return _layer(mark, x=x, tooltip=_TOOLTIP, y=_effect(field, end), **_second("y2", to))

    point = layer(_point(12, 0.9), "lead")
    point["encoding"] |= _ink()
    thin = {"type": "rule", "strokeWidth": 0.8, "color": _MUTED, "opacity": 0.45, "clip": True}
    layers = [
        layer({"type": "rule", "strokeWidth": 2, "color": _CHANCE}, "null_low", "null_high"),
        layer(thin, "low", "high"),
        point,
    ]
    return _finish(layers, data={"name": ROWS}, height=260)


@cache
def histogram(end: float) -> Spec:
    """How many classes have which effect size, over a typical null band; bins never cross a band edge."""
    bins = {"step": {0.3: 0.02, 0.5: 0.025}.get(end, 0.05), "extent": [0, 1]}
    count = {"aggregate": "count", "type": "quantitative", "title": "classes"}
    chance = _layer(
        {"type": "rect", "color": _CHANCE},
        x=_effect("null_low", end),
        x2={"field": "null_high"},
        tooltip=[_name("null", title="null band of a class in the middle")],
    )
    bars = _layer(
        {"type": "bar", "binSpacing": 1.5, "cornerRadiusTopLeft": 2, "cornerRadiusTopRight": 2},
        x={**_effect("value", end), "bin": bins},
        y={**count, "axis": _WHOLE},
        color=_BAND,
        tooltip=[_field("value", bin=bins, title="effect size"), _name("band", title="band"), count],
    )
    layers = [{"data": {"name": TYPICAL}, **chance}, {"data": {"name": ROWS}, **bars}]
    return _finish(layers, height=230)


@cache
def scatter(end: float) -> Spec:
    """Accuracy of each class against its effect size with interval and null band; bands differ in shape."""
    x = _field("accuracy", title="accuracy of the class", scale={"zero": False, "padding": 10}, axis=_FEW)
    thin = {"type": "rule", "strokeWidth": 0.9, "color": _MUTED, "opacity": 0.6, "clip": True}
    layers = [
        _layer(
            {"type": "rule", "strokeWidth": 5, "color": _CHANCE, "opacity": 0.6},
            x=x,
            y=_effect("null_low", end),
            y2={"field": "null_high"},
        ),
        _layer(thin, x=x, y=_effect("low", end), y2={"field": "high"}),
        _layer(
            {"type": "point", "filled": True, "size": 70, "opacity": 0.85},
            x=x,
            y=_effect("lead", end),
            color=_BAND,
            shape=_SHAPE,
            tooltip=[*_TOOLTIP, _field("accuracy", format=".3f"), _name("band")],
        ),
    ]
    return _finish(layers, data={"name": ROWS}, height=300)


@cache
def groups() -> Spec:
    """Accuracy of each group with interval and null band, and a line at the overall accuracy."""
    tooltip = [
        _name("label", title="group"),
        _field("value", title="accuracy", format=".3f"),
        _name("interval", title="interval"),
        _name("null", title="null band"),
        _name("reading", title="reading"),
        _field("n", title="rows", format=","),
    ]
    shared: Spec = {"scale": {"zero": False, "padding": 12}, "axis": _FEW}

    def layer(mark: Spec, x: Spec, to: str = "") -> Spec:
        encoded = _layer(mark, y=_LABEL, tooltip=tooltip, x={**x, **shared}, **_second("x2", to))
        return {"data": {"name": ROWS}, **encoded}

    bar = {"type": "bar", "size": 11, "color": _CHANCE, "cornerRadius": 2}
    line = _layer(
        {"type": "rule", "strokeDash": [4, 3], "color": _MUTED},
        x=_field("value"),
        tooltip=[_field("value", title="overall accuracy", format=".3f")],
    )
    point = layer(_point(64, 1.5), _field("value", title="accuracy"))
    point["encoding"] |= _ink()
    layers = [
        layer(bar, _field("null_low"), "null_high"),
        {"data": {"name": OVERALL}, **line},
        layer({"type": "rule", "strokeWidth": 1.6, "color": _INK}, _field("low"), "high"),
        point,
    ]
    return _finish(layers)


def _layer(mark: Spec, **encoding: Any) -> Spec:
    return {"mark": mark, "encoding": encoding}


def _second(channel: str, field: str) -> Spec:
    return {channel: {"field": field}} if field else {}


def _effect(field: str, end: float) -> Spec:
    """An effect size axis from 0; its grid marks tenths, so band edges are always on a line."""
    ticks = [tick for tick in _TICKS if tick <= end]
    return _field(
        field,
        title="effect size (Cramér’s V)",
        scale={"domain": [0, end], "nice": False, "zero": True},
        axis={"values": ticks, "format": ".1f", "labelOverlap": True, "labelFlush": False},
    )


def _point(size: int, stroke: float) -> Spec:
    return {"type": "point", "size": size, "opacity": 1, "strokeWidth": stroke}


def _ink() -> Spec:
    """Filled and coloured where a corrected test passed, hollow and grey elsewhere."""
    return {
        channel: {"condition": {"test": "datum.outside", "value": _ACCENT}, "value": other}
        for channel, other in (("fill", _PAPER), ("stroke", _INK))
    }


def _finish(layers: list[Spec], **more: Any) -> Spec:
    """The specification without the schema's address, which a page without a network has no use for."""
    autosize = {"type": "fit-x", "contains": "padding"}
    return {"layer": layers, **more, "width": "container", "config": _CONFIG, "autosize": autosize}


_CONFIG: Spec = {
    "aria": False,
    "background": None,
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": _MUTED,
        "titleColor": _MUTED,
        "gridColor": _LINE,
        "domainColor": _LINE,
        "tickColor": _LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 9,
        "labelPadding": 5,
    },
    "axisY": {"labelColor": _INK},
}
