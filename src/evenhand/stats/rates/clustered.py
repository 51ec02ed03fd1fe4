"""Means of clusters, such as the households that images come from, and how they vary.

Clusters are what was sampled; what they hold (images) is alike within one. Each cluster c has a sum ``s_c``
of numbers in [0, 1] and a weight ``w_c``: the share of hits and 1 where every cluster counts once, hits and
images where every image does. The mean is ``sum s_c / sum w_c``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import (
    Codes,
    Floats,
    Integers,
    Pair,
    codes_of,
    keys_and_codes,
    nan_without_warning,
    ratio,
)

_PRIOR = 4.0
FEWEST = 2
"""Clusters that an interval needs."""


@dataclass(frozen=True, eq=False)
class ClusterMean:
    """The mean of one group's clusters."""

    value: float  # in [0, 1]; NaN without clusters
    clusters: int  # how many there are
    effective: float  # how many of equal weight would say as much (Kish): `(sum w)^2 / sum w^2`
    variance: float  # of the mean, from how far each cluster is from it; NaN below two clusters
    rows: float  # how many independent rows of equal weight would say as much if clusters were all alike
    shifts: Floats  # what each cluster adds to the deviation of the mean, by cluster code

    @classmethod
    def of(cls, sums: Floats, weights: Floats, sizes: Floats, code: Integers, width: int) -> ClusterMean:
        """From the clusters of one group.

        The variance is that of leaving out each cluster in turn, see ``Jackknife``. ``sums``, ``weights``
        (above 0), ``sizes`` (rows) and ``code`` (below ``width``, none twice) have shape (C,).
        """
        if not sums.size:
            return cls(np.nan, 0, 0.0, np.nan, 0.0, np.zeros(width))
        jackknife, shifts = Jackknife.of(sums[:, None], weights[:, None], sizes[:, None]), np.zeros(width)
        shifts[code] = jackknife.shift[:, 0]
        variance = jackknife.variance.item() if sums.size >= FEWEST else np.nan
        return cls(
            jackknife.value.item(),
            sums.size,
            jackknife.effective.item(),
            variance,
            jackknife.rows.item(),
            shifts,
        )

    @property
    def size(self) -> float:
        """How many independent rows would vary as much; 0 below two clusters, which say nothing of others."""
        if self.clusters < FEWEST:
            return 0.0
        return float(effective_size(*np.array([self.value, self.variance, self.effective, self.rows])))


