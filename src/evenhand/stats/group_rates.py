"""Rates of groups: what else the data could have been, and what groups exchanged at random would give."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_CELLS = 20_000_000  # clusters x replicates that are drawn in all
_HELD = 4_000_000  # of which so many at a time
_FEWEST, _MOST = 999, 9_999
_ENOUGH = 10  # clusters of about one size among which groups are exchanged


def exchanged_rates(
    hit: Mask, group: Integers, groups: int, cluster: Integers | None, rng: np.random.Generator
) -> Floats:
    """Rates of groups when groups make no difference, at random.

    Without clusters the hits fall on rows at random (multivariate hypergeometric). Where each cluster lies in
    one group, whole clusters change places with others of the same size (of neighbouring sizes, where fewer
    than ten have one). Else the hits of a cluster fall on another of the same size, and there on its rows at
    random: the hypothesis is that no attribute matters, neither between clusters nor within them.

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
    alike = bool((np.count_nonzero(n, axis=1) == 1).all())  # each cluster lies in one group
    work = clusters.size * (1 if alike else groups - 1)
    replicates = int(np.clip(_CELLS // work, _FEWEST, _MOST))
    counts, below = np.zeros((2, replicates, groups))
    length = n.sum(axis=1)
    stratum = _alike(length) if alike else length
    for kind in np.unique(stratum).tolist():
        some = np.flatnonzero(stratum == kind)
        step = max(1, _HELD // some.size)
        for start in range(0, replicates, step):
            part = slice(start, min(step + start, replicates))
            whose = rng.permuted(np.tile(some, (part.stop - start, 1)), axis=1)
            drawn = inside[whose]
            counts[part] += drawn @ (n[some] > 0) if alike else _spread(drawn, n[some], rng)
            below[part] += length[whose] @ (n[some] > 0) if alike else n[some].sum(axis=0)
    return np.asarray(counts / below)


def _alike(length: Integers) -> Integers:
    """Strata of clusters of one size; neighbouring sizes are one stratum until it holds enough clusters."""
    sizes, count = np.unique(length, return_counts=True)
    stratum, held = np.zeros(sizes.size, dtype=np.int64), 0
    for place in range(1, sizes.size):
        held += int(count[place - 1])
        enough = held >= _ENOUGH and count[place:].sum() >= _ENOUGH
        stratum[place] = stratum[place - 1] + enough
        held = 0 if enough else held
    return stratum[np.searchsorted(sizes, length)]


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

    Clusters are resampled among those that hold rows of the same groups, so that no group runs empty.

    Args:
        hit: Shape (N,).
        group: Codes below ``groups``, shape (N,); each occurs.
        groups: How many groups there are.
        cluster: Codes, shape (N,), or None.
        rng: Source of the draws.
        replicates: How many.

    Returns:
        Shape (replicates, groups).
    """
    sizes = np.bincount(group, minlength=groups)
    if cluster is None or np.unique(cluster).size == cluster.size:
        share = np.bincount(group, hit, minlength=groups) / sizes
        return np.asarray(rng.binomial(sizes, share, size=(replicates, groups)) / sizes)
    clusters, code = np.unique(cluster, return_inverse=True)
    cell = code * groups + group
    n = np.bincount(cell, minlength=clusters.size * groups).reshape(-1, groups)
    hits = np.bincount(cell, hit, minlength=clusters.size * groups).reshape(-1, groups)
    above, below = np.zeros((2, replicates, groups))
    _, stratum = np.unique(n > 0, axis=0, return_inverse=True)
    for kind in range(int(stratum.max()) + 1):
        some = np.flatnonzero(stratum.ravel() == kind)
        step = max(1, _HELD // some.size)
        for start in range(0, replicates, step):
            number = min(step, replicates - start)
            times = rng.multinomial(some.size, np.full(some.size, 1 / some.size), size=number)
            above[start : start + number] += times @ hits[some]
            below[start : start + number] += times @ n[some]
    return np.asarray(above / below)
