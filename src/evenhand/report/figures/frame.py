"""From a table to what is drawn: panels of rows under fixed keys, orders, scales, and what has no value.

Columns are renamed to what they do (``x``, ``y``, ``colour``...), so that no name of a column and no label
can mean anything in the chart's language.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from evenhand.core.errors import InputError, UnknownName
from evenhand.core.figure import Figure
from evenhand.core.findings import Ends
from evenhand.core.unseen import visible
from evenhand.display.text.formatting import attribute, listing, plural, shorten
from evenhand.display.text.language import _, filled
from evenhand.report.figures.style import written

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]

_ROLES = ("x", "y", "value", "colour", "low", "high", "left", "right", "null_low", "null_high", "label")
_NUMBERS = ("low", "high", "null_low", "null_high")
_HEIGHTS = ("histogram", "density")
_LISTED = 6


@dataclass
class Panel:
    """The rows of one panel."""

    title: str  # the values of the facets; nothing where there is one panel
    above: list[str]  # lines of numbers written under the title
    rows: list[Row]  # what can be drawn
    references: list[tuple[str, float, str]]  # lines: axis, place, label
    position: tuple[int, int] = (0, 0)  # row and column among the panels


@dataclass
class FigureData:
    """A figure's rows, ready to draw."""

    figure: Figure
    panels: list[Panel]
    names: set[str]  # which of ``x`` and ``y`` hold names and not numbers
    orders: dict[str, list[str]]  # values by role: ``x``, ``y`` if names, ``colour``, ``series``
    notes: list[str] = field(default_factory=list)  # undefined values, marks of the paper's rows, intervals
    extents: dict[tuple[str, tuple[int, int] | None], Ends] = field(default_factory=dict)  # by role, position

    @property
    def rows(self) -> list[Row]:
        """The rows of all panels."""
        return [row for panel in self.panels for row in panel.rows]

    def order_in(self, role: str, panel: Panel) -> list[str]:
        """The names along an axis: all, or where panels are independent the panel's own, in its own order."""
        if role not in self.figure.independent:
            return self.orders[role]
        by = self.figure.order.get(getattr(self.figure, role), "")
        if by and isinstance(by, str):
            return _order(self.figure, role, panel.rows)
        present = {row[role] for row in panel.rows}
        return [name for name in self.orders[role] if name in present]

    def title(self, role: str) -> str:
        """The words for a role's column."""
        return words(self.figure, getattr(self.figure, role))


def words(figure: Figure, column: str) -> str:
    """What a column is called in the figure."""
    if column in figure.titles:
        return visible(filled(figure.titles[column]))
    return visible(filled(attribute(column))) if column else ""


def finite(value: object) -> TypeGuard[float]:
    """Whether a value is a number that has a place on an axis."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def chosen(figure: Figure, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the table that a figure shows."""
    import polars as pl

    for name in figure.used():
        if name not in table.columns:
            raise UnknownName("column of the figure's table", name, table.columns)
    for name, value in figure.only.items():
        table = table.filter(pl.col(name).cast(pl.String) == value)
    return table


def prepare(figure: Figure, table: pl.DataFrame) -> FigureData:
    """Sort a table into panels of rows."""
    table = chosen(figure, table)
    names = _names(figure, table)
    rows = _rows(figure, table, names)
    if figure.kind in _HEIGHTS and not figure.colour:
        rows = [row for row in rows if row["source"] == "ours"]
    orders = {role: _order(figure, role, rows) for role in (*sorted(names), "colour")}
    present = {row["series"] for row in rows}
    series = (_series(colour, source) for colour in orders["colour"] for source in ("ours", "paper"))
    orders["series"] = list(dict.fromkeys(name for name in series if name in present))
    if _apart(rows, names):
        orders["series"] = orders["series"][:1]
    drawn_rows = [row for row in rows if _has_place(figure, row, names)]
    prepared = FigureData(figure, _panels(figure, rows, names), names, orders)
    prepared.notes = _notes(figure, rows, drawn_rows, names)
    return prepared


def _names(figure: Figure, table: pl.DataFrame) -> set[str]:
    """Which axes hold names. Bars and dots have names on one axis, whatever the column's type."""
    text = {
        role for role in ("x", "y") if (name := getattr(figure, role)) and not table[name].dtype.is_numeric()
    }
    if figure.kind == "heatmap":
        return {"x", "y"}
    if figure.kind in ("bars", "stacked", "dots"):
        if not figure.x or not figure.y:
            raise InputError(f"a figure of {figure.kind} needs columns for x and y; give both")
        text = text or {"x"}
        if len(text) == 2:
            raise InputError(
                f"columns {figure.x!r} and {figure.y!r} both hold text; a figure of {figure.kind} needs a "
                "number on x or y"
            )
    return text


