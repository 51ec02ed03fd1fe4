"""What a person sees on stdout after a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.first_lines import has_first_lines, print_first_lines
from evenhand.cli.summaries.seeds import print_drift, print_seeds
from evenhand.cli.summaries.text import CellTexts, clean, console_of, plain_table, with_level
from evenhand.core.findings import Finding
from evenhand.core.significance import is_beyond
from evenhand.display.text.formatting import MINUS, p_value
from evenhand.workflows.compare.engine import RANKED_BY
from evenhand.workflows.outputs.result import Run

_WIDTH = 160
_MOST_PAIRS = 20
_LONG = 76  # letters of a measure with its parameters
_PAIR = ("model", "reference")


def print_comparison(run: Run, out: Path | None, *, verbose: bool = False, ascii: bool = False) -> None:
    """What stands behind differences, the ranking, the pairs beyond chance, and the order's stability."""
    console = console_of(_WIDTH, ascii=ascii)
    if has_first_lines(run):
        print_first_lines(console, run, out, verbose=verbose, ascii=ascii)
        if not verbose:
            return
        console.print()
    for warning in () if has_first_lines(run) else run.manifest["warnings"]:
        console.print(f"note: {clean(warning, 400)}")
    if "values" in run.tables:
        console.print(_wide(run.tables["values"]))
        _print_answers(console, run)
    else:
        _print_pairing(console, run.tables["pairing"])
        for grouping in run.manifest["by"]:
            _print_grouping(console, run, grouping)
        _print_dropped(console, run.findings.findings)
    print_seeds(console, run)
    print_drift(console, run)
    console.print("Associations, not causes; which of them harm is a question of context.")
    if out is not None:
        console.print(f"Report: {escape(str(out / 'report.html'))}")


def _print_pairing(console: Console, pairing: pl.DataFrame) -> None:
    """How many pairs were compared on the same samples, and why others were not."""
    paired = pairing.filter(pl.col("samples").is_not_null())
    if paired.height:
        low, *_, high = sorted([*paired["samples"].to_list()] * 2)
        many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        console.print(f"{paired.height} of {pairing.height} pairs on the same samples ({many})")
    apart = pairing.filter(pl.col("samples").is_null())
    if apart.height:
        reasons = apart["reason"].unique(maintain_order=True).to_list()
        console.print(
            f"{apart.height} of {pairing.height} pairs not matched: {clean('; '.join(reasons[:3]), 300)}"
        )


def _print_grouping(console: Console, run: Run, grouping: str) -> None:
    ranking = run.tables["ranking"].filter(pl.col("by") == grouping)
    n = ranking["n"].unique().to_list()
    rows = f"{n[0]:,.0f} rows of each" if len(n) == 1 else "rows of their own"
    console.print(f"\nby {clean(grouping)}, on {rows} ({run.manifest['ranked_on']})", style="bold")
    numbers = {name: number for number, name in enumerate(run.manifest["models"], 1)}
    console.print(_ranked(run, ranking, numbers))
    within = pl.col("value").is_between("low", "high")
    if ranking.filter(~within).height:  # rows without an interval are neither
        console.print("V may lie outside its interval: it contains noise, which the interval leaves out")
    _print_differences(console, run, grouping, numbers)
    _print_stability(console, run, grouping, numbers)


