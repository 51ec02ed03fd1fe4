"""Findings from rankings: the mean of a figure over queries against exchanged groups, and its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.core.findings import Dropped, Finding, NewDetails, Null, Part
from evenhand.display.text.reasons import explain
from evenhand.metrics.estimates import (
    LEVEL,
    Fields,
    agreeing,
    as_finding,
    at_levels,
    few_decide,
    losses,
    number,
    part,
    sizes_of,
)
from evenhand.metrics.named_groups import corrected
from evenhand.metrics.retrieval.ranking_bound import BoundRankings, Figures, Statistic
from evenhand.stats.arrays import Floats, Pair
from evenhand.stats.exchange.relabelling import units_in
from evenhand.stats.rankings.exchange import Means, RankingExchange, UnevenPools
from evenhand.stats.rankings.fairness import RankedPools
from evenhand.stats.rankings.null import NullDistribution, drawn_values, null_of_mean

_FIXED = "no p and no band: all orders of these pools give the same value"
_SAME = 1e-12  # a spread that rounding leaves
_METHOD = "studentised exchange of groups, over queries and units"


def retrieval_finding(
    bound: BoundRankings, figures: Figures, params: Fields, statistic: Statistic
) -> Finding:
    """The mean over queries with all that belongs to it; ``params`` are those beside target and mode."""
    values, pools = figures.values[~np.isnan(figures.values)], bound.pools
    value = number(values.mean()) if values.size else None
    sigma = float(values.std(ddof=1)) if values.size > 1 else None
    details: NewDetails = {"sigma": sigma, "queries": values.size}
    if figures.tied.any():
        details["tied_queries"] = figures.tied.sum()
    notes = [*_notes(bound, figures), *figures.notes]
    fields, chances, sizes = Fields(), dict[int, NullDistribution](), pools.group_sizes.tolist()
    if value is None:
        reasons = set(figures.lacking.values())
        fields["reason"] = reasons.pop() if len(reasons) == 1 else "no_usable_query"
    else:
        units = units_in(pools.units, pools.labels, len(pools.groups)).tolist()
        few = ((bound.group_names[code], units[code]) for code in figures.deciding)
        notes += few_decide(few, pools.cluster or "samples")
        if bound.inference == "auto":
            fields, chances = _infer(bound, figures, statistic)
    return as_finding(
        bound.name, pools.by, {**params, **bound.params}, value=value, n=sum(sizes),
        notes=notes + fields.pop("notes", []), details=details | fields.pop("details", {}),
        groups=sizes_of(map(pools.group_key, range(len(sizes))), sizes),
        parts=_parts(bound, figures, chances, statistic.side), dropped=_dropped(bound, figures), **fields,
    )  # fmt: skip


def _against(chance: NullDistribution, value: float) -> NewDetails:
    return {"null_sd": chance.sd, "z": chance.z(value)}


def _parts(
    bound: BoundRankings, figures: Figures, chances: Mapping[int, NullDistribution], side: str
) -> list[Part]:
    sizes, lacking, parts = figures.pools.sum(axis=1), figures.lacking, list[Part]()
    distinct = {id(chance): chance for chance in chances.values()}
    nulls = {key: _null_of(chance, bound.seed, "this pool") for key, chance in distinct.items()}
    for query, (name, value) in enumerate(zip(bound.pools.queries, figures.values.tolist(), strict=True)):
        details = {key: column[query] for key, column in figures.details.items()}
        if figures.tied[query]:
            details["tied"] = "at the cut"
        fields: Fields = {"n": sizes[query], "reason": lacking.get(query)}
        if query in chances:
            details |= _against(chances[query], value)
            fields |= {"p_value": chances[query].p_value(value, side), "null": nulls[id(chances[query])]}
        parts.append(part(bound.pools.kind, name, number(value), details=details, **fields))
    return corrected(parts)


def _dropped(bound: BoundRankings, figures: Figures) -> list[Dropped]:
    counts = dict(bound.pools.dropped)
    if bound.pools.emptied:
        counts["query without usable samples"] = bound.pools.emptied
    counts |= {f"query: {reason}": count for reason, count in Counter(figures.lacking.values()).items()}
    return losses(counts.items())


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


def _infer(
    bound: BoundRankings, figures: Figures, statistic: Statistic
) -> tuple[Fields, dict[int, NullDistribution]]:
    """Compare a figure, which one query at least has, with rankings that know nothing of the groups.

    The fields of the finding, and the null of each usable query; empty where nothing can change places.
    """
    usable = np.flatnonzero(~np.isnan(figures.values))
    values, pools = figures.values[usable], bound.pools
    single, chances = pools.cluster is None, dict[int, NullDistribution]()
    if single:  # equal pools share one null
        pool_of = {query: tuple(figures.pools[query].tolist()) for query in usable.tolist()}
        distinct = dict.fromkeys(pool_of.values())
        nulls = {pool: statistic.null_of(np.array(pool), bound.stream("null", pool)) for pool in distinct}
        chances = {query: nulls[pool] for query, pool in pool_of.items()}
    if single and not pools.shared:
        pool_nulls = [chances[query] for query in usable.tolist()]
        means = Means.of(values, drawn_values(pool_nulls, bound.stream("draws")), shared=False)
        mean_null, what = null_of_mean(pool_nulls), "each pool, convolved over queries"
        null = _null_of(mean_null, bound.seed, what)
    else:
        ties = "stable" if bound.paper else "expected"
        ranked = RankedPools.rank(pools.codes[usable], pools.scores[usable], len(pools.groups), ties)
        samples = RankedPools.rank(pools.samples[usable], pools.scores[usable], 1, "stable").codes
        exchange = RankingExchange(
            samples.astype(np.int64), ranked, pools.labels, pools.units, sets=pools.sets
        )
        if exchange.fixed:
            return {"notes": [explain("one_cluster")]}, {}
        query_draws, changed = _drawn(bound, exchange, statistic)
        means = Means.of(values, query_draws, shared=pools.shared, pools=changed)
        mean_null = _of_draws(means.draws)
        if not single:
            chances = {query: _of_draws(query_draws[:, at]) for at, query in enumerate(usable.tolist())}
        unit = pools.cluster or "sample"
        method = f"groups exchanged between units ({unit}) of the pools, once for all queries"
        null = _null_of(mean_null, bound.seed, "").model_copy(update={"method": method})
    if mean_null.sd <= _SAME:
        return {"chance_at": null.mean, "notes": [_FIXED]}, {}
    fields = _tested(bound, statistic, means, mean_null, null)
    return fields | {"details": _against(mean_null, float(values.mean()))}, chances


def _tested(
    bound: BoundRankings, statistic: Statistic, means: Means, mean_null: NullDistribution, null: Null
) -> Fields:
    """Null band, p and interval of the mean over queries."""
    fields: Fields = {"null": null, "chance_at": null.mean}
    if means.queries < 2:
        fields["p_value"] = mean_null.p_value(means.value, statistic.side)
        return fields | {"notes": ["no interval: one query says nothing about others"]}
    p_value = means.p_value(statistic.side)

    def limits(level: float) -> Pair:
        ends = means.limits(statistic.side, level) or (np.nan, np.nan)
        low, high = np.clip(agreeing(ends, p_value, null.mean, level), *statistic.bounds)
        return float(low), float(high)

    sampling = {"replicates": means.draws.size, "seed": bound.seed}
    return fields | {"p_value": p_value, "limits": at_levels(limits, _METHOD, **sampling)}


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


def _null_of(chance: NullDistribution, seed: int, what: str) -> Null:
    """The band of a distribution of random rankings of what is named."""
    low, high = chance.band(LEVEL)
    sampling = {"replicates": chance.drawn, "seed": seed} if chance.drawn else {}
    method = f"random rankings of {what}" if chance.drawn else f"all rankings of {what}"
    return Null(mean=chance.mean, low=low, high=high, level=LEVEL, method=method, **sampling)
