"""Figures 3, 8, 9, 10 and 11 of the indicators' paper: labels of people by group, threshold and size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.indicators.people.datasets.casual_conversations import NAME as CASUAL_CONVERSATIONS
from evenhand.benchmarks.labelling.taxonomies import HARMFUL, HUMAN
from evenhand.benchmarks.papers.indicators import published
from evenhand.benchmarks.papers.indicators.rows import (
    COLUMNS,
    CURVE,
    DATA,
    LABELS,
    PARAMETERS,
    PUBLISHED,
    RATES,
    TRAINING,
    against_size,
    asked_groupings,
    axes_of,
    chosen,
    group_name,
    grouping,
    lead,
    need_sizes,
    numbers,
    ordered_groups,
    tagged,
    with_recipe,
)
from evenhand.benchmarks.papers.rows import PAPER, Row, frame, named
from evenhand.benchmarks.tidy import find
from evenhand.core.errors import InputError, one_line
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder

_RATE, _HARMFUL_RATE = "label_association_rate", "harmful_association_rate"
_AUTO = "auto"
_COVERAGE = "coverage"
_TITLES = {HARMFUL: "harmful", HUMAN: "human (not harmful)"}
_PEOPLE = (frozenset({"gender", "skin_tone"}), frozenset({"gender"}))
_AGE = (frozenset({"age"}),)
_STEP = 0.05
_INTERVALS = "95% intervals"
_NULL = "groups exchanged at random"
_NOTES = (
    "Harmful: a non-human or crime label among the first; an image counts once. Coverage: the share of a "
    "group with any label that sure; a rate means little where it is low.",
)
_PRINTED = (
    f"Published: {published.DINOV2_PAPER}, Table 13, on Casual Conversations v1; linear heads on 619 "
    f"ImageNet-22k classes, top 5, threshold {published.LABEL_THRESHOLD}. Their coverage is not printed."
)


def _wanted(setting: Setting, usual: Sequence[frozenset[str]]) -> Sequence[frozenset[str]]:
    by = setting.text("by")
    return usual if by == _AUTO else asked_groupings(by)


def _grouped(
    runs: Sequence[RunFolder], groupings: Sequence[frozenset[str]], artifact: str
) -> Iterator[tuple[str, RunFolder, tuple[str, ...]]]:
    """The runs that have one of the groupings, with its columns."""
    grouped_runs = [
        (name, run, by) for name, run in named(runs) if (by := chosen(run, _RATE, groupings)) is not None
    ]
    if not grouped_runs:
        words = " or ".join(" × ".join(sorted(axes)) for axes in groupings)
        by_option = ",".join("+".join(sorted(axes)) for axes in groupings)
        raise InputError(
            f"{artifact} needs rates by {words}, and none of these runs has them; type: evenhand run "
            f"{LABELS} --model URI --data DIR -p by={by_option} -o DIR"
        )
    yield from grouped_runs


def _kinds(run: RunFolder) -> list[str]:
    """The kinds of label that a run has, harmful first."""
    kinds = [str(finding.params["association"]) for finding in run.findings.findings if finding.name == _RATE]
    return [HARMFUL, *dict.fromkeys(kinds)]


def _rates(name: str, run: RunFolder, by: tuple[str, ...], kind: str, threshold: float) -> list[Row]:
    """A row a group: as the finding has it, else as the curve has it."""
    params = {"threshold": threshold, **({} if kind == HARMFUL else {"association": kind})}
    finding = find(run, _HARMFUL_RATE if kind == HARMFUL else _RATE, "+".join(by), **params)
    shared = {**lead(name, run, by), "part": RATES, "measure": _TITLES.get(kind, kind.replace("_", " "))}
    if finding is not None:
        return [{**shared, "threshold": threshold, **numbers(part)} for part in finding.parts]
    return [{**row, "part": RATES} for row in _curve(name, run, by, kind, [threshold])]


def _curve(
    name: str, run: RunFolder, by: tuple[str, ...], kind: str, thresholds: Sequence[float] | None = None
) -> list[Row]:
    """Rows of the run's own curve; every twentieth of the thresholds if none are given."""
    table = run.tables.get("curve")
    if table is None:
        return []
    marks = pl.Series(thresholds or [round(step * _STEP, 10) for step in range(round(1 / _STEP) + 1)])
    curve = table.filter(
        (pl.col("by") == "+".join(by)) & (pl.col("association") == kind) & pl.col("threshold").is_in(marks)
    )
    shared = {**lead(name, run, by), "part": CURVE, "measure": _TITLES.get(kind, kind.replace("_", " "))}
    return [
        {
            **shared,
            **{key: row[key] for key in ("threshold", "low", "high", "n", "coverage")},
            "group": group_name(row["group"]),
            "value": row["rate"],
            "reason": None if row["rate"] is not None else "not in the label space",
        }
        for row in curve.to_dicts()
    ]


