"""How much more often one group than another is recognised as what it is, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import ParameterError, check_known
from evenhand.core.findings import Finding, Interval, NewDetails, Null, Part
from evenhand.metrics.classification.margin_rates import Margins
from evenhand.metrics.classification.margins import TOO_MANY, group_name
from evenhand.metrics.estimates import agreeing, build, null_band, number
from evenhand.metrics.prepared import (
    LEVEL,
    BoundCounts,
    By,
    Evidence,
    Inference,
    Mode,
    check_common,
    classifier_metric,
)
from evenhand.stats.arrays import Floats, Mask, Pair, pair_of
from evenhand.stats.exchange.compared_rates import exceeded
from evenhand.stats.multiplicity import adjust
from evenhand.stats.rates.differences import mean_limits, pair_limits
from evenhand.stats.rates.rates import Rates

_METHOD = "MOVER over classes and both groups"


@classifier_metric(
    title="Recall, one group minus another",
    summary="share of right rows of a class in the first group minus that in the second, mean over classes",
    formula="mean over classes c of P(predicted c | truth c, first) - P(predicted c | truth c, second)",
    range=(-1, 1), direction="descriptive", fair_at=0.0,
    source=Source(paper="Gustafson et al. 2023 (FACET)", equation="disparity"), unit="share difference",
    order=165, family="mistakes", sentences=Sentences(row="recall, first - second"), headline=False,
    tags=("group gap", "where it differs"),
)  # fmt: skip
def recall_gap(
    evidence: Evidence,
    *,
    by: By,
    groups: Sequence[str] | None = None,
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Recall of the first group minus that of the second, mean over the classes that both have; in [-1, 1].

    Parts are the classes, each signed and with its ``n``; a class that one of the groups lacks has None with
    reason ``single_group``. Two fair groups differ in every class on finite data: ``mean_absolute`` in the
    details stands beside ``mean_absolute_by_chance``, and the p of classes is corrected by Holm. None with
    reason ``single_group`` without two groups, or without a class of both.

    Interval: MOVER of Wilson limits (Zou and Donner 2008) over classes, which are taken as independent.
    Null and p, two-sided: groups exchanged within the class, whole clusters where they were declared.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        groups: Two groups, crossed values joined by ``+``; None: the two largest, the larger first.
        mode: ``default`` or ``paper``; both are the same.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the exchanges.

    Raises:
        UnknownName: A group that no usable row has.
        ParameterError: Not two groups.

    Source: Gustafson et al. 2023, disparity of a class, with the sign of ours.
    """
    check_common(mode, inference)
    prepared = BoundCounts.of(evidence, by, seed)
    codes, params = _two(prepared, groups), {} if groups is None else {"groups": list(groups)}
    if codes is None:
        return build(prepared.grouped, "recall_gap", params, None, reason="single_group")
    return _finding(_Gaps(prepared, codes), params, inference)


def _finding(gaps: _Gaps, params: dict[str, Any], inference: Inference) -> Finding:
    """The mean over classes with what belongs to it."""
    prepared, usable = gaps.prepared, gaps.usable
    shared: dict[str, Any] = {"details": gaps.details(), "lists": " - "}
    if not usable.any():
        shared["parts"] = gaps.parts(None)
        return build(prepared.grouped, "recall_gap", params, None, reason="single_group", **shared)
    value = float(gaps.values[usable].mean())
    if inference == "none" or not Margins.of(prepared).by_label:
        notes = [] if inference == "none" else [TOO_MANY]
        shared["parts"] = gaps.parts(None)
        return build(prepared.grouped, "recall_gap", params, value, notes=notes, **shared)
    draws, null, p_value = gaps.draws(), None, None
    if draws is not None:
        means = np.nanmean(draws[:, usable], axis=1)
        null, p_value = gaps.null(means), exceeded(abs(value), np.abs(means))
        shared["details"]["mean_absolute_by_chance"] = float(np.nanmean(np.abs(draws[:, usable])))

    def at(level: float) -> Interval:
        low, high = agreeing(gaps.limits(level), p_value, 0.0, level)
        return Interval(low=max(low, -1.0), high=min(high, 1.0), level=level, method=_METHOD)

    return build(
        prepared.grouped, "recall_gap", params, value, interval=at(LEVEL), limits=at, null=null,
        p_value=p_value, parts=gaps.parts(draws, intervals=True), **shared,
    )  # fmt: skip


