"""What chance gives for rankings: the mean over queries against exchanged groups, and its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.reasons import explain
from evenhand.core.results import Interval, Null
from evenhand.metrics.building import agreeing
from evenhand.metrics.prepared import LEVEL
from evenhand.metrics.retrieval_asked import Asked, Figures, Statistic
from evenhand.stats.ranking_exchange import Changed, Exchange, Means, drawn_values
from evenhand.stats.ranking_null import Chance, null_of_mean
from evenhand.stats.rankings import RankedPools

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_KEPT = 8_000_000  # places x groups of drawn rankings that metrics of one grouping share


@dataclass(frozen=True, eq=False)
class Inference:
    """What exchanging groups says of a figure; empty where nothing can change places."""

    whole: Chance | None = None  # the null of the mean over queries
    chances: Mapping[int, Chance] = field(default_factory=dict)  # the null of each usable query
    fields: Mapping[str, Any] = field(default_factory=dict)  # null band, p and interval of the finding
    notes: tuple[str, ...] = ()  # what to know about them
    limits: Callable[[float], Interval | None] | None = None  # from a level to the interval


def infer(asked: Asked, figures: Figures, statistic: Statistic) -> Inference:
    """Compare a figure with what rankings give that know nothing of the groups.

    Args:
        asked: The bound metric.
        figures: Of every query; one at least has a value.
        statistic: The figure.
    """
    usable = np.flatnonzero(~np.isnan(figures.values))
    values, pools = figures.values[usable], asked.pools
    single = pools.cluster is None
    chances = _of_pools(asked, figures.pools, usable, statistic) if single else {}
    if single and not pools.shared:
        each = [chances[query] for query in usable.tolist()]
        means = Means.of(values, drawn_values(each, asked.stream("draws")), shared=False)
        whole, what = null_of_mean(each), "each pool, convolved over queries"
        return _inferred(asked, statistic, means, whole, chances, null_of(whole, asked.seed, what))
    exchange, ranked = _exchange(asked, usable)
    if exchange.fixed:
        return Inference(notes=(explain("one_cluster"),))
    drawn, changed = _drawn(asked, exchange, ranked, statistic)
    means = Means.of(values, drawn, shared=pools.shared, pools=changed)
    whole = _of_draws(means.draws)
    if not single:
        chances = {query: _of_draws(drawn[:, at]) for at, query in enumerate(usable.tolist())}
    unit = pools.cluster or "sample"
    method = f"groups exchanged between units ({unit}) of the pools, once for all queries"
    null = null_of(whole, asked.seed, "").model_copy(update={"method": method})
    return _inferred(asked, statistic, means, whole, chances, null)


def _inferred(
    asked: Asked, statistic: Statistic, means: Means, whole: Chance, chances: Mapping[int, Chance], null: Null
) -> Inference:
    if means.queries < 2:
        p_value = whole.p_value(means.value, statistic.side)
        note = "no interval: one query says nothing about others"
        return Inference(whole, chances, {"null": null, "p_value": p_value, "chance_at": null.mean}, (note,))
    p_value = means.p_value(statistic.side)

    def limits(level: float) -> Interval | None:
        ends = means.limits(statistic.side, level)
        if ends is None:
            return None
        low, high = np.clip(agreeing(ends, p_value, null.mean, level), *statistic.bounds)
        return Interval(
            low=low, high=high, level=level, method=_METHOD, replicates=means.draws.size, seed=asked.seed
        )

    fields = {"null": null, "p_value": p_value, "chance_at": null.mean, "interval": limits(LEVEL)}
    return Inference(whole, chances, fields, (), limits)


_METHOD = "studentised exchange of groups, over queries and units"


def _exchange(asked: Asked, usable: Ints) -> tuple[Exchange, RankedPools]:
    """The usable rankings with the sample at each place."""
    pools = asked.pools
    codes, scores = pools.codes[usable], pools.scores[usable]
    ties = "stable" if asked.paper else "expected"
    ranked = RankedPools.rank(codes, scores, len(pools.groups), ties)
    samples = RankedPools.rank(pools.samples[usable], scores, 1, "stable").codes
    return Exchange(samples.astype(np.int64), ranked, pools.labels, pools.units), ranked


def _drawn(
    asked: Asked, exchange: Exchange, ranked: RankedPools, statistic: Statistic
) -> tuple[Floats, Changed | None]:
    """Values of exchanged rankings, shape (B, R), and what is due to pools where these change."""
    rows = len(exchange.order)
    values, like, spread, moved = [], [], [], False
    for piece in exchange.draws(asked.stream("draws")):
        values.append(statistic.of(piece).reshape(-1, rows))
        moved |= bool((piece.pools.reshape(-1, *ranked.pools.shape) != ranked.pools).any())
        if moved:
            like.append(statistic.like_pool(piece.pools).reshape(-1, rows))
            spread.append(statistic.spread(piece.pools).reshape(-1, rows))
    if not moved:
        return np.concatenate(values), None
    return np.concatenate(values), Changed(
        np.concatenate(like), statistic.like_pool(ranked.pools),
        np.concatenate(spread), statistic.spread(ranked.pools),
    )  # fmt: skip


def _of_draws(values: Floats) -> Chance:
    return Chance.of(values, np.full(values.size, 1 / values.size), values.size)


def _of_pools(asked: Asked, pools: Ints, usable: Ints, statistic: Statistic) -> dict[int, Chance]:
    """What chance gives for each usable query; equal pools share one distribution."""
    known: dict[tuple[int, ...], Chance] = {}
    for pool in map(tuple, np.unique(pools[usable], axis=0).tolist()):
        known[pool] = statistic.null_of(np.array(pool), asked.stream("null", pool))
    return {query: known[tuple(pools[query].tolist())] for query in usable.tolist()}


def null_of(chance: Chance, seed: int, what: str) -> Null:
    """The band of a distribution of random rankings.

    Args:
        chance: The distribution.
        seed: Where it was drawn from, if it was.
        what: What is ranked, in words.
    """
    low, high = chance.band(LEVEL)
    return Null(
        mean=chance.mean,
        low=low,
        high=high,
        level=LEVEL,
        method=f"random rankings of {what}" if chance.drawn else f"all rankings of {what}",
        replicates=chance.drawn or None,
        seed=seed if chance.drawn else None,
    )
