"""What a search over subgroups lists, as a table: counts, how much more than elsewhere, and how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import p_among_all
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import MINUS, count, of, p_value, shorten, visible_label
from evenhand.display.text.language import _, filled
from evenhand.display.text.subgroups import search_sentence
from evenhand.report.chapters import Chapter
from evenhand.report.suppression.suppress import REASON
from evenhand.report.views.frames import PageData, add_sheet

_FEWEST = 10  # rows from which a share is written
_NUMBERS = (
    "mistakes", "rest_n", "rest_mistakes", "rate", "rest_rate", "difference", "low", "high", "expected",
)  # fmt: skip


@dataclass(frozen=True)
class SubgroupLine:
    """A subgroup."""

    label: str  # its values
    truth: str  # the class within which it is listed; empty: all classes
    inside: str  # its wrong rows, of all
    elsewhere: str  # the same of all other rows of these classes
    difference: str  # in points, with its interval; empty where rows come in clusters
    expected: str  # wrong rows that its classes would give
    p: str  # corrected for all subgroups


@dataclass(frozen=True)
class Search:
    """What came of a search."""

    sheet: str  # of its file
    names: str  # the attributes that were searched
    lines: Sequence[SubgroupLine]  # those that are listed, the surest first
    tested: str  # how many subgroups were compared; empty: hidden, or none
    reason: str  # why no subgroup is listed; empty where one is
    notes: Sequence[str]  # what else could be searched


def searches(chapters: Sequence[Chapter], data: PageData, noun: str) -> list[Search]:
    """The searches of a run; what their files hold goes into ``data``."""
    of_search = [
        (chapter, finding)
        for chapter in chapters
        for finding in chapter.findings
        if finding.card.first_line == "subgroups"
    ]
    return [_search(finding, f"{chapter.id}-search", data, noun) for chapter, finding in of_search]


def _search(finding: Finding, sheet: str, data: PageData, noun: str) -> Search:
    names = ", ".join(map(shorten, finding.by))
    is_hidden = REASON in (finding.reason, *(part.reason for part in finding.parts))
    reason = (
        _("What a search of {names} lists is hidden, because cells of few rows are.", names=names)
        if is_hidden
        else ""
    )
    if not is_hidden and "status" in finding.details:
        reason = search_sentence(finding.details, finding.by, noun=noun) or ""
    parts = [] if is_hidden else [part for part in finding.parts if part.value is not None]
    if parts:
        columns = {name: [part.details.get(name) for part in parts] for name in _NUMBERS}
        add_sheet(
            data,
            sheet,
            {
                "subgroup": [str(part.details["group"]) for part in parts],
                "class": [part.details["truth"] for part in parts],
                "rows": [part.n for part in parts],
                **columns,
                "p adjusted": [p_among_all(finding, part) for part in parts],
            },
        )
    tested = finding.details.get("tested")
    return Search(
        sheet=sheet,
        names=names,
        lines=[_line(part, p_among_all(finding, part)) for part in parts],
        tested=count(tested) if isinstance(tested, float) and not is_hidden else "",
        reason=reason,
        notes=[] if is_hidden else list(map(filled, finding.notes)),
    )


def _line(part: Part, p: float | None) -> SubgroupLine:
    mistakes, rest_n, rest_mistakes, rate, rest_rate, *interval, expected = (
        part.details.get(name) for name in _NUMBERS
    )
    return SubgroupLine(
        label=str(part.details["group"]),
        truth="" if part.details["truth"] is None else visible_label(part.details["truth"]),
        inside=_counts(mistakes, part.n, rate),
        elsewhere=_counts(rest_mistakes, rest_n, rest_rate),
        difference=_difference(interval),
        expected=count(round(float(str(expected)))),
        p=p_value(p),
    )


def _counts(hits: object, rows: object, rate: object) -> str:
    """Hits of rows, with the share where there are enough rows for one."""
    text = of(float(str(hits)), float(str(rows)))
    return f"{text} ({share(float(str(rate)))})" if float(str(rows)) >= _FEWEST else text


def _difference(numbers: Sequence[object]) -> str:
    ends = [float(str(number)) for number in numbers if number is not None]
    if len(ends) < len(numbers):
        return ""
    value, low, high = (f"{100 * end:z.0f}".replace("-", MINUS) for end in ends)
    return _("{n} points ({low} to {high})", n=value, low=low, high=high)
