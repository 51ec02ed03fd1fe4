"""Clusters of any sizes, each in one group: their totals where groups are exchanged at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_HELD = 4_000_000  # clusters x replicates at a time


def exchanged_totals(
    sums: Floats,
    squares: Floats,
    length: Integers,
    group: Integers,
    groups: int,
    rng: np.random.Generator,
    replicates: int,
) -> Floats:
    r"""Totals of groups when whole clusters, of whatever size, exchange their groups at random.

    Where all clusters have one size this is the permutation test, which is exact. Where sizes differ, a total
    of large clusters varies otherwise than one of small clusters, so clusters change places by how far each
    is from what its size lets expect, in units of how far its size lets it be:
    ``(y_c - p n_c) / sqrt(n_c (1 + (n_c - 1) rho))``, with the mean p and the intraclass correlation rho of
    all rows. The hypothesis is that neither the group of a cluster nor its size matters for its rows.

    Args:
        sums: Sum of each cluster's values, shape (K,).
        squares: Sum of their squares, shape (K,).
        length: Rows of each cluster, shape (K,).
        group: Group of each cluster, codes below ``groups``, shape (K,).
        groups: How many groups there are.
        rng: Source of the draws.
        replicates: How many.

    Returns:
        Shape (replicates, groups); each row sums to the total of all clusters. Where sizes differ, totals
        are on a continuous scale and may lie a little outside what rows can give.
    """
    if not length.size:
        return np.zeros((replicates, groups))
    rows = np.bincount(group, length, groups)
    mean = sums.sum() / length.sum()
    residual = sums - mean * length
    reach = _reach(residual, squares - 2 * mean * sums + mean**2 * length, length)
    weight = (group[:, None] == np.arange(groups)) * reach[:, None]
    scaled, totals = residual / reach, np.empty((replicates, groups))
    step = max(1, _HELD // length.size)
    for start in range(0, replicates, step):
        part = slice(start, min(start + step, replicates))
        totals[part] = rng.permuted(np.tile(scaled, (part.stop - start, 1)), axis=1) @ weight
    if np.ptp(length):
        # what one group is given the others lack; a common shift makes groups independent of each other
        shift = rng.normal(0, np.sqrt(np.square(scaled).sum()) / length.size, (replicates, 1))
        totals += shift * weight.sum(axis=0)
    totals -= totals.sum(axis=1, keepdims=True) * rows / rows.sum()
    return np.asarray(totals + mean * rows)


def _reach(residual: Floats, squares: Floats, length: Integers) -> Floats:
    """How far a cluster's total spreads by its size, up to one factor; the same for all of one size."""
    alike = min(max(_correlation(residual, squares, length), 0.0), 1.0)
    return np.asarray(np.sqrt(length * (1 + (length - 1) * alike)))


def _correlation(residual: Floats, squares: Floats, length: Integers) -> float:
    """How alike the rows of a cluster are, by moments; 0 where no cluster has two rows, or nothing varies."""
    pairs, variance = float((length * (length - 1)).sum()), float(squares.sum() / length.sum())
    if not pairs or variance <= 0:
        return 0.0
    return float((np.square(residual) - squares).sum() / pairs / variance)
