"""Pieces of sentences that all families of metrics share."""

from __future__ import annotations

from evenhand.core.findings import Finding, Part
from evenhand.core.nouns import Nouns
from evenhand.core.significance import p_shown
from evenhand.display.text.formatting import interval_title, quoted
from evenhand.display.text.language import _
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement

NOT_ESTIMABLE = "Could not be estimated. Not estimable is not the same as fair."
NO_PROOF = "That does not prove fairness."


def members_of(nouns: Nouns, attribute: str, group: str) -> str:
    """How sentences call the members of a group, in the page's language."""
    name = nouns.members(attribute, group)
    usual = name == f"the group “{group}”"
    return _("the group {group}", group=quoted(group)) if usual else _(name)


def value_or_0(part: Part) -> float:
    """What parts are ordered by."""
    return part.value or 0.0


def is_tested(finding: Finding) -> bool:
    """Whether its p decides on a verdict."""
    return p_shown(finding) is not None and finding.role != "exploratory"


def interval_in_words(holder: Finding | Part) -> str:
    """The interval with its level, in brackets; nothing where there is none."""
    if holder.interval is None:
        return ""
    title, ends = interval_title(holder.interval.level), Rounding.of(holder).span(holder.interval)
    return Statement.of(" ({title} {ends})", title=title, ends=ends)


def value_of(holder: Finding | Part, name: str = "") -> str:
    """The value that the interval is of, with it; the plain value after one that is corrected for chance.

    ``name`` stands between value and interval.
    """
    rounding, interval = Rounding.of(holder), interval_in_words(holder)
    if holder.corrected is None:
        return Statement.joined((rounding.text(holder.value), name, interval), "")
    return _(
        "{corrected} without what noise adds{interval}, {value} with it",
        corrected=Statement.joined((rounding.text(holder.corrected), name), ""),
        interval=interval,
        value=rounding.text(holder.value),
    )


def against_null(finding: Finding) -> str:
    """What chance alone gives, after a semicolon; nothing where that is not known."""
    if finding.null is None:
        return ""
    return _(
        "; chance alone gives {mean} ({ends})",
        mean=Rounding.of(finding).text(finding.null.mean),
        ends=Rounding.of(finding).span(finding.null),
    )