def _rows(figure: Figure, table: pl.DataFrame, names: set[str]) -> list[Row]:
    """The table's rows by role, in its order."""
    columns = {role: getattr(figure, role) for role in _ROLES}
    texts = [role for role in _ROLES if role in names or role in ("colour", "label")]
    numbers = [role for role in _ROLES if role not in texts]
    lacking: Row = {role: "" if role in texts else None for role in _ROLES}
    texts, numbers = ([role for role in roles if columns[role]] for roles in (texts, numbers))
    facets = [name for name in (figure.facet, figure.row, figure.column) if name]
    rows = []
    for row in table.iter_rows(named=True):
        values = lacking.copy()
        for role in texts:
            values[role] = _name(row[columns[role]])
        for role in numbers:
            values[role] = float(value) if finite(value := row[columns[role]]) else None
        values["source"] = "paper" if row.get("source") == "paper" else "ours"
        values["series"] = _series(values["colour"], values["source"])
        if values["source"] == "paper":
            # Cells and heights cannot be hollow: the paper's have a name of their own.
            if figure.kind == "heatmap":
                values["y"] = _series(values["y"], "paper")
            if figure.kind in _HEIGHTS:
                values["colour"] = values["series"]
        of_row = tuple(_name(row[name]) for name in facets)
        rows.append(values | {"facets": of_row, "reason": row.get("reason"), "from": row})
    return rows


def _name(value: object) -> str:
    """A value as a name that nothing else has by accident."""
    if value is None:
        return "(none)"
    if isinstance(value, float):
        return f"{value:g}"
    return visible(value) or "(empty)"


def _series(colour: str, source: str) -> str:
    return f"{colour} (paper)".strip() if source == "paper" else colour


def values_of(figure: Figure, names: set[str]) -> list[str]:
    """The roles that must have a number for a row to be drawn."""
    if figure.kind == "heatmap":
        return ["value"]
    if figure.kind in _HEIGHTS:
        return ["x"]
    return [role for role in ("x", "y") if role not in names and getattr(figure, role)]


def _apart(rows: Sequence[Row], names: set[str]) -> bool:
    """Whether no name has more than one series, so that nothing needs to stand side by side."""
    pairs = {(row["facets"], *(row[role] for role in sorted(names)), row["series"]) for row in rows}
    return len({pair[:-1] for pair in pairs}) == len(pairs)


def _has_place(figure: Figure, row: Row, names: set[str]) -> bool:
    roles = values_of(figure, names)
    return all(row[role] is not None and (role not in figure.log or row[role] > 0) for role in roles)


def _order(figure: Figure, role: str, rows: Sequence[Row]) -> list[str]:
    """The values of a role in the order in which they are drawn."""
    column = getattr(figure, role)
    present = list(dict.fromkeys(row[role] for row in rows))
    ordering = figure.order.get(column, "")
    if isinstance(ordering, tuple):
        first = dict.fromkeys(visible(name) for name in ordering)
        here = set(present)
        return [name for name in first if name in here] + [name for name in present if name not in first]
    if not ordering:
        return present
    if ordering == "name":
        return sorted(present)
    by, down = ordering.removeprefix("-"), ordering.startswith("-")
    if rows and by not in rows[0]["from"]:
        raise UnknownName("column to order by", by, rows[0]["from"])
    values: dict[str, list[object]] = {name: [] for name in present}
    for row in rows:
        values[row[role]].append(row["from"][by])
    means = {name: _mean(values[name]) for name in present}
    with_mean = [name for name in present if means[name] is not None]
    with_mean.sort(key=lambda name: means[name] or 0.0, reverse=down)
    return with_mean + [name for name in present if means[name] is None]


def _mean(values: Iterable[object]) -> float | None:
    numbers = [float(value) for value in values if finite(value)]
    return sum(numbers) / len(numbers) if numbers else None


def _panels(figure: Figure, rows: Sequence[Row], names: set[str]) -> list[Panel]:
    """One panel for every combination of facets that has rows."""
    facets = [name for name in (figure.facet, figure.row, figure.column) if name]
    if not facets:
        return [_panel(figure, (), rows, names)]
    orders = [
        _order(figure, role, [{**row, role: row["facets"][index]} for row in rows])
        for index, role in enumerate(role for role in ("facet", "row", "column") if getattr(figure, role))
    ]
    combinations = {row["facets"] for row in rows}
    if figure.kind == "lines":  # a panel of models without a size would be empty
        combinations = {row["facets"] for row in rows if _has_place(figure, row, names)} or combinations
    keys = sorted(
        combinations,
        key=lambda key: [order.index(value) for order, value in zip(orders, key, strict=True)],
    )
    by_key: dict[tuple[str, ...], list[Row]] = {key: [] for key in combinations}
    for row in rows:
        if row["facets"] in by_key:
            by_key[row["facets"]].append(row)
    panels = []
    for index, key in enumerate(keys):
        panel = _panel(figure, key, by_key[key], names)
        panel.position = divmod(index, 1 if figure.row else max(figure.columns, 1))
        if figure.column:
            above = sorted({other[:-1] for other in keys}, key=lambda k: keys.index(_first(keys, k)))
            panel.position = (above.index(key[:-1]), orders[-1].index(key[-1]))
        panels.append(panel)
    return panels


def _first(keys: Sequence[tuple[str, ...]], lead: tuple[str, ...]) -> tuple[str, ...]:
    return next(key for key in keys if key[:-1] == lead)


