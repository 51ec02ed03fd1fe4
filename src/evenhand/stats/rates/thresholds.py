"""Rates of what reaches a threshold, at many thresholds in one pass."""

from __future__ import annotations

import numpy as np

from evenhand.stats.arrays import Floats, Integers, keys_and_codes, pieces
from evenhand.stats.rates.clustered import Jackknife
from evenhand.stats.rates.rates import Rates

_CELLS = 8_000_000  # clusters x thresholds that are held at a time


def reached(values: Floats, group: Integers, groups: int, thresholds: Floats) -> Integers:
    """How many values of each group are at least as high as each threshold.

    Every value is put between two thresholds once; no threshold looks at the values again. -inf reaches no
    threshold; NaN is not allowed. Thresholds ascend, shape (M,). Returns shape (groups, M).
    """
    width = thresholds.size + 1
    n_passed = np.searchsorted(thresholds, values, side="right")
    counts = np.bincount(group * width + n_passed, minlength=groups * width).reshape(groups, width)
    return counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]


def reached_rates(
    values: Floats, group: Integers, groups: int, cluster: Integers | None, thresholds: Floats
) -> Rates:
    """Rates of ``reached``, each of which is that of ``group_rates`` without the covariance of groups.

    Arrays have shape (M, groups).
    """
    hits = reached(values, group, groups, thresholds).T
    plain = Rates.of_rows(hits, np.bincount(group, minlength=groups))
    if cluster is None:
        return plain
    size, freedom = np.zeros(hits.shape), np.full(hits.shape, np.inf)
    for code in range(groups):
        inside = group == code
        clusters, local = keys_and_codes(cluster[inside])
        weights = np.bincount(local).astype(np.float64)[:, None]
        for some in pieces(thresholds.size if clusters.size else 0, _CELLS, clusters.size):
            sums = reached(values[inside], local, clusters.size, thresholds[some]).astype(np.float64)
            means = Jackknife.of(sums, weights, weights)
            size[some, code], freedom[some, code] = means.size[0], means.freedom[0]
    return Rates(plain.value, size, freedom)
