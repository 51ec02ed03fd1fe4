"""``evenhand compare``: run folders in; who is ahead, what is beyond chance, and how stable the order is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli import options


def compare_runs(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Two or more run folders.")],
    *,
    by: options.By = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Such as accuracy; may be repeated.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    reference: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Compare every run with this one only.")
    ] = None,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    out: options.Out = None,
) -> None:
    """Compare models on the same samples: differences, tests, and how stable their order is."""
    from evenhand.cli.audit_command import progress
    from evenhand.cli.summary_comparison import print_comparison
    from evenhand.runner.compare_engine import compare
    from evenhand.runner.gates import check_gate_names, check_gates

    check_gate_names(fail_if or [])
    with progress(quiet) as say:
        made = compare(
            list(runs),
            by=by or [],
            metrics=metric or [],
            alpha=alpha,
            reference=reference,
            seed=seed,
            out=out,
            progress=say,
        )
    if not quiet:
        print_comparison(made, out)
    check_gates(made.findings.findings, fail_if or [])
