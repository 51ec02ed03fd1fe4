"""Pieces of sentences that all families of metrics share."""

from __future__ import annotations

from evenhand.core.findings import Finding
from evenhand.core.significance import p_shown
from evenhand.core.text.formatting import interval_title, number, span
from evenhand.core.text.language import _

NOT_ESTIMABLE = "Could not be estimated. Not estimable is not the same as fair."


def is_tested(finding: Finding) -> bool:
    """Whether its p decides on a verdict."""
    return p_shown(finding) is not None and finding.role != "exploratory"


def interval_in_words(finding: Finding) -> str:
    """The interval with its level, in brackets; nothing where there is none."""
    if finding.interval is None:
        return ""
    ends = span(finding.interval.low, finding.interval.high)
    return f" ({interval_title(finding.interval.level)} {ends})"


def against_null(finding: Finding) -> str:
    """What chance alone gives, after a semicolon; nothing where that is not known."""
    if finding.null is None:
        return ""
    return _(
        "; chance alone gives {mean} ({ends})",
        mean=number(finding.null.mean),
        ends=span(finding.null.low, finding.null.high),
    )
