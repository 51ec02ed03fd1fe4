"""On which side of chance a finding lies: one rule for every export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import significance_of
from evenhand.report.wording import sentences as words

Verdict = Literal["worse", "better", "unlike", "within", "untested"]

_DIFFERENCE = "_difference"
_OF_ONE_MODEL = "association_difference"  # of two groups
_HIGHER = frozenset((
    "accuracy", "worst_group_accuracy", "mean_group_accuracy", "worst_class_group_accuracy",
    "resolution_accuracy", "household_hit_rate", "worst_household_hit_rate", "precision_at_k",
    "min_skew_at_k", "association_reduction",
))  # fmt: skip
_LOWER = frozenset((
    "accuracy_gap", "accuracy_range", "demographic_parity", "equalized_odds", "cramers_v", "cramers_v_pooled",
    "cramers_v_mean", "cramers_v_median", "cramers_v_max", "cramers_v_corrected", "phi", "max_skew_at_k",
    "ndkl", "misgendering_rate", "label_association_gap", "harmful_association_rate",
    "harmful_association_gap", "precision_gap",
))  # fmt: skip
"""Metrics of which higher, and lower, values are better; a difference of models says neither by itself."""
_OF_PARTS = {"household_hit_gap": "higher is better"}  # parts that are no gaps but rates

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
    than the second.

    Args:
        finding: The finding.
        alpha: The level of its test.

    Returns:
        ``worse``, ``better`` or ``unlike`` beyond chance; ``within`` chance; ``untested`` where there is no
        verdict: no value, no test, nothing to compare with, or a p that is exploratory.
    """
    return _judged(finding, finding, _direction(finding), alpha)


def judged_part(finding: Finding, part: Part, alpha: float) -> Verdict:
    """The same of one of its parts, ``untested`` where no p was corrected over the parts.

    The parts of SkewSize by class are effect sizes: lower is fairer. Those of a gap between households are
    the rates of its groups, higher is better, as in ``household_hit_rate``.
    """
    if part.p_adjusted is None:
        return "untested"
    effects = finding.name.startswith("skewsize") and part.kind == "class"
    direction = "lower is fairer" if effects else _OF_PARTS.get(finding.name, _direction(finding))
    return _judged(finding, part, direction, alpha)


def reading(finding: Finding, alpha: float, chance: str = "chance") -> str:
    """Where a finding stands beside chance, and on which side, in words; empty where nothing was tested.

    A p without a verdict is called exploratory.

    Args:
        finding: The finding.
        alpha: The level of its test.
        chance: What it is compared with.
    """
    verdict = judged(finding, alpha)
    says = _SAYS[verdict]
    if compared(finding) is not None and verdict in ("worse", "better"):
        says = f"the first model is {verdict} than the second"
    return ": ".join(filter(None, (words.place(finding, alpha, chance), says)))


def compared(finding: Finding) -> str | None:
    """The metric of which a finding is the difference of two models; None for findings of one model."""
    if finding.name == "household_hit_improvement":
        return "household_hit_rate"
    if not finding.name.endswith(_DIFFERENCE) or finding.name == _OF_ONE_MODEL:
        return None
    return str(finding.params.get("metric") or finding.name.removesuffix(_DIFFERENCE))


def _direction(finding: Finding) -> str:
    metric = compared(finding)
    if metric is None:
        return finding.direction
    higher = "higher is better" if metric in _HIGHER else "descriptive"
    return "lower is fairer" if metric in _LOWER else higher


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
