"""Numbers and keys as the terminal shows them."""

from __future__ import annotations

from rich.markup import escape

from evenhand.core.errors import one_line
from evenhand.core.results import Interval, Null


def span(band: Interval | Null | None) -> str:
    """A band as two numbers; an en dash where there is none."""
    return "–" if band is None else f"{band.low:z.3f} … {band.high:z.3f}"


def probability(p: float | None) -> str:
    """A p-value with three digits."""
    if p is None:
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}"


def clean(key: str | list[str], most: int = 40) -> str:
    """A key as short, harmless terminal text; what has nothing to show says so."""
    names = [key] if isinstance(key, str) else key
    text = " · ".join(one_line(name) or ("(blank)" if name else "(empty)") for name in names)
    return escape(text if len(text) <= most else text[: most - 1] + "…")
