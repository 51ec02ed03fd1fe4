"""Exchanges between two groups where few different values occur: only their numbers have to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MOST_LEVELS = 4  # different values of a block that are drawn by their numbers, not one by one


@dataclass(frozen=True, eq=False)
class Levels:
    """What can change places in each block, where few values occur and there are two groups.

    Attributes:
        levels: Moments of each value, shape (blocks, L, moments).
        counts: How often it occurs, shape (blocks, L).
        first: How many of the block belong to the first group, shape (blocks,).
    """

    levels: Floats
    counts: Integers
    first: Integers

    @classmethod
    def of(cls, block: Integers, moments: Floats, first: Mask) -> Levels | None:
        """From blocks of any codes, shape (N,), and moments, shape (N, M); None if values are many."""
        _, code = np.unique(block, return_inverse=True)
        size = float(np.abs(moments[:, 0]).max(initial=0)) or 1.0
        place = np.round(moments[:, 0] / size, 12)
        pairs, here, counts = np.unique(
            np.stack([code, place], axis=1), axis=0, return_index=True, return_counts=True
        )
        start = np.flatnonzero(np.append(True, np.diff(pairs[:, 0]) > 0))
        rank = np.arange(len(pairs)) - np.repeat(start, np.diff(np.append(start, len(pairs))))
        blocks, deepest = start.size, int(rank.max()) + 1
        if deepest > _MOST_LEVELS:
            return None
        at = pairs[:, 0].astype(np.int64), rank
        levels, number = np.zeros((blocks, deepest, moments.shape[1])), np.zeros((blocks, deepest), np.int64)
        levels[at], number[at] = moments[here], counts
        return cls(levels, number, np.bincount(code, first, blocks).astype(np.int64))

    def drawn(self, rng: np.random.Generator, size: int) -> Integers:
        """How many of each value the first group gets, shape (size, blocks, L): hypergeometric in turn."""
        blocks, deepest = self.counts.shape
        drawn = np.zeros((size, blocks, deepest), dtype=np.int64)
        wanted = np.broadcast_to(self.first, (size, blocks)).copy()
        left = self.counts.sum(axis=1)
        for level in range(deepest - 1):
            left = left - self.counts[:, level]
            drawn[..., level] = rng.hypergeometric(self.counts[:, level], left, wanted)
            wanted -= drawn[..., level]
        drawn[..., deepest - 1] = wanted
        return drawn
