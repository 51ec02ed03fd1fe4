"""Findings from LabelMatches: rates by group, the distance between groups, and what chance gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.results import Finding, Part
from evenhand.core.seeds import stream
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE, LabelMatches
from evenhand.metrics.building import null_band, number
from evenhand.metrics.group_questions import ONE_CLUSTER, Details, GapTest, GroupQuestion
from evenhand.metrics.label_groups import LabelGroups, check_threshold
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.metrics.resolution_findings import corrected
from evenhand.stats.differences import range_limits
from evenhand.stats.exchange import Exchange, UnitRows, exchange
from evenhand.stats.rates import Rates, group_rates

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

HARMFUL = "harmful"
"""The union of associations that are harmful."""

_GAP = "MOVER of all pairs, simultaneous by the exchange's largest t"
_Z_POWER = 0.8416212335729143  # the .8 quantile of the normal distribution
_ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Asked(GroupQuestion):
    """One association at one threshold under one grouping.

    Attributes:
        association: Which kind of label.
        threshold: Lowest confidence that counts.
    """

    bound: LabelGroups
    association: str
    threshold: float

    @classmethod
    def make(
        cls,
        evidence: LabelMatches,
        name: str,
        association: str,
        *,
        by: By,
        threshold: float,
        unknown: str,
        mode: str,
        inference: str,
        seed: int,
    ) -> Asked:
        """Check what is asked for.

        Args:
            evidence: LabelMatches.
            name: Which metric.
            association: Which kind of label, or a union.
            by: Attributes crossed.
            threshold: Lowest confidence that counts.
            unknown: ``keep`` or ``exclude``.
            mode: ``default`` or ``paper``.
            inference: ``auto`` or ``none``.
            seed: Of the exchanges.

        Raises:
            UserError: An unknown attribute, association or option.
        """
        check_common(mode, inference, seed)
        bound = LabelGroups.of(evidence, by, unknown)
        evidence.labels_of(association)  # refuses an unknown one
        checked = check_threshold(threshold)
        return cls(bound, name, unknown, mode, inference == "auto", seed, association, checked)

    @cached_property
    def reason(self) -> str | None:
        """Why there is no rate at all."""
        if not self.bound.matches.labels_of(self.association):
            return NOT_EXPRESSIBLE
        return None if self.bound.n else "empty"

    @cached_property
    def hit(self) -> Mask:
        """Which samples have such a label, shape (n,)."""
        return self.bound.scores(self.association) >= self.threshold

    @cached_property
    def coverage(self) -> Mask:
        """Which samples have any prediction that sure, shape (n,)."""
        return self.bound.best >= self.threshold

    @cached_property
    def hits(self) -> Floats:
        """How many of each group, shape (groups,)."""
        return np.bincount(self.bound.group, self.hit, len(self.bound.groups)).astype(np.float64)

    @cached_property
    def rates(self) -> Floats:
        """Rate of each group as it is printed, shape (groups,)."""
        sizes = self.bound.sizes
        if self.mode == "paper":
            return np.array([_percent(c, n) / 100 for c, n in zip(self.hits, sizes, strict=True)])
        return np.asarray(self.hits / sizes)

    @cached_property
    def grouped(self) -> Rates:
        """Rates of all groups, with their limits."""
        bound = self.bound
        return group_rates(self.hit.astype(np.float64), bound.group, len(bound.groups), bound.cluster)

    @cached_property
    def units_of_known(self) -> UnitRows:
        """The rows of the groups that are compared."""
        bound = self.bound
        inside = bound.known[bound.group]
        codes = (np.cumsum(bound.known) - 1)[bound.group[inside]]
        cluster = None if bound.cluster is None else bound.cluster[inside]
        return UnitRows(self.hit[inside].astype(np.float64), codes, int(bound.known.sum()), cluster)

    @cached_property
    def exchanged(self) -> Exchange:
        """The known groups, exchanged at random; a rate and its gap are of the same draws."""
        key = (self.association, self.threshold, self.seed)
        if key not in self.bound.memo:
            purpose = (self.association, self.threshold, self.unknown, "exchange")
            rng = stream(self.seed, "label_association", "+".join(self.bound.by), *purpose)
            self.bound.memo[key] = exchange(self.units_of_known, rng)
        drawn: Exchange = self.bound.memo[key]
        return drawn

    @property
    def exchanged_how(self) -> str:
        """What the null draws."""
        return f"groups exchanged by {self.units}"

    @property
    def method(self) -> str:
        """How intervals of rates are made."""
        if self.bound.cluster is None:
            return "Wilson score"
        count = np.unique(self.bound.cluster).size
        return f"Wilson score, effective size by {count} values of {self.bound.matches.cluster}"

    @property
    def units(self) -> str:
        """What is exchanged."""
        return "rows" if self.bound.cluster is None else str(self.bound.matches.cluster)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the binding and the definition say filled in."""
        matches = self.bound.matches
        params: dict[str, Any] = {
            **({} if self.name.startswith(HARMFUL) else {"association": self.association}),
            "threshold": self.threshold,
            **({"top": matches.top} if matches.top != 5 else {}),
        }
        notes = [*matches.notes, *self._silent()]
        return self.described(value, params, matches.facts, notes, **fields)

    def _silent(self) -> list[str]:
        """Which parts of a union the model cannot say."""
        matches = self.bound.matches
        parts = matches.unions.get(self.association, ())
        silent = [part for part in parts if not matches.expressible[part]]
        if not silent or len(silent) == len(parts):
            return []
        return [f"the model has no label for {' and '.join(silent)}; the rest of {self.association} counts"]


