"""What a person sees on stdout after an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.associations import ASSOCIATIONS, lost_items
from evenhand.cli.summaries.first_lines import has_first_lines, print_first_lines
from evenhand.cli.summaries.indicators import INDICATORS
from evenhand.cli.summaries.settings import SETTINGS
from evenhand.cli.summaries.subgroups import is_search, print_subgroups
from evenhand.cli.summaries.text import (
    NUMBERS,
    CellTexts,
    FindingTable,
    about_intervals,
    clean,
    console_of,
    groups_text,
    number_cells,
    print_family,
    print_tables,
    reasons,
    rich_table,
)
from evenhand.core.cards import metric_id
from evenhand.core.errors import one_line
from evenhand.core.findings import Finding, Param, Part
from evenhand.core.frames import grouped
from evenhand.core.significance import alpha_of, is_beyond, p_shown, significance_of, uncorrected
from evenhand.display.text.formatting import DASH, p_value
from evenhand.display.text.reasons import verdict_text
from evenhand.workflows.outputs.result import Run

_MOST_CLASSES = 5
_WIDTH = 120
_LONG = 60  # letters of a metric with its parameters


def print_run(run: Run, out: Path | None, *, quiet: bool, verbose: bool = False, ascii: bool = False) -> None:
    """The summary; warnings alone where a command is quiet otherwise."""
    if quiet:
        _print_warnings(run)
    else:
        print_summary(run, out, verbose=verbose, ascii=ascii)


def print_summary(run: Run, out: Path | None, *, verbose: bool = False, ascii: bool = False) -> None:
    """What differs, in few lines; tables below them with ``verbose``, or where there are no such lines."""
    console = console_of(_WIDTH, ascii=ascii)
    if has_first_lines(run):
        print_first_lines(console, run, out, verbose=verbose, ascii=ascii)
        if verbose:
            console.print()
            _print_tables(console, run, verbose=True)
        elif any(is_search(finding) and (finding.parts or finding.notes) for finding in run.findings):
            console.print()
            print_subgroups(console, run.findings.findings)
        return
    for warning in run.findings.warnings:
        console.print(
            f"warning: {escape(one_line(warning.message))}", soft_wrap=True
        )  # a command in it is whole
    _print_tables(console, run, verbose=verbose)
    console.print("Associations, not causes; which of them harm is a question of context.")
    if out is not None:
        console.print(f"Report: {escape(str(out / 'report.html'))}")


def _print_tables(console: Console, run: Run, *, verbose: bool) -> None:
    """The tables of the family that leads, else per grouping; what was dropped."""
    for family in (SETTINGS, ASSOCIATIONS, INDICATORS):
        if any(map(family.leads, run.findings)):
            print_family(console, run, family)
            break
    else:
        _print_groupings(console, run, verbose=verbose)
    _print_dropped(console, run)


def _print_warnings(run: Run) -> None:
    """Warnings alone, on stderr: what a command says that is quiet otherwise."""
    for warning in run.findings.warnings:
        typer.echo(f"warning: {one_line(warning.message)}", err=True)


def _print_groupings(console: Console, run: Run, *, verbose: bool) -> None:
    """Headline findings, the classes that stand out, contrasts; those without a grouping below."""
    alpha = alpha_of(run.manifest)
    findings = [finding for finding in run.findings if not is_search(finding)]
    by_grouping = grouped(
        (finding for finding in findings if finding.by),
        lambda finding: (finding.grouping, finding.params.get("answers")),
    )
    print_tables(console, (_table(*item, alpha, verbose=verbose) for item in by_grouping.items()))
    for finding in findings:
        if not finding.by and (verbose or finding.value is not None):
            texts = CellTexts.of(finding)
            why = f" ({texts.interval})" if finding.value is None else ""
            console.print(f"{escape(finding.metric)}: {texts.value}{why}")
    print_subgroups(console, run.findings.findings)


def _table(
    grouping: tuple[str, Param], findings: Sequence[Finding], alpha: float, *, verbose: bool
) -> FindingTable:
    by, answers = grouping
    which = " (answers as they were given)" if answers == "raw" else ""
    headlines = list(filter(_is_shown, findings))
    others = [finding for finding in findings if not _is_shown(finding)] if verbose else []
    columns = ("finding", *_columns(headlines))
    below: list[str | Table] = [
        *reasons(findings if verbose else headlines, 1000),
        *_readings(findings, alpha),
        *(line for finding in findings if finding.name == "skewsize" for line in _classes(finding, alpha)),
    ]
    if others:
        names = ("further", *(name for name in _columns(others) if name not in ("by chance alone", "p adj.")))
        rows = [{**_row(finding, alpha), "p": p_value(p_shown(finding))} for finding in others]
        below += [rich_table(names, rows), *_notes(others, _form, alpha)]
    title = f"by {escape(one_line(f'{by}{which}'))}  {groups_text(findings[0])}"
    return FindingTable(title, columns, [_row(finding, alpha) for finding in headlines], below)


def _is_shown(finding: Finding) -> bool:
    plain = finding.params.get("aggregate", "max") == "max" and finding.params.get("eo", "max") == "max"
    return finding.card.headline and plain


def _columns(findings: Sequence[Finding]) -> list[str]:
    """Those of the numbers; one of plain values only where there are corrected ones."""
    plain = ["plain"] if any(finding.corrected is not None for finding in findings) else []
    return [*NUMBERS[:2], *plain, *NUMBERS[2:]]


def _form(finding: Finding) -> str:
    """A metric with its parameters; the grouping stands above."""
    return clean(metric_id(finding.name, (), finding.params).removesuffix("()"), _LONG)


def _row(finding: Finding, alpha: float) -> dict[str, str]:
    return {"finding": finding.name, "further": _form(finding), **number_cells(finding, alpha, apart=True)}


def _readings(findings: Sequence[Finding], alpha: float) -> Iterator[str]:
    """What the numbers do not say by themselves: chance gives large V; labels may be of two kinds."""
    yield from _notes(list(filter(_is_shown, findings)), lambda finding: finding.name, alpha)
    for finding in findings:
        if (
            finding.name == "cramers_v_pooled"
            and finding.value is not None
            and finding.band in ("medium", "large")
            and uncorrected(finding, alpha).side in ("within", "below")
        ):
            value = f"{finding.name} {finding.value:z.3f} (p {p_value(p_shown(finding))})"
            yield f"Medium or large by its band, but no more than chance alone gives: {value}"
            return


def _notes(findings: Sequence[Finding], row: Callable[[Finding], str], alpha: float) -> Iterator[str]:
    """What the intervals and verdicts of a table need beside them."""
    yield from about_intervals(findings, row)
    for finding in findings:
        standing = significance_of(finding, alpha)
        if standing.is_corrected or standing.despite is not None:
            yield f"{row(finding)} is {verdict_text(standing)}"


def _classes(finding: Finding, alpha: float) -> Iterator[str]:
    """The classes that stand out, and what SkewSize is when it is computed in other ways."""
    measured = [part for part in finding.parts if part.value is not None]
    beyond = [part for part in measured if is_beyond(part, alpha)]
    ranked = sorted(beyond or measured, key=lambda part: -(part.value or 0))[:_MOST_CLASSES]
    lead = f"largest of {len(measured)} classes"
    if any(part.p_adjusted is not None and part.role != "exploratory" for part in measured):
        test = f"{finding.adjustment}-adjusted p <= {alpha:g}"
        # Another question than whether a mistake differs, which the first lines answer.
        lead = (
            f"Tested class by class with Cramér's V: {len(beyond)} of {len(measured)} classes with a "
            f"difference beyond chance ({test}); largest"
        )
    if ranked:
        yield f"{lead}: {', '.join(map(_class_text, ranked))}"
    for contrast in finding.contrasts:
        mine, value = (DASH if v is None else f"{v:z.4f}" for v in (finding.value, contrast.value))
        yield f"SkewSize here is {mine}, in {contrast.label} {value}: {escape(contrast.reason)}"


def _class_text(part: Part) -> str:
    texts = CellTexts.of(part)
    return f"{clean(part.key)} V = {texts.plain or texts.value} (chance {texts.chance})"


def _print_dropped(console: Console, run: Run) -> None:
    """Rows left out by reason; where findings of one grouping lost different ones, the most of any."""
    findings = run.findings.findings
    by_setting, items = any(map(SETTINGS.leads, findings)), lost_items(run)
    dropped: dict[tuple[str, str], set[float]] = {}
    for finding in findings:
        where = "" if by_setting or not finding.by else f" (by {escape(finding.grouping)})"
        for lost in finding.dropped:
            if "class:" not in lost.reason:
                dropped.setdefault((where, lost.reason), set()).add(lost.count)
    for (where, reason), counts in dropped.items():
        count = items.get(reason, max(counts))
        least = "up to " if len(counts) > 1 and reason not in items else ""
        unit = " a finding" if least else ""
        console.print(f"dropped: {least}{count:,.0f} rows{unit} with {escape(one_line(reason))}{where}")
