"""What is asked of rankings: options checked, rankings made, the figure of every query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from evenhand.core.errors import ParameterError, check_known
from evenhand.core.random_streams import stream
from evenhand.evidence.rankings import Pools, Rankings
from evenhand.metrics.estimates import By, Fields, Inference, Mode, check_common, names_of
from evenhand.stats.arrays import Floats, Integers, Mask, Pair, Rng
from evenhand.stats.rankings.fairness import RankedPools, Tops, target_shares, tops
from evenhand.stats.rankings.null import NullDistribution

Target = str | Mapping[str, float]
Details: TypeAlias = dict[str, list[float | str | None]]
RankingView = Callable[[Tops, Integers], Details]
Values = Callable[[Integers, Integers, int], Floats]
"""From counts among the first k and pools, both of shape (T, G), and k to values, shape (T,)."""

_CELLS = 20_000_000  # query x place x group counts held at once


@dataclass(frozen=True, eq=False)
class BoundRankings:
    """One retrieval metric, checked and bound."""

    name: str  # the metric's name
    pools: Pools  # the usable rows
    target: Target  # as given: ``pool``, ``equal``, or a share for each group
    mode: Mode  # ``default`` or ``paper``
    inference: Inference  # ``auto`` or ``none``
    seed: int  # of every random stream

    @classmethod
    def make(
        cls,
        name: str,
        evidence: Rankings,
        by: By,
        target: Target,
        mode: Mode,
        inference: Inference,
        seed: int,
    ) -> BoundRankings:
        """Check what every retrieval metric takes."""
        check_common(mode, inference, seed)
        if not isinstance(evidence, Rankings):
            raise ParameterError(
                f"{name} takes Rankings, not {type(evidence).__name__}; see Rankings.from_frame"
            )
        names = names_of(by)
        if not names:
            raise ParameterError(f"{name} compares groups; name an attribute with by=")
        bound = cls(name, evidence.pools(names), target, mode, inference, seed)
        bound.shares  # noqa: B018 - a wrong target is refused before anything is computed
        return bound

    @property
    def group_names(self) -> list[str]:
        """The groups as options name them; crossed values are joined by ``+``."""
        return ["+".join(map(str, group)) for group in self.pools.groups]

    @cached_property
    def shares(self) -> str | Floats:
        """The target as the kernels take it."""
        if isinstance(self.target, str):
            if self.target not in ("pool", "equal"):
                raise ParameterError(
                    f"target={self.target!r} is not possible; choose 'pool', 'equal', or shares of groups"
                )
            return self.target
        check_known("group", self.target, self.group_names)
        shares = np.array([self.target.get(name, 0.0) for name in self.group_names], dtype=np.float64)
        if not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
            raise ParameterError(
                f"target={dict(self.target)!r} is not possible; give each of {self.group_names} a share "
                "above 0, together 1"
            )
        return shares

    def code_of(self, group: str) -> int:
        """Which group a name stands for."""
        check_known(f"group of {'+'.join(self.pools.by)}", group, self.group_names)
        return self.group_names.index(group)

    @property
    def params(self) -> Fields:
        """What the metric's printed name tells of target and mode."""
        printed = self.target
        if not isinstance(printed, str):
            printed = ",".join(f"{name}={printed[name]:g}" for name in self.group_names)
        return {
            **({"target": printed} if printed != "pool" else {}),
            **({"mode": self.mode} if self.mode == "paper" else {}),
        }

    @property
    def paper(self) -> bool:
        """Whether the released code is followed."""
        return self.mode == "paper"

    def ranked(self) -> Iterator[tuple[slice, RankedPools]]:
        """The rankings in pieces of bounded size, and which queries each holds."""
        ties = "stable" if self.paper else "expected"
        codes, scores = self.pools.codes, self.pools.scores
        rows = max(1, _CELLS // max(1, codes.shape[1] * len(self.pools.groups)))
        for start in range(0, len(codes), rows):
            piece = slice(start, start + rows)
            key = (ties, start, rows)
            ranked = self.pools.memo.get(key)
            if ranked is None:
                width = int((codes[piece] >= 0).sum(axis=1).max())
                groups = len(self.pools.groups)
                ranked = RankedPools.rank(codes[piece, :width], scores[piece, :width], groups, ties)
            if rows >= len(codes):
                self.pools.memo[key] = ranked
            yield piece, ranked

    def stream(self, *purpose: object) -> Rng:
        """The random stream for one purpose."""
        return stream(self.seed, "+".join(self.pools.by), self.name, *sorted(self.params.items()), *purpose)

    def targets(self, pools: Integers) -> Floats:
        """Target shares for pools of shape (R, G)."""
        return target_shares(pools, self.shares)


@dataclass(frozen=True, eq=False)
class Figures:
    """A figure of every query, shape (R,) each."""

    values: Floats  # NaN where undefined
    reasons: dict[int, str]  # why, by query
    pools: Integers  # samples of each group, shape (R, G)
    tied: Mask  # whether ties left the figure open
    details: Details = field(default_factory=dict)  # more of each query: name to a list of R
    notes: list[str] = field(default_factory=list)  # what to know about them
    deciding: tuple[int, ...] = ()  # codes of the groups that decide the mean

    @property
    def lacking(self) -> dict[int, str]:
        """Queries without a value, and why."""
        missing = np.flatnonzero(np.isnan(self.values)).tolist()
        return {query: self.reasons.get(query, "undefined") for query in missing}


def top_figures(bound: BoundRankings, k: int, values_of: Values, view: RankingView | None = None) -> Figures:
    """A figure of the first k places; ``view`` goes from their contents and pools to details of queries."""
    parts: list[tuple[Floats, Integers, Mask]] = []
    details: Details = {}
    for piece, ranked in bound.ranked():
        outcomes = tops(ranked, k, bound.stream("ties", k, piece.start))
        enough = ranked.sizes >= k
        outcome_values = values_of(outcomes.counts, ranked.pools[outcomes.owner], k)
        values = outcomes.mean(np.where(enough[outcomes.owner], outcome_values, np.nan))
        parts.append((values, ranked.pools, ranked.open_at(k) & enough))
        for name, column in (view(outcomes, ranked.pools) if view else {}).items():
            details.setdefault(name, []).extend(column)
    values, pools, tied = (np.concatenate(column) for column in zip(*parts, strict=True))
    short = np.flatnonzero(pools.sum(axis=1) < k)
    return Figures(values, dict.fromkeys(short.tolist(), "k_exceeds_pool"), pools, tied, details)


@dataclass(frozen=True, eq=False)
class Statistic:
    """A figure of one ranking, as chance needs it."""

    of: Callable[[RankedPools], Floats]  # from rankings to their values, shape (R,)
    null_of: Callable[[Integers, Rng], NullDistribution]  # of all rankings of one pool, shape (G,)
    like_pool: Callable[[Integers], Floats]  # from pools, shape (R, G), to values of tops like them
    spread: Callable[[Integers], Floats]  # from them to what the variance is proportional to
    side: str  # which side of chance is unfair: ``high``, ``low`` or ``both``
    bounds: Pair  # what a mean can be at all, for the interval