def _panel(figure: Figure, key: tuple[str, ...], rows: Sequence[Row], names: set[str]) -> Panel:
    references: list[tuple[str, float, str]] = []
    for line in figure.references:
        axis = line.axis or ("x" if "y" in names else "y")
        at = rows[0]["from"][line.at] if isinstance(line.at, str) and rows else line.at
        if finite(at):
            references.append((axis, float(at), visible(line.label)))
    drawn_rows = [row for row in rows if _has_place(figure, row, names)]
    title = " · ".join(shorten(value) for value in key)
    return Panel(title, _above(figure, rows), drawn_rows, references)


def _above(figure: Figure, rows: Sequence[Row]) -> list[str]:
    """The annotated numbers: one line, or one for each colour where they differ."""
    lines: dict[str, str] = {}
    for row in rows:
        if row["source"] == "paper" or row["colour"] in lines:
            continue
        texts = [
            f"{words(figure, name)} {written(row['from'][name], figure.formats.get(name, _default(name)))}"
            for name in figure.annotate
        ]
        lines[row["colour"]] = "  ".join(texts)
    different = list(dict.fromkeys(lines.values()))
    if len(different) <= 1:
        return [line for line in different if line]
    return [f"{shorten(colour, 24)}: {line}" for colour, line in lines.items()]


def _default(column: str) -> Any:
    return "p" if column == "p" or column.startswith("p_") else "number"


def _notes(figure: Figure, rows: Sequence[Row], drawn_rows: Sequence[Row], names: set[str]) -> list[str]:
    notes = [*undefined(figure, rows, drawn_rows, names)]
    if any(row["source"] == "paper" for row in drawn_rows):
        notes.append(_PAPER_MARKS.get(figure.kind, "“(paper)”: values published in the paper."))
    if any(row[end] is not None for row in drawn_rows for end in ("low", "left")):
        notes.append(f"{_reach_words(figure, drawn_rows)}: {visible(figure.interval)}.")
    if any(row["null_low"] is not None for row in drawn_rows):
        notes.append(f"Grey: {visible(figure.null)}.")
    if figure.fit:
        fitted = "least-squares fit" if figure.kind == "scatter" else "the normal distribution fitted"
        notes.append(f"Line: {fitted}.")
    return [*notes, *(visible(note) for note in figure.notes)]


def _reach_words(figure: Figure, drawn_rows: Sequence[Row]) -> str:
    """How intervals are drawn: an area along a line, or lines where points stand alone."""
    if figure.kind != "lines":
        return "Thin lines"
    alone = len(lone_points(drawn_rows))
    if alone == len(drawn_rows):
        return "Thin lines"
    return "Shaded, thin lines at points that stand alone" if alone else "Shaded"


def spanned(rows: Sequence[Row], low: str, high: str) -> list[Row]:
    """The rows that have both ends of an interval or band."""
    return [row for row in rows if row[low] is not None and row[high] is not None]


def lone_points(rows: Sequence[Row]) -> list[Row]:
    """Rows that no line goes through: the only ones of their series in their panel."""
    times = Counter((row["facets"], row["series"]) for row in rows)
    return [row for row in rows if times[row["facets"], row["series"]] == 1]


_PAPER_MARKS = {
    "bars": "Hollow, dashed bars: values published in the paper.",
    "stacked": "Hollow bars: values published in the paper.",
    "dots": "Hollow marks: values published in the paper.",
    "scatter": "Hollow marks: values published in the paper.",
    "lines": "Hollow marks: values published in the paper.",
}


def undefined(figure: Figure, rows: Sequence[Row], drawn_rows: Sequence[Row], names: set[str]) -> list[str]:
    """One line about rows that are not drawn, which and why; those without a name are only counted."""
    present = {id(row) for row in drawn_rows}
    lost = [row for row in rows if id(row) not in present]
    roles = values_of(figure, names)
    unplaced = [row for row in lost if all(row[role] is not None for role in roles)]
    notes = []
    for group, words_ in (
        ([row for row in lost if any(row[role] is None for role in roles)], "not estimable"),
        (unplaced, "not drawn, as a logarithmic axis has no place for zero or less"),
    ):
        if not group:
            continue
        called = list(dict.fromkeys(name for row in group if (name := _called(row))))
        more = _(" and {n} more", n=len(called) - _LISTED) if len(called) > _LISTED else ""
        text = ", ".join(called[:_LISTED]) if more else listing(called)
        which = f": {text}{more}" if called else ""
        reasons = Counter(visible(row["reason"]) for row in group if row["reason"])
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common(3))
        notes.append(f"{plural(len(group), 'value')} {_(words_)}{which}{f' ({why})' if why else ''}.")
    return notes


def _called(row: Row) -> str:
    """What a row is called in a note."""
    parts = [*row["facets"], row["label"], *(row[role] for role in ("y", "x")), row["colour"]]
    names = [shorten(part, 28) for part in parts if isinstance(part, str) and part]
    called = " · ".join(dict.fromkeys(names))
    return f"{called} (paper)" if called and row["source"] == "paper" else called
