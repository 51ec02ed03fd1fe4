"""Does a search for similar images stay within the group of the query? Precision@K, and its gap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import ParameterError
from evenhand.core.findings import Finding, NewDetails, Part, key_of
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.neighbours import Neighbours
from evenhand.evidence.predictions.columns.annotated import check_k
from evenhand.metrics.catalogue import GAP, INDICATORS, SHARE
from evenhand.metrics.estimates import (
    By,
    Fields,
    Inference,
    Mode,
    Unknown,
    check_common,
    get_or_make,
    no_value,
    part,
)
from evenhand.metrics.group_rates import ComparedLabels, GroupRates
from evenhand.metrics.retrieval.queries import BoundQueries
from evenhand.stats.arrays import Floats
from evenhand.stats.rankings.neighbour_labels import RelabelledGroups, RelabelledPrecision, relabel
from evenhand.stats.rankings.neighbour_pairs import FirstItems, Marks, NeighbourRows, Precisions
from evenhand.stats.rates.rates import Rates

NOT_HELD = "not in the database"
"""Why there is no precision where no database sample has the value that is asked for."""

_OPEN = "more samples equally near than were looked at"
_UNEVEN = "random neighbours from this database would already give a gap of {:.3f}; read gap_above_chance"
_LARGE = 0.01  # a gap by chance alone that is worth a note


@metric(
    title="Same group among the nearest k",
    summary="share of the k nearest images that are of the query’s group; read the chance level with it, "
        "which the database’s mix gives",
    formula="sum over queries q and j <= k of [neighbour j of q is of q's group] / (n k)", **SHARE,
    direction="higher is better", source=Source(paper=INDICATORS, equation="section 3.3"),
    order=460, family="neighbours",
    sentences=Sentences(row="same {match}, first {k}", hits="nearest {noun} show the same {match}"),
    compared="contributions", p_is_about="guessing",
    tags=("outcome", "performance",),
)  # fmt: skip
def precision_at_k(
    evidence: Neighbours,
    *,
    match: By,
    by: By = (),
    k: int = 10,
    unknown: Unknown = "keep",
    mode: Mode = "default",
    inference: Inference = "auto",
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
        A Finding. Parts are the groups; their ``n_of`` counts neighbours, k for each query. Intervals:
        Wilson's with the variance of dyads (Aronow, Samii and Assenova 2015): they hold for other queries and
        another database of the same mix of labels, units being subjects where the evidence has clusters (of
        the database, too, where it has that column); vectors and the search are as they are. The null: labels
        exchanged at random everywhere they enter, between queries and in the database, subjects as a whole; p
        is two-sided, that of parts corrected by Holm; there is no verdict. A group of one subject has no
        interval (``one_cluster``). The value is None with reason ``k_exceeds_pool`` (fewer samples in the
        database than k), ``no_usable_query`` or ``not in the database``.

    Raises:
        UnknownName: An attribute that not both sides have.
        InputError: Both sides mean different values by ``match``, such as ages in other ranges.
        ParameterError: k outside what the evidence holds.

    Source: Goyal et al. 2022, section 3.3 (indicator 3).
    """
    return precision_finding(
        Precision.make("precision_at_k", evidence, match, by, k, unknown, mode, inference, seed=seed)
    )


