"""Rates of groups with their limits: one form for rows, for clusters and for weighted rows.

A rate is ``sum s_c / sum w_c`` over the sampling units c of a group (rows, or persons, households ...). Its
limits are Wilson's (1927) at the size that as many independent rows would have, with the quantile of t where
units are clusters (Korn and Graubard 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import (
    Codes,
    Ends,
    Floats,
    Integers,
    keys_and_codes,
    nan_without_warning,
    pieces,
    ratio,
)
from evenhand.stats.rates.clustered import ClusterMean, GroupCells, Jackknife, effective_size

_MOST_FREEDOM = 1e7  # beyond it t is normal to all digits
_MOST = 1e12
_ALIKE = 1e-9  # of their number that Kish's size of rows may lack by rounding
_CELLS = 8_000_000  # clusters x thresholds that are held at a time
_MOST_ALIKE = 0.99  # an estimated correlation of 1 would leave a difference no width


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates of G groups; arrays have shape (..., G), and what belongs to several rates at once broadcasts."""

    value: Floats  # in [0, 1]; NaN where a group has nothing to say
    size: Floats  # how many independent rows would vary as much; 0 where limits are 0 and 1
    freedom: Floats  # degrees of freedom of t; infinite where rows are their own units
    # of the rates, shape (..., G, G), from units that lie in several groups; None without any
    covariance: Floats | None = None

    @property
    def span(self) -> float:
        """The largest difference that is possible."""
        return 1.0

    @classmethod
    def of_rows(cls, hits: npt.ArrayLike, n: npt.ArrayLike) -> Rates:
        """Rates of independent rows that count alike: the size is their number."""
        total = np.asarray(n, dtype=np.float64)
        share = ratio(hits, total)
        size = np.broadcast_to(total, share.shape)
        return cls(share, size, np.full(share.shape, np.inf))

    @classmethod
    def of_clusters(cls, means: Sequence[ClusterMean]) -> Rates:
        """Rates of groups whose units are clusters; a group of one cluster has the limits 0 and 1."""
        value = np.array([mean.value for mean in means])
        size = np.array([mean.size for mean in means])
        freedom = np.array([max(mean.effective - 1, 1.0) for mean in means])
        shifts = np.stack([mean.shifts for mean in means]) if means else np.zeros((0, 0))
        there = (shifts != 0).astype(np.float64)
        shared = there @ there.T
        if not (shared > np.diag(np.diagonal(shared))).any():
            return cls(value, size, freedom)
        # deviations of two clusters are always opposite: a correlation needs a third
        is_estimable = (shared > 2) | np.eye(len(shifts), dtype=bool)
        return cls(value, size, freedom, np.where(is_estimable, shifts @ shifts.T, 0.0))

    @classmethod
    def of_weights(cls, sums: npt.ArrayLike, weights: npt.ArrayLike, squares: npt.ArrayLike) -> Rates:
        """Rates of independent rows that have weights: sizes are Kish's (1965), ``(sum w)^2 / sum w^2``.

        ``squares`` is the sum of the rows' squared weights.
        """
        total, square = np.asarray(weights, dtype=np.float64), np.asarray(squares, dtype=np.float64)
        share = ratio(sums, total)
        size = ratio(total**2, square, 0.0)
        return cls(share, size, np.full(share.shape, np.inf))

    @classmethod
    def of_survey(
        cls, sums: Floats, weights: Floats, squares: Floats, hit_squares: Floats, rows: Floats
    ) -> Rates:
        """Rates of independent rows with weights that may go with the outcome, by Taylor linearisation.

        ``variance = n / (n - 1) sum w^2 (y - r)^2 / (sum w)^2``, size ``r (1 - r) / variance``, at most the n
        rows; where nothing varies (r of 0 or 1) it is Kish's. t has Kish's size less 1 (the stratum that the
        group is) degrees of freedom, as of clusters. Rows that weigh alike are as those without weights.
        ``squares`` are the sums of squared weights of all rows, ``hit_squares`` of those that hit; all have
        the shape of the rates.

        Source: Woodruff 1971; Korn and Graubard 1998.
        """
        kish = cls.of_weights(sums, weights, squares)
        r = kish.value
        with nan_without_warning():
            variance = (hit_squares * (1 - r) ** 2 + (squares - hit_squares) * r**2) / weights**2
        varies = kish.size < rows * (1 - _ALIKE)
        variance = variance * np.where(varies, rows / np.maximum(rows - 1, 1), 1.0)
        size = np.nan_to_num(effective_size(r, variance, kish.size, rows))
        return cls(r, size, np.where(varies, np.maximum(kish.size - 1, 1.0), np.inf))

    def at(self, labels: int | slice) -> Rates:
        """The rates of a label, or of some labels, of shape (L, G)."""
        covariance = None if self.covariance is None else self.covariance[labels]
        return Rates(self.value[labels], self.size[labels], self.freedom[labels], covariance)

    def take(self, codes: Codes) -> Rates:
        """The rates of some groups."""
        covariance = None if self.covariance is None else self.covariance[..., codes, :][..., codes]
        return Rates(self.value[..., codes], self.size[..., codes], self.freedom[..., codes], covariance)

    def limits(self, quantile: npt.ArrayLike) -> Ends:
        """Low and high limits, a normal quantile (1.96 for 95 %) away; the value lies between them.

        The quantile broadcasts; t takes the one of equal probability.
        """
        q2 = np.minimum(self.quantiles(quantile) ** 2, _MOST)  # as good as infinite: limits of 0 and 1
        has_value = ~np.isnan(self.value)
        size = np.where(self.size > 0, self.size, np.nan)
        centre = (self.value + q2 / (2 * size)) / (1 + q2 / size)
        half = np.sqrt(q2 * (self.value * (1 - self.value) + q2 / (4 * size)) / size) / (1 + q2 / size)
        low = np.clip(np.minimum(centre - half, self.value), 0, 1)
        high = np.clip(np.maximum(centre + half, self.value), 0, 1)
        open_ = has_value & ~(self.size > 0)
        return np.where(open_, 0.0, low), np.where(open_, 1.0, high)

    def upper(self, quantile: npt.ArrayLike) -> Floats:
        """High limits, of the right error near 1 where Wilson's is too large: Jeffreys' (Cai 2005)."""
        z = np.asarray(quantile, dtype=np.float64)
        size = self.size * (z / self.quantiles(z)) ** 2
        high = special.betaincinv(self.value * size + 0.5, (1 - self.value) * size + 0.5, special.ndtr(z))
        return np.where((size > 0) & (self.value < 1), np.maximum(high, self.value), 1.0)

    def quantiles(self, quantile: npt.ArrayLike) -> Floats:
        """The quantile of t that has the probability of a normal quantile, for each rate."""
        z = np.asarray(quantile, dtype=np.float64)
        if not (self.freedom < _MOST_FREEDOM).any():
            return np.broadcast_to(z, np.broadcast_shapes(z.shape, self.value.shape))
        freedom = np.minimum(self.freedom, _MOST_FREEDOM)
        return -special.stdtrit(freedom, special.ndtr(-z))

    def correlation(self, hidden: float = 0.0) -> Floats | None:
        """Correlation of the rates of each two groups, shape (..., G, G); None where none share units.

        ``hidden`` stands where a rate of 0 or 1 leaves nothing to estimate it from.
        """
        if self.covariance is None:
            return None
        spread = np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))
        scale = spread[..., :, None] * spread[..., None, :]
        coefficients = ratio(self.covariance, scale, float(hidden))
        coefficients = np.clip(coefficients, -_MOST_ALIKE, _MOST_ALIKE)
        same = np.arange(coefficients.shape[-1])
        coefficients[..., same, same] = 1.0
        return np.asarray(coefficients)


