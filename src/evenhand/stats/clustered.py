"""Means of clusters, such as the households that images come from: intervals, resamples and exchanges.

Clusters are what was sampled; what they hold (images) is alike within one. Each cluster c has a sum ``s_c``
of numbers in [0, 1] and a weight ``w_c``: the share of hits and 1 where every cluster counts once, hits and
images where every image does. The mean is ``sum s_c / sum w_c``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.effect_intervals import wilson_interval

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Ends = tuple[float, float]

FEWEST = 2
"""Clusters that an interval needs."""

_CELLS = 20_000_000  # clusters x replicates that are drawn in all
_HELD = 4_000_000  # of which so many at a time
_FEWEST_DRAWS, _MOST_DRAWS = 999, 9_999
_ROUNDS = 20  # of weighting anew
_LEAST_LIKE = 1e-3  # rows of a cluster that differ more than by chance count as this alike
_NO_ERROR = 1e-12


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

    def interval(self, level: float = 0.95, *, capped: bool = True) -> Ends | None:
        """Wilson's interval, its n what the variation between clusters leaves of it; None below two clusters.

        ``n = p (1 - p) / variance``, the quantile that of t with ``effective - 1`` degrees of freedom (after
        Korn and Graubard 1998). Clusters that do not differ at all count once each.

        Args:
            level: Confidence.
            capped: n is at most ``rows``: never narrower than for independent rows.
        """
        from scipy import special, stats

        if self.clusters < FEWEST:
            return None
        spread = self.value * (1 - self.value)
        varies = self.variance > 1e-15 and spread > 0
        n = spread / self.variance if varies else min(self.effective, self.rows)
        if capped:
            n = min(n, self.rows)
        quantile = float(stats.t.ppf((1 + level) / 2, max(self.effective - 1, 1)))
        inside = float(2 * special.ndtr(quantile) - 1)
        low, high = wilson_interval(np.array([self.value * n]), np.array([n]), min(inside, 1 - 1e-15))
        return min(float(low[0]), self.value), max(float(high[0]), self.value)


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
    return np.minimum(size, rows)


def correlation_of(first: ClusterMean, second: ClusterMean) -> float:
    """How two means go together because they share clusters; 0 without a common one."""
    scale = float(np.sqrt((first.shifts @ first.shifts) * (second.shifts @ second.shifts)))
    return float(first.shifts @ second.shifts) / scale if scale > 0 else 0.0


def difference_interval(first: ClusterMean, second: ClusterMean, level: float = 0.95) -> Ends | None:
    """Interval of ``first - second`` by MOVER (Newcombe 1998; Zou and Donner 2008); None without one.

    The ends of the two means are those that are not capped.
    """
    one, other = first.interval(level, capped=False), second.interval(level, capped=False)
    if one is None or other is None:
        return None
    value, r = first.value - second.value, correlation_of(first, second)

    def reach(a: float, b: float) -> float:
        return float(np.sqrt(max(a * a + b * b - 2 * r * a * b, 0)))

    below = reach(first.value - one[0], other[1] - second.value)
    above = reach(one[1] - first.value, second.value - other[0])
    return max(value - below, -1.0), min(value + above, 1.0)


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
    def nested(self) -> bool:
        """Whether every cluster lies in one group."""
        return np.unique(self.cluster).size == self.cluster.size

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

    def only(self, kept: Integers) -> Cells:
        """The cells of some groups, which get the codes 0, 1 ... in this order."""
        place = np.full(self.groups, -1, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        some = np.flatnonzero(place[self.group] >= 0)
        return Cells(
            self.sums[some],
            self.weights[some],
            self.sizes[some],
            self.cluster[some],
            place[self.group[some]],
            kept.size,
        )


def resampled_means(cells: Cells, rng: np.random.Generator, replicates: int = 999) -> Floats:
    """Means of groups in bootstrap replicates: clusters are drawn with replacement.

    They are drawn among those that have rows in the same groups, so that no group runs empty.

    Returns:
        Shape (replicates, groups).
    """
    _, cluster = np.unique(cells.cluster, return_inverse=True)
    here = np.lexsort((cells.group, cluster))
    start = np.flatnonzero(np.append(True, np.diff(cluster[here]) > 0))
    length = np.diff(np.append(start, here.size))
    above, below = np.zeros((2, replicates, cells.groups))
    patterns: dict[bytes, list[int]] = {}
    for place, (first, many) in enumerate(zip(start.tolist(), length.tolist(), strict=True)):
        patterns.setdefault(cells.group[here[first : first + many]].tobytes(), []).append(place)
    for whose in patterns.values():
        rows = here[start[whose][:, None] + np.arange(length[whose[0]])]  # (clusters, groups of the pattern)
        groups, size = cells.group[rows[0]], len(whose)
        step = max(1, _HELD // size)
        for begin in range(0, replicates, step):
            part = slice(begin, min(begin + step, replicates))
            times = rng.multinomial(size, np.full(size, 1 / size), size=part.stop - part.start)
            above[part, groups] += times @ cells.sums[rows]
            below[part, groups] += times @ cells.weights[rows]
    return np.asarray(above / below)


@dataclass(frozen=True, eq=False)
class Exchanged:
    """Groups whose clusters changed places at random.

    Attributes:
        means: Shape (replicates, groups).
        apart: How far each group is from the other clusters, in expected standard errors, shape (replicates,
            groups); NaN where there is no such error.
    """

    means: Floats
    apart: Floats


def exchanged_means(cells: Cells, rng: np.random.Generator, replicates: int | None = None) -> Exchanged:
    """Whole clusters change places between groups; for clusters that lie in one group each.

    Args:
        cells: One cell a cluster.
        rng: Source of the exchanges.
        replicates: How many; by default 9,999, or fewer, 999 at least, for many clusters.
    """
    count = cells.cluster.size
    if replicates is None:
        replicates = int(np.clip(_CELLS // max(count, 1), _FEWEST_DRAWS, _MOST_DRAWS))
    member, noise = np.eye(cells.groups)[cells.group], expected_variance(cells)
    parts, step = [], max(1, _HELD // max(count, 1))
    for start in range(0, replicates, step):
        order = rng.permuted(np.tile(np.arange(count), (min(step, replicates - start), 1)), axis=1)
        parts.append(_spread_over(cells.sums[order], cells.weights[order], noise[order], member)[:2])
    return Exchanged(*(np.concatenate(found) for found in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Standing:
    """How each group stands to the other clusters.

    Attributes:
        t: The difference in expected standard errors, shape (groups,); NaN where there is no such error.
        error: Expected standard error of the difference.
        rest: Share of the weight that lies outside the group.
    """

    t: Floats
    error: Floats
    rest: Floats

    @classmethod
    def of(cls, cells: Cells) -> Standing:
        """From the cells of clusters that lie in one group each."""
        member = np.eye(cells.groups)[cells.group]
        _, t, error = _spread_over(cells.sums[None], cells.weights[None], expected_variance(cells), member)
        weight = cells.weights @ member
        return cls(t[0], error[0], np.asarray(1 - weight / weight.sum()))

    def nulls(self, cells: Cells, exchanged: Exchanged) -> Floats:
        """Means of groups that make no difference, each with the spread that its clusters lead to expect.

        An exchanged mean has the spread of the clusters that came, not that of a group whose clusters have
        fewer rows. So the distance from all clusters is drawn in expected standard errors, and cut to what
        a mean can be. Where there is no such error, the exchanged means stand in.

        Returns:
            In [0, 1], shape (replicates, groups).
        """
        whole = cells.sums.sum() / cells.weights.sum()
        own = np.clip(whole + exchanged.apart * (self.rest * self.error), 0, 1)
        return np.where(np.isfinite(self.t), own, exchanged.means)


def likeness(cells: Cells) -> float:
    """How alike the rows of a cluster are: the intra-cluster correlation, in [0, 1].

    The squared distance of a cluster's share from the mean p is ``p (1 - p) (icc + (1 - icc) / n)`` on
    average: least squares, each cluster weighted by what that expects. Groups are not looked at, so an
    exchange leaves it as it is.
    """
    mean = float(cells.sums.sum() / cells.weights.sum())
    if not 0 < mean < 1:
        return 1.0
    few = 1 / cells.sizes
    excess = (cells.sums / cells.weights - mean) ** 2 / (mean * (1 - mean)) - few
    found = 0.1
    for _ in range(_ROUNDS):
        weight = 1 / (found + (1 - found) * few) ** 2
        below = float((weight * (1 - few)) @ (1 - few))
        if not below > 0:  # one row each: all clusters vary alike
            return 1.0
        found = float(np.clip((weight * (1 - few)) @ excess / below, _LEAST_LIKE, 1))
    return found


def expected_variance(cells: Cells) -> Floats:
    """What each cluster's sum varies by where groups make no difference, shape (cells,).

    ``w^2 p (1 - p) (icc + (1 - icc) / n)``: a cluster of few rows varies more. Not the variance of the few
    clusters of a group: of two alike by chance it is next to nothing.
    """
    mean = float(cells.sums.sum() / cells.weights.sum())
    alike = likeness(cells)
    return np.asarray(cells.weights**2 * mean * (1 - mean) * (alike + (1 - alike) / cells.sizes))


def _spread_over(
    sums: Floats, weights: Floats, noise: Floats, member: Floats
) -> tuple[Floats, Floats, Floats]:
    """Means by group, how far each is from the rest in errors, and its error, of clusters in rows."""
    inside = [moment @ member for moment in (sums, weights, noise)]
    whole = [moment.sum(axis=-1, keepdims=True) for moment in (sums, weights, noise)]
    s, w, v = inside
    s_rest, w_rest, v_rest = (every - own for every, own in zip(whole, inside, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(v / w**2 + v_rest / w_rest**2)
        apart = s / w - s_rest / w_rest
        error = np.where((error > _NO_ERROR) & np.isfinite(error), error, np.nan)
        return s / w, apart / error, error
