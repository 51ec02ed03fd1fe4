"""Figures 4, 5 and 12 of the indicators' paper: what is recognised in whose homes, by model and size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.indicators.household_references import ReferenceHits
from evenhand.benchmarks.papers.indicators import published
from evenhand.benchmarks.papers.indicators.rows import (
    COLUMNS,
    DATA,
    GEOGRAPHY,
    PARAMETERS,
    PUBLISHED,
    RATES,
    TRAINING,
    against_size,
    axes_of,
    chosen,
    grouping,
    lead,
    need_sizes,
    numbers,
    ordered_groups,
    with_recipe,
)
from evenhand.benchmarks.papers.rows import PAPER, Row, frame, named
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.figure import Figure, Reference
from evenhand.core.findings import Finding
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.metrics.labels.households.hit_rate import household_hit_improvement
from evenhand.runs.run_folder import RunFolder

_RATE, _IMPROVEMENT = "household_hit_rate", "household_hit_improvement"
_GROUPINGS = (frozenset({"income_bucket"}), frozenset({"region"}))
_MEASURE = "hit rate"
_PRINTED = (
    f"Published: {published.DINOV2_PAPER}, Table 12; Dollar Street, top 5. Images and concepts that your "
    "model could name may be others."
)
_INTERVALS = "95% intervals by household"
_NULL = "households exchanged between groups"


def _rows(name: str, run: RunFolder, by: tuple[str, ...]) -> list[Row]:
    """A row a group at the run's first threshold."""
    for finding in run.findings.findings:
        if finding.name == _RATE and finding.by == list(by):
            shared = {**lead(name, run, by), "part": RATES, "measure": _MEASURE}
            threshold = float(finding.params.get("threshold") or 0)  # type: ignore[arg-type]
            return [{**shared, "threshold": threshold, **numbers(part)} for part in finding.parts]
    return []


def _all(runs: Sequence[RunFolder], artifact: str) -> list[Row]:
    rows: list[Row] = []
    for name, run in named(runs):
        groupings = [by for axes in _GROUPINGS if (by := chosen(run, _RATE, (axes,))) is not None]
        rows += [row for by in groupings for row in _rows(name, run, by)]
    if not rows:
        raise InputError(
            f"{artifact} needs hit rates by income_bucket or region, and none of these runs has them; type: "
            f"evenhand run {GEOGRAPHY} --model URI --data DIR -p by=income_bucket,region -o DIR"
        )
    return rows


def _figure4(runs: Sequence[RunFolder]) -> Made:
    rows = _all(runs, "indicators/figure4")
    alike = {name for name, run in named(runs) if ReferenceHits.of(run).top == published.TOP}
    have = {(row["by"], row["group"]) for row in rows if row["model"] in alike and not row["threshold"]}
    printed = [
        {"source": PAPER, "part": RATES, "model": model, TRAINING: PUBLISHED, DATA: PUBLISHED,
         "by": grouping((by,)), "measure": _MEASURE, "group": group, "threshold": 0.0, "value": value}
        for (model, by), rates in published.HOUSEHOLD_RATES.items()
        for group, value in rates.items()
        if (grouping((by,)), group) in have
    ]  # fmt: skip
    figures = tuple(
        Figure(
            "dots", x="value", y="group", colour="model", low="low", high="high", null_low="null_low",
            null_high="null_high", only={"by": by}, title=f"By {by}", domain={"x": (0.0, 1.0)},
            order={"group": ordered_groups(row for row in rows if row["by"] == by)},
            formats={"value": "percent"}, titles={"value": "household hit rate", "group": "", "model": ""},
            interval=_INTERVALS, null=_NULL,
        )
        for by in dict.fromkeys(row["by"] for row in rows)
    )  # fmt: skip
    return Made(frame([*printed, *rows], COLUMNS), (_PRINTED,) if printed else (), figures)


def _figure5(runs: Sequence[RunFolder], setting: Setting) -> Made:
    reference = setting.text("reference")
    pairs = named(runs)
    if len(runs) == 1:
        if reference:
            raise InputError("indicators/figure5 has one run, so nothing to refer to; give two runs or more")
        rows, reference_name = _measured(*pairs[0])
    else:
        index = _reference_index(pairs, reference)
        rows, reference_name = _against(pairs, index, setting.seed), pairs[index][0]
    figures = tuple(
        Figure(
            "dots", x="value", y="group", colour="model", low="low", high="high", null_low="null_low",
            null_high="null_high", only={"by": by}, title=f"By {by}", references=(Reference(0.0, "alike"),),
            order={"group": ordered_groups(row for row in rows if row["by"] == by)},
            formats={"value": "percent"}, interval="95% intervals, paired by household",
            null="both models exchanged in each household",
            titles={"value": "hit rate, relative improvement", "group": "", "model": ""},
        )
        for by in dict.fromkeys(row["by"] for row in rows)
    )  # fmt: skip
    notes = (f"Reference: {reference_name}. (hit rate - that of the reference) / that of the reference.",)
    return Made(frame(rows, COLUMNS), notes, figures)


