"""Findings from HouseholdHits: rates by group, how far groups are apart, and what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding, Interval, NewDetails, Null, Part
from evenhand.core.random_streams import stream
from evenhand.evidence.household_hits import UNNAMEABLE
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE
from evenhand.metrics.estimates import agreeing, few_decide, null_band
from evenhand.metrics.group_rates import ONE_CLUSTER, GroupQuestion
from evenhand.metrics.households.tables import BoundHits, HouseholdUnits
from evenhand.metrics.named_groups import get_or_make
from evenhand.metrics.prepared import LEVEL, Z_LEVEL, Z_POWER, By, Inference, Mode, Weighting, check_common
from evenhand.stats.arrays import Floats, Limits, Pair, pair_of
from evenhand.stats.rates.clustered import difference_error
from evenhand.stats.rates.differences import pair_limits, range_limits, worst_limits
from evenhand.stats.rates.rates import Rates

EXTREMES = "extremes"
"""The best group minus the worst one."""

_WILSON = "Wilson, n of independent households"
_MOVER = "MOVER of Wilson intervals by household"
_WORST = "Wilson of the groups by household, simultaneous"
_EXCHANGED = "households exchanged between groups, within concepts"
_CROWDED = "households lie in several of more than 30 groups, so there is no exchange of households"
_ROUNDING = 1e-9
_RICH = ["high", "low"]
_INSTEAD = "not every income is there: the gap is that of {} minus {} income"


@dataclass(frozen=True, eq=False)
class HitQuestion(GroupQuestion):
    """What one metric asks of images by household and group."""

    bound: BoundHits
    units, exchanged_how, method = "households", _EXCHANGED, _WILSON

    def rates_of(self, **codes: int) -> NewDetails:
        """The groups with these codes by name, and their rates, for the details of a gap."""
        details: NewDetails = {}
        for role, code in codes.items():
            details |= {role: self.bound.text(code), f"{role}_rate": float(self.bound.rates[code])}
        return details

    @classmethod
    def make(
        cls,
        name: str,
        evidence: Any,
        by: By,
        weighting: Weighting,
        mode: Mode,
        inference: Inference,
        seed: int,
    ) -> HitQuestion:
        """Check what is asked for.

        Raises:
            UserError: An unknown attribute or option.
        """
        check_common(mode, inference, seed)
        bound = BoundHits.of(evidence, by, weighting=weighting, mode=mode)
        return cls(bound, name, "keep", mode, inference == "auto", seed)

    @property
    def reason(self) -> str | None:
        """Why there is no value at all."""
        if self.bound.n:
            return None
        return NOT_EXPRESSIBLE if set(self.bound.hits.dropped) == {UNNAMEABLE} else "empty"

    def no_gap(self) -> str | None:
        """Why groups cannot be compared."""
        return self.reason or ("single_group" if len(self.bound.groups) < 2 else None)

    @cached_property
    def comparison(self) -> HouseholdUnits:
        """All groups, whose households change places; the same for every metric of this grouping."""
        bound = self.bound
        key, every = ("exchanged", bound.by, bound.weighting, self.mode, self.seed), len(bound.groups)
        return get_or_make(
            bound.hits.memo, key, lambda: bound.units(np.arange(every), self.stream("exchange"))
        )

    @cached_property
    def grouped(self) -> Rates:
        """The rates of the groups, for their limits."""
        return Rates.of_clusters(self.bound.means)

    def stream(self, *purpose: object) -> np.random.Generator:
        """Random numbers for one purpose."""
        bound = self.bound
        return stream(self.seed, "households", "+".join(bound.by), bound.weighting, self.mode, *purpose)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the evidence and the definition say already filled in."""
        hits, weighting = self.bound.hits, self.bound.weighting
        params: dict[str, Any] = {
            **fields.pop("params", {}),
            **({"threshold": hits.threshold} if hits.threshold else {}),
            **({"top": hits.top} if hits.top != 5 else {}),
            **({"weighting": weighting} if weighting != "household" else {}),
        }
        households = float(np.unique(self.bound.whole.cluster).size)
        details = {"households": households, "coverage": self.bound.coverage, **fields.pop("details", {})}
        return self.described(value, params, hits.facts, list(hits.notes), details=details, **fields)

    def parts(self) -> list[Part]:
        """The rate of each group, and how it stands to the rest of the households."""
        bound = self.bound
        tested = self.comparison if bound.by and self.infers and len(bound.groups) > 1 else None
        exchanged = None if tested is None else tested.exchange
        hits = np.bincount(bound.group, bound.rows["hit"].to_numpy(), len(bound.groups))
        p_values = None if exchanged is None else exchanged.p_each()

        def fields(code: int) -> dict[str, Any]:
            mean = bound.means[code]
            details: NewDetails = {"households": float(mean.clusters), "coverage": bound.covered[code]}
            details["n_hits"] = float(hits[code])
            part_fields: dict[str, Any] = {"value": mean.value, "details": details}
            if self.infers:
                part_fields |= self.interval_of(code, mean.value)
            if p_values is not None:
                null = self.band(self.comparison.nulls[:, code])
                part_fields |= {"null": null, "p_value": float(p_values[code])}
            return part_fields

        return bound.parts(fields)

    def band(self, draws: Floats, side: str = "both") -> Null | None:
        """A null band of what exchanged households give."""
        return null_band(draws, level=LEVEL, method=_EXCHANGED, seed=self.seed, side=side)

    def small(self, codes: Sequence[int]) -> list[str]:
        """A note where groups that decide a value have few households."""
        group_sizes = (
            (self.bound.text(code), self.bound.means[code].clusters) for code in dict.fromkeys(codes)
        )
        return few_decide(group_sizes, "households")


