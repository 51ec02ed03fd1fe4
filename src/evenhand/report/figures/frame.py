"""From a table to what is drawn: panels of rows under fixed keys, orders, scales, and what has no value.

Columns are renamed to what they do (``x``, ``y``, ``colour``...), so that no name of a column and no label
can mean anything in the chart's language.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
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

    from evenhand.core.figure import Format

Row = dict[str, Any]

SOURCES = ("ours", "paper")

_ROLES = ("x", "y", "value", "colour", "low", "high", "left", "right", "null_low", "null_high", "label")
_FACETS = ("facet", "row", "column")
_NAMED = ("bars", "stacked", "dots")
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
    hints: list[dict[str, str]] = field(default_factory=list)  # keys of what hovering tells, with their words
    extents: dict[str, Ends] = field(default_factory=dict)  # ends of number axes that panels share

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
    return visible(filled(figure.titles.get(column, attribute(column)))) if column else ""


def format_of(figure: Figure, name: str) -> Format:
    """As the figure says; else p-values are known by what their columns are called."""
    return figure.formats.get(name, "p" if name == "p" or name.startswith("p_") else "number")


def finite(value: object) -> TypeGuard[float]:
    """Whether a value is a number that has a place on an axis."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def chosen(figure: Figure, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the table that a figure shows."""
    import polars as pl

    for name in figure.used():
        if name not in table.columns:
            raise UnknownName("column of the figure's table", name, table.columns)
    return table.filter(*(pl.col(name).cast(pl.String) == value for name, value in figure.only.items()))


def prepare(figure: Figure, table: pl.DataFrame) -> FigureData:
    """Sort a table into panels of rows."""
    table = chosen(figure, table)
    names = _names(figure, table)
    rows = _rows(figure, table, names)
    if figure.kind in _HEIGHTS and not figure.colour:
        rows = [row for row in rows if row["source"] == "ours"]
    orders = {role: _order(figure, role, rows) for role in (*sorted(names), "colour")}
    present = {row["series"] for row in rows}
    colours = SOURCES if figure.kind == "stacked" else orders["colour"]
    series = dict.fromkeys(_series(figure, colour, source) for colour in colours for source in SOURCES)
    orders["series"] = [name for name in series if name in present]
    # Where no name has more than one series, nothing needs to stand side by side.
    places = [(row["facets"], *(row[role] for role in sorted(names))) for row in rows]
    if len(set(places)) == len(
        {(*names_of, row["series"]) for names_of, row in zip(places, rows, strict=True)}
    ):
        orders["series"] = orders["series"][:1]
    hints = [] if figure.kind in _HEIGHTS else _hints(figure, rows, names)
    notes = _notes(figure, rows)
    return FigureData(figure, _panels(figure, rows, names), names, orders, notes, hints)


def _names(figure: Figure, table: pl.DataFrame) -> set[str]:
    """Which axes hold names. Bars and dots have names on one axis, whatever the column's type."""
    if figure.kind == "heatmap":
        return {"x", "y"}
    text = {
        role for role in ("x", "y") if (name := getattr(figure, role)) and not table[name].dtype.is_numeric()
    }
    if figure.kind not in _NAMED:
        return text
    if not figure.x or not figure.y:
        raise InputError(f"a figure of {figure.kind} needs columns for x and y; give both")
    if len(text) == 2:
        raise InputError(
            f"columns {figure.x!r} and {figure.y!r} both hold text; a figure of {figure.kind} needs a "
            "number on x or y"
        )
    return text or {"x"}


def _rows(figure: Figure, table: pl.DataFrame, names: set[str]) -> list[Row]:
    """The table's rows by role, in its order."""
    texts = {*names, "colour", "label"}
    lacking: Row = {role: "" if role in texts else None for role in _ROLES}
    columns = {role: column for role in _ROLES if (column := getattr(figure, role))}
    facets = [name for role in _FACETS if (name := getattr(figure, role))]
    rows = []
    for record in table.iter_rows(named=True):
        row = lacking.copy()
        for role, column in columns.items():
            value = record[column]
            row[role] = _name(value) if role in texts else float(value) if finite(value) else None
        row["source"] = "paper" if record.get("source") == "paper" else "ours"
        row["series"] = _series(figure, row["colour"], row["source"])
        # Cells and heights cannot be hollow: the paper's have a name of their own.
        if figure.kind == "heatmap":
            row["y"] = _series(figure, row["y"], row["source"])
        if figure.kind in _HEIGHTS:
            row["colour"] = row["series"]
        row |= {"facets": tuple(_name(record[name]) for name in facets), "from": record}
        rows.append(row | {"lost": _why_not(figure, row, names)})
    return rows


