"""Marks along an axis as plain Vega-Lite; importing Altair takes a third of a small audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Spec = dict[str, Any]


def number(field: str, **more: Any) -> Spec:
    """A channel of numbers; without this, a field is one of names."""
    return {"field": field, "type": "quantitative", **more}


def marks(role: str, axis: Callable[[str], Spec], shared: Spec) -> Callable[..., Spec]:
    """Makes marks at a field along an axis, or from one field to another.

    ``axis`` makes the channel of a field, ``shared`` is in the encoding of all marks, ``more`` in one's.
    """

    def mark(kind: str, field: str, to: str = "", more: Spec | None = None, **look: Any) -> Spec:
        second = {f"{role}2": {"field": to}} if to else {}
        encoding = {**shared, role: axis(field), **second, **(more or {})}
        return {"mark": {"type": kind, **look}, "encoding": encoding}

    return mark
