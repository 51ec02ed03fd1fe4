"""``evenhand debias``: a run in, a mitigation that was measured on held-out items out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.core.errors import ParameterError


def debias(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of mmbias/association.")],
    method: Annotated[str, typer.Option(metavar="NAME", help="See: evenhand ls mitigations.")] = "pruning",
    parameters: Annotated[
        list[str] | None, typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the method.")
    ] = None,
    remove: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Dimensions, directions, or rounds of inlp.")
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(help="joint: one for all tests, the default; each: one a test.")
    ] = None,
    tests: Annotated[
        list[str] | None, typer.Option("--test", metavar="X:Y", help="These only; may be repeated.")
    ] = None,
    form: Annotated[str | None, typer.Option(help="cross-modal, textual or visual.")] = None,
    utility: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A classification run, measured before and after.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|RUN|FILE",
            help="What the filter of pruning keeps: groups, a run of "
            "classification, or a table of sample,label.",
        ),
    ] = None,
    mode: options.Mode = "default",
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    ascii: options.Ascii = False,
    language: options.Language = None,
    allow_edited: options.AllowEdited = False,
    out: options.Out = None,
) -> None:
    """Fit a mitigation on half of a run's items, and measure it on the other half."""
    from evenhand.cli.arguments.pairs import parse_pairs
    from evenhand.cli.summaries.mitigations import print_debias
    from evenhand.cli.summaries.progress import one_bar
    from evenhand.runs.gates import check_gate_names, check_gates
    from evenhand.workflows.debias.engine import debias as fit_and_measure

    check_gate_names(fail_if or [])
    if out is None:
        raise ParameterError(
            "debias writes a mitigation, and needs to know where; add -o DIR, for instance -o runs/debiased"
        )
    with one_bar(quiet, "measuring mitigations") as show:
        run = fit_and_measure(
            folder, method=method, parameters=parse_pairs("-p", parameters or []), remove=remove, pairs=pairs,
            tests=tests or [], form=form, utility=utility, labels=labels, mode=mode, seed=seed, out=out,
            progress=show,
        )  # fmt: skip
    if run.manifest.get("utility_note"):
        print(run.manifest["utility_note"], file=sys.stderr)
    if not quiet:
        print_debias(run, out, verbose=verbose, ascii=ascii)
    check_gates(run.findings.findings, fail_if or [], run.manifest)
