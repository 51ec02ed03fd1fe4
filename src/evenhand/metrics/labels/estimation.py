"""Rates of labels by group, their gap, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.findings import Finding, NewDetails, Part
from evenhand.core.random_streams import stream
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE, LabelMatches
from evenhand.metrics.estimates import null_band, number
from evenhand.metrics.group_rates import ONE_CLUSTER, GapTest, GroupQuestion
from evenhand.metrics.labels.tables import BoundMatches, check_threshold
from evenhand.metrics.named_groups import get_or_make
from evenhand.metrics.prepared import LEVEL, Z_POWER, By, Inference, Mode, Unknown, check_common
from evenhand.stats.arrays import Floats, Mask, Pair, pair_of
from evenhand.stats.exchange.rows import ExchangedRates, UnitRows, exchange
from evenhand.stats.rates.differences import range_limits
from evenhand.stats.rates.rates import Rates, group_rates

HARMFUL = "harmful"
"""The union of associations that are harmful."""


_GAP = "MOVER of all pairs, simultaneous by the exchange's largest t"
_ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class BoundAssociation(GroupQuestion):
    """One association at one threshold under one grouping."""

    bound: BoundMatches
    association: str
    threshold: float

    @classmethod
    def make(
        cls, name: str, evidence: LabelMatches, association: str, by: By, threshold: float, unknown: Unknown,
        mode: Mode, inference: Inference, *, seed: int,
    ) -> BoundAssociation:  # fmt: skip
        """Check what is asked for.

        Raises:
            UserError: An unknown attribute, association or option.
        """
        check_common(mode, inference, seed)
        bound = BoundMatches.of(evidence, by, unknown)
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
    def hit(self) -> Floats:
        """Which samples have such a label, 1 or 0, shape (n,)."""
        return (self.bound.scores(self.association) >= self.threshold).astype(np.float64)

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
        if self.mode == "paper":
            return np.array(
                [_percent(*counts) / 100 for counts in zip(self.hits, self.bound.sizes, strict=True)]
            )
        return self.hits / self.bound.sizes

    @cached_property
    def grouped(self) -> Rates:
        """Rates of all groups, with their limits."""
        return group_rates(self.hit, self.bound.group, len(self.bound.groups), self.bound.cluster)

    @cached_property
    def compared(self) -> UnitRows:
        """The rows of the groups that are compared."""
        bound = self.bound
        inside = bound.known[bound.group]
        codes = (np.cumsum(bound.known) - 1)[bound.group[inside]]
        cluster = None if bound.cluster is None else bound.cluster[inside]
        return UnitRows(self.hit[inside], codes, int(bound.known.sum()), cluster)

    @cached_property
    def exchanged(self) -> ExchangedRates:
        """The known groups, exchanged at random; a rate and its gap are of the same draws."""
        purpose = ("+".join(self.bound.by), self.association, self.threshold, self.unknown, "exchange")

        def draw() -> ExchangedRates:
            return exchange(self.compared, stream(self.seed, "label_association", *purpose))

        return get_or_make(self.bound.memo, (self.association, self.threshold, self.seed), draw)

    @property
    def exchanged_how(self) -> str:
        """What the null draws."""
        return f"groups exchanged by {self.units}"

    @property
    def method(self) -> str:
        """How intervals of rates are made."""
        if self.bound.cluster is None:
            return "Wilson score"
        return f"Wilson score, effective size by {np.unique(self.bound.cluster).size} values of {self.units}"

    @property
    def units(self) -> str:
        """What is exchanged."""
        return "rows" if self.bound.cluster is None else str(self.bound.matches.cluster)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with coverage and what the binding and the definition say filled in."""
        matches = self.bound.matches
        params: dict[str, Any] = {
            **({} if self.name.startswith(HARMFUL) else {"association": self.association}),
            "threshold": self.threshold,
            **({"top": matches.top} if matches.top != 5 else {}),
        }
        details = {"coverage": float(self.coverage.mean()) if self.bound.n else None}
        details |= fields.pop("details", {})
        notes = [*matches.notes, *self._silent()]
        return self.described(value, params, matches.facts, notes, details=details, **fields)

    def _silent(self) -> list[str]:
        """Which parts of a union the model cannot say."""
        matches = self.bound.matches
        parts = matches.unions.get(self.association, ())
        silent = [part for part in parts if not matches.expressible[part]]
        if not silent or len(silent) == len(parts):
            return []
        return [f"the model has no label for {' and '.join(silent)}; the rest of {self.association} counts"]

    def parts(self) -> list[Part]:
        """The rate of each group, and how it stands to that of the others."""
        bound = self.bound
        covered = np.bincount(bound.group, self.coverage, minlength=len(bound.groups))
        tested = self.infers and self.reason is None and bound.known.sum() > 1 and not self.compared.fixed
        p_values = self.exchanged.p_each() if tested else np.zeros(0)
        known_index = np.cumsum(bound.known) - 1  # among the known groups

        def fields(code: int) -> dict[str, Any]:
            details: NewDetails = {"coverage": float(covered[code] / bound.sizes[code])}
            if self.reason is not None:
                return {"reason": self.reason, "value": None, "details": details}
            value = float(self.rates[code])
            if self.mode == "paper":
                details["percent"] = _percent(self.hits[code], int(bound.sizes[code]))
            more = self.interval_of(code, value) if self.infers else {}
            if tested and bound.known[code]:
                draws = self.exchanged.rates[:, known_index[code]]
                more["null"] = null_band(draws, level=LEVEL, method=self.exchanged_how, seed=self.seed)
                more["p_value"] = float(p_values[known_index[code]])
            return {"value": value, "details": details, **more}

        return bound.parts(fields)


