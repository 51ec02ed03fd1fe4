"""Findings as a line of plain text, for ``print``.

Findings import this file, so that it cannot name their types.
"""

from __future__ import annotations

from typing import Any

from evenhand.core.numbers.rounding import PlainRounding, level_text, p_text
from evenhand.core.numbers.unseen import one_line

_LONGEST = 60  # of the name of a metric with its parameters


def finding_line(finding: Any) -> str:
    """A finding in one line: metric, value, interval, what chance gives, p and n."""
    name = one_line(finding.metric)
    name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    if finding.value is None:
        reason = one_line(finding.reason or "no reason was recorded")
        return f"{name}: no value ({reason}); n = {finding.n:,.0f}"
    return f"{name}: {'; '.join(finding_facts(finding, with_value=True))}"


def finding_facts(finding: Any, *, with_value: bool = False) -> list[str]:
    """What belongs to a value: interval, what chance gives, p and n.

    Of a corrected value, which the interval is of, both stand there, the corrected one first.

    Args:
        finding: One with a value.
        with_value: Whether a value that is not corrected is among them.
    """
    rounding = PlainRounding.of(finding, "count" if finding.card.unit == "count" else None)
    phrases = [rounding.text(finding.value)] if with_value and finding.corrected is None else []
    if finding.corrected is not None:
        phrases.append(f"{rounding.text(finding.corrected)} without what noise adds")
    if finding.interval is not None:
        level = level_text(finding.interval.level)
        phrases.append(f"{level} % interval {rounding.span(finding.interval)}")
    if finding.corrected is not None:
        phrases.append(f"{rounding.text(finding.value)} with it")
    if finding.null is not None:
        phrases.append(f"chance gives {rounding.span(finding.null)}")
    p = finding.p_value if finding.p_adjusted is None else finding.p_adjusted
    if p is not None:
        text = p_text(p)
        phrases.append(f"p {text}" if text.startswith("<") else f"p = {text}")
    return [*phrases, f"n = {finding.n:,.0f}"]
