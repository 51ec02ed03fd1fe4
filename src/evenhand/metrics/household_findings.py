"""Findings from HouseholdHits: rates by group, how far groups are apart, and what chance gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.results import Finding, Interval, Null, Part
from evenhand.core.seeds import stream
from evenhand.evidence.household_hits import UNNAMEABLE
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE
from evenhand.metrics.building import agreeing, described, null_band
from evenhand.metrics.group_questions import ONE_CLUSTER
from evenhand.metrics.household_groups import HouseholdGroups, HouseholdUnits
from evenhand.metrics.named_groups import corrected
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.metrics.small_groups import few_decide
from evenhand.stats.clustered import ClusterMean, difference_error
from evenhand.stats.differences import normal_quantile, pair_limits, range_limits, worst_limits
from evenhand.stats.exchange import Exchange, exchange
from evenhand.stats.rates import Rates

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

EXTREMES = "extremes"
"""The best group minus the worst one."""

_ALPHA = 0.05
_POWER = 0.8
_WILSON = "Wilson, n of independent households"
_MOVER = "MOVER of Wilson intervals by household"
_WORST = "Wilson of the groups by household, simultaneous"
_EXCHANGED = "households exchanged between groups, within concepts"
_CROWDED = "households lie in several of more than 30 groups, so there is no exchange of households"
_ROUNDING = 1e-9
_RICH = ["high", "low"]
_INSTEAD = "not every income is there: the gap is that of {} minus {} income"


@dataclass(frozen=True, eq=False)
class HitQuestion:
    """What one metric asks of bound evidence.

    Attributes:
        bound: Images by household and group.
        name: Name of the metric.
        mode: ``default`` or ``paper``.
        infers: Whether intervals, null bands and p are wanted.
        seed: Of the draws.
    """

    bound: HouseholdGroups
    name: str
    mode: str
    infers: bool
    seed: int

    @classmethod
    def make(
        cls, evidence: Any, name: str, *, by: By, weighting: str, mode: str, inference: str, seed: int
    ) -> HitQuestion:
        """Check what is asked for.

        Raises:
            UserError: An unknown attribute or option.
        """
        check_common(mode, inference)
        if seed < 0:
            raise ParameterError(f"seed={seed} is not possible; choose 0 or more")
        bound = HouseholdGroups.of(evidence, by, weighting=weighting, mode=mode)
        return cls(bound, name, mode, inference == "auto", seed)

    @property
    def reason(self) -> str | None:
        """Why there is no value at all."""
        if self.bound.n:
            return None
        return NOT_EXPRESSIBLE if set(self.bound.hits.dropped) == {UNNAMEABLE} else "empty"

    @cached_property
    def comparison(self) -> Comparison:
        """All groups, whose households change places; the same for every metric of this grouping."""
        bound = self.bound
        memo, key = bound.hits.memo, ("exchanged", bound.by, bound.weighting, self.mode, self.seed)
        if key not in memo:
            memo[key] = self.compared(np.arange(len(bound.groups)), "exchange")
        found: Comparison = memo[key]
        return found

    def compared(self, codes: Integers, *purpose: object) -> Comparison:
        """Some groups, whose households change places."""
        units = self.bound.units(codes)
        return Comparison(
            units, exchange(units.adjusted, self.stream(*purpose)) if units.comparable else None
        )

    @cached_property
    def rates(self) -> Rates:
        """The rates of the groups, for their limits."""
        return Rates.of_clusters(self.bound.means)

    def stream(self, *purpose: object) -> np.random.Generator:
        """Random numbers for one purpose."""
        bound = self.bound
        return stream(self.seed, "households", "+".join(bound.by), bound.weighting, self.mode, *purpose)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the evidence and the definition say already filled in."""
        bound = self.bound
        hits = bound.hits
        params: dict[str, Any] = {
            **fields.pop("params", {}),
            **({"threshold": hits.threshold} if hits.threshold else {}),
            **({"top": hits.top} if hits.top != 5 else {}),
            **({"weighting": bound.weighting} if bound.weighting != "household" else {}),
            **hits.facts,
            **({"mode": self.mode} if self.mode == "paper" else {}),
        }
        details = {"households": float(np.unique(bound.whole.cluster).size), "coverage": bound.coverage}
        return described(
            bound,
            self.name,
            params,
            value,
            notes=[*hits.notes, *fields.pop("notes", [])],
            details={**details, **fields.pop("details", {})},
            **fields,
        )

    def interval(self, mean: ClusterMean, level: float = LEVEL) -> Interval | None:
        """The interval of one mean; None below two households."""
        if mean.clusters < 2:
            return None
        low, high = (float(end[0]) for end in Rates.of_clusters([mean]).limits(normal_quantile(level)))
        return Interval(low=low, high=high, level=level, method=_WILSON)

    def parts(self) -> list[Part]:
        """The rate of each group, and how it stands to the rest of the households."""
        bound = self.bound
        if not bound.by:
            return []
        found = []
        drawn = self.comparison.exchange if self.infers and len(bound.groups) > 1 else None
        p_values = None if drawn is None else drawn.p_each().tolist()
        for code, mean in enumerate(bound.means):
            fields: dict[str, Any] = {}
            if self.infers:
                fields = {"interval": self.interval(mean)}
                if mean.clusters < 2:
                    fields["reason"] = ONE_CLUSTER
            if p_values is not None:
                fields |= {"null": self.band(self.comparison.nulls[:, code]), "p_value": p_values[code]}
            details: dict[str, float | str | None] = {
                "households": float(mean.clusters),
                "coverage": bound.covered[code],
            }
            kind, n = "*".join(bound.by), int(bound.sizes[code])
            found.append(
                Part(kind=kind, key=bound.key(code), value=mean.value, n=n, details=details, **fields)
            )
        return corrected(found)

    def band(self, draws: Floats, side: str = "both") -> Null | None:
        """A null band of what exchanged households give."""
        return null_band(draws, level=LEVEL, method=_EXCHANGED, seed=self.seed, side=side)

    def few(self, codes: Sequence[int]) -> list[str]:
        """A note where groups that decide a value have few households."""
        named = ((self.bound.text(code), self.bound.means[code].clusters) for code in dict.fromkeys(codes))
        return few_decide(named, "households")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Groups, and what they show where households change places.

    Attributes:
        units: Their rows.
        exchange: Of hits without what concepts make of them; None where nothing can change places.
    """

    units: HouseholdUnits
    exchange: Exchange | None

    @property
    def nulls(self) -> Floats:
        """Rates that groups of these concepts have by chance, shape (R, G)."""
        drawn = np.zeros((0, self.units.rows.groups)) if self.exchange is None else self.exchange.rates
        return np.asarray(np.clip(self.units.expected + drawn - self.units.rows.mean, 0, 1))

    def details(self, chance: float) -> dict[str, Any]:
        """The gap by concept alone; nothing where all show the same."""
        return {} if self.units.topic is None else {"gap_by_concept": chance}


def rate_finding(question: HitQuestion) -> Finding:
    """The mean over households, with a part for each group."""
    if question.reason is not None:
        return question.finding(None, reason=question.reason)
    mean = question.bound.whole.means()[0]
    if not question.infers:
        return question.finding(mean.value, parts=question.parts())
    reason = ONE_CLUSTER if mean.clusters < 2 else None
    found = question.finding(
        mean.value, interval=question.interval(mean), reason=reason, parts=question.parts()
    )
    return found.with_levels(lambda level: question.interval(mean, level))


def gap_finding(question: HitQuestion, groups: Sequence[str | Sequence[str]] | str | None) -> Finding:
    """How far two groups are apart, or the best and the worst one.

    Args:
        question: What is asked.
        groups: Two groups, the second is taken from the first; ``extremes``; or None: high minus low income
            by ``income_bucket`` alone, else the extremes.

    Raises:
        UnknownName: A group that does not occur.
    """
    bound = question.bound
    if not bound.by:
        raise InputError("a gap needs groups to compare; type by='income_bucket' or by='region'")
    notes: list[str] = []
    if groups is None:
        groups = _by_income(bound) if bound.by == ("income_bucket",) else EXTREMES
        notes = [_INSTEAD.format(*groups)] if groups not in (_RICH, EXTREMES) else []
    if isinstance(groups, str):
        if groups != EXTREMES:
            raise ParameterError(f"groups={groups!r} is not possible; give two groups, or 'extremes'")
        return _extremes(question)
    keys = [(key,) if isinstance(key, str) else tuple(key) for key in groups]
    if len(keys) != 2 or keys[0] == keys[1]:
        raise ParameterError(f"groups={list(groups)!r} is not possible; give two groups, or 'extremes'")
    names = ["*".join(key) for key in keys]
    params = {"groups": names}
    if question.reason is not None or len(bound.groups) < 2:
        reason = question.reason or "single_group"
        return question.finding(None, reason=reason, params=params, parts=question.parts())
    absent = [name for name, key in zip(names, keys, strict=True) if key not in bound.groups]
    if absent:
        raise UnknownName("group", absent[0], [bound.text(code) for code in range(len(bound.groups))])
    return _between(question, [bound.groups.index(key) for key in keys], params=params, notes=notes)


def _by_income(bound: HouseholdGroups) -> list[str]:
    """High and low income; where no household has one of them, the richest and the poorest that are there."""
    there = [bound.text(code) for code in range(len(bound.groups))]
    return _RICH if len(there) < 2 else [there[-1], there[0]]


def _between(question: HitQuestion, codes: list[int], **fields: Any) -> Finding:
    bound = question.bound
    first, second = (bound.means[code] for code in codes)
    value = first.value - second.value
    details = {
        "first": bound.text(codes[0]),
        "first_rate": first.value,
        "second": bound.text(codes[1]),
        "second_rate": second.value,
    }
    fields["notes"] = [*fields.get("notes", []), *question.few(codes)]
    if not question.infers:
        return question.finding(value, details=details, parts=question.parts(), **fields)
    compared = question.compared(np.array(codes), "exchange", *codes)
    chance = float(compared.units.expected[0] - compared.units.expected[1])
    details |= compared.details(chance)
    rates = Rates.of_clusters([first, second])
    draws = compared.nulls[:, 0] - compared.nulls[:, 1]
    fields["mde"] = _detectable(difference_error(first, second))
    return _compared(
        question,
        value,
        compared,
        chance,
        lambda level: pair_limits(rates, level),
        draws,
        details=details,
        **fields,
    )


def _detectable(error: float) -> float | None:
    """The gap that would be called beyond chance with a power of .8; None above 1."""
    from scipy import special

    least = float(special.ndtri(1 - _ALPHA / 2) + special.ndtri(_POWER)) * error
    return least if 0 < least <= 1 else None


def _compared(
    question: HitQuestion,
    value: float,
    compared: Comparison,
    chance: float,
    limits: Callable[[float], tuple[float, float]],
    draws: Floats,
    **fields: Any,
) -> Finding:
    """A gap with its interval, and with null and p where households can change places."""
    if compared.units.rows.fixed:
        return question.finding(value, reason=ONE_CLUSTER, parts=question.parts(), **{**fields, "mde": None})
    p_value = None
    if compared.exchange is not None:
        p_value = compared.exchange.p_largest()
    else:
        fields["notes"] = [*fields.get("notes", []), _CROWDED]

    def make(level: float) -> Interval:
        low, high = agreeing(limits(level), p_value, chance, level)
        return Interval(low=min(low, value), high=max(high, value), level=level, method=_MOVER)

    side = "both" if fields["details"].get("first") else "high"
    found = question.finding(
        value,
        interval=make(LEVEL),
        null=question.band(draws, side) if p_value is not None else None,
        p_value=p_value,
        chance_at=chance if abs(chance) > _ROUNDING else None,
        parts=question.parts(),
        **fields,
    )
    return found.with_levels(make)


def _extremes(question: HitQuestion) -> Finding:
    bound = question.bound
    params = {"groups": EXTREMES}
    reason = question.reason or ("single_group" if len(bound.groups) < 2 else None)
    if reason is not None:
        return question.finding(None, reason=reason, params=params, parts=question.parts())
    rates = bound.rates
    best, worst = int(rates.argmax()), int(rates.argmin())
    value = float(rates[best] - rates[worst])
    details: dict[str, Any] = {
        "best": bound.text(best),
        "best_rate": float(rates[best]),
        "worst": bound.text(worst),
        "worst_rate": float(rates[worst]),
    }
    fields: dict[str, Any] = {"params": params, "notes": question.few([best, worst])}
    if not question.infers:
        return question.finding(value, details=details, parts=question.parts(), **fields)
    compared = question.comparison
    chance = float(np.ptp(compared.units.expected))
    details |= compared.details(chance)

    def limits(level: float) -> tuple[float, float]:
        quantile = None if compared.exchange is None else compared.exchange.quantile_largest(level)
        low, high = range_limits(question.rates, level, quantile=quantile)
        return float(low), float(high)

    draws = np.ptp(compared.nulls, axis=1)
    return _compared(question, value, compared, chance, limits, draws, details=details, **fields)


def worst_finding(question: HitQuestion) -> Finding:
    """The rate of the group that is recognised least."""
    bound = question.bound
    if not bound.by:
        raise InputError("a worst group needs groups; type by='income_bucket' or by='region'")
    reason = question.reason or ("single_group" if len(bound.groups) < 2 else None)
    if reason is not None:
        return question.finding(None, reason=reason, parts=question.parts())
    worst = int(bound.rates.argmin())
    value = float(bound.rates[worst])
    fields: dict[str, Any] = {"details": {"worst": bound.text(worst)}, "notes": question.few([worst])}
    fields["parts"] = question.parts()
    if not question.infers:
        return question.finding(value, **fields)
    drawn = question.comparison.exchange
    if drawn is not None:
        fields["null"] = question.band(question.comparison.nulls.min(axis=1), "low")
        fields["p_value"] = drawn.p_below_rest()

    def make(level: float) -> Interval:
        low, high = worst_limits(question.rates, level)
        return Interval(low=float(low), high=float(high), level=level, method=_WORST)

    return question.finding(value, interval=make(LEVEL), **fields).with_levels(make)
