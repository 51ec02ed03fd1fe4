"""Findings from HouseholdHits: rates by group, how far groups are apart, and what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.results import Finding, Interval, Part
from evenhand.core.seeds import stream
from evenhand.evidence.household_hits import UNNAMEABLE
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE
from evenhand.metrics.building import described, hull_interval, null_band, resampled_p
from evenhand.metrics.household_groups import HouseholdGroups
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.metrics.resolution_findings import corrected
from evenhand.stats.clustered import (
    ClusterMean,
    Exchanged,
    Standing,
    difference_error,
    difference_interval,
    exchanged_means,
    resampled_means,
)

Floats = npt.NDArray[np.float64]

EXTREMES = "extremes"
"""The best group minus the worst one."""

_ALPHA = 0.05
_POWER = 0.8
_WILSON = "Wilson, n of independent households"
_EXCHANGED = "households exchanged between groups"
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
    def exchanged(self) -> Exchanged:
        """Groups whose households changed places; the same for every metric of this grouping."""
        bound = self.bound
        memo, key = bound.hits.memo, ("exchanged", bound.by, bound.weighting, self.mode, self.seed)
        if key not in memo:
            memo[key] = exchanged_means(bound.cells, self.stream("exchange"))
        found: Exchanged = memo[key]
        return found

    @cached_property
    def standing(self) -> Standing:
        """How each group stands to the other households."""
        return Standing.of(self.bound.cells)

    @cached_property
    def nulls(self) -> Floats:
        """Rates of groups that make no difference, shape (replicates, groups)."""
        return self.standing.nulls(self.bound.cells, self.exchanged)

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

    def interval(self, mean: ClusterMean) -> Interval | None:
        """The interval of one mean; None below two households."""
        ends = mean.interval(LEVEL)
        return Interval(low=ends[0], high=ends[1], level=LEVEL, method=_WILSON) if ends else None

    def parts(self) -> list[Part]:
        """The rate of each group, and how it stands to the rest of the households."""
        bound = self.bound
        if not bound.by:
            return []
        found = []
        for code, mean in enumerate(bound.means):
            fields: dict[str, Any] = {"interval": self.interval(mean)} if self.infers else {}
            if self.infers and bound.compared:
                fields |= self._against_rest(code)
            details: dict[str, float | str | None] = {
                "households": float(mean.clusters),
                "coverage": bound.covered[code],
            }
            kind, n = "*".join(bound.by), int(bound.sizes[code])
            found.append(
                Part(kind=kind, key=bound.key(code), value=mean.value, n=n, details=details, **fields)
            )
        return corrected(found)

    def _against_rest(self, code: int) -> dict[str, Any]:
        t = float(self.standing.t[code])
        if not np.isfinite(t):
            return {}
        null = null_band(self.nulls[:, code], level=LEVEL, method=_EXCHANGED, seed=self.seed)
        return {"null": null, "p_value": _p_of(self.exchanged.apart[:, code], t)}


def rate_finding(question: HitQuestion) -> Finding:
    """The mean over households, with a part for each group."""
    if question.reason is not None:
        return question.finding(None, reason=question.reason)
    mean = question.bound.whole.means()[0]
    interval = question.interval(mean) if question.infers else None
    return question.finding(mean.value, interval=interval, parts=question.parts())


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
    if question.infers:
        ends = difference_interval(first, second, LEVEL)
        method = "MOVER of Wilson intervals by household"
        if ends:
            fields["interval"] = Interval(low=ends[0], high=ends[1], level=LEVEL, method=method)
        fields |= _exchange_two(question, codes, difference_error(first, second))
    return question.finding(value, details=details, parts=question.parts(), **fields)


def _exchange_two(question: HitQuestion, codes: list[int], error: float) -> dict[str, Any]:
    """Null band, p and the smallest gap that would be found, from households of the two groups exchanged."""
    from scipy import special

    cells = question.bound.cells.only(np.array(codes))
    if not cells.nested or not error > 0:
        return {}
    draws = exchanged_means(cells, question.stream("exchange", *codes)).apart[:, 0]
    standing = Standing.of(cells)
    t = float(standing.t[0])
    if not np.isfinite(t):
        return {}
    gaps = np.clip(draws * standing.error[0], -1, 1)
    null = null_band(gaps, level=LEVEL, method=_EXCHANGED, seed=question.seed)
    least = float(special.ndtri(1 - _ALPHA / 2) + special.ndtri(_POWER)) * error
    return {"null": null, "p_value": _p_of(draws, t), "mde": least if least <= 1 else None}


def _extremes(question: HitQuestion) -> Finding:
    bound = question.bound
    params = {"groups": EXTREMES}
    reason = question.reason or ("single_group" if len(bound.groups) < 2 else None)
    if reason is not None:
        return question.finding(None, reason=reason, params=params, parts=question.parts())
    rates = bound.rates
    best, worst = int(rates.argmax()), int(rates.argmin())
    value = float(rates[best] - rates[worst])
    details = {
        "best": bound.text(best),
        "best_rate": float(rates[best]),
        "worst": bound.text(worst),
        "worst_rate": float(rates[worst]),
    }
    fields = _extreme_inference(question, value, best, worst) if question.infers else {}
    return question.finding(value, params=params, details=details, parts=question.parts(), **fields)


def _extreme_inference(question: HitQuestion, value: float, best: int, worst: int) -> dict[str, Any]:
    bound = question.bound
    fields: dict[str, Any] = {}
    fair = False
    if bound.compared:
        draws = np.ptp(question.nulls, axis=1)
        p_value = resampled_p(draws, value, "high")
        fair = p_value is not None and p_value > _ALPHA
        fields = {
            "null": null_band(draws, level=LEVEL, method=_EXCHANGED, seed=question.seed),
            "p_value": p_value,
        }
    else:
        fields["notes"] = ["households lie in several groups, so there is no exchange of households"]
    if min(mean.clusters for mean in bound.means) < 2:
        return fields
    resampled = np.ptp(resampled_means(bound.cells, question.stream("bootstrap")), axis=1)
    method = "bootstrap of households, percentile and basic, and MOVER of the extreme groups together"
    interval = hull_interval(resampled, value, level=LEVEL, method=method, seed=question.seed)
    mover = difference_interval(bound.means[best], bound.means[worst], LEVEL)
    if interval is not None and mover is not None:
        # the largest of many differences is far from 0 in fair data too; the test knows how far
        low = 0.0 if fair else max(min(interval.low, mover[0]), 0.0)
        fields["interval"] = interval.model_copy(
            update={"low": low, "high": min(max(interval.high, mover[1]), 1.0)}
        )
    return fields


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
    fields: dict[str, Any] = {}
    if question.infers:
        if bound.compared:
            draws = question.nulls.min(axis=1)
            fields["null"] = null_band(draws, level=LEVEL, method=_EXCHANGED, seed=question.seed)
            fields["p_value"] = resampled_p(draws, value, "low")
        fields["interval"] = _worst_interval(question, value, worst)
    details = {"worst": bound.text(worst)}
    return question.finding(value, details=details, parts=question.parts(), **fields)


def _worst_interval(question: HitQuestion, value: float, worst: int) -> Interval | None:
    bound = question.bound
    own = bound.means[worst].interval(LEVEL)
    if own is None or min(mean.clusters for mean in bound.means) < 2:
        return None
    resampled = resampled_means(bound.cells, question.stream("bootstrap")).min(axis=1)
    method = "bootstrap of households, percentile and basic, and Wilson of the worst group together"
    interval = hull_interval(resampled, value, level=LEVEL, method=method, seed=question.seed)
    if interval is None:
        return None
    return interval.model_copy(update={"low": min(interval.low, own[0]), "high": max(interval.high, own[1])})


def _p_of(draws: Floats, t: float) -> float | None:
    """Two-sided p of a distance in standard errors; draws without an error count as at least as far."""
    usable = np.where(np.isnan(draws), np.inf, np.abs(draws))
    if not np.isfinite(t) or not usable.size:
        return None
    return float((1 + (usable >= abs(t) * (1 - 1e-9)).sum()) / (1 + usable.size))
