"""A note on the terminal names the rows that it is about."""

from __future__ import annotations

from evenhand.cli.summaries.text import notes_by_row
from evenhand.core.cards import Source
from evenhand.core.findings import Finding


def rows(*notes: list[str]) -> list[Finding]:
    return [
        Finding(
            metric=f"m{number}",
            name=f"m{number}",
            value=0.5,
            n=1,
            direction="higher is better",
            source=Source(paper="none"),
            notes=given,
        )
        for number, given in enumerate(notes)
    ]


def name(finding: Finding) -> str:
    return finding.name


def test_a_note_of_some_rows_names_them_and_a_note_of_all_stands_alone() -> None:
    given = rows(["ties", "all"], ["all"], ["ties", "all"])
    assert notes_by_row(given, name) == ["m0, m2: ties", "all"]


def test_many_rows_are_counted() -> None:
    given = rows(*[["ties"]] * 5, [])
    assert notes_by_row(given, name) == ["m0, m1, m2 and 2 more: ties"]


def test_a_note_shows_no_more_than_it_may_and_no_markup() -> None:
    (told,) = notes_by_row(rows(["[red]" + "x" * 50]), name, most=20)
    assert told.startswith("\\[red]")
    assert told.endswith("…")