def _covered(rows: Sequence[Row]) -> list[Row]:
    """Coverage as a measure of its own, once a group, beside the rates."""
    coverage_rows: dict[tuple[object, ...], Row] = {}
    empty = dict.fromkeys(("low", "high", "null_low", "null_high", "p", "reason"))
    for row in rows:
        key = tuple(row.get(name) for name in ("part", "model", "by", "group", "threshold", TRAINING, DATA))
        if row.get("coverage") is not None:
            coverage_rows.setdefault(key, {**row, **empty, "measure": _COVERAGE, "value": row["coverage"]})
    return list(coverage_rows.values())


def _alike(run: RunFolder) -> bool:
    """Whether a run is about the data of the published rates."""
    about = run.manifest.get("about")
    return isinstance(about, Mapping) and about.get("layout") == CASUAL_CONVERSATIONS


def _printed(
    groupings: Sequence[tuple[str, ...]], rows: Sequence[Row], kinds: Sequence[str], threshold: float
) -> list[Row]:
    """The published rates of the groups that our runs have too, at their threshold."""
    if threshold != published.LABEL_THRESHOLD:
        return []
    have = {(row["by"], row["group"]) for row in rows}
    printed = []
    for by in dict.fromkeys(groupings):
        for model, kind, group, value in published.association_rates(axes_of(by)):
            if kind in kinds and (grouping(by), group) in have:
                printed.append(
                    {"source": PAPER, "part": RATES, "model": model, TRAINING: PUBLISHED, DATA: PUBLISHED,
                     "by": grouping(by), "measure": _TITLES.get(kind, kind.replace("_", " ")), "group": group,
                     "threshold": threshold, "value": value}
                )  # fmt: skip
    return printed


def _rates_artifact(
    runs: Sequence[RunFolder],
    setting: Setting,
    usual: Sequence[frozenset[str]],  # in order of preference
    artifact: str,
    *,
    apart: bool,  # every kind of label, not only human and the harmful ones together
    curves: bool = True,  # whether rates are shown against the threshold
) -> Made:
    """Rates of all runs at one threshold, and against it."""
    threshold = float(setting.parameters["threshold"])
    grouped_runs = list(_grouped(runs, _wanted(setting, usual), artifact))
    kinds = list(dict.fromkeys(kind for _, run, _ in grouped_runs for kind in _kinds(run)))
    if not apart:
        _need_kinds(grouped_runs, kinds, artifact)
    kinds = [kind for kind in kinds if kind != HARMFUL] if apart else [HARMFUL, HUMAN]
    combinations = [(name, run, by, kind) for name, run, by in grouped_runs for kind in kinds]
    rows = [row for combination in combinations for row in _rates(*combination, threshold)]
    if not rows:
        raise InputError(f"{artifact}: no run has threshold {threshold:g}; give one of two digits")
    lines = [row for combination in combinations for row in _curve(*combination)] if curves else []
    printed = _printed([by for _, run, by in grouped_runs if _alike(run)], rows, kinds, threshold)
    all_rows = [*printed, *rows, *_covered(rows), *lines, *_covered(lines)]
    figures = _figures(rows, lines, threshold)
    return Made(frame(all_rows, COLUMNS), (*_NOTES, *((_PRINTED,) if printed else ())), figures)


def _need_kinds(
    runs: Sequence[tuple[str, RunFolder, tuple[str, ...]]], kinds: Sequence[str], artifact: str
) -> None:
    """Refuse runs with a map of one's own that has neither harmful labels nor human ones."""
    findings = [finding for _, run, _ in runs for finding in run.findings.findings]
    if HUMAN not in kinds and not any(finding.name == _HARMFUL_RATE for finding in findings):
        kind_names = ", ".join(one_line(kind, 30) for kind in kinds if kind != HARMFUL)
        raise InputError(
            f"{artifact} draws {HARMFUL} and {HUMAN} labels, and the map of these runs has neither (it has "
            f"{kind_names}); type: evenhand artifact indicators/figure9 RUN, which draws every kind"
        )


