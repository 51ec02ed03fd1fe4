"""Figures 3, 8, 9, 10 and 11 of the indicators' paper: labels of people by group, threshold and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.indicators.people.datasets.casual_conversations import NAME as CASUAL_CONVERSATIONS
from evenhand.benchmarks.labelling.taxonomies import HARMFUL, HUMAN
from evenhand.benchmarks.papers.indicators import published
from evenhand.benchmarks.papers.indicators.rows import (
    AUTO,
    COLUMNS,
    CURVE,
    DATA,
    DOTS,
    LABELS,
    LINES,
    PARAMETERS,
    RATES,
    TRAINING,
    against_size,
    axes_of,
    by_grouping,
    findings_of,
    grouping,
    groupings_for,
    lead,
    printed_rates,
    rates,
    stacked,
)
from evenhand.benchmarks.papers.rows import named
from evenhand.benchmarks.tidy import find
from evenhand.core.errors import InputError, one_line
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding
from evenhand.runs.run_folder import RunFolder

_RATE, _HARMFUL_RATE = "label_association_rate", "harmful_association_rate"
_COVERAGE = "coverage"
_PEOPLE = (frozenset({"gender", "skin_tone"}), frozenset({"gender"}))
_AGE = (frozenset({"age"}),)
_THRESHOLDS = tuple(round(step * 0.05, 10) for step in range(21))
"""Where lines are drawn."""
_NOTES = (
    "Harmful: a non-human or crime label among the first; an image counts once. Coverage: the share of a "
    "group with any label that sure; a rate means little where it is low.",
)
_PRINTED = (
    f"Published: {published.DINOV2_PAPER}, Table 13, on Casual Conversations v1; linear heads on 619 "
    f"ImageNet-22k classes, top 5, threshold {published.LABEL_THRESHOLD}. Their coverage is not printed."
)

Choice = tuple[str, RunFolder, Finding]
"""A run with its name, and its first rates by the grouping that is shown."""


def _choices(
    runs: Sequence[RunFolder], artifact: str, *preferences: Sequence[frozenset[str]]
) -> list[Choice]:
    """The runs with the first grouping of each of the ``preferences`` that they have."""
    choices = []
    for name, run in named(runs):
        for groupings in preferences:
            findings = [finding for axes in groupings for finding in findings_of(run, _RATE, [axes])]
            choices += [(name, run, first) for first in findings[:1]]
    if not choices:
        axes = [sorted(axes) for groupings in preferences for axes in groupings]
        words, by_option = " or ".join(map(" × ".join, axes)), ",".join(map("+".join, axes))
        raise InputError(
            f"{artifact} needs rates by {words}, and none of these runs has them; type: evenhand run "
            f"{LABELS} --model URI --data DIR -p by={by_option} -o DIR"
        )
    return choices


def _title(kind: str) -> str:
    """A kind of label in words."""
    return "human (not harmful)" if kind == HUMAN else kind.replace("_", " ")


def _rates(choice: Choice, kind: str, threshold: float) -> pl.DataFrame:
    """A row a group: as the finding has it, else as the curve has it."""
    name, run, first = choice
    params = {} if kind == HARMFUL else {"association": kind}
    finding = find(run, _RATE if params else _HARMFUL_RATE, first.grouping, threshold=threshold, **params)
    if finding is None:
        return _curve(choice, kind, (threshold,), RATES)
    return rates(name, run, finding, measure=_title(kind))


def _curve(
    choice: Choice, kind: str, thresholds: Sequence[float] = _THRESHOLDS, part: str = CURVE
) -> pl.DataFrame:
    """Rows of the run's own curve."""
    name, run, first = choice
    if "curve" not in run.tables:
        return stacked()
    points = run.tables["curve"].filter(
        pl.col("threshold").is_in(thresholds), by=first.grouping, association=kind
    )
    columns = points.select(
        "threshold", "low", "high", "n", "coverage",
        value="rate",
        group=pl.col("group").str.replace_all("*", ", ", literal=True),
        reason=pl.when(pl.col("rate").is_null()).then(pl.lit("not in the label space")),
    )  # fmt: skip
    shared = {**lead(name, run, first.by), "part": part, "measure": _title(kind)}
    return pl.DataFrame([shared]).join(columns, how="cross")


def _with_coverage(table: pl.DataFrame) -> pl.DataFrame:
    """Rates, then coverage as a measure of its own, once a group."""
    once = ("part", "model", "by", "group", "threshold", TRAINING, DATA)
    coverage = table.drop_nulls("coverage").unique(once, keep="first", maintain_order=True)
    coverage = coverage.drop("low", "high", "null_low", "null_high", "p", "reason")
    return stacked(table, coverage.with_columns(measure=pl.lit(_COVERAGE), value="coverage"))