@dataclass(frozen=True, eq=False)
class Jackknife:
    """L means of the clusters of G groups, and how they vary by leaving out each cluster in turn.

    A cluster adds ``sqrt((C-1)/C) u_c / (1 - v_c)`` with ``v_c`` its share of the weight and
    ``u_c = (s_c - mean w_c) / sum w``; the sum of their squares is the variance. With equal weights it is the
    sample variance over C.
    """

    value: Floats  # shape (G, L); NaN without weight
    clusters: Floats  # how many have weight
    effective: Floats  # how many of equal weight would say as much (Kish), shape (G, L)
    variance: Floats  # shape (G, L); 0 of one cluster
    rows: Floats  # as of `ClusterMean`, shape (G, L)
    shift: Floats  # what each cluster adds to the deviation of its group's mean, shape (C, L)

    @classmethod
    def of(cls, sums: Floats, weights: Floats, sizes: Floats, starts: Codes | None = None) -> Jackknife:
        """From the clusters of each group, one group after the other.

        Sums have shape (C, L), weights and sizes (rows) what broadcasts to it; ``starts`` is the first
        cluster of each group, None where all are of one.
        """
        starts = np.zeros(1, dtype=np.int64) if starts is None else starts
        group = np.repeat(np.arange(starts.size), np.diff(np.append(starts, len(sums))))

        def total(values: Floats) -> Floats:
            return np.add.reduceat(values, starts, axis=0)

        with nan_without_warning():
            weight, count = total(weights), total((weights > 0).astype(np.float64))
            value = ratio(total(sums), weight)
            all_, units = weight[group], count[group]
            share = weights / all_
            shift = (sums - value[group] * weights) / all_ / np.maximum(1 - share, 1e-12)
            shift = np.nan_to_num(shift * np.sqrt(np.maximum(units - 1, 0) / units))
            rows = 1 / total(share**2 / np.where(weights > 0, sizes, 1))
            return cls(value, count, 1 / total(share**2), total(shift**2), rows, shift)

    @property
    def size(self) -> Floats:
        """How many independent rows would vary as much, shape (G, L); 0 below two clusters."""
        size = effective_size(self.value, self.variance, self.effective, self.rows)
        return np.where(self.clusters < FEWEST, 0.0, np.nan_to_num(size))

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of t, shape (G, L)."""
        return np.maximum(np.nan_to_num(self.effective, nan=1.0) - 1, 1.0)


def effective_size(value: Floats, variance: Floats, effective: Floats, rows: Floats) -> Floats:
    """How many independent rows would vary as much: ``p (1 - p) / variance``, at most ``rows``.

    Where nothing varies between clusters it is the number of clusters of equal weight (Kish).
    """
    spread = value * (1 - value)
    with nan_without_warning():
        size = np.where((variance > 1e-15) & (spread > 0), spread / variance, effective)
        return np.minimum(size, rows)


def ratio_variance(value: Floats, total: Floats, units: Floats, squares: tuple[Floats, ...]) -> Floats:
    """Variance of means ``sum s / sum w`` from sums over their units: ``sum (s - mean w)^2 / (sum w)^2``.

    ``total`` is ``sum w``, ``squares`` are ``sum s^2``, ``sum s w`` and ``sum w^2``; the factor for so many
    units is ``units / (units - 1)``.
    """
    hits, products, weights = squares
    away = np.maximum(hits - 2 * value * products + value**2 * weights, 0)
    return away / total**2 * units / np.maximum(units - 1, 1)


def unit_variance(
    value: Floats, pooled: Floats, total: Floats, units: Floats, squares: tuple[Floats, ...], alike: Floats
) -> Floats:
    """Variance of rates by how far units are from them, blended with what is expected at the pooled rate.

    ``alike`` is how alike the rows of a unit are (``likeness_of``); the rest is as of ``ratio_variance``. Of
    one unit it is the expected variance.
    """
    noise = pooled * (1 - pooled) / total * (alike * squares[2] / total + 1 - alike)
    own_variance = ratio_variance(value, total, units, squares)
    return np.where(units > 1, blended(own_variance, telling(units, total, pooled), noise), noise)


def telling(units: Floats, total: Floats, pooled: Floats) -> Floats:
    """Units that say how they vary: those without a single hit do not; so many should have one."""
    return np.minimum(units, total * pooled * (1 - pooled))


def likeness_of(hits: Floats, total: Floats, squares: tuple[Floats, ...]) -> Floats:
    """How alike the rows of a unit are, in [0, 1], from sums over all units as of ``ratio_variance``."""
    of_hits, products, weights = squares
    with nan_without_warning():
        mean = hits / total
        noise, pairs = mean * (1 - mean), weights - total
        alike = (of_hits - 2 * mean * products + mean**2 * weights - total * noise) / (pairs * noise)
    return np.clip(np.nan_to_num(alike, nan=0.0, posinf=0.0, neginf=0.0), 0, 1)


def blended(own_variance: Floats, units: npt.NDArray[np.number], expected: Floats) -> Floats:
    """A variance that some units show, with four units of the expected one: few units may agree by chance."""
    return np.asarray((units * own_variance + _PRIOR * expected) / (units + _PRIOR))


def difference_error(first: ClusterMean, second: ClusterMean) -> float:
    """Standard error of ``first - second``; NaN below two clusters in either."""
    square = first.variance + second.variance - 2 * float(first.shifts @ second.shifts)
    return float(np.sqrt(max(square, 0)))


def ratio_interval(first: ClusterMean, second: ClusterMean, level: float = 0.95) -> Pair | None:
    """Interval of ``first / second``, from the variance of its logarithm; None where either is 0."""
    from scipy import stats

    if min(first.clusters, second.clusters) < FEWEST or not min(first.value, second.value) > 0:
        return None
    moved = first.shifts / first.value - second.shifts / second.value
    freedom = max(min(first.effective, second.effective) - 1, 1)
    reach = float(stats.t.ppf((1 + level) / 2, freedom)) * float(np.sqrt(moved @ moved))
    ratio = first.value / second.value
    return ratio * float(np.exp(-reach)), ratio * float(np.exp(reach))


@dataclass(frozen=True, eq=False)
class GroupCells:
    """What each cluster adds to each group it has rows in."""

    sums: Floats  # shape (cells,)
    weights: Floats  # above 0, shape (cells,)
    sizes: Floats  # rows, shape (cells,)
    cluster: Integers  # codes, shape (cells,)
    group: Integers  # codes below `groups`, shape (cells,); each occurs
    groups: int  # how many groups there are

    @classmethod
    def of_rows(cls, value: Floats, group: Integers, groups: int, cluster: Integers) -> GroupCells:
        """From rows that count alike: their values, groups and clusters, shape (N,) each."""
        local = codes_of(cluster)
        cell, code = keys_and_codes(local * groups + group)
        sizes = np.bincount(code, minlength=cell.size).astype(np.float64)
        sums = np.asarray(np.bincount(code, value, minlength=cell.size), dtype=np.float64)
        return cls(sums, sizes, sizes, cell // groups, cell % groups, groups)

    def means(self) -> list[ClusterMean]:
        """The mean of each group."""
        width, cluster_means = int(self.cluster.max(initial=-1)) + 1, []
        for code in range(self.groups):
            some = np.flatnonzero(self.group == code)
            parts = self.sums[some], self.weights[some], self.sizes[some], self.cluster[some]
            cluster_means.append(ClusterMean.of(*parts, width))
        return cluster_means
