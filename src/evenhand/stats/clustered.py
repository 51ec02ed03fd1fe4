"""Means of clusters, such as the households that images come from, and how they vary.

Clusters are what was sampled; what they hold (images) is alike within one. Each cluster c has a sum ``s_c``
of numbers in [0, 1] and a weight ``w_c``: the share of hits and 1 where every cluster counts once, hits and
images where every image does. The mean is ``sum s_c / sum w_c``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Ends = tuple[float, float]

_PRIOR = 4.0
FEWEST = 2
"""Clusters that an interval needs."""


@dataclass(frozen=True, eq=False)
class ClusterMean:
    """The mean of one group's clusters.

    Attributes:
        value: In [0, 1]; NaN without clusters.
        clusters: How many there are.
        effective: How many of equal weight would say as much (Kish): ``(sum w)^2 / sum w^2``.
        variance: Of the mean, from how far each cluster is from it; NaN below two clusters.
        rows: How many independent rows of equal weight would say as much if clusters were all alike.
        shifts: What each cluster adds to the deviation of the mean, by cluster code.
    """

    value: float
    clusters: int
    effective: float
    variance: float
    rows: float
    shifts: Floats

    @classmethod
    def of(cls, sums: Floats, weights: Floats, sizes: Floats, code: Integers, width: int) -> ClusterMean:
        """From the clusters of one group.

        The variance is that of leaving out each cluster in turn, see ``left_out``.

        Args:
            sums: Shape (C,).
            weights: Above 0, shape (C,).
            sizes: Rows of each cluster, shape (C,).
            code: Of each cluster, below ``width``, shape (C,); none twice.
            width: Length of ``shifts``.
        """
        count, total = sums.size, float(weights.sum())
        if not count:
            return cls(np.nan, 0, 0.0, np.nan, 0.0, np.zeros(width))
        value, shift = left_out(sums, weights)
        share, shifts = weights / total, np.zeros(width)
        shifts[code] = shift
        variance = float(shift @ shift) if count >= FEWEST else np.nan
        rows = 1 / float((share**2 / sizes).sum())
        return cls(float(value), count, 1 / float(share @ share), variance, rows, shifts)

    @property
    def size(self) -> float:
        """How many independent rows would vary as much; 0 below two clusters, which say nothing of others."""
        if self.clusters < FEWEST:
            return 0.0
        return float(effective_size(np.array(self.value), np.array(self.variance), self.effective, self.rows))


def left_out(sums: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Means, and what each cluster adds to how far they are from those without it.

    ``sqrt((C-1)/C) u_c / (1 - v_c)`` with ``v_c`` the cluster's share of the weight and ``u_c = (s_c - mean
    w_c) / sum w``: the sum of their squares is the variance of leaving out each cluster in turn. With equal
    weights it is the sample variance over C.

    Args:
        sums: Shape (..., C).
        weights: Shape (C,).

    Returns:
        Shapes (...,) and (..., C).
    """
    total = float(weights.sum())
    value = sums.sum(axis=-1) / total
    shift = (sums - value[..., None] * weights) / total
    count = weights.size
    left = np.sqrt((count - 1) / count) / np.maximum(1 - weights / total, 1e-12) if count > 1 else 1.0
    return np.asarray(value), np.asarray(shift * left)


def effective_size(value: Floats, variance: Floats, effective: float, rows: float) -> Floats:
    """How many independent rows would vary as much: ``p (1 - p) / variance``, at most ``rows``.

    Where nothing varies between clusters it is the number of clusters of equal weight (Kish).
    """
    spread = value * (1 - value)
    varies = (variance > 1e-15) & (spread > 0)
    size = np.divide(spread, variance, out=np.full(np.shape(value), float(effective)), where=varies)
    return np.asarray(np.minimum(size, rows))


def ratio_variance(value: Floats, total: Floats, units: Floats, squares: tuple[Floats, ...]) -> Floats:
    """Variance of means ``sum s / sum w`` from sums over their units: ``sum (s - mean w)^2 / (sum w)^2``.

    Args:
        value: The means; shapes broadcast.
        total: ``sum w``.
        units: How many units there are; the factor is ``units / (units - 1)``.
        squares: ``sum s^2``, ``sum s w`` and ``sum w^2``.
    """
    hits, both, weights = squares
    away = np.maximum(hits - 2 * value * both + value**2 * weights, 0)
    return np.asarray(away / total**2 * units / np.maximum(units - 1, 1))


def blended(own: Floats, units: Floats, expected: Floats) -> Floats:
    """A variance that some units show, with four units of the expected one: few units may agree by chance."""
    return np.asarray((units * own + _PRIOR * expected) / (units + _PRIOR))


def difference_error(first: ClusterMean, second: ClusterMean) -> float:
    """Standard error of ``first - second``; NaN below two clusters in either."""
    return float(np.sqrt(max(_apart(first.variance, second.variance, first, second), 0)))


def ratio_interval(first: ClusterMean, second: ClusterMean, level: float = 0.95) -> Ends | None:
    """Interval of ``first / second``, from the variance of its logarithm; None where either is 0."""
    from scipy import stats

    if min(first.clusters, second.clusters) < FEWEST or not min(first.value, second.value) > 0:
        return None
    moved = first.shifts / first.value - second.shifts / second.value
    freedom = max(min(first.effective, second.effective) - 1, 1)
    reach = float(stats.t.ppf((1 + level) / 2, freedom)) * float(np.sqrt(moved @ moved))
    ratio = first.value / second.value
    return ratio * float(np.exp(-reach)), ratio * float(np.exp(reach))


def _apart(one: float, other: float, first: ClusterMean, second: ClusterMean) -> float:
    return one + other - 2 * float(first.shifts @ second.shifts)


@dataclass(frozen=True, eq=False)
class Cells:
    """What each cluster adds to each group it has rows in.

    Attributes:
        sums: Shape (cells,).
        weights: Above 0, shape (cells,).
        sizes: Rows, shape (cells,).
        cluster: Codes, shape (cells,).
        group: Codes below ``groups``, shape (cells,); each occurs.
        groups: How many groups there are.
    """

    sums: Floats
    weights: Floats
    sizes: Floats
    cluster: Integers
    group: Integers
    groups: int

    @classmethod
    def of_rows(cls, value: Floats, group: Integers, groups: int, cluster: Integers) -> Cells:
        """From rows that count alike: their values, groups and clusters, shape (N,) each."""
        _, local = np.unique(cluster, return_inverse=True)
        cell, code = np.unique(local * groups + group, return_inverse=True)
        sizes = np.bincount(code, minlength=cell.size).astype(np.float64)
        sums = np.asarray(np.bincount(code, value, minlength=cell.size), dtype=np.float64)
        return cls(sums, sizes, sizes, cell // groups, cell % groups, groups)

    @property
    def width(self) -> int:
        """How many cluster codes there are."""
        return int(self.cluster.max(initial=-1)) + 1

    def means(self) -> list[ClusterMean]:
        """The mean of each group."""
        found = []
        for code in range(self.groups):
            some = np.flatnonzero(self.group == code)
            parts = self.sums[some], self.weights[some], self.sizes[some], self.cluster[some]
            found.append(ClusterMean.of(*parts, self.width))
        return found
