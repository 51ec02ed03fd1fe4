"""Vega-Lite specifications of the report's charts; they name their data and hold none.

Colours are custom properties of the page's stylesheet, so that one drawing serves light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from evenhand.display.marks import Spec, marks, number

ROWS = "rows"
OVERALL = "overall"
TYPICAL = "typical"
LABELLED = 40
DRAWN = 3000
LINE_HEIGHT = 22

_FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_ACCENT, _INK, _MUTED, _LINE, _PAPER, _CHANCE = (
    f"var(--{name})" for name in ("accent", "ink", "muted", "line", "paper", "chance")
)
_BANDS = ["negligible", "small", "medium", "large"]
_BAND_SHAPES = ["circle", "square", "triangle-up", "diamond"]
_FORMATS = {**dict.fromkeys(("value", "corrected", "accuracy"), ".3f"), "n": ","}
_FEW: Spec = {"tickCount": 6, "format": ".3~f", "labelFlush": False, "labelOverlap": True}
_WHOLE: Spec = {"tickCount": 5, "labelExpr": "datum.value % 1 ? '' : format(datum.value, ',')"}


def _hints(**titles: str) -> Spec:
    """What hovering tells: the words for each field."""
    fields = (number(name, format=_FORMATS[name]) if name in _FORMATS else {"field": name} for name in titles)
    return {
        "tooltip": [{**field, "title": title} for field, title in zip(fields, titles.values(), strict=True)]
    }


_LABEL: Spec = {
    "y": {
        "field": "label", "type": "nominal", "sort": None, "title": None,
        "axis": {"labelLimit": 190, "domain": False, "ticks": False},
    }
}  # fmt: skip
_BAND, _SHAPE = (
    {channel: {"field": "band", "scale": {"domain": _BANDS, "range": looks}, "legend": None}}
    for channel, looks in (("color", [f"var(--{band})" for band in _BANDS]), ("shape", _BAND_SHAPES))
)
_OF_CLASS = {
    "label": "class", "corrected": "effect size, corrected for chance",
    "interval": "interval of the corrected", "value": "plain effect size", "null": "null band",
    "reading": "reading", "n": "rows",
}  # fmt: skip
_OF_CHANGE = {
    "part": "part", "models": "models", "change": "first minus second", "interval": "interval",
    "null": "null band", "both": "first and second", "adjusted": "adjusted p", "n": "rows",
}  # fmt: skip
_OF_GROUP = {
    "label": "group", "value": "accuracy", "interval": "interval", "null": "null band",
    "reading": "reading", "n": "rows",
}  # fmt: skip
# Filled and coloured where a corrected test passed, hollow and grey elsewhere.
_INKED: Spec = {
    channel: {"condition": {"test": "datum.outside", "value": _ACCENT}, "value": other}
    for channel, other in (("fill", _PAPER), ("stroke", _INK))
}
_CHANCE_BAR: Spec = {"size": 11, "color": _CHANCE, "cornerRadius": 2}
_INTERVAL: Spec = {"strokeWidth": 1.6, "color": _INK}
_POINT: Spec = {"size": 64, "opacity": 1, "strokeWidth": 1.5}


def axis_end(values: Iterable[float | None]) -> float:
    """Where an effect size axis ends: the first band edge that nothing drawn exceeds."""
    highest = max((value for value in values if value is not None), default=1.0)
    return next((edge for edge in (0.3, 0.5) if highest <= edge), 1.0)


def _effect(end: float, field: str) -> Spec:
    """An effect size axis from 0; its grid marks tenths, so band edges are always on a line."""
    return number(
        field, title="effect size (Cramér’s V)", scale={"domain": [0, end], "nice": False, "zero": True},
        axis={"values": [tenth / 10 for tenth in range(round(end * 10) + 1)], "format": ".1f",
              "labelOverlap": True, "labelFlush": False},
    )  # fmt: skip


def _value(field: str, **title: str) -> Spec:
    return number(field, scale={"zero": False, "padding": 12}, axis=_FEW, **title)


def _finish(*layers: Spec, **more: Any) -> Spec:
    """The specification without the schema's address, which a page without a network has no use for."""
    return {
        "data": {"name": ROWS}, "layer": list(layers), **more, "width": "container", "config": _CONFIG,
        "autosize": {"type": "fit-x", "contains": "padding"},
    }  # fmt: skip


@cache
def classes(end: float) -> Spec:
    """Effect size of each class by name, corrected where that is known, with interval, and null band."""
    mark = marks("x", partial(_effect, end), {**_LABEL, **_hints(**_OF_CLASS)})
    return _finish(
        mark("bar", "null_low", "null_high", **_CHANCE_BAR),
        mark("rule", "low", "high", **_INTERVAL, clip=True),
        mark("tick", "plain", thickness=2, size=9, color=_INK),
        mark("point", "lead", more=_INKED, **_POINT),
    )


