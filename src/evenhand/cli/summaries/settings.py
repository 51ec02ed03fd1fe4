"""Findings that many settings have in common, as one table of the few that matter first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.text import (
    CellTexts,
    about_intervals,
    alpha_of,
    notes_by_row,
    plain_table,
    verdict,
)
from evenhand.core.findings import Finding
from evenhand.display.text.formatting import p_value
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


def has_settings(findings: Sequence[Finding]) -> bool:
    """Whether findings differ by settings rather than by groupings alone."""
    return any(_is_first(finding) and any(name in finding.params for name in _FACETS) for finding in findings)


def print_settings(console: Console, run: Run) -> None:
    """One table for each template (context, subject); groups and single samples stay in the folder."""
    findings = run.findings.findings
    shown_findings = [finding for finding in findings if _is_first(finding)]
    for facets in dict.fromkeys(map(_facets, shown_findings)):
        mine = [finding for finding in shown_findings if _facets(finding) == facets]
        n = max(finding.n for finding in mine)
        console.print(f"{escape(', '.join(facets))}  n = {n:,.0f}", style="bold")
        console.print(_table(mine, alpha_of(run)))
        for note in (*about_intervals(mine, _row_name), *notes_by_row(mine, _row_name)):
            console.print(f"  {note}")
        console.print()
    more = len(findings) - len(shown_findings)
    if more:
        console.print(f"{more} more findings (by group, further measures) stand in report and findings.json.")


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
    facets = [
        _words(str(finding.params[name])) for name in _FACETS if name in finding.params and name != "subject"
    ]
    subject = finding.params.get("subject")
    return (*facets, f"gender of the {subject}") if subject is not None else tuple(facets)


def _table(findings: Sequence[Finding], alpha: float) -> Table:
    names = ("finding", "on", "value", "interval", "by chance alone", "p", "p adj.", "value is")
    table = plain_table(names, ("finding", "on", "value is"))
    for name in dict.fromkeys(finding.name for finding in findings):
        for index, finding in enumerate(finding for finding in findings if finding.name == name):
            row_name = finding.card.sentences.row or name
            table.add_row(row_name if index == 0 else "", *_row(finding), verdict(finding, alpha))
    return table


def _row(finding: Finding) -> tuple[str, ...]:
    k = finding.params.get("k")
    where = f"first {k}" if k is not None else _words(str(finding.params.get("setting", "whole ranking")))
    if finding.value is None:
        return where, "–", finding.reason or "undefined", "", "", ""
    numbers = CellTexts.of(finding)
    bands = numbers.interval, numbers.chance
    return where, numbers.both, *bands, *map(p_value, (finding.p_value, finding.p_adjusted))


def _row_name(finding: Finding) -> str:
    """What stands in the first two cells of a row."""
    return f"{finding.card.sentences.row or finding.name} ({_row(finding)[0]})"


def _words(name: str) -> str:
    return _WORDS.get(name, name)
