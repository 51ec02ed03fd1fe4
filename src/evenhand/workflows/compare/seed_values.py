"""Recipes over seeds where runs hold no common predictions: from the runs' findings, on the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.bound import MetricId
from evenhand.core.findings import Finding, Interval, Param
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
from evenhand.metrics.prepared import LEVEL
from evenhand.stats.paired import seeds as between_seeds
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.compare.values import SCHEMA, Name, wanted_findings

Floats = npt.NDArray[np.float64]
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
    pairs: Sequence[tuple[int, int]],
    *,
    by: Sequence[str] = (),
    metrics: Sequence[str] = (),
    alpha: float = 0.05,
) -> list[Finding]:
    """Spreads of groups with several seeds, and differences of all pairs in which one is, by finding.

    Args:
        read: The runs.
        groups: Of all runs.
        pairs: Places of groups: first and second of every difference.
        by: Only these groupings; all where none is given.
        metrics: Only these; all where none is given.
        alpha: Level of the tests.

    Returns:
        Findings that all runs of a group have alike, with the group's name as model. Differences are named
        ``metric_difference`` and have the parameter ``unit`` = ``seed``; the samples are taken as given.
    """
    if not any(one.several for one in groups):
        return []
    found = [wanted_findings(one, by, metrics) for one in read]
    made: list[Finding] = []
    for key in dict.fromkeys(key for own in found for key in own):
        there = [all(key in found[place] for place in one.places) for one in groups]
        made += [
            _spread(key, one, found, read)
            for one, known in zip(groups, there, strict=True)
            if one.several and known
        ]
        made += [
            _difference(key, groups[a], groups[b], found, alpha / len(pairs))
            for a, b in pairs
            if there[a] and there[b] and (groups[a].several or groups[b].several)
        ]
    return made


def by_group(values: pl.DataFrame, read: Sequence[ComparedRun], groups: Sequence[SeedGroup]) -> pl.DataFrame:
    """Findings side by side, where several seeds stand by their mean with its interval over seeds.

    Args:
        values: Of every run.
        read: The runs.
        groups: Of all runs.
    """
    if not any(one.several for one in groups):
        return values
    rows: list[tuple[Any, ...]] = []
    for key, own in values.group_by("metric", "by", "params", maintain_order=True):
        told = {row["model"]: row for row in own.iter_rows(named=True)}
        for group in groups:
            members = [told.get(read[place].name) for place in group.places]
            known = [one for one in members if one is not None]
            if len(known) < len(members):
                continue
            rows.append((*key, group.name, *(_mean(group, known) if group.several else _own(known[0]))))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _own(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["value"], row["low"], row["high"], row["reason"], row["n"])


def _mean(group: SeedGroup, rows: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    values = np.array([np.nan if row["value"] is None else row["value"] for row in rows], dtype=np.float64)
    lacking = lacking_in(group, values)
    if lacking:
        return (None, None, None, lacking, rows[0]["n"])
    found = between_seeds.mean_of(values, level=LEVEL)
    ends = (found.low, found.high) if found.error > 0 else (None, None)
    return (found.value, *ends, None, rows[0]["n"])


def _values(key: Name, group: SeedGroup, found: Found) -> tuple[list[Finding], Floats]:
    own = [found[place][key] for place in group.places]
    return own, np.array([np.nan if one.value is None else one.value for one in own], dtype=np.float64)


def _remade(one: Finding, name: str, params: Mapping[str, Param], **fields: Any) -> Finding:
    """A finding about the same rows as another."""
    given = {**one.params, **params}
    metric = str(MetricId.make(name, tuple(one.by), given))
    update = {
        **_NOTHING, "name": name, "params": given, "metric": metric, "direction": "descriptive", **fields,
    }  # fmt: skip
    return one.model_copy(update=update)


def _spread(key: Name, group: SeedGroup, found: Found, read: Sequence[ComparedRun]) -> Finding:
    own, values = _values(key, group, found)
    parts = [
        seed_part(
            seed,
            read[place].name,
            one.value,
            (one.interval.low, one.interval.high) if one.interval else (None, None),
            one.n,
        )
        for seed, place, one in zip(group.seeds, group.places, own, strict=True)
    ]
    fields: dict[str, Any] = {"model": group.name, "parts": parts, "fair_at": None}
    lacking = lacking_in(group, values)
    if lacking:
        return _remade(
            own[0], f"{key[0]}{SPREAD}", {"model": group.name}, value=None, **fields, reason=lacking
        )
    told, middle = between_seeds.spread(values, LEVEL), between_seeds.mean_of(values, level=LEVEL)
    if told.sd > 0:
        method = "chi-square over seeds"
        fields["interval"] = Interval(low=told.low, high=told.high, level=LEVEL, method=method)
    fields["details"] = {
        "seeds": float(values.size), "mean": middle.value, "mean_low": middle.low, "mean_high": middle.high,
    }  # fmt: skip
    return _remade(own[0], f"{key[0]}{SPREAD}", {"model": group.name}, value=told.sd, **fields)


def _difference(key: Name, first: SeedGroup, second: SeedGroup, found: Found, alpha: float) -> Finding:
    own, here = _values(key, first, found)
    _, there = _values(key, second, found)
    params: dict[str, Param] = {"model": first.name, "reference": second.name, **UNIT}
    fields: dict[str, Any] = {"model": first.name, "reference": second.name, "fair_at": 0.0}
    lacking = "; ".join(filter(None, (lacking_in(first, here), lacking_in(second, there))))
    name = f"{key[0]}_difference"
    if lacking:
        return _remade(own[0], name, params, value=None, **fields, reason=lacking)
    by_seed = first.several and first.told and second.told and set(first.seeds) == set(second.seeds)
    made, how = estimated(first, second, here, there, 0.0, by_seed=by_seed)
    fields |= uncertain(made, f"{how}, {SEEDS_ONLY}", alpha)
    fields["details"] = {
        "first": float(here.mean()), "second": float(there.mean()), "first_seeds": float(here.size),
        "second_seeds": float(there.size), "seed_error": made.seed_error,
        "paired_by": "seed" if by_seed else None,
    }  # fmt: skip
    return _remade(own[0], name, params, value=made.value, **fields)
