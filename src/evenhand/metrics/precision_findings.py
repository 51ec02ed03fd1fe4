"""Findings from Neighbours: precision of queries by group, the distance between groups, and chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError
from evenhand.core.results import Finding, Interval, Null, Part
from evenhand.core.seeds import stream
from evenhand.evidence.neighbours import Neighbours
from evenhand.metrics.group_questions import Details, GroupQuestion
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.metrics.query_groups import QueryGroups, as_key
from evenhand.metrics.resolution_findings import corrected
from evenhand.stats.group_means import exchanged_means, mean_intervals, means, resampled_means
from evenhand.stats.nearest_items import FirstItems, exchanged_labels

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NOT_HELD = "not in the database"
"""Why there is no precision where no database sample has the value that is asked for."""

_OPEN = "more samples equally near than were looked at"
_CHANCE = "labels of the database exchanged; exact mean and variance, normal"
_LARGE = 0.01  # a gap by chance alone that is worth a note


@dataclass(frozen=True, eq=False)
class Asked(GroupQuestion):
    """What has to match among the first k under one grouping.

    Attributes:
        first: How much each neighbour of each query counts.
        k: How many neighbours count.
    """

    bound: QueryGroups
    first: FirstItems
    k: int

    @classmethod
    def make(
        cls,
        evidence: Neighbours,
        name: str,
        *,
        match: By,
        by: By,
        k: int,
        unknown: str,
        mode: str,
        inference: str,
        seed: int,
    ) -> Asked:
        """Check what is asked for.

        Args:
            evidence: Neighbours.
            name: Which metric.
            match: Attribute, or attributes crossed, that has to be the same.
            by: Attributes crossed.
            k: How many neighbours count.
            unknown: ``keep`` or ``exclude``.
            mode: ``default`` or ``paper``.
            inference: ``auto`` or ``none``.
            seed: Of every random stream.

        Raises:
            UserError: An unknown attribute or option, or sides that cannot be compared.
        """
        check_common(mode, inference)
        if seed < 0:
            raise ParameterError(f"seed={seed} is not possible; choose 0 or more")
        paper = mode == "paper"
        bound = QueryGroups.of(evidence, match, by, unknown, paper=paper)
        _check_k(k, evidence.k)
        size, width = evidence.database.height, min(k, evidence.depth)
        if paper:
            first = FirstItems.in_order((bound.n, evidence.depth), k)
        else:
            first = FirstItems.of(evidence.cosines[bound.rows], width, size)
            kept = ~first.unknown
            bound = bound.without(first.unknown, _OPEN)
            first = FirstItems(first.weight[kept], first.tied[kept], first.unknown[kept])
        return cls(bound, name, unknown, mode, inference == "auto", seed, first, int(k))

    @cached_property
    def reason(self) -> str | None:
        """Why there is no precision at all."""
        evidence = self.bound.neighbours
        if self.mode != "paper" and self.k > evidence.database.height:
            return "k_exceeds_pool"
        if self.bound.n:
            return None
        return NOT_HELD if self.bound.apart else "no_usable_query"

    @cached_property
    def values(self) -> Floats:
        """Precision of each query, shape (n,)."""
        bound = self.bound
        same = bound.labels[self.ids] == bound.asked[:, None]
        found = (self.first.weight * same).sum(axis=1) / self.k
        return np.asarray(np.minimum(found, 1))  # sums of shares round

    @cached_property
    def ids(self) -> npt.NDArray[np.int64]:
        """Neighbours of the queries in it."""
        return self.bound.neighbours.ids[self.bound.rows]

    @cached_property
    def precision(self) -> Floats:
        """Precision of each group, shape (groups,)."""
        return means(self.values, self.bound.group, len(self.bound.groups))

    @cached_property
    def chance(self) -> Floats:
        """Precision of each group where neighbours are random, shape (groups,)."""
        return means(self.by_chance, self.bound.group, len(self.bound.groups))

    @cached_property
    def by_chance(self) -> Floats:
        """Precision of each query where neighbours are random, shape (n,)."""
        fits = min(self.k, self.bound.neighbours.database.height) / self.k
        return np.asarray(self.bound.chance * fits)

    @property
    def method(self) -> str:
        """How intervals are made."""
        if self.bound.cluster is None:
            return "score interval over queries"
        count = np.unique(self.bound.cluster).size
        return f"score interval over {count} values of {self.bound.neighbours.cluster}"

    @property
    def units(self) -> str:
        """What is exchanged and resampled."""
        return str(self.bound.neighbours.cluster) if self.bound.cluster is not None else "queries"

    def intervals(self, *, whole: bool = False) -> tuple[Floats, Floats]:
        """Ends of the interval of each group's precision, or of everything as one group."""
        group = np.zeros_like(self.bound.group) if whole else self.bound.group
        groups = 1 if whole else len(self.bound.groups)
        return mean_intervals(self.values, group, groups, self.bound.cluster, self.k, LEVEL)

    def against_chance(self, inside: Mask, value: float) -> dict[str, Any]:
        """Null and p of the precision of some queries."""
        found = exchanged_labels(
            self.ids[inside], self.first.weight[inside], self.bound.asked[inside], self.bound.labels,
            float(inside.sum() * self.k),
        )  # fmt: skip
        low, high = (min(max(end, 0.0), 1.0) for end in found.band(LEVEL))
        null = Null(mean=found.mean, low=low, high=high, level=LEVEL, method=_CHANCE)
        return {"null": null, "p_value": found.p_value(value)}

    def drawn(self, how: str, known: Mask) -> Floats:
        """Precisions of the known groups, ``exchange`` or ``bootstrap``, shape (replicates, groups)."""
        bound = self.bound
        inside = known[bound.group]
        codes = (np.cumsum(known) - 1)[bound.group[inside]]
        cluster = None if bound.cluster is None else bound.cluster[inside]
        purpose = ("+".join(bound.match), self.k, self.unknown, self.mode, how)
        rng = stream(self.seed, "precision_at_k", "+".join(bound.by), *purpose)
        draw = exchanged_means if how == "exchange" else resampled_means
        return draw(self.values[inside], codes, int(known.sum()), cluster, rng)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the binding and the definition say filled in."""
        bound = self.bound
        params = {"match": "+".join(bound.match), "k": self.k}
        notes = [*bound.neighbours.notes, *bound.notes, *self._ties()]
        return self.described(value, params, bound.neighbours.facts, notes, **fields)

    def _ties(self) -> list[str]:
        tied = int(self.first.tied.sum())
        if not tied:
            return []
        return [f"{tied} queries have equally near samples at place {self.k}; all their orders are averaged"]


def precision_finding(asked: Asked) -> Finding:
    """The mean precision of all queries, with a part for each group."""
    if asked.reason is not None:
        return asked.finding(None, reason=asked.reason, parts=_parts(asked))
    value = float(asked.values.mean())
    fields: dict[str, Any] = {"details": _details(value, float(asked.by_chance.mean()))}
    if asked.infers:
        low, high = asked.intervals(whole=True)
        fields["interval"] = Interval(low=low[0], high=high[0], level=LEVEL, method=asked.method)
        fields |= asked.against_chance(np.ones(asked.bound.n, dtype=bool), value)
    return asked.finding(value, parts=_parts(asked), **fields)


def gap_finding(asked: Asked) -> Finding:
    """Largest minus smallest precision of the known groups."""
    known = np.flatnonzero(asked.bound.known)
    reason = asked.reason or ("single_group" if known.size < 2 else None)
    if reason is not None:
        return asked.finding(None, reason=reason)
    precision, chance = asked.precision[known], asked.chance[known]
    value, by_chance = float(np.ptp(precision)), float(np.ptp(chance))
    details = {
        **asked.extremes(precision, "precision"),
        "gap_by_chance": by_chance,
        "gap_above_chance": float(np.ptp(precision - chance)),
    }
    notes = []
    if by_chance > _LARGE:
        notes.append(
            f"random neighbours from this database would already give a gap of {by_chance:.3f}; read "
            "gap_above_chance"
        )
    tested = asked.infers and not asked.fixed
    fields = _gap_inference(asked, value, known) if tested else asked.untested()
    return asked.finding(value, details=details, notes=notes + asked.not_compared(), **fields)


def _gap_inference(asked: Asked, value: float, known: npt.NDArray[np.int64]) -> dict[str, Any]:
    null = np.ptp(asked.drawn("exchange", asked.bound.known), axis=1)
    draws = np.ptp(asked.drawn("bootstrap", asked.bound.known), axis=1)
    low, high = (ends[known] for ends in asked.intervals())
    return asked.gap_inference(value, null, draws, _mover(asked.precision[known], low, high))


def _mover(means_: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """The interval of the difference of the extreme groups (MOVER), also where nothing varies within them."""
    top, bottom = int(means_.argmax()), int(means_.argmin())
    value = means_[top] - means_[bottom]
    below = value - np.hypot(means_[top] - low[top], high[bottom] - means_[bottom])
    above = value + np.hypot(high[top] - means_[top], means_[bottom] - low[bottom])
    return float(below), float(above)


def _parts(asked: Asked) -> list[Part]:
    bound, kind = asked.bound, "*".join(asked.bound.by)
    if not bound.by:
        return []
    parts = []
    infers = asked.infers and asked.reason is None
    low, high = asked.intervals() if infers else (None, None)
    for code in range(len(bound.groups)):
        n, key = int(bound.sizes[code]), bound.key(code)
        if asked.reason is not None:
            parts.append(Part(kind=kind, key=key, value=None, n=n, reason=asked.reason))
            continue
        value = float(asked.precision[code])
        fields: dict[str, Any] = {"details": _details(value, float(asked.chance[code]))}
        if low is not None and high is not None:
            fields["interval"] = Interval(low=low[code], high=high[code], level=LEVEL, method=asked.method)
            fields |= asked.against_chance(bound.group == code, value)
        parts.append(Part(kind=kind, key=key, value=value, n=n, **fields))
    here = set(bound.groups)
    parts += [
        Part(kind=kind, key=as_key(group), value=None, n=count, reason=NOT_HELD)
        for group, count in bound.apart.items()
        if group not in here
    ]
    return corrected(parts)


def _details(value: float, chance: float) -> Details:
    return {"chance": chance, "above_chance": value - chance}


def _check_k(k: int, most: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"k={k!r} is not possible; choose a whole number from 1")
    if k > most:
        raise ParameterError(
            f"k={k} is not possible; these Neighbours hold {most} of each query; make them with k={k}"
        )
