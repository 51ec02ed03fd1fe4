"""Rows that come in sampling units, such as persons: what they are, and how alike those of a unit are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask
from evenhand.stats.relabelling import Relabelling


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows of one rate, by group and unit."""

    value: Floats  # in [0, 1], shape (N,)
    group: Integers  # codes below `groups`, shape (N,); each occurs
    groups: int  # how many groups there are
    # codes of what was sampled as a whole, shape (N,); None: each row is its own
    unit: Integers | None = None
    weight: Floats | None = None  # of each row, shape (N,); None: all count alike

    @cached_property
    def units(self) -> Integers:
        """Unit of each row, numbered from 0."""
        if self.unit is None:
            return np.arange(self.value.size)
        return np.unique(self.unit, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row."""
        return np.ones(self.value.size) if self.weight is None else self.weight

    @property
    def mean(self) -> float:
        """The rate of all rows."""
        return float(self.weights @ self.value / self.weights.sum())

    def relabelling(self, stratum: Integers | None = None) -> Relabelling:
        """How groups are exchanged, within strata of any codes where there are any."""
        code = None if stratum is None else np.unique(stratum, return_inverse=True)[1].astype(np.int64)
        return Relabelling(self.group, self.units, code)

    @cached_property
    def mixed(self) -> Mask:
        """Which units lie in several groups."""
        return self.relabelling().mixed

    @property
    def fixed(self) -> bool:
        """Whether nothing can change places: no unit lies in several groups, and each group is one unit."""
        return self.relabelling().fixed

    def within(self, stratum: Integers) -> UnitRows:
        """The same without what strata (topics, classes) make of it: values less their stratum's mean.

        Values keep the mean of all rows, so that rates compare groups of one mix of strata, and may lie a
        little outside [0, 1].
        """
        _, code = np.unique(stratum, return_inverse=True)
        total = np.bincount(code, self.weights * self.value) / np.bincount(code, self.weights)
        return replace(self, value=self.value - total[code] + self.mean)


def likeness(rows: UnitRows) -> float:
    """How alike the rows of a unit are: the intra-class correlation by moments, in [0, 1].

    ``sum over pairs of a unit's rows of (y_i - p)(y_j - p) / (pairs p (1 - p))``; groups play no part in it,
    so an exchange leaves it as it is. 0 where no unit has two rows.
    """
    mean = rows.mean
    away = rows.value - mean
    variance = float(rows.weights @ away**2 / rows.weights.sum())
    size = np.bincount(rows.units)
    pairs = float((size * (size - 1)).sum())
    if not pairs or variance <= 0:
        return 0.0
    sums = np.bincount(rows.units, away)
    squares = np.bincount(rows.units, away**2)
    return float(np.clip((sums**2 - squares).sum() / pairs / variance, 0, 1))


def expected_variance(rows: UnitRows) -> Floats:
    """What the sum of each unit varies by where groups make no difference, shape (units,).

    ``w^2 p (1 - p) (rho + (1 - rho) / n)`` for a unit of weight w and n rows.
    """
    size = np.bincount(rows.units).astype(np.float64)
    weight = np.bincount(rows.units, rows.weights)
    alike, mean = likeness(rows), min(max(rows.mean, 0.0), 1.0)
    return np.asarray(weight**2 * mean * (1 - mean) * (alike + (1 - alike) / size))