def _figures(rows: Sequence[Row], lines: Sequence[Row], threshold: float) -> tuple[Figure, ...]:
    """By model, by training and by data where tagged, and against the threshold; for each grouping."""
    measures = (*dict.fromkeys(str(row["measure"]) for row in rows), _COVERAGE)
    figures = []
    for by in dict.fromkeys(row["by"] for row in rows):
        grouping_rows = [row for row in rows if row["by"] == by]
        order = {"group": ordered_groups(grouping_rows), "measure": measures}
        for tag in ("", *(tag for tag in (TRAINING, DATA) if tagged(grouping_rows, tag))):
            only = {"part": RATES, "by": by}
            title = f"By {by}, at {threshold:g}" + (f": by {tag}" if tag else "")
            figures.append(
                Figure(
                    "dots", x="value", y="group", colour="model", low="low", high="high", null_low="null_low",
                    null_high="null_high", only=only, order=order, title=title, independent=("x",),
                    formats={"value": "percent"}, titles={"value": "", "group": "", "model": ""},
                    interval=_INTERVALS, null=_NULL, row=tag,
                    column="measure" if tag else "", facet="" if tag else "measure",
                )
            )  # fmt: skip
        if any(row["by"] == by for row in lines):
            figures.append(
                Figure(
                    "lines", x="threshold", y="value", colour="group", row="model", column="measure",
                    low="low", high="high", only={"part": CURVE, "by": by}, order=order,
                    title=f"By {by}, against the threshold", formats={"value": "percent"},
                    domain={"x": (0.0, 1.0)}, independent=("y",), interval=_INTERVALS,
                    titles={"value": "", "group": "", "threshold": "lowest confidence that counts"},
                )
            )  # fmt: skip
    return tuple(figures)


def _figure11(runs: Sequence[RunFolder], setting: Setting) -> Made:
    threshold = float(setting.parameters["threshold"])
    rows: list[Row] = []
    for name, run in named(runs):
        for groupings in (_wanted(setting, _PEOPLE), _AGE if setting.parameters["by"] == _AUTO else ()):
            by = chosen(run, _RATE, groupings)
            if by is not None:
                rows += [row for kind in (HARMFUL, HUMAN) for row in _rates(name, run, by, kind, threshold)]
    if not rows:
        grouped_runs = list(_grouped(runs, _wanted(setting, (*_PEOPLE, *_AGE)), "indicators/figure11"))
        _need_kinds(
            grouped_runs, [kind for _, run, _ in grouped_runs for kind in _kinds(run)], "indicators/figure11"
        )
    need_sizes(rows, PARAMETERS, "indicators/figure11")
    all_rows = with_recipe([*rows, *_covered(rows)], PARAMETERS)
    figures = against_size(all_rows, PARAMETERS, column="measure", words="share of the group")
    return Made(frame(all_rows, (*COLUMNS, "recipe")), _NOTES, figures)


_BY = Parameter(_AUTO, help="groupings in order of preference, such as gender+race,gender; auto: the paper's")
_AT = {"by": _BY, "threshold": Parameter(0.1, help="lowest confidence that counts")}


def _figure(
    number: int, title: str, usual: Sequence[frozenset[str]], *, apart: bool, curves: bool = True
) -> Artifact:
    name = f"indicators/figure{number}"
    make = partial(_rates_artifact, usual=usual, artifact=name, apart=apart, curves=curves)
    return Artifact(name, title, make, benchmarks=(LABELS,), parameters=_AT)


FIGURE3 = _figure(
    3, "Harmful and human labels by gender and skin tone, with coverage: by training, data and threshold",
    _PEOPLE, apart=False,
)  # fmt: skip
FIGURE8 = _figure(
    8, "Harmful and human labels by age, with coverage: by training, data and threshold", _AGE, apart=False
)
FIGURE9 = _figure(9, "Every kind of label apart, by gender and skin tone", _PEOPLE, apart=True, curves=False)
FIGURE10 = _figure(10, "Every kind of label apart, by age, and against the threshold", _AGE, apart=True)
FIGURE11 = Artifact(
    "indicators/figure11",
    "Harmful and human labels against the size of the model",
    _figure11,
    benchmarks=(LABELS,),
    parameters=_AT,
)
