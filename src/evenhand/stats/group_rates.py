"""Rates of groups of rows, which are their own units or belong to clusters; at one threshold or at many."""

from __future__ import annotations

import numpy as np

from evenhand.stats.arrays import Floats, Integers
from evenhand.stats.clustered import Cells, LeftOut
from evenhand.stats.rates import Rates

_CELLS = 8_000_000  # clusters x thresholds that are held at a time


def group_rates(value: Floats, group: Integers, groups: int, cluster: Integers | None) -> Rates:
    """Rates of groups of rows that count alike.

    Values are in [0, 1] (0 or 1 where rows are their own units), groups codes below ``groups``, clusters any
    codes; None: each row was sampled by itself.
    """
    if cluster is None:
        n = np.bincount(group, minlength=groups)
        return Rates.of_rows(np.bincount(group, value, minlength=groups), n)
    return Rates.of_clusters(Cells.of_rows(value, group, groups, cluster).means())


def reached(values: Floats, group: Integers, groups: int, thresholds: Floats) -> Integers:
    """How many values of each group are at least as high as each threshold.

    Every value is put between two thresholds once; no threshold looks at the values again. -inf reaches no
    threshold; NaN is not allowed. Thresholds ascend, shape (M,). Returns shape (groups, M).
    """
    width = thresholds.size + 1
    passed = np.searchsorted(thresholds, values, side="right")
    counts = np.bincount(group * width + passed, minlength=groups * width).reshape(groups, width)
    return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:])


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
        found, local = np.unique(cluster[inside], return_inverse=True)
        weights = np.bincount(local).astype(np.float64)[:, None]
        step = max(1, _CELLS // max(found.size, 1))
        for start in range(0, thresholds.size if found.size else 0, step):
            some = slice(start, start + step)
            sums = reached(values[inside], local, found.size, thresholds[some]).astype(np.float64)
            means = LeftOut.of(sums, weights, weights)
            size[some, code], freedom[some, code] = means.size[0], means.freedom[0]
    return Rates(plain.value, size, freedom)
