"""Numbers and keys as the terminal shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.arguments.console import SafeConsole
from evenhand.cli.arguments.plain import plain_stream
from evenhand.core.errors import one_line
from evenhand.core.findings import Finding, Interval, Null, Part
from evenhand.core.significance import ALPHA, lead_of, significance_of
from evenhand.display.text.formatting import DASH, level_text
from evenhand.display.text.rounding import Rounding
from evenhand.workflows.outputs.result import Run

_NAMED = 3  # rows that a note names; the others are counted

USUAL = 0.95
"""The level of intervals and bands that needs no mention."""


def plain_table(names: Iterable[str], left: Collection[str]) -> Table:
    """A table without lines; its columns stand to the right but for those named."""
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    return table


def console_of(width: int, *, ascii: bool = False) -> Console:
    """Where summaries are printed; ``width`` is for a stdout that is no terminal, which has its own."""
    stream = plain_stream(sys.stdout) if ascii else None
    console = SafeConsole(highlight=False, soft_wrap=False, file=stream)
    return console if console.is_terminal else SafeConsole(highlight=False, width=width, file=stream)


@dataclass(frozen=True)
class CellTexts:
    """What the cells of a finding say, all with the same decimals."""

    value: str  # that the interval is of: corrected for what chance adds where that is known
    interval: str  # its ends; their level stands below the table
    plain: str  # the value with what chance adds, where ``value`` is without it
    chance: str  # what chance gives of the plain value, with its level where that is not 95 %

    @classmethod
    def of(cls, holder: Finding | Part) -> CellTexts:
        """Of one with a value."""
        is_count = isinstance(holder, Finding) and holder.card.unit == "count"
        rounding = Rounding.of(holder, "count" if is_count else None)
        lead = lead_of(holder)
        return cls(
            rounding.text(lead),
            _ends(holder.interval, rounding),
            "" if holder.corrected is None else rounding.text(holder.value),
            f"{_ends(holder.null, rounding)}{_unusual(holder.null)}",
        )

    @property
    def both(self) -> str:
        """The value, and the plain one where there are two."""
        return f"{self.value} (plain {self.plain})" if self.plain else self.value


def _ends(band: Interval | Null | None, rounding: Rounding) -> str:
    return DASH if band is None else " … ".join(rounding.ends(band))


def _unusual(band: Interval | Null | None) -> str:
    """A level that is not 95 %."""
    return "" if band is None or abs(band.level - USUAL) < 1e-9 else f" ({level_text(band.level)} %)"


def with_level(finding: Finding, interval: str) -> str:
    """An interval as its cell says it, with its level where that is not 95 %."""
    return f"{interval}{_unusual(finding.interval)}"


def about_intervals(findings: Sequence[Finding], row: Callable[[Finding], str]) -> list[str]:
    """Sentences below a table: of which value an interval is, at which level, and what is only a spread."""
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
        sentences.append(
            "Where a plain value stands beside it, value and interval are without what noise adds; "
            "chance gives plain values"
        )
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
    side = significance_of(finding, alpha).side
    return f"{side} chance" if side else ""


def clean(key: str | list[str], most: int = 40) -> str:
    """A key as short, harmless terminal text; what has nothing to show says so."""
    names = [key] if isinstance(key, str) else key
    text = " · ".join(one_line(name) or ("(blank)" if name else "(empty)") for name in names)
    return escape(text if len(text) <= most else text[: most - 1] + "…")


def notes_by_row(findings: Sequence[Finding], row: Callable[[Finding], str], most: int = 200) -> list[str]:
    """Each note once, after the rows that it is about; one of all rows stands alone."""
    notes = []
    for note in dict.fromkeys(note for finding in findings for note in finding.notes):
        about = list(dict.fromkeys(row(finding).strip() for finding in findings if note in finding.notes))
        more = f" and {len(about) - _NAMED} more" if len(about) > _NAMED else ""
        lead = f"{', '.join(about[:_NAMED])}{more}: "
        all_rows = all(note in finding.notes for finding in findings)
        notes.append(("" if all_rows else lead) + clean(note, most))
    return notes
