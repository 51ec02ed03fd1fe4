"""A benchmark's tables and figures as chapters of the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import UserError
from evenhand.core.figure import Figure
from evenhand.core.unseen import visible
from evenhand.display.text.formatting import count
from evenhand.display.text.language import _, filled
from evenhand.report.content import DrawnTable, NotFilled, ReportInput
from evenhand.report.figures.page import FigurePart, figure_parts, table_behind
from evenhand.report.views.frames import PageData, add_sheet

if TYPE_CHECKING:
    import polars

    from evenhand.report.figures.table import TableFigure

_MOST_ROWS = 200
_MOST_KEPT = 5000  # rows of a table that the page keeps for its file
_MOST_DRAWN = 1_500_000  # characters of a figure's specification
_PICTURE = "data:image/"
_HIDDEN = "It is made from all rows, also from cells that are hidden here."


@dataclass(frozen=True)
class ArtifactView:
    """What the template needs of one artifact."""

    id: str  # a stable anchor for links
    name: str  # such as ``skewsize/table1``
    title: str
    parts: Sequence[FigurePart]  # drawings and set tables
    notes: Sequence[str]  # lines under them
    whole: TableFigure | None  # the numbers behind drawings; None where the table is shown already
    left: int  # rows of it that are not on the page
    sheet: str  # what the page calls all its rows; nothing where they are too many for it
    paper: TableFigure | None  # the paper's own rows, where they do not belong beside these


def artifact_views(content: ReportInput, data: PageData) -> list[ArtifactView]:
    """Every artifact of the run; specifications of its drawings and its rows go into ``data``."""
    return [] if content.fewest else [_view(drawn_table, content, data) for drawn_table in content.drawn]


def not_filled(content: ReportInput) -> list[NotFilled]:
    """The artifacts that are not shown, each with the reason."""
    hidden = content.drawn if content.fewest else ()
    why = _(_HIDDEN)
    missing = [*(NotFilled(artifact.name, artifact.title, why) for artifact in hidden), *content.missing]
    return [
        NotFilled(visible(artifact.name), visible(filled(artifact.title)), visible(filled(artifact.reason)))
        for artifact in missing
    ]


def _view(drawn_table: DrawnTable, content: ReportInput, data: PageData) -> ArtifactView:
    table, title = drawn_table.table, visible(filled(drawn_table.title))
    notes = [visible(filled(note)) for note in drawn_table.notes]
    figures = list(drawn_table.figures) or [Figure("table")]
    if content.pictures is None:
        table, figures = _without_pictures(table, figures)
    paper = None
    if drawn_table.own and "source" in table.columns:
        printed, table = _parted(table)
        paper = table_behind(figures, printed, _MOST_ROWS) if printed.height else None
        title = _("{title}: this run’s own data", title=title)
    anchor = "artifact-" + "".join(letter if letter.isalnum() else "-" for letter in drawn_table.name)
    before = len(data.figures)
    try:
        parts = figure_parts(figures, table, data.figures, _MOST_ROWS) if table.height else []
        table_figure = table_behind(figures, table, _MOST_ROWS) if len(data.figures) > before else None
    except UserError as problem:
        parts, table_figure = [], None
        notes = [*notes, _("Shown as a table: {problem}", problem=visible(problem))]
    size = sum(len(json.dumps(spec)) for spec in data.figures[before:])
    if size > _MOST_DRAWN:
        name = visible(drawn_table.name)
        hint = _("Too many values to draw here; type: evenhand artifact {name} RUN -o FILE.svg", name=name)
        parts, table_figure, notes = [], None, [*notes, hint]
    if not parts and table.height:
        del data.figures[before:]
        parts = figure_parts([Figure("table")], table, data.figures, _MOST_ROWS)
    left = max(table.height - _MOST_ROWS, 0)
    sheet = _add_rows(anchor, table, data)
    return ArtifactView(
        anchor, visible(drawn_table.name), title, parts, notes, table_figure, left, sheet, paper
    )


def _parted(table: polars.DataFrame) -> tuple[polars.DataFrame, polars.DataFrame]:
    """The paper's rows, and the others."""
    import polars

    of_paper = polars.col("source").eq_missing("paper")
    return table.filter(of_paper), table.filter(~of_paper)


def _add_rows(anchor: str, table: polars.DataFrame, data: PageData) -> str:
    """Keep all rows for a file, where they are not too many; the name that the page gives them."""
    if table.height > _MOST_KEPT:
        return ""
    columns: dict[str, Sequence[Any]] = {}
    for column in table.get_columns():
        values = column.to_list()
        if not all(value is None or isinstance(value, int | float | str) for value in values):
            values = [None if value is None else _text(value) for value in values]
        columns[column.name] = values
    add_sheet(data, anchor, columns)
    return anchor


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def rows_elsewhere(view: ArtifactView) -> str:
    """Where the rows are that the page does not show."""
    if not view.left:
        return ""
    where = (
        _("the CSV file holds all")
        if view.sheet
        else _("type: evenhand artifact {name} RUN -o FILE.csv", name=view.name)
    )
    return _("{n} more rows: {where}.", n=count(view.left), where=where)


def _without_pictures(
    table: polars.DataFrame, figures: Sequence[Figure]
) -> tuple[polars.DataFrame, list[Figure]]:
    """Pictures may show people: they are on the page only where they were asked for."""
    import polars

    picture_columns = [
        column.name
        for column in table.get_columns()
        if column.dtype == polars.String and column.str.starts_with(_PICTURE).any()
    ]
    remaining = [
        figure for figure in figures if figure.kind != "pictures" and figure.value not in picture_columns
    ]
    return table.drop(picture_columns), remaining or [Figure("table")]
