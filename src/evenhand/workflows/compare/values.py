"""Findings of runs without common predictions, side by side: values with their intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, check_known
from evenhand.core.findings import Finding, low_and_high
from evenhand.workflows.compare.runs import ComparedRun

Name = tuple[str, str, str]
_COLUMN = "value"  # the parameter that names a column of numbers: models may have one each

SCHEMA = {
    "metric": pl.String, "by": pl.String, "params": pl.String, "model": pl.String, "value": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "reason": pl.String, "n": pl.Float64,
}  # fmt: skip


def values_of(runs: Sequence[ComparedRun], by: Sequence[str], metrics: Sequence[str]) -> pl.DataFrame:
    """Every finding that two or more runs have alike: equal name, grouping and parameters.

    Without ``by`` or ``metrics`` all groupings or metrics count.
    """
    findings = [finding for compared_run in runs for finding in compared_run.run.findings]
    check_known("grouping of these runs", by, sorted({finding.grouping for finding in findings}))
    check_known("metric of these runs", metrics, sorted({finding.name for finding in findings}))
    keyed: dict[Name, list[tuple[ComparedRun, Finding]]] = {}
    for compared_run in runs:
        for name, finding in wanted_findings(compared_run, by, metrics).items():
            keyed.setdefault(name, []).append((compared_run, finding))
    rows = [
        (*key, compared_run.name, finding.value, *low_and_high(finding.interval), finding.reason, finding.n)
        for key, several in keyed.items()
        if len(several) > 1
        for compared_run, finding in several
    ]
    if not rows:
        raise InputError("no metric with equal grouping and parameters is in two of the runs; run them alike")
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def wanted_findings(
    compared_run: ComparedRun, by: Sequence[str], metrics: Sequence[str]
) -> dict[Name, Finding]:
    """A run's findings of some groupings and metrics, all where none is given, by what they are called."""
    return {
        key_of(finding): finding
        for finding in compared_run.run.findings
        if (not by or finding.grouping in by) and (not metrics or finding.name in metrics)
    }


def key_of(finding: Finding) -> Name:
    """Name, grouping and parameters, by which findings of two runs are the same."""
    told_apart = {name: value for name, value in finding.params.items() if name != _COLUMN}
    params = json.dumps(told_apart, sort_keys=True, ensure_ascii=False)
    return finding.name, finding.grouping, params


def settings_of(values: pl.DataFrame, settings: dict[str, Any]) -> dict[str, Any]:
    """What a manifest says of values side by side."""
    groupings = [name for name in values["by"].unique(maintain_order=True) if name]
    return {**settings, "by": groupings, "rows": None, "ranked_on": None}
