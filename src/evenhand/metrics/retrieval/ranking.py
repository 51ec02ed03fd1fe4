"""Whom does a model retrieve first? Bias@K, Skew@K, MaxSkew@K, MinSkew@K and NDKL, with their null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Finding
from evenhand.core.metric import metric
from evenhand.evidence.predictions.columns.annotated import check_k
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.catalogue import GEYIK, LOG_RATIO, SIGNED, VISOGENDER
from evenhand.metrics.estimates import By, Inference, Mode
from evenhand.metrics.retrieval.ranking_bound import BoundRankings, Figures, Statistic, Target
from evenhand.metrics.retrieval.ranking_estimation import retrieval_finding
from evenhand.metrics.retrieval.ranking_figures import (
    WIDE,
    constant_variance,
    difference_finding,
    extreme_skew,
    mark_undefined,
    needs_two_groups,
    skew_figures,
    skew_of_absent,
    top_statistic,
    two_groups,
)
from evenhand.stats.arrays import Floats, Integers, Rng
from evenhand.stats.rankings import fairness as rankings
from evenhand.stats.rankings import null as ranking_null
from evenhand.stats.rankings.fairness import RankedPools
from evenhand.stats.rankings.null import NullDistribution


@metric(
    title="Bias among the first k",
    summary="the first group’s share of the first k places less the second group’s; an odd k never gives 0",
    formula="mean over queries of (n1 - n2) / (n1 + n2) among the first k", **SIGNED,
    source=Source(paper=VISOGENDER, equation="Appendix A"),
    order=260, family="rankings",
    sentences=Sentences(value="the share of {first} minus {second}", more="come first more often"),
    first_line="rankings",
    compared="contributions",
    tags=("group gap",),
)  # fmt: skip
def bias_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    groups: Sequence[str] | None = None,
    mode: Mode = "default",
    inference: Inference = "auto",
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
        the two) or ``undefined`` (neither may be among the first k). Where k takes whole pools, all orders
        give one value: there is no p, null or interval, and a note says so.

    Raises:
        UserError: Unknown attribute, group or option, or no usable row.

    Source: Hall et al. 2023, Appendix A.
    """
    bound = BoundRankings.make("bias_at_k", evidence, by, "pool", mode, inference, seed)
    check_k(k)
    plus, minus, names = two_groups(bound, groups)
    return difference_finding(bound, k, plus, minus, names)


@metric(
    title="Skew among the first k",
    summary="logarithm of a group’s share of the first k over its share of the pool; above 0: more of it",
    formula="mean over queries of ln(share of the first k / share of the pool)", **LOG_RATIO,
    direction="descriptive", source=Source(paper=VISOGENDER, equation="Appendix A"),
    order=270, family="rankings", headline=False, compared="contributions",
)  # fmt: skip
def skew_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    group: str,
    target: Target = "pool",
    mode: Mode = "default",
    inference: Inference = "auto",
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
    bound = BoundRankings.make("skew_at_k", evidence, by, target, mode, inference, seed)
    check_k(k)
    code = bound.code_of(group)

    def values_of(counts: Integers, pools: Integers, k: int) -> Floats:
        return rankings.skews(counts, pools, bound.targets(pools), k, skew_of_absent(bound))[:, code]

    figures = replace(skew_figures(bound, k, values_of, [code]), deciding=(code,))
    mark_undefined(figures, figures.pools[:, code] == 0, "group_not_in_pool")

    def spread(pools: Integers) -> Floats:  # of the logarithm of a share
        return np.asarray(pools.sum(axis=1) / np.maximum(pools[:, code], 1) - 1)

    statistic = top_statistic(bound, k, values_of, "both", WIDE, spread)
    return retrieval_finding(bound, figures, {"k": k, "group": group}, statistic)


