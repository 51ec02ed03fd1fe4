"""Layers on each other, panels in a grid, figures under each other: as plain specifications, made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.report.figures.vega import Layer

Spec = dict[str, Any]


def layered(layers: Sequence[Any], **properties: Any) -> Spec:
    """Layers on each other: marks of rows, or what this function made. Properties are those of the panel."""
    return {"layer": [plain(layer) for layer in layers], **properties}


def plain(chart: Layer | Spec) -> Spec:
    """A layer as a specification with its rows inside; a specification as it is."""
    return chart.spec() if isinstance(chart, Layer) else chart


def grid(panels: Mapping[tuple[int, int], Spec]) -> Spec:
    """Panels in rows and columns whose axes stand exactly above and beside each other.

    One panel is a grid, too: a legend keeps clear of what is written above the panels of a grid only. Keys
    are row and column from 0; a place without a panel stays empty.
    """
    if not panels:
        return under([])
    rows, columns = (1 + max(position[side] for position in panels) for side in (0, 1))
    size = {key: next(iter(panels.values())).get(key, 1) for key in ("width", "height")}
    blank = {"data": {"values": []}, "mark": "point", "encoding": {}, **size}
    places = [panels.get((row, column), blank) for row in range(rows) for column in range(columns)]
    while places[-1] is blank:
        places.pop()
    return {"concat": places, "columns": columns, "spacing": {"row": 22, "column": 18}}


def under(specs: Sequence[Spec], spacing: int | None = None, **properties: Any) -> Spec:
    """Specifications under each other, from the top; ``spacing`` is in pixels."""
    between = {} if spacing is None else {"spacing": spacing}
    return {"vconcat": list(specs), **between, **properties}
