"""Tables: their cells as text, drawn for SVG and PNG, set for HTML."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenhand.core.unseen import visible
from evenhand.display.text.formatting import attribute
from evenhand.display.text.language import _, filled
from evenhand.report.figures import style
from evenhand.report.figures.frame import chosen, finite, format_of, words

if TYPE_CHECKING:
    import polars as pl

    from evenhand.core.figure import Figure, Format

_COUNTS = frozenset(
    {"n", "classes", "classes_used", "classes_lost", "images", "phrases", "households", "samples", "removed"}
    | {"rank", "rows", "hits"}
)


@dataclass(frozen=True)
class TableFigure:
    """A table as text."""

    headings: list[str]
    cells: list[list[str]]
    right: list[bool]  # which columns are numbers, and stand to the right
    paper: list[bool]  # which rows are the paper's
    notes: list[str]  # what the reader must know about dashes and slanted rows
    left: int = 0  # how many further lines there are


def sheet(figure: Figure, table: pl.DataFrame, most: int | None = None) -> TableFigure:
    """The cells of a table as text, spread over the columns if the figure asks for it; the first ``most``."""
    table = chosen(figure, table)
    paper = [value == "paper" for value in table["source"]] if "source" in table.columns else []
    if figure.kind == "table" and figure.x and figure.value:
        every = _spread(figure, table)
        cells = every.cells[:most]
        text_table = replace(every, cells=cells, paper=every.paper[:most], left=len(every.cells) - len(cells))
    else:
        shown = table if most is None else table.head(most)  # words for the others would be thrown away
        column_names = list(figure.levels) if figure.kind == "table" and figure.levels else table.columns
        cells = [
            [_cell(figure, name, row[name]) for name in column_names] for row in shown.iter_rows(named=True)
        ]
        right = [table[name].dtype.is_numeric() for name in column_names]
        headings = [_heading(figure, name) for name in column_names]
        paper = paper[:most] or [False] * shown.height
        text_table = TableFigure(headings, cells, right, paper, [], table.height - shown.height)
    if any("–" in row for row in text_table.cells):
        text_table.notes.append("–: no value: not estimable, or not published.")
    if any(text_table.paper):
        text_table.notes.append("Slanted rows: values published in the paper.")
    if figure.kind == "table" and figure.low and figure.x and figure.value:
        text_table.notes.append(f"In brackets: {visible(figure.interval)}.")
    return text_table


def _heading(figure: Figure, name: str) -> str:
    """Every column has words at its head, also one whose values a figure writes without."""
    return words(figure, name) or filled(attribute(name))


def _format(figure: Figure, name: str) -> Format:
    """As the figure says; else counts are known by what their columns are called, too."""
    is_count = name not in figure.formats and (name in _COUNTS or name.startswith("n_"))
    return "count" if is_count else format_of(figure, name)


def _cell(figure: Figure, name: str, value: object) -> str:
    how = _format(figure, name)
    if isinstance(value, list | tuple):
        return ", ".join(style.written(item, how) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{visible(key)}: {style.written(item, how)}" for key, item in value.items())
    return style.written(value, how)


def _spread(figure: Figure, table: pl.DataFrame) -> TableFigure:
    """One row for each combination of the levels, one column for each value of ``x``."""
    order = figure.order.get(figure.x, "")
    present = list(dict.fromkeys(_cell(figure, figure.x, value) for value in table[figure.x]))
    across = [name for name in order if name in present] if isinstance(order, tuple) else []
    across += [name for name in present if name not in across]
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row in table.iter_rows(named=True):
        key = (*(_cell(figure, name, row[name]) for name in figure.levels), str(row.get("source", "")))
        text = _cell(figure, figure.value, row[figure.value])
        low, high = (row[end] if end else None for end in (figure.low, figure.high))
        if text != "–" and finite(low) and finite(high):
            how = figure.formats.get(figure.value, "number")
            ends = {"low": style.written(low, how), "high": style.written(high, how)}
            text += _(" [{low}, {high}]", **ends)
        rows.setdefault(key, {})[_cell(figure, figure.x, row[figure.x])] = text
    cells = [[*key[:-1], *(values.get(name, "–") for name in across)] for key, values in rows.items()]
    headings = [*(_heading(figure, name) for name in figure.levels), *across]
    right = [*(table[name].dtype.is_numeric() for name in figure.levels), *(True for _ in across)]
    return TableFigure(headings, cells, right, [key[-1] == "paper" for key in rows], [])
