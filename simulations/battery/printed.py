"""What is printed of findings, held against their verdicts: numbers that are rounded may not contradict them.

Read is the very text that people see: a finding in a line (``print``, gates), a sentence of exports, rows of
the terminal's and of a page's tables, and first lines. Where a finding or part is called beyond chance, no
interval may hold its reference, and no null band its value, as they are printed; and a value never lies
outside the interval that stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.cli.summaries.text import CellTexts
from evenhand.core.findings import Finding, Findings, Part
from evenhand.core.significance import ALPHA, EDGE, is_beyond, reference_of
from evenhand.display.overview.content import Headline
from evenhand.display.overview.overview import overview_of
from evenhand.display.text.rounding import Rounding
from evenhand.report.checking.printed_numbers import NUMBER, PrintedNumber
from evenhand.report.exports.exported import finding_sentence
from evenhand.report.views.rows import row

_VALUE = re.compile(rf"(?:: | = |^)({NUMBER})(?= points?\b| %| without| more| fewer| \(|;|,|\.?$)")
_INTERVAL = re.compile(rf"interval ({NUMBER})(?: to | … )({NUMBER})")
_CHANCE = re.compile(rf"chance(?: alone)?(?: would)? gives? ({NUMBER})(?: to | … )({NUMBER})", re.IGNORECASE)
_PLAIN = re.compile(rf"(?:plain ({NUMBER})|({NUMBER})(?: points?| %)? with it)")
_COUNTS = re.compile(rf"({NUMBER}) of ({NUMBER})")
_ROWS = re.compile(rf"give ({NUMBER}) to ({NUMBER}) of the ({NUMBER})")


def contradictions(
    findings: Sequence[Finding], manifest: Mapping[str, Any] | None = None, alpha: float = ALPHA
) -> list[str]:
    """Printed lines of findings and of their parts that contradict a verdict, each with what is wrong.

    Args:
        findings: Of a run, or a single one.
        manifest: Of the run, for its first lines.
        alpha: The level of its tests.
    """
    lines = [text for finding in findings for text in _of_finding(finding, alpha)]
    run = Findings(manifest_id="printed", findings=list(findings))
    for headline in overview_of(run, {"alpha": alpha, **(manifest or {})}).headlines:
        lines += _of_headline(headline, findings)
    return lines


def _of_finding(finding: Finding, alpha: float) -> Iterator[str]:
    if finding.value is None:
        return
    reference = _reference(finding, "count" if finding.card.unit == "count" else None)
    beyond = is_beyond(finding, alpha)
    line = row(finding, alpha, with_level=False)
    printed = [str(finding), finding_sentence(finding, alpha), _cells(CellTexts.of(finding))]
    printed.append(_joined(line.value, line.interval, line.plain, line.null))
    for text in printed:
        yield from wrong_in(text, beyond=beyond, reference=reference)
    for part in finding.parts:
        if part.value is not None:
            beyond = is_beyond(part, alpha)
            yield from wrong_in(_cells(CellTexts.of(part)), beyond=beyond, reference=_reference(part))


def wrong_in(text: str, *, beyond: bool, reference: float | None) -> Iterator[str]:
    """What one printed line says wrong.

    Args:
        text: With a value, and with an interval or with what chance gives.
        beyond: Whether it is called beyond chance.
        reference: What its interval leaves out then, as it is printed; None: nothing is compared.
    """
    value, plain = (_first(pattern, text) for pattern in (_VALUE, _PLAIN))
    for pattern in (_INTERVAL, _CHANCE):
        match = pattern.search(text)
        if match is None:
            continue
        low, high = (_number(match[index]) for index in (1, 2))
        compared = value if pattern is _INTERVAL or plain is None else plain
        if pattern is _INTERVAL and compared is not None and not low <= compared <= high:
            yield f"value outside its interval: {text}"
        if beyond and pattern is _INTERVAL and reference is not None and low <= reference <= high:
            yield f"reference {reference:g} in the interval: {text}"
        if beyond and pattern is _CHANCE and compared is not None and low <= compared <= high:
            yield f"value in its band: {text}"


def _of_headline(headline: Headline, findings: Sequence[Finding]) -> Iterator[str]:
    """The first lines of a finding; those of a mistake say what chance gives in rows."""
    finding = next((finding for finding in findings if finding.metric == headline.metric), None)
    if finding is None or not headline.beyond:
        return
    rows = _ROWS.search(headline.chance)
    counts = _COUNTS.search(headline.text)
    if rows and counts and counts[2] == rows[3] and "in a single comparison" not in headline.chance:
        low, high, hits = map(_number, (rows[1], rows[2], counts[1]))
        if low <= hits <= high:
            yield f"value in its band: {headline.text} {headline.chance}"
    has_own_band = "in a group of" in headline.chance  # of a rate, beside a difference
    chance = "" if rows or has_own_band else headline.chance
    reference = 0.0 if finding.card.first_line == "mistakes" else _reference(finding, finding.card.unit)
    yield from wrong_in(f"{headline.size} {chance}", beyond=True, reference=reference)


def _cells(numbers: CellTexts) -> str:
    return _joined(numbers.value, numbers.interval, numbers.plain, numbers.chance)


def _joined(value: str, interval: str, plain: str, chance: str) -> str:
    """Cells of a table's row as one line."""
    beside = f"; plain {plain}" if plain else ""
    return f"{value}; interval {interval}{beside}; chance gives {chance}"


def _reference(holder: Finding | Part, unit: str | None = None) -> float | None:
    """The reference as it is printed beside a finding; None where the interval holds it."""
    reference, interval = reference_of(holder), holder.interval
    if reference is None or interval is None:
        return None
    if interval.low - EDGE <= reference <= interval.high + EDGE:
        return None
    return _number(Rounding.of(holder, unit).text(reference))


def _first(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    return None if match is None else _number(next(group for group in match.groups() if group))


def _number(text: str) -> float:
    """A printed number; one that is only said to be small is half of what it is smaller than."""
    limit = PrintedNumber(text, is_share=False).value
    return limit / 2 if text[0] in "<>" else limit