def _name(value: object) -> str:
    """A value as a name that nothing else has by accident."""
    if value is None:
        return "(none)"
    if isinstance(value, float):
        return f"{value:g}"
    return visible(value) or "(empty)"


def _series(figure: Figure, name: str, source: str) -> str:
    """What stands beside each other: colours and the paper's; bars on each other only by source."""
    if figure.kind == "stacked":
        return source
    return f"{name} (paper)".strip() if source == "paper" else name


def _why_not(figure: Figure, row: Row, names: set[str]) -> str:
    """Why a row cannot be drawn: it must have a number for each of some roles; empty if it can."""
    roles = {"heatmap": ["value"], "histogram": ["x"], "density": ["x"]}.get(figure.kind, ["x", "y"])
    values = {role: row[role] for role in roles if role not in names and getattr(figure, role)}
    if None in values.values():
        return "not estimable"
    if any(value <= 0 for role, value in values.items() if role in figure.log):
        return "not drawn, as a logarithmic axis has no place for zero or less"
    return ""


def _order(figure: Figure, role: str, rows: Sequence[Row]) -> list[str]:
    """The values of a role in the order in which they are drawn."""
    present = list(dict.fromkeys(row[role] for row in rows))
    ordering = figure.order.get(getattr(figure, role), "")
    if isinstance(ordering, tuple):
        first = list(dict.fromkeys(visible(name) for name in ordering))
        return [name for name in first if name in present] + [name for name in present if name not in first]
    if not ordering:
        return present
    if ordering == "name":
        return sorted(present)
    by = ordering.removeprefix("-")
    if rows and by not in rows[0]["from"]:
        raise UnknownName("column to order by", by, rows[0]["from"])
    values: dict[str, list[float]] = {name: [] for name in present}
    for row in rows:
        if finite(value := row["from"][by]):
            values[row[role]].append(-value if ordering != by else value)
    return sorted(present, key=lambda name: (not values[name], fmean(values[name] or [0.0])))


def _panels(figure: Figure, rows: Sequence[Row], names: set[str]) -> list[Panel]:
    """One panel for every combination of facets that has rows."""
    roles = [role for role in _FACETS if getattr(figure, role)]
    orders = [
        _order(figure, role, [{**row, role: row["facets"][index]} for row in rows])
        for index, role in enumerate(roles)
    ]
    panel_rows: dict[tuple[str, ...], list[Row]] = {} if roles else {(): []}
    for row in rows:
        panel_rows.setdefault(row["facets"], []).append(row)
    if figure.kind == "lines":  # a panel of models without a size would be empty
        filled_panels = {row["facets"] for row in rows if not row["lost"]}
        panel_rows = {key: panel_rows[key] for key in filled_panels} or panel_rows
    keys = sorted(
        panel_rows, key=lambda key: [order.index(value) for order, value in zip(orders, key, strict=True)]
    )
    leads = list(dict.fromkeys(key[:-1] for key in keys))
    panels = []
    for index, key in enumerate(keys):
        panel = _panel(figure, key, panel_rows[key], names)
        panel.position = divmod(index, 1 if figure.row else max(figure.columns, 1))
        if figure.column:
            panel.position = (leads.index(key[:-1]), orders[-1].index(key[-1]))
        panels.append(panel)
    return panels


def _panel(figure: Figure, key: tuple[str, ...], rows: Sequence[Row], names: set[str]) -> Panel:
    references: list[tuple[str, float, str]] = []
    for line in figure.references:
        axis = line.axis or ("x" if "y" in names else "y")
        at = rows[0]["from"][line.at] if isinstance(line.at, str) and rows else line.at
        if finite(at):
            references.append((axis, float(at), visible(line.label)))
    drawn_rows = [row for row in rows if not row["lost"]]
    return Panel(" · ".join(map(shorten, key)), _above(figure, rows), drawn_rows, references)


