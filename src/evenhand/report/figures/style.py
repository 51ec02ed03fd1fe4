"""Colours, sizes and axes that all kinds of figures share; made for white paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.unseen import visible
from evenhand.display.text.formatting import MINUS, count, number, p_value, shorten
from evenhand.display.text.language import _, digits

if TYPE_CHECKING:
    from evenhand.core.figure import Format

FONT = "DejaVu Sans, Verdana, Geneva, sans-serif"
INK, MUTED, LINE, PAPER, BAND, ACCENT = "#1e2326", "#59636a", "#dedad0", "#ffffff", "#c9cdd0", "#0072b2"
ON_LIGHT, ON_DARK = "#1d2225", "#fefefe"
"""Text on cells whose colour is a value, and so is the same on light pages and dark ones."""
CHARACTER = 6.6
"""Pixels that a character of a label takes, at most sizes in use."""

# Okabe and Ito's colours, which people with any common colour blindness tell apart; then darker and lighter
# ones of Paul Tol's. Shapes and dashes repeat what colours say.
_COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#999933", "#882255",
    "#332288", "#88ccee", "#117733", "#ddcc77", "#aa4499", "#666666", "#661100",
)  # fmt: skip
_CALLED = {
    "red": "#d55e00", "green": "#009e73", "blue": "#0072b2", "orange": "#e69f00", "yellow": "#ddcc77",
    "black": "#000000", "grey": "#666666", "gray": "#666666", "purple": "#aa4499", "pink": "#cc79a7",
    "brown": "#661100",
}  # fmt: skip
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_DASHES = ([1, 0], [7, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 4, 1, 4])
_SEQUENTIAL = ("#f3f7fb", "#b5d0e6", "#6aa3cd", "#2f77a6", "#0b4470")
_SHADES = dict(zip(("negligible", "small", "medium", "large"), _SEQUENTIAL[1:], strict=True))
_SHADES["undefined"] = BAND
_DIVERGING = ("#a5500a", "#e9b26a", "#f7f7f5", "#7db4d9", "#0b5a94")


_FOLLOWING = {
    INK: "var(--ink)", MUTED: "var(--muted)", LINE: "var(--line)", PAPER: "var(--paper)",
    BAND: "var(--chance)",
    **{colour: f"var(--series-{series})" for series, colour in enumerate(_COLOURS, 1)},
}  # fmt: skip


def following(node: Any) -> Any:
    """A specification whose colours are names in the page's style, so that light, dark and print differ.

    Shades of values stay: they are read against their own legend. So do the contents of pictures.
    """
    if isinstance(node, list):
        return [following(item) for item in node]
    if isinstance(node, dict):
        return {key: following(value) for key, value in node.items()}
    return _FOLLOWING.get(node, node) if isinstance(node, str) else node


def colours(n: int) -> list[str]:
    """So many colours; they begin again after 16."""
    return [_COLOURS[index % len(_COLOURS)] for index in range(n)]


def colours_of(names: Sequence[str]) -> list[str]:
    """A colour for each name: what is called a colour has that one, ordered bands are shades of one hue."""
    if names and all(name in _SHADES for name in names):
        return [_SHADES[name] for name in names]
    own_colours = {name: _CALLED[name.casefold()] for name in names if name.casefold() in _CALLED}
    others = iter([colour for colour in _COLOURS if colour not in own_colours.values()] * (1 + len(names)))
    return [own_colours.get(name) or next(others) for name in names]


def shapes(n: int) -> list[str]:
    """So many shapes; they begin again after 6."""
    return [_SHAPES[index % len(_SHAPES)] for index in range(n)]


def ramp(diverging: bool) -> list[str]:
    """The colours of a heatmap, from the lowest value to the highest."""
    return list(_DIVERGING if diverging else _SEQUENTIAL)


def written(value: object, how: Format = "number") -> str:
    """A value as text, in the way that its column asks for; a dash where there is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "–" if value is None else visible(value)
    if math.isnan(value):
        return "–"
    if how == "percent":
        return _("{level}%", level=digits(f"{value * 100:z.1f}".replace("-", MINUS)))
    if how == "text" or math.isinf(value):
        return str(value).replace("-", MINUS)
    if how == "p":
        return p_value(value)
    return count(value).replace("-", MINUS) if how != "number" or isinstance(value, int) else number(value)


def tick_format(how: Format | None) -> str:
    """How an axis writes its numbers, in d3's language."""
    return {"percent": ".3~p", "count": ",.3~f", "short": "~s"}.get(how or "", ",.4~f")


def label_width(names: Sequence[str], limit: float = 220) -> float:
    """Pixels that the longest of the names takes, up to the limit."""
    return min(limit, max((len(name) for name in names), default=0) * CHARACTER)


def legend(title: str, names: Sequence[str], width: float) -> dict[str, Any]:
    """A legend above the figure with as many columns as the width holds."""
    across = max(1, int(width // (label_width(names, 260) + 34)))
    return {
        "title": shorten(title) or None, "orient": "top", "direction": "horizontal", "columns": across,
        "labelLimit": 260, "symbolLimit": 0, "titleLimit": 300, "symbolOpacity": 1,
    }  # fmt: skip


def config() -> dict[str, Any]:
    """The configuration of every figure."""
    axis = {
        "labelColor": INK, "titleColor": MUTED, "gridColor": LINE, "domainColor": MUTED, "tickColor": MUTED,
        "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "titlePadding": 8,
        "labelPadding": 4, "labelLimit": 220, "titleLimit": 400, "maxExtent": 300,
    }  # fmt: skip
    return {
        "aria": True,
        "background": PAPER,
        "font": FONT,
        "padding": 14,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 11, "titleFontSize": 11,
                   "titleFontWeight": "normal", "symbolType": "circle"},
        "title": {"anchor": "start", "color": INK, "fontSize": 12, "fontWeight": "bold", "frame": "group",
                  "subtitleColor": MUTED, "subtitleFontSize": 11, "limit": 900, "offset": 8},
        "concat": {"spacing": 22},
    }  # fmt: skip
