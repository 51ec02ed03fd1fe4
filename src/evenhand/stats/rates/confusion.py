"""Accuracy and one-vs-rest rates by group, for one table or for many replicates at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Floats, ratio

_FEW_CLASSES = 32  # below so many a reduction over groups is quicker with groups first in memory


@dataclass(frozen=True, eq=False)
class Confusion:
    """The margins of truth x group x prediction on which accuracy, parity and odds depend."""

    # rows of group z with true label l, shape (Z, L), or (..., Z, L) where draws differ in it
    support: Floats
    correct: Floats  # those predicted as l, shape (..., Z, L)
    predicted: Floats  # rows of group z predicted as l, whatever the truth, shape (..., Z, L)
    fewest: int = 2  # groups that a difference between groups needs; 1 makes it 0 for a single group

    @property
    def group_size(self) -> Floats:
        """Rows of each group, shape (Z,)."""
        return np.asarray(self.support.sum(axis=-1))

    def accuracy(self) -> Floats:
        """Correct rows over rows, shape (...,); in [0, 1]."""
        return np.asarray(self.correct.sum(axis=(-2, -1)) / self.support.sum(axis=(-2, -1)))

    def accuracy_by_group(self) -> Floats:
        """Accuracy of each group pooled over classes, shape (..., Z)."""
        return ratio(self.correct.sum(axis=-1), self.group_size)

    def accuracy_by_cell(self) -> Floats:
        """Accuracy of each (group, class), shape (..., Z, L); NaN where a cell has no rows."""
        return ratio(self.correct, self.support)

    def false_positive_rate(self) -> Floats:
        """P(prediction = l | truth is not l, group), shape (..., Z, L); NaN without such rows."""
        return ratio(self.predicted - self.correct, self.group_size[..., None] - self.support)

    def parity_by_class(self) -> Floats:
        """Range over groups of P(prediction = l | group), shape (..., L)."""
        return range_over_groups(ratio(self.predicted, self.group_size[..., None]), self.fewest)

    def odds_by_class(self, how: str) -> Floats:
        """Range over groups of the true and of the false positive rate, their ``max`` or ``avg``.

        A label that is never a truth has no true positive rate: then its false positive rate alone counts.
        Shape (..., L); NaN where neither rate is defined in enough groups.
        """
        true = range_over_groups(self.accuracy_by_cell(), self.fewest)
        return odds_of(true, range_over_groups(self.false_positive_rate(), self.fewest), how)


def odds_of(true: Floats, false: Floats, how: str) -> Floats:
    """``max`` or ``avg`` of the ranges of two rates; where one is NaN, the other."""
    if how == "max":
        return np.fmax(true, false)
    return (np.where(np.isnan(true), false, true) + np.where(np.isnan(false), true, false)) / 2


def range_over_groups(rates: Floats, fewest: int) -> Floats:
    """Largest minus smallest rate over groups (axis -2); NaN where fewer than ``fewest`` have one."""
    by_group = np.moveaxis(rates, -2, 0)
    if rates.shape[-1] < _FEW_CLASSES:
        by_group = np.ascontiguousarray(by_group)
    return range_over_first(by_group, fewest)


def range_over_first(by_group: Floats, fewest: int) -> Floats:
    """The same over groups as the first axis."""
    least = np.minimum.reduce(by_group, axis=0)
    if len(by_group) >= fewest and not np.isnan(least).any():
        return np.asarray(np.maximum.reduce(by_group, axis=0) - least)
    enough = (~np.isnan(by_group)).sum(axis=0) >= fewest
    low, high = np.fmin.reduce(by_group, axis=0), np.fmax.reduce(by_group, axis=0)
    return np.where(enough, high - low, np.nan)


def over_classes(per_class: Floats, aggregate: str) -> Floats:
    """``max`` or ``mean`` over classes (last axis), NaN left out; NaN where no class is defined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an all-NaN line is a NaN here, by contract
        if aggregate == "max":
            return np.asarray(np.nanmax(per_class, axis=-1))
        mean = np.nanmean if np.isnan(per_class).any() else np.mean  # which is twice as fast
        return np.asarray(mean(per_class, axis=-1))


def summaries(confusion: Confusion) -> dict[str, Floats]:
    """Every scalar of the accuracy and parity families, each of shape (...,).

    Keys are ``name`` or ``name/aggregate`` or ``name/how/aggregate``. Groups without rows are left out.

    Source: Albuquerque et al. 2024, section 2.1 and Appendix A.
    """
    by_group = confusion.accuracy_by_group()
    overall = confusion.accuracy()
    worst = np.fmin.reduce(by_group, axis=-1)
    cells = confusion.accuracy_by_cell()
    worst_cell = np.fmin.reduce(cells.reshape(*cells.shape[:-2], -1), axis=-1)
    # adds NaN to what needs two groups
    differ = np.nan if confusion.support.shape[-2] < confusion.fewest else 0.0
    parity = confusion.parity_by_class()
    odds = {how: confusion.odds_by_class(how) for how in ("max", "avg")}
    result = {
        "accuracy": overall,
        "mean_group_accuracy": over_classes(by_group, "mean"),
        "worst_group_accuracy": worst,
        "worst_class_group_accuracy": worst_cell,
        "accuracy_gap": overall - worst + differ,
        "class_group_accuracy_gap": overall - worst_cell + differ,
        "accuracy_range": np.fmax.reduce(by_group, axis=-1) - worst + differ,
    }
    for aggregate in ("max", "mean"):
        result[f"demographic_parity/{aggregate}"] = over_classes(parity, aggregate)
        for how, per_class in odds.items():
            result[f"equalized_odds/{how}/{aggregate}"] = over_classes(per_class, aggregate)
    return result
