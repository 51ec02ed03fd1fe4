"""Headlines of mitigations: how often one set lies nearer before, and how often after, on held-out items."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.display.overview import values
from evenhand.core.display.overview.content import Chart, Headline, Mark
from evenhand.core.display.overview.pairs import Sets, hits_of
from evenhand.core.display.overview.phrasing import of, of_finding, weight
from evenhand.core.display.overview.subject import Subject
from evenhand.core.findings import Finding
from evenhand.core.significance import excludes
from evenhand.core.text.formatting import count, number, plural

_TIER = 0.5
_WHEN = ("before", "after")


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """One: in how many pairs of items one lies nearer before, and in how many after."""
    turned = _before(finding) < 0
    sets = Sets.of(finding, turned)
    before, after = (hits_of(finding, f"auc_{when}", turned) for when in _WHEN)
    if finding.value is None or sets is None or before is None or after is None:
        return values.headlines(finding, subject)
    which = f"{_half(finding)}pairs"
    return [
        of_finding(
            finding,
            subject,
            text=f"{sets.near}: nearer to {sets.to} than {sets.far} in {of(*before)} {which} before, "
            f"{count(after[0])} after.",
            sentence=f"On {_half(finding)}{subject.noun}, {sets.near} lies nearer to {sets.to} than "
            f"{sets.far} in {of(*before)} pairs before and in {count(after[0])} after; d goes from "
            f"{number(_before(finding))} to {number(_detail(finding, 'after'))}.",
            weight=_weight(finding),
            chart=_chart(finding, sets),
        )
    ]


def silence(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """For how many pairs the interval leaves 0 out, and on which side."""
    estimable = [finding for finding in findings if finding.interval is not None]
    if not estimable:
        return []
    clear = [finding for finding in estimable if excludes(finding.interval, 0.0)]
    weaker = sum((finding.value or 0.0) > 0 for finding in clear)
    stronger = len(clear) - weaker
    return [
        f"By an interval that leaves out 0 it is weaker for {count(weaker)} and stronger for "
        f"{count(stronger)} of {plural(len(estimable), 'pair')} of groups."
    ]


def nothing(findings: Sequence[Finding], subject: Subject) -> str:
    """In how many pairs of groups the association is weaker afterwards, without a verdict."""
    weaker = sum((finding.value or 0.0) > 0 for finding in findings)
    stronger = sum((finding.value or 0.0) < 0 for finding in findings)
    on, weak = f"on {_half(findings[0])}{subject.noun}", of(weaker, len(findings))
    return f"After the mitigation, {on}: weaker in {weak} pairs of groups, stronger in {count(stronger)}."


def _before(finding: Finding) -> float:
    return _detail(finding, "before") or 0.0


def _detail(finding: Finding, name: str) -> float | None:
    value = finding.details.get(name)
    return value if isinstance(value, float) else None


def _half(finding: Finding) -> str:
    half = finding.params.get("half")
    return f"{str(half).replace('_', '-')} " if half else ""


def _weight(finding: Finding) -> tuple[float, ...]:
    """By the end of the interval nearer to 0, then by how strong the association was before."""
    tier, nearer, _ = weight(finding, _TIER)
    return tier, nearer, abs(_before(finding))


def _chart(finding: Finding, sets: Sets) -> Chart:
    marks = [Mark(when, at, named=True) for when in _WHEN if (at := _detail(finding, when)) is not None]
    title = f"Effect size d: {sets.near} nearer to {sets.to} than {sets.far}"
    return Chart(title, tuple(marks), unit="number", fair=0.0)
