"""Real numbers of two models by group: how far apart are their means, and what is made of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Limits, Mask, Pair, Rng, pair_of
from evenhand.stats.paired.differences import Paired
from evenhand.stats.rates.means import ANY, GroupMeans
from evenhand.stats.rates.rates import (
    Figure,
    gap_limits,
    mean_limits,
    mover,
    normal_quantile,
    range_limits,
    worst_limits,
)


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The numbers of one model."""

    value: Floats  # shape (N,)
    group: Integers  # codes below `groups`, shape (N,); each occurs
    groups: int
    unit: Integers | None = None  # codes from 0 of what was sampled as a whole, shape (N,); None: each row
    weight: Floats | None = None  # above 0, shape (N,); None: all count alike
    ends: Pair = ANY  # least and largest number that is possible

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row."""
        return np.ones(self.value.size) if self.weight is None else self.weight

    @cached_property
    def totals(self) -> Floats:
        """Weight of each group."""
        return np.bincount(self.group, self.weights, self.groups).astype(np.float64)

    @cached_property
    def means(self) -> GroupMeans:
        """Of each group."""
        return GroupMeans.of_numbers(self.value, self.group, self.groups, self.unit, self.weight, self.ends)

    @cached_property
    def ungrouped(self) -> GroupMeans:
        """Of all rows."""
        return replace(self, group=np.zeros_like(self.group), groups=1).means

    def less(self, other: ModelRows) -> ModelRows:
        """The differences from another model's numbers of the same rows."""
        span = self.ends[1] - self.ends[0]
        return replace(self, value=self.value - other.value, ends=(-span, span))

    def by_unit(self, added: Floats) -> Floats:
        """What each unit adds up to."""
        return added if self.unit is None else np.bincount(self.unit, added).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ComparedMeans:
    """Figures of the means of two models, of the first less that of the second.

    A figure is the mean of a group (its code), of all rows (``mean``), or ``worst``, ``gap`` or ``range``
    over groups. Where both gave a number to the same rows, differences of means are means of differences:
    limits of ``GroupMeans``, p by flipping the signs of whole units. Of other figures, and of rows that are
    not the same, each model has limits, put together by MOVER; on the same rows with the correlation of what
    units add to the two.
    """

    first: ModelRows
    second: ModelRows
    figures: Sequence[int | str]
    sign: int  # 1 where high numbers are better, else -1
    apart: ModelRows | None = None  # differences, where both have the same rows in one order

    @cached_property
    def count(self) -> int:
        """How many units there are."""
        units = [rows.by_unit(rows.value).size for rows in (self.first, self.second)]
        return sum(units) if self.apart is None else units[0]

    @cached_property
    def share(self) -> Floats:
        """Of each group in the whole; of rows that are not the same in one mix for both models."""
        harmonic = 2 / (1 / self.first.totals + 1 / self.second.totals)
        return np.asarray(harmonic / harmonic.sum())

    def observed(self) -> Floats:
        """Every figure of the two models, shape (2, S)."""
        models = (self.first, self.second)
        return np.array([[self._figure(rows, figure) for figure in self.figures] for rows in models])

    def _figure(self, rows: ModelRows, figure: int | str) -> float:
        means = rows.means.value
        if not isinstance(figure, str):
            return float(means[figure])
        mean, least = float(self.share @ means), float((self.sign * means).min())
        figures = {"mean": mean, "worst": self.sign * least, "gap": max(self.sign * mean - least, 0.0)}
        return float(np.ptp(means)) if figure == "range" else figures[figure]

    def limits(self, at: int, rng: Rng) -> Limits:
        """Limits of one figure of the first model less that of the second; NaN where nothing varies."""
        figure = self.figures[at]
        if self.apart is not None and self._is_mean(figure):
            return self._of_differences(self.apart, figure)
        correlation = self._correlation(figure) if self.apart is not None else None

        def limits(level: float) -> Pair:
            first, second = (self._limits_of(rows, figure, level) for rows in (self.first, self.second))
            return pair_of(mover(first, second, correlation))

        return limits

    def p_value(self, at: int, rng: Rng) -> float | None:
        """The signs of whole units flipped; None of figures that are no means of differences."""
        figure, rows = self.figures[at], self.apart
        if rows is None or not self._is_mean(figure):
            return None
        some = rows.weights if figure == "mean" else rows.weights * (rows.group == figure)
        added = rows.by_unit(some * rows.value)
        largest = float(np.abs(added).max(initial=0))
        return Paired.of(added / largest, rng).p_value if largest > 0 else 1.0

    @staticmethod
    def _is_mean(figure: int | str) -> bool:
        return figure == "mean" or not isinstance(figure, str)

    @property
    def unsure(self) -> Mask:
        """Groups in which a few rows make the mean of the differences, so that limits may be too narrow."""
        rows = self.apart
        return np.zeros(self.first.groups, dtype=bool) if rows is None else rows.means.unsure

    @staticmethod
    def _of_differences(rows: ModelRows, figure: int | str) -> Limits:
        means, code = (rows.ungrouped, 0) if isinstance(figure, str) else (rows.means, figure)

        def limits(level: float) -> Pair:
            if not (means.size[code] > 0 and means.error[code] > 0):
                return np.nan, np.nan
            low, high = means.limits(normal_quantile(level))
            return float(low[code]), float(high[code])

        return limits

    def _limits_of(self, rows: ModelRows, figure: int | str, level: float) -> Figure:
        """Limits of a figure of one model, by t: what skews one model's skews the other's."""
        means = replace(rows.means, skew=np.zeros(rows.groups))
        toward = means if self.sign == 1 else means.mirrored()
        if not isinstance(figure, str):
            low, high = means.limits(normal_quantile(level))
            ends = float(low[figure]), float(high[figure])
        elif figure == "mean":
            ends = pair_of(mean_limits(means, self.share, level))
        elif figure == "gap":
            ends = pair_of(gap_limits(toward, self.share, level))
        elif figure == "range":
            ends = pair_of(range_limits(means, level))
        else:
            ends = pair_of(worst_limits(toward, level))
            ends = ends if self.sign == 1 else (-ends[1], -ends[0])
        value = np.array(self._figure(rows, figure))
        return np.minimum(ends[0], value), value, np.maximum(ends[1], value)

    def _correlation(self, figure: int | str) -> float:
        """Of what units add to the figures of both models, reduced as in ``paired_correlation``."""
        first, second = (self._added(rows, figure) for rows in (self.first, self.second))
        scale = np.sqrt((first @ first) * (second @ second))
        return float(first @ second / scale) * self.count / (self.count + 2) if scale > 0 else 0.0

    def _added(self, rows: ModelRows, figure: int | str) -> Floats:
        """What each unit adds to the deviation of a figure, at the groups that it is made of."""
        means, groups = rows.means.value, np.arange(rows.groups)
        is_worst = groups == (self.sign * means).argmin()
        weight = {
            "range": (groups == means.argmax()) * 1.0 - (groups == means.argmin()),
            "gap": self.sign * (self.share - is_worst),
            "worst": is_worst * 1.0,
        }[str(figure)]
        away = rows.weights * (rows.value - means[rows.group]) / rows.totals[rows.group]
        return rows.by_unit(weight[rows.group] * away)
