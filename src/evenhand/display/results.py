"""What ``print``, notebooks and ``chart()`` show of a ``Finding`` or of ``Findings``."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from evenhand.core.errors import cut, one_line
from evenhand.core.findings import Finding, Findings, Part
from evenhand.core.significance import p_shown
from evenhand.display.charts import finding_chart, findings_chart
from evenhand.display.html import TITLE_LIMIT, label, number, table
from evenhand.display.text.formatting import DASH, key_text, level_text, p_phrase, p_value
from evenhand.display.text.rounding import Rounding

if TYPE_CHECKING:
    import altair

_LONGEST = 60  # of the name of a metric with its parameters
_COLUMNS = ("Value", "Interval", "By chance", "p", "Adjusted p", "Rows", "Reason")


def text(results: Finding | Findings) -> str:
    """A finding in one line: metric, value, interval, what chance gives, p and n; of several a line each."""
    if isinstance(results, Findings):
        return "\n".join(map(text, results.findings))
    name = cut(one_line(results.metric), _LONGEST)
    if results.value is None:
        reason = one_line(results.reason or "no reason was recorded")
        return f"{name}: no value ({reason}); n = {results.n:,.0f}"
    return f"{name}: {'; '.join(finding_facts(results, with_value=True))}"


def finding_facts(finding: Finding, *, with_value: bool = False) -> list[str]:
    """What belongs to a value: interval, what chance gives, p and n.

    Of a corrected value, which the interval is of, both stand there, the corrected one first.
    """
    rounding = Rounding.of(finding, "count" if finding.card.unit == "count" else None)
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
    if (p := p_shown(finding)) is not None:
        phrases.append(p_phrase(p))
    return [*phrases, f"n = {finding.n:,.0f}"]


def html(results: Finding | Findings, title: object = "Findings") -> str:
    """A finding and its parts, its first row the finding itself; of several a row each, under a title."""
    if isinstance(results, Findings):
        undefined = sum(finding.value is None for finding in results)
        return table(
            title,
            ["Finding", *_COLUMNS],
            [[label(finding.metric, TITLE_LIMIT), *_numbers(finding)] for finding in results],
            [f"{len(results)} findings, {undefined} not estimable, which is not the same as fair"],
        )
    missing = f": not estimable: {results.reason}" if results.value is None else ""
    dropped = [f"left out, {lost.reason}: {lost.count:g}" for lost in results.dropped]
    return table(
        f"{results.metric}{missing}",
        ["Part", *_COLUMNS],
        [
            [label("the whole"), *_numbers(results)],
            *([label(key_text(part.key) or "(empty)"), *_numbers(part)] for part in results.parts),
        ],
        [f"n = {results.n:g}", results.direction, *dropped, *results.notes],
    )


def chart(results: Finding | Findings) -> altair.VConcatChart:
    """Values with their intervals and null bands: a panel for each metric, or of a finding for its parts."""
    return finding_chart(results) if isinstance(results, Finding) else findings_chart(results.findings)


def _numbers(holder: Finding | Part) -> list[str]:
    rounding = Rounding.of(holder)
    return [
        _value(holder, rounding),
        _interval(holder, rounding),
        rounding.span(holder.null),
        escape(p_value(holder.p_value)),
        escape(p_value(holder.p_adjusted)),
        f"{holder.n:,g}",
        label(holder.reason) if holder.reason else "",
    ]


def _value(holder: Finding | Part, rounding: Rounding) -> str:
    """The value that the interval is of; after a corrected one, that with noise."""
    if holder.value is None:
        return DASH
    if holder.corrected is None:
        is_whole = float(holder.value).is_integer() and abs(holder.value) > 1
        return number(holder.value) if is_whole else escape(rounding.text(holder.value))
    return escape(f"{rounding.text(holder.corrected)} (corrected; plain {rounding.text(holder.value)})")


def _interval(holder: Finding | Part, rounding: Rounding) -> str:
    """The interval; its level where that is not 95 %."""
    interval = holder.interval
    if interval is None:
        return DASH
    level = "" if abs(interval.level - 0.95) < 1e-9 else f" ({level_text(interval.level)} %)"
    return escape(f"{rounding.span(interval)}{level}")
