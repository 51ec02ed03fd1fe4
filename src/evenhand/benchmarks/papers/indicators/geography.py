"""Figures 4, 5 and 12 of the indicators' paper: what is recognised in whose homes, by model and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.indicators.household_references import ReferenceHits
from evenhand.benchmarks.papers.indicators import published
from evenhand.benchmarks.papers.indicators.rows import (
    COLUMNS,
    DOTS,
    GEOGRAPHY,
    PARAMETERS,
    against_size,
    by_grouping,
    findings_of,
    grouping,
    printed_rates,
    rates,
    stacked,
)
from evenhand.benchmarks.papers.rows import named
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.figure import Reference
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
_RATES = replace(
    DOTS, domain={"x": (0.0, 1.0)}, titles={**DOTS.titles, "value": "household hit rate"},
    interval="95% intervals by household", null="households exchanged between groups",
)  # fmt: skip
_IMPROVEMENTS = replace(
    DOTS, references=(Reference(0.0, "alike"),),
    titles={**DOTS.titles, "value": "hit rate, relative improvement"},
    interval="95% intervals, paired by household", null="both models exchanged in each household",
)  # fmt: skip

_hit_rates = partial(rates, threshold=0.0, measure=_MEASURE)
_improvements = partial(rates, threshold=0.0, part="improvement", measure="relative improvement")


def _all(runs: Sequence[RunFolder], artifact: str) -> pl.DataFrame:
    """Hit rates by income, then by region, of each run at its first threshold."""
    table = stacked(
        *(
            _hit_rates(name, run, finding)
            for name, run in named(runs)
            for axes in _GROUPINGS
            for finding in findings_of(run, _RATE, [axes])[:1]
        )
    )
    if table.is_empty():
        raise InputError(
            f"{artifact} needs hit rates by income_bucket or region, and none of these runs has them; type: "
            f"evenhand run {GEOGRAPHY} --model URI --data DIR -p by=income_bucket,region -o DIR"
        )
    return table


def _figure4(runs: Sequence[RunFolder]) -> Made:
    """Hit rates, beside the published ones where as many labels count."""
    ours = _all(runs, "indicators/figure4")
    alike = [name for name, run in named(runs) if ReferenceHits.of(run).top == published.TOP]
    cells = [
        (model, grouping([by]), _MEASURE, group, value)
        for (model, by), groups in published.HOUSEHOLD_RATES.items()
        for group, value in groups.items()
    ]
    paper = printed_rates(cells, 0.0, ours.filter(pl.col("model").is_in(alike), threshold=0))
    notes = () if paper.is_empty() else (_PRINTED,)
    return Made(stacked(paper, ours).select(COLUMNS), notes, by_grouping(_RATES, ours))


def _figure5(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """Improvements over a run, or over the reference that a single run has."""
    reference, pairs = setting.text("reference"), named(runs)
    if len(runs) > 1:
        name, base = pairs.pop(_reference_index(pairs, reference))
        table = _against(name, base, pairs, setting.seed)
    elif reference:
        raise InputError("indicators/figure5 has one run, so nothing to refer to; give two runs or more")
    else:
        name, table = _measured(*pairs[0])
    notes = (f"Reference: {name}. (hit rate - that of the reference) / that of the reference.",)
    return Made(table.select(COLUMNS), notes, by_grouping(_IMPROVEMENTS, table))


def _reference_index(pairs: Sequence[tuple[str, RunFolder]], reference: str) -> int:
    """Which run is the reference: the first, or by number, path, name, folder or model."""
    if not reference:
        return 0
    if reference.isdecimal() and 0 < int(reference) <= len(pairs):
        return int(reference) - 1
    path, word = Path(reference).expanduser().resolve(), reference.rstrip("/")
    paths, run_names, folders, models = zip(
        *(
            (folder and folder.resolve(), name, folder.name if folder else "", str(run.manifest.get("model")))
            for name, run in pairs
            for folder in [run.folder]
        ),
        strict=True,
    )
    for names, name in ((paths, path), (run_names, word), (folders, word), (models, word)):
        if names.count(name) == 1:
            return names.index(name)
    raise UnknownName("run to refer to", reference, [*run_names, *filter(None, folders)])


def _measured(name: str, run: RunFolder) -> tuple[str, pl.DataFrame]:
    """What a run with a reference of its own found, at its first threshold."""
    improvements = findings_of(run, _IMPROVEMENT)
    if not improvements:
        raise InputError(
            "indicators/figure5 needs two runs, the reference first, or one made with -p reference=RUN"
        )
    first = improvements[0]
    threshold = first.params.get("threshold")
    tables = [
        _improvements(name, run, finding)
        for finding in findings_of(run, _IMPROVEMENT, _GROUPINGS)
        if finding.params.get("threshold") == threshold
    ]
    return str(first.reference), stacked(*tables)


def _against(
    reference_name: str, reference: RunFolder, pairs: Sequence[tuple[str, RunFolder]], seed: int
) -> pl.DataFrame:
    """Each run beside the reference, on the images that both have."""
    base, judged = _hits(reference_name, reference), ReferenceHits.of(reference)
    tables = []
    for name, run in pairs:
        run_hits = ReferenceHits.of(run)
        unlike = run_hits.unlike(judged)
        if unlike:
            raise InputError(
                f"indicators/figure5: the reference {reference_name} was judged by another "
                f"{', '.join(unlike)} than {name}; give runs with the same -p"
            )
        threshold = run_hits.thresholds[0]
        hits, base_hits = _hits(name, run).at(threshold), base.at(threshold)
        for axes in _GROUPINGS:
            if axes <= {*hits.attributes} & {*base.attributes}:
                finding = household_hit_improvement(
                    hits, reference=base_hits, by=sorted(axes), mode=run_hits.mode, seed=seed
                )
                tables.append(_improvements(name, run, finding))
    table = stacked(*tables)
    if table.is_empty():
        raise InputError("indicators/figure5: these runs have neither income buckets nor regions in common")
    return table


def _hits(name: str, run: RunFolder) -> HouseholdHits:
    """What a run recognised, image by image."""
    if "hits" not in run.tables:
        raise InputError(f"indicators/figure5 needs the table 'hits', which the run of {name} has not")
    return HouseholdHits.from_hits(run.tables["hits"].with_columns(pl.col("sample").cast(pl.String)))


def _figure12(runs: Sequence[RunFolder]) -> Made:
    """Hit rates against the size of the model."""
    artifact = "indicators/figure12"
    return against_size(_all(runs, artifact), PARAMETERS, artifact, "household hit rate")


_figure = partial(Artifact, benchmarks=(GEOGRAPHY,))

FIGURE4 = _figure("indicators/figure4", "What is recognised, by income and region of the household", _figure4)
FIGURE5 = _figure(
    "indicators/figure5",
    "How much better than a reference model, by income and region of the household",
    _figure5,
    parameters={"reference": Parameter("", help="run to refer to: its number, model or folder's name")},
)
FIGURE12 = _figure(
    "indicators/figure12",
    "What is recognised, by income and region, against the size of the model",
    _figure12,
)
