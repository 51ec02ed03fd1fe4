"""What must be said before models are compared, and what cannot be compared at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.core.findings import Finding
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.metrics.differences.seeds import SeedGroup
from evenhand.runs.manifest import adaptation_warnings
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.compare.seeds import each_seed_notes, seed_notes

_SHOWN = 4
_LONG = 40  # letters of an id in a message
AUDITS = ("audit", "numbers")
"""Kinds of runs that are of a user's table."""


def refuse_unlike(runs: Sequence[ComparedRun]) -> None:
    """Refuse runs of different benchmarks, or of kinds that share no measure."""
    for run in runs:
        if run.manifest.get("kind") == "compare":
            raise InputError(f"{run.folder!r} is a comparison itself; give the runs that it compares")
    all_benchmarks = [(run.folder, run.manifest.get("benchmark")) for run in runs]
    benchmarks = [(folder, benchmark) for folder, benchmark in all_benchmarks if benchmark]
    for folder, benchmark in benchmarks[1:]:
        if benchmark != benchmarks[0][1]:
            raise InputError(
                f"{benchmarks[0][0]!r} is a run of {benchmarks[0][1]} and {folder!r} of {benchmark}; "
                "compare runs of one benchmark"
            )
    numbers = [run for run in runs if run.manifest.get("kind") == "numbers"]
    for name in ("better", "unit", "range"):
        entries = [(run.folder, run.manifest.get(name)) for run in numbers]
        for folder, entry in entries[1:]:
            if entry != entries[0][1]:
                raise InputError(
                    f"{entries[0][0]!r} is of numbers with {name} {entries[0][1]!r} and {folder!r} with "
                    f"{entry!r}; audit both with the same --{name}"
                )
    lacking = [run.folder for run in runs if run.counts is None]
    if lacking and len(lacking) < len(runs):
        raise InputError(
            f"{lacking[0]!r} has no counts of predictions and other runs have; compare runs of one kind"
        )


def comparison_warnings(runs: Sequence[ComparedRun], groups: Sequence[SeedGroup] = ()) -> list[str]:
    """One sentence for each thing that may lie behind a difference besides the models.

    Without ``groups`` each run stands for itself.
    """
    sentences = adaptation_warnings([run.manifest for run in runs])
    if len({Path(run.folder).resolve() for run in runs}) == 1:
        sentences.append(f"{runs[0].folder!r} is compared with itself; give the folder of another run")
    sentences += seed_notes(runs, groups) if groups else each_seed_notes(runs)
    modes = {str(run.manifest.get("mode") or "default") for run in runs}
    if modes != {"default"} and all(run.counts is not None for run in runs):
        sentences.append(
            f"runs were made in mode {' and '.join(sorted(modes))}; the comparison measures all of them in "
            "default mode, so values may differ from those of the runs"
        )
    elif len(modes) > 1:
        sentences.append(
            f"runs were made in different modes ({', '.join(sorted(modes))}); their values may differ by it"
        )
    sentences += _clusters(runs)
    digests = {run.manifest.get("samples") for run in runs if run.manifest.get("samples")}
    if len(digests) > 1 and not any(group.own_samples for group in groups):
        sentences.append("the runs hold different samples or annotations; what they share is compared")
    sentences += _parameters(runs)
    return sentences


def _clusters(runs: Sequence[ComparedRun]) -> list[str]:
    """What a comparison does without where not all runs name the clusters that rows came in."""
    columns = dict.fromkeys(run.cluster for run in runs)
    if len(columns) < 2:
        return []
    names = ", ".join(column for column in columns if column)
    return [
        f"rows were sampled in clusters ({names}), which not all of these runs name alike: ranks, their "
        "shares and seeds take rows as independent and look surer than they are; audit all with the same "
        "--cluster"
    ]


def mix_warnings(findings: Sequence[Finding], orders: Sequence[ComparedCounts]) -> list[str]:
    """What is said where models that are not paired have other mixes of classes and groups."""
    apart = [float(finding.details.get("mix_distance") or 0) for finding in findings]
    far = max(apart + [order.unlike for order in orders if order.standardised], default=0.0)
    if not far:
        return []
    share = "less than 1 %" if far < 0.01 else f"up to {100 * far:.0f} %"
    return [
        f"runs that are not paired have rows of other classes and groups ({share} of them); "
        "differences and the ranking weight both to one mix, so they are not those of the runs' own values"
    ]


def how_matched(runs: Sequence[ComparedRun]) -> str:
    """What says which rows of several runs are the same sample."""
    ids = {str(run.manifest.get("id") or "") for run in runs if run.manifest.get("kind") in AUDITS}
    if "" in ids:
        return "matched by their order in the file"
    return f"matched by {' and '.join(map(repr, sorted(ids)))}" if ids else "matched sample by sample"


def unmatched(pairing: Sequence[tuple[Any, ...]]) -> list[str]:
    """That rows of two runs could not be matched, and why.

    ``pairing`` has first, second, how they are compared, on how many samples, and why not on the same.
    """
    apart = [(first, second, why) for first, second, _, samples, why in pairing if samples is None]
    if not apart:
        return []
    first, second, why = apart[0]
    others = f" (and of {len(apart) - 1} more of {len(pairing)} pairs)" if len(apart) > 1 else ""
    return [
        f"rows of {first} and {second}{others} are not matched: {why}. They are compared like rows of two "
        "different samples, which is cautious where they are the same"
    ]


def not_joined(a: ComparedRun, b: ComparedRun, rows_a: pl.DataFrame, rows_b: pl.DataFrame) -> str:
    """Why no sample of two runs could be joined."""
    audits = [run for run in (a, b) if run.manifest.get("kind") in AUDITS]
    without = [run.name for run in audits if not run.manifest.get("id")]
    if without:
        return f"audited without ids: {' and '.join(without)}; audit again with --id COL"
    here, there = (one_line(rows["sample"][0], _LONG) for rows in (rows_a, rows_b))
    return (
        f"no sample id is in both: {a.name} has such as {here!r} and {b.name} {there!r}; write ids alike, or "
        "name the same column with --id COL when auditing"
    )


def _parameters(runs: Sequence[ComparedRun]) -> list[str]:
    """Parameters of the benchmark that differ."""
    run_params = [run.manifest.get("parameters") or {} for run in runs if run.manifest.get("benchmark")]
    names = sorted({name for params in run_params for name in params})
    unlike = [name for name in names if len({str(params.get(name)) for params in run_params}) > 1]
    if not unlike:
        return []
    differences = "; ".join(
        f"{name} {' / '.join(dict.fromkeys(str(params.get(name)) for params in run_params))}"
        for name in unlike[:_SHOWN]
    )
    return [f"runs have different parameters: {differences}; a difference may be theirs"]