def rate_finding(association: BoundAssociation) -> Finding:
    """The rate of one association, with a part for each group."""
    if association.reason is not None:
        return association.finding(None, reason=association.reason, parts=association.parts())
    count, n = float(association.hit.sum()), association.bound.n
    value, fields = count / n, dict[str, Any](parts=association.parts())
    if association.mode == "paper":
        percent = _percent(count, n)
        value, fields["details"] = percent / 100, {"percent": percent}
    if not association.infers:
        return association.finding(value, **fields)
    overall = group_rates(
        association.hit, np.zeros_like(association.bound.group), 1, association.bound.cluster
    )
    return association.rate(value, overall, **fields)


def gap_finding(association: BoundAssociation) -> Finding:
    """Largest minus smallest rate of the known groups."""
    codes = np.flatnonzero(association.bound.known)
    reason = association.reason or ("single_group" if codes.size < 2 else None)
    if reason is not None:
        return association.finding(None, reason=reason)
    rates = association.rates[codes]
    value = float(rates.max() - rates.min())
    fields: dict[str, Any] = {"details": association.extremes(rates, "rate")}
    fields["notes"] = association.not_compared() + association.few(rates)
    if not association.infers:
        return association.finding(value, **fields)
    if association.compared.fixed:
        return association.finding(value, reason=ONE_CLUSTER, **fields)
    compared, exchanged = association.grouped.take(codes), association.exchanged

    def limits(level: float) -> Pair:
        return pair_of(range_limits(compared, level, quantile=exchanged.quantile_largest(level)))

    draws = exchanged.gaps(value)
    test = GapTest(exchanged.p_largest(), draws, limits, _GAP)
    return association.gap(value, test, mde=_detectable(draws, codes.size), **fields)


def _detectable(draws: Floats, groups: int) -> float | None:
    """The gap that would be called beyond chance with a power of .8.

    Of two groups the draws are absolute values, which have only ``sqrt(1 - 2/pi)`` of the signed spread.
    """
    spread = draws.std() / (np.sqrt(1 - 2 / np.pi) if groups == 2 else 1.0)
    return number(float(np.quantile(draws, 1 - _ALPHA) + Z_POWER * spread))


def _percent(count: float, n: int) -> float:
    """As the released code rounds."""
    return round(100 * float(count) / n, 3)
