"""Findings that many settings have in common, as one table of the few that matter first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.markup import escape

from evenhand.cli.summaries.text import (
    NUMBERS,
    FamilyLayout,
    FindingTable,
    about_intervals,
    notes_by_row,
    number_cells,
)
from evenhand.core.findings import Finding
from evenhand.core.frames import grouped
from evenhand.core.significance import alpha_of
from evenhand.workflows.outputs.result import Run

_FACETS = ("context", "template", "subject")
_WORDS: Mapping[str, str] = {
    "occ_first": "occupation first",
    "par_first": "participant first",
    "two_person": "two persons",
    "single": "one person",
    "all": "all images",
    "same": "same gender",
    "different": "different genders",
}


def _leads(finding: Finding) -> bool:
    """Whether it differs from others by settings rather than by groupings alone."""
    return _is_first(finding) and not finding.params.keys().isdisjoint(_FACETS)


def _tables(run: Run, findings: Sequence[Finding]) -> Iterator[FindingTable]:
    """One for each template (context, subject); groups and single samples stay in the folder."""
    for facets, mine in grouped(findings, _facets).items():
        title = f"{escape(', '.join(facets))}  n = {max(finding.n for finding in mine):,.0f}"
        rows = [
            {"finding": "" if index else _measure(finding), "on": _where(finding)}
            | number_cells(finding, alpha_of(run.manifest))
            for alike in grouped(mine, lambda finding: finding.name).values()
            for index, finding in enumerate(alike)
        ]
        below = [*about_intervals(mine, _row_name), *notes_by_row(mine, _row_name)]
        yield FindingTable(title, ("finding", "on", *NUMBERS), rows, below)


def _is_first(finding: Finding) -> bool:
    """Without grouping, exchanged sentences on all pairs only; of retrieval bias, largest skew and NDKL."""
    if not finding.card.headline:
        return False
    if finding.params.get("template") == "par_first" and finding.params.get("setting") in (
        "same",
        "different",
    ):
        return False
    return not finding.by or "subject" in finding.params


def _facets(finding: Finding) -> tuple[str, ...]:
    facets, subject = finding.params, finding.params.get("subject")
    words = [_words(facets[name]) for name in _FACETS[:2] if name in facets]
    return (*words, *([] if subject is None else [f"gender of the {subject}"]))


def _measure(finding: Finding) -> str:
    return finding.card.sentences.row or finding.name


def _where(finding: Finding) -> str:
    k = finding.params.get("k")
    return f"first {k}" if k is not None else _words(finding.params.get("setting", "whole ranking"))


def _row_name(finding: Finding) -> str:
    """What stands in the first two cells of a row."""
    return f"{_measure(finding)} ({_where(finding)})"


def _words(name: object) -> str:
    return _WORDS.get(str(name), str(name))


SETTINGS = FamilyLayout(_leads, _is_first, _tables, rest=" (by group, further measures)")