def _labels(
    runs: Sequence[RunFolder],
    setting: Setting,
    usual: Sequence[frozenset[str]],  # in order of preference
    artifact: str,
    *,
    apart: bool = False,  # every kind of label, not only human and the harmful ones together
    curves: bool = True,  # whether rates are shown against the threshold
) -> Made:
    """Rates of all runs at one threshold, and against it."""
    threshold = setting.parameters["threshold"]
    choices = _choices(runs, artifact, groupings_for(setting, usual))
    kinds = _kinds(choices, artifact, apart)
    combinations = list(product(choices, kinds))
    ours = stacked(*(_rates(*pair, threshold) for pair in combinations))
    if ours.is_empty():
        raise InputError(f"{artifact}: no run has threshold {threshold:g}; give one of two digits")
    lines = stacked(*(_curve(*pair) for pair in combinations if curves))
    alike = {
        first.grouping: first.by
        for _, run, first in choices
        if (run.manifest.get("about") or {}).get("layout") == CASUAL_CONVERSATIONS
    }
    cells = [
        (model, grouping(by), _title(kind), group, value)
        for by in alike.values()
        for model, kind, group, value in published.association_rates(axes_of(by))
        if kind in kinds and threshold == published.LABEL_THRESHOLD
    ]
    paper = printed_rates(cells, threshold, ours)
    table = stacked(paper, _with_coverage(ours), _with_coverage(lines)).select(COLUMNS)
    notes = _NOTES if paper.is_empty() else (*_NOTES, _PRINTED)
    return Made(table, notes, tuple(_figures(ours, lines, threshold)))


def _kinds(choices: list[Choice], artifact: str, apart: bool) -> list[str]:
    """The kinds of label that are shown; refuses maps of one's own that have neither of the usual two."""
    names = (_RATE, _HARMFUL_RATE)
    findings = [finding for _, run, _ in choices for name in names for finding in findings_of(run, name)]
    kinds = dict.fromkeys(str(finding.params.get("association", HARMFUL)) for finding in findings)
    if apart:
        return [kind for kind in kinds if kind != HARMFUL]
    if not {HARMFUL, HUMAN} & {*kinds}:
        raise InputError(
            f"{artifact} draws {HARMFUL} and {HUMAN} labels, and the map of these runs has neither (it has "
            f"{', '.join(one_line(kind, 30) for kind in kinds)}); type: evenhand artifact indicators/figure9 "
            "RUN, which draws every kind"
        )
    return [HARMFUL, HUMAN]


def _figures(ours: pl.DataFrame, lines: pl.DataFrame, threshold: float) -> Iterator[Figure]:
    """By model, by training and by data where tagged, and against the threshold; for each grouping."""
    order = {"measure": (*ours["measure"].unique(maintain_order=True), _COVERAGE)}
    dots = replace(
        DOTS, only={"part": RATES}, title=f", at {threshold:g}", facet="measure", order=order,
        independent=("x",), interval="95% intervals", null="groups exchanged at random",
    )  # fmt: skip
    curves = replace(
        LINES, x="threshold", row="model", only={"part": CURVE}, title=", against the threshold", order=order,
        domain={"x": (0.0, 1.0)}, independent=("y",), formats={"value": "percent"},
        titles={"value": "", "group": "", "threshold": "lowest confidence that counts"},
    )  # fmt: skip
    for by in ours["by"].unique(maintain_order=True):
        table = ours.filter(by=by)
        yield from by_grouping(dots, table)
        for tag in (TRAINING, DATA):
            if table[tag].n_unique() > 1:
                title = f"{dots.title}: by {tag}"
                yield from by_grouping(replace(dots, facet="", column="measure", row=tag, title=title), table)
        if by in lines["by"]:
            yield from by_grouping(curves, table)


def _figure11(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """Rates of people, and of ages, against the size of the model."""
    artifact, threshold = "indicators/figure11", setting.parameters["threshold"]
    ages = _AGE if setting.text("by") == AUTO else ()
    choices = _choices(runs, artifact, groupings_for(setting, _PEOPLE), ages)
    kinds = _kinds(choices, artifact, apart=False)
    ours = stacked(*(_rates(*pair, threshold) for pair in product(choices, kinds)))
    return against_size(_with_coverage(ours), PARAMETERS, artifact, "share of the group", notes=_NOTES)


_BY = Parameter(AUTO, help="groupings in order of preference, such as gender+race,gender; auto: the paper's")
_AT = {"by": _BY, "threshold": Parameter(0.1, help="lowest confidence that counts")}
_artifact = partial(Artifact, benchmarks=(LABELS,), parameters=_AT)


def _figure(number: int, title: str, usual: Sequence[frozenset[str]], **options: Any) -> Artifact:
    """An artifact of rates of labels."""
    name = f"indicators/figure{number}"
    return _artifact(name, title, partial(_labels, usual=usual, artifact=name, **options))


FIGURE3 = _figure(
    3, "Harmful and human labels by gender and skin tone, with coverage: by training, data and threshold",
    _PEOPLE,
)  # fmt: skip
FIGURE8 = _figure(8, "Harmful and human labels by age, with coverage: by training, data and threshold", _AGE)
FIGURE9 = _figure(9, "Every kind of label apart, by gender and skin tone", _PEOPLE, apart=True, curves=False)
FIGURE10 = _figure(10, "Every kind of label apart, by age, and against the threshold", _AGE, apart=True)
FIGURE11 = _artifact(
    "indicators/figure11", "Harmful and human labels against the size of the model", _figure11
)
