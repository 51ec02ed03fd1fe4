"""Numbers, keys and tables of findings as the terminal shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.arguments.console import SafeConsole
from evenhand.cli.arguments.plain import plain_stream
from evenhand.core.errors import cut, first_few, one_line
from evenhand.core.findings import Finding, Interval, Null, Part
from evenhand.core.significance import lead_of, significance_of
from evenhand.display.text.formatting import DASH, level_text, p_value
from evenhand.display.text.reasons import explain
from evenhand.display.text.rounding import Rounding
from evenhand.workflows.outputs.result import Run

_USUAL = 0.95  # the level of intervals and bands that needs no mention

NUMBERS = ("value", "interval", "by chance alone", "p", "p adj.", "value is")
"""The columns of every finding."""

_TEXTS = ("finding", "further", "pair", "measure", "on", "value is", "test", "of")
_MOST_GROUPS = 8
_MORE = " and {} more"
_NAMED = 3  # rows that a note names; the others are counted


def console_of(width: int, *, ascii: bool = False) -> Console:
    """Where summaries are printed; ``width`` is for a stdout that is no terminal, which has its own."""
    stream = plain_stream(sys.stdout) if ascii else None
    console = SafeConsole(highlight=False, soft_wrap=False, file=stream)
    return console if console.is_terminal else SafeConsole(highlight=False, width=width, file=stream)


@dataclass(frozen=True)
class CellTexts:
    """What the cells of a finding or part say, all numbers with the same decimals."""

    value: str  # that the interval is of: corrected for what chance adds where that is known
    interval: str  # its ends, whose level stands below the table; why there is no value
    plain: str = ""  # the value with what chance adds, where ``value`` is without it
    chance: str = ""  # what chance gives of the plain value, with its level where that is not 95 %
    p: str = ""
    p_adjusted: str = ""

    @classmethod
    def of(cls, holder: Finding | Part) -> CellTexts:
        """Of one with a value or a reason."""
        if holder.value is None:
            return cls(DASH, escape(holder.reason or "undefined"))
        is_count = isinstance(holder, Finding) and holder.card.unit == "count"
        rounding = Rounding.of(holder, "count" if is_count else None)
        return cls(
            rounding.text(lead_of(holder)),
            _ends(holder.interval, rounding),
            "" if holder.corrected is None else rounding.text(holder.value),
            f"{_ends(holder.null, rounding)}{unusual_level(holder.null)}",
            p_value(holder.p_value),
            p_value(holder.p_adjusted),
        )

    @property
    def both(self) -> str:
        """The value, and the plain one where there are two."""
        return f"{self.value} (plain {self.plain})" if self.plain else self.value


def _ends(band: Interval | Null | None, rounding: Rounding) -> str:
    return DASH if band is None else " … ".join(rounding.ends(band))


def unusual_level(band: Interval | Null | None) -> str:
    """A level that is not 95 %, in brackets."""
    return "" if band is None or abs(band.level - _USUAL) < 1e-9 else f" ({level_text(band.level)} %)"


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
    return escape(cut(text, most))


@dataclass(frozen=True)
class FindingTable:
    """A table of findings with what stands around it."""

    heading: str
    columns: Sequence[str]  # none: there is no table
    rows: Sequence[Mapping[str, str]]
    below: Iterable[str | Table]


@dataclass(frozen=True)
class FamilyLayout:
    """How the findings of a family are shown, in a run that it leads."""

    leads: Callable[[Finding], bool]  # a finding of a run that the family leads
    shows: Callable[[Finding], bool]  # which of them have a line
    tables: Callable[[Run, Sequence[Finding]], Iterable[FindingTable]]  # of these
    after: Callable[[Run, Sequence[Finding]], Iterable[str]] = lambda run, findings: ()
    rest: str = ""  # what the findings are that have no line


def print_family(console: Console, run: Run, family: FamilyLayout) -> None:
    """Its tables, what is to know of all of them, and how many findings have no line."""
    findings = run.findings.findings
    in_tables = list(filter(family.shows, findings))
    print_tables(console, family.tables(run, in_tables))
    for line in family.after(run, in_tables):
        console.print(line)
    if len(findings) > len(in_tables):
        console.print(
            f"{len(findings) - len(in_tables)} more findings{family.rest} stand in report and findings.json."
        )


def print_tables(console: Console, tables: Iterable[FindingTable]) -> None:
    """Each under its heading, and a blank line after it."""
    for table in tables:
        console.print(table.heading, style="bold")
        if table.columns:
            console.print(rich_table(table.columns, table.rows))
        for line in table.below:
            console.print(f"  {line}" if isinstance(line, str) else line)
        console.print()


def rich_table(
    columns: Sequence[str] | Mapping[str, str],  # names in the rows, with headings where these are others
    rows: Iterable[Mapping[str, str]],
    *,
    left: Collection[str] = _TEXTS,  # what stands to the left
    wraps: Collection[str] = (),  # what may have several lines
    title: str | None = None,
) -> Table:
    """A table without lines."""
    headings = columns if isinstance(columns, Mapping) else dict(zip(columns, columns, strict=True))
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name, heading in headings.items():
        table.add_column(heading, justify="left" if name in left else "right", no_wrap=name not in wraps)
    for row in rows:
        table.add_row(*(row[name] for name in headings))
    return table


def number_cells(finding: Finding, alpha: float, *, apart: bool = False) -> dict[str, str]:
    """What the columns say of a finding; ``apart``: the plain value has a column of its own."""
    texts = CellTexts.of(finding)
    value = texts.value if apart else texts.both
    cells = (value, texts.interval, texts.chance, texts.p, texts.p_adjusted, verdict(finding, alpha))
    return {**dict(zip(NUMBERS, cells, strict=True)), "plain": texts.plain}


def groups_text(finding: Finding) -> str:
    """Rows, and those of the first groups."""
    groups = [f"{clean(group.key)} {group.n:,.0f}" for group in finding.groups]
    return f"n = {finding.n:,.0f}" + (f" ({first_few(groups, _MOST_GROUPS, _MORE)})" if groups else "")


def reasons(findings: Iterable[Finding], most: int = 200) -> list[str]:
    """Each reason in words, once."""
    codes = dict.fromkeys(finding.reason for finding in findings if finding.reason)
    return [clean(explain(code), most) for code in codes]


def about_intervals(findings: Sequence[Finding], row: Callable[[Finding], str]) -> list[str]:
    """Sentences below a table: of which value an interval is, at which level, and what is only a spread."""
    intervals = [
        (finding, row(finding).strip(), finding.interval)
        for finding in findings
        if finding.value is not None and finding.interval is not None
    ]
    unusual = [
        f"{name} {level_text(interval.level)} %"
        for _, name, interval in intervals
        if abs(interval.level - _USUAL) > 1e-9
    ]
    spread = [name for _, name, interval in intervals if interval.method.startswith("spread")]
    sentences = []
    if any(finding.corrected is not None for finding, *_ in intervals):
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


def notes_by_row(findings: Sequence[Finding], row: Callable[[Finding], str], most: int = 200) -> list[str]:
    """Each note once, after the rows that it is about; one of all rows stands alone."""
    notes = []
    for note in dict.fromkeys(note for finding in findings for note in finding.notes):
        about = list(dict.fromkeys(row(finding).strip() for finding in findings if note in finding.notes))
        is_of_all = all(note in finding.notes for finding in findings)
        notes.append(("" if is_of_all else f"{first_few(about, _NAMED, _MORE)}: ") + clean(note, most))
    return notes
