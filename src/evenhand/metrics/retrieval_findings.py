"""Findings from rankings: a figure of every query, their mean, and what random rankings give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.bound import BoundMetric
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.core.results import Dropped, Finding, GroupSize, Interval, Null, Part
from evenhand.core.seeds import stream
from evenhand.evidence.rankings import Pools, Rankings
from evenhand.metrics.building import number
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.metrics.prepared import LEVEL, By, check_common, names_of
from evenhand.stats.multiplicity import adjust
from evenhand.stats.ranking_null import Chance, null_of_mean
from evenhand.stats.rankings import RankedPools, Tops, target_shares, tops

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Target = str | Mapping[str, float]
Details: TypeAlias = dict[str, list[float | str | None]]
Look = Callable[[Tops, Ints], Details]

_ROUNDING = 1e-12  # values of queries that differ by less are equal
_CELLS = 20_000_000  # query x place x group counts held at once


@dataclass(frozen=True, eq=False)
class Asked:
    """One retrieval metric, checked and bound.

    Attributes:
        name: The metric's name.
        pools: The usable rows.
        target: As given: ``pool``, ``equal``, or a share for each group.
        mode: ``default`` or ``paper``.
        inference: ``auto`` or ``none``.
        seed: Of every random stream.
    """

    name: str
    pools: Pools
    target: Target
    mode: str
    inference: str
    seed: int

    @classmethod
    def make(
        cls, name: str, evidence: Rankings, by: By, target: Target, mode: str, inference: str, seed: int
    ) -> Asked:
        """Check what every retrieval metric takes.

        Raises:
            UserError: No Rankings, an unknown attribute or option, or no usable row.
        """
        check_common(mode, inference)
        if not isinstance(evidence, Rankings):
            raise ParameterError(
                f"{name} takes Rankings, not {type(evidence).__name__}; see Rankings.from_frame"
            )
        if seed < 0:
            raise ParameterError(f"seed={seed} is not possible; choose 0 or more")
        names = names_of(by)
        if not names:
            raise ParameterError(f"{name} compares groups; name an attribute with by=")
        asked = cls(name, evidence.pools(names), target, mode, inference, seed)
        asked.shares  # noqa: B018 - a wrong target is refused before anything is computed
        return asked

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
        for name in self.target:
            if name not in self.group_names:
                raise UnknownName("group", str(name), self.group_names)
        shares = np.array([self.target.get(name, 0.0) for name in self.group_names], dtype=np.float64)
        if not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
            raise ParameterError(
                f"target={dict(self.target)!r} is not possible; give each of {self.group_names} a share "
                "above 0, together 1"
            )
        return shares

    def code_of(self, group: str) -> int:
        """Which group a name stands for.

        Raises:
            UnknownName: No usable row has it.
        """
        if group not in self.group_names:
            raise UnknownName(f"group of {'+'.join(self.pools.by)}", group, self.group_names)
        return self.group_names.index(group)

    @property
    def params(self) -> dict[str, Any]:
        """What the metric's printed name tells of target and mode."""
        given = self.target
        if not isinstance(given, str):
            given = ",".join(f"{name}={given[name]:g}" for name in self.group_names)
        return {
            **({"target": given} if given != "pool" else {}),
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
            if key in self.pools.memo:
                yield piece, self.pools.memo[key]
                continue
            width = int((codes[piece] >= 0).sum(axis=1).max())
            ranked = RankedPools.rank(
                codes[piece, :width], scores[piece, :width], len(self.pools.groups), ties
            )
            if rows >= len(codes):
                self.pools.memo[key] = ranked
            yield piece, ranked

    def stream(self, *purpose: object) -> np.random.Generator:
        """The random stream for one purpose."""
        return stream(self.seed, "+".join(self.pools.by), self.name, *sorted(self.params.items()), *purpose)

    def targets(self, pools: Ints) -> Floats:
        """Target shares for pools of shape (R, G)."""
        return target_shares(pools, self.shares)


@dataclass(frozen=True, eq=False)
class Figures:
    """A figure of every query, shape (R,) each.

    Attributes:
        values: NaN where undefined.
        reasons: Why, by query.
        pools: Samples of each group, shape (R, G).
        tied: Whether ties left the figure open.
        details: More of each query: name to a list of R.
        notes: What to know about them.
    """

    values: Floats
    reasons: dict[int, str]
    pools: Ints
    tied: Bools
    details: Details = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def top_figures(
    asked: Asked, k: int, values_of: Callable[[Ints, Ints], Floats], look: Look | None = None
) -> Figures:
    """A figure of the first k places.

    Args:
        asked: The bound metric.
        k: Places.
        values_of: From counts among the first k and pools, both of shape (T, G), to values, shape (T,).
        look: From possible contents and pools to more details of each query.
    """
    parts: list[tuple[Floats, Ints, Bools]] = []
    details: Details = {}
    for piece, ranked in asked.ranked():
        found = tops(ranked, k, asked.stream("ties", k, piece.start))
        enough = ranked.sizes >= k
        values = found.mean(
            np.where(enough[found.owner], values_of(found.counts, ranked.pools[found.owner]), np.nan)
        )
        parts.append((values, ranked.pools, ranked.open_at(k) & enough))
        for name, column in (look(found, ranked.pools) if look else {}).items():
            details.setdefault(name, []).extend(column)
    values, pools, tied = (np.concatenate(column) for column in zip(*parts, strict=True))
    short = np.flatnonzero(pools.sum(axis=1) < k)
    return Figures(values, dict.fromkeys(short.tolist(), "k_exceeds_pool"), pools, tied, details)


def retrieval_finding(
    asked: Asked,
    figures: Figures,
    params: Mapping[str, Any],
    null_of: Callable[[Ints, np.random.Generator], Chance],
    *,
    side: str,
    bounds: tuple[float, float],
) -> Finding:
    """The mean over queries with all that belongs to it.

    Args:
        asked: The bound metric.
        figures: A figure of every query.
        params: Parameters beside target and mode.
        null_of: From the pool of one query, shape (G,), to what random rankings of it give.
        side: Which side of the null is unfair: ``high``, ``low`` or ``both``.
        bounds: What a mean can be at all, for the interval.
    """
    usable = np.flatnonzero(~np.isnan(figures.values))
    values = figures.values[usable]
    value = number(values.mean()) if values.size else None
    sigma = float(values.std(ddof=1)) if values.size > 1 else None
    chances: dict[int, Chance] = {}
    fields: dict[str, Any] = {}
    details: dict[str, float | str | None] = {"sigma": sigma, "queries": float(values.size)}
    if figures.tied.any():
        details["tied_queries"] = float(figures.tied.sum())
    notes = [*_notes(asked, figures), *figures.notes]
    if asked.inference == "auto" and value is not None:
        chances = _chances(asked, figures.pools, usable, null_of)
        whole = null_of_mean([chances[query] for query in usable.tolist()])
        details |= _against(whole, value)
        fields = {
            "null": _null(whole, asked.seed, "each pool, convolved over queries"),
            "p_value": whole.p_value(value, side),
            "interval": t_interval(values, bounds),
        }
        if sigma is not None and fields["interval"] is None:
            notes.append("no interval: every query has the same value, which says nothing about their spread")
    return Finding(
        **_bound(asked, params),
        value=value,
        reason=_overall_reason(figures) if value is None else None,
        parts=_parts(asked, figures, chances, side),
        dropped=_dropped(asked, figures),
        notes=notes,
        details=details,
        **fields,
    )


def _bound(asked: Asked, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the metric, its parameters and the pools say, whatever was found."""
    definition = DEFINITIONS[asked.name]
    by, every = asked.pools.by, {**params, **asked.params}
    sizes = asked.pools.group_sizes.tolist()
    return {
        "metric": str(BoundMetric.make(asked.name, by, every)),
        "name": asked.name,
        "params": {key: param for key, param in every.items() if param is not None},
        "by": list(by),
        "n": sum(sizes),
        "groups": [GroupSize(key=asked.pools.group_key(code), n=n) for code, n in enumerate(sizes)],
        "fair_at": definition.fair_at,
        "direction": definition.direction,
        "source": definition.source,
    }


def t_interval(values: Floats, bounds: tuple[float, float]) -> Interval | None:
    """Student's interval for the mean over queries, cut to what is possible; None without any spread."""
    from scipy import special

    if values.size < 2 or np.ptp(values) <= _ROUNDING:
        return None
    half = special.stdtrit(values.size - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(values.size)
    low, high = np.clip([values.mean() - half, values.mean() + half], *bounds)
    return Interval(low=low, high=high, level=LEVEL, method="Student's t over queries")


def _chances(
    asked: Asked, pools: Ints, usable: Ints, null_of: Callable[[Ints, np.random.Generator], Chance]
) -> dict[int, Chance]:
    """What chance gives for each usable query; equal pools share one distribution."""
    known: dict[tuple[int, ...], Chance] = {}
    for pool in map(tuple, np.unique(pools[usable], axis=0).tolist()):
        known[pool] = null_of(np.array(pool), asked.stream("null", pool))
    return {query: known[tuple(pools[query].tolist())] for query in usable.tolist()}


def _against(chance: Chance, value: float) -> dict[str, float | str | None]:
    return {"null_sd": number(chance.sd), "z": number(chance.z(value))}


def _null(chance: Chance, seed: int, what: str) -> Null:
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


def _parts(asked: Asked, figures: Figures, chances: Mapping[int, Chance], side: str) -> list[Part]:
    values, sizes = figures.values, figures.pools.sum(axis=1)
    p = np.full(values.size, np.nan)
    nulls: dict[int, Null] = {}
    for query, chance in chances.items():
        p[query] = chance.p_value(float(values[query]), side)
        if id(chance) not in nulls:
            nulls[id(chance)] = _null(chance, asked.seed, "this pool")
    corrected = adjust(p, "holm")
    parts = []
    for query, name in enumerate(asked.pools.queries):
        value = number(values[query])
        details = {key: column[query] for key, column in figures.details.items()}
        if figures.tied[query]:
            details["tied"] = "at the cut"
        fields: dict[str, Any] = {}
        if query in chances and value is not None:
            chance = chances[query]
            details |= _against(chance, value)
            fields = {"null": nulls[id(chance)], "p_value": p[query], "p_adjusted": number(corrected[query])}
        parts.append(
            Part(
                kind=asked.pools.kind,
                key=name,
                value=value,
                n=sizes[query],
                reason=figures.reasons.get(query, "undefined") if value is None else None,
                details=details,
                **fields,
            )
        )
    return parts


def _overall_reason(figures: Figures) -> str:
    found = {figures.reasons.get(query, "undefined") for query in range(figures.values.size)}
    return found.pop() if len(found) == 1 else "no_usable_query"


def _dropped(asked: Asked, figures: Figures) -> list[Dropped]:
    dropped = [Dropped(reason=reason, count=count) for reason, count in asked.pools.dropped]
    if asked.pools.emptied:
        dropped.append(Dropped(reason="query without usable samples", count=asked.pools.emptied))
    reasons = [
        figures.reasons.get(query, "undefined") for query in np.flatnonzero(np.isnan(figures.values)).tolist()
    ]
    return dropped + [
        Dropped(reason=f"query: {reason}", count=reasons.count(reason)) for reason in dict.fromkeys(reasons)
    ]


def _notes(asked: Asked, figures: Figures) -> list[str]:
    notes, total = [], figures.values.size
    lost = int((asked.pools.lost > 0).sum())
    if lost:
        notes.append(f"the pools of {lost} of {total} queries lost samples (see dropped)")
    tied = int(figures.tied.sum())
    if tied:
        notes.append(
            f"in {tied} of {total} queries tied scores leave the order open: the average over all orders"
        )
    if asked.pools.shared and asked.inference == "auto":
        notes.append("queries share samples: p and null band take their rankings as independent")
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
