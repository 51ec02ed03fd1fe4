"""What a person sees on stdout after an audit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.associations import has_associations, lost_items, print_associations
from evenhand.cli.summaries.first_lines import has_first_lines, print_first_lines
from evenhand.cli.summaries.indicators import has_indicators, print_indicators
from evenhand.cli.summaries.settings import has_settings, print_settings
from evenhand.cli.summaries.subgroups import is_search, print_subgroups
from evenhand.cli.summaries.text import (
    CellTexts,
    about_intervals,
    alpha_of,
    clean,
    console_of,
    plain_table,
    verdict,
)
from evenhand.core.cards import metric_id
from evenhand.core.errors import one_line
from evenhand.core.findings import Finding, Part
from evenhand.core.significance import is_beyond, p_shown, significance_of, uncorrected
from evenhand.display.text.formatting import DASH, p_value
from evenhand.display.text.reasons import explain, verdict_text
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
    """Per grouping: headline findings, the classes that stand out, contrasts; what was dropped."""
    findings = run.findings.findings
    if has_settings(findings):
        print_settings(console, run)
    elif has_associations(findings):
        print_associations(console, run)
    elif has_indicators(findings):
        print_indicators(console, run)
    else:
        _print_groupings(console, run, verbose=verbose)
    _print_dropped(console, run)


def _print_warnings(run: Run) -> None:
    """Warnings alone, on stderr: what a command says that is quiet otherwise."""
    for warning in run.findings.warnings:
        typer.echo(f"warning: {one_line(warning.message)}", err=True)


def _print_groupings(console: Console, run: Run, *, verbose: bool) -> None:
    findings = [finding for finding in run.findings.findings if not is_search(finding)]
    for grouping, answers in dict.fromkeys((f.grouping, f.params.get("answers")) for f in findings if f.by):
        which = " (answers as they were given)" if answers == "raw" else ""
        grouping_findings = [
            f for f in findings if f.grouping == grouping and f.params.get("answers") == answers
        ]
        _print_grouping(console, run, grouping_findings, f"{grouping}{which}", verbose=verbose)
    for finding in findings:
        if not finding.by and (verbose or finding.value is not None):
            lead, interval, *_ = _row(finding, alpha_of(run))
            why = f" ({escape(interval)})" if finding.value is None else ""
            console.print(f"{escape(finding.metric)}: {lead}{why}")
    print_subgroups(console, run.findings.findings)


def _print_grouping(
    console: Console, run: Run, findings: list[Finding], grouping: str, *, verbose: bool
) -> None:
    groups = ", ".join(f"{clean(g.key)} {g.n:,.0f}" for g in findings[0].groups[:8])
    more = f" and {len(findings[0].groups) - 8} more" if len(findings[0].groups) > 8 else ""
    title = f"by {escape(one_line(grouping))}  n = {findings[0].n:,.0f} ({groups}{more})"
    console.print(title, style="bold")
    alpha = alpha_of(run)
    console.print(_headlines([finding for finding in findings if _shown(finding)], alpha))
    for reason in dict.fromkeys(f.reason for f in findings if (verbose or _shown(f)) and f.reason):
        console.print(f"  {escape(explain(reason))}")
    _print_readings(console, findings, alpha)
    for finding in findings:
        if finding.name == "skewsize":
            _print_classes(console, finding, run)
            _print_contrasts(console, finding)
    further = [finding for finding in findings if not _shown(finding)]
    if verbose and further:
        _print_further(console, further, alpha)
    console.print()


def _shown(finding: Finding) -> bool:
    plain = finding.params.get("aggregate", "max") == "max" and finding.params.get("eo", "max") == "max"
    return finding.card.headline and plain


def _headlines(findings: list[Finding], alpha: float) -> Table:
    """The findings of a grouping; a column of plain values only where there are corrected ones."""
    plain = ["plain"] if any(finding.corrected is not None for finding in findings) else []
    names = ("finding", "value", "interval", *plain, "by chance alone", "p", "p adj.", "value is")
    table = plain_table(names, ("finding", "value is"))
    for finding in findings:
        value, interval, with_noise, *rest = _row(finding, alpha)
        table.add_row(finding.name, value, interval, *([with_noise] if plain else []), *rest)
    return table


def _print_further(console: Console, findings: list[Finding], alpha: float) -> None:
    """The other findings of a grouping, with the parameters that tell forms of one metric apart."""
    plain = ["plain"] if any(finding.corrected is not None for finding in findings) else []
    names = ("further", "value", "interval", *plain, "p", "value is")
    table = plain_table(names, ("further", "value is"))
    for finding in findings:
        value, interval, with_noise, *_, stands = _row(finding, alpha)
        middle = [interval, *([with_noise] if plain else []), p_value(p_shown(finding))]
        table.add_row(_form(finding), value, *middle, stands)
    console.print(table)
    _print_notes(console, findings, _form, alpha)


def _form(finding: Finding) -> str:
    """A metric with its parameters; the grouping stands above."""
    return clean(metric_id(finding.name, (), finding.params).removesuffix("()"), _LONG)


def _row(finding: Finding, alpha: float) -> tuple[str, ...]:
    if finding.value is None:
        return DASH, finding.reason or "undefined", "", "", "", "", ""
    numbers = CellTexts.of(finding)
    return (
        numbers.value,
        numbers.interval,
        numbers.plain,
        numbers.chance,
        p_value(finding.p_value),
        p_value(finding.p_adjusted),
        verdict(finding, alpha),
    )


def _print_readings(console: Console, findings: list[Finding], alpha: float) -> None:
    """What the numbers above do not say by themselves: chance gives large V; labels may be of two kinds."""
    _print_notes(console, list(filter(_shown, findings)), lambda finding: finding.name, alpha)
    large = [
        f"{finding.name} {finding.value:z.3f} (p {p_value(p_shown(finding))})"
        for finding in findings
        if finding.name == "cramers_v_pooled"
        and finding.value is not None
        and finding.band in ("medium", "large")
        if uncorrected(finding, alpha).side in ("within", "below")
    ]
    if large:
        console.print(f"  Medium or large by its band, but no more than chance alone gives: {large[0]}")


def _print_notes(
    console: Console, findings: list[Finding], row: Callable[[Finding], str], alpha: float
) -> None:
    """What the intervals and verdicts of a table need beside them."""
    for line in about_intervals(findings, row):
        console.print(f"  {line}")
    for finding in findings:
        standing = significance_of(finding, alpha)
        if standing.is_corrected or standing.despite is not None:
            console.print(f"  {row(finding)} is {verdict_text(standing)}")


def _print_classes(console: Console, finding: Finding, run: Run) -> None:
    alpha = alpha_of(run)
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
        console.print(f"  {lead}: {', '.join(map(_class_text, ranked))}")


def _class_text(part: Part) -> str:
    numbers = CellTexts.of(part)
    return f"{clean(part.key)} V = {numbers.plain or numbers.value} (chance {numbers.chance})"


def _print_contrasts(console: Console, finding: Finding) -> None:
    for contrast in finding.contrasts:
        value = "–" if contrast.value is None else f"{contrast.value:z.4f}"
        mine = "–" if finding.value is None else f"{finding.value:z.4f}"
        console.print(f"  SkewSize here is {mine}, in {contrast.label} {value}: {escape(contrast.reason)}")


def _print_dropped(console: Console, run: Run) -> None:
    """Rows left out by reason; where findings of one grouping lost different ones, the most of any."""
    findings = run.findings.findings
    by_setting, items = has_settings(findings), lost_items(run)
    dropped: dict[tuple[str, str], set[float]] = {}
    for finding in findings:
        for lost in finding.dropped:
            if "class:" not in lost.reason:
                dropped.setdefault(("" if by_setting else finding.grouping, lost.reason), set()).add(
                    lost.count
                )
    for (grouping, reason), counts in dropped.items():
        where = f" (by {escape(grouping)})" if grouping else ""
        count = items.get(reason, max(counts))
        least = "up to " if len(counts) > 1 and reason not in items else ""
        unit = " a finding" if least else ""
        console.print(f"dropped: {least}{count:,.0f} rows{unit} with {escape(one_line(reason))}{where}")