@metric(
    title="Largest skew among the first k",
    summary="skew of the group that is favoured most; a fair model does not reach 0 either",
    formula="mean over queries of the largest skew_at_k of a group", **LOG_RATIO,
    direction="lower is fairer", source=Source(paper=VISOGENDER, equation="Appendix A"),
    order=280, family="rankings",
    sentences=Sentences(symbol="MaxSkew", value="the favoured group’s skew"), compared="contributions",
    tags=("group gap",),
)  # fmt: skip
def max_skew_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    target: Target = "pool",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of the largest skew of a group; at least 0 with target ``pool``, lower is fairer.

    Even a fair model does not reach 0: ``chance_at`` is what one reaches. p is twice the upper tail, by
    exchange as in ``bias_at_k``, so that it agrees with the interval. The parts name the ``group_of_max``.
    Arguments, undefined cases and errors as in ``skew_at_k``; in paper mode an absent group counts as one
    sample and may be the group of the max.

    Source: Hall et al. 2023, Appendix A; Geyik et al. 2019.
    """
    bound = BoundRankings.make("max_skew_at_k", evidence, by, target, mode, inference, seed)
    return extreme_skew(bound, k, rankings.max_skews, "high")


@metric(
    title="Smallest skew among the first k",
    summary="skew of the group that is favoured least; a fair model does not reach 0 either",
    formula="mean over queries of the smallest skew_at_k of a group", **LOG_RATIO,
    direction="higher is fairer", source=Source(paper=GEYIK, equation="MinSkew@k"),
    order=290, family="rankings", headline=False,
    sentences=Sentences(symbol="MinSkew", value="the least favoured group’s skew"), compared="contributions",
)  # fmt: skip
def min_skew_at_k(
    evidence: Rankings,
    *,
    by: By,
    k: int,
    target: Target = "pool",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of the smallest skew of a group; at most 0 with target ``pool``, higher is fairer.

    An absent group has -ln(k+1) as in ``skew_at_k``; the parts name the ``group_of_min``. p is
    twice the lower tail, by exchange as in ``bias_at_k``. Arguments, undefined cases and errors as in
    ``skew_at_k``.

    Source: Geyik et al. 2019; Hall et al. 2023 (released code).
    """
    bound = BoundRankings.make("min_skew_at_k", evidence, by, target, mode, inference, seed)
    return extreme_skew(bound, k, rankings.min_skews, "low")


@metric(
    title="Divergence of the ranking (NDKL)",
    summary="how far the groups’ shares of every top lie from their shares of the pool, early places "
        "counting more; a fair model does not reach 0 either",
    formula="mean over queries of sum_i KL_i / log2(i + 1) / sum_i 1 / log2(i + 1)", range=(0, None),
    direction="lower is fairer", fair_at=0.0, source=Source(paper=VISOGENDER, equation="Appendix A"),
    unit="nats", order=300, family="rankings",
    sentences=Sentences(symbol="NDKL", value="the divergence from the pool (NDKL)"), compared="contributions",
    first_line="rankings",
    tags=("group gap",),
)  # fmt: skip
def ndkl(
    evidence: Rankings,
    *,
    by: By,
    k: int | None = None,
    target: Target = "pool",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over queries of the normalised discounted KL divergence of all tops; at least 0, lower is fairer.

    ``sum_i KL_i / log2(i+1) / sum_i 1/log2(i+1)`` with ``KL_i`` between the groups' shares of the first i
    and the target. A fair model does not reach 0: ``chance_at`` is what one reaches. p is twice the upper
    tail, by exchange as in ``bias_at_k``. Arguments, undefined cases and errors as in ``skew_at_k``, but for
    k: the last i, None for the whole pool.

    Source: Hall et al. 2023, Appendix A; Geyik et al. 2019.
    """
    bound = BoundRankings.make("ndkl", evidence, by, target, mode, inference, seed)
    if k is not None:
        check_k(k)

    def of(ranked: RankedPools) -> Floats:
        return rankings.ndkl(ranked, bound.targets(ranked.pools), k)

    def null_of(pool: Integers, rng: Rng) -> NullDistribution:
        return ranking_null.null_of_ndkl(pool.tolist(), bound.targets(pool[None])[0], rng, k)

    pieces = [
        (of(ranked), ranked.pools, ranked.open_places[:, :k].any(axis=1)) for _, ranked in bound.ranked()
    ]
    values, pools, tied = (np.concatenate(column) for column in zip(*pieces, strict=True))
    figures = Figures(values, {}, pools, tied)
    mark_undefined(figures, pools.sum(axis=1) < (k or 0), "k_exceeds_pool")
    needs_two_groups(bound, figures)

    def like_pool(pools: Integers) -> Floats:
        return rankings.divergence(pools, bound.targets(pools))

    statistic = Statistic(of, null_of, like_pool, constant_variance, "high", (0, np.inf))
    return retrieval_finding(bound, figures, {"k": k}, statistic)
