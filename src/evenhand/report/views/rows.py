"""Findings as rows of the tables that the template writes itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.findings import Ends, Finding, ends_of
from evenhand.core.frames import band_ends
from evenhand.core.significance import is_beyond, lead_of
from evenhand.display.text import formatting as formats
from evenhand.display.text.formatting import DASH, count, number, p_value, percent, plural
from evenhand.display.text.language import _, digits, filled
from evenhand.display.text.rounding import Rounding
from evenhand.report import facets, glossary
from evenhand.report.chapters import Chapter
from evenhand.report.wording import sentences as words

STRIP_WIDTH = 120
_ENDS = (0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Strip:
    """A finding drawn on one line: positions from 0 to ``STRIP_WIDTH``, None where there is nothing."""

    low_end: str  # what the left end of the line stands for
    high_end: str
    value: float  # that the interval is of: corrected for what chance adds, if it can be
    interval: Ends | None
    null: Ends | None
    fair: float | None  # where a fair model would lie
    plain: float | None = None  # where ``value`` is corrected, the plain one, which the null band is of
    beyond: bool = False  # beyond chance, corrected for several tests: only then it is filled


@dataclass(frozen=True)
class Row:
    """One line of the table of findings, every number already written.

    ``value`` is what the interval is of; where that is corrected for what chance adds, ``plain`` is not.
    """

    metric: str
    title: str
    params: str
    value: str
    interval: str
    null: str
    reading: str
    p: str
    p_adjusted: str
    direction: str
    n: str
    strip: Strip | None
    notes: Sequence[str]
    parts: str = ""
    parts_at: str = ""
    plain: str = ""


@dataclass(frozen=True)
class GlossaryEntry:
    """What a metric measures, and where that is defined."""

    title: str
    name: str
    meaning: str
    direction: str
    fair_at: str
    source: str
    fair_value: float | None = None


def interval_title(findings: Iterable[Finding]) -> str:
    """The heading of the interval column: it names the level where all findings share it."""
    levels = {finding.interval.level for finding in findings if finding.interval}
    return formats.interval_title(levels.pop()) if len(levels) == 1 else _("Interval")


def row(
    finding: Finding,
    alpha: float,
    *,
    with_level: bool,  # whether the interval says its level
    param_names: Sequence[str] | None = None,  # to show; None: all
    parts_at: str = "",  # where on the page its parts are, if it has any
) -> Row:
    """A finding as a line of the table."""
    why, rounding = glossary.reason(finding.reason), Rounding.of(finding)
    reasons = [
        _("Not estimable: {why}.", why=why) if finding.value is None else f"{why[:1].upper()}{why[1:]}."
    ]
    return Row(
        metric=finding.metric,
        title=finding.card.title,
        params=facets.row_params(finding, param_names),
        value=rounding.text(lead_of(finding)),
        interval=_interval(finding, rounding, with_level),
        null=rounding.span(finding.null),
        reading=words.short_verdict(finding, alpha),
        p=p_value(finding.p_value),
        p_adjusted=p_value(finding.p_adjusted),
        direction=words.direction(finding),
        n=count(finding.n),
        strip=strip(finding, beyond=is_beyond(finding, alpha)),
        notes=[*(reasons if finding.value is None or finding.reason else []), *map(filled, finding.notes)],
        parts=plural(len(finding.parts), "part"),
        parts_at=parts_at if finding.parts else "",
        plain="" if finding.corrected is None else rounding.text(finding.value),
    )


def _interval(finding: Finding, rounding: Rounding, with_level: bool) -> str:
    """The interval with its level where not all have the same one; of a descriptive finding, its spread."""
    interval, remarks = finding.interval, []
    if interval is not None and with_level:
        remarks.append(percent(interval.level))
    if interval is not None and interval.method.startswith("spread"):
        remarks.append(_("spread, no interval"))
    return rounding.span(interval) + (f" ({', '.join(remarks)})" if remarks else "")


def strip(finding: Finding, *, beyond: bool = False) -> Strip | None:
    """A finding drawn on a line from 0 to 1, or on a symmetric one where values exceed that.

    Differences of models have a symmetric line as long as they need.
    """
    if finding.value is None:
        return None
    marks = [finding.value, lead_of(finding), *band_ends(finding)]
    reach, start, end = max(map(abs, marks)), 0.0, 1.0
    if "compared" in finding.details:  # models differ by little: a line to 1 would show one dot
        start, end = -_round_end(reach), _round_end(reach)
    elif min(marks) < 0 or reach > 1:
        start, end = -float(math.ceil(reach)), float(math.ceil(reach))

    def at(mark: float) -> float:
        return round((mark - start) / (end - start) * STRIP_WIDTH, 1)

    def band(ends: Ends | None) -> Ends | None:
        return ends and (at(ends[0]), at(ends[1]))

    fair = finding.fair_at
    return Strip(
        low_end=digits(f"{start:g}".replace("-", "−")),
        high_end=digits(f"{end:g}"),
        value=at(lead_of(finding)),
        interval=band(ends_of(finding.interval)),
        null=band(ends_of(finding.null)),
        fair=at(fair) if fair is not None and start <= fair <= end else None,
        plain=None if finding.corrected is None else at(finding.value),
        beyond=beyond,
    )


def _round_end(reach: float) -> float:
    """The end of a line that holds this, a round number."""
    return next((end for end in _ENDS if reach <= end), float(math.ceil(reach)))


def definitions(chapters: Iterable[Chapter]) -> list[GlossaryEntry]:
    """Every metric that the report shows, once."""
    entries: dict[str, GlossaryEntry] = {}
    for chapter in chapters:
        for finding in chapter.findings:
            entries.setdefault(
                finding.name,
                GlossaryEntry(
                    title=finding.card.title,
                    name=finding.name,
                    meaning=finding.card.summary or _("not described in this version of the report"),
                    direction=words.direction(finding),
                    fair_at=number(finding.fair_at),
                    source=_defined_in(finding),
                    fair_value=finding.fair_at,
                ),
            )
    return list(entries.values())


def _defined_in(finding: Finding) -> str:
    """Paper and equation; our own words for what differs between models or seeds in the page's language."""
    source, of = finding.source, finding.card.of
    paper = source.paper if of is None or of.source.paper == source.paper else _(source.paper)
    equation = source.equation if of is None else _(source.equation)
    return f"{paper}, {equation}" if equation else paper


def bands(chapter: Chapter) -> list[dict[str, Any]]:
    """How many classes fall into each band, and how many into none."""
    usable = [part for part in chapter.classes if part.value is not None]
    counts = [
        {"name": name, "range": _(edges), "count": sum(part.band == name for part in usable)}
        for name, edges in glossary.BANDS.items()
    ]
    missing = len(chapter.classes) - len(usable)
    unbanded = sum(part.band is None for part in usable)
    if unbanded:
        counts.append({"name": "no band", "range": _("value without a band"), "count": unbanded})
    return [*counts, {"name": "not estimable", "range": DASH, "count": missing}]
