"""Whether numbers, sides and verdicts of a sentence are those of what supports it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenhand.core.findings import Finding
from evenhand.core.significance import excludes, reference_of
from evenhand.report.checking.printed_numbers import numbers_in, without_names
from evenhand.report.checking.read_back import Contradiction
from evenhand.report.checking.support import Support, shown_p

_MORE_OR_FEWER = re.compile(r"points? (more|fewer) than ")


def unsourced(text: str, support: Support) -> Iterator[Contradiction]:
    """Numbers that the support has not, or not in this unit."""
    digits = {float(name) for name in support.names if name.replace(".", "", 1).isdigit()}
    for number in numbers_in(without_names(text, support.names)):
        values = support.all_shares if number.is_share else support.all_numbers | digits
        if not number.stands_for_any(values):
            unit = " as a share" if number.is_share else ""
            yield Contradiction(text, f"nothing here is {number.text}{unit}")


def wrong_side(size: str, support: Support) -> Iterator[Contradiction]:
    """Which side is more, by words or by the sign of the value."""
    named, colon, measured = without_names(size, support.names).rpartition(": ")
    value = next(numbers_in(measured), None) if colon else None
    signed = {number for number in (support.holder.value, support.holder.corrected) if number is not None}
    if value and not value.stands_for_any(signed):
        yield Contradiction(size, f"{named} is not {value.text}")
    match = _MORE_OR_FEWER.search(size)
    if match and support.difference is not None and (match[1] == "more") != (support.difference > 0):
        yield Contradiction(size, f"the difference is {support.difference:+.3f}")


def truly_beyond(finding: Finding, alpha: float) -> bool:
    """Whether test and interval of a finding say so, and it is no answer to whether it guesses."""
    if finding.card.p_is_about == "guessing" or finding.role == "exploratory" or finding.value is None:
        return False
    significant = any(p <= alpha for p in shown_p(finding))
    return (
        significant
        and reference_of(finding) is not None
        and excludes(finding.interval, reference_of(finding))
    )
