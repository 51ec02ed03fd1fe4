"""Clusters that count once each, whatever their number of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import CLUSTER

ClusterWeights = Literal["rows", "equal"]
"""Whether each row of a cluster counts, or each cluster once."""


def said(cluster_weights: str) -> dict[str, str]:
    """What a manifest holds of it; nothing by default."""
    return {} if cluster_weights == "rows" else {"cluster_weights": cluster_weights}


def once_each(counts: Counts) -> Counts:
    """Counts in which each cluster counts once: its rows by their share of it.

    The weight of a row is divided by that of all rows of its cluster that have a truth and a prediction, and
    multiplied by the mean of those, so that all together weigh as before.
    """
    unit = counts.codes_of(f"{CLUSTER}{counts.cluster}")
    usable = (unit >= 0) & (counts.codes_of("truth") >= 0) & (counts.codes_of("prediction") >= 0)
    total = np.bincount(unit[usable], counts.n[usable], minlength=int(unit.max(initial=-1)) + 1)
    weighs = total > 0
    if not weighs.any():
        return counts
    scale = np.divide(total[weighs].mean(), total, out=np.ones(total.size), where=weighs)
    factor = np.where(unit >= 0, scale[unit], 1.0)
    n = counts.n.astype(np.float64)
    moments = np.stack([n, n, np.zeros(n.size)]) if counts.moments is None else counts.moments
    scaled = np.stack([moments[0], moments[1] * factor**2, moments[2]])
    return replace(counts, n=n * factor, moments=scaled, memo={})
