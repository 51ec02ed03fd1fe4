"""Results as small HTML tables for notebooks: escaped, without scripts or styles of the page.

Results import this file, so that it cannot name their types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from evenhand.core.numbers.rounding import PlainRounding, level_text, p_text

MOST_ROWS = 20
_LONGEST = 80
_TITLE = 300  # of a metric with all its parameters: cut inside a number it would read as another one
_BLANK = "␣"
_COLUMNS = ("Value", "Interval", "By chance", "p", "Adjusted p", "Rows", "Reason")
_DASH = "–"


def label(text: object, longest: int = _LONGEST) -> str:
    """Any text as one short line of HTML that keeps its own direction; of blanks alone, signs for them."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in str(text))
    line = line if line.strip() else line.replace(" ", _BLANK)
    line = line if len(line) <= longest else line[: longest - 1] + "…"
    return f"<bdi>{escape(line)}</bdi>"


def harmless(value: Any) -> Any:
    """A chart's specification whose texts cannot end the script that a notebook puts it into.

    Args:
        value: Text, or lists and mappings of them; keys are texts too.
    """
    if isinstance(value, str):
        return value.replace("</", "<\u2215").replace("<!", "<\ufe57")
    if isinstance(value, dict):
        return {harmless(key): harmless(entry) for key, entry in value.items()}
    return [harmless(entry) for entry in value] if isinstance(value, list) else value


def number(value: object) -> str:
    """A number with three decimals, a whole one without; a dash where there is none."""
    if value is None:
        return _DASH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return label(value)
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) > 1 else f"{value:z,.3f}"


def table(title: object, columns: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str]) -> str:
    """A table of at most ``MOST_ROWS`` rows; the others are counted below it.

    Args:
        title: What it is, any text.
        columns: Headings, any text.
        rows: Cells that are HTML already.
        notes: Lines below it, any text.
    """
    every = list(rows)
    head = "".join(f"<th>{label(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in every[:MOST_ROWS])
    more = [f"{len(every) - MOST_ROWS:,} more rows"] if len(every) > MOST_ROWS else []
    below = "".join(f"<p>{label(note)}</p>" for note in (*more, *notes))
    return (
        f"<div><p><strong>{label(title, _TITLE)}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )


def finding_html(finding: Any) -> str:
    """A ``Finding`` and its parts: the first row is the finding itself."""
    undefined = f": not estimable: {finding.reason}" if finding.value is None else ""
    dropped = [f"left out, {lost.reason}: {lost.count:g}" for lost in finding.dropped]
    return table(
        f"{finding.metric}{undefined}",
        ["Part", *_COLUMNS],
        [[label("the whole"), *_numbers(finding)], *(_part(part) for part in finding.parts)],
        [f"n = {finding.n:g}", finding.direction, *dropped, *finding.notes],
    )


def findings_html(findings: Any, title: object = "Findings") -> str:
    """A line for each of ``Findings``."""
    undefined = sum(finding.value is None for finding in findings.findings)
    return table(
        title,
        ["Finding", *_COLUMNS],
        [[label(finding.metric, _TITLE), *_numbers(finding)] for finding in findings.findings],
        [f"{len(findings.findings)} findings, {undefined} not estimable, which is not the same as fair"],
    )


def run_title(manifest: Mapping[str, Any], folder: object) -> str:
    """The heading of a run: benchmark, model and folder; of one without these, its columns and rows."""
    texts = [text for text in (manifest.get("benchmark"), manifest.get("model"), folder) if text]
    if not texts and manifest.get("prediction"):
        by = ", ".join(map(str, manifest.get("by") or []))
        texts = [f"{manifest['prediction']} against {manifest.get('truth')}", *([f"by {by}"] if by else [])]
        texts += [f"{manifest['rows']:,} rows"] if manifest.get("rows") else []
    return f"Run: {', '.join(map(str, texts))}" if texts else "Run"


def _part(part: Any) -> list[str]:
    key = part.key if isinstance(part.key, str) else " × ".join(part.key)
    return [label(key or "(empty)"), *_numbers(part)]


def _numbers(holder: Any) -> list[str]:
    rounding = PlainRounding.of(holder)
    return [
        _value(holder, rounding),
        _interval(holder, rounding),
        _DASH if holder.null is None else rounding.span(holder.null),
        _probability(holder.p_value),
        _probability(holder.p_adjusted),
        f"{holder.n:,g}",
        label(holder.reason) if holder.reason else "",
    ]


def _probability(p_value: float | None) -> str:
    return _DASH if p_value is None else escape(p_text(p_value))


def _value(holder: Any, rounding: PlainRounding) -> str:
    """The value that the interval is of; after a corrected one, that with noise."""
    if holder.value is None:
        return _DASH
    if holder.corrected is None:
        is_whole = float(holder.value).is_integer() and abs(holder.value) > 1
        return number(holder.value) if is_whole else escape(rounding.text(holder.value))
    return escape(f"{rounding.text(holder.corrected)} (corrected; plain {rounding.text(holder.value)})")


def _interval(holder: Any, rounding: PlainRounding) -> str:
    """The interval; its level where that is not 95 %."""
    interval = holder.interval
    if interval is None:
        return _DASH
    level = "" if abs(interval.level - 0.95) < 1e-9 else f" ({level_text(interval.level)} %)"
    return escape(f"{rounding.span(interval)}{level}")
