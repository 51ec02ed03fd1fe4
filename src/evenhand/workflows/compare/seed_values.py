"""Recipes over seeds where runs hold no common predictions: from the runs' findings, on the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.cards import metric_id
from evenhand.core.findings import Finding, Interval, Param, low_and_high
from evenhand.metrics.differences.seeds import (
    SEEDS_ONLY,
    SPREAD,
    UNIT,
    SeedGroup,
    estimated,
    lacking_in,
    seed_part,
    uncertain,
)
from evenhand.metrics.estimates import LEVEL
from evenhand.stats.arrays import Floats
from evenhand.stats.paired import seeds as between_seeds
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.compare.values import SCHEMA, Name, wanted_findings

Found = Sequence[Mapping[Name, Finding]]

ON_THESE = (
    "differences between models of several seeds hold for these samples: they count what seeds do, and not "
    "what other samples would; the interval of each run counts that"
)
_NOTHING: dict[str, Any] = dict.fromkeys(
    ("interval", "null", "p_value", "p_adjusted", "adjustment", "mde", "band", "reason", "reference")
) | {"parts": [], "contrasts": [], "notes": [], "details": {}}


def seed_values(
    read: Sequence[ComparedRun],
    groups: Sequence[SeedGroup],
    pairs: Sequence[tuple[int, int]],  # places of groups: first and second of every difference
    *,
    by: Sequence[str] = (),  # empty: all groupings
    metrics: Sequence[str] = (),  # empty: all
    alpha: float = 0.05,  # of all pairs together
) -> list[Finding]:
    """Spreads of groups with several seeds, and differences of all pairs in which one is, by finding.

    Findings that all runs of a group have alike, with the group's name as model. Differences are named
    ``metric_difference`` and have the parameter ``unit`` = ``seed``; the samples are taken as given.
    """
    if not any(group.several for group in groups):
        return []
    run_findings = [wanted_findings(run, by, metrics) for run in read]
    findings: list[Finding] = []
    for key in dict.fromkeys(key for findings_by_name in run_findings for key in findings_by_name):
        there = [all(key in run_findings[index] for index in group.places) for group in groups]
        findings += [
            _spread(key, group, run_findings, read)
            for group, is_there in zip(groups, there, strict=True)
            if group.several and is_there
        ]
        findings += [
            _difference(key, groups[a], groups[b], run_findings, alpha / len(pairs))
            for a, b in pairs
            if there[a] and there[b] and (groups[a].several or groups[b].several)
        ]
    return findings


def by_group(values: pl.DataFrame, read: Sequence[ComparedRun], groups: Sequence[SeedGroup]) -> pl.DataFrame:
    """Findings side by side, where several seeds stand by their mean with its interval over seeds."""
    if not any(group.several for group in groups):
        return values
    rows: list[tuple[Any, ...]] = []
    for key, metric_rows in values.group_by("metric", "by", "params", maintain_order=True):
        rows_by_model = {row["model"]: row for row in metric_rows.iter_rows(named=True)}
        for group in groups:
            members = [rows_by_model.get(read[index].name) for index in group.places]
            present_rows = [row for row in members if row is not None]
            if len(present_rows) < len(members):
                continue
            rows.append(
                (*key, group.name, *(_mean(group, present_rows) if group.several else _own(present_rows[0])))
            )
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _own(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["value"], row["low"], row["high"], row["reason"], row["n"])


def _mean(group: SeedGroup, rows: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    values = np.array([np.nan if row["value"] is None else row["value"] for row in rows], dtype=np.float64)
    lacking = lacking_in(group, values)
    if lacking:
        return (None, None, None, lacking, rows[0]["n"])
    mean = between_seeds.mean_of(values, level=LEVEL)
    ends = (mean.low, mean.high) if mean.error > 0 else (None, None)
    return (mean.value, *ends, None, rows[0]["n"])


def _values(key: Name, group: SeedGroup, run_findings: Found) -> tuple[list[Finding], Floats]:
    findings = [run_findings[index][key] for index in group.places]
    return findings, np.array(
        [np.nan if finding.value is None else finding.value for finding in findings], dtype=np.float64
    )


def _remade(finding: Finding, name: str, params: Mapping[str, Param], **fields: Any) -> Finding:
    """A finding about the same rows as another; ``limits`` go from a level to its interval."""
    limits = fields.pop("limits", None)
    all_params = {**finding.params, **params}
    metric = metric_id(name, finding.by, all_params)
    update = {
        **_NOTHING, "name": name, "params": all_params, "metric": metric, "direction": "descriptive",
        **fields,
    }  # fmt: skip
    remade = finding.model_copy(update=update)
    return remade if limits is None else remade.with_levels(limits)


def _spread(key: Name, group: SeedGroup, run_findings: Found, read: Sequence[ComparedRun]) -> Finding:
    findings, values = _values(key, group, run_findings)
    parts = [
        seed_part(
            seed,
            read[index].name,
            finding.value,
            low_and_high(finding.interval),
            finding.n,
        )
        for seed, index, finding in zip(group.seeds, group.places, findings, strict=True)
    ]
    fields: dict[str, Any] = {"model": group.name, "parts": parts, "fair_at": None}
    lacking = lacking_in(group, values)
    if lacking:
        return _remade(
            findings[0], f"{key[0]}{SPREAD}", {"model": group.name}, value=None, **fields, reason=lacking
        )
    spread, middle = between_seeds.spread(values, LEVEL), between_seeds.mean_of(values, level=LEVEL)
    if spread.sd > 0:
        method = "chi-square over seeds"
        fields["interval"] = Interval(low=spread.low, high=spread.high, level=LEVEL, method=method)
    fields["details"] = {
        "seeds": float(values.size), "mean": middle.value, "mean_low": middle.low, "mean_high": middle.high,
    }  # fmt: skip
    return _remade(findings[0], f"{key[0]}{SPREAD}", {"model": group.name}, value=spread.sd, **fields)


def _difference(key: Name, first: SeedGroup, second: SeedGroup, run_findings: Found, alpha: float) -> Finding:
    findings, here = _values(key, first, run_findings)
    _, there = _values(key, second, run_findings)
    params: dict[str, Param] = {"model": first.name, "reference": second.name, **UNIT}
    fields: dict[str, Any] = {"model": first.name, "reference": second.name, "fair_at": 0.0}
    lacking = "; ".join(filter(None, (lacking_in(first, here), lacking_in(second, there))))
    name = f"{key[0]}_difference"
    if lacking:
        return _remade(findings[0], name, params, value=None, **fields, reason=lacking)
    by_seed = (
        first.several and first.seeds_known and second.seeds_known and set(first.seeds) == set(second.seeds)
    )
    estimate, how = estimated(first, second, here, there, 0.0, by_seed=by_seed)
    fields |= uncertain(estimate, f"{how}, {SEEDS_ONLY}", alpha)
    fields["details"] = {
        "first": float(here.mean()), "second": float(there.mean()), "first_seeds": float(here.size),
        "second_seeds": float(there.size), "seed_error": estimate.seed_error,
        "paired_by": "seed" if by_seed else None,
    }  # fmt: skip
    return _remade(findings[0], name, params, value=estimate.value, **fields)