def _above(figure: Figure, rows: Sequence[Row]) -> list[str]:
    """The annotated numbers: one line, or one for each colour where they differ."""
    firsts: dict[str, Row] = {}
    for row in rows:
        if row["source"] == "ours":
            firsts.setdefault(row["colour"], row["from"])
    lines = {
        colour: "  ".join(
            f"{words(figure, name)} {written(record[name], format_of(figure, name))}"
            for name in figure.annotate
        )
        for colour, record in firsts.items()
    }
    if len(set(lines.values())) > 1:
        return [f"{shorten(colour, 24)}: {line}" for colour, line in lines.items()]
    return [line for line in set(lines.values()) if line]


def _hints(figure: Figure, rows: Sequence[Row], names: set[str]) -> list[dict[str, str]]:
    """What hovering tells: texts, which are written into the rows, and the words in front of them."""
    titles = {}
    for role in ("label", "y", "x", "value", "colour"):
        if column := getattr(figure, role):
            titles[f"{role}_text"] = words(figure, column)
            how = figure.formats.get(column, "number")
            for row in rows:
                row[f"{role}_text"] = written(row[role], how)
    how = figure.formats.get(figure.x if "y" in names else figure.y, "number")
    for low, title in (("low", filled(figure.interval)), ("null_low", _("by chance"))):
        if getattr(figure, low):
            titles[f"{low}_text"] = title
            for row in rows:
                ends = [row[low], row[low.replace("low", "high")]]
                start, end = (written(value, how) for value in ends)
                row[f"{low}_text"] = "–" if None in ends else _("{low} to {high}", low=start, high=end)
    titles["source"] = _("source")
    # The tooltip takes a key "image" for the address of a picture, and "title" for a heading.
    return [{"field": key, "title": f"{title or key} "} for key, title in titles.items()]


_PAPER_MARKS = dict.fromkeys(
    ("dots", "scatter", "lines"), "Hollow marks: values published in the paper."
) | {
    "bars": "Hollow, dashed bars: values published in the paper.",
    "stacked": "Hollow bars: values published in the paper.",
}  # fmt: skip


def _notes(figure: Figure, rows: Sequence[Row]) -> list[str]:
    notes, drawn_rows = _undefined(rows), [row for row in rows if not row["lost"]]
    if any(row["source"] == "paper" for row in drawn_rows):
        notes.append(_PAPER_MARKS.get(figure.kind, "“(paper)”: values published in the paper."))
    if any(row[end] is not None for row in drawn_rows for end in ("low", "left")):
        # An area along a line, or lines where points stand alone.
        alone = len(lone_points(drawn_rows))
        reach = "Shaded, thin lines at points that stand alone" if alone else "Shaded"
        thin = figure.kind != "lines" or alone == len(drawn_rows)
        notes.append(f"{'Thin lines' if thin else reach}: {visible(figure.interval)}.")
    if any(row["null_low"] is not None for row in drawn_rows):
        notes.append(f"Grey: {visible(figure.null)}.")
    if figure.fit:
        fitted = "least-squares fit" if figure.kind == "scatter" else "the normal distribution fitted"
        notes.append(f"Line: {fitted}.")
    return [*notes, *map(visible, figure.notes)]


def lone_points(rows: Sequence[Row]) -> list[Row]:
    """Rows that no line goes through: the only ones of their series in their panel."""
    times = Counter((row["facets"], row["series"]) for row in rows)
    return [row for row in rows if times[row["facets"], row["series"]] == 1]


def _undefined(rows: Sequence[Row]) -> list[str]:
    """One line about rows that are not drawn, which and why; those without a name are only counted."""
    notes = []
    for about in sorted({row["lost"] for row in rows} - {""}, reverse=True):
        group = [row for row in rows if row["lost"] == about]
        called = list(dict.fromkeys(filter(None, map(_called, group))))
        more = _(" and {n} more", n=len(called) - _LISTED) if len(called) > _LISTED else ""
        text = ", ".join(called[:_LISTED]) + more if more else listing(called)
        reasons = Counter(visible(reason) for row in group if (reason := row["from"].get("reason")))
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common(3))
        which = f"{f': {text}' if called else ''}{f' ({why})' if why else ''}"
        notes.append(f"{plural(len(group), 'value')} {_(about)}{which}.")
    return notes


def _called(row: Row) -> str:
    """What a row is called in a note."""
    parts = [*row["facets"], row["label"], row["y"], row["x"], row["colour"]]
    names = [shorten(part, 28) for part in parts if isinstance(part, str) and part]
    called = " · ".join(dict.fromkeys(names))
    return f"{called} (paper)" if called and row["source"] == "paper" else called
