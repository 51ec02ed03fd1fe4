"""The order of compared models: by every measure, over minimum expected values, and in replicates.

Runs that differ in the seed only stand as one, by their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.core.findings import Finding, low_and_high
from evenhand.core.random_streams import stream
from evenhand.metrics.catalogue import declared_metrics
from evenhand.metrics.classification import accuracy as group_accuracy
from evenhand.metrics.classification import effect_sizes as effect_size
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.metrics.differences.seeds import OverSeeds, SeedGroup
from evenhand.metrics.estimates import percentile_interval
from evenhand.stats.arrays import Floats

MEASURES: dict[str, Callable[..., Finding]] = {
    "skewsize": effect_size.skewsize,
    "cramers_v_mean": effect_size.cramers_v_mean,
    "cramers_v_median": effect_size.cramers_v_median,
    "cramers_v_max": effect_size.cramers_v_max,
    "accuracy": group_accuracy.accuracy,
    "worst_group_accuracy": group_accuracy.worst_group_accuracy,
    "accuracy_gap": group_accuracy.accuracy_gap,
}
RANKED = ("skewsize", "cramers_v_mean", "accuracy", "worst_group_accuracy", "accuracy_gap")
MEVS = (0.0, 2.0, 3.0, 4.0, 5.0, 6.0)  # Table 7, and none
_VALUES = {
    "by": pl.String, "model": pl.String, "metric": pl.String, "value": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "reason": pl.String, "n": pl.Float64, "rank": pl.Int64,
}  # fmt: skip
_MEV = {"by": pl.String, "mev": pl.Float64, "model": pl.String, "value": pl.Float64, "rank": pl.Int64}
_SHARES = {"by": pl.String, "metric": pl.String, "model": pl.String, "rank": pl.Int64, "share": pl.Float64}


@dataclass(frozen=True)
class RankingNotes:
    """One run under one measure, on the rows compared."""

    value: float | None  # None where it cannot be estimated
    low: float | None  # of its sampling interval
    high: float | None
    reason: str | None  # why there is no value
    n: float  # rows


def measured(compared: ComparedCounts, metric: str) -> list[RankingNotes]:
    """Every run under a measure of ``MEASURES``.

    Where models have other mixes of classes and groups, values and intervals are those in the common mix.
    """
    findings = [
        MEASURES[metric](single, by=compared.aligned.by, seed=compared.seed) for single in compared.singles
    ]
    return [_ranking_notes(compared, metric, model, finding) for model, finding in enumerate(findings)]


def ranking(
    compared: OverSeeds, groups: Sequence[SeedGroup], runs: dict[str, list[RankingNotes]]
) -> pl.DataFrame:
    """The measures of every model with their intervals, on the rows compared, and its rank; 1 is best.

    Several seeds stand by their mean, with an interval that counts them; ``runs`` has every ``measured``.
    """
    rows = []
    by = "+".join(compared.compared.aligned.by)
    for metric, every in runs.items():
        group_notes = [_of_group(compared, metric, group, every) for group in groups]
        ranks = _ranks([notes.value for notes in group_notes], metric)
        for group, notes, rank in zip(groups, group_notes, ranks, strict=True):
            rows.append(
                (by, group.name, metric, notes.value, notes.low, notes.high, notes.reason, notes.n, rank)
            )
    return pl.DataFrame(rows, schema=_VALUES, orient="row")


def _of_group(
    compared: OverSeeds, metric: str, group: SeedGroup, runs: Sequence[RankingNotes]
) -> RankingNotes:
    """A run as it is; several seeds by their mean."""
    run_notes = [runs[run] for run in group.places]
    if not group.several:
        return run_notes[0]
    lacking = [seed for seed, notes in zip(group.seeds, run_notes, strict=True) if notes.value is None]
    if lacking:
        return RankingNotes(None, None, None, f"no value for seed {', '.join(lacking)}", run_notes[0].n)
    estimate = compared.mean(metric, group)
    low, high = (estimate.low, estimate.high) if estimate.error > 0 else (None, None)
    return RankingNotes(estimate.value, low, high, None, run_notes[0].n)


def _ranking_notes(compared: ComparedCounts, metric: str, model: int, finding: Finding) -> RankingNotes:
    """Value and ends of a model's interval, in the common mix where mixes differ."""
    low, high = low_and_high(finding.interval)
    if not compared.standardised or finding.value is None:
        return RankingNotes(finding.value, low, high, finding.reason, finding.n)
    value = float(compared.observed[metric][model, 0])
    if metric.startswith("cramers_v"):
        factor = compared.factor(metric, model)
        low, high = (None if end is None else min(1.0, factor * end) for end in (low, high))
        return RankingNotes(value, low, high, finding.reason, finding.n)
    draws = compared.resampled[metric][model]
    method = "bootstrap within class and group"
    interval = percentile_interval(draws, method=method, seed=compared.seed)
    low, high = low_and_high(interval)
    return RankingNotes(value, low, high, finding.reason, finding.n)


