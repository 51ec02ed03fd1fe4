"""Findings from rankings: the mean of a figure over queries, its parts, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.core.results import Dropped, Finding, GroupSize, Null, Part
from evenhand.metrics.building import as_finding, number
from evenhand.metrics.retrieval_asked import Asked, Figures, Statistic
from evenhand.metrics.retrieval_inference import Inference, infer, null_of
from evenhand.metrics.small_groups import few_decide
from evenhand.stats.multiplicity import adjust
from evenhand.stats.ranking_null import Chance
from evenhand.stats.relabelling import units_in


def retrieval_finding(
    asked: Asked, figures: Figures, params: Mapping[str, Any], statistic: Statistic
) -> Finding:
    """The mean over queries with all that belongs to it.

    Args:
        asked: The bound metric.
        figures: A figure of every query.
        params: Parameters beside target and mode.
        statistic: The figure.
    """
    usable = np.flatnonzero(~np.isnan(figures.values))
    values = figures.values[usable]
    value = number(values.mean()) if values.size else None
    sigma = float(values.std(ddof=1)) if values.size > 1 else None
    details: dict[str, float | str | None] = {"sigma": sigma, "queries": float(values.size)}
    if figures.tied.any():
        details["tied_queries"] = float(figures.tied.sum())
    notes = [*_notes(asked, figures), *figures.notes]
    if value is not None:
        notes += _few(asked, figures)
    inference = Inference()
    if asked.inference == "auto" and value is not None:
        inference = infer(asked, figures, statistic)
        notes += inference.notes
        if inference.whole is not None:
            details |= _against(inference.whole, value)
    pools = asked.pools
    sizes = pools.group_sizes.tolist()
    return as_finding(
        asked.name,
        pools.by,
        {**params, **asked.params},
        n=sum(sizes),
        groups=[GroupSize(key=pools.group_key(code), n=n) for code, n in enumerate(sizes)],
        value=value,
        reason=_overall_reason(figures) if value is None else None,
        parts=_parts(asked, figures, inference.chances, statistic.side),
        dropped=_dropped(asked, figures),
        notes=notes,
        details=details,
        limits=inference.limits,
        **inference.fields,
    )


def _against(chance: Chance, value: float) -> dict[str, float | str | None]:
    return {"null_sd": number(chance.sd), "z": number(chance.z(value))}


def _parts(asked: Asked, figures: Figures, chances: Mapping[int, Chance], side: str) -> list[Part]:
    values, sizes = figures.values, figures.pools.sum(axis=1)
    p = np.full(values.size, np.nan)
    nulls: dict[int, Null] = {}
    for query, chance in chances.items():
        p[query] = chance.p_value(float(values[query]), side)
        if id(chance) not in nulls:
            nulls[id(chance)] = null_of(chance, asked.seed, "this pool")
    corrected = adjust(p, "holm")
    parts = []
    for query, name in enumerate(asked.pools.queries):
        value = number(values[query])
        details = {key: column[query] for key, column in figures.details.items()}
        if figures.tied[query]:
            details["tied"] = "at the cut"
        fields: dict[str, Any] = {}
        if query in chances and value is not None:
            chance = chances[query]
            details |= _against(chance, value)
            fields = {"null": nulls[id(chance)], "p_value": p[query], "p_adjusted": number(corrected[query])}
        parts.append(
            Part(
                kind=asked.pools.kind,
                key=name,
                value=value,
                n=sizes[query],
                reason=figures.reasons.get(query, "undefined") if value is None else None,
                details=details,
                **fields,
            )
        )
    return parts


def _overall_reason(figures: Figures) -> str:
    found = {figures.reasons.get(query, "undefined") for query in range(figures.values.size)}
    return found.pop() if len(found) == 1 else "no_usable_query"


def _dropped(asked: Asked, figures: Figures) -> list[Dropped]:
    dropped = [Dropped(reason=reason, count=count) for reason, count in asked.pools.dropped]
    if asked.pools.emptied:
        dropped.append(Dropped(reason="query without usable samples", count=asked.pools.emptied))
    reasons = [
        figures.reasons.get(query, "undefined") for query in np.flatnonzero(np.isnan(figures.values)).tolist()
    ]
    return dropped + [
        Dropped(reason=f"query: {reason}", count=reasons.count(reason)) for reason in dict.fromkeys(reasons)
    ]


def _notes(asked: Asked, figures: Figures) -> list[str]:
    notes, total = [], figures.values.size
    lost = int((asked.pools.lost > 0).sum())
    if lost:
        notes.append(f"the pools of {lost} of {total} queries lost samples (see dropped)")
    tied = int(figures.tied.sum())
    if tied:
        notes.append(
            f"in {tied} of {total} queries tied scores leave the order open: the average over all orders"
        )
    return notes


def _few(asked: Asked, figures: Figures) -> list[str]:
    """A note on groups of few units that decide the value."""
    pools, units = asked.pools, asked.pools.cluster or "samples"
    sizes = units_in(pools.units, pools.labels, len(pools.groups)).tolist()
    return few_decide([(asked.group_names[code], sizes[code]) for code in figures.deciding], units)


def absent_note(absent: Sequence[object], k: int, *, paper: bool) -> list[str]:
    """What was done about groups that are not among the first k."""
    count = sum(name is not None for name in absent)
    if not count:
        return []
    how = "counts as one sample there, so that it may even win" if paper else f"is given as -ln({k} + 1)"
    what = "such a group" if paper else "its skew, minus infinity,"
    return [
        f"in {count} of {len(absent)} queries a group of the pool is not among the first {k}: {what} {how}"
    ]
