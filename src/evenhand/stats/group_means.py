"""Means of groups of values in [0, 1]: intervals that heed clusters, groups exchanged, rows resampled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.choices import FEWEST_CLUSTERS
from evenhand.stats.whole_clusters import exchanged_totals

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_CELLS = 6_000_000  # rows x replicates that are drawn in all
_HELD = 4_000_000  # of which so many at a time
_FEWEST, _MOST = 999, 9_999


def means(values: Floats, group: Integers, groups: int) -> Floats:
    """Mean of each group, NaN for one without rows.

    Args:
        values: Shape (N,).
        group: Codes below ``groups``, shape (N,).
        groups: How many groups there are.
    """
    n = np.bincount(group, minlength=groups).astype(np.float64)
    total = np.bincount(group, values, minlength=groups)
    return np.asarray(np.divide(total, n, out=np.full(groups, np.nan), where=n > 0))


def mean_intervals(
    values: Floats,
    group: Integers,
    groups: int,
    cluster: Integers | None,
    finest: int = 1,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    """Score intervals of the means: Wilson's with the number of yes-or-no rows that vary as much as the mean.

    That number is ``p (1 - p) / Var(p)``, the variance taken between clusters (between rows without them, or
    where a group has fewer than ten); at most ``finest`` for each row, and the number of clusters where
    nothing varies. The quantile is that of t.

    Args:
        values: In [0, 1], shape (N,).
        group: Codes below ``groups``, shape (N,).
        groups: How many groups there are.
        cluster: Codes, shape (N,), or None.
        finest: How many yes-or-no answers a value is the mean of.
        level: Of the intervals.

    Returns:
        Low and high ends in [0, 1], shape (groups,) each; NaN for a group without rows.
    """
    low, high = np.full((2, groups), np.nan)
    for code in range(groups):
        inside = group == code
        some = values[inside]
        if not some.size:
            continue
        whose = np.arange(some.size)
        if cluster is not None:
            clusters, local = np.unique(cluster[inside], return_inverse=True)
            whose = local if clusters.size >= FEWEST_CLUSTERS else whose
        low[code], high[code] = _interval(some, whose, finest, level)
    return low, high


def _interval(values: Floats, cluster: Integers, finest: int, level: float) -> tuple[float, float]:
    from scipy import special

    n, count = values.size, int(cluster.max()) + 1
    share = min(max(float(values.mean()), 0.0), 1.0)
    size, quantile = float(count), float(special.ndtri((1 + level) / 2))
    if count > 1:
        sums = np.bincount(cluster, values - share, minlength=count)
        variance = float(np.square(sums).sum()) / n**2 * count / (count - 1)
        quantile = float(special.stdtrit(count - 1, (1 + level) / 2))
        if 0 < share < 1:
            size = min(share * (1 - share) / variance, n * finest) if variance > 0 else n * finest
    z2 = quantile**2
    centre = (share + z2 / (2 * size)) / (1 + z2 / size)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * size)) / size) / (1 + z2 / size)
    return max(min(float(centre - half), share), 0.0), min(max(float(centre + half), share), 1.0)


def exchanged_means(
    values: Floats, group: Integers, groups: int, cluster: Integers | None, rng: np.random.Generator
) -> Floats:
    """Means of groups when groups make no difference, at random.

    Clusters that lie in one group change places as a whole, whatever their sizes, see ``exchanged_totals``;
    within a cluster of several groups its rows do.

    Args:
        values: Shape (N,).
        group: Codes below ``groups``, shape (N,); each occurs.
        groups: How many groups there are.
        cluster: Codes, shape (N,), or None: each row is its own.
        rng: Source of the draws.

    Returns:
        Shape (replicates, groups): 9,999, or fewer, 999 at least, for many rows.
    """
    n = values.size
    whose = np.arange(n) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    count = int(whose.max(initial=-1)) + 1
    lowest, highest = np.full(count, groups), np.full(count, -1)
    np.minimum.at(lowest, whose, group)
    np.maximum.at(highest, whose, group)
    whole = lowest == highest
    replicates = int(np.clip(_CELLS // max(n, 1), _FEWEST, _MOST))
    totals = exchanged_totals(
        np.bincount(whose, values, count)[whole], np.bincount(whose, values**2, count)[whole],
        np.bincount(whose, minlength=count)[whole], lowest[whole], groups, rng, replicates,
    )  # fmt: skip
    mixed = np.flatnonzero(~whole[whose])
    mixed = mixed[np.argsort(whose[mixed], kind="stable")]
    member = (group[mixed][:, None] == np.arange(groups)).astype(np.float64)
    step = max(1, _HELD // max(mixed.size, 1))
    for start in range(0, replicates if mixed.size else 0, step):
        part = slice(start, min(start + step, replicates))
        order = np.argsort(whose[mixed] + rng.random((part.stop - start, mixed.size)), axis=1)
        totals[part] += values[mixed][order] @ member
    return np.asarray(totals / np.bincount(group, minlength=groups))


def resampled_means(
    values: Floats,
    group: Integers,
    groups: int,
    cluster: Integers | None,
    rng: np.random.Generator,
    replicates: int = 999,
) -> Floats:
    """Means of groups in bootstrap replicates: rows within groups, or whole clusters.

    Clusters are resampled among those that hold rows of the same groups, so that no group runs empty.

    Args:
        values: Shape (N,).
        group: Codes below ``groups``, shape (N,); each occurs.
        groups: How many groups there are.
        cluster: Codes, shape (N,), or None.
        rng: Source of the draws.
        replicates: How many.

    Returns:
        Shape (replicates, groups).
    """
    whose = np.arange(values.size) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    count = int(whose.max(initial=-1)) + 1
    cell = whose * groups + group
    n = np.bincount(cell, minlength=count * groups).reshape(-1, groups)
    total = np.bincount(cell, values, minlength=count * groups).reshape(-1, groups)
    above, below = np.zeros((2, replicates, groups))
    _, stratum = np.unique(n > 0, axis=0, return_inverse=True)
    for kind in range(int(stratum.max(initial=-1)) + 1):
        some = np.flatnonzero(stratum.ravel() == kind)
        step = max(1, _HELD // some.size)
        for start in range(0, replicates, step):
            number = min(step, replicates - start)
            times = rng.multinomial(some.size, np.full(some.size, 1 / some.size), size=number)
            above[start : start + number] += times @ total[some]
            below[start : start + number] += times @ n[some]
    return np.asarray(above / below)
