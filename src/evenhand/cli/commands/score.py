"""``evenhand score``: a benchmark and scores made elsewhere in, a run folder out."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.arguments import options


def score(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Such as visogender/resolution.")],
    evidence: options.Evidence,
    data: options.Data = None,
    mode: options.BenchmarkMode = None,
    parameters: options.Parameters = None,
    tags: options.Tags = None,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    ascii: options.Ascii = False,
    language: options.Language = None,
    out: options.Out = None,
) -> None:
    """Measure scores that were made elsewhere; no model is asked."""
    from evenhand.cli.arguments.pairs import parse_pairs
    from evenhand.cli.commands.run import default_folder
    from evenhand.cli.summaries.findings import print_summary
    from evenhand.runs.gates import check_gate_names, check_gates
    from evenhand.workflows.score import score as score_files

    check_gate_names(fail_if or [])
    folder = out or default_folder(benchmark, evidence[0].stem)
    run = score_files(
        benchmark,
        evidence=list(evidence),
        data=data,
        parameters=parse_pairs("-p", parameters or []) | ({"mode": mode} if mode is not None else {}),
        tags=parse_pairs("--tag", tags or []),
        seed=seed,
        out=folder,
    )
    if not quiet:
        print_summary(run, folder, verbose=verbose, ascii=ascii)
    check_gates(run.findings.findings, fail_if or [], run.manifest)