def ranks_over_mev(compared: ComparedCounts, groups: Sequence[SeedGroup]) -> pl.DataFrame:
    """SkewSize of every model and its rank, with columns below each minimum expected value left out.

    Several seeds stand by their mean, which has no value where one of them has none.
    """
    rows = []
    by = compared.aligned.by
    for mev in MEVS:
        skewsizes = [
            effect_size.skewsize(single, by=by, mev=mev, inference="none").value
            for single in compared.singles
        ]
        values = [_mean([skewsizes[run] for run in group.places]) for group in groups]
        ranks = _ranks(values, "skewsize")
        for group, value, rank in zip(groups, values, ranks, strict=True):
            rows.append(("+".join(by), mev, group.name, value, rank))
    return pl.DataFrame(rows, schema=_MEV, orient="row")


def ranks_over_replicates(
    compared: ComparedCounts, groups: Sequence[SeedGroup], metrics: Sequence[str] = RANKED
) -> pl.DataFrame:
    """The share of bootstrap replicates in which each model has each rank, by measure.

    Rows are drawn again within class and group, with the answers of all models where samples are joined.
    Where a model has several seeds, these are drawn again too. Replicates in which a measure has no value
    for some model are left out. Models with equal values share their ranks: each has every one of them in
    equal part, so that shares of a rank add up to 1.
    """
    rows = []
    for metric in metrics:
        values = _drawn(compared, metric, groups) * _sign(metric)
        usable = values[:, ~np.isnan(values).any(axis=0)]
        if not usable.size:
            continue
        best = 1 + (usable[None, :, :] > usable[:, None, :]).sum(axis=1)
        equals = (usable[None, :, :] == usable[:, None, :]).sum(axis=1)  # itself too
        for group, first, sharing in zip(groups, best, equals, strict=True):
            for rank in range(1, len(groups) + 1):
                share = float((((first <= rank) & (rank < first + sharing)) / sharing).mean())
                rows.append(("+".join(compared.aligned.by), metric, group.name, rank, share))
    return pl.DataFrame(rows, schema=_SHARES, orient="row")


def _drawn(compared: ComparedCounts, metric: str, groups: Sequence[SeedGroup]) -> Floats:
    """Replicates of each model: a run's own, or the mean of seeds drawn again."""
    draws = compared.resampled[metric]
    means = []
    for group in groups:
        group_draws = draws[list(group.places)]
        if group.several:
            rng = stream(compared.seed, "seeds", "+".join(compared.aligned.by), metric, group.name)
            indices = rng.integers(0, len(group_draws), group_draws.shape)
            group_draws = np.take_along_axis(group_draws, indices, axis=0)
        means.append(group_draws.mean(axis=0))
    return np.stack(means)


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if len(numbers) == len(values) else None


def _sign(metric: str) -> float:
    return -1.0 if declared_metrics()[metric].card.direction == "lower is fairer" else 1.0


def _ranks(values: Sequence[float | None], metric: str) -> list[int | None]:
    """Rank of each value, 1 for the best; equal values share the best rank, missing ones have none."""
    sign = _sign(metric)
    scores = [sign * value for value in values if value is not None]
    return [None if v is None else 1 + sum(other > sign * v for other in scores) for v in values]