def _ranked(run: Run, ranking: pl.DataFrame, numbers: Mapping[str, int]) -> Table:
    """One row a model, by the first measure that ranks, then by the second."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("model", overflow="fold")
    for metric in RANKED_BY:
        table.add_column(run.findings.card(metric).title, justify="right", no_wrap=True)
    ranks = [
        dict(ranking.filter(pl.col("metric") == metric).select("model", "rank").iter_rows())
        for metric in RANKED_BY[:2]
    ]

    def ranked(model: str) -> list[int]:
        return [rank.get(model) or ranking.height for rank in ranks]

    for model in sorted(ranking["model"].unique(maintain_order=True), key=ranked):
        rows_by_metric = {
            row["metric"]: row for row in ranking.filter(pl.col("model") == model).iter_rows(named=True)
        }
        table.add_row(
            str(numbers[model]), clean(model, 200), *(_cell(rows_by_metric[metric]) for metric in RANKED_BY)
        )
    return table


def _cell(row: dict[str, float | None]) -> str:
    if row["value"] is None:
        return "–"
    ends = f" [{row['low']:z.3f}, {row['high']:z.3f}]" if row["low"] is not None else ""
    return escape(f"{row['value']:z.3f}{ends}")


def _print_answers(console: Console, run: Run) -> None:
    """Differences of findings that are not of predictions: those beyond chance, then what was left out."""
    differences = [finding for finding in run.findings.findings if finding.reference is not None]
    if not differences:
        return
    console.print()
    _print_pairing(console, run.tables["pairing"])
    numbers = {name: number for number, name in enumerate(run.manifest["models"], 1)}
    for name, number in numbers.items():
        console.print(f"{number} {clean(name)}")
    tested = [finding for finding in differences if finding.p_adjusted is not None]
    beyond = _beyond(tested, float(run.manifest["alpha"]))
    varied = _varied(differences)
    console.print(_differing_measures(beyond, tested, float(run.manifest["alpha"]), varied))
    _print_pairs(console, beyond, numbers, varied)
    _print_dropped(console, differences)


def _varied(differences: Sequence[Finding]) -> list[str]:
    """Parameters in which the findings of some metric differ; the others need not be printed."""
    values: dict[tuple[str, str], set[str]] = {}
    for finding in differences:
        for key, value in finding.params.items():
            if key not in _PAIR and not (key == "where" and "setting" in finding.params):
                values.setdefault((finding.name, key), set()).add(str(value))
    return list(dict.fromkeys(key for (_, key), several in values.items() if len(several) > 1))


def _beyond(tested: Sequence[Finding], alpha: float) -> list[Finding]:
    return [finding for finding in tested if is_beyond(finding, alpha)]


def _differing_measures(
    beyond: Sequence[Finding], tested: Sequence[Finding], alpha: float, varied: Sequence[str] = ()
) -> str:
    """Which measures differ; no count, since measures of one table overlap."""
    rule = f"(Holm-adjusted p at most {alpha:g} within each measure)"
    if not tested:
        return "no difference was tested"
    if not beyond:
        return f"no difference is beyond chance {rule}"
    measures = list(dict.fromkeys(_measure(finding, varied) for finding in beyond))
    more = f" and {len(measures) - _MOST_PAIRS} measures more" if len(measures) > _MOST_PAIRS else ""
    return f"beyond chance: {', '.join(measures[:_MOST_PAIRS])}{more} {rule}"


def _print_differences(console: Console, run: Run, grouping: str, numbers: Mapping[str, int]) -> None:
    alpha = float(run.manifest["alpha"])
    differences = [
        finding
        for finding in run.findings.findings
        if finding.grouping == grouping and finding.reference is not None
    ]
    tested = [finding for finding in differences if finding.p_adjusted is not None]
    beyond = _beyond(tested, alpha)
    if differences:
        console.print(_differing_measures(beyond, tested, alpha))
    _print_pairs(console, beyond if len(run.tables["pairing"]) > 1 else differences, numbers)


def _print_pairs(
    console: Console, findings: Sequence[Finding], numbers: Mapping[str, int], varied: Sequence[str] = ()
) -> None:
    """Some differences, the surest first."""
    names = ("pair", "measure", "difference", "interval", "by chance alone", "p", "p adj.")
    table = plain_table(names, ("pair", "measure"))
    ordered = sorted(
        findings, key=lambda finding: finding.p_adjusted if finding.p_adjusted is not None else 2.0
    )
    for finding in ordered[:_MOST_PAIRS]:
        pair = f"{numbers[str(finding.model)]} – {numbers[str(finding.reference)]}"
        table.add_row(pair, *_difference(finding, varied))
    if findings:
        console.print(table)
    if any(finding.corrected is not None for finding in ordered[:_MOST_PAIRS]):
        console.print("in brackets: the difference with noise; the other, its interval and p are without")
    for reason in dict.fromkeys(finding.reason for finding in findings if finding.reason):
        console.print(f"  {clean(reason, 200)}")
    if len(findings) > _MOST_PAIRS:
        console.print(f"{len(findings) - _MOST_PAIRS} more stand in the report and findings.json (-o DIR)")


def _difference(finding: Finding, varied: Sequence[str]) -> tuple[str, ...]:
    measure = _measure(finding, varied)
    if finding.value is None:
        return (measure, "–", "", "", "", "")
    numbers = CellTexts.of(finding)
    cells = (
        with_level(finding, numbers.interval),
        numbers.chance,
        p_value(finding.p_value),
        p_value(finding.p_adjusted),
    )
    with_noise = f" ({_signed(numbers.plain)})" if numbers.plain else ""
    return (measure, f"{_signed(numbers.value)}{with_noise}", *cells)


def _signed(text: str) -> str:
    return text if text.startswith((MINUS, ">")) else f"+{text}"


def _measure(finding: Finding, varied: Sequence[str]) -> str:
    """What the difference is of; where it is of answers, with grouping and what tells it from others."""
    name = finding.name.removesuffix("_difference")
    if "unit" not in finding.details:
        return name
    values = [finding.params[key] for key in varied if key in finding.params]
    words = [name, *([f"by {finding.grouping}"] if finding.by else []), *map(_short, values)]
    return clean(" ".join(words), _LONG)


def _print_stability(console: Console, run: Run, grouping: str, numbers: Mapping[str, int]) -> None:
    """Ranks by SkewSize over minimum expected values, and shares of first ranks in replicates."""
    mev = run.tables["mev_ranks"].filter(pl.col("by") == grouping)
    shares = run.tables["rank_shares"].filter((pl.col("by") == grouping) & (pl.col("rank") == 1))
    table = Table(box=None, pad_edge=False, title="rank stability", title_justify="left")
    table.add_column("", justify="right")
    levels = mev["mev"].unique(maintain_order=True).to_list()
    table.add_column(f"rank by SkewSize at MEV {', '.join(f'{level:g}' for level in levels)}")
    table.add_column(
        "first in replicates: " + ", ".join(run.findings.card(metric).title for metric in RANKED_BY)
    )
    models = mev["model"].unique(maintain_order=True)
    among = mev.group_by("mev", maintain_order=True).agg(pl.col("rank").count())["rank"].to_list()
    for model in models:
        ranks = mev.filter(pl.col("model") == model)["rank"].to_list()
        shares_by_metric = dict(shares.filter(pl.col("model") == model).select("metric", "share").iter_rows())
        table.add_row(
            str(numbers[model]),
            ", ".join(_rank(rank, of, len(models)) for rank, of in zip(ranks, among, strict=True)),
            ", ".join(
                f"{100 * shares_by_metric[m]:.0f} %" if m in shares_by_metric else "–" for m in RANKED_BY
            ),
        )
    console.print(table)


def _rank(rank: int | None, among: int, models: int) -> str:
    """A rank, and of how many models where some have no value."""
    if rank is None:
        return "–"
    return str(rank) if among == models else f"{rank} of {among}"


def _print_dropped(console: Console, findings: Sequence[Finding]) -> None:
    """Samples and rows left out of a pair, once each."""
    losses = {
        (finding.model, finding.reference, lost.reason, lost.count): None
        for finding in findings
        for lost in finding.dropped
    }
    for first, second, reason, count in list(losses)[:_MOST_PAIRS]:
        console.print(
            f"left out of {clean(str(first))} – {clean(str(second))}: {count:,.0f} {clean(reason, 100)}"
        )


def _short(value: object) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)


def _wide(values: pl.DataFrame) -> Table:
    """Findings side by side: one row for each metric and grouping, one column for each run."""
    models = values["model"].unique(maintain_order=True).to_list()
    table = Table(box=None, pad_edge=False)
    table.add_column("finding")
    for model in models:
        table.add_column(clean(model), justify="right")
    for (metric, by, params), metric_rows in values.group_by("metric", "by", "params", maintain_order=True):
        cells = {row["model"]: _cell(row) for row in metric_rows.iter_rows(named=True)}
        where = f" by {by}" if by else ""
        more = "".join(f" {name}={_short(value)}" for name, value in json.loads(params).items())
        table.add_row(clean(f"{metric}{where}{more}", 90), *(cells.get(model, "–") for model in models))
    return table
