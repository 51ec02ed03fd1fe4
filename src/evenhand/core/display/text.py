"""Findings as a line of plain text, for ``print``.

Findings import this file, so that it cannot name their types.
"""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import one_line

_LONGEST = 60  # of the name of a metric with its parameters


def finding_line(finding: Any) -> str:
    """A finding in one line: metric, value, interval, what chance gives, p and n."""
    name = one_line(finding.metric)
    name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    if finding.value is None:
        reason = one_line(finding.reason or "no reason was recorded")
        return f"{name}: no value ({reason}); n = {finding.n:,.0f}"
    sign = ";" if finding.corrected is None else ","
    value = f"{finding.value:,.12g}" if finding.card.unit == "count" else f"{finding.value:z.3f}"
    return f"{name}: {value}{sign} {'; '.join(finding_facts(finding))}"


def finding_facts(finding: Any) -> list[str]:
    """What belongs to a value: what it is without noise, interval, what chance gives, p and n."""
    phrases = []
    if finding.corrected is not None:
        phrases.append(f"{finding.corrected:z.3f} without what noise adds")
    if finding.interval is not None:
        phrases.append(f"{_level(finding.interval.level)} interval {_ends(finding.interval)}")
    if finding.null is not None:
        phrases.append(f"chance gives {_ends(finding.null)}")
    p_value = finding.p_value if finding.p_adjusted is None else finding.p_adjusted
    if p_value is not None:
        phrases.append("p <0.001" if p_value < 0.0005 else f"p = {p_value:.3f}")
    return [*phrases, f"n = {finding.n:,.0f}"]


def _ends(band: Any) -> str:
    return f"{band.low:z.3f} to {band.high:z.3f}"


def _level(level: float) -> str:
    return f"{level * 100:.{4 if level < 0.999 else 6}g} %"
