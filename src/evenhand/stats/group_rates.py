"""Rates of groups: what else the data could have been, and what groups exchanged at random would give."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.group_means import resampled_means
from evenhand.stats.whole_clusters import exchanged_totals

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_CELLS = 20_000_000  # clusters x replicates that are drawn in all
_HELD = 4_000_000  # of which so many at a time
_FEWEST, _MOST = 999, 9_999


def exchanged_rates(
    hit: Mask, group: Integers, groups: int, cluster: Integers | None, rng: np.random.Generator
) -> Floats:
    """Rates of groups when groups make no difference, at random.

    Without clusters the hits fall on rows at random (multivariate hypergeometric). Clusters that lie in one
    group change places as a whole, whatever their sizes, see ``exchanged_totals``. The hits of a cluster with
    several groups fall on another such cluster of the same size, and there on its rows at random: the
    hypothesis is that no attribute matters, neither between clusters nor within them.

    Args:
        hit: Shape (N,).
        group: Codes below ``groups``, shape (N,); each occurs.
        groups: How many groups there are.
        cluster: Codes, shape (N,), or None.
        rng: Source of the draws.

    Returns:
        Shape (replicates, groups): 9,999, or fewer, 999 at least, for many clusters.
    """
    sizes = np.bincount(group, minlength=groups)
    if cluster is None or np.unique(cluster).size == cluster.size:
        drawn = rng.multivariate_hypergeometric(sizes, int(hit.sum()), size=_MOST, method="marginals")
        return np.asarray(drawn / sizes)
    clusters, code = np.unique(cluster, return_inverse=True)
    cell = code * groups + group
    n = np.bincount(cell, minlength=clusters.size * groups).reshape(-1, groups)
    inside = np.bincount(code, hit).astype(np.int64)
    length = n.sum(axis=1)
    whole = np.count_nonzero(n, axis=1) == 1
    work = clusters.size * (1 if whole.all() else groups - 1)
    replicates = int(np.clip(_CELLS // work, _FEWEST, _MOST))
    sums, owner = inside[whole].astype(np.float64), n[whole].argmax(axis=1)
    counts = exchanged_totals(sums, sums, length[whole], owner, groups, rng, replicates)
    for kind in np.unique(length[~whole]).tolist():
        some = np.flatnonzero(~whole & (length == kind))
        step = max(1, _HELD // some.size)
        for start in range(0, replicates, step):
            part = slice(start, min(step + start, replicates))
            whose = rng.permuted(np.tile(some, (part.stop - start, 1)), axis=1)
            counts[part] += _spread(inside[whose], n[some], rng)
    return np.asarray(counts / sizes)


def _spread(hits: Integers, n: Integers, rng: np.random.Generator) -> Integers:
    """Hits of clusters that fall on their rows at random, summed by group.

    Args:
        hits: Hits of each cluster in each replicate, shape (replicates, clusters).
        n: Rows of each cluster by group, shape (clusters, groups).
        rng: Source of the draws.

    Returns:
        Shape (replicates, groups).
    """
    left, rest = hits.copy(), n.sum(axis=1)
    found = np.zeros((len(hits), n.shape[1]), dtype=np.int64)
    for code in range(n.shape[1]):
        rest = rest - n[:, code]
        there = np.flatnonzero(n[:, code])
        drawn = rng.hypergeometric(n[there, code], rest[there], left[:, there])
        found[:, code] = drawn.sum(axis=1)
        left[:, there] -= drawn
    return found


def resampled_rates(
    hit: Mask,
    group: Integers,
    groups: int,
    cluster: Integers | None,
    rng: np.random.Generator,
    replicates: int = 999,
) -> Floats:
    """Rates of groups in bootstrap replicates: rows within groups, or whole clusters.

    Arguments, clusters and result as in ``resampled_means``; without clusters the hits of each group are
    binomial.
    """
    sizes = np.bincount(group, minlength=groups)
    if cluster is None or np.unique(cluster).size == cluster.size:
        share = np.bincount(group, hit, minlength=groups) / sizes
        return np.asarray(rng.binomial(sizes, share, size=(replicates, groups)) / sizes)
    return resampled_means(hit.astype(np.float64), group, groups, cluster, rng, replicates)
