"""How much more often one group than another is recognised as what it is, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import check_known
from evenhand.core.findings import Finding, NewDetails, Part
from evenhand.metrics.catalogue import SIGNED
from evenhand.metrics.estimates import (
    By,
    Fields,
    Inference,
    Mode,
    at_levels,
    build,
    check_common,
    null_band,
    part,
)
from evenhand.metrics.named_groups import check_pair, corrected
from evenhand.metrics.prepared import TOO_MANY, BoundCounts, Evidence, classifier_metric
from evenhand.stats.arrays import Floats, Limits, Mask, Pair, pair_of
from evenhand.stats.exchange.compared_rates import exceeded
from evenhand.stats.rates.rates import Rates, mean_limits, pair_limits

_METHOD = "MOVER over classes and both groups"


@classifier_metric(
    title="Recall, one group minus another",
    summary="share of right rows of a class in the first group minus that in the second, mean over classes",
    formula="mean over classes c of P(predicted c | truth c, first) - P(predicted c | truth c, second)",
    **SIGNED,
    source=Source(paper="Gustafson et al. 2023 (FACET)", equation="disparity"),
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
    codes, params = _two(prepared, groups), {"groups": groups and list(groups)}
    if codes is None:
        return build(prepared, "recall_gap", params, None, reason="single_group")
    gaps = _Gaps(prepared, codes, inference == "auto")
    value = float(gaps.values[gaps.usable].mean()) if gaps.usable.any() else None
    return build(prepared, "recall_gap", params, value, lists=" - ", **gaps.fields(value))


def _two(prepared: BoundCounts, groups: Sequence[str] | None) -> list[int] | None:
    """Codes of both groups; None where there are no two."""
    keys = ["+".join(map(str, group)) for group in prepared.groups]
    if groups is None:
        largest: list[int] = np.argsort(-prepared.confusion.group_size, kind="stable")[:2].tolist()
        return largest if len(largest) == 2 else None
    check_pair(groups, keys, "first, second")
    check_known(f"group of {'+'.join(prepared.by)}", groups, keys)
    return [keys.index(group) for group in groups]


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Recalls of two groups by class."""

    prepared: BoundCounts
    codes: list[int]
    infers: bool  # whether intervals, null bands and p are wanted

    @cached_property
    def recalls(self) -> Floats:
        """Shape (2, L); NaN where a group has no row of the class."""
        return self.prepared.confusion.rates("true")[self.codes]

    @cached_property
    def values(self) -> Floats:
        """First minus second, shape (L,)."""
        return np.asarray(self.recalls[0] - self.recalls[1])

    @cached_property
    def usable(self) -> Mask:
        """Which classes both groups have, shape (L,)."""
        return np.isfinite(self.values)

    @cached_property
    def rates(self) -> Rates:
        """With effective sizes, shape (L, 2)."""
        return self.prepared.rates("true").take(np.array(self.codes))

    @cached_property
    def draws(self) -> Floats | None:
        """Differences with exchanged groups, shape (R, L); None where nothing can be exchanged."""
        if not self.prepared.testable:
            return None
        noise = self.prepared.within_truth.noise["true"]
        return noise[:, self.codes[0]] - noise[:, self.codes[1]]

    def fields(self, value: float | None) -> Fields:
        """Interval, null band, p and details of the mean over classes, and the classes."""
        first, second = map(self.prepared.group_text, self.codes)
        absolute = None if value is None else float(np.nanmean(np.abs(self.values)))
        details: NewDetails = {
            "first": first, "second": second, "mean_absolute": absolute, "classes": self.usable.sum(),
        }  # fmt: skip
        tests = self.infers and value is not None and self.prepared.by_label
        occurs = self.prepared.confusion.support[self.codes].any(axis=0)
        parts = [self._part(code, tests=tests) for code in np.flatnonzero(occurs).tolist()]
        fields: Fields = {"details": details, "parts": corrected(parts)}
        if value is None:
            return fields | {"reason": "single_group"}
        if not tests:
            return fields | {"notes": [TOO_MANY] if self.infers else []}
        means = None
        if self.draws is not None:
            means = np.nanmean(self.draws[:, self.usable], axis=1)
            details["mean_absolute_by_chance"] = float(np.nanmean(np.abs(self.draws[:, self.usable])))
        return fields | self._tested(value, self._limits, _METHOD, means)

    def _tested(self, value: float, limits: Limits, method: str, draws: Floats | None) -> Fields:
        """Interval, null band and p of a difference."""
        fields: Fields = {}
        if draws is not None:
            exchanged, seed = self.prepared.within_truth.method, self.prepared.seed
            fields["p_value"] = exceeded(abs(value), np.abs(draws[np.isfinite(draws)]))
            fields["null"] = null_band(draws, method=exchanged, seed=seed)
        return fields | {"limits": at_levels(limits, method, p_value=fields.get("p_value"))}

    def _limits(self, level: float) -> Pair:
        """Of the mean over classes."""
        rates, usable, covariance = self.rates, self.usable, None
        flat = [column[usable].ravel() for column in (rates.value, rates.size, rates.freedom)]
        index = np.arange(usable.sum())
        if rates.covariance is not None:
            blocks = np.zeros((index.size, 2, index.size, 2))
            blocks[index, :, index] = rates.covariance[usable]
            covariance = blocks.reshape(2 * index.size, -1)
        weight = np.tile([1.0, -1.0], index.size) / index.size
        ends = mean_limits(Rates(flat[0], flat[1], flat[2], covariance), weight, level, hidden=0.0)
        return pair_of(ends, -1.0, 1.0)

    def _part(self, code: int, *, tests: bool) -> Part:
        """A class that either group has."""
        support, value = self.prepared.confusion.support[self.codes], float(self.values[code])
        fields: Fields = {} if self.usable[code] else {"reason": "single_group"}
        if tests and self.usable[code]:
            draws = None if self.draws is None else self.draws[:, code]
            limits = partial(pair_limits, self.rates.at(code))
            fields = self._tested(value, limits, "MOVER of both groups", draws)
        details = {
            f"{group}_{what}": table[row, code]
            for what, table in (("recall", self.recalls), ("n", support))
            for row, group in enumerate(("first", "second"))
        }
        key, n = self.prepared.label_key(code), support[:, code].sum()
        return part("class", key, value, n=n, details=details, **fields)
