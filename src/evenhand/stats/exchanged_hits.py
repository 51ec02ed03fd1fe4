"""How many hits each group would have if its rows changed places with others of their class, closed form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_HALF = 0.5  # counts are whole: a band of counts reaches half a row further


def hits_by_exchange(correct: Floats, support: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Mean and central band of each group's hits, groups exchanged at random within each class.

    The hits of a class fall to a group by the hypergeometric distribution, so that a group's hits have mean
    ``sum_c n_c p_c`` and variance ``sum_c n_c p_c (1 - p_c) (N_c - n_c) / (N_c - 1)``, with n_c the group's
    rows of class c, N_c all rows of it and p_c their accuracy. The band is normal with the correction for
    whole counts, cut to what is possible.

    Args:
        correct: Hits, shape (Z, L).
        support: Rows, shape (Z, L).
        level: Such as 0.95.

    Returns:
        Mean, lower and upper end of the hits, each of shape (Z,), between 0 and the group's rows. Without
        width where the group has all rows of each of its classes, or none of them is ever missed.

    Source: moments of the hypergeometric distribution, summed over classes.
    """
    from scipy import special

    rows, hits = support.sum(axis=0), correct.sum(axis=0)
    share = np.divide(hits, rows, out=np.zeros_like(rows), where=rows > 0)
    others = np.divide(rows - support, rows - 1, out=np.zeros_like(support), where=rows > 1)
    mean = (support * share).sum(axis=1)
    spread = np.sqrt((support * share * (1 - share) * np.clip(others, 0, 1)).sum(axis=1))
    least = np.maximum(0, support - (rows - hits)).sum(axis=1)
    most = np.minimum(support, hits).sum(axis=1)
    reach = float(special.ndtri((1 + level) / 2)) * spread + _HALF * (spread > 0)
    low, high = mean - reach, mean + reach
    if np.array_equal(support, np.rint(support)):
        low = np.where(spread > 0, np.ceil(low), low)
        high = np.where(spread > 0, np.floor(high), high)
    return mean, np.minimum(np.maximum(low, least), mean), np.maximum(np.minimum(high, most), mean)
