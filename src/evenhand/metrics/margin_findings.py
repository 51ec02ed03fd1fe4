"""Findings from the margins of truth x group x prediction: value, bootstrap interval, null band, p."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.results import Finding, Interval, Null, Part
from evenhand.metrics.building import build, hull_interval, null_band, number, resampled_p
from evenhand.metrics.prepared import LEVEL, Prepared, check_common
from evenhand.stats.confusion import Confusion, summaries
from evenhand.stats.effect_intervals import wilson_interval
from evenhand.stats.exchanged_hits import hits_by_exchange

Floats = npt.NDArray[np.float64]

_Z_POWER = 0.8416212335729143  # the .8 quantile of the normal distribution
_ALPHA = 0.05
_FLAT = (
    "the interval has no width because no resample of these rows differs; cases rarer than one row of a "
    "group cannot be excluded"
)


def observed(prepared: Prepared, mode: str) -> Confusion:
    """The margins; in paper mode a difference over a single group is 0, as the formulas give it."""
    return replace(prepared.confusion, fewest=1) if mode == "paper" else prepared.confusion


def margin_finding(
    prepared: Prepared,
    name: str,
    key: str,
    *,
    side: str,
    mode: str,
    inference: str,
    params: dict[str, Any] | None = None,
    parts: list[Part] | None = None,
) -> Finding:
    """A scalar of ``summaries`` as a Finding.

    Args:
        prepared: The bound evidence.
        name: The metric's name.
        key: Which scalar.
        side: Which side of the null is unfair: ``high`` or ``low``.
        mode: ``default`` or ``paper``.
        inference: ``auto`` or ``none``.
        params: Parameters that differ from their default.
        parts: Parts of the finding.
    """
    check_common(mode, inference)
    memo = prepared.memo.setdefault(("margins", mode), {})
    if not memo:
        memo.update(summaries(observed(prepared, mode)))
    value = number(float(memo[key]))
    fields: dict[str, Any] = {}
    if value is None:
        fields["reason"] = "single_group" if len(prepared.grouped.groups) < 2 else "undefined"
    elif inference == "auto":
        fields = _inference(prepared, key, value, side)
    # the differences between modes show on single groups only, so equal values carry one name
    extra = {"mode": "paper"} if mode == "paper" else {}
    return build(prepared.grouped, name, {**(params or {}), **extra}, value, parts=parts or [], **fields)


def _inference(prepared: Prepared, key: str, value: float, side: str) -> dict[str, Any]:
    if not prepared.margin_replicates:
        return {"notes": ["no interval: too many labels to resample a rate for each of them"]}
    seed, how = prepared.seed, "cells" if prepared.cellwise else "margins"
    draws, null = prepared.bootstrap[key], prepared.null[key]
    method = f"stratified bootstrap of {how} within class and group, percentile and basic together"
    interval = hull_interval(draws, value, level=LEVEL, method=method, seed=seed)
    flat = interval is not None and interval.low == interval.high
    return {
        "interval": interval,
        "notes": [_FLAT] if flat else [],
        "null": null_band(null, level=LEVEL, method=f"groups permuted within class ({how})", seed=seed),
        "p_value": resampled_p(null, value, side) if len(prepared.grouped.groups) > 1 else None,
        "mde": _detectable(draws, null, len(prepared.grouped.groups)) if side == "high" else None,
    }


def _detectable(draws: Floats, null: Floats, groups: int) -> float | None:
    """The value that would pass the null's 95 % point with 80 % power.

    The spread is the bootstrap's, or with two groups that of the signed difference under the null, whose
    absolute value has only sqrt(1 - 2/pi) of it.
    """
    if np.isnan(null).all() or np.isnan(draws).all():
        return None
    spread = np.nanstd(draws)
    if groups == 2:
        spread = max(spread, np.nanstd(null) / np.sqrt(1 - 2 / np.pi))
    return number(float(np.nanquantile(null, 1 - _ALPHA) + _Z_POWER * spread))


def accuracy_parts(prepared: Prepared, inference: str) -> list[Part]:
    """Accuracy of every group, with Wilson's interval and what groups exchanged within class would give."""
    confusion, grouped = prepared.confusion, prepared.grouped
    chance = _by_exchange(confusion) if inference == "auto" and len(grouped.groups) > 1 else None
    hits, sizes = confusion.correct.sum(axis=1), confusion.group_size
    low, high = wilson_interval(hits, sizes, LEVEL)
    return [
        Part(
            kind="group",
            key=grouped.group_key(z),
            value=number(hits[z] / sizes[z]),
            interval=wilson(low[z], high[z]) if inference == "auto" else None,
            null=chance[z] if chance else None,
            n=sizes[z],
        )
        for z in range(len(grouped.groups))
        if grouped.by
    ]


def _by_exchange(confusion: Confusion) -> list[Null]:
    """The null band of each group's accuracy."""
    bands = hits_by_exchange(confusion.correct, confusion.support, LEVEL)
    mean, low, high = (ends / confusion.group_size for ends in bands)
    method = "groups exchanged within class, hypergeometric moments, normal"
    return [
        Null(mean=mean[z], low=low[z], high=high[z], level=LEVEL, method=method) for z in range(mean.size)
    ]


def wilson(low: float, high: float) -> Interval:
    """Wilson's interval as a result."""
    return Interval(low=low, high=high, level=LEVEL, method="Wilson score")
