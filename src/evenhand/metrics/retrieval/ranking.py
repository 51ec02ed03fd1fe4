"""Whom does a model retrieve first? Bias@K, Skew@K, MaxSkew@K, MinSkew@K and NDKL, with their null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from evenhand.core.cards import Source
from evenhand.core.errors import ParameterError
from evenhand.core.findings import Finding
from evenhand.core.metric import metric
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.papers import GEYIK, VISOGENDER
from evenhand.metrics.prepared import By, check_k
from evenhand.metrics.retrieval.ranking_bound import (
    BoundRankings,
    Details,
    Figures,
    Statistic,
    Target,
    Values,
    top_figures,
)
from evenhand.metrics.retrieval.ranking_estimation import absent_note, retrieval_finding
from evenhand.stats.arrays import Floats, Integers, Mask
from evenhand.stats.rankings import fairness as rankings
from evenhand.stats.rankings import null as ranking_null
from evenhand.stats.rankings.fairness import RankedPools, Tops
from evenhand.stats.rankings.null import NullDistribution

_WIDE = (-np.inf, np.inf)
_EXTREME = {"high": "group_of_max", "low": "group_of_min"}


@metric(
    title="Bias among the first k",
    summary="masculine minus feminine people among the first k, as a share; where k is odd no ranking has 0",
    formula="mean over queries of (n1 - n2) / (n1 + n2) among the first k",
    range=(-1, 1),
    direction="descriptive",
    fair_at=0.0,
    source=Source(paper=VISOGENDER, equation="Appendix A"),
    unit="share difference",
    order=260,
    compared="contributions",
)
def bias_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    groups: Sequence[str] | None = None,
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of ``(n_plus - n_minus) / (n_plus + n_minus)`` among the first k; fair at 0.

    In [-1, 1]. With an odd k no query can reach 0: read null, z (in the details) and p. Tied scores give the
    average over all their orders. Parts are the queries.

    p: the groups of sampling units (samples, or clusters) change places at random, once for all queries that
    rank them; the mean less chance is compared in standard errors of each draw (Janssen 1997; Chung and
    Romano 2013): the spread over queries and, where these share units, what they have in common. The interval
    inverts the test: means of other queries and units. ``chance_at`` is the mean of the draws.

    Args:
        evidence: Rankings.
        by: Attribute, or list of attributes to cross.
        k: Places.
        groups: The group that counts as +1 and the one that counts as -1; may be left out where there are
            just two: then the first in sorted order is +1.
        mode: ``paper``: tied samples stay in the order of the table, and a query with neither group among
            the first k, or only one in its pool, has the value that the formula gives.
        inference: ``none`` skips interval, null and p.
        seed: Of null distributions too large to list.

    Returns:
        A Finding. A query is None with reason ``k_exceeds_pool``, ``single_group`` (its pool lacks one of
        the two) or ``undefined`` (neither may be among the first k).

    Raises:
        UserError: Unknown attribute, group or option, or no usable row.

    Source: Hall et al. 2023, Appendix A.
    """
    asked = BoundRankings.make("bias_at_k", evidence, by, "pool", mode, inference, seed)
    check_k(k)
    plus, minus, named = _pair(asked, groups)
    return _difference(asked, k, plus, minus, named)


