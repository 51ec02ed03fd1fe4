"""Which of the nearest items count among the first k, ties averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

TIED = 2.0**-22
"""Cosines of float32 that differ by less are the same: four units in the last place of 1."""


@dataclass(frozen=True, eq=False)
class FirstItems:
    """How much each of the nearest items counts among the first k, on average over all orders of ties."""

    weight: Floats  # (N, K): 1 before the items tied at place k, the share that fits at those, 0 beyond
    tied: Mask  # whether items at places k and k + 1 are tied, shape (N,)
    unknown: Mask  # whether the tie may reach beyond the items that are known, shape (N,)

    @classmethod
    def of(cls, values: npt.NDArray[np.floating], k: int, size: int) -> FirstItems:
        """From the values of the nearest of ``size`` items, best first, shape (N, K) with K >= k."""
        count, depth = values.shape
        new = np.ones((count, depth + 1), dtype=bool)
        new[:, 1:depth] = values[:, :-1] - values[:, 1:] > TIED
        place = np.arange(depth + 1)
        first = np.where(new[:, :k], place[:k], 0).max(axis=1)
        after = np.where(new[:, k:], place[k:], depth).min(axis=1)
        inside = (place[:-1] >= first[:, None]) & (place[:-1] < after[:, None])
        share = (k - first) / (after - first)
        weight = np.where(inside, share[:, None], place[:-1] < first[:, None])
        tied = after > k
        return cls(weight, tied, tied & (after == depth) & (depth < size))

    @classmethod
    def in_order(cls, shape: tuple[int, int], k: int) -> FirstItems:
        """The first k as they come, whether tied or not."""
        none = np.zeros(shape[0], dtype=bool)
        return cls(np.broadcast_to((np.arange(shape[1]) < k).astype(np.float64), shape), none, none)

    def take(self, chosen: Mask) -> FirstItems:
        """Those of some rows."""
        return FirstItems(self.weight[chosen], self.tied[chosen], self.unknown[chosen])
