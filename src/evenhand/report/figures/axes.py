"""Axes, colours and tooltips of a figure's panels, alike for all panels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from evenhand.core.findings import Ends
from evenhand.display.text.language import _, filled
from evenhand.report.figures import style, vega
from evenhand.report.figures.frame import FigureData, Panel, Row, finite
from evenhand.report.figures.layout import Spec, layered

INNER, OUTER = 0.18, 0.12
"""Room between names along an axis and at its ends, as shares of a step."""

_HEADING_GAP, _HEADING_LINE = 10, 14
_INTERVAL_KEYS = ("low", "high", "null_low", "null_high")


def data(rows: Sequence[Row]) -> Any:
    """Rows as inline data, without what is empty and what only the preparation needed."""
    left = ("from", "facets", "reason")
    records = [
        {key: value for key, value in row.items() if value is not None and key not in left} for row in rows
    ]
    return style.inline(records)


def extent(prepared: FigureData, role: str, panel: Panel | None = None) -> Ends:
    """Where a number axis begins and ends: everything drawn on it, and zero for bars.

    Where panels are independent, ``panel`` alone counts.
    """
    own_panel = panel if role in prepared.figure.independent else None
    key = (role, None if own_panel is None else own_panel.position)
    if key not in prepared.extents:  # layers of one panel ask again and again
        prepared.extents[key] = _extent(prepared, role, prepared.panels if own_panel is None else [own_panel])
    return prepared.extents[key]


def _extent(prepared: FigureData, role: str, panels: Sequence[Panel]) -> Ends:
    figure = prepared.figure
    if role in figure.domain:
        return figure.domain[role]
    ends: Iterable[str] = _INTERVAL_KEYS if value_role(prepared) == role else ("left", "right")
    values = [
        row[key] for panel in panels for row in panel.rows for key in (role, *ends) if row[key] is not None
    ]
    values += [at for panel in panels for axis, at, _ in panel.references if axis == role]
    log = role in figure.log
    values = [value for value in values if finite(value) and (value > 0 or not log)]
    if figure.kind in ("bars", "stacked") and not log and values:
        values.append(0.0)
    low, high = (min(values), max(values)) if values else (1.0, 10.0) if log else (0.0, 1.0)
    if log:
        factor = (high / low) ** 0.06 if high > low else 2.0
        return low / factor, high * factor
    pad = (high - low) * (0.14 if figure.kind == "density" else 0.06) or abs(high) * 0.1 or 0.5
    at_zero = figure.kind in ("bars", "stacked")
    begin, end = low if at_zero and low == 0 else low - pad, high if at_zero and high == 0 else high + pad
    if figure.formats.get(getattr(figure, role)) == "percent" and low >= 0 and high <= 1:
        return max(begin, 0.0), min(end, 1.0)  # no share lies outside
    return begin, end


def value_role(prepared: FigureData) -> str:
    """Which axis carries the values that intervals belong to."""
    return "x" if "y" in prepared.names else "y"


def number_axis(
    prepared: FigureData, panel: Panel, role: str, size: float, *, field: str | None = None
) -> Any:
    """A channel of numbers; ``field`` is another key drawn on the same axis."""
    figure = prepared.figure
    low, high = extent(prepared, role, panel)
    log = role in figure.log
    scale = vega.options(type="log", domain=[low, high], nice=False)
    if not log:
        scale = vega.options(type="linear", domain=[low, high], nice=False, zero=False)
    how = figure.formats.get(getattr(figure, role))
    ticks = max(2, int(size // (70 if role == "x" else 45)))
    axis = vega.options(
        format=style.tick_format(how), tickCount=ticks, labels=_labelled(prepared, panel, role),
        title=axis_title(prepared, panel, role), labelFlush=False, labelOverlap=True,
    )  # fmt: skip
    if log:
        axis["values"] = _log_ticks(low, high)
    if how == "short":
        axis["labelExpr"] = "replace(format(datum.value, '~s'), 'G', 'B')"
    return vega.options(field=field or role, type="quantitative", scale=scale, axis=axis, stack=None)


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    ticks = [nearest(factor * 10.0**power) for power in range(first, last + 1) for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


def name_axis(prepared: FigureData, panel: Panel, role: str, step: float) -> Any:
    """A channel of names in their order."""
    order = prepared.order_in(role, panel)
    slanted = role == "x" and style.label_width(order) > step
    axis = vega.options(
        labels=_labelled(prepared, panel, role), ticks=False, grid=False, labelAngle=-40 if slanted else 0,
        title=axis_title(prepared, panel, role), labelOverlap=False, labelLimit=190 if slanted else 220,
        domainColor=style.LINE,
    )  # fmt: skip
    scale = vega.options(type="band", domain=order, paddingInner=INNER, paddingOuter=OUTER)
    return vega.options(field=role, type="nominal", sort=None, scale=scale, axis=axis)


def _labelled(prepared: FigureData, panel: Panel, role: str) -> bool:
    """Whether a panel writes an axis's labels: always where it is its own, else only at the edge."""
    if role in prepared.figure.independent:
        return True
    if role == "y":
        return panel.position[1] == min(
            other.position[1] for other in prepared.panels if other.position[0] == panel.position[0]
        )
    return panel.position[0] == max(
        other.position[0] for other in prepared.panels if other.position[1] == panel.position[1]
    )