@cache
def overview(end: float) -> Spec:
    """Effect sizes of all classes in order, for runs with more classes than names fit."""
    rank = number(
        "rank", title="classes, highest effect size first", axis={"grid": False, "format": ",d"},
        scale={"nice": False, "zero": False, "padding": 6},
    )  # fmt: skip
    mark = marks("y", partial(_effect, end), {"x": rank, **_hints(**_OF_CLASS)})
    return _finish(
        mark("rule", "null_low", "null_high", strokeWidth=2, color=_CHANCE),
        mark("rule", "low", "high", strokeWidth=0.8, color=_MUTED, opacity=0.45, clip=True),
        mark("point", "lead", more=_INKED, size=12, opacity=1, strokeWidth=0.9),
        height=260,
    )


@cache
def histogram(end: float) -> Spec:
    """How many classes have which effect size, over a typical null band; bins never cross a band edge."""
    bins = {"step": {0.3: 0.02, 0.5: 0.025}.get(end, 0.05), "extent": [0, 1]}
    count = {"aggregate": "count", "type": "quantitative", "title": "classes"}
    mark = marks("x", partial(_effect, end), {})
    chance = mark(
        "rect", "null_low", "null_high", _hints(null="null band of a class in the middle"), color=_CHANCE
    )
    hint = [number("value", bin=bins, title="effect size"), {"field": "band", "title": "band"}, count]
    bars: Spec = {
        "x": {**_effect(end, "value"), "bin": bins},
        "y": {**count, "axis": _WHOLE},
        "tooltip": hint,
    }
    corners = {"binSpacing": 1.5, "cornerRadiusTopLeft": 2, "cornerRadiusTopRight": 2}
    typical = {"data": {"name": TYPICAL}, **chance}
    return _finish(typical, mark("bar", "value", more={**bars, **_BAND}, **corners), height=230)


@cache
def scatter(end: float) -> Spec:
    """Accuracy of each class against its effect size with interval and null band; bands differ in shape."""
    x = number("accuracy", title="accuracy of the class", scale={"zero": False, "padding": 10}, axis=_FEW)
    mark = marks("y", partial(_effect, end), {"x": x})
    hints = _hints(**_OF_CLASS, accuracy="accuracy", band="band")
    return _finish(
        mark("rule", "null_low", "null_high", strokeWidth=5, color=_CHANCE, opacity=0.6),
        mark("rule", "low", "high", strokeWidth=0.9, color=_MUTED, opacity=0.6, clip=True),
        mark("point", "lead", more={**_BAND, **_SHAPE, **hints}, filled=True, size=70, opacity=0.85),
        height=300,
    )


@cache
def groups() -> Spec:
    """Accuracy of each group with interval and null band, and a line at the overall accuracy."""
    mark = marks("x", _value, {**_LABEL, **_hints(**_OF_GROUP)})
    overall = marks("x", number, _hints(value="overall accuracy"))
    return _finish(
        mark("bar", "null_low", "null_high", **_CHANCE_BAR),
        {"data": {"name": OVERALL}, **overall("rule", "value", strokeDash=[4, 3], color=_MUTED)},
        mark("rule", "low", "high", **_INTERVAL),
        mark("point", "value", more={"x": _value("value", title="accuracy"), **_INKED}, **_POINT),
    )


@cache
def change() -> Spec:
    """The change of each part with its interval over its null band; filled where it is more than noise."""
    mark = marks("x", _value, {**_LABEL, **_hints(**_OF_CHANGE)})
    zero = marks("x", _value, {})("rule", "zero", strokeWidth=1, color=_MUTED, clip=True)
    point = {"x": _value("value", title="change (first minus second)"), **_INKED}
    return _finish(
        mark("bar", "null_low", "null_high", **_CHANCE_BAR),
        {"data": {"values": [{"zero": 0}]}, **zero},
        mark("rule", "low", "high", **_INTERVAL, clip=True),
        mark("point", "value", more=point, **_POINT),
    )


@cache
def before_after() -> Spec:
    """Both models' values of each part, joined: a square for the second, a filled circle for the first."""
    mark = marks("x", _value, {**_LABEL, **_hints(**_OF_CHANGE)})
    first = {"x": _value("first", title="value of both models")}
    return _finish(
        mark("rule", "second", "first", strokeWidth=2, color=_MUTED, clip=True),
        mark("point", "second", shape="square", size=60, opacity=1, stroke=_INK, fill=_PAPER),
        mark("point", "first", more=first, size=64, opacity=1, stroke=_ACCENT, fill=_ACCENT),
    )


_CONFIG: Spec = {
    "aria": False,
    "background": None,
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": _MUTED, "titleColor": _MUTED, "gridColor": _LINE, "domainColor": _LINE,
        "tickColor": _LINE, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "titlePadding": 9, "labelPadding": 5,
    },
    "axisY": {"labelColor": _INK},
}  # fmt: skip
