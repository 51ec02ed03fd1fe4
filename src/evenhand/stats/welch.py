"""Welch's test of equal means of groups whose spreads differ, for many columns at once."""

from __future__ import annotations

import numpy as np
from scipy import special

from evenhand.stats.arrays import Floats, Integers, nan_without_warning


def welch_p(values: Floats, group: Integers, groups: int) -> Floats:
    """The p of Welch's (1951) analysis of variance of each column; of two groups that of his t test.

    Groups of fewer than two rows are left out.

    Args:
        values: Shape (N, K).
        group: Codes from 0, shape (N,).
        groups: How many there are.

    Returns:
        Shape (K,); NaN where fewer than two groups are left, or where nothing varies within one of them.
    """
    member = np.eye(groups)[group]
    size = member.sum(axis=0)
    member, size = member[:, size > 1], size[size > 1][:, None]
    k = size.size
    if k < 2:
        return np.full(values.shape[1], np.nan)
    centred = values - values.mean(axis=0)  # the test does not move with a constant, and digits are saved
    mean = member.T @ centred / size
    variance = np.maximum(member.T @ centred**2 - size * mean**2, 0) / (size - 1)
    with nan_without_warning():
        weight = size / variance
        share = weight / weight.sum(axis=0)
        middle = (share * mean).sum(axis=0)
        spread = ((1 - share) ** 2 / (size - 1)).sum(axis=0)
        between = (weight * (mean - middle) ** 2).sum(axis=0) / (k - 1)
        f = between / (1 + 2 * (k - 2) / (k**2 - 1) * spread)
        p = special.fdtrc(k - 1, (k**2 - 1) / 3 / spread, f)
    return np.asarray(p)
