"""A panel of a figure as plain Vega-Lite: its size, axes, colours and tooltips, and marks over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evenhand.core.findings import Ends
from evenhand.display.marks import Spec, number
from evenhand.report.figures import style
from evenhand.report.figures.frame import SOURCES, FigureData, Panel, Row, finite

INNER, OUTER = 0.18, 0.12
"""Room between names along an axis and at its ends, as shares of a step."""

_HEADING_GAP, _HEADING_LINE = 10, 14
_SPANS = ("low", "high", "null_low", "null_high")


def layer(kind: str, rows: Sequence[Row], encoding: Spec, **mark: Any) -> Spec:
    """One mark for each row; whatever is not in the encoding is the same for all."""
    return {"data": {"values": rows}, "mark": {"type": kind, **mark}, "encoding": encoding}


def between(low: float, high: float) -> Spec:
    """A scale that begins and ends just there."""
    return {"domain": [low, high], "nice": False, "zero": False}


def pixels(across: str = "x", down: str = "y") -> Spec:
    """Channels of places in pixels from the upper left corner, without axes."""
    return {"x": number(across, scale=None, axis=None), "y": number(down, scale=None, axis=None)}


def value_role(prepared: FigureData) -> str:
    """Which axis carries the values that intervals belong to."""
    return "x" if "y" in prepared.names else "y"


class Plot:
    """A panel to draw on, with the channels that its marks share."""

    def __init__(
        self, prepared: FigureData, panel: Panel, width: float = 0, height: float = 0, legend: float = 780
    ) -> None:
        self.prepared, self.panel, self.figure = prepared, panel, prepared.figure
        if not width:  # two number axes: by how many panels stand beside each other
            across = 1 + max(other.position[1] for other in prepared.panels)
            width, height = (330, 250) if across == 2 else (max(170, round(780 / across)), 210)
            if across == 1:
                width, height = 460, 320 if len(prepared.panels) == 1 else 200
        self.width, self.height, self._legend = width, height, legend
        for role in {"x", "y"} - prepared.names:
            if role in self.figure.independent or role not in prepared.extents:
                prepared.extents[role] = self._extent(role)
        self.ends = dict(prepared.extents)
        self.gaps = {"paddingInner": INNER, "paddingOuter": OUTER}
        self.places = {"x": self.axis("x"), "y": self.axis("y")}

    def _extent(self, role: str) -> Ends:
        """Where a number axis begins and ends: everything drawn on it, and zero for bars."""
        figure, log = self.figure, role in self.figure.log
        if role in figure.domain:
            return figure.domain[role]
        if figure.kind == "stacked":
            return _stack_ends(self.prepared.rows, role)
        panels = [self.panel] if role in figure.independent else self.prepared.panels
        keys = (role, *(_SPANS if value_role(self.prepared) == role else ("left", "right")))
        values = [row[key] for panel in panels for row in panel.rows for key in keys]
        values += [at for panel in panels for axis, at, _ in panel.references if axis == role]
        values = [value for value in values if finite(value) and (value > 0 or not log)]
        if figure.kind == "bars" and not log and values:
            values.append(0.0)
        low, high = (min(values), max(values)) if values else (1.0, 10.0) if log else (0.0, 1.0)
        if log:
            factor = (high / low) ** 0.06 if high > low else 2.0
            return low / factor, high * factor
        pad = (high - low) * (0.14 if figure.kind == "density" else 0.06) or abs(high) * 0.1 or 0.5
        begin, end = (
            at if figure.kind == "bars" and at == 0 else at + side for at, side in ((low, -pad), (high, pad))
        )
        if figure.formats.get(getattr(figure, role)) == "percent" and low >= 0 and high <= 1:
            return max(begin, 0.0), min(end, 1.0)  # no share lies outside
        return begin, end

    def axis(self, role: str, field: str = "") -> Spec:
        """The channel of names in their order, or of numbers; ``field`` is another key along the same axis.

        Labels and title stand at the edge of the panels, or at each panel whose axis is its own.
        """
        row, column = self.panel.position
        edge = role in self.figure.independent or not any(
            (down == row and across < column) if role == "y" else (across == column and down > row)
            for down, across in (other.position for other in self.prepared.panels)
        )
        axis: Spec = {"labels": edge, "title": (self.prepared.title(role) or None) if edge else None}
        size = self.width if role == "x" else self.height
        if role in self.prepared.names:
            order = self.prepared.order_in(role, self.panel)
            slanted = role == "x" and style.label_width(order) > size / max(len(order), 1)
            axis |= {"labelAngle": -40 if slanted else 0, "labelLimit": 190 if slanted else 220}
            return {
                "field": role, "sort": None, "scale": {"domain": order, "type": "band", **self.gaps},
                "axis": {**axis, "ticks": False, "grid": False, "domainColor": style.LINE},
            }  # fmt: skip
        low, high = self.ends[role]
        how = self.figure.formats.get(getattr(self.figure, role))
        ticks = max(2, int(size // (70 if role == "x" else 45)))
        axis |= {"format": style.tick_format(how), "tickCount": ticks, "labelFlush": False}
        scale = between(low, high)
        if role in self.figure.log:
            scale = {"domain": [low, high], "nice": False, "type": "log"}  # which has no 0 to leave out
            axis |= {"values": _log_ticks(low, high), "labelOverlap": True}
        if how == "short":
            axis["labelExpr"] = "replace(format(datum.value, '~s'), 'G', 'B')"
        return number(field or role, scale=scale, axis=axis, stack=None)

    def mark(self, kind: str, rows: Sequence[Row], encoding: Spec | None = None, **mark: Any) -> Spec:
        """Marks at their places, unless the encoding says otherwise."""
        return layer(kind, rows, {**self.places, **(encoding or {})}, **mark)

    def spans(
        self, kind: str, role: str, low: str, high: str, encoding: Spec | None = None,
        rows: Sequence[Row] | None = None, **mark: Any,
    ) -> list[Spec]:  # fmt: skip
        """Marks along an axis from one key to another, of the rows that have both."""
        rows = self.panel.rows if rows is None else rows
        rows = [row for row in rows if row[low] is not None and row[high] is not None]
        reach = {role: self.axis(role, low), f"{role}2": {"field": high}, **(encoding or {})}
        return [self.mark(kind, rows, reach, clip=True, **mark)] if rows else []

    def by_source(self, ours: Spec, paper: Spec) -> list[tuple[list[Row], Spec]]:
        """Our rows, and the paper's if there are any, each with its look."""
        rows = [[row for row in self.panel.rows if row["source"] == source] for source in SOURCES]
        return [(rows[0], ours), *([(rows[1], paper)] if rows[1] else [])]

    def tint(self) -> Spec:
        """The colour channel: one colour each, or one colour for all."""
        order = self.prepared.orders["colour"]
        if not self.figure.colour:
            return {"color": {"value": style.ACCENT}}
        legend = self._legend_of(order)
        if self.figure.kind not in ("dots", "scatter", "lines"):
            legend["symbolType"] = "square"
        scale = {"domain": order, "range": style.colours_of(order)}
        return {"color": {"field": "colour", "scale": scale, "legend": legend}}

    def shaped(self) -> Spec:
        """Colour, and the shape that says it again."""
        order = self.prepared.orders["colour"]
        if not self.figure.colour:
            return {**self.tint(), "shape": {"value": "circle"}}
        scale = {"domain": order, "range": style.shapes(len(order))}
        return {
            **self.tint(),
            "shape": {"field": "colour", "scale": scale, "legend": self._legend_of(order)},
        }

    def _legend_of(self, order: list[str]) -> Spec:
        return style.legend(self.prepared.title("colour"), order, self._legend)

    def hint(self) -> Spec:
        """What hovering tells."""
        return {"tooltip": self.prepared.hints}

    def shade(self) -> Spec:
        """The colour channel of values, from light to dark, or to both sides of a centre."""
        scale = between(*shade_ends(self.prepared))
        scale |= {"range": style.ramp(self.figure.centre is not None), "clamp": True, "interpolate": "rgb"}
        ticks = ".1%" if self.figure.formats.get(self.figure.value) == "percent" else ".3~f"
        legend = {"title": self.prepared.title("value"), "format": ticks, "gradientLength": 140}
        return {"color": number("value", scale=scale, legend=legend)}

    def finished(self, layers: Sequence[Spec]) -> Spec:
        """Layers, reference lines with their words, and the heading, as high above the axes as all others."""
        further = []
        for axis, at, text in self.panel.references:
            rows, encoding = [{"at": at, "text": text}], {axis: number("at")}
            look = {"color": style.MUTED, "strokeWidth": 1.2}
            further.append(layer("rule", rows, encoding, strokeDash=[5, 4], **look))
            if text:
                words = {"align": "left", "baseline": "middle", "x": self.width + 4}
                if axis == "x":
                    words = {"align": "center", "baseline": "bottom", "y": -4}
                encoding = {**encoding, "text": {"field": "text"}}
                further.append(layer("text", rows, encoding, color=style.MUTED, fontSize=10, **words))
        marked = any(
            axis == "x" and text for panel in self.prepared.panels for axis, _, text in panel.references
        )
        lines = [(self.panel.title, style.INK, "bold")]
        lines += [(line, style.MUTED, "normal") for line in self.panel.above]
        for index, (line, colour, weight) in enumerate(reversed([line for line in lines if line[0]])):
            height = _HEADING_GAP + index * _HEADING_LINE + (_HEADING_LINE if marked else 0)
            look = {"align": "left", "baseline": "bottom", "color": colour, "fontWeight": weight}
            text_of = {"text": {"field": "heading"}}
            further.append(layer("text", [{"heading": line}], text_of, x=0, y=-height, **look))
        return {"layer": [*layers, *further], "width": self.width, "height": self.height}