def _two(prepared: BoundCounts, groups: Sequence[str] | None) -> tuple[int, int] | None:
    """Codes of both groups; None where there are no two."""
    keys = ["+".join(map(str, group)) for group in prepared.grouped.groups]
    if groups is None:
        largest = np.argsort(-prepared.confusion.group_size, kind="stable")[:2].tolist()
        return (largest[0], largest[1]) if len(largest) == 2 else None
    if isinstance(groups, str) or len(groups) != 2 or groups[0] == groups[1]:
        raise ParameterError(f"groups={groups!r} is not possible; name two of {keys}: [first, second]")
    check_known(f"group of {'+'.join(prepared.grouped.by)}", groups, keys)
    return keys.index(groups[0]), keys.index(groups[1])


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Recalls of two groups by class."""

    prepared: BoundCounts
    codes: tuple[int, int]

    @property
    def recalls(self) -> Floats:
        """Shape (2, L); NaN where a group has no row of the class."""
        return self.prepared.confusion.rates("true")[list(self.codes)]

    @property
    def values(self) -> Floats:
        """First minus second, shape (L,)."""
        return np.asarray(self.recalls[0] - self.recalls[1])

    @property
    def usable(self) -> Mask:
        """Which classes both groups have, shape (L,)."""
        return np.isfinite(self.values)

    @property
    def rates(self) -> Rates:
        """With effective sizes, shape (L, 2)."""
        return Margins.of(self.prepared).rates("true").take(np.array(self.codes))

    def details(self) -> NewDetails:
        """Which groups these are, and the mean over classes without the sign."""
        first, second = (group_name(self.prepared, code) for code in self.codes)
        absolute = float(np.nanmean(np.abs(self.values))) if self.usable.any() else None
        return {
            "first": first,
            "second": second,
            "mean_absolute": absolute,
            "classes": float(self.usable.sum()),
        }

    def limits(self, level: float) -> Pair:
        """Of the mean over classes."""
        rates, usable = self.rates, self.usable
        flat = [column[usable].ravel() for column in (rates.value, rates.size, rates.freedom)]
        covariance = None
        if rates.covariance is not None:
            covariance = np.zeros((flat[0].size, flat[0].size))
            for index, block in enumerate(rates.covariance[usable]):
                covariance[2 * index : 2 * index + 2, 2 * index : 2 * index + 2] = block
        weight = np.tile([1.0, -1.0], flat[0].size // 2) / (flat[0].size // 2)
        return pair_of(mean_limits(Rates(flat[0], flat[1], flat[2], covariance), weight, level, hidden=0.0))

    def draws(self) -> Floats | None:
        """Differences with exchanged groups, shape (R, L); None where nothing can be exchanged."""
        margins = Margins.of(self.prepared)
        if not margins.testable:
            return None
        noise = margins.within_truth.noise["true"]
        return noise[:, self.codes[0]] - noise[:, self.codes[1]]

    def null(self, draws: Floats) -> Null | None:
        """The band of some draws."""
        method, seed = Margins.of(self.prepared).within_truth.method, self.prepared.seed
        return null_band(draws, level=LEVEL, method=method, seed=seed)

    def parts(self, draws: Floats | None, *, intervals: bool = False) -> list[Part]:
        """The classes that either group has."""
        grouped, recalls, values = self.prepared.grouped, self.recalls, self.values
        support = self.prepared.confusion.support[list(self.codes)]
        p = np.full(values.size, np.nan)
        if draws is not None:
            p[self.usable] = [
                exceeded(abs(values[code]), np.abs(draws[:, code][np.isfinite(draws[:, code])]))
                for code in np.flatnonzero(self.usable)
            ]
        corrected, parts = adjust(p, "holm"), []
        for code in np.flatnonzero(support.sum(axis=0) > 0).tolist():
            more: dict[str, Any] = {"reason": None if self.usable[code] else "single_group"}
            if intervals and self.usable[code]:
                low, high = agreeing(pair_limits(self.rates.at(code)), number(p[code]), 0.0)
                more["interval"] = Interval(low=low, high=high, level=LEVEL, method="MOVER of both groups")
            if draws is not None and self.usable[code]:
                more |= {"p_value": p[code], "p_adjusted": number(corrected[code])}
                more["null"] = self.null(draws[:, code])
            details: NewDetails = {
                f"{group}_{what}": number(float(table[row, code]))
                for what, table in (("recall", recalls), ("n", support))
                for row, group in enumerate(("first", "second"))
            }
            n, key = support[:, code].sum(), grouped.label_key(code)
            parts.append(
                Part(kind="class", key=key, value=number(values[code]), n=n, details=details, **more)
            )
        return parts