def _reference_index(pairs: Sequence[tuple[str, RunFolder]], reference: str) -> int:
    """Which run is the reference: the first, or by number, name or folder."""
    if not reference:
        return 0
    run_names = [name for name, _ in pairs]
    paths = [run.folder.resolve() if run.folder is not None else None for _, run in pairs]
    folders = [run.folder.name if run.folder is not None else "" for _, run in pairs]
    models = [str(run.manifest.get("model")) for _, run in pairs]
    if reference.isdecimal() and 0 < int(reference) <= len(pairs):
        return int(reference) - 1
    if paths.count(Path(reference).expanduser().resolve()) == 1:
        return paths.index(Path(reference).expanduser().resolve())
    for names in (run_names, folders, models):
        if names.count(reference.rstrip("/")) == 1:
            return names.index(reference.rstrip("/"))
    raise UnknownName("run to refer to", reference, [*run_names, *filter(None, folders)])


def _measured(name: str, run: RunFolder) -> tuple[list[Row], str]:
    """What a run with a reference of its own found."""
    improvements = [finding for finding in run.findings.findings if finding.name == _IMPROVEMENT]
    if not improvements:
        raise InputError(
            "indicators/figure5 needs two runs, the reference first, or one made with -p reference=RUN"
        )
    first = [
        improvement
        for improvement in improvements
        if improvement.params.get("threshold") == improvements[0].params.get("threshold")
    ]
    return [row for finding in first for row in _improved(name, run, finding)], str(improvements[0].reference)


def _against(pairs: Sequence[tuple[str, RunFolder]], index: int, seed: int) -> list[Row]:
    """Each run beside the reference, on the images that both have."""
    base = _hits(*pairs[index])
    judged = ReferenceHits.of(pairs[index][1])
    rows: list[Row] = []
    for other, (name, run) in enumerate(pairs):
        if other == index:
            continue
        run_hits = ReferenceHits.of(run)
        unlike = run_hits.unlike(judged)
        if unlike:
            raise InputError(
                f"indicators/figure5: the reference {pairs[index][0]} was judged by another "
                f"{', '.join(unlike)} than {name}; give runs with the same -p"
            )
        hits, other_hits = (
            household_hits.at(run_hits.thresholds[0]) for household_hits in (_hits(name, run), base)
        )
        for axes in _GROUPINGS:
            if axes <= set(hits.attributes) & set(base.attributes):
                finding = household_hit_improvement(
                    hits, reference=other_hits, by=sorted(axes), mode=run_hits.mode, seed=seed
                )
                rows += _improved(name, run, finding)
    if not rows:
        raise InputError("indicators/figure5: these runs have neither income buckets nor regions in common")
    return rows


def _improved(name: str, run: RunFolder, finding: Finding) -> list[Row]:
    if axes_of(finding.by) not in _GROUPINGS:
        return []
    shared = {
        **lead(name, run, finding.by),
        "part": "improvement",
        "measure": "relative improvement",
        "threshold": float(finding.params.get("threshold") or 0),  # type: ignore[arg-type]
    }
    return [{**shared, **numbers(part)} for part in finding.parts]


def _hits(name: str, run: RunFolder) -> HouseholdHits:
    table = run.tables.get("hits")
    if table is None:
        raise InputError(f"indicators/figure5 needs the table 'hits', which the run of {name} has not")
    return HouseholdHits.from_hits(table.with_columns(pl.col("sample").cast(pl.String)))


def _figure12(runs: Sequence[RunFolder]) -> Made:
    rows = _all(runs, "indicators/figure12")
    need_sizes(rows, PARAMETERS, "indicators/figure12")
    all_rows = with_recipe(rows, PARAMETERS)
    figures = against_size(all_rows, PARAMETERS, column="measure", words="household hit rate")
    return Made(frame(all_rows, (*COLUMNS, "recipe")), (), figures)


FIGURE4 = Artifact(
    "indicators/figure4",
    "What is recognised, by income and region of the household",
    _figure4,
    benchmarks=(GEOGRAPHY,),
)
FIGURE5 = Artifact(
    "indicators/figure5",
    "How much better than a reference model, by income and region of the household",
    _figure5,
    benchmarks=(GEOGRAPHY,),
    parameters={"reference": Parameter("", help="run to refer to: its number, model or folder's name")},
)
FIGURE12 = Artifact(
    "indicators/figure12",
    "What is recognised, by income and region, against the size of the model",
    _figure12,
    benchmarks=(GEOGRAPHY,),
)
