"""What a person sees on stdout of seeds, and of one model at several times."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.console import Console

from evenhand.cli.summaries.text import clean, rich_table
from evenhand.core.findings import Finding, low_and_high
from evenhand.core.significance import alpha_of, is_line_beyond
from evenhand.display.text.formatting import DASH, p_value
from evenhand.workflows.outputs.result import Run

_SPREAD = "_seed_spread"
_MOST = 40
_NUMBER = ".3f"
_COLUMNS = (
    "model", "measure", "by", "mean [95 %]", "spread of seeds [95 %]", "sampling error of a run"
)  # fmt: skip


def print_seeds(console: Console, run: Run) -> None:
    """Mean over seeds, their spread, and what samples do to one run, of every model with several seeds."""
    spreads = [finding for finding in run.findings if finding.name.endswith(_SPREAD)]
    if not spreads:
        return
    rows = [_row(finding) for finding in spreads[:_MOST]]
    console.print(rich_table(_COLUMNS, rows, left=_COLUMNS[:3], wraps=_COLUMNS, title="\nover seeds"))
    if len(spreads) > _MOST:
        console.print(f"{len(spreads) - _MOST} more stand in the report and findings.json (-o DIR)")


def _row(finding: Finding) -> dict[str, str]:
    texts = map(clean, (str(finding.model), finding.name.removesuffix(_SPREAD), finding.grouping))
    numbers = DASH, clean(str(finding.reason), 60), DASH
    if finding.value is not None:
        details, error = finding.details, finding.details.get("sampling_error")
        mean = _with_ends(details["mean"], details["mean_low"], details["mean_high"])
        spread = _with_ends(finding.value, *low_and_high(finding.interval))
        numbers = mean, spread, DASH if error is None else f"{error:{_NUMBER}}"
    return dict(zip(_COLUMNS, (*texts, *numbers), strict=True))


def _with_ends(value: Any, low: Any, high: Any) -> str:
    ends = "" if low is None else f" \\[{low:{_NUMBER}}, {high:{_NUMBER}}]"
    return f"{value:{_NUMBER}}{ends}"


def print_drift(console: Console, run: Run) -> None:
    """How each measure moved since the date before."""
    drift = run.tables.get("drift")
    if drift is None:
        return
    alpha = alpha_of(run.manifest)
    moved = drift.filter(pl.col("change").is_not_null())
    verdicts = [
        is_line_beyond(p, low, high, alpha)
        for p, low, high in moved.select("p_adjusted", "change_low", "change_high").iter_rows()
    ]
    beyond = moved.filter(pl.Series(verdicts, dtype=pl.Boolean))
    console.print(f"\nover time: {beyond.height} of {moved.height} changes beyond chance", style="bold")
    for row in beyond.sort("p_adjusted", maintain_order=True).head(_MOST).iter_rows(named=True):
        change = row["change"] if row["change_corrected"] is None else row["change_corrected"]
        rose = "rose" if change > 0 else "fell"
        ends = ""
        if row["change_low"] is not None:
            low, high = sorted((abs(row["change_low"]), abs(row["change_high"])))
            same = row["change_low"] * row["change_high"] >= 0
            ends = f" ({low:z.3f} to {high:z.3f})" if same else ""
        where = f" by {row['by']}" if row["by"] else ""
        where += "" if row["params"] == "{}" else f" {row['params']}"
        console.print(
            f"  since {row['since']}, on {row['date']}: {clean(row['metric'] + where, 160)} {rose} by "
            f"{abs(change):.3f}{ends}, adjusted p {p_value(row['p_adjusted'])}"
        )
