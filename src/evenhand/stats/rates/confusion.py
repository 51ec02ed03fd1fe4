"""Accuracy and one-vs-rest rates by group, for one table or for many replicates at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.stats.arrays import Ends, Floats, ratio
from evenhand.stats.inverted_families import ALPHA, LEAST, Inverted, Member

_FEW_CLASSES = 32  # below so many a reduction over groups is quicker with groups first in memory


@dataclass(frozen=True, eq=False)
class Confusion:
    """The margins of truth x group x prediction on which accuracy, parity and odds depend."""

    # rows of group z with true label l, shape (Z, L), or (..., Z, L) where draws differ in it
    support: Floats
    correct: Floats  # those predicted as l, shape (..., Z, L)
    predicted: Floats  # rows of group z predicted as l, whatever the truth, shape (..., Z, L)
    fewest: int = 2  # groups that a difference between groups needs; 1 makes it 0 for a single group

    @cached_property
    def group_size(self) -> Floats:
        """Rows of each group, shape (Z,)."""
        return np.asarray(self.support.sum(axis=-1))

    def sums(self, kind: str) -> Ends:
        """Hits and trials of a kind of rate, shape (..., Z, L); of ``hit`` one label.

        ``hit``: right answers; ``predicted``: answers with a label; ``true``: right ones of its truth;
        ``false``: wrong ones of the other truths.
        """
        size = self.group_size[..., None]
        if kind == "hit":
            return self.correct.sum(axis=-1)[..., None], size
        if kind == "predicted":
            return self.predicted, size
        if kind == "true":
            return self.correct, self.support
        return self.predicted - self.correct, size - self.support

    def rates(self, kind: str) -> Floats:
        """The same as rates, each in [0, 1]; NaN without trials."""
        return ratio(*self.sums(kind))

    def accuracy(self) -> Floats:
        """Correct rows over rows, shape (...,); in [0, 1]."""
        return np.asarray(self.correct.sum(axis=(-2, -1)) / self.support.sum(axis=(-2, -1)))

    def accuracy_by_group(self) -> Floats:
        """Accuracy of each group pooled over classes, shape (..., Z)."""
        return self.rates("hit")[..., 0]

    @cached_property
    def parity_by_class(self) -> Floats:
        """Range over groups of P(prediction = l | group), shape (..., L)."""
        return range_over_groups(self.rates("predicted"), self.fewest)

    def odds_by_class(self, how: str) -> Floats:
        """Range over groups of the true and of the false positive rate, their ``max`` or ``avg``.

        A label that is never a truth has no true positive rate: then its false positive rate alone counts.
        Shape (..., L); NaN where neither rate is defined in enough groups.
        """
        return odds_of(*self._odds, how)

    @cached_property
    def _odds(self) -> Ends:
        true, false = (range_over_groups(self.rates(kind), self.fewest) for kind in ("true", "false"))
        return true, false

    def summary(self, key: str) -> Floats:
        """A scalar of ``SUMMARIES``, shape (...,). Groups without rows are left out.

        Source: Albuquerque et al. 2024, section 2.1 and Appendix A.
        """
        name, *how = key.split("/")
        if name == "demographic_parity":
            return over_classes(self.parity_by_class, *how)
        if name == "equalized_odds":
            return over_classes(self.odds_by_class(how[0]), how[1])
        if name == "accuracy":
            return self.accuracy()
        rates = self.rates("true" if "class" in name else "hit")
        rates = rates.reshape(*rates.shape[:-2], -1)
        if name == "mean_group_accuracy":
            return over_classes(rates, "mean")
        worst = np.fmin.reduce(rates, axis=-1)
        if name.startswith("worst"):
            return np.asarray(worst)
        best = np.fmax.reduce(rates, axis=-1) if name == "accuracy_range" else self.accuracy()
        comparable = self.support.shape[-2] >= self.fewest
        return np.asarray(best - worst if comparable else np.full(worst.shape, np.nan))


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


SUMMARIES = (
    "accuracy", "mean_group_accuracy", "worst_group_accuracy", "worst_class_group_accuracy", "accuracy_gap",
    "class_group_accuracy_gap", "accuracy_range", "demographic_parity/max", "demographic_parity/mean",
    "equalized_odds/max/max", "equalized_odds/max/mean", "equalized_odds/avg/max", "equalized_odds/avg/mean",
)  # fmt: skip
"""Scalars of the accuracy and parity families: ``name``, ``name/aggregate`` or ``name/how/aggregate``."""


def mean_range(
    observed: float, away: Sequence[Floats], variance: Sequence[Floats], noise: Sequence[Floats],
    wider: Sequence[Floats], combine: Callable[..., Floats],
) -> Inverted:  # fmt: skip
    """The mean over labels of ranges between groups, among the means that other populations would give.

    It is made of one or several rates: ``away`` are those of groups less what is expected of them without
    differences, shape (G, L) each, ``noise`` draws of such rates, shape (K, G, L); ``wider`` says by how much
    the noise of the observed differences is wider. ``combine`` goes from the ranges of each of the rates,
    shape (..., L), to their mean.
    """
    noise = [np.ascontiguousarray(np.moveaxis(draws, -2, 0)) for draws in noise]

    def family(shape: Sequence[Floats]) -> Member:
        parts = [(a[:, None], e, w[:, None]) for a, e, w in zip(shape, noise, wider, strict=True)]
        full_range = float(combine(*(range_over_groups(deviations, 2) for deviations in shape)))

        def member(s: float) -> tuple[float, Floats]:
            ranges = (range_over_first(s * a + e * (1 + min(s, 1) * (w - 1)), 2) for a, e, w in parts)
            return min(s * full_range, 1.0), combine(*ranges)

        return member

    few = [_significant(deviations, spread) for deviations, spread in zip(away, variance, strict=True)]
    return Inverted.along(observed, [family(few), family(away)])


def _significant(away: Floats, variance: Floats) -> Floats:
    """Differences of labels, shape (G, L), of which little is left where noise explains them."""
    has_value = ~np.isnan(away) & (variance > 0)
    square = np.where(has_value, away**2 / np.where(variance > 0, variance, 1), 0).sum(axis=0)
    p = special.chdtrc(np.maximum(has_value.sum(axis=0) - 1, 1), square)
    return away * np.where(p <= ALPHA, 1.0, LEAST)
