"""How often each group has a mistake that is listed: what a chart of it shows."""

from __future__ import annotations

import numpy as np

from evenhand.core.findings import Interval, Null, Part
from evenhand.metrics.classification.disparities.comparison import GroupMistakes
from evenhand.metrics.prepared import LEVEL
from evenhand.stats.arrays import Floats
from evenhand.stats.disparities.candidates import MISS
from evenhand.stats.disparities.lines import Lines
from evenhand.stats.hypergeometric import hypergeometric_limits
from evenhand.stats.rates.differences import normal_quantile
from evenhand.stats.rates.rates import Rates

MOST_LINES = 3
_MOST_GROUPS = 24  # of one mistake: that of the line, then those with the most rows
_WILSON = "Wilson"
_HYPERGEOMETRIC = "hypergeometric: groups exchanged within the class"


def group_shares(comparison: GroupMistakes) -> list[Part]:
    """Shares of groups for the first lines, or for the largest where nothing is listed.

    The key is that of the line with another group; details: ``a``, the rows with the mistake, and ``line``,
    the rank of the line, 0 for one that is not listed. Rows in clusters have neither interval nor null, which
    would be too narrow.
    """
    listed = comparison.listed[:MOST_LINES]
    if listed.size:
        return _shares(comparison, comparison.lines.take(listed), first=1)
    if comparison.status != "none_beyond_chance":
        return []
    return _shares(comparison, comparison.largest, first=0)


def _shares(comparison: GroupMistakes, lines: Lines, first: int) -> list[Part]:
    parts: list[Part] = []
    for index in range(len(lines)):
        pair, line_group = int(lines.pair[index]), int(lines.group[index])
        mistakes = comparison.mistakes
        strata = np.flatnonzero(mistakes.truth == lines.truth[index])
        hits = np.zeros(mistakes.truth.size)
        cells = np.flatnonzero(mistakes.cell_pair == pair)
        hits[mistakes.cell_stratum[cells]] = mistakes.cell_n[cells]
        group, n, a = mistakes.group[strata], mistakes.n[strata], hits[strata]
        order = np.lexsort((group, -n, group != line_group))[:_MOST_GROUPS]
        label = int(lines.label[index])
        parts += _parts(
            comparison, (int(lines.truth[index]), label), (group[order], a[order], n[order]),
            (float(a.sum()), float(n.sum())), float(first + index),
        )  # fmt: skip
    return parts


def _parts(
    comparison: GroupMistakes,
    mistake: tuple[int, int],
    groups: tuple[np.ndarray, Floats, Floats],
    margins: tuple[float, float],
    rank: float,
) -> list[Part]:
    g, (truth, label), (codes, a, n) = comparison.bound.grouped, mistake, groups
    low, high = Rates.of_rows(a, n).limits(normal_quantile(LEVEL))
    limits = hypergeometric_limits(int(margins[1]), int(margins[0]), n.astype(np.int64), LEVEL)
    band = [ends / n for ends in limits]
    parts = []
    for index, code in enumerate(codes.tolist()):
        key = [g.label_key(truth), *map(str, g.groups[code])]
        interval = Interval(low=low[index], high=high[index], level=LEVEL, method=_WILSON)
        null = Null(
            mean=margins[0] / margins[1], low=band[0][index], high=band[1][index],
            level=LEVEL, method=_HYPERGEOMETRIC,
        )  # fmt: skip
        independent = g.units is None
        part = Part(
            kind="share", key=key if label == MISS else [*key, g.label_key(label)],
            value=float(a[index] / n[index]), interval=interval if independent else None,
            null=null if independent else None, n=float(n[index]),
            details={"a": float(a[index]), "line": rank},
        )  # fmt: skip
        parts.append(part)
    return parts
