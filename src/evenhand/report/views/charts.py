"""Vega-Lite specifications of the report's charts; they name their data and hold none.

Colours are custom properties of the page's stylesheet, so that one drawing serves light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import altair as alt

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
_BAND_COLOURS = [f"var(--{band})" for band in _BANDS]
_BAND_SHAPES = ["circle", "square", "triangle-up", "diamond"]
_TICKS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

_FEW = alt.Axis(tickCount=6, format=".3~f", labelFlush=False, labelOverlap=True)
_WHOLE = alt.Axis(tickCount=5, labelExpr="datum.value % 1 ? '' : format(datum.value, ',')")

Spec = dict[str, Any]


def axis_end(values: Iterable[float | None]) -> float:
    """Where an effect size axis ends: the first band edge that nothing drawn exceeds."""
    highest = max((value for value in values if value is not None), default=1.0)
    return next((edge for edge in (0.3, 0.5) if highest <= edge), 1.0)


@cache
def classes(end: float) -> Spec:
    """Effect size of each class by name, with interval, corrected value and null band."""
    y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=190, domain=False, ticks=False))
    x = _effect(alt.X, "value:Q", end)
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(y=y, tooltip=_tooltip())
    band = base.mark_bar(size=11, color=_CHANCE, cornerRadius=2).encode(
        x=_effect(alt.X, "null_low:Q", end), x2=alt.X2("null_high:Q")
    )
    interval = base.mark_rule(strokeWidth=1.6, color=_INK, clip=True).encode(
        x=_effect(alt.X, "low:Q", end), x2=alt.X2("high:Q")
    )
    corrected = base.mark_tick(thickness=2, size=9, color=_INK).encode(x=_effect(alt.X, "corrected:Q", end))
    point = _point(base, size=64, stroke=1.5).encode(x=x)
    return _finish(alt.layer(band, interval, corrected, point).properties(width="container"))


@cache
def overview(end: float) -> Spec:
    """Effect sizes of all classes in order, for runs with more classes than names fit."""
    x = alt.X("rank:Q", title="classes, highest effect size first", axis=alt.Axis(grid=False, format=",d"))
    x = x.scale(nice=False, zero=False, padding=6)
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(x=x, tooltip=_tooltip())
    band = base.mark_rule(strokeWidth=2, color=_CHANCE).encode(
        y=_effect(alt.Y, "null_low:Q", end), y2=alt.Y2("null_high:Q")
    )
    interval = base.mark_rule(strokeWidth=0.8, color=_MUTED, opacity=0.45, clip=True).encode(
        y=_effect(alt.Y, "low:Q", end), y2=alt.Y2("high:Q")
    )
    point = _point(base, size=12, stroke=0.9).encode(y=_effect(alt.Y, "value:Q", end))
    return _finish(alt.layer(band, interval, point).properties(width="container", height=260))


@cache
def histogram(end: float) -> Spec:
    """How many classes have which effect size, over a typical null band; bins never cross a band edge."""
    step = {0.3: 0.02, 0.5: 0.025}.get(end, 0.05)
    chance = (
        alt.Chart(alt.NamedData(name=TYPICAL))
        .mark_rect(color=_CHANCE)
        .encode(
            x=_effect(alt.X, "null_low:Q", end),
            x2=alt.X2("null_high:Q"),
            tooltip=[alt.Tooltip("null:N", title="null band of a class in the middle")],
        )
    )
    bars = (
        alt.Chart(alt.NamedData(name=ROWS))
        .mark_bar(binSpacing=1.5, cornerRadiusTopLeft=2, cornerRadiusTopRight=2)
        .encode(
            x=_effect(alt.X, "value:Q", end).bin(alt.Bin(step=step, extent=[0, 1])),
            y=alt.Y("count():Q", title="classes", axis=_WHOLE),
            color=_band_colour(),
            tooltip=[
                alt.Tooltip("value:Q", bin=alt.Bin(step=step, extent=[0, 1]), title="effect size"),
                alt.Tooltip("band:N", title="band"),
                alt.Tooltip("count():Q", title="classes"),
            ],
        )
    )
    return _finish(alt.layer(chance, bars).properties(width="container", height=230))


@cache
def scatter(end: float) -> Spec:
    """Accuracy of each class against its effect size with interval and null band; bands differ in shape."""
    x = alt.X("accuracy:Q", title="accuracy of the class", scale=alt.Scale(zero=False, padding=10), axis=_FEW)
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(x=x)
    chance = base.mark_rule(strokeWidth=5, color=_CHANCE, opacity=0.6).encode(
        y=_effect(alt.Y, "null_low:Q", end), y2=alt.Y2("null_high:Q")
    )
    interval = base.mark_rule(strokeWidth=0.9, color=_MUTED, opacity=0.6, clip=True).encode(
        y=_effect(alt.Y, "low:Q", end), y2=alt.Y2("high:Q")
    )
    shape = alt.Shape("band:N", scale=alt.Scale(domain=_BANDS, range=_BAND_SHAPES), legend=None)
    point = base.mark_point(filled=True, size=70, opacity=0.85).encode(
        y=_effect(alt.Y, "value:Q", end),
        color=_band_colour(),
        shape=shape,
        tooltip=[*_tooltip(), alt.Tooltip("accuracy:Q", format=".3f"), alt.Tooltip("band:N")],
    )
    return _finish(alt.layer(chance, interval, point).properties(width="container", height=300))


@cache
def groups() -> Spec:
    """Accuracy of each group with interval and null band, and a line at the overall accuracy."""
    y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=190, domain=False, ticks=False))
    tooltip = [
        alt.Tooltip("label:N", title="group"),
        alt.Tooltip("value:Q", title="accuracy", format=".3f"),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("null:N", title="null band"),
        alt.Tooltip("reading:N", title="reading"),
        alt.Tooltip("n:Q", title="rows", format=","),
    ]
    scale = alt.Scale(zero=False, padding=12)
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(y=y, tooltip=tooltip)
    band = base.mark_bar(size=11, color=_CHANCE, cornerRadius=2).encode(
        x=alt.X("null_low:Q", scale=scale, axis=_FEW), x2=alt.X2("null_high:Q")
    )
    interval = base.mark_rule(strokeWidth=1.6, color=_INK).encode(
        x=alt.X("low:Q", scale=scale, axis=_FEW), x2=alt.X2("high:Q")
    )
    point = _point(base, size=64, stroke=1.5).encode(
        x=alt.X("value:Q", title="accuracy", scale=scale, axis=_FEW)
    )
    line = (
        alt.Chart(alt.NamedData(name=OVERALL))
        .mark_rule(strokeDash=[4, 3], color=_MUTED)
        .encode(x=alt.X("value:Q"), tooltip=[alt.Tooltip("value:Q", title="overall accuracy", format=".3f")])
    )
    return _finish(alt.layer(band, line, interval, point).properties(width="container"))


def _effect(channel: Any, field: str, end: float) -> Any:
    """An effect size axis from 0; its grid marks tenths, so band edges are always on a line."""
    scale = alt.Scale(domain=[0, end], nice=False, zero=True)
    axis = alt.Axis(
        values=[tick for tick in _TICKS if tick <= end], format=".1f", labelOverlap=True, labelFlush=False
    )
    return channel(field, title="effect size (Cramér’s V)", scale=scale, axis=axis)


def _point(base: alt.Chart, size: int, stroke: float) -> Any:
    """Filled beyond chance, hollow within it."""
    fill = alt.FillValue(_PAPER, condition={"test": "datum.outside", "value": _ACCENT})
    return base.mark_point(size=size, opacity=1, stroke=_ACCENT, strokeWidth=stroke).encode(fill=fill)


def _band_colour() -> alt.Color:
    scale = alt.Scale(domain=_BANDS, range=_BAND_COLOURS)
    return alt.Color("band:N", scale=scale, legend=None)


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="class"),
        alt.Tooltip("value:Q", title="effect size", format=".3f"),
        alt.Tooltip("corrected:Q", title="corrected for chance", format=".3f"),
        alt.Tooltip("interval:N", title="interval of the corrected"),
        alt.Tooltip("null:N", title="null band"),
        alt.Tooltip("reading:N", title="reading"),
        alt.Tooltip("n:Q", title="rows", format=","),
    ]


def _finish(chart: Any) -> Spec:
    """The specification without the schema's address, which a page without a network has no use for."""
    spec: Spec = chart.to_dict()
    spec.pop("$schema", None)
    spec["config"] = _CONFIG
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


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