@metric(
    title="Skew among the first k",
    summary="logarithm of a group’s share of the first k over its share of the pool; above 0: more of it",
    formula="mean over queries of ln(share of the first k / share of the pool)",
    range=(None, None),
    direction="descriptive",
    fair_at=0.0,
    source=Source(paper=VISOGENDER, equation="Appendix A"),
    unit="log ratio",
    order=270,
    compared="contributions",
)
def skew_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    group: str,
    target: Target = "pool",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of one group's ``ln(share of the first k / target share)``; fair at 0.

    Above 0 the group is retrieved more often than its target. A group that is not among the first k has
    skew minus infinity; it is given as -ln(k+1), lower than any group that is there can have, flagged as
    ``absent`` in the parts and counted in the notes. p is two-sided, by exchange as in ``bias_at_k``.

    Args:
        evidence: Rankings.
        by: Attribute, or list of attributes to cross.
        k: Places.
        group: Whose skew.
        target: ``pool`` (its share of the query's pool), ``equal`` (one over the number of groups), or a
            mapping of every group to its share.
        mode: ``paper``: tied samples stay in the order of the table; an absent group counts as one sample.
        inference: ``none`` skips interval, null and p.
        seed: Of null distributions too large to list.

    Returns:
        A Finding; parts are the queries, None with reason ``k_exceeds_pool``, ``group_not_in_pool`` or
        ``single_group``.

    Raises:
        UserError: Unknown attribute, group or option, or no usable row.

    Source: Hall et al. 2023, Appendix A; Geyik et al. 2019.
    """
    asked = BoundRankings.make("skew_at_k", evidence, by, target, mode, inference, seed)
    check_k(k)
    code = asked.code_of(group)

    def values_of(counts: Integers, pools: Integers, k: int) -> Floats:
        return rankings.skews(counts, pools, asked.targets(pools), k, _absent(asked))[:, code]

    figures = replace(_skew_figures(asked, k, values_of, [code]), deciding=(code,))
    _explain(figures, figures.pools[:, code] == 0, "group_not_in_pool")

    def spread(pools: Integers) -> Floats:  # of the logarithm of a share
        return np.asarray(pools.sum(axis=1) / np.maximum(pools[:, code], 1) - 1)

    statistic = _of_top(asked, k, values_of, "both", _WIDE, spread)
    return retrieval_finding(asked, figures, {"k": k, "group": group}, statistic)


@metric(
    title="Largest skew among the first k",
    summary="skew of the group that is favoured most; a fair model does not reach 0 either",
    formula="mean over queries of the largest skew_at_k of a group",
    range=(None, None),
    direction="lower is fairer",
    fair_at=0.0,
    source=Source(paper=VISOGENDER, equation="Appendix A"),
    unit="log ratio",
    order=280,
    compared="contributions",
)
def max_skew_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    target: Target = "pool",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of the largest skew of a group; at least 0 with target ``pool``, lower is fairer.

    Even a fair model does not reach 0: ``chance_at`` is what one reaches. p is twice the upper tail, by
    exchange as in ``bias_at_k``, so that it agrees with the interval. The parts name the ``group_of_max``.
    Arguments, undefined cases and errors as in ``skew_at_k``; in paper mode an absent group counts as one
    sample and may be the group of the max.

    Source: Hall et al. 2023, Appendix A; Geyik et al. 2019.
    """
    asked = BoundRankings.make("max_skew_at_k", evidence, by, target, mode, inference, seed)
    return _extreme_skew(asked, k, rankings.max_skews, "high")


@metric(
    title="Smallest skew among the first k",
    summary="skew of the group that is favoured least; a fair model does not reach 0 either",
    formula="mean over queries of the smallest skew_at_k of a group",
    range=(None, None),
    direction="higher is fairer",
    fair_at=0.0,
    source=Source(paper=GEYIK, equation="MinSkew@k"),
    unit="log ratio",
    order=290,
    compared="contributions",
)
def min_skew_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    target: Target = "pool",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of the smallest skew of a group; at most 0 with target ``pool``, higher is fairer.

    An absent group has -ln(k+1) as in ``skew_at_k``; the parts name the ``group_of_min``. p is
    twice the lower tail, by exchange as in ``bias_at_k``. Arguments, undefined cases and errors as in
    ``skew_at_k``.

    Source: Geyik et al. 2019; Hall et al. 2023 (released code).
    """
    asked = BoundRankings.make("min_skew_at_k", evidence, by, target, mode, inference, seed)
    return _extreme_skew(asked, k, rankings.min_skews, "low")


@metric(
    title="Divergence of the ranking (NDKL)",
    summary=(
        "how far the groups’ shares of every top lie from their shares of the pool, early places "
        "counting more; a fair model does not reach 0 either"
    ),
    formula="mean over queries of sum_i KL_i / log2(i + 1) / sum_i 1 / log2(i + 1)",
    range=(0, None),
    direction="lower is fairer",
    fair_at=0.0,
    source=Source(paper=VISOGENDER, equation="Appendix A"),
    unit="nats",
    order=300,
    compared="contributions",
)
def ndkl(
    evidence: Rankings,
    *,
    by: By,
    k: int | None = None,
    target: Target = "pool",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of the normalised discounted KL divergence of all tops; at least 0, lower is fairer.

    ``sum_i KL_i / log2(i+1) / sum_i 1/log2(i+1)`` with ``KL_i`` between the groups' shares of the first i
    and the target. A fair model does not reach 0: ``chance_at`` is what one reaches. p is twice the upper
    tail, by exchange as in ``bias_at_k``. Arguments, undefined cases and errors as in ``skew_at_k``, but for
    k: the last i, None for the whole pool.

    Source: Hall et al. 2023, Appendix A; Geyik et al. 2019.
    """
    asked = BoundRankings.make("ndkl", evidence, by, target, mode, inference, seed)
    if k is not None:
        check_k(k)

    def of(ranked: RankedPools) -> Floats:
        return rankings.ndkl(ranked, asked.targets(ranked.pools), k)

    def null_of(pool: Integers, rng: np.random.Generator) -> NullDistribution:
        return ranking_null.null_of_ndkl(pool.tolist(), asked.targets(pool[None])[0], rng, k)

    pieces = [
        (of(ranked), ranked.pools, ranked.open_places[:, :k].any(axis=1)) for _, ranked in asked.ranked()
    ]
    values, pools, tied = (np.concatenate(column) for column in zip(*pieces, strict=True))
    figures = Figures(values, {}, pools, tied)
    _explain(figures, pools.sum(axis=1) < (k or 0), "k_exceeds_pool")
    _needs_two_groups(asked, figures)

    def like_pool(pools: Integers) -> Floats:
        return rankings.divergence(pools, asked.targets(pools))

    statistic = Statistic(of, null_of, like_pool, _even, "high", (0, np.inf))
    return retrieval_finding(asked, figures, {"k": k}, statistic)


def _difference(asked: BoundRankings, k: int, plus: int, minus: int, named: list[str]) -> Finding:
    """Bias of every query, and what chance makes of it."""
    neither = 0.0 if asked.paper else np.nan

    def values_of(counts: Integers, pools: Integers, k: int) -> Floats:
        values = rankings.difference(_column(counts, plus), _column(counts, minus), neither=neither)
        both = (_column(pools, plus) > 0) & (_column(pools, minus) > 0)
        return values if asked.paper else np.where(both, values, np.nan)

    def look(tops: Tops, pools: Integers) -> Details:
        sides = zip(named, (plus, minus), strict=False)
        return {f"top_{name}": tops.mean(_column(tops.counts, code)).tolist() for name, code in sides}

    def spread(pools: Integers) -> Floats:  # of a place that is +1 or -1
        apart = rankings.difference(_column(pools, plus), _column(pools, minus), neither=0.0)
        return np.asarray(1 - apart**2)

    figures = replace(top_figures(asked, k, values_of, look), deciding=tuple({plus, minus} - {-1}))
    lacking = (_column(figures.pools, plus) == 0) | (_column(figures.pools, minus) == 0)
    _explain(figures, lacking & np.isnan(figures.values), "single_group")
    statistic = _of_top(asked, k, values_of, "both", (-1, 1), spread)
    return retrieval_finding(asked, figures, {"k": k, "groups": named}, statistic)


def _extreme_skew(
    asked: BoundRankings, k: int, kernel: Callable[[Integers, Integers, Floats, int, str], Floats], side: str
) -> Finding:
    check_k(k)

    def values_of(counts: Integers, pools: Integers, k: int) -> Floats:
        return kernel(counts, pools, asked.targets(pools), k, _absent(asked))

    figures = _skew_figures(asked, k, values_of, range(len(asked.pools.groups)), side)
    figures = replace(figures, deciding=_most_often(asked, figures, side))
    exact = isinstance(asked.target, str) and asked.target == "pool" and not asked.paper
    bounds = ((0, np.inf) if side == "high" else (-np.inf, 0)) if exact else _WIDE
    return retrieval_finding(asked, figures, {"k": k}, _of_top(asked, k, values_of, side, bounds))


def _skew_figures(
    asked: BoundRankings, k: int, values_of: Values, watched: Sequence[int], side: str | None = None
) -> Figures:
    """Skews with the groups that are absent, and those that have the largest or smallest skew."""
    names = np.array(asked.group_names, dtype=object)

    def look(tops: Tops, pools: Integers) -> Details:
        gone = np.zeros(pools.shape, dtype=bool)
        for code in watched:
            missing = (tops.counts[:, code] == 0) & (pools[tops.owner, code] > 0)
            gone[:, code] = np.bincount(tops.owner, missing, tops.n_owners) > 0
        gone[pools.sum(axis=1) < k] = False
        found = {"absent": gone}
        if side is not None:
            found[_EXTREME[side]] = _extreme_groups(asked, tops, pools, k, side)
        return {
            what: [", ".join(names[row]) if row.any() else None for row in flags]
            for what, flags in found.items()
        }

    figures = top_figures(asked, k, values_of, look)
    _needs_two_groups(asked, figures)
    if asked.paper or side != "high":  # the largest skew is always that of a group that is there
        figures.notes.extend(absent_note(figures.details["absent"], k, paper=asked.paper))
    return figures


def _extreme_groups(asked: BoundRankings, tops: Tops, pools: Integers, k: int, side: str) -> Mask:
    """Which groups most often have the largest (smallest) skew of each ranking, shape (R, G)."""
    skew = rankings.skews(tops.counts, pools[tops.owner], asked.targets(pools)[tops.owner], k, _absent(asked))
    signed = np.where(np.isnan(skew), -np.inf, skew if side == "high" else -skew)
    winner = signed >= signed.max(axis=1, keepdims=True) - 1e-12
    often = np.stack([tops.mean(column.astype(np.float64)) for column in winner.T], axis=1)
    enough = pools.sum(axis=1, keepdims=True) >= k
    return np.asarray((often >= often.max(axis=1, keepdims=True) - 1e-12) & (pools > 0) & enough)


def _most_often(asked: BoundRankings, figures: Figures, side: str) -> tuple[int, ...]:
    """The group that has the largest (smallest) skew in most queries; none where no query has a value."""
    named = figures.details[_EXTREME[side]]
    often = [sum(name in str(found).split(", ") for found in named) for name in asked.group_names]
    return (int(np.argmax(often)),) if max(often) else ()


def _of_top(
    asked: BoundRankings, k: int, values_of: Values, side: str, bounds: tuple[float, float],
    spread: Callable[[Integers], Floats] | None = None,
) -> Statistic:  # fmt: skip
    """A figure of the first k places, as chance needs it."""

    def of(ranked: RankedPools) -> Floats:
        found = rankings.tops(ranked, k, asked.stream("ties", k, "drawn"))
        return found.mean(values_of(found.counts, ranked.pools[found.owner], k))

    def null_of(pool: Integers, rng: np.random.Generator) -> NullDistribution:
        return ranking_null.null_of_top(
            pool.tolist(), k, lambda counts: values_of(counts, np.broadcast_to(pool, counts.shape), k), rng
        )

    def like_pool(pools: Integers) -> Floats:
        sizes, values = pools.sum(axis=1), np.empty(len(pools))
        for size in np.unique(sizes).tolist():
            values[sizes == size] = values_of(pools[sizes == size], pools[sizes == size], size)
        return values

    return Statistic(of, null_of, like_pool, spread or _even, side, bounds)


def _even(pools: Integers) -> Floats:
    """A variance that no pool changes in a way that is known."""
    return np.ones(len(pools))


def _absent(asked: BoundRankings) -> str:
    return "smoothed" if asked.paper else "floor"


def _pair(asked: BoundRankings, groups: Sequence[str] | None) -> tuple[int, int, list[str]]:
    """Codes of the group that counts +1 and of the one that counts -1, -1 for one that has no sample."""
    names = asked.group_names
    if groups is None:
        if len(names) > 2:
            raise ParameterError(
                f"there are {len(names)} groups; name two of {names} with groups=[plus, minus]"
            )
        return 0, 1 if len(names) == 2 else -1, names
    if isinstance(groups, str) or len(groups) != 2 or groups[0] == groups[1]:
        raise ParameterError(f"groups={groups!r} is not possible; name two of {names}: [plus, minus]")
    if len(names) == 1 and names[0] in groups:
        return (0, -1, list(groups)) if names[0] == groups[0] else (-1, 0, list(groups))
    return asked.code_of(groups[0]), asked.code_of(groups[1]), list(groups)


def _column(counts: Integers, code: int) -> Integers:
    """One group's counts; zeros for a group without any sample."""
    return counts[:, code] if code >= 0 else np.zeros(len(counts), dtype=np.int64)


def _explain(figures: Figures, where: Mask, reason: str) -> None:
    """Make the figures of some queries undefined; a reason given earlier stays."""
    figures.values[where] = np.nan
    figures.reasons.update(dict.fromkeys(np.flatnonzero(where).tolist(), reason) | figures.reasons)


def _needs_two_groups(asked: BoundRankings, figures: Figures) -> None:
    if not asked.paper:
        _explain(figures, (figures.pools > 0).sum(axis=1) < 2, "single_group")
