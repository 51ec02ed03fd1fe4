"""Numbers and keys as the terminal shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.markup import escape

from evenhand.cli.arguments.console import SafeConsole
from evenhand.cli.arguments.plain import plain_stream
from evenhand.core.errors import one_line
from evenhand.core.findings import Finding, Interval, Null
from evenhand.core.significance import ALPHA, level_text, significance_of
from evenhand.workflows.outputs.result import Run

_NAMED = 3  # rows that a note names; the others are counted

USUAL = 0.95
"""The level of intervals and bands that needs no mention."""


def console_of(width: int, *, ascii: bool = False) -> Console:
    """Where summaries are printed.

    Args:
        width: Where stdout is no terminal, which has its own.
        ascii: Print ASCII alone.
    """
    stream = plain_stream(sys.stdout) if ascii else None
    console = SafeConsole(highlight=False, soft_wrap=False, file=stream)
    return console if console.is_terminal else SafeConsole(highlight=False, width=width, file=stream)


def span(band: Interval | Null | None) -> str:
    """A band as two numbers, with its level where that is not 95 %; an en dash where there is none."""
    if band is None:
        return "–"
    level = "" if abs(band.level - USUAL) < 1e-9 else f" ({level_text(band.level)} %)"
    return f"{band.low:z.3f} … {band.high:z.3f}{level}"


def ends(interval: Interval | None) -> str:
    """The two numbers of an interval without its level, which ``about_intervals`` says below the table."""
    return "–" if interval is None else f"{interval.low:z.3f} … {interval.high:z.3f}"


def about_intervals(findings: Sequence[Finding], row: Callable[[Finding], str]) -> list[str]:
    """Sentences below a table: of which value an interval is, at which level, and what is only a spread.

    Args:
        findings: The rows of the table.
        row: How a row is called there.
    """
    intervals = [
        (finding, finding.interval)
        for finding in findings
        if finding.value is not None and finding.interval is not None
    ]
    unusual = [
        f"{row(finding).strip()} {level_text(interval.level)} %"
        for finding, interval in intervals
        if abs(interval.level - USUAL) > 1e-9
    ]
    spread = [row(finding).strip() for finding, interval in intervals if interval.method.startswith("spread")]
    sentences = []
    if any(finding.corrected is not None for finding, _ in intervals):
        sentences.append("An interval beside a corrected value is of that value")
    if unusual:
        sentences.append(f"Levels of intervals that are not at 95 %: {', '.join(unusual)}")
    if spread:
        sentences.append(
            f"The interval of {', '.join(spread)} is its spread over resamples: it has no verdict"
        )
    return sentences


def alpha_of(run: Run) -> float:
    """The significance level of a run."""
    return float(run.manifest.get("alpha", ALPHA))


def verdict(finding: Finding, alpha: float) -> str:
    """The verdict; of a p that was not corrected, that it is exploratory."""
    if finding.role == "exploratory":
        return "exploratory" if finding.p_value is not None else ""
    return replace(significance_of(finding, alpha), note="").in_words()


def corrected(finding: Finding) -> str:
    """The value corrected for what chance adds; nothing where there is none."""
    return "" if finding.corrected is None else f"{finding.corrected:z.4f}"


def clean(key: str | list[str], most: int = 40) -> str:
    """A key as short, harmless terminal text; what has nothing to show says so."""
    names = [key] if isinstance(key, str) else key
    text = " · ".join(one_line(name) or ("(blank)" if name else "(empty)") for name in names)
    return escape(text if len(text) <= most else text[: most - 1] + "…")


def notes_by_row(findings: Sequence[Finding], row: Callable[[Finding], str], most: int = 200) -> list[str]:
    """Each note once, after the rows that it is about; one of all rows stands alone.

    Args:
        findings: The rows of a table.
        row: How a row is called there.
        most: Characters of a note that are shown.
    """
    notes = []
    for note in dict.fromkeys(note for finding in findings for note in finding.notes):
        about = list(dict.fromkeys(row(finding).strip() for finding in findings if note in finding.notes))
        more = f" and {len(about) - _NAMED} more" if len(about) > _NAMED else ""
        lead = f"{', '.join(about[:_NAMED])}{more}: "
        all_rows = all(note in finding.notes for finding in findings)
        notes.append(("" if all_rows else lead) + clean(note, most))
    return notes
