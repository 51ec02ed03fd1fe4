"""What a person sees on stdout of seeds, and of one model at several times."""

from __future__ import annotations

import polars as pl
from rich.console import Console
from rich.table import Table

from evenhand.cli.summaries.text import clean
from evenhand.core.findings import Finding
from evenhand.core.significance import is_line_beyond
from evenhand.display.text.formatting import p_value
from evenhand.workflows.outputs.result import Run

_SPREAD = "_seed_spread"
_MOST = 40
_NUMBER = ".3f"


def print_seeds(console: Console, run: Run) -> None:
    """Mean over seeds, their spread, and what samples do to one run, of every model with several seeds."""
    spreads = [finding for finding in run.findings.findings if finding.name.endswith(_SPREAD)]
    if not spreads:
        return
    table = Table(box=None, pad_edge=False, title="\nover seeds", title_justify="left")
    for title in (
        "model",
        "measure",
        "by",
        "mean [95 %]",
        "spread of seeds [95 %]",
        "sampling error of a run",
    ):
        table.add_column(title, justify="left" if title in ("model", "measure", "by") else "right")
    for finding in spreads[:_MOST]:
        measure = finding.name.removesuffix(_SPREAD)
        table.add_row(clean(str(finding.model)), clean(measure), clean(finding.grouping), *_spread(finding))
    console.print(table)
    if len(spreads) > _MOST:
        console.print(f"{len(spreads) - _MOST} more stand in the report and findings.json (-o DIR)")


def _spread(finding: Finding) -> tuple[str, str, str]:
    if finding.value is None:
        return "–", clean(str(finding.reason), 60), "–"
    details = {key: value for key, value in finding.details.items() if isinstance(value, float)}
    mean = (
        f"{details['mean']:{_NUMBER}} \\[{details['mean_low']:{_NUMBER}}, {details['mean_high']:{_NUMBER}}]"
    )
    ends = (
        f" \\[{finding.interval.low:{_NUMBER}}, {finding.interval.high:{_NUMBER}}]"
        if finding.interval
        else ""
    )
    sampling = f"{details['sampling_error']:{_NUMBER}}" if "sampling_error" in details else "–"
    return mean, f"{finding.value:{_NUMBER}}{ends}", sampling


def print_drift(console: Console, run: Run) -> None:
    """How each measure moved since the date before."""
    drift = run.tables.get("drift")
    if drift is None:
        return
    alpha = float(run.manifest["alpha"])
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