def axis_title(prepared: FigureData, panel: Panel, role: str) -> str | None:
    """The words along an axis, where its labels are."""
    return (prepared.title(role) or None) if _labelled(prepared, panel, role) else None


def colour(prepared: FigureData, width: float, *, shaped: bool = False, with_legend: bool = True) -> Any:
    """The colour channel: one colour each, or one colour for all."""
    order = prepared.orders["colour"]
    if not prepared.figure.colour:
        return vega.constant(style.ACCENT)
    legend = style.legend(prepared.title("colour"), order, width) if with_legend else None
    if legend is not None and not shaped:
        legend["symbolType"] = "square"
    scale = vega.options(domain=order, range=style.colours_of(order))
    return vega.options(field="colour", type="nominal", sort=None, scale=scale, legend=legend)


def shade_ends(prepared: FigureData) -> Ends:
    """The values at the ends of the colours, to both sides of the centre alike."""
    figure = prepared.figure
    values = [row["value"] for row in prepared.rows] or [0.0]
    low, high = figure.domain.get("value", (min(values), max(values)))
    if figure.centre is not None:
        reach = max(abs(low - figure.centre), abs(high - figure.centre))
        low, high = figure.centre - reach, figure.centre + reach
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def shade(prepared: FigureData, low: float, high: float) -> Any:
    """The colour channel of values, from light to dark, or to both sides of a centre."""
    figure = prepared.figure
    scale = vega.options(
        domain=[low, high],
        range=style.ramp(figure.centre is not None),
        nice=False,
        clamp=True,
        interpolate="rgb",
    )
    ticks = ".1%" if figure.formats.get(figure.value) == "percent" else ".3~f"
    legend = vega.options(title=prepared.title("value"), orient="right", format=ticks, gradientLength=140)
    return vega.options(field="value", type="quantitative", scale=scale, legend=legend)


def shape(prepared: FigureData, width: float) -> Any:
    """The shape channel, which says again what the colour says."""
    order = prepared.orders["colour"]
    if not prepared.figure.colour:
        return vega.constant("circle")
    scale = vega.options(domain=order, range=style.shapes(len(order)))
    legend = style.legend(prepared.title("colour"), order, width)
    return vega.options(field="colour", type="nominal", sort=None, scale=scale, legend=legend)


