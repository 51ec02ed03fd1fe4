"""``evenhand compare``: run folders in; who is ahead, what is beyond chance, and how stable the order is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options

Runs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="RUN RUN...", help="Two or more run folders, the oldest first, those of --group counted."
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Such as accuracy or recall_gap; may be repeated."),
]
Reference = Annotated[Path | None, typer.Option(metavar="RUN", help="Compare every run with this one only.")]
Groups = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=RUN,RUN", help="Runs of one recipe, over seeds; may be repeated."),
]
BySeed = Annotated[
    bool, typer.Option("--group-seeds/--each-seed", help="Runs that differ in the seed only count as one.")
]
OverTime = Annotated[
    bool | None,
    typer.Option(
        "--over-time/--not-over-time",
        help="Order runs by date, each against the one before it. Default: as typed, unless --date is given.",
    ),
]
Dates = Annotated[
    list[str] | None,
    typer.Option(metavar="RUN=DATE", help="Such as 2026-10-01; default: when the run was made."),
]


def compare(
    runs: Runs = None,
    *,
    by: options.By = None,
    metric: Metrics = None,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    reference: Reference = None,
    group: Groups = None,
    group_seeds: BySeed = True,
    over_time: OverTime = None,
    date: Dates = None,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    allow_edited: options.AllowEdited = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    ascii: options.Ascii = False,
    language: options.Language = None,
    out: options.Out = None,
) -> None:
    """Compare models on the same samples: differences, tests, and how stable their order is."""
    from evenhand.cli.summaries.comparison import print_comparison
    from evenhand.cli.summaries.progress import status
    from evenhand.runs.gates import check_gate_names, check_gates
    from evenhand.workflows.compare.engine import compare as compare_runs
    from evenhand.workflows.compare.over_time import parse_dates
    from evenhand.workflows.compare.seeds import parse_groups

    check_gate_names(fail_if or [], compares=True)
    with status(quiet) as say:
        comparison = compare_runs(
            list(runs or []),
            by=by or [],
            metrics=metric or [],
            alpha=alpha,
            reference=reference,
            groups=parse_groups(group or []),
            group_seeds=group_seeds,
            over_time=over_time,
            dates=parse_dates(date or []),
            seed=seed,
            out=out,
            progress=say,
        )
    if quiet:
        for note in comparison.manifest.get("order_notes", []):
            typer.echo(f"note: {note}", err=True)
    else:
        print_comparison(comparison, out, verbose=verbose, ascii=ascii)
    check_gates(comparison.findings.findings, fail_if or [], comparison.manifest)
