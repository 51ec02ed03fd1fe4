"""``evenhand score``: a benchmark and scores made elsewhere in, a run folder out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.cli.arguments.pairs import parse_pairs
from evenhand.cli.commands.run import default_folder
from evenhand.cli.summaries.findings import print_summary
from evenhand.runs.gates import check_gate_names, check_gates
from evenhand.workflows.score import score


def score_evidence(
    benchmark: str,
    evidence: Sequence[Path],
    *,
    data: Path | None,
    mode: str | None,
    parameters: Sequence[str],
    tags: Sequence[str],
    seed: int,
    gates: Sequence[str],
    quiet: bool,
    out: Path | None,
) -> None:
    """Read, measure, write, print, and check the gates."""
    check_gate_names(gates)
    folder = out or default_folder(benchmark, evidence[0].stem)
    params = parse_pairs("-p", parameters)
    run = score(
        benchmark,
        evidence=list(evidence),
        data=data,
        parameters=params | ({"mode": mode} if mode is not None else {}),
        tags=parse_pairs("--tag", tags),
        seed=seed,
        out=folder,
    )
    if not quiet:
        print_summary(run, folder)
    check_gates(run.findings.findings, gates)
