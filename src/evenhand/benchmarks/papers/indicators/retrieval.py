"""Figures 2, 6, 7 and 13 of the indicators' paper: the runs compared, and how alike near images are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.indicators.settings import numbers
from evenhand.benchmarks.papers.indicators.rows import (
    AUTO,
    COLUMNS,
    DOTS,
    IMAGES,
    PARAMETERS,
    RETRIEVAL,
    against_size,
    by_grouping,
    findings_of,
    groupings_for,
    lead,
    no_size,
    rates,
    stacked,
)
from evenhand.benchmarks.papers.rows import named, names_of
from evenhand.benchmarks.tidy import find
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder

_PRECISION = "precision_at_k"
_USUAL = (frozenset({"gender"}), frozenset({"skin_tone"}), frozenset({"gender", "skin_tone"}))
_NOTES = (
    "Same: the attribute that the run matches, gender if nothing else. Chance is what exchanged "
    "labels of the database give; where a group is common there, its precision is high by chance.",
)
_BY_HELP = "groupings, such as gender,race; auto: gender, skin tone and both, else all that a run has"
_MODELS = ("model", "training", "data", IMAGES, PARAMETERS, "reason")
_SHORT = Figure("table", levels=_MODELS, formats={IMAGES: "short", PARAMETERS: "short"})


def _precision(runs: Sequence[RunFolder], setting: Setting, artifact: str) -> pl.DataFrame:
    """A row for each run, grouping, K and group."""
    ks = [int(k) for k in numbers("k", setting.text("k"), low=1, high=1e9, integers=True)]
    table = stacked(
        *(
            rates(name, run, finding, measure=f"precision@{k}", k=str(k))
            for name, run in named(runs)
            for by in _groupings(run, setting)
            for k in ks
            if (finding := find(run, _PRECISION, by, k=k)) is not None
        )
    )
    if table.is_empty():
        findings = [finding for run in runs for finding in findings_of(run, _PRECISION)]
        have = dict.fromkeys(str(finding.params.get("k")) for finding in findings)
        k_list = ",".join(map(str, ks))
        raise InputError(
            f"{artifact} needs precision at K of {k_list.replace(',', ', ')} by such groups, and these "
            f"runs have K of {', '.join(have) or 'none'}; give another -p k= or -p by=, or type: evenhand "
            f"run {RETRIEVAL} --model URI --data DIR -p k={k_list} -o DIR"
        )
    return table


def _groupings(run: RunFolder, setting: Setting) -> dict[str, None]:
    """Those wanted that a run has; all that it has where it has none of the usual ones."""
    axes = groupings_for(setting, _USUAL)
    findings = findings_of(run, _PRECISION, axes)
    if not findings and axes is _USUAL:
        findings = [finding for finding in findings_of(run, _PRECISION) if finding.by]
    return dict.fromkeys(finding.grouping for finding in findings)


def _groups(runs: Sequence[RunFolder], setting: Setting, artifact: str, size: str = "") -> Made:
    """Precision by group, or against a size of the models."""
    table = _precision(runs, setting, artifact)
    if size:
        return against_size(table, size, artifact, "precision", "chance", notes=_NOTES)
    dots = replace(
        DOTS, facet="measure", columns=2, titles={**DOTS.titles, "measure": ""}, domain={"x": (0.0, 1.0)},
        interval="95% intervals over queries or people", null="labels of the database exchanged",
    )  # fmt: skip
    return Made(table.select(*COLUMNS, "chance"), _NOTES, by_grouping(dots, table))


def _figure2(runs: Sequence[RunFolder]) -> pl.DataFrame:
    """One row a model, however many of the indicators it was asked."""
    rows = [
        {**lead(name, run, ()), "uri": run.manifest.get("model")}
        for name, run in zip(names_of(runs), runs, strict=True)
    ]
    reason = pl.concat_str(no_size(IMAGES), no_size(PARAMETERS), separator="; ", ignore_nulls=True)
    models = stacked(pl.DataFrame(rows, infer_schema_length=None)).with_columns(
        reason=reason.replace("", None)
    )
    once = ("uri", "recipe", IMAGES, PARAMETERS)
    return models.unique(once, keep="first", maintain_order=True).select("source", *_MODELS)


FIGURE2 = Artifact(
    "indicators/figure2",
    "The models compared: images that they were trained on, by size",
    _figure2,
    (
        replace(
            _SHORT, kind="scatter", levels=(), x=IMAGES, y=PARAMETERS, colour="training", label="model",
            log=("x", "y"),
            titles={IMAGES: "images trained on (tag)", PARAMETERS: "parameters (tag)", "training": ""},
        ),
        replace(_SHORT, titles={"reason": "missing"}),
    ),
    benchmarks=("indicators",),
)  # fmt: skip


def _figure(number: int, title: str, ks: str, size: str = "") -> Artifact:
    """An artifact of precision."""
    name = f"indicators/figure{number}"
    parameters = {
        "k": Parameter(ks, help="values of K, separated by commas"),
        "by": Parameter(AUTO, help=_BY_HELP),
    }
    make = partial(_groups, artifact=name, size=size)
    return Artifact(name, title, make, benchmarks=(RETRIEVAL,), parameters=parameters)


FIGURE6 = _figure(6, "Precision at K by gender, by skin tone and by both", "10,50")
FIGURE7 = _figure(7, "Precision at K against the images that models were trained on", "10", IMAGES)
FIGURE13 = _figure(13, "Precision at K against the size of the model", "10,50", PARAMETERS)
