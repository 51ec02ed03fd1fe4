"""Shares of groups that reach a threshold, at many thresholds at once, with intervals that heed clusters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.choices import FEWEST_CLUSTERS
from evenhand.stats.effect_intervals import wilson_interval

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_CELLS = 8_000_000  # clusters x thresholds that are held at a time


def reached(values: Floats, group: Integers, groups: int, thresholds: Floats) -> Integers:
    """How many values of each group are at least as high as each threshold.

    Every value is put between two thresholds once; no threshold looks at the values again.

    Args:
        values: Shape (N,), no NaN; -inf reaches no threshold.
        group: Codes below ``groups``, shape (N,).
        groups: How many groups there are.
        thresholds: Ascending, shape (M,).

    Returns:
        Shape (groups, M).
    """
    width = thresholds.size + 1
    passed = np.searchsorted(thresholds, values, side="right")
    counts = np.bincount(group * width + passed, minlength=groups * width).reshape(groups, width)
    return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:])


def reached_intervals(
    values: Floats,
    group: Integers,
    groups: int,
    cluster: Integers | None,
    thresholds: Floats,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    """Intervals of the shares of ``reached``: Wilson's, n reduced by the variation between clusters.

    The form is that of ``evenhand.stats.choices.rate``; a group of fewer than ten clusters is taken for
    independent rows.

    Args:
        values: Shape (N,), no NaN.
        group: Codes below ``groups``, shape (N,).
        groups: How many groups there are.
        cluster: Codes, shape (N,), or None.
        thresholds: Ascending, shape (M,).
        level: Of the intervals.

    Returns:
        Low and high ends in [0, 1], shape (groups, M) each; NaN for a group without rows. The share lies
        between them.
    """
    hits = reached(values, group, groups, thresholds).astype(np.float64)
    n = np.bincount(group, minlength=groups).astype(np.float64)[:, None]
    low, high = wilson_interval(hits, np.broadcast_to(n, hits.shape), level)
    for code in range(groups) if cluster is not None else ():
        inside = group == code
        found, local = np.unique(np.asarray(cluster)[inside], return_inverse=True)
        if found.size >= FEWEST_CLUSTERS and found.size < local.size:
            low[code], high[code] = _clustered(values[inside], local, found.size, thresholds, level)
    share = np.divide(hits, n, out=np.full(hits.shape, np.nan), where=n > 0)
    return np.minimum(low, share), np.maximum(high, share)


def _clustered(
    values: Floats, cluster: Integers, clusters: int, thresholds: Floats, level: float
) -> tuple[Floats, Floats]:
    """Intervals of one group."""
    from scipy import special, stats

    sizes = np.bincount(cluster, minlength=clusters)[:, None]
    n = values.size
    share, variance = np.empty((2, thresholds.size))
    step = max(1, _CELLS // clusters)
    for start in range(0, thresholds.size, step):
        some = slice(start, start + step)
        hits = reached(values, cluster, clusters, thresholds[some])
        share[some] = hits.sum(axis=0) / n
        variance[some] = np.square((hits - share[some] * sizes) / n).sum(axis=0) * clusters / (clusters - 1)
    binomial = share * (1 - share)
    varies = (variance > 0) & (binomial > 0)
    size = np.minimum(n, np.divide(binomial, variance, out=np.full(share.shape, float(n)), where=varies))
    quantile = float(stats.t.ppf((1 + level) / 2, clusters - 1))
    return wilson_interval(share * size, size, float(2 * special.ndtr(quantile) - 1))
