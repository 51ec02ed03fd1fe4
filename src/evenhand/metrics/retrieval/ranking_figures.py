"""Figures of the tops of rankings, and which of them are undefined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from evenhand.core.errors import ParameterError
from evenhand.core.findings import Finding
from evenhand.evidence.predictions.columns.annotated import check_k
from evenhand.metrics.named_groups import check_pair
from evenhand.metrics.retrieval.ranking_bound import (
    BoundRankings,
    Details,
    Figures,
    Statistic,
    Values,
    top_figures,
)
from evenhand.metrics.retrieval.ranking_estimation import absent_note, retrieval_finding
from evenhand.stats.arrays import Floats, Integers, Mask, Pair, Rng, sum_by
from evenhand.stats.rankings import fairness as rankings
from evenhand.stats.rankings import null as ranking_null
from evenhand.stats.rankings.fairness import RankedPools, Tops
from evenhand.stats.rankings.null import NullDistribution

WIDE = (-np.inf, np.inf)
_EXTREME = {"high": "group_of_max", "low": "group_of_min"}


def difference_finding(bound: BoundRankings, k: int, plus: int, minus: int, names: list[str]) -> Finding:
    """Bias of every query, and what chance makes of it."""
    neither = 0.0 if bound.paper else np.nan

    def values_of(counts: Integers, pools: Integers, k: int) -> Floats:
        values = rankings.difference(_column(counts, plus), _column(counts, minus), neither=neither)
        has_both = (_column(pools, plus) > 0) & (_column(pools, minus) > 0)
        return values if bound.paper else np.where(has_both, values, np.nan)

    def view(tops: Tops, pools: Integers) -> Details:
        pairs = zip(names, (plus, minus), strict=False)
        return {f"top_{name}": tops.mean(_column(tops.counts, code)).tolist() for name, code in pairs}

    def spread(pools: Integers) -> Floats:  # of a place that is +1 or -1
        apart = rankings.difference(_column(pools, plus), _column(pools, minus), neither=0.0)
        return 1 - apart**2

    figures = replace(top_figures(bound, k, values_of, view), deciding=tuple({plus, minus} - {-1}))
    lacking = (_column(figures.pools, plus) == 0) | (_column(figures.pools, minus) == 0)
    mark_undefined(figures, lacking & np.isnan(figures.values), "single_group")
    statistic = top_statistic(bound, k, values_of, "both", (-1, 1), spread)
    return retrieval_finding(bound, figures, {"k": k, "groups": names}, statistic)


def extreme_skew(
    bound: BoundRankings, k: int, kernel: Callable[[Integers, Integers, Floats, int, str], Floats], side: str
) -> Finding:
    """A finding of the largest or smallest skew of a group."""
    check_k(k)

    def values_of(counts: Integers, pools: Integers, k: int) -> Floats:
        return kernel(counts, pools, bound.targets(pools), k, skew_of_absent(bound))

    figures = skew_figures(bound, k, values_of, range(len(bound.pools.groups)), side)
    extremes = [str(text).split(", ") for text in figures.details[_EXTREME[side]]]
    often = [sum(name in names for names in extremes) for name in bound.group_names]
    figures = replace(figures, deciding=(int(np.argmax(often)),) if max(often) else ())
    exact = isinstance(bound.target, str) and bound.target == "pool" and not bound.paper
    bounds = ((0, np.inf) if side == "high" else (-np.inf, 0)) if exact else WIDE
    return retrieval_finding(bound, figures, {"k": k}, top_statistic(bound, k, values_of, side, bounds))


def skew_figures(
    bound: BoundRankings, k: int, values_of: Values, watched: Sequence[int], side: str | None = None
) -> Figures:
    """Skews with the groups that are absent, and those that have the largest or smallest skew."""
    names = np.array(bound.group_names, dtype=object)

    def view(tops: Tops, pools: Integers) -> Details:
        gone = np.zeros(pools.shape, dtype=bool)
        for code in watched:
            missing = (tops.counts[:, code] == 0) & (pools[tops.owner, code] > 0)
            gone[:, code] = sum_by(tops.owner, missing, tops.alike.size)[tops.alike] > 0
        gone[pools.sum(axis=1) < k] = False
        masks = {"absent": gone}
        if side is not None:
            masks[_EXTREME[side]] = _extreme_groups(bound, tops, pools, k, side)
        return {
            what: [", ".join(names[row]) if row.any() else None for row in flags]
            for what, flags in masks.items()
        }

    figures = top_figures(bound, k, values_of, view)
    needs_two_groups(bound, figures)
    if bound.paper or side != "high":  # the largest skew is always that of a group that is there
        figures.notes.extend(absent_note(figures.details["absent"], k, paper=bound.paper))
    return figures


def _extreme_groups(bound: BoundRankings, tops: Tops, pools: Integers, k: int, side: str) -> Mask:
    """Which groups most often have the largest (smallest) skew of each ranking, shape (R, G)."""
    skew = rankings.skews(
        tops.counts, pools[tops.owner], bound.targets(pools)[tops.owner], k, skew_of_absent(bound)
    )
    signed = np.where(np.isnan(skew), -np.inf, skew if side == "high" else -skew)
    winner = signed >= signed.max(axis=1, keepdims=True) - 1e-12
    often = np.stack([tops.mean(column.astype(np.float64)) for column in winner.T], axis=1)
    enough = pools.sum(axis=1, keepdims=True) >= k
    return np.asarray((often >= often.max(axis=1, keepdims=True) - 1e-12) & (pools > 0) & enough)


def top_statistic(
    bound: BoundRankings, k: int, values_of: Values, side: str, bounds: Pair,
    spread: Callable[[Integers], Floats] | None = None,
) -> Statistic:  # fmt: skip
    """A figure of the first k places, as chance needs it."""

    def of(ranked: RankedPools) -> Floats:
        outcomes = rankings.tops(ranked, k, bound.stream("ties", k, "drawn"))
        return outcomes.mean(values_of(outcomes.counts, ranked.pools[outcomes.owner], k))

    def null_of(pool: Integers, rng: Rng) -> NullDistribution:
        return ranking_null.null_of_top(
            pool.tolist(), k, lambda counts: values_of(counts, np.broadcast_to(pool, counts.shape), k), rng
        )

    def like_pool(pools: Integers) -> Floats:
        sizes, values = pools.sum(axis=1), np.empty(len(pools))
        for size in np.unique(sizes).tolist():
            values[sizes == size] = values_of(pools[sizes == size], pools[sizes == size], size)
        return values

    return Statistic(of, null_of, like_pool, spread or constant_variance, side, bounds)


def constant_variance(pools: Integers) -> Floats:
    """A variance that no pool changes in a way that is known."""
    return np.ones(len(pools))


def skew_of_absent(bound: BoundRankings) -> str:
    """What the skew of an absent group is taken as."""
    return "smoothed" if bound.paper else "floor"


def two_groups(bound: BoundRankings, groups: Sequence[str] | None) -> tuple[int, int, list[str]]:
    """Codes of the group that counts +1 and of the one that counts -1, -1 for one that has no sample."""
    names = bound.group_names
    if groups is None:
        if len(names) > 2:
            raise ParameterError(
                f"there are {len(names)} groups; name two of {names} with groups=[plus, minus]"
            )
        return 0, 1 if len(names) == 2 else -1, names
    check_pair(groups, names, "plus, minus")
    if len(names) == 1 and names[0] in groups:
        return (0, -1, list(groups)) if names[0] == groups[0] else (-1, 0, list(groups))
    return bound.code_of(groups[0]), bound.code_of(groups[1]), list(groups)


def _column(counts: Integers, code: int) -> Integers:
    """One group's counts; zeros for a group without any sample."""
    return counts[:, code] if code >= 0 else np.zeros(len(counts), dtype=np.int64)


def mark_undefined(figures: Figures, where: Mask, reason: str) -> None:
    """Make the figures of some queries undefined; a reason given earlier stays."""
    figures.values[where] = np.nan
    figures.reasons.update(dict.fromkeys(np.flatnonzero(where).tolist(), reason) | figures.reasons)


def needs_two_groups(bound: BoundRankings, figures: Figures) -> None:
    """Say of rankings of one group that nothing can be compared."""
    if not bound.paper:
        mark_undefined(figures, (figures.pools > 0).sum(axis=1) < 2, "single_group")
