"""Findings from rankings: the mean of a figure over queries against exchanged groups, and its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core.findings import Dropped, Finding, GroupSize, Interval, NewDetails, Null, Part
from evenhand.metrics.estimates import agreeing, as_finding, few_decide, number
from evenhand.metrics.prepared import LEVEL
from evenhand.metrics.retrieval.ranking_bound import BoundRankings, Figures, Statistic
from evenhand.stats.arrays import Floats, Integers
from evenhand.stats.exchange.relabelling import units_in
from evenhand.stats.multiplicity import adjust
from evenhand.stats.rankings.exchange import Means, RankingExchange, UnevenPools
from evenhand.stats.rankings.fairness import RankedPools
from evenhand.stats.rankings.null import NullDistribution, drawn_values, null_of_mean
from evenhand.text.reasons import explain

_FIXED = "no p and no band: all orders of these pools give the same value"
_SAME = 1e-12  # a spread that rounding leaves
_METHOD = "studentised exchange of groups, over queries and units"


def retrieval_finding(
    bound: BoundRankings, figures: Figures, params: Mapping[str, Any], statistic: Statistic
) -> Finding:
    """The mean over queries with all that belongs to it; ``params`` are those beside target and mode."""
    values = figures.values[~np.isnan(figures.values)]
    value = number(values.mean()) if values.size else None
    sigma = float(values.std(ddof=1)) if values.size > 1 else None
    details: NewDetails = {"sigma": sigma, "queries": float(values.size)}
    if figures.tied.any():
        details["tied_queries"] = float(figures.tied.sum())
    notes, inference = [*_notes(bound, figures), *figures.notes], FigureInference()
    if value is not None:
        notes += _few(bound, figures)
    if bound.inference == "auto" and value is not None:
        inference = _infer(bound, figures, statistic)
        notes += inference.notes
        if inference.whole is not None:
            details |= _against(inference.whole, value)
    pools, reasons = bound.pools, set(figures.lacking.values())
    sizes = pools.group_sizes.tolist()
    fields: dict[str, Any] = {
        "value": value, "n": sum(sizes), "notes": notes, "details": details,
        "groups": [GroupSize(key=pools.group_key(code), n=n) for code, n in enumerate(sizes)],
        "parts": _parts(bound, figures, inference.chances, statistic.side),
        "dropped": _dropped(bound, figures),
    }  # fmt: skip
    if value is None:
        fields["reason"] = reasons.pop() if len(reasons) == 1 else "no_usable_query"
    return as_finding(bound.name, pools.by, {**params, **bound.params}, **fields, **inference.fields)


def _against(chance: NullDistribution, value: float) -> NewDetails:
    return {"null_sd": number(chance.sd), "z": number(chance.z(value))}


def _parts(
    bound: BoundRankings, figures: Figures, chances: Mapping[int, NullDistribution], side: str
) -> list[Part]:
    values, sizes, lacking = figures.values, figures.pools.sum(axis=1), figures.lacking
    p = np.full(values.size, np.nan)
    for query, chance in chances.items():
        p[query] = chance.p_value(float(values[query]), side)
    distinct = {id(chance): chance for chance in chances.values()}
    nulls = {key: _null_of(chance, bound.seed, "this pool") for key, chance in distinct.items()}
    corrected, parts = adjust(p, "holm"), []
    for query, name in enumerate(bound.pools.queries):
        value = number(values[query])
        details = {key: column[query] for key, column in figures.details.items()}
        if figures.tied[query]:
            details["tied"] = "at the cut"
        fields: dict[str, Any] = {"value": value, "n": sizes[query], "reason": lacking.get(query)}
        if query in chances and value is not None:
            details |= _against(chances[query], value)
            fields |= {"p_value": p[query], "p_adjusted": number(corrected[query])}
            fields["null"] = nulls[id(chances[query])]
        parts.append(Part(kind=bound.pools.kind, key=name, details=details, **fields))
    return parts


def _dropped(bound: BoundRankings, figures: Figures) -> list[Dropped]:
    counts = dict(bound.pools.dropped)
    if bound.pools.emptied:
        counts["query without usable samples"] = bound.pools.emptied
    counts |= {f"query: {reason}": count for reason, count in Counter(figures.lacking.values()).items()}
    return [Dropped(reason=reason, count=count) for reason, count in counts.items()]


def _notes(bound: BoundRankings, figures: Figures) -> list[str]:
    notes, total = [], figures.values.size
    lost, tied = int((bound.pools.lost > 0).sum()), int(figures.tied.sum())
    if lost:
        notes.append(f"the pools of {lost} of {total} queries lost samples (see dropped)")
    if tied:
        notes.append(
            f"in {tied} of {total} queries tied scores leave the order open: the average over all orders"
        )
    return notes


def _few(bound: BoundRankings, figures: Figures) -> list[str]:
    """A note on groups of few units that decide the value."""
    pools = bound.pools
    sizes = units_in(pools.units, pools.labels, len(pools.groups)).tolist()
    group_sizes = ((bound.group_names[code], sizes[code]) for code in figures.deciding)
    return few_decide(group_sizes, pools.cluster or "samples")


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


@dataclass(frozen=True, eq=False)
class FigureInference:
    """What exchanging groups says of a figure; empty where nothing can change places."""

    whole: NullDistribution | None = None  # the null of the mean over queries
    chances: Mapping[int, NullDistribution] = field(default_factory=dict)  # the null of each usable query
    fields: Mapping[str, Any] = field(default_factory=dict)  # null band, p and interval of the finding
    notes: tuple[str, ...] = ()  # what to know about them


def _infer(bound: BoundRankings, figures: Figures, statistic: Statistic) -> FigureInference:
    """Compare a figure, which one query at least has, with rankings that know nothing of the groups."""
    usable = np.flatnonzero(~np.isnan(figures.values))
    values, pools = figures.values[usable], bound.pools
    single = pools.cluster is None
    chances = _of_pools(bound, figures.pools, usable, statistic) if single else {}
    if single and not pools.shared:
        pool_nulls = [chances[query] for query in usable.tolist()]
        means = Means.of(values, drawn_values(pool_nulls, bound.stream("draws")), shared=False)
        mean_null, what = null_of_mean(pool_nulls), "each pool, convolved over queries"
        return _inferred(bound, statistic, means, mean_null, chances, _null_of(mean_null, bound.seed, what))
    ranked = RankedPools.rank(
        pools.codes[usable], pools.scores[usable], len(pools.groups), "stable" if bound.paper else "expected"
    )
    samples = RankedPools.rank(pools.samples[usable], pools.scores[usable], 1, "stable").codes
    exchange = RankingExchange(samples.astype(np.int64), ranked, pools.labels, pools.units, sets=pools.sets)
    if exchange.fixed:
        return FigureInference(notes=(explain("one_cluster"),))
    query_draws, changed = _drawn(bound, exchange, statistic)
    means = Means.of(values, query_draws, shared=pools.shared, pools=changed)
    mean_null = _of_draws(means.draws)
    if not single:
        chances = {query: _of_draws(query_draws[:, at]) for at, query in enumerate(usable.tolist())}
    unit = pools.cluster or "sample"
    method = f"groups exchanged between units ({unit}) of the pools, once for all queries"
    null = _null_of(mean_null, bound.seed, "").model_copy(update={"method": method})
    return _inferred(bound, statistic, means, mean_null, chances, null)


def _inferred(
    bound: BoundRankings,
    statistic: Statistic,
    means: Means,
    mean_null: NullDistribution,
    chances: Mapping[int, NullDistribution],
    null: Null,
) -> FigureInference:
    if mean_null.sd <= _SAME:
        return FigureInference(fields={"chance_at": null.mean}, notes=(_FIXED,))
    fields: dict[str, Any] = {"null": null, "chance_at": null.mean}
    if means.queries < 2:
        fields["p_value"] = mean_null.p_value(means.value, statistic.side)
        return FigureInference(
            mean_null, chances, fields, ("no interval: one query says nothing about others",)
        )
    p_value = means.p_value(statistic.side)

    def limits(level: float) -> Interval | None:
        ends = means.limits(statistic.side, level)
        if ends is None:
            return None
        low, high = np.clip(agreeing(ends, p_value, null.mean, level), *statistic.bounds)
        return Interval(
            low=low, high=high, level=level, method=_METHOD, replicates=means.draws.size, seed=bound.seed
        )

    fields |= {"p_value": p_value, "interval": limits(LEVEL), "limits": limits}
    return FigureInference(mean_null, chances, fields)


def _drawn(
    bound: BoundRankings, exchange: RankingExchange, statistic: Statistic
) -> tuple[Floats, UnevenPools | None]:
    """Values of exchanged rankings, shape (B, R), and what is due to pools where these change."""
    rows, ranked = len(exchange.order), exchange.ranked
    values, like, spread, moved = [], [], [], False
    for piece in exchange.draws(bound.stream("draws")):
        values.append(statistic.of(piece).reshape(-1, rows))
        moved |= bool((piece.pools.reshape(-1, *ranked.pools.shape) != ranked.pools).any())
        if moved:
            like.append(statistic.like_pool(piece.pools).reshape(-1, rows))
            spread.append(statistic.spread(piece.pools).reshape(-1, rows))
    if not moved:
        return np.concatenate(values), None
    return np.concatenate(values), UnevenPools(
        np.concatenate(like), statistic.like_pool(ranked.pools),
        np.concatenate(spread), statistic.spread(ranked.pools),
    )  # fmt: skip


def _of_draws(values: Floats) -> NullDistribution:
    return NullDistribution.of(values, np.full(values.size, 1 / values.size), values.size)


def _of_pools(
    bound: BoundRankings, pools: Integers, usable: Integers, statistic: Statistic
) -> dict[int, NullDistribution]:
    """What chance gives for each usable query; equal pools share one distribution."""
    null_by_pool: dict[tuple[int, ...], NullDistribution] = {}
    for pool in map(tuple, np.unique(pools[usable], axis=0).tolist()):
        null_by_pool[pool] = statistic.null_of(np.array(pool), bound.stream("null", pool))
    return {query: null_by_pool[tuple(pools[query].tolist())] for query in usable.tolist()}


def _null_of(chance: NullDistribution, seed: int, what: str) -> Null:
    """The band of a distribution of random rankings of what is named."""
    low, high = chance.band(LEVEL)
    sampling = {"replicates": chance.drawn, "seed": seed} if chance.drawn else {}
    method = f"random rankings of {what}" if chance.drawn else f"all rankings of {what}"
    return Null(mean=chance.mean, low=low, high=high, level=LEVEL, method=method, **sampling)
