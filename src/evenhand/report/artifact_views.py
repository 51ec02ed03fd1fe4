"""A benchmark's tables and figures as chapters of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.core.errors import UserError
from evenhand.core.figure import Figure
from evenhand.report.content import DrawnTable, RunContent
from evenhand.report.figures_page import FigurePart, figure_parts, table_behind
from evenhand.report.formats import plural, visible
from evenhand.report.frames import PageData
from evenhand.report.suppression import COUNTS

if TYPE_CHECKING:
    import polars

    from evenhand.report.figures_table import Sheet

_MOST_ROWS = 200
_PICTURE = "data:image/"


@dataclass(frozen=True)
class ArtifactView:
    """What the template needs of one artifact.

    Attributes:
        id: A stable anchor for links.
        name: Such as ``skewsize/table1``.
        title: What it shows.
        parts: Drawings and set tables.
        notes: Lines under them.
        whole: The numbers behind drawings; None where the table is shown already.
        left: Rows of it that are not on the page.
    """

    id: str
    name: str
    title: str
    parts: Sequence[FigurePart]
    notes: Sequence[str]
    whole: Sheet | None
    left: int


def artifact_views(content: RunContent, data: PageData) -> list[ArtifactView]:
    """Every artifact of the run; specifications of its drawings go into ``data``."""
    return [_view(drawn, content, data) for drawn in content.drawn]


def _view(drawn: DrawnTable, content: RunContent, data: PageData) -> ArtifactView:
    table, notes = _shown(drawn.table, content.fewest)
    figures = list(drawn.figures) or [Figure("table")]
    if content.pictures is None:
        table, figures = _without_pictures(table, figures)
    before = len(data.figures)
    try:
        parts = figure_parts(figures, table, data.figures) if table.height else []
        whole = table_behind(figures, table, _MOST_ROWS) if len(data.figures) > before else None
    except UserError as problem:
        del data.figures[before:]
        parts, whole = figure_parts([Figure("table")], table.head(_MOST_ROWS), data.figures), None
        notes = [*notes, f"Shown as a table: {visible(problem)}"]
    anchor = "artifact-" + "".join(letter if letter.isalnum() else "-" for letter in drawn.name)
    left = max(table.height - _MOST_ROWS, 0)
    return ArtifactView(anchor, drawn.name, visible(drawn.title), parts, notes, whole, left)


def _shown(table: polars.DataFrame, fewest: int) -> tuple[polars.DataFrame, list[str]]:
    """Without lines on few rows; without all lines where nothing says on how many they rest."""
    import polars

    if not fewest:
        return table, []
    counted = [name for name in table.columns if name in COUNTS and table[name].dtype.is_numeric()]
    if not counted:
        return table.clear(), ["Not shown: the table does not say on how many rows its numbers rest."]
    kept = table.filter(
        polars.all_horizontal(polars.col(counted).is_null() | (polars.col(counted) >= fewest))
    )
    left = table.height - kept.height
    return kept, [f"{plural(left, 'line')} on fewer than {fewest} rows left out."] if left else []


def _without_pictures(
    table: polars.DataFrame, figures: Sequence[Figure]
) -> tuple[polars.DataFrame, list[Figure]]:
    """Pictures may show people: they are on the page only where they were asked for."""
    import polars

    held = [
        column.name
        for column in table.get_columns()
        if column.dtype == polars.String and column.str.starts_with(_PICTURE).any()
    ]
    kept = [figure for figure in figures if figure.kind != "pictures" and figure.value not in held]
    return table.drop(held), kept or [Figure("table")]