@metric(
    title="Same group among the nearest k, largest gap",
    summary="highest precision of any group minus the lowest; random neighbours can give a gap too",
    formula="max - min over groups of precision_at_k", **GAP,
    source=Source(paper=INDICATORS, equation="section 3.3, range over groups"),
    order=470, family="neighbours",
    sentences=Sentences(row="  gap, first {k}", more="have more neighbours of their own group"),
    first_line="rates", parts_of="precision_at_k",
    compared="contributions",
    tags=("group gap",),
)  # fmt: skip
def precision_gap(
    evidence: Neighbours,
    *,
    match: By,
    by: By,
    k: int = 10,
    unknown: Unknown = "keep",
    mode: Mode = "default",
    inference: Inference = "auto",
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
    return gap_finding(
        Precision.make("precision_gap", evidence, match, by, k, unknown, mode, inference, seed=seed)
    )


@dataclass(frozen=True, eq=False)
class Precision(GroupRates):
    """What has to match among the first k under one grouping."""

    bound: BoundQueries
    first: FirstItems  # how much each neighbour of each query counts
    k: int
    what = "precision"
    mover = "MOVER of all pairs, dyadic variance, simultaneous by the exchange's largest t"

    @classmethod
    def make(
        cls, name: str, evidence: Neighbours, match: By, by: By, k: int, unknown: Unknown, mode: Mode,
        inference: Inference, *, seed: int,
    ) -> Precision:  # fmt: skip
        """Check what is asked for."""
        check_common(mode, inference, seed)
        paper = mode == "paper"
        bound = BoundQueries.of(evidence, match, by, unknown, paper=paper)
        check_k(k)
        if k > evidence.k:
            raise ParameterError(
                f"k={k} is not possible; these Neighbours hold {evidence.k} of each query; "
                f"make them with k={k}"
            )
        if paper:
            first = FirstItems.in_order((bound.n, evidence.depth), k)
        else:
            width = min(k, evidence.depth)
            first = FirstItems.of(evidence.cosines[bound.rows], width, evidence.database.height)
            bound, first = bound.without(first.unknown, _OPEN), first.take(~first.unknown)
        return cls(bound, name, unknown, mode, inference == "auto", seed, first, int(k))

    @cached_property
    def reason(self) -> str | None:
        """Why there is no precision at all."""
        if self.mode != "paper" and self.k > self.bound.neighbours.database.height:
            return "k_exceeds_pool"
        if self.bound.n:
            return None
        return NOT_HELD if self.bound.apart else "no_usable_query"

    @cached_property
    def rows(self) -> NeighbourRows:
        """The neighbours with the labels of both sides."""
        bound, weight = self.bound, self.first.weight
        marks = Marks(bound.query_labels, bound.group, bound.labels)
        used = weight.any(axis=0)
        ids = bound.neighbours.ids[bound.rows]
        return NeighbourRows(ids[:, used], weight[:, used], self.k, marks, len(bound.groups), *bound.units)

    @cached_property
    def observed(self) -> Precisions:
        """Precision of each group and of all queries, and what random neighbours give."""
        return self.rows.precision(self.rows.marks)

    @cached_property
    def values(self) -> Floats:
        """Precision of each group, shape (groups,)."""
        return np.minimum(self.observed.value, 1)  # sums of shares round

    @cached_property
    def relabelled(self) -> RelabelledPrecision:
        """Labels that changed places; precision and gap are of the same draws."""
        bound = self.bound
        purpose = ("+".join(bound.match), "+".join(bound.by), self.k, self.unknown, self.mode)

        def draw() -> RelabelledPrecision:
            return relabel(self.rows, stream(self.seed, "precision_at_k", *purpose))

        return get_or_make(bound.neighbours.memo, ("relabelled", *purpose, self.seed), draw)

    @cached_property
    def compared(self) -> ComparedLabels:
        """The known groups, whose labels change places."""
        is_fixed = int(self.units_of[self.known].max()) < 2  # each group is one unit
        return ComparedLabels(RelabelledGroups(self.relabelled, self.known), is_fixed)

    @property
    def grouped(self) -> Rates:
        """Precision of all groups as rates, with their limits."""
        return self.rows.rates

    @property
    def exchanged_how(self) -> str:
        """What the null draws."""
        return f"labels exchanged between {self.units} and in the database"

    @property
    def method(self) -> str:
        """How intervals are made."""
        if self.bound.cluster is None:
            return "Wilson score, dyadic variance over queries and database"
        count = np.unique(self.bound.cluster).size
        return f"Wilson score, dyadic variance over {count} values of {self.units} and the database"

    @property
    def units(self) -> str:
        """What is exchanged."""
        return str(self.bound.neighbours.cluster) if self.bound.cluster is not None else "queries"

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the binding and the definition say filled in."""
        bound, tied = self.bound, int(self.first.tied.sum())
        notes = [*bound.neighbours.notes, *bound.notes]
        if tied:
            what = f"{tied} queries have equally near samples at place {self.k}"
            notes.append(f"{what}; all their orders are averaged")
        params = {"match": "+".join(bound.match), "k": self.k}
        return self.described(value, params, bound.neighbours.facts, notes, **fields)

    def parts(self) -> list[Part]:
        """The precision of each group; of some only that the database has nothing like them."""
        exchange = self.relabelled if self.bound.by and self.infers and self.reason is None else None
        p_values = None if exchange is None else exchange.p_each()

        def fields(code: int) -> Fields:
            if self.reason is not None:
                return no_value(self.reason)
            value = float(self.values[code])
            details = _details(value, float(self.observed.chance[code]))
            details["n_of"] = self.bound.sizes[code] * self.k
            part_fields = {"value": value, "details": details}
            if exchange is None or p_values is None:
                return part_fields
            null = self.band(exchange.rates[:, code], mean=float(exchange.expected[code]))
            return part_fields | {
                "null": null,
                "p_value": p_values[code],
                **self.interval_of(code, value),
            }

        kind, here = "*".join(self.bound.by), set(self.bound.groups)
        return self.bound.parts(fields) + [
            part(kind, key_of(group), None, n=count, reason=NOT_HELD)
            for group, count in self.bound.apart.items()
            if group not in here
        ]


def precision_finding(neighbours: Precision) -> Finding:
    """The mean precision of all queries, with a part for each group."""
    if neighbours.reason is not None:
        return neighbours.finding(None, reason=neighbours.reason, parts=neighbours.parts())
    value = min(float(neighbours.observed.total), 1.0)
    fields: Fields = {"details": _details(value, float(neighbours.observed.total_chance))}
    if not neighbours.infers:
        return neighbours.rate(value, None, **fields)
    exchange = neighbours.relabelled
    null = neighbours.band(exchange.totals, mean=exchange.expected_total)
    return neighbours.rate(
        value, neighbours.rows.whole().rates, null=null, p_value=exchange.p_total(), **fields
    )


def gap_finding(neighbours: Precision) -> Finding:
    """Largest minus smallest precision of the known groups."""
    codes = neighbours.known
    if neighbours.alone is not None:
        return neighbours.finding(None, reason=neighbours.alone)
    precision, chance = neighbours.values[codes], neighbours.observed.chance[codes]
    by_chance = float(np.ptp(chance))
    notes = [_UNEVEN.format(by_chance)] if by_chance > _LARGE else []
    details = {"gap_by_chance": by_chance, "gap_above_chance": np.ptp(precision - chance)}
    return neighbours.gap(notes=notes, details=details)


def _details(value: float, chance: float) -> NewDetails:
    return {"chance": chance, "above_chance": value - chance}