def tooltip(prepared: FigureData, rows: Sequence[Row]) -> list[Any]:
    """What hovering tells; the texts are made here, and written into the rows."""
    figure = prepared.figure
    titles: dict[str, str] = {}
    for role in ("label", "y", "x", "value", "colour"):
        column = getattr(figure, role)
        if not column:
            continue
        titles[f"{role}_text"] = prepared.title(role)
        for row in rows:
            value = row[role]
            row[f"{role}_text"] = (
                value
                if isinstance(value, str)
                else style.written(value, figure.formats.get(column, "number"))
            )
    how = figure.formats.get(getattr(figure, value_role(prepared)), "number")
    for low, high, title in (
        ("low", "high", filled(figure.interval)),
        ("null_low", "null_high", _("by chance")),
    ):
        if getattr(figure, low):
            titles[f"{low}_text"] = title
            for row in rows:
                is_complete = row[low] is not None and row[high] is not None
                start, end = (style.written(row[name], how) for name in (low, high))
                row[f"{low}_text"] = _("{low} to {high}", low=start, high=end) if is_complete else "–"
    titles["source"] = _("source")
    # The tooltip takes a key "image" for the address of a picture, and "title" for a heading.
    return [
        vega.options(field=key, type="nominal", title=f"{title or key} ") for key, title in titles.items()
    ]


def reference_layers(panel: Panel, width: float) -> list[vega.Layer]:
    """Reference lines over the whole panel with their words; the caller gives them the panel's scales."""
    layers: list[vega.Layer] = []
    for axis, at, text in panel.references:
        rows = style.inline([{"at": at, "text": text}])
        line = vega.Layer(rows).mark("rule", strokeDash=[5, 4], color=style.MUTED, strokeWidth=1.2)
        encoded = {axis: vega.options(field="at", type="quantitative")}
        layers.append(line.encode(**encoded))
        if text:
            other = {"y": vega.constant(-4)} if axis == "x" else {"x": vega.constant(width + 4)}
            mark: dict[str, Any] = (
                {"align": "center", "baseline": "bottom"} if axis == "x"
                else {"align": "left", "baseline": "middle"}
            )  # fmt: skip
            words = vega.Layer(rows).mark("text", color=style.MUTED, fontSize=10, **mark)
            words = words.encode(text=vega.options(field="text", type="nominal"), **encoded, **other)
            layers.append(words)
    return layers


def panel_heading(prepared: FigureData, panel: Panel) -> list[vega.Layer]:
    """A panel's title with the numbers under it, as layers: so it is as high above its axes as all others."""
    marked = any(axis == "x" and text for panel in prepared.panels for axis, _, text in panel.references)
    lines = [(panel.title, "bold"), *((line, "normal") for line in panel.above)]
    lines = [(text, weight) for text, weight in lines if text]
    layers = []
    for index, (text, weight) in enumerate(reversed(lines)):
        height = _HEADING_GAP + index * _HEADING_LINE + (_HEADING_LINE if marked else 0)
        mark: Any = {"align": "left", "baseline": "bottom", "fontSize": 11, "fontWeight": weight}
        chart = vega.Layer(style.inline([{"heading": text}])).mark(
            "text", color=style.INK if weight == "bold" else style.MUTED, **mark
        )
        words = vega.options(field="heading", type="nominal")
        layers.append(chart.encode(x=vega.constant(0), y=vega.constant(-height), text=words))
    return layers


def with_heading(layers: Sequence[Any], prepared: FigureData, panel: Panel) -> Spec:
    """A panel of two number axes: its layers, reference lines and heading."""
    width, height = panel_size(prepared)
    further = [*reference_layers(panel, width), *panel_heading(prepared, panel)]
    return layered([*layers, *further], width=width, height=height)


def panel_size(prepared: FigureData) -> Ends:
    """Width and height of a panel of two number axes, by how many stand beside each other."""
    across = 1 + max(panel.position[1] for panel in prepared.panels)
    if across == 1:
        return (460, 320) if len(prepared.panels) == 1 else (460, 200)
    return (330, 250) if across == 2 else (max(170, round(780 / across)), 210)


def nearest(value: float) -> float:
    """A number without the digits that only rounding put there, so that files are alike everywhere."""
    return float(f"{value:.10g}") if math.isfinite(value) else value