def rate_finding(question: HitQuestion) -> Finding:
    """The mean over households, with a part for each group."""
    if question.reason is not None:
        return question.finding(None, reason=question.reason)
    mean = question.bound.whole.means()[0]
    if not question.infers:
        return question.finding(mean.value, parts=question.parts())
    return question.rate(mean.value, Rates.of_clusters([mean]), parts=question.parts())


def gap_finding(question: HitQuestion, groups: Sequence[str | Sequence[str]] | str | None) -> Finding:
    """How far two groups are apart, the second taken from the first; or the best and the worst one.

    Without ``groups``: high minus low income by ``income_bucket`` alone, else the ``extremes``.

    Raises:
        UnknownName: A group that does not occur.
    """
    bound = question.bound
    if not bound.by:
        raise InputError("a gap needs groups to compare; type by='income_bucket' or by='region'")
    notes: list[str] = []
    if groups is None:
        there = [bound.text(code) for code in (-1, 0)] if len(bound.groups) > 1 else _RICH
        groups = there if bound.by == ("income_bucket",) else EXTREMES
        # where no household has one of them, the richest and the poorest that are there
        notes = [_INSTEAD.format(*groups)] if groups not in (_RICH, EXTREMES) else []
    if groups == EXTREMES:
        return _extremes(question)
    keys = [] if isinstance(groups, str) else [(k,) if isinstance(k, str) else tuple(k) for k in groups]
    if len(keys) != 2 or keys[0] == keys[1]:
        listed = groups if isinstance(groups, str) else list(groups)
        raise ParameterError(f"groups={listed!r} is not possible; give two groups, or 'extremes'")
    names = ["*".join(key) for key in keys]
    params, reason = {"groups": names}, question.no_gap()
    if reason is not None:
        return question.finding(None, reason=reason, params=params, parts=question.parts())
    absent = [name for name, key in zip(names, keys, strict=True) if key not in bound.groups]
    if absent:
        raise UnknownName("group", absent[0], [bound.text(code) for code in range(len(bound.groups))])
    return _between(question, [bound.groups.index(key) for key in keys], params=params, notes=notes)


