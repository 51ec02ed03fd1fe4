"""Sentences on what is within chance, or has no value, compared with the findings that they may be of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evenhand.core.findings import Finding
from evenhand.core.significance import excludes
from evenhand.display.overview.content import Overview
from evenhand.display.overview.pairs import CHANGED, LARGEST_PAIR, UNCHANGED
from evenhand.display.overview.phrasing import LARGEST, NO_VALUE, title_of, why_missing
from evenhand.display.overview.subject import Subject
from evenhand.display.text.statement import Statement, said
from evenhand.report.checking.read_back import Contradiction
from evenhand.report.checking.sourced import is_any, numbers_in, truly_beyond, unsourced, within, wrong_side
from evenhand.report.checking.support import Support, names_of, numbers_of, plain_support

_WITHIN = ("within what chance alone gives", "No mistake differs", "No subgroup stands out")
_UNTITLED = ("mistakes", "subgroups")  # their sentences name a grouping and no metric
_WHY = {
    "single_group": "one group", "no_mistakes": "o mistake", "weighted": "have weights",
    "too_few_rows": "No class has", "too_few_mistakes": "No mistake is made by so many",
    "one_cluster": "of one cluster", "mixed_clusters": "Clusters lie in several",
    "no_large_subgroup": "has enough", "none_beyond_chance": "beyond chance ({",
}  # fmt: skip
"""What the pattern of a sentence without any line says, by the status of its finding."""


def wrong_silence(
    overview: Overview, findings: Sequence[Finding], subject: Subject
) -> Iterator[Contradiction]:
    """What the sentences below the headlines say wrong.

    Each has to be true of one of the findings that it may be of, by title or grouping and by scope: its value
    with its sign, p, numbers in their units, why there is no value, and the verdict.
    """
    spoken = {text for line in overview.headlines for text in (line.text, line.sentence)}
    leads = [] if overview.beyond or overview.lead in spoken else [overview.lead]
    for text in filter(None, dict.fromkeys([*leads, *overview.silent])):
        if changed := within(text, CHANGED, UNCHANGED):
            yield from _how_many_changed(changed, findings)
            continue
        candidates = [finding for finding in findings if _may_be_of(text, finding, subject)]
        if not candidates:
            yield Contradiction(text, "the run has no finding that it is of")
            continue
        wrong = [list(_wrong(said(text), finding, findings, subject)) for finding in candidates]
        yield from min(wrong, key=len)


def _may_be_of(text: str, finding: Finding, subject: Subject) -> bool:
    """Whether a sentence names what a finding is called, what its groups are of, and its scope."""
    if finding.card.p_is_about == "guessing":
        return (
            finding.card.sentences.hits_of(subject.noun, finding.params) in text or title_of(finding) in text
        )
    if finding.card.first_line in _UNTITLED:
        about = subject.about(finding) if finding.card.first_line == "mistakes" else ""
        return "status" in finding.details and (about in text or "beyond chance" not in text)
    scope = subject.scope(finding)
    return (
        title_of(finding) in text
        and scope in text
        and (not finding.by or f" by {subject.about(finding)}" in text)
    )


def _wrong(
    text: Statement, finding: Finding, findings: Sequence[Finding], subject: Subject
) -> Iterator[Contradiction]:
    """What a sentence says wrong if it is of this finding."""
    patterns = [part.pattern for part in text.statements()]
    sides = {part.places.get("verdict") for part in text.statements()}
    is_largest = text.pattern in (LARGEST, LARGEST_PAIR)
    if is_largest:
        yield from _how_many(text, finding, findings, subject)
    is_beyond = truly_beyond(finding, subject.alpha)
    if is_beyond and ("within" in sides or text.pattern.startswith(_WITHIN)):
        yield Contradiction(text, f"{finding.metric} is beyond chance")
    if not is_beyond and sides & {"above", "below", "beyond"}:
        yield Contradiction(text, f"{finding.metric} is within chance")
    missing = within(text, NO_VALUE)
    if (missing is not None) != (finding.value is None and title_of(finding) in text):
        yield Contradiction(text, f"the value of {finding.metric} is {finding.value}")
    if missing is not None and missing.places["reason"] != why_missing(finding.reason):
        yield Contradiction(text, f"the reason is {why_missing(finding.reason)}")
    support = _support(finding, subject)
    numbers = numbers_in(text)
    if "p" in numbers and not is_any(numbers["p"], support.p):
        yield Contradiction(text, f"p is {support.p}")
    yield from unsourced(text, support, apart=("p", *(["n"] if is_largest else [])))
    status = str(finding.details.get("status"))
    has_status = finding.card.first_line in _UNTITLED and "all questions of this run" not in text.pattern
    if has_status and not any(_WHY.get(status, "no such status") in pattern for pattern in patterns):
        yield Contradiction(text, f"{finding.metric} is {status}")
    if finding.value is not None:
        yield from wrong_side(text, support)


def _support(finding: Finding, subject: Subject) -> Support:
    """What its sentence may say, with what would have been noticed and how many groups are compared."""
    base = plain_support(finding, subject)
    noticed = numbers_of(finding.details, "detectable_rate", "detectable_others")
    minimum = numbers_of({"min_rows": 5, **finding.params}, "min_rows")
    rates = [rate for rate in (finding.value, finding.chance_at) if rate is not None]
    in_rows = [round(rate * finding.n) for rate in rates] if finding.card.p_is_about == "guessing" else []
    return replace(
        base,
        names=frozenset(names_of(finding, subject)),
        shares=(*base.shares, *noticed),
        numbers=(*base.numbers, *in_rows, float(len(finding.groups)), *minimum),
        p=tuple(p for p in (*base.p, finding.p_value, finding.p_adjusted) if p is not None),
    )


def _how_many(
    text: Statement, finding: Finding, findings: Sequence[Finding], subject: Subject
) -> Iterator[Contradiction]:
    """How many are said to be within chance, of which the largest is named."""
    silent = [
        other
        for other in findings
        if other.card.first_line == finding.card.first_line and not truly_beyond(other, subject.alpha)
    ]
    if not 1 <= numbers_in(text)["n"] <= len(silent):
        yield Contradiction(text, f"n is {len(silent)}")


def _how_many_changed(text: Statement, findings: Sequence[Finding]) -> Iterator[Contradiction]:
    """For how many pairs of groups an interval of a reduction leaves 0 out, and on which side."""
    reductions = [
        finding
        for finding in findings
        if finding.card.first_line == "reductions" and finding.interval is not None
    ]
    clear = [finding for finding in reductions if excludes(finding.interval, 0.0)]
    weaker = sum((finding.value or 0.0) > 0 for finding in clear)
    expected = {"weaker": weaker, "stronger": len(clear) - weaker, "n": len(reductions)}
    printed = {"weaker": 0.0, "stronger": 0.0} | numbers_in(text)
    for name, number in expected.items():
        if printed[name] != number:
            yield Contradiction(text, f"{name} is {number:,}")
