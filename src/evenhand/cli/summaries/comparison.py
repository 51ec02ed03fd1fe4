"""What a person sees on stdout after a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.first_lines import has_first_lines, print_first_lines
from evenhand.cli.summaries.seeds import print_drift, print_seeds
from evenhand.cli.summaries.text import (
    NUMBERS,
    CellTexts,
    clean,
    console_of,
    number_cells,
    rich_table,
    unusual_level,
)
from evenhand.core.errors import first_few
from evenhand.core.findings import Finding
from evenhand.core.significance import ALPHA, alpha_of, is_beyond
from evenhand.display.text.formatting import DASH, MINUS
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
    numbers = {name: number for number, name in enumerate(run.manifest["models"], 1)}
    if "values" in run.tables:
        console.print(_wide(run.tables["values"]))
        _print_answers(console, run, numbers)
    else:
        _print_pairing(console, run.tables["pairing"])
        for grouping in run.manifest["by"]:
            _print_grouping(console, run, grouping, numbers)
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


def _print_grouping(console: Console, run: Run, grouping: str, numbers: Mapping[str, int]) -> None:
    ranking = run.tables["ranking"].filter(pl.col("by") == grouping)
    n = ranking["n"].unique().to_list()
    rows = f"{n[0]:,.0f} rows of each" if len(n) == 1 else "rows of their own"
    console.print(f"\nby {clean(grouping)}, on {rows} ({run.manifest['ranked_on']})", style="bold")
    console.print(_ranked(run, ranking, numbers))
    within = pl.col("value").is_between("low", "high")
    if ranking.filter(~within).height:  # rows without an interval are neither
        console.print("V may lie outside its interval: it contains noise, which the interval leaves out")
    differences = [
        finding for finding in run.findings if finding.grouping == grouping and finding.reference is not None
    ]
    if differences:
        _print_measures(console, run, differences, numbers, all_pairs=len(run.tables["pairing"]) == 1)
    _print_stability(console, run, grouping, numbers)


def _ranked(run: Run, ranking: pl.DataFrame, numbers: Mapping[str, int]) -> Table:
    """One row a model, by the first measure that ranks, then by the second."""
    cells: dict[str, dict[str, str]] = {}
    ranks: dict[tuple[str, str], int] = {}
    for row in ranking.iter_rows(named=True):
        model = row["model"]
        first = {"": str(numbers[model]), "model": clean(model, 200)}
        cells.setdefault(model, first)[row["metric"]] = _cell(row)
        ranks[model, row["metric"]] = row["rank"] or ranking.height
    models = sorted(
        cells, key=lambda model: [ranks.get((model, metric), ranking.height) for metric in RANKED_BY[:2]]
    )
    headings = {"": "", "model": "model"} | {metric: run.findings.card(metric).title for metric in RANKED_BY}
    table = rich_table(headings, map(cells.__getitem__, models), left=("model",), wraps=("", "model"))
    table.columns[1].overflow = "fold"
    return table


def _cell(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return DASH
    ends = f" [{row['low']:z.3f}, {row['high']:z.3f}]" if row["low"] is not None else ""
    return escape(f"{row['value']:z.3f}{ends}")


def _print_answers(console: Console, run: Run, numbers: Mapping[str, int]) -> None:
    """Differences of findings that are not of predictions: those beyond chance, then what was left out."""
    differences = [finding for finding in run.findings if finding.reference is not None]
    if not differences:
        return
    console.print()
    _print_pairing(console, run.tables["pairing"])
    for name, number in numbers.items():
        console.print(f"{number} {clean(name)}")
    _print_measures(console, run, differences, numbers, _varied(differences))
    _print_dropped(console, differences)


def _varied(differences: Sequence[Finding]) -> list[str]:
    """Parameters in which the findings of some metric differ; the others need not be printed."""
    values: dict[tuple[str, str], set[str]] = {}
    for finding in differences:
        for key, value in finding.params.items():
            if key not in _PAIR and not (key == "where" and "setting" in finding.params):
                values.setdefault((finding.name, key), set()).add(str(value))
    return list(dict.fromkeys(key for (_, key), several in values.items() if len(several) > 1))


def _print_measures(
    console: Console,
    run: Run,
    differences: Sequence[Finding],
    numbers: Mapping[str, int],
    varied: Sequence[str] = (),
    *,
    all_pairs: bool = False,  # not those beyond chance alone
) -> None:
    """Which measures differ, then the pairs that do."""
    alpha = alpha_of(run.manifest)
    tested = [finding for finding in differences if finding.p_adjusted is not None]
    beyond = [finding for finding in tested if is_beyond(finding, alpha)]
    console.print(_differing_measures(beyond, tested, alpha, varied))
    _print_pairs(console, differences if all_pairs else beyond, numbers, varied)


def _differing_measures(
    beyond: Sequence[Finding], tested: Sequence[Finding], alpha: float, varied: Sequence[str]
) -> str:
    """Which measures differ; no count, since measures of one table overlap."""
    rule = f"(Holm-adjusted p at most {alpha:g} within each measure)"
    if not tested:
        return "no difference was tested"
    if not beyond:
        return f"no difference is beyond chance {rule}"
    measures = list(dict.fromkeys(_measure(finding, varied) for finding in beyond))
    return f"beyond chance: {first_few(measures, _MOST_PAIRS, ' and {} measures more')} {rule}"


def _print_pairs(
    console: Console, findings: Sequence[Finding], numbers: Mapping[str, int], varied: Sequence[str]
) -> None:
    """Some differences, the surest first."""
    ordered = sorted(
        findings, key=lambda finding: finding.p_adjusted if finding.p_adjusted is not None else 2.0
    )[:_MOST_PAIRS]
    if findings:
        rows = [
            {
                "pair": f"{numbers[str(finding.model)]} – {numbers[str(finding.reference)]}",
                "measure": _measure(finding, varied),
                **_difference(finding),
            }
            for finding in ordered
        ]
        console.print(rich_table(("pair", "measure", "difference", *NUMBERS[1:-1]), rows))
    if any(finding.corrected is not None for finding in ordered):
        console.print("in brackets: the difference with noise; the other, its interval and p are without")
    for reason in dict.fromkeys(finding.reason for finding in findings if finding.reason):
        console.print(f"  {clean(reason, 200)}")
    if len(findings) > _MOST_PAIRS:
        console.print(f"{len(findings) - _MOST_PAIRS} more stand in the report and findings.json (-o DIR)")


def _difference(finding: Finding) -> dict[str, str]:
    if finding.value is None:
        return {**dict.fromkeys(NUMBERS, ""), "difference": DASH}
    texts = CellTexts.of(finding)
    with_noise = f" ({_signed(texts.plain)})" if texts.plain else ""
    return {
        **number_cells(finding, ALPHA),
        "difference": f"{_signed(texts.value)}{with_noise}",
        "interval": f"{texts.interval}{unusual_level(finding.interval)}",
    }


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
    mev = run.tables["mev_ranks"].filter(by=grouping)
    shares = run.tables["rank_shares"].filter(by=grouping, rank=1)
    first = {
        (row["model"], row["metric"]): f"{100 * row['share']:.0f} %" for row in shares.iter_rows(named=True)
    }
    ranked = mev.group_by("model", maintain_order=True).agg("rank").rows()
    among = mev.group_by("mev", maintain_order=True).agg(pl.col("rank").count())
    levels = ", ".join(f"{level:g}" for level in among["mev"])
    titles = ", ".join(run.findings.card(metric).title for metric in RANKED_BY)
    rows = [
        {
            "model": str(numbers[model]),
            "ranks": ", ".join(
                _rank(rank, of, len(ranked)) for rank, of in zip(ranks, among["rank"], strict=True)
            ),
            "first": ", ".join(first.get((model, metric), DASH) for metric in RANKED_BY),
        }
        for model, ranks in ranked
    ]
    headings = {"model": "", "ranks": f"rank by SkewSize at MEV {levels}"}
    headings["first"] = f"first in replicates: {titles}"
    texts = ("ranks", "first")
    console.print(rich_table(headings, rows, left=texts, wraps=headings, title="rank stability"))


def _rank(rank: int | None, among: int, models: int) -> str:
    """A rank, and of how many models where some have no value."""
    if rank is None:
        return DASH
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
    columns = {
        "": "finding",
        **{model: clean(model) for model in values["model"].unique(maintain_order=True)},
    }
    rows = []
    for (metric, by, params), metric_rows in values.group_by("metric", "by", "params", maintain_order=True):
        where = f" by {by}" if by else ""
        more = "".join(f" {name}={_short(value)}" for name, value in json.loads(params).items())
        cells = {row["model"]: _cell(row) for row in metric_rows.iter_rows(named=True)}
        rows.append({**dict.fromkeys(columns, DASH), "": clean(f"{metric}{where}{more}", 90), **cells})
    return rich_table(columns, rows, left=("",), wraps=columns)
