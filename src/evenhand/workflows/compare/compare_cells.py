"""What one model answered to each sample, in the columns that a finding adds up; or why that is not kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evenhand.core.findings import Finding, Key
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.metrics.choices.resolution import rule_of
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.outputs.outcomes import CONCEPT, GENDER, SET, UNIT_NAME, outcome_rows

_MARK = "\x1f"  # between what a column's name is made of
ALL = "\x1e"
"""The column of every sample; no group is called so."""

_SCHEMA = {"sample": pl.String, "unit": pl.String, "column": pl.String, "value": pl.Float64}


@dataclass(frozen=True)
class Combination:
    """One number made of columns: see ``Summary`` of paired sums; or the effect size of two columns."""

    how: str  # weights, range, least or effect_size
    columns: tuple[str, ...]
    weights: tuple[float, ...] = ()  # one for each column, where they are weighted


_WHOLE = Combination("weights", (ALL,), (1.0,))


@dataclass(frozen=True)
class ContributionSpec:
    """A part of a finding, made of columns of its own."""

    kind: str
    key: Key
    combination: Combination


@dataclass(frozen=True, eq=False)
class Contributions:
    """One model's answers under one finding."""

    table: pl.DataFrame  # a row for each sample and column that it counts in: sample, unit, column, value
    combination: Combination
    parts: tuple[ContributionSpec, ...] = ()  # where differences of the finding's parts are wanted
    once: bool = False  # each unit counts once in a column, with the mean of its samples
    unit: str = ""  # what belongs together, such as ``occupation`` or ``sample``


