"""Layers of Vega-Lite: rows, a mark, and channels, as plain values.

They are the specifications that Altair writes, whose import, checks and copies took a third of a small audit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Options = dict[str, Any]


def options(**values: Any) -> Options:
    """A channel of a field, a scale, an axis or a legend."""
    return values


def constant(value: Any, **values: Any) -> Options:
    """A channel with one value for all rows."""
    return {"value": value, **values}


def pixels(name: str, domain: Sequence[float]) -> Options:
    """A channel of places in pixels, without an axis."""
    scale = options(domain=domain, nice=False, zero=False)
    return options(field=name, type="quantitative", axis=None, scale=scale)


@dataclass(frozen=True)
class Layer:
    """One mark for each row."""

    rows: Sequence[Mapping[str, Any]]
    drawing: Options = field(default_factory=dict)
    channels: Options = field(default_factory=dict)

    def mark(self, kind: str, **properties: Any) -> Layer:
        """The same drawn with a mark, such as ``bar``."""
        return replace(self, drawing={"type": kind, **_in_order(properties)})

    def encode(self, **channels: Any) -> Layer:
        """The same with more channels."""
        return replace(self, channels={**self.channels, **channels})

    def spec(self) -> Options:
        """The specification, its rows inside."""
        encoding = {"encoding": _in_order(self.channels)} if self.channels else {}
        return {"data": {"values": self.rows}, "mark": self.drawing, **encoding}


def _in_order(node: Any) -> Any:
    """Options by name, however deep, so that equal figures are written alike."""
    if isinstance(node, dict):
        return {key: _in_order(node[key]) for key in sorted(node)}
    return [_in_order(item) for item in node] if isinstance(node, (list, tuple)) else node
