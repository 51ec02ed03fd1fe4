"""How a table is to be drawn: a description in plain words, which the report room turns into a chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "bars",
    "stacked",
    "dots",
    "scatter",
    "lines",
    "heatmap",
    "nested",
    "histogram",
    "density",
    "pictures",
    "table",
]
Format = Literal["number", "percent", "count", "p", "short", "text"]


@dataclass(frozen=True)
class Reference:
    """A line that values are read against, such as where a fair model stands, or a threshold."""

    at: float | str  # where, or the column that says where in each panel (its first value there)
    label: str = ""
    axis: Literal["", "x", "y"] = ""  # empty: the axis of the values


@dataclass(frozen=True)
class Figure:
    """A figure over the columns of a tidy table: which column is drawn how.

    Rows whose column ``source`` is ``paper`` are drawn hollow or dashed, beside ours. Rows without a value
    are listed under the figure, never drawn, with the column ``reason`` if the table has one.

    Attributes:
        kind: ``bars`` (beside each other by ``colour``), ``stacked`` (on each other), ``dots`` (with
            intervals; names on ``y`` make a forest plot), ``scatter`` (``value`` as a shade, intervals in
            both directions), ``lines`` (with ``low`` and ``high``
            as a band), ``heatmap`` (``value`` as colour of ``x`` by ``y``), ``nested`` (``levels`` as
            rectangles inside each other), ``histogram`` and ``density`` (of ``x``, with the fitted normal
            if ``fit``), ``pictures`` (``value`` holds them, as ``data:`` addresses, in a row for each
            ``y``, under headings of ``facet``), ``table`` (of ``levels``, or spread over ``x``).
        x: Column along the horizontal axis; bars and dots lie down if the names are on ``y``.
            Table: the column whose values become columns, filled from ``value``.
        y: Column along the vertical axis.
        value: Column of a heatmap's or scatter's shades, of a spread table's cells, of a taxonomy's leaves.
        colour: Column shown by colour (and by shape or dash).
        facet: Column with one panel a value, wrapped after ``columns`` panels.
        row: Column with one row of panels a value, together with ``column``.
        column: Column with one column of panels a value.
        low: Lower end of the interval.
        high: Upper end of the interval.
        left: Scatter: lower end of the interval along ``x``.
        right: Its upper end.
        null_low: Lower end of what chance gives.
        null_high: Upper end of what chance gives.
        label: Scatter: the column of names written beside the points.
        levels: Nested: columns from the widest to the narrowest. Table: columns shown; empty: all.
        annotate: Columns with one value a panel (or a colour in it), such as r and p, written above it.
        references: Lines to read against.
        fit: Scatter: a least-squares line a colour. Histogram and density: the fitted normal.
        log: Which axes are logarithmic, such as ``("x",)``.
        domain: Where an axis (``x``, ``y``, ``value``) begins and ends, if it is to be fixed.
        independent: Axes that are each panel's own: any of ``x``, ``y``.
        centre: Heatmap: the value that is neutral, with one colour to each side.
        order: Column to the order of its values: the values themselves, or ``name``, or a column that
            they are ordered by (its mean), ``-column`` for the highest first; else as in the table.
        formats: Column to how its numbers are written; ``short`` is 1k, 1M.
        titles: Column to the words that stand for it, here and in the tooltip; else the column's name.
        columns: Panels in a row.
        title: Above this figure, if an artifact has several.
        interval: What ``low`` and ``high`` are, for the note under the figure.
        null: What ``null_low`` and ``null_high`` are, for the note.
        notes: More lines under the figure.
        only: Column to the value that rows must have, where several figures share one table.
        printed: Bars: whether each has its value written at its end.
    """

    kind: Kind
    x: str = ""
    y: str = ""
    value: str = ""
    colour: str = ""
    facet: str = ""
    row: str = ""
    column: str = ""
    low: str = ""
    high: str = ""
    left: str = ""
    right: str = ""
    null_low: str = ""
    null_high: str = ""
    label: str = ""
    levels: tuple[str, ...] = ()
    annotate: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    fit: bool = False
    log: tuple[str, ...] = ()
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    independent: tuple[str, ...] = ()
    centre: float | None = None
    order: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    formats: Mapping[str, Format] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    columns: int = 3
    title: str = ""
    interval: str = "intervals"
    null: str = "what chance alone gives"
    notes: tuple[str, ...] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    printed: bool = False

    def used(self) -> list[str]:
        """The columns that the figure names, each once."""
        columns = [
            self.x, self.y, self.value, self.colour, self.facet, self.row, self.column, self.low, self.high,
            self.left, self.right, self.null_low, self.null_high, self.label, *self.levels, *self.annotate,
            *self.only, *(line.at for line in self.references if isinstance(line.at, str)),
        ]  # fmt: skip
        return [name for name in dict.fromkeys(columns) if name]
