"""Rates of labels by group, their gap, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.findings import Finding, NewDetails
from evenhand.core.random_streams import stream
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE, LabelMatches
from evenhand.evidence.predictions.columns.annotated import check_threshold
from evenhand.metrics.estimates import By, Fields, Inference, Mode, Unknown, check_common, wilson_method
from evenhand.metrics.group_rates import ComparedRows, RowRates
from evenhand.metrics.labels.tables import BoundMatches
from evenhand.stats.arrays import Floats, Mask
from evenhand.stats.exchange.rows import UnitRows
from evenhand.stats.rates.rates import Rates, group_rates

HARMFUL = "harmful"
"""The union of associations that are harmful."""


@dataclass(frozen=True, eq=False)
class LabelRates(RowRates):
    """One association at one threshold under one grouping."""

    bound: BoundMatches
    association: str
    threshold: float
    has_power = True

    @classmethod
    def make(
        cls, name: str, evidence: LabelMatches, association: str, by: By, threshold: float, unknown: Unknown,
        mode: Mode, inference: Inference, *, seed: int,
    ) -> LabelRates:  # fmt: skip
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
    def counts(self) -> Floats:
        """How many of each group have one, shape (groups,)."""
        return np.bincount(self.bound.group, self.hit, len(self.bound.groups)).astype(np.float64)

    @cached_property
    def values(self) -> Floats:
        """Rate of each group as it is printed, shape (groups,)."""
        if self.mode == "paper":
            return np.array([percent(*of) / 100 for of in zip(self.counts, self.bound.sizes, strict=True)])
        return self.counts / self.bound.sizes

    @cached_property
    def grouped(self) -> Rates:
        """Rates of all groups, with their limits."""
        return group_rates(self.hit, self.bound.group, len(self.bound.groups), self.bound.cluster)

    @cached_property
    def compared(self) -> ComparedRows:
        """The known groups; a rate and its gap are of the same draws."""
        bound, key = self.bound, (self.association, self.threshold, self.seed)
        if key not in bound.memo:
            purpose = ("+".join(bound.by), self.association, self.threshold, self.unknown, "exchange")
            inside = bound.known[bound.group]
            codes = (np.cumsum(bound.known) - 1)[bound.group[inside]]
            cluster = None if bound.cluster is None else bound.cluster[inside]
            rows = UnitRows(self.hit[inside], codes, int(bound.known.sum()), cluster)
            bound.memo[key] = ComparedRows(rows, None, stream(self.seed, "label_association", *purpose))
        remembered: ComparedRows = bound.memo[key]
        return remembered

    @property
    def exchanged_how(self) -> str:
        """What the null draws."""
        return f"groups exchanged by {self.units}"

    @property
    def method(self) -> str:
        """How intervals of rates are made."""
        return wilson_method(self.bound.cluster, f"values of {self.units}")

    @property
    def units(self) -> str:
        """What is exchanged."""
        return "rows" if self.bound.cluster is None else str(self.bound.matches.cluster)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with coverage and what the binding and the definition say filled in."""
        matches = self.bound.matches
        params = {
            "association": None if self.name.startswith(HARMFUL) else self.association,
            "threshold": self.threshold, "top": matches.top if matches.top != 5 else None,
        }  # fmt: skip
        details = {"coverage": self.coverage.mean() if self.bound.n else None}
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

    @cached_property
    def _covered(self) -> Floats:
        return np.bincount(self.bound.group, self.coverage, len(self.bound.groups)) / self.bound.sizes

    def about(self, code: int) -> NewDetails:
        """Coverage of one group, and in paper mode the percentage of the rate."""
        details: NewDetails = {"coverage": self._covered[code]}
        if self.mode == "paper" and self.reason is None:
            details["percent"] = percent(self.counts[code], int(self.bound.sizes[code]))
        return details


def rate_finding(association: LabelRates) -> Finding:
    """The rate of one association, with a part for each group."""
    if association.reason is not None:
        return association.finding(None, reason=association.reason, parts=association.parts())
    hit, bound = association.hit, association.bound
    value, details = float(hit.sum()) / bound.n, Fields()
    if association.mode == "paper":
        details = {"percent": percent(hit.sum(), bound.n)}
        value = details["percent"] / 100
    overall = group_rates(hit, np.zeros_like(bound.group), 1, bound.cluster)
    return association.rate(value, overall, details=details)


def gap_finding(association: LabelRates) -> Finding:
    """Largest minus smallest rate of the known groups."""
    reason = association.alone
    return association.finding(None, reason=reason) if reason else association.gap()


def percent(count: float, n: int) -> float:
    """As the released code rounds."""
    return round(100 * float(count) / n, 3)
