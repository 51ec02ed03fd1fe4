"""On which side of chance a finding lies: one rule for every export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import significance_of
from evenhand.report.wording import sentences as words

Verdict = Literal["worse", "better", "unlike", "within", "untested"]

_SAYS: Mapping[Verdict, str] = {
    "worse": "the unfair side",
    "better": "the better side",
    "unlike": "which side is better is for people to say",
    "within": "",
    "untested": "",
}


def judged(finding: Finding, alpha: float) -> Verdict:
    """On which side of chance a finding lies.

    ``significance_of`` decides: p and interval together, beside the value that chance or fairness leads to.
    The metric's direction says which side is better. A descriptive metric with a fair value is unfair on both
    sides; without one it is ``unlike``, and so is a value of which nothing tells the side. A difference of
    models takes the direction of the metric that is compared: ``worse`` means that the first model is worse
    than the second. ``untested`` is what has no verdict: no value, no test, nothing to compare with, or a p
    that is exploratory.
    """
    return _judged(finding, finding, _direction(finding), alpha)


def judged_part(finding: Finding, part: Part, alpha: float) -> Verdict:
    """The same of one of its parts, ``untested`` where no p was corrected over the parts.

    Parts may have a direction of their own: those of SkewSize are effect sizes, those of a gap the rates of
    its groups.
    """
    if part.p_adjusted is None:
        return "untested"
    return _judged(finding, part, finding.card.parts_direction or _direction(finding), alpha)


def reading(finding: Finding, alpha: float, chance: str = "chance") -> str:
    """Where a finding stands beside chance, and on which side, in words; empty where nothing was tested.

    A p without a verdict is called exploratory.
    """
    verdict = judged(finding, alpha)
    says = _SAYS[verdict]
    if compared(finding) is not None and verdict in ("worse", "better"):
        says = f"the first model is {verdict} than the second"
    return ": ".join(filter(None, (words.short_verdict(finding, alpha, chance), says)))


def compared(finding: Finding) -> str | None:
    """The metric of which a finding is the difference of two models; None for findings of one model."""
    card = finding.card
    return card.of.name if card.of is not None and card.p_is_about == "models" else None


def _direction(finding: Finding) -> str:
    """Which way is better: of a difference of models, as of what is compared."""
    of = finding.card.of
    direction = finding.direction if compared(finding) is None or of is None else of.direction
    return direction.replace("higher is fairer", "higher is better")


def _judged(finding: Finding, holder: Finding | Part, direction: str, alpha: float) -> Verdict:
    standing = significance_of(holder, alpha)
    if holder.value is None or not standing.side:
        return "untested"
    if not standing.beyond:
        return "within"
    if direction == "descriptive":
        return "unlike" if finding.fair_at is None or compared(finding) is not None else "worse"
    if standing.side == "beyond":  # nothing tells the side
        return "unlike"
    return "worse" if (standing.side == "above") == (direction == "lower is fairer") else "better"