def _stack_ends(rows: Sequence[Row], role: str) -> Ends:
    totals: dict[tuple[Any, ...], float] = {}
    for row in rows:
        key = (row["facets"], row["y" if role == "x" else "x"], row["source"])
        totals[key] = totals.get(key, 0.0) + row[role]
    highest = max(totals.values(), default=1.0)
    return 0.0, 1.0 if 0.98 < highest < 1.0001 else highest * 1.04 or 1.0


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them where there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    ticks = [nearest(factor * 10.0**power) for power in powers for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


def shade_ends(prepared: FigureData) -> Ends:
    """The values at the ends of the colours, to both sides of the centre alike."""
    figure = prepared.figure
    values = [row["value"] for row in prepared.rows if row["value"] is not None] or [0.0]
    low, high = figure.domain.get("value", (min(values), max(values)))
    if figure.centre is not None:
        reach = max(abs(low - figure.centre), abs(high - figure.centre))
        low, high = figure.centre - reach, figure.centre + reach
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def nearest(value: float) -> float:
    """A number without the digits that only rounding put there, so that files are alike everywhere."""
    return float(f"{value:.10g}") if math.isfinite(value) else value


def under(specs: Sequence[Spec], **properties: Any) -> Spec:
    """Specifications under each other, from the top."""
    return {"vconcat": list(specs), **properties}
