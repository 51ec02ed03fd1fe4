"""The order of compared models: by every measure, over minimum expected values, and in replicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.results import Finding
from evenhand.metrics import effect_size, group_accuracy
from evenhand.metrics.building import percentile_interval
from evenhand.metrics.compared_models import Compared
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.metrics.prepared import LEVEL

Floats = npt.NDArray[np.float64]

MEASURES: dict[str, Callable[..., Finding]] = {
    "skewsize": effect_size.skewsize,
    "cramers_v_mean": effect_size.cramers_v_mean,
    "accuracy": group_accuracy.accuracy,
    "worst_group_accuracy": group_accuracy.worst_group_accuracy,
    "accuracy_gap": group_accuracy.accuracy_gap,
}
MEVS = (0.0, 2.0, 3.0, 4.0, 5.0, 6.0)  # Table 7, and none
_VALUES = {
    "by": pl.String, "model": pl.String, "metric": pl.String, "value": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "reason": pl.String, "n": pl.Float64, "rank": pl.Int64,
}  # fmt: skip
_MEV = {"by": pl.String, "mev": pl.Float64, "model": pl.String, "value": pl.Float64, "rank": pl.Int64}
_SHARES = {"by": pl.String, "metric": pl.String, "model": pl.String, "rank": pl.Int64, "share": pl.Float64}


def ranking(compared: Compared) -> pl.DataFrame:
    """Every measure of every model with its interval, on the rows compared, and its rank; 1 is best.

    Where models have other mixes of classes and groups, values and intervals are those in the common mix.
    """
    rows = []
    for metric, measure in MEASURES.items():
        found = [measure(one, by=compared.aligned.by, seed=compared.seed) for one in compared.singles]
        told = [_told(compared, metric, place, one) for place, one in enumerate(found)]
        ranks = _ranks([value for value, *_ in told], metric)
        for name, one, own, rank in zip(compared.names, found, told, ranks, strict=True):
            rows.append((one.grouping, name, metric, *own, one.reason, one.n, rank))
    return pl.DataFrame(rows, schema=_VALUES, orient="row")


def _told(
    compared: Compared, metric: str, place: int, found: Finding
) -> tuple[float | None, float | None, float | None]:
    """Value and ends of a model's interval, in the common mix where mixes differ."""
    ends = (found.interval.low, found.interval.high) if found.interval else (None, None)
    if not compared.standardised or found.value is None:
        return (found.value, *ends)
    value = float(compared.observed[metric][place, 0])
    if metric == "cramers_v_mean":
        factor = compared.factor(metric, place)
        low, high = (None if end is None else min(1.0, factor * end) for end in ends)
        return value, low, high
    draws = compared.resampled[metric][place]
    method = "bootstrap within class and group"
    interval = percentile_interval(draws, level=LEVEL, method=method, seed=compared.seed)
    return (value, interval.low, interval.high) if interval else (value, None, None)


def ranks_over_mev(compared: Compared) -> pl.DataFrame:
    """SkewSize of every model and its rank, with columns below each minimum expected value left out."""
    rows = []
    by = compared.aligned.by
    for mev in MEVS:
        found = [effect_size.skewsize(one, by=by, mev=mev, inference="none") for one in compared.singles]
        ranks = _ranks([one.value for one in found], "skewsize")
        for name, one, rank in zip(compared.names, found, ranks, strict=True):
            rows.append((one.grouping, mev, name, one.value, rank))
    return pl.DataFrame(rows, schema=_MEV, orient="row")


def ranks_over_replicates(compared: Compared) -> pl.DataFrame:
    """The share of bootstrap replicates in which each model has each rank, by measure.

    Rows are drawn again within class and group, with the answers of all models where samples are joined.
    Replicates in which a measure has no value for some model are left out. Models with equal values share
    their ranks: each has every one of them in equal part, so that shares of a rank add up to 1.
    """
    rows = []
    for metric in MEASURES:
        values = compared.resampled[metric] * _sign(metric)
        usable = values[:, ~np.isnan(values).any(axis=0)]
        if not usable.size:
            continue
        best = 1 + (usable[None, :, :] > usable[:, None, :]).sum(axis=1)
        equals = (usable[None, :, :] == usable[:, None, :]).sum(axis=1)  # itself too
        for name, first, sharing in zip(compared.names, best, equals, strict=True):
            for rank in range(1, len(compared.names) + 1):
                share = float((((first <= rank) & (rank < first + sharing)) / sharing).mean())
                rows.append(("+".join(compared.aligned.by), metric, name, rank, share))
    return pl.DataFrame(rows, schema=_SHARES, orient="row")


def _sign(metric: str) -> float:
    return -1.0 if DEFINITIONS[metric].direction == "lower is fairer" else 1.0


def _ranks(values: Sequence[float | None], metric: str) -> list[int | None]:
    """Rank of each value, 1 for the best; equal values share the best rank, missing ones have none."""
    sign = _sign(metric)
    known = [sign * value for value in values if value is not None]
    return [None if v is None else 1 + sum(other > sign * v for other in known) for v in values]
