"""Findings from HouseholdHits: rates by group, how far groups are apart, and what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding, NewDetails
from evenhand.core.random_streams import stream
from evenhand.evidence.household_hits import UNNAMEABLE
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE
from evenhand.metrics.estimates import (
    Z_LEVEL,
    Z_POWER,
    By,
    Fields,
    Inference,
    Mode,
    Weighting,
    check_common,
    get_or_make,
)
from evenhand.metrics.group_rates import ComparedRows, RowRates
from evenhand.metrics.labels.households.tables import BoundHits
from evenhand.stats.arrays import Floats, Integers, Rng
from evenhand.stats.rates.clustered import difference_error
from evenhand.stats.rates.rates import Rates

EXTREMES = "extremes"
"""The best group minus the worst one."""

_RICH = ["high", "low"]
_INCOME_MISSING = "not every income is there: the gap is that of {} minus {} income"


@dataclass(frozen=True, eq=False)
class HitRates(RowRates):
    """What one metric asks of images by household and group."""

    bound: BoundHits
    units = "households"
    exchanged_how = "households exchanged between groups, within concepts"
    method = "Wilson, n of independent households"
    mover = "MOVER of Wilson intervals by household"
    worst_method = "Wilson of the groups by household, simultaneous"
    ends = ("best", "worst")
    gap_by_strata = "gap_by_concept"

    @classmethod
    def make(
        cls, name: str, evidence: Any, by: By, weighting: Weighting, mode: Mode, inference: Inference,
        seed: int,
    ) -> HitRates:  # fmt: skip
        """Check what is asked for."""
        check_common(mode, inference, seed)
        bound = BoundHits.of(evidence, by, weighting=weighting, mode=mode)
        return cls(bound, name, "keep", mode, inference == "auto", seed)

    @property
    def reason(self) -> str | None:
        """Why there is no value at all."""
        if self.bound.n:
            return None
        return NOT_EXPRESSIBLE if set(self.bound.hits.dropped) == {UNNAMEABLE} else "empty"

    @cached_property
    def compared(self) -> ComparedRows:
        """The known groups, whose households change places; the same for every metric of this grouping."""
        bound = self.bound
        key = ("exchanged", bound.by, bound.weighting, self.mode, self.seed)
        return get_or_make(bound.hits.memo, key, bound.compared, self.known, self.stream("exchange"))

    @cached_property
    def grouped(self) -> Rates:
        """The rates of the groups, for their limits."""
        return Rates.of_clusters(self.bound.means)

    @cached_property
    def units_of(self) -> Integers:
        """Households of each group."""
        return np.array([mean.clusters for mean in self.bound.means], dtype=np.int64)

    @cached_property
    def _hits(self) -> Floats:
        hit = self.bound.rows["hit"].to_numpy()
        return np.bincount(self.bound.group, hit, len(self.bound.groups)).astype(np.float64)

    def about(self, code: int) -> NewDetails:
        """Households of one group, how many images are covered, and how many are hit."""
        households = float(self.units_of[code])
        covered, hits = self.bound.covered[code], float(self._hits[code])
        return {"households": households, "coverage": covered, "n_hits": hits}

    def stream(self, *purpose: object) -> Rng:
        """Random numbers for one purpose."""
        bound = self.bound
        return stream(self.seed, "households", "+".join(bound.by), bound.weighting, self.mode, *purpose)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the evidence and the definition say already filled in."""
        hits, weighting = self.bound.hits, self.bound.weighting
        params = {
            **fields.pop("params", {}), "threshold": hits.threshold or None,
            "top": hits.top if hits.top != 5 else None,
            "weighting": weighting if weighting != "household" else None,
        }  # fmt: skip
        households = float(np.unique(self.bound.whole.cluster).size)
        details = {"households": households, "coverage": self.bound.coverage, **fields.pop("details", {})}
        return self.described(value, params, hits.facts, list(hits.notes), details=details, **fields)


def rate_finding(question: HitRates) -> Finding:
    """The mean over households, with a part for each group."""
    if question.reason is not None:
        return question.finding(None, reason=question.reason)
    mean = question.bound.whole.means()[0]
    return question.rate(mean.value, Rates.of_clusters([mean]))


def gap_finding(question: HitRates, groups: Sequence[str | Sequence[str]] | str | None) -> Finding:
    """How far two groups are apart, the second taken from the first; or the best and the worst one.

    Without ``groups``: high minus low income by ``income_bucket`` alone, else the ``extremes``.
    """
    bound = question.bound
    if not bound.by:
        raise InputError("a gap needs groups to compare; type by='income_bucket' or by='region'")
    notes: list[str] = []
    if groups is None:
        present = [bound.text(code) for code in (-1, 0)] if len(bound.groups) > 1 else _RICH
        groups = present if bound.by == ("income_bucket",) else EXTREMES
        # where no household has one of them, the richest and the poorest that are there
        notes = [_INCOME_MISSING.format(*groups)] if groups not in (_RICH, EXTREMES) else []
    reason = question.alone
    fields: Fields = {"notes": notes, "params": {"groups": groups}, "parts": question.parts()}
    if groups == EXTREMES:
        return question.finding(None, reason=reason, **fields) if reason else question.gap(**fields)
    keys = [] if isinstance(groups, str) else [(k,) if isinstance(k, str) else tuple(k) for k in groups]
    if len(keys) != 2 or keys[0] == keys[1]:
        listed = groups if isinstance(groups, str) else list(groups)
        raise ParameterError(f"groups={listed!r} is not possible; give two groups, or 'extremes'")
    names = fields["params"]["groups"] = ["*".join(key) for key in keys]
    if reason is not None:
        return question.finding(None, reason=reason, **fields)
    absent = [name for name, key in zip(names, keys, strict=True) if key not in bound.groups]
    if absent:
        raise UnknownName("group", absent[0], bound.texts)
    codes = [bound.groups.index(key) for key in keys]
    least = (Z_LEVEL + Z_POWER) * difference_error(*(bound.means[code] for code in codes))
    compared = bound.compared(np.array(codes), question.stream("exchange", *codes))
    return question.gap(codes, compared, mde=least if 0 < least <= 1 else None, **fields)


def worst_finding(question: HitRates) -> Finding:
    """The rate of the group that is recognised least."""
    if not question.bound.by:
        raise InputError("a worst group needs groups; type by='income_bucket' or by='region'")
    reason, parts = question.alone, question.parts()
    return question.finding(None, reason=reason, parts=parts) if reason else question.worst(parts=parts)