def _between(question: HitQuestion, codes: list[int], **fields: Any) -> Finding:
    """The rate of one group minus that of another."""
    bound = question.bound
    first, second = (bound.means[code] for code in codes)
    value, rates = first.value - second.value, Rates.of_clusters([first, second])
    fields["details"] = question.rates_of(first=codes[0], second=codes[1])
    fields["notes"] = [*fields["notes"], *question.small(codes)]
    if not question.infers:
        return question.finding(value, parts=question.parts(), **fields)
    units = bound.units(np.array(codes), question.stream("exchange", *codes))
    least = (Z_LEVEL + Z_POWER) * difference_error(first, second)
    fields["mde"] = least if 0 < least <= 1 else None
    chance, null = -float(np.diff(units.expected)[0]), question.band(-np.diff(units.nulls)[:, 0], "both")
    return _compared(question, value, units, chance, null, lambda level: pair_limits(rates, level), **fields)


def _extremes(question: HitQuestion) -> Finding:
    """The rate of the best group minus that of the worst one."""
    bound, reason = question.bound, question.no_gap()
    fields: dict[str, Any] = {"params": {"groups": EXTREMES}}
    if reason is not None:
        return question.finding(None, reason=reason, parts=question.parts(), **fields)
    rates = bound.rates
    best, worst = int(rates.argmax()), int(rates.argmin())
    value = float(rates[best] - rates[worst])
    fields["details"] = question.rates_of(best=best, worst=worst)
    fields["notes"] = question.small([best, worst])
    if not question.infers:
        return question.finding(value, parts=question.parts(), **fields)
    units = question.comparison

    def limits(level: float) -> Pair:
        quantile = None if units.exchange is None else units.exchange.quantile_largest(level)
        return pair_of(range_limits(question.grouped, level, quantile=quantile))

    chance, draws = float(np.ptp(units.expected)), np.ptp(units.nulls, axis=1)
    if units.exchange is not None and value > chance:  # p and band are of one statistic
        draws = units.exchange.gaps(value, chance)
    null = question.band(draws, "high")
    return _compared(question, value, units, chance, null, limits, **fields)


def _compared(
    question: HitQuestion, value: float, units: HouseholdUnits, chance: float, null: Null | None,
    limits: Limits, **fields: Any,
) -> Finding:  # fmt: skip
    """A gap with its interval, and with null and p where households can change places.

    ``chance`` is what their concepts alone make of the gap.
    """
    fields["parts"], exchange = question.parts(), units.exchange
    if units.topic is not None:
        fields["details"]["gap_by_concept"] = chance
    if units.rows.fixed:
        return question.finding(value, **{**fields, "reason": ONE_CLUSTER, "mde": None})
    p_value = None if exchange is None else exchange.p_largest()
    if exchange is None:
        fields["notes"] = [*fields["notes"], _CROWDED]
    else:
        fields |= {"p_value": p_value, "null": null}

    def make(level: float) -> Interval:
        ends = agreeing(limits(level), p_value, chance, level)
        return question.interval(ends, value, level, _MOVER)

    at = chance if abs(chance) > _ROUNDING else None
    return question.finding(value, interval=make(LEVEL), limits=make, chance_at=at, **fields)


def worst_finding(question: HitQuestion) -> Finding:
    """The rate of the group that is recognised least."""
    bound, reason = question.bound, question.no_gap()
    if not bound.by:
        raise InputError("a worst group needs groups; type by='income_bucket' or by='region'")
    fields: dict[str, Any] = {"parts": question.parts()}
    if reason is not None:
        return question.finding(None, reason=reason, **fields)
    worst = int(bound.rates.argmin())
    value = float(bound.rates[worst])
    fields |= {"details": {"worst": bound.text(worst)}, "notes": question.small([worst])}
    if not question.infers:
        return question.finding(value, **fields)
    exchanged = question.comparison.exchange
    if exchanged is not None:
        fields["null"] = question.band(question.comparison.nulls.min(axis=1), "low")
        fields["p_value"] = exchanged.p_below_rest()

    def make(level: float) -> Interval:
        low, high = pair_of(worst_limits(question.grouped, level))
        return Interval(low=low, high=high, level=level, method=_WORST)

    return question.finding(value, interval=make(LEVEL), limits=make, **fields)