def cells_of(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """The answers behind a finding, or why they cannot be had."""
    rows = outcome_rows(compared_run.run, finding, compared_run.memo)
    if isinstance(rows, str):
        return rows
    others = _parts if "part" in rows.columns and rows["part"].count() else _of_people
    combined = _COMBINED.get(finding.card.family, others)(rows, finding)
    return replace(combined, unit=str(rows[UNIT_NAME].first()))


def _groups(finding: Finding) -> list[Key]:
    return [group.key for group in finding.groups] if finding.by else []


def column_of(*names: str | Sequence[str]) -> str:
    """The name of a column from those of its group."""
    flat = [name for entry in names for name in ([entry] if isinstance(entry, str) else entry)]
    return _MARK.join(flat)


def _in_columns(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Rows of sample, unit, value in one column for each, named by some of their own columns."""
    column = pl.concat_str([pl.col(name).cast(pl.String) for name in names], separator=_MARK)
    return rows.with_columns(column.alias("column")).select(_SCHEMA.keys()).cast(_SCHEMA)  # type: ignore[arg-type]


def _rates(finding: Finding) -> tuple[ContributionSpec, ...]:
    """The rate of each group as a part."""
    kind = "*".join(finding.by)
    return tuple(
        ContributionSpec(kind, key, Combination("weights", (column_of(key),), (1.0,)))
        for key in _groups(finding)
    )


def _choices(rows: pl.DataFrame, finding: Finding) -> Contributions:
    """Pronouns by the gender of the truth."""
    weights, rows, kind = rule_of(finding.name)[1], rows.drop_nulls(list(finding.by)), "*".join(finding.by)
    genders = tuple(str(part.key) for part in finding.parts if part.kind == GENDER)
    combination = Combination("weights", genders, weights)
    if not finding.by:
        parts = [ContributionSpec(GENDER, name, Combination("weights", (name,), (1.0,))) for name in genders]
        return Contributions(_in_columns(rows, [GENDER]), combination, tuple(parts))
    parts = [
        ContributionSpec(
            kind, key, Combination("weights", tuple(column_of(key, name) for name in genders), weights)
        )
        for key in _groups(finding)
    ]
    table = pl.concat([_in_columns(rows, [GENDER]), _in_columns(rows, [*finding.by, GENDER])])
    return Contributions(table, combination, tuple(parts))


def _of_people(rows: pl.DataFrame, finding: Finding) -> Contributions:
    """Rates of groups, or how far these are apart."""
    rows = rows.drop_nulls(list(finding.by))
    if finding.params.get("unknown") == "exclude":
        rows = rows.filter(
            ~pl.any_horizontal(*(pl.col(name).str.to_lowercase().is_in(list(UNKNOWN)) for name in finding.by))
        )
    if not finding.by:
        return Contributions(_of_all(rows), _WHOLE)
    grouped = _in_columns(rows, finding.by)
    if finding.name.endswith("_gap"):
        apart = {column_of(str(name).split("*")) for name in _not_compared(finding)}
        columns = tuple(
            column
            for key in _groups(finding)
            if (column := column_of(key)) not in apart
            and not any(value.lower() in UNKNOWN for value in column.split(_MARK))
        )
        return Contributions(grouped.filter(pl.col("column").is_in(columns)), Combination("range", columns))
    return Contributions(pl.concat([_of_all(rows), grouped]), _WHOLE, _rates(finding))


def _not_compared(finding: Finding) -> list[str]:
    """Groups that a gap leaves out, as its notes name them."""
    excluded = [note.rpartition(": ")[2] for note in finding.notes if note.startswith("not compared")]
    return [name for listed in excluded for name in listed.split(", ")]


def _households(rows: pl.DataFrame, finding: Finding) -> Contributions:
    """Images recognised; each household counts once, or each image."""
    rows = rows.drop_nulls(list(finding.by))
    columns = ["sample", "unit", *(name for name in finding.by if name != CONCEPT)]
    images = rows.group_by(columns).agg(pl.col("value").max()).sort("sample")  # any of its concepts is enough
    grouped = _in_columns(rows if CONCEPT in finding.by else images, finding.by) if finding.by else None
    once = finding.params.get("weighting") != "image"
    keys, groups = [column_of(key) for key in _groups(finding)], finding.params.get("groups")
    combination = _WHOLE
    if finding.card.sentences.more:
        combination = Combination("range", tuple(keys))
        if isinstance(groups, list):
            two = tuple(column_of(str(group).split("*")) for group in groups)
            combination = Combination("weights", two, (1.0, -1.0))
    elif "worst group" in finding.card.tags:
        combination = Combination("least", tuple(keys))
    if grouped is not None and combination is not _WHOLE:
        return Contributions(grouped, combination, once=once)
    table = _of_all(images) if grouped is None else pl.concat([_of_all(images), grouped])
    return Contributions(table, combination, _rates(finding), once)


def _queries(rows: pl.DataFrame, finding: Finding) -> Contributions:
    """The figure of each ranking."""
    del finding
    return Contributions(_of_all(rows), _WHOLE)


def _two_sets(rows: pl.DataFrame, finding: Finding) -> Contributions:
    """Items or images of two sets, and how far these are apart."""
    params: Mapping[str, Any] = finding.params
    sets = tuple(params["targets"])
    combination = Combination("weights", sets, (1.0, -1.0))
    if "reading" not in params or params.get("standardised"):
        combination = Combination("effect_size", sets, (float(params.get("ddof", 1)),))
    return Contributions(_in_columns(rows, [SET]), combination)


def _parts(rows: pl.DataFrame, finding: Finding) -> Contributions:
    """Any other metric: parts with weights, or the largest less the smallest."""
    del finding
    weights = dict(rows.select("part", "weight").unique(maintain_order=True).iter_rows())
    columns = tuple(map(str, weights))
    combination = Combination("range", columns)
    if None not in weights.values():
        combination = Combination("weights", columns, tuple(map(float, weights.values())))
    return Contributions(_in_columns(rows, ["part"]), combination)


def _of_all(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in the one column of every sample."""
    return _in_columns(rows.with_columns(column=pl.lit(ALL)), ["column"])


_COMBINED: dict[str, Callable[[pl.DataFrame, Finding], Contributions]] = {
    "pronouns": _choices,
    "labels": _of_people,
    "households": _households,
    "neighbours": _of_people,
    "rankings": _queries,
    "associations": _two_sets,
}
"""What findings make of the outcomes of samples, by family; others by their parts, or as rates of groups."""