def group_rates(value: Floats, group: Integers, groups: int, cluster: Integers | None) -> Rates:
    """Rates of groups of rows that count alike.

    Values are in [0, 1] (0 or 1 where rows are their own units), groups codes below ``groups``, clusters any
    codes; None: each row was sampled by itself.
    """
    if cluster is None:
        n = np.bincount(group, minlength=groups)
        return Rates.of_rows(np.bincount(group, value, minlength=groups), n)
    return Rates.of_clusters(GroupCells.of_rows(value, group, groups, cluster).means())


def reached(values: Floats, group: Integers, groups: int, thresholds: Floats) -> Integers:
    """How many values of each group are at least as high as each threshold.

    Every value is put between two thresholds once; no threshold looks at the values again. -inf reaches no
    threshold; NaN is not allowed. Thresholds ascend, shape (M,). Returns shape (groups, M).
    """
    width = thresholds.size + 1
    n_passed = np.searchsorted(thresholds, values, side="right")
    counts = np.bincount(group * width + n_passed, minlength=groups * width).reshape(groups, width)
    return counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]


def reached_rates(
    values: Floats, group: Integers, groups: int, cluster: Integers | None, thresholds: Floats
) -> Rates:
    """Rates of ``reached``, each of which is that of ``group_rates`` without the covariance of groups.

    Arrays have shape (M, groups).
    """
    hits = reached(values, group, groups, thresholds).T
    plain = Rates.of_rows(hits, np.bincount(group, minlength=groups))
    if cluster is None:
        return plain
    size, freedom = np.zeros(hits.shape), np.full(hits.shape, np.inf)
    for code in range(groups):
        inside = group == code
        clusters, local = keys_and_codes(cluster[inside])
        weights = np.bincount(local).astype(np.float64)[:, None]
        for some in pieces(thresholds.size if clusters.size else 0, _CELLS, clusters.size):
            sums = reached(values[inside], local, clusters.size, thresholds[some]).astype(np.float64)
            means = Jackknife.of(sums, weights, weights)
            size[some, code], freedom[some, code] = means.size[0], means.freedom[0]
    return Rates(plain.value, size, freedom)
