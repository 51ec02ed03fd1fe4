"""Findings from LabelMatches: rates by group, the distance between groups, and what chance gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError
from evenhand.core.results import Finding, Interval, Part
from evenhand.core.seeds import stream
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE, LabelMatches
from evenhand.metrics.building import null_band, number, resampled_p
from evenhand.metrics.group_questions import Details, GroupQuestion
from evenhand.metrics.label_groups import LabelGroups, check_threshold
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.metrics.resolution_findings import corrected
from evenhand.stats.exceedances import reached_intervals
from evenhand.stats.group_rates import exchanged_rates, resampled_rates

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

HARMFUL = "harmful"
"""The union of associations that are harmful."""

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
        check_common(mode, inference)
        if seed < 0:
            raise ParameterError(f"seed={seed} is not possible; choose 0 or more")
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
    def compared(self) -> Mask:
        """Which samples belong to known groups, shape (n,)."""
        return np.asarray(self.bound.known[self.bound.group])

    @cached_property
    def exchanged(self) -> Floats:
        """Rates of the known groups, exchanged at random, shape (replicates, known groups)."""
        return self._drawn("exchange")

    @cached_property
    def resampled(self) -> Floats:
        """Rates of the known groups in bootstrap replicates, shape (replicates, known groups)."""
        return self._drawn("bootstrap")

    def _drawn(self, how: str) -> Floats:
        key = (self.association, self.threshold, self.seed, how)
        if key not in self.bound.memo:  # a rate and its gap are of the same draws
            self.bound.memo[key] = self._draw(how)
        drawn: Floats = self.bound.memo[key]
        return drawn

    def _draw(self, how: str) -> Floats:
        inside, bound = self.compared, self.bound
        codes = np.cumsum(bound.known) - 1
        cluster = None if bound.cluster is None else bound.cluster[inside]
        purpose = (self.association, self.threshold, self.unknown, how)
        rng = stream(self.seed, "label_association", "+".join(bound.by), *purpose)
        draw = exchanged_rates if how == "exchange" else resampled_rates
        return draw(self.hit[inside], codes[bound.group[inside]], int(bound.known.sum()), cluster, rng)

    @property
    def method(self) -> str:
        """How intervals of rates are made."""
        if not self.bound.clusters:
            return "Wilson score"
        return f"Wilson score, effective size by {self.bound.clusters} values of {self.bound.matches.cluster}"

    @property
    def units(self) -> str:
        """What is exchanged and resampled."""
        return str(self.bound.matches.cluster) if self.bound.clusters else "rows"

    def intervals(self, *, whole: bool = False) -> tuple[Floats, Floats]:
        """Ends of the intervals of each group's rate, or of everything as one group."""
        group = np.zeros_like(self.bound.group) if whole else self.bound.group
        low, high = reached_intervals(
            self.hit.astype(np.float64), group, 1 if whole else len(self.bound.groups),
            self.bound.cluster, np.ones(1), LEVEL,
        )  # fmt: skip
        return low[:, 0], high[:, 0]

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
    fields: dict[str, Any] = {"details": _coverage(asked)}
    if asked.mode == "paper":
        fields["details"]["percent"] = percent
    if asked.infers:
        low, high = asked.intervals(whole=True)
        fields["interval"] = Interval(low=low[0], high=high[0], level=LEVEL, method=asked.method)
    return asked.finding(
        percent / 100 if asked.mode == "paper" else count / n, parts=_rate_parts(asked), **fields
    )


def gap_finding(asked: Asked) -> Finding:
    """Largest minus smallest rate of the known groups."""
    known = np.flatnonzero(asked.bound.known)
    reason = asked.reason or ("single_group" if known.size < 2 else None)
    if reason is not None:
        return asked.finding(None, reason=reason, details=_coverage(asked))
    rates = asked.rates[known]
    value = float(rates.max() - rates.min())
    details = {**_coverage(asked), **asked.extremes(rates, "rate")}
    tested = asked.infers and not asked.fixed
    fields = _gap_inference(asked, value, known) if tested else asked.untested()
    return asked.finding(value, details=details, notes=asked.not_compared(), **fields)


def _gap_inference(asked: Asked, value: float, known: npt.NDArray[np.int64]) -> dict[str, Any]:
    null, draws = np.ptp(asked.exchanged, axis=1), np.ptp(asked.resampled, axis=1)
    low, high = (ends[known] for ends in asked.intervals())
    fields = asked.gap_inference(value, null, draws, _mover(asked.rates[known], low, high))
    # of two groups the null is an absolute value, which has only sqrt(1 - 2/pi) of the signed spread
    spread = max(draws.std(), null.std() / np.sqrt(1 - 2 / np.pi) if known.size == 2 else 0.0)
    return {**fields, "mde": number(float(np.quantile(null, 1 - _ALPHA) + _Z_POWER * spread))}


def _mover(rates: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """The interval of the difference of the extreme groups, and the highest that any two groups reach.

    Rates of 0 have intervals, so that a gap of 0 between few samples is not taken for certain.
    """
    top, bottom = int(rates.argmax()), int(rates.argmin())
    value = rates[top] - rates[bottom]
    below = value - np.hypot(rates[top] - low[top], high[bottom] - rates[bottom])
    above = rates[:, None] - rates + np.hypot((high - rates)[:, None], rates - low)
    np.fill_diagonal(above, 0)
    return float(below), float(above.max())


def _rate_parts(asked: Asked) -> list[Part]:
    bound = asked.bound
    if not bound.by:
        return []
    covered = np.bincount(bound.group, asked.coverage, minlength=len(bound.groups)) / bound.sizes
    parts, place = [], np.cumsum(bound.known) - 1
    low, high = asked.intervals() if asked.infers and asked.reason is None else (None, None)
    for code in range(len(bound.groups)):
        fields: dict[str, Any] = {"reason": asked.reason, "value": None}
        details: Details = {"coverage": float(covered[code])}
        if asked.reason is None:
            value = float(asked.rates[code])
            fields = {"value": value}
            if asked.mode == "paper":
                details["percent"] = _percent(asked.hits[code], int(bound.sizes[code]))
            if low is not None and high is not None:
                ends = min(low[code], value), max(high[code], value)
                fields["interval"] = Interval(low=ends[0], high=ends[1], level=LEVEL, method=asked.method)
            if asked.infers and bound.known[code] and bound.known.sum() > 1 and not asked.fixed:
                fields |= _against_chance(asked, value, asked.exchanged[:, place[code]])
        kind, n = "*".join(bound.by), int(bound.sizes[code])
        parts.append(Part(kind=kind, key=bound.key(code), n=n, details=details, **fields))
    return corrected(parts)


def _against_chance(asked: Asked, value: float, draws: Floats) -> dict[str, Any]:
    method = f"groups exchanged by {asked.units}"
    null = null_band(np.clip(draws, 0, 1), level=LEVEL, method=method, seed=asked.seed)
    return {"null": null, "p_value": resampled_p(draws, value, "both")}


def _coverage(asked: Asked) -> Details:
    return {"coverage": float(asked.coverage.mean()) if asked.bound.n else None}


def _percent(count: float, n: int) -> float:
    """As the released code rounds."""
    return round(100 * float(count) / n, 3)
