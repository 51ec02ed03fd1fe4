"""Rows behind the headlines: the first of them on the page, all of them as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.report.content import ReportInput
from evenhand.report.views.frames import PageData, add_sheet

MOST_SHOWN = 6
_MOST_HELD = 5_000  # rows on the page, for its file


@dataclass(frozen=True)
class Cases:
    """Rows behind a headline."""

    name: str  # of the table
    sheet: str  # of its file
    columns: Sequence[str]
    rows: Sequence[Sequence[str | None]]  # the first, as texts; None where a cell is empty
    pictures: Sequence[str]  # one for each row; empty where there is none
    total: int  # how many rows there are
    in_file: int  # how many are in the file
    worst_first: bool  # whether they are in this order, not in that of the table


def cases(content: ReportInput, data: PageData) -> list[Cases]:
    """The tables of rows behind the headlines; what their files hold goes into ``data``."""
    result = []
    for index, (name, table) in enumerate(content.cases.items()):
        if not table.height:
            continue
        rows_held, sheet = table.head(_MOST_HELD), f"cases-{index}"
        texts = {
            column: [None if value is None else str(value) for value in rows_held[column].to_list()]
            for column in rows_held.columns
        }
        add_sheet(data, sheet, texts)
        rows = [
            [texts[column][row] for column in rows_held.columns]
            for row in range(min(MOST_SHOWN, rows_held.height))
        ]
        samples = [sample or "" for sample in texts.get("sample", [])[:MOST_SHOWN]]
        thumbnails = content.pictures(samples) if content.pictures and samples else {}
        pictures = [thumbnails.get(sample, "") for sample in samples]
        result.append(
            Cases(
                name, sheet, rows_held.columns, rows, pictures, table.height, rows_held.height,
                content.manifest.get("kind") == "numbers",
            )
        )  # fmt: skip
    return result