def rate_finding(asked: Asked) -> Finding:
    """The rate of one association, with a part for each group."""
    if asked.reason is not None:
        return asked.finding(None, reason=asked.reason, parts=_rate_parts(asked), details=_coverage(asked))
    count, n = float(asked.hit.sum()), asked.bound.n
    percent = _percent(count, n)
    details = _coverage(asked)
    if asked.mode == "paper":
        details["percent"] = percent
    value = percent / 100 if asked.mode == "paper" else count / n
    fields: dict[str, Any] = {"details": details, "parts": _rate_parts(asked)}
    if not asked.infers:
        return asked.finding(value, **fields)
    whole = group_rates(
        asked.hit.astype(np.float64), np.zeros_like(asked.bound.group), 1, asked.bound.cluster
    )
    return asked.rate(value, whole, **fields)


def gap_finding(asked: Asked) -> Finding:
    """Largest minus smallest rate of the known groups."""
    known = np.flatnonzero(asked.bound.known)
    reason = asked.reason or ("single_group" if known.size < 2 else None)
    if reason is not None:
        return asked.finding(None, reason=reason, details=_coverage(asked))
    rates = asked.rates[known]
    value = float(rates.max() - rates.min())
    details = {**_coverage(asked), **asked.extremes(rates, "rate")}
    notes = asked.not_compared() + asked.few(rates)
    if not asked.infers:
        return asked.finding(value, details=details, notes=notes)
    if asked.units_of_known.fixed:
        return asked.finding(value, details=details, notes=notes, reason=ONE_CLUSTER)
    draws = np.ptp(asked.exchanged.rates, axis=1)
    test = GapTest(asked.exchanged.p_largest(), draws, _limits_of(asked), _GAP)
    return asked.gap(value, test, details=details, notes=notes, mde=_detectable(draws, known.size))


def _limits_of(asked: Asked) -> Callable[[float], tuple[float, float]]:
    compared = asked.grouped.take(np.flatnonzero(asked.bound.known))

    def limits(level: float) -> tuple[float, float]:
        low, high = range_limits(compared, level, quantile=asked.exchanged.quantile_largest(level))
        return float(low), float(high)

    return limits


def _detectable(draws: Floats, groups: int) -> float | None:
    """The gap that would be called beyond chance with a power of .8.

    Of two groups the draws are absolute values, which have only ``sqrt(1 - 2/pi)`` of the signed spread.
    """
    spread = draws.std() / (np.sqrt(1 - 2 / np.pi) if groups == 2 else 1.0)
    return number(float(np.quantile(draws, 1 - _ALPHA) + _Z_POWER * spread))


def _rate_parts(asked: Asked) -> list[Part]:
    bound = asked.bound
    if not bound.by:
        return []
    covered = np.bincount(bound.group, asked.coverage, minlength=len(bound.groups)) / bound.sizes
    kind, parts = "*".join(bound.by), []
    tested = (
        asked.infers and asked.reason is None and bound.known.sum() > 1 and not asked.units_of_known.fixed
    )
    each = iter(_against_chance(asked) if tested else [])
    for code in range(len(bound.groups)):
        details: Details = {"coverage": float(covered[code])}
        fields: dict[str, Any] = {"reason": asked.reason, "value": None}
        if asked.reason is None:
            value = float(asked.rates[code])
            fields = {"value": value, **(asked.interval_of(code, value) if asked.infers else {})}
            if asked.mode == "paper":
                details["percent"] = _percent(asked.hits[code], int(bound.sizes[code]))
            if tested and bound.known[code]:
                fields |= next(each)
        parts.append(
            Part(kind=kind, key=bound.key(code), n=int(bound.sizes[code]), details=details, **fields)
        )
    return corrected(parts)


def _against_chance(asked: Asked) -> Iterator[dict[str, Any]]:
    """Null and p of each known group: its rate against that of the others."""
    for draws, p_value in zip(asked.exchanged.rates.T, asked.exchanged.p_each().tolist(), strict=True):
        null = null_band(draws, level=LEVEL, method=asked.exchanged_how, seed=asked.seed)
        yield {"null": null, "p_value": p_value}


def _coverage(asked: Asked) -> Details:
    return {"coverage": float(asked.coverage.mean()) if asked.bound.n else None}


def _percent(count: float, n: int) -> float:
    """As the released code rounds."""
    return round(100 * float(count) / n, 3)
