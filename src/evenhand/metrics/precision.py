"""Does a search for similar images stay within the group of the query? Precision@K, and its gap."""

from __future__ import annotations

from evenhand.core.results import Finding
from evenhand.evidence.neighbours import Neighbours
from evenhand.metrics.precision_findings import Asked, gap_finding, precision_finding
from evenhand.metrics.prepared import By


def precision_at_k(
    evidence: Neighbours,
    *,
    match: By,
    by: By = (),
    k: int = 10,
    unknown: str = "keep",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    r"""Mean over queries of the share of their k nearest database samples that have the query's value.

    ``P@K = sum_q sum_{j <= K} [value(neighbour_j(q)) = value(q)] / (n K)``; in [0, 1]. What random neighbours
    give depends on the database: read ``chance`` (the share of the database with the query's value, averaged
    over queries) and ``above_chance`` in the details. Samples equally near at place k are averaged over all
    their orders and counted.

    Queries whose value the database does not have, and those whose annotators could not tell it, stand
    apart: they are counted, and groups of only such queries have the value None with the reason ``not in the
    database``.

    Args:
        evidence: Neighbours.
        match: Attribute that both sides have, or list of attributes that all have to be the same.
        by: Attribute of the queries, or list of attributes to cross, for parts.
        k: How many neighbours count, at most those that the evidence holds.
        unknown: ``keep`` queries of groups that annotators could not tell as parts of their own, or
            ``exclude`` them, counted.
        mode: ``paper`` counts queries whose value the database does not have as 0 in every mean, takes tied
            samples in the order of the database, and divides by k where the database is smaller.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the exchanges.

    Returns:
        A Finding. Parts are the groups. Intervals: Wilson's with the variance of dyads (Aronow, Samii and
        Assenova 2015): they hold for other queries and another database of the same mix of labels, units
        being subjects where the evidence has clusters (of the database, too, where it has that column);
        vectors and the search are as they are. The null: labels exchanged at random everywhere they enter,
        between queries and in the database, subjects as a whole; p is two-sided, that of parts corrected by
        Holm; there is no verdict. A group of one subject has no interval (``one_cluster``). The value
        is None with reason ``k_exceeds_pool`` (fewer samples in the database than k), ``no_usable_query`` or
        ``not in the database``.

    Raises:
        UnknownName: An attribute that not both sides have.
        InputError: Both sides mean different values by ``match``, such as ages in other ranges.
        ParameterError: k outside what the evidence holds.

    Source: Goyal et al. 2022, section 3.3 (indicator 3).
    """
    asked = Asked.make(
        evidence, "precision_at_k", match=match, by=by, k=k, unknown=unknown, mode=mode,
        inference=inference, seed=seed,
    )  # fmt: skip
    return precision_finding(asked)


def precision_gap(
    evidence: Neighbours,
    *,
    match: By,
    by: By,
    k: int = 10,
    unknown: str = "keep",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Largest minus smallest precision of a group in ``precision_at_k``; in [0, 1], fair at 0.

    Where groups have different shares of the database, random neighbours give a gap too: ``chance_at``, with
    which the gap is compared, and ``gap_by_chance`` in the details. ``gap_above_chance`` is the range of what
    each group has above its own chance level. Groups that annotators could not tell are not compared.
    Arguments, and what is undefined, as in ``precision_at_k``; with one group the value is None with reason
    ``single_group``.

    Returns:
        A Finding. Interval: the largest simultaneous MOVER limits of two groups, whose variance is that of
        dyads, see ``precision_at_k``; they do not exclude the gap by chance where its test does not. Null and
        p: labels exchanged everywhere they enter; p is that of the largest difference beyond the gap by
        chance, in standard errors (max-t; Janssen 1997, Chung and Romano 2013). Details name the extreme
        groups. ``one_cluster`` where each group is one subject.

    Source: ours, after Goyal et al. 2022, section 3.3.
    """
    asked = Asked.make(
        evidence, "precision_gap", match=match, by=by, k=k, unknown=unknown, mode=mode,
        inference=inference, seed=seed,
    )  # fmt: skip
    return gap_finding(asked)
