"""Rates of two groups: intervals that heed clusters, and what chance alone gives, exactly where feasible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from evenhand.stats.effect_intervals import wilson_interval

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FEWEST_CLUSTERS = 10  # with fewer, a variance between clusters is too rough an estimate
_CELL_BUDGET = 5_000_000  # steps of one exact distribution, above which moments take over
_LARGEST_STRATUM = 1000  # beyond it binomial coefficients leave the range of a float


@dataclass(frozen=True, eq=False)
class Chance:
    """The distribution of a statistic under a null hypothesis.

    Attributes:
        mean: Its mean.
        sd: Its standard deviation.
        values: The values it can take, ascending; empty where only moments are known (normal distribution).
        weights: Their probabilities.
    """

    mean: float
    sd: float
    values: Floats
    weights: Floats

    @classmethod
    def exact(cls, values: Floats, weights: Floats) -> Chance:
        """From all values and their probabilities, in any order; equal values are merged."""
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        first = np.flatnonzero(np.append(np.inf, np.diff(values)) > 1e-12)
        values, weights = values[first], np.asarray(np.add.reduceat(weights, first))
        weights = weights / float(weights.sum())
        mean = float(values @ weights)
        variance = float(((values - mean) ** 2) @ weights)
        return cls(mean, float(np.sqrt(max(variance, 0.0))), values, weights)

    @classmethod
    def normal(cls, mean: float, sd: float) -> Chance:
        """From moments."""
        return cls(mean, sd, np.empty(0), np.empty(0))

    def band(self, level: float = 0.95) -> tuple[float, float]:
        """The central values; ends are chosen by mid-p, so that about ``level`` lies between them."""
        from scipy import special

        tail = (1 - level) / 2
        if not self.values.size:
            reach = float(special.ndtri(1 - tail)) * self.sd
            return self.mean - reach, self.mean + reach
        below = np.cumsum(self.weights) - self.weights / 2
        slack = 1e-12
        low = int(np.argmax(below >= tail - slack))
        high = self.values.size - 1 - int(np.argmax((1 - below)[::-1] >= tail - slack))
        return float(self.values[low]), float(self.values[max(high, low)])

    def p_value(self, observed: float) -> float:
        """How likely a value at least as far from the mean is."""
        from scipy import special

        distance = abs(observed - self.mean)
        if not self.values.size:
            return float(2 * special.ndtr(-distance / self.sd)) if self.sd > 0 else float(distance <= 1e-9)
        far = np.abs(self.values - self.mean) >= distance - 1e-9
        return float(min(self.weights[far].sum(), 1.0))


def exchanged_gap(values: Integers, second: Mask, stratum: Integers, unit: int) -> Chance:
    r"""The gap ``mean(values | first) - mean(values | second)`` when groups are exchanged within strata.

    The sum S over the first group has, in each stratum, the distribution of a sum drawn without replacement
    (hypergeometric for values 0 and 1); the strata's distributions are convolved, and the gap is linear in S.
    Above a budget the normal distribution with the exact mean and variance stands in.

    Args:
        values: Whole numbers of ``1/unit``, shape (N,).
        second: Which rows belong to the second group, shape (N,); both groups occur.
        stratum: Codes, shape (N,).
        unit: What counts as one.
    """
    scale = int(np.gcd.reduce(np.append(values, unit)))
    values, one = values // scale, unit // scale
    n_first, n_second = int((~second).sum()), int(second.sum())
    total = int(values.sum())
    slope = (1 / n_first + 1 / n_second) / one
    start = -total / n_second / one
    strata = _strata(values, second, stratum)
    exact = _summed(strata)
    if exact is not None:
        lowest, weights = exact
        sums = lowest + np.arange(weights.size, dtype=np.float64)
        return Chance.exact(start + slope * sums, weights)
    mean = sum(m * float(v.mean()) for v, m in strata)
    variance = sum(m * (v.size - m) / max(v.size - 1, 1) * float(v.var()) for v, m in strata)
    return Chance.normal(start + slope * mean, slope * float(np.sqrt(variance)))


def _strata(values: Integers, second: Mask, stratum: Integers) -> list[tuple[Integers, int]]:
    """Values of each stratum and how many of them belong to the first group."""
    order = np.argsort(stratum, kind="stable")
    edges = np.flatnonzero(np.diff(stratum[order])) + 1
    parts = zip(np.split(values[order], edges), np.split(second[order], edges), strict=True)
    return [(part, int((~other).sum())) for part, other in parts]


def _summed(strata: list[tuple[Integers, int]]) -> tuple[int, Floats] | None:
    """Distribution of the sum over all strata as its lowest value and weights; None above the budget."""
    counted = [(*np.unique(v, return_counts=True), m) for v, m in strata]
    cost = sum(n.sum() * m * (m * v.max() + 1) for v, n, m in counted if v.size > 2)
    spread = sum(min(m, n.sum() - m) * v.max() + 1 for v, n, m in counted)
    if cost > _CELL_BUDGET or spread * sum(m * v.max() + 1 for v, _, m in counted) > 20 * _CELL_BUDGET:
        return None
    if any(v.size > 2 and n.sum() > _LARGEST_STRATUM for v, n, _ in counted):
        return None
    lowest, weights = 0, np.ones(1)
    for levels, counts, m in counted:
        start, more = _drawn_sum(tuple(levels.tolist()), tuple(counts.tolist()), m)
        lowest, weights = lowest + start, np.convolve(weights, more)
    return lowest, weights


@lru_cache(maxsize=4096)
def _drawn_sum(levels: tuple[int, ...], counts: tuple[int, ...], m: int) -> tuple[int, Floats]:
    """Sum of m of the values drawn without replacement: lowest value and weights from there on."""
    from scipy import stats

    if len(levels) == 1:
        return levels[0] * m, np.ones(1)
    if len(levels) > 2:
        return _enumerated_sum(levels, counts, m)
    high = np.arange(max(m - counts[0], 0), min(m, counts[1]) + 1)  # how many of the higher value are drawn
    step = levels[1] - levels[0]
    weights = np.zeros((high.size - 1) * step + 1)
    weights[::step] = stats.hypergeom.pmf(high, sum(counts), counts[1], m)
    return levels[0] * m + step * int(high[0]), weights


def _enumerated_sum(levels: tuple[int, ...], counts: tuple[int, ...], m: int) -> tuple[int, Floats]:
    """As ``_drawn_sum`` for any number of levels, which are added one by one.

    ``ways[j, s]`` counts the ways to choose j values of sum s.
    """
    from scipy import special

    top = max(levels) * m
    ways = np.zeros((m + 1, top + 1))
    ways[0, 0] = 1
    for level, count in zip(levels, counts, strict=True):
        added = np.zeros_like(ways)
        for i in range(min(count, m) + 1):
            shift = level * i
            if shift > top:
                break
            added[i:, shift:] += ways[: m + 1 - i, : top + 1 - shift] * special.comb(count, i)
        ways = added
    weights = ways[m] / ways[m].sum()
    support = np.flatnonzero(weights)
    return int(support[0]), weights[support[0] : support[-1] + 1]


@lru_cache(maxsize=512)
def random_rates(n: tuple[int, int], chance: tuple[float, float], weight: tuple[float, float]) -> Chance:
    """``w1 X1/n1 + w2 X2/n2`` for independent binomial counts X; a group without rows is left out.

    Args:
        n: Rows of the two groups.
        chance: Probability of a hit in each.
        weight: Weight of each group's rate.
    """
    from scipy import stats

    used = [(size, p, w) for size, p, w in zip(n, chance, weight, strict=True) if size]
    mean = sum(p * w for _, p, w in used)
    if not used or np.prod([size + 1.0 for size, _, _ in used]) > _CELL_BUDGET:
        return Chance.normal(mean, float(np.sqrt(sum(w**2 * p * (1 - p) / size for size, p, w in used))))
    values, weights = np.zeros(1), np.ones(1)
    for size, p, w in used:
        hits = np.arange(size + 1)
        values = np.add.outer(values, w * hits / size).ravel()
        weights = np.multiply.outer(weights, stats.binom.pmf(hits, size, p)).ravel()
    return Chance.exact(values, weights)


@dataclass(frozen=True)
class Rate:
    """A mean of numbers in [0, 1] with its interval.

    Attributes:
        value: The mean.
        low: Lower end.
        high: Upper end.
        clusters: How many clusters the interval heeds; 0 for none.
        shifts: What each cluster adds to the deviation of the mean, by cluster code; empty without clusters.
    """

    value: float
    low: float
    high: float
    clusters: int
    shifts: Floats


def rate(values: Floats, cluster: Integers | None, width: int, level: float = 0.95) -> Rate:
    r"""A mean with Wilson's interval, its n reduced to what the variation between clusters leaves of it.

    With ``u_c = sum_{i in c} (y_i - p) / n`` and G clusters the variance of p is ``v = G/(G-1) sum u_c^2``;
    the effective size is ``n* = min(n, p(1-p)/v)``, and the quantile is that of t with G - 1 degrees of
    freedom (after Korn and Graubard 1998). Without clusters, or with fewer than ten, rows are independent.

    Args:
        values: In [0, 1], shape (N,), N at least 1.
        cluster: Codes below ``width``, shape (N,), or None.
        width: Length of ``shifts``.
        level: Of the interval.
    """
    from scipy import special, stats

    n, p = values.size, float(values.mean())
    groups = 0 if cluster is None else int(np.unique(cluster).size)
    if cluster is None or groups < FEWEST_CLUSTERS:
        return Rate(p, *_wilson(p, n, level), 0, np.zeros(0))
    shifts = np.bincount(cluster, weights=(values - p) / n, minlength=width).astype(np.float64)
    variance = groups / (groups - 1) * float(shifts @ shifts)
    size = min(n, p * (1 - p) / variance) if variance > 0 and 0 < p < 1 else n
    quantile = float(stats.t.ppf((1 + level) / 2, groups - 1))
    return Rate(p, *_wilson(p, size, float(2 * special.ndtr(quantile) - 1)), groups, shifts)


def _wilson(p: float, n: float, level: float) -> tuple[float, float]:
    low, high = wilson_interval(np.array([p * n]), np.array([float(n)]), level)
    return min(float(low[0]), p), max(float(high[0]), p)


def combined(first: Rate, second: Rate, weight: tuple[float, float]) -> tuple[float, float]:
    """Interval of ``w1 p1 + w2 p2`` from the two intervals (MOVER, Newcombe 1998; Zou and Donner 2008).

    The correlation of the two rates is that of their clusters' shifts, where both heed clusters. Where a
    rate of 0 or 1 hides it, a mean takes 1, the worst case, and a difference 0.
    """
    correlation = 0.0
    if first.shifts.size and first.shifts.size == second.shifts.size:
        scale = float(np.sqrt((first.shifts @ first.shifts) * (second.shifts @ second.shifts)))
        hidden = 1.0 if weight[0] * weight[1] > 0 else 0.0
        correlation = float(first.shifts @ second.shifts) / scale if scale > 0 else hidden
    value = weight[0] * first.value + weight[1] * second.value
    ends = []
    for side in (-1, 1):
        arms = []
        for one, w in zip((first, second), weight, strict=True):
            arms.append(w * ((one.high if side * w > 0 else one.low) - one.value))
        a, b = arms
        ends.append(value + side * float(np.sqrt(max(a * a + b * b + 2 * correlation * a * b, 0))))
    return ends[0], ends[1]
