"""Indicators, as one table for each grouping: each number with the groups at both ends of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.cli.summaries.text import (
    NUMBERS,
    FamilyLayout,
    FindingTable,
    about_intervals,
    clean,
    groups_text,
    notes_by_row,
    number_cells,
)
from evenhand.core.findings import Finding, Part
from evenhand.core.frames import grouped
from evenhand.core.significance import alpha_of
from evenhand.display.text.reasons import explain
from evenhand.workflows.outputs.result import Run

_FAMILIES = ("labels", "households", "neighbours")


def _is_shown(finding: Finding) -> bool:
    return finding.card.family in _FAMILIES and finding.card.headline


def _is_rate(finding: Finding) -> bool:
    return finding.card.unit == "share"


def _tables(run: Run, findings: Sequence[Finding]) -> Iterator[FindingTable]:
    """One for each grouping, and the groups at both ends; other groups stay in the folder."""
    for grouping, mine in grouped(findings, lambda finding: finding.grouping).items():
        title = f"{f'by {clean(grouping)}' if grouping else 'everybody'}  {groups_text(mine[0])}"
        estimable = [finding for finding in mine if finding.value is not None]
        rows = [
            {
                "finding": _what(finding),
                **number_cells(finding, alpha_of(run.manifest)),
                "coverage": _coverage(finding),
            }
            for finding in estimable
        ]
        covered = ["coverage"] if any("coverage" in finding.details for finding in estimable) else []
        columns = ["finding", *NUMBERS, *covered] if rows else []
        lines = [*about_intervals(mine, _what), *_undefined(mine), *filter(None, map(_extremes, mine))]
        yield FindingTable(title, columns, rows, lines)


def _coverage(finding: Finding) -> str:
    coverage = finding.details.get("coverage")
    return f"{coverage:.3f}" if isinstance(coverage, float) and _is_rate(finding) else ""


def _undefined(findings: Sequence[Finding]) -> list[str]:
    """What has no value, by reason; rates by name."""
    undefined = [finding for finding in findings if finding.value is None]
    rates = grouped(filter(_is_rate, undefined), _reason)
    names = {reason: f"{', '.join(map(_what, alike))}: " for reason, alike in rates.items()}
    names |= dict.fromkeys(sorted({*map(_reason, undefined)} - names.keys()), "")
    return [f"– {lead}{clean(explain(reason), 200)}" for reason, lead in names.items()]


def _reason(finding: Finding) -> str:
    return finding.reason or "undefined"


def _what(finding: Finding) -> str:
    """A finding in a few words: what is counted, and at which number."""
    row, threshold = finding.card.sentences.row_of(finding.params), finding.params.get("threshold")
    told_at = threshold or finding.card.family == "labels"  # households count any sureness unless asked
    suffix = f" at {threshold}" if isinstance(threshold, int | float) and told_at else ""
    return clean(row.rstrip() + suffix, 40)


def _row_name(finding: Finding) -> str:
    """A finding with its grouping, as a note names it."""
    return f"{_what(finding)} by {clean(finding.grouping)}" if finding.grouping else _what(finding)


def _extremes(finding: Finding) -> str:
    """The groups with the lowest and the highest rate, where they differ."""
    estimable = [part for part in finding.parts if part.value is not None]
    if not _is_rate(finding) or not estimable:
        return ""
    first, last = (pick(estimable, key=_value) for pick in (min, max))
    return "" if _value(first) == _value(last) else f"{_what(finding)}: {_group(first)} … {_group(last)}"


def _value(part: Part) -> float:
    return part.value or 0.0


def _group(part: Part) -> str:
    key = part.key if isinstance(part.key, str) else "*".join(part.key)
    return f"{clean(key)} {_value(part):z.3f}"


INDICATORS = FamilyLayout(
    lambda finding: _is_shown(finding) and _is_rate(finding),
    _is_shown,
    _tables,
    lambda run, findings: [f"note: {note}" for note in notes_by_row(findings, _row_name)],
)
