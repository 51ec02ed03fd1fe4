"""Indicators, as one table for each grouping: each number with the groups at both ends of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from evenhand.cli.summaries.text import (
    CellTexts,
    about_intervals,
    alpha_of,
    clean,
    notes_by_row,
    plain_table,
    verdict,
)
from evenhand.core.findings import Finding, Part
from evenhand.display.text.formatting import p_value
from evenhand.display.text.reasons import explain
from evenhand.workflows.outputs.result import Run

_FAMILIES = ("labels", "households", "neighbours")
_MOST_GROUPS = 8


def has_indicators(findings: Sequence[Finding]) -> bool:
    """Whether findings are of one of the indicators."""
    return any(_is_rate(finding) for finding in findings)


def _is_shown(finding: Finding) -> bool:
    return finding.card.family in _FAMILIES and finding.card.headline


def _is_rate(finding: Finding) -> bool:
    return _is_shown(finding) and finding.card.unit == "share"


def print_indicators(console: Console, run: Run) -> None:
    """One table for each grouping, and the groups at both ends; other groups stay in the folder."""
    findings = run.findings.findings
    shown_findings = [finding for finding in findings if _is_shown(finding)]
    for grouping in dict.fromkeys(finding.grouping for finding in shown_findings):
        mine = [finding for finding in shown_findings if finding.grouping == grouping]
        console.print(_title(grouping, mine[0]), style="bold")
        if any(finding.value is not None for finding in mine):
            estimable = [finding for finding in mine if finding.value is not None]
            console.print(_table(estimable, alpha_of(run)))
        for line in (*about_intervals(mine, _what), *_undefined(mine), *filter(None, map(_ends, mine))):
            console.print(f"  {line}")
        console.print()
    for note in notes_by_row(shown_findings, _row_name):
        console.print(f"note: {note}")
    more = len(findings) - len(shown_findings)
    if more:
        console.print(f"{more} more findings stand in report and findings.json.")


def _title(grouping: str, finding: Finding) -> str:
    groups = ", ".join(f"{clean(group.key)} {group.n:,.0f}" for group in finding.groups[:_MOST_GROUPS])
    left = len(finding.groups) - _MOST_GROUPS
    more = f" and {left} more" if left > 0 else ""
    whose = f"by {clean(grouping)}" if grouping else "everybody"
    return f"{whose}  n = {finding.n:,.0f}" + (f" ({groups}{more})" if groups else "")


def _table(findings: Sequence[Finding], alpha: float) -> Table:
    covered = any("coverage" in finding.details for finding in findings)
    names = ["finding", "value", "interval", "by chance alone", "p", "p adj.", "value is"]
    table = plain_table(names + (["coverage"] if covered else []), ("finding", "value is"))
    for finding in findings:
        numbers = CellTexts.of(finding)
        cells = [_what(finding), numbers.both, numbers.interval, numbers.chance]
        coverage = finding.details.get("coverage")
        share = f"{coverage:.3f}" if isinstance(coverage, float) and _is_rate(finding) else ""
        cells += [p_value(finding.p_value), p_value(finding.p_adjusted), verdict(finding, alpha)]
        table.add_row(*cells, *([share] if covered else []))
    return table


def _undefined(findings: Sequence[Finding]) -> list[str]:
    """What has no value, by reason."""
    names_by_reason: dict[str, list[str]] = {}
    for finding in findings:
        if finding.value is None and _is_rate(finding):
            names_by_reason.setdefault(finding.reason or "undefined", []).append(_what(finding))
    others = {
        finding.reason or "undefined" for finding in findings if finding.value is None
    } - names_by_reason.keys()
    lines = [
        f"– {', '.join(names)}: {clean(explain(reason), 200)}" for reason, names in names_by_reason.items()
    ]
    return lines + [f"– {clean(explain(reason), 200)}" for reason in sorted(others)]


def _what(finding: Finding) -> str:
    """A finding in a few words: what is counted, and at which number."""
    row, threshold = finding.card.sentences.row_of(finding.params), finding.params.get("threshold")
    told_at = threshold or finding.card.family == "labels"  # households count any sureness unless asked
    suffix = f" at {threshold}" if isinstance(threshold, int | float) and told_at else ""
    return clean(row.rstrip() + suffix, 40)


def _row_name(finding: Finding) -> str:
    """A finding with its grouping, as a note names it."""
    return f"{_what(finding)} by {clean(finding.grouping)}" if finding.grouping else _what(finding)


def _ends(finding: Finding) -> str:
    """The groups with the lowest and the highest rate, where they differ."""
    estimable = [part for part in finding.parts if part.value is not None]
    if not _is_rate(finding) or len(estimable) < 2:
        return ""
    first, last = (pick(estimable, key=_value) for pick in (min, max))
    if _value(first) == _value(last):
        return ""
    return f"{_what(finding)}: {_named(first)} … {_named(last)}"


def _value(part: Part) -> float:
    return part.value or 0.0


def _named(part: Part) -> str:
    key = part.key if isinstance(part.key, str) else "*".join(part.key)
    return f"{clean(key)} {_value(part):z.3f}"
