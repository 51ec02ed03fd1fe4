"""Differences of two models in a number that each sample has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import EllipsisType

import numpy as np

from evenhand.core.findings import Dropped, Finding
from evenhand.evidence.numbers import Numbers
from evenhand.metrics.differences.answers import BY_MOVER, AnsweredBoth, PartOf
from evenhand.metrics.numbers.binding import BoundNumbers
from evenhand.metrics.numbers.estimation import SHORT, Better
from evenhand.stats.arrays import Floats, Mask
from evenhand.stats.paired.means import ComparedMeans, ModelRows

_MEANS = "mean of the differences, spread and signs by {unit}"
_APART = "limits of both models by {unit}, of samples of their own (MOVER, Zou and Donner)"
_ONE_MIX = "both models are weighted to one mix of groups"


@dataclass(frozen=True, eq=False)
class BothNumbers:
    """The numbers of two models: of the same samples in one order, or of samples of their own."""

    first: Numbers
    second: Numbers  # with the groups of the first
    by: tuple[str, ...]
    better: Better
    dropped: tuple[Dropped, ...] = ()  # samples that are left out, by reason
    apart: str = ""  # why samples are not the same; empty: they are

    @cached_property
    def _means(self) -> ComparedMeans:
        first, second = (
            ModelRows(rows.value, rows.group, len(rows.groups), rows.cluster, rows.weight, self.first.range)
            for rows in (BoundNumbers.of(numbers, self.by) for numbers in (self.first, self.second))
        )
        sign = 1 if self.better == "high" else -1
        return ComparedMeans(first, second, [], sign, None if self.apart else first.less(second))

    def answered(self, finding: Finding) -> AnsweredBoth:
        """What they come to under a finding of the first model, of a metric that is a ``Statistic``."""
        bound, figure = BoundNumbers.of(self.first, self.by), finding.card.compared
        models = replace(self._means, figures=[figure])
        rows, unsure = models.apart, list[str]()
        is_mean, unit = figure == "mean", self.first.cluster or "row"
        changes = models.sign * rows.value if is_mean and rows is not None else None
        kind, parts = "*".join(bound.by), list[PartOf]()
        for code, n in enumerate(bound.sizes.tolist() if is_mean and bound.by else []):
            parts.append(PartOf(kind, bound.key(code), n, _flips(changes, bound.group == code)))
        params = {**finding.params, "better": self.better}
        if self.first.name != self.second.name:
            params.pop("value")
        about: dict[str, float | str] = {"measured_in": self.first.unit} if self.first.unit else {}
        if self.apart:
            about["second_rows"] = float(models.second.value.size)
        notes = [_ONE_MIX] if self.apart else []
        if is_mean:
            unsure = [bound.text(code) for code in np.flatnonzero(models.unsure).tolist()]
        notes += [SHORT.format(", ".join(unsure))] if unsure else []
        return AnsweredBoth(
            finding.model_copy(update={"params": params}),
            models,
            unit,
            bound.n,
            tuple(parts),
            replace(models, figures=range(len(bound.groups))) if parts else None,
            unit,
            tuple(bound.group_sizes()),
            (*self.dropped, *bound.dropped),
            tuple(notes),
            details={**about, **_flips(changes)},
            method=_APART if self.apart else _MEANS if is_mean else BY_MOVER,
            apart=self.apart,
        )


def _flips(changes: Floats | None, chosen: Mask | EllipsisType = ...) -> dict[str, float]:
    """How many of some samples are better with the first model, and how many worse; nothing of other ones."""
    if changes is None:
        return {}
    some = changes[chosen]
    return {"n_gained": float((some > 0).sum()), "n_lost": float((some < 0).sum())}
