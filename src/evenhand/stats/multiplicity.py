"""Corrections for testing many things at once."""

from __future__ import annotations

import numpy as np

from evenhand.stats.arrays import Floats


def adjust(p_values: Floats, method: str) -> Floats:
    """Adjusted p-values of one family.

    NaN means not tested and does not count towards m. Methods: ``holm`` (family-wise error, Holm 1979),
    ``bh`` (false discovery rate, Benjamini and Hochberg 1995), ``by`` (the same however tests depend,
    Benjamini and Yekutieli 2001) or ``none``. No p is smaller than it was.
    """
    result = np.full(p_values.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    if method == "none" or not tested.size:
        result[tested] = p_values[tested]
        return result
    order = tested[np.argsort(p_values[tested], kind="stable")]
    ranked, m = p_values[order], tested.size
    if method == "holm":
        scaled = np.maximum.accumulate(ranked * np.arange(m, 0, -1))
    else:
        ranks = np.arange(1, m + 1)
        factor = m * (1 / ranks).sum() if method == "by" else m
        scaled = np.minimum.accumulate((ranked * factor / ranks)[::-1])[::-1]
    result[order] = np.maximum(np.minimum(scaled, 1), ranked)  # rounding must not go below the input
    return result


def selected_level(selected: int, tests: int, level: float) -> float:
    """Level of each interval of what some tests selected, so that a share of ``level`` of them is right.

    ``1 - (1 - level) R / K`` for R of K tests. Plain intervals of what the data chose are right less often.

    Source: Benjamini and Yekutieli 2005 (false coverage rate).
    """
    return 1 - (1 - level) * selected / max(tests, 1)
