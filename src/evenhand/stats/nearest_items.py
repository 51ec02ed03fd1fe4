"""Which of the nearest items count among the first k, ties averaged, and what chance gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.choices import Chance

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

TIED = 2.0**-22
"""Cosines of float32 that differ by less are the same: four units in the last place of 1."""


@dataclass(frozen=True, eq=False)
class FirstItems:
    """How much each of the nearest items counts among the first k, on average over all orders of ties.

    Attributes:
        weight: 1 before the items tied at place k, the share of them that fits at those, 0 beyond; shape
            (N, K). Each row sums to k.
        tied: Whether items at places k and k + 1 are tied, shape (N,).
        unknown: Whether the tie may reach beyond the items that are known, shape (N,).
    """

    weight: Floats
    tied: Mask
    unknown: Mask

    @classmethod
    def of(cls, values: npt.NDArray[np.floating], k: int, size: int) -> FirstItems:
        """From the values of the nearest items.

        Args:
            values: Best first, shape (N, K) with K >= k.
            k: How many count.
            size: How many items there are in all.
        """
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


def exchanged_labels(
    items: Integers, weight: Floats, asked: Integers, labels: Integers, total: float
) -> Chance:
    r"""Weight of items with the label that is asked for, when labels of all items change places at random.

    The sum ``T = sum_j C[j, label_j]`` has, over all M! orders of the labels, with ``n_v`` items of label v,
    row means ``r_j = sum_v n_v C[j, v] / M``, column means ``c_v`` and mean ``m``:
    ``E T = M m`` and ``Var T = (sum_jv n_v C[j, v]^2 - M sum_j r_j^2 - M sum_v n_v (c_v - m)^2) / (M - 1)``
    (Hoeffding 1951). Items that many queries find (hubs) make it wider than drawing for each query anew.

    Args:
        items: Items of each query, shape (N, K).
        weight: How much each counts, shape (N, K).
        asked: Label that each query asks for, shape (N,).
        labels: Label of every item, codes from 0, shape (M,); -1: a label that nobody asks for.
        total: What the weight is divided by, such as the sum of all weights.

    Returns:
        The normal distribution with the exact mean and variance of ``T / total``; both moments are
        those of all orders, the shape is not.
    """
    size = labels.size
    width = int(max(labels.max(initial=-1), asked.max(initial=-1))) + 1
    held = np.bincount(labels[labels >= 0], minlength=width).astype(np.float64)
    counts = weight > 0
    key = (items * width + asked[:, None])[counts]
    found, where = np.unique(key, return_inverse=True)
    cell = np.bincount(where, weight[counts], minlength=found.size)
    item, label = found // width, found % width
    _, row = np.unique(item, return_inverse=True)
    row_mean = np.bincount(row, cell * held[label]) / size
    column_mean = np.bincount(label, cell, minlength=width) / size
    mean = float(held @ column_mean) / size
    # a label that nobody asks for has a column of zeros
    spread = held @ np.square(column_mean - mean) + (size - held.sum()) * mean**2
    squares = float(held[label] @ np.square(cell)) - size * float(row_mean @ row_mean) - size * float(spread)
    deviation = np.sqrt(max(squares, 0.0) / max(size - 1, 1)) / total
    return Chance.normal(mean * size / total, float(deviation))
