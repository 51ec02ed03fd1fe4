"""How often each group has a mistake that is listed: what a chart of it shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.core.findings import Interval, Null, Part
from evenhand.metrics.classification.disparities.comparison import GroupMistakes
from evenhand.metrics.estimates import LEVEL, REPLICATES, agreeing_band, null_band, part
from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.tables.grouping import UnitCells
from evenhand.stats.arrays import Floats, Integers, Pair, codes_of, keys_and_codes
from evenhand.stats.disparities.candidates import MISS
from evenhand.stats.disparities.lines import Lines
from evenhand.stats.disparities.mid_p import mid_p
from evenhand.stats.exchange.unit_rates import UnitRates
from evenhand.stats.hypergeometric import hypergeometric_limits
from evenhand.stats.rates.rates import Rates, normal_quantile

MOST_LINES = 3
_MOST_GROUPS = 24  # of one mistake: that of the line, then those with the most rows
_WILSON = "Wilson"
_HYPERGEOMETRIC = "hypergeometric: groups exchanged within the class"
_OF_CLUSTERS = "Wilson, effective size over {unit}"
_EXCHANGED = "groups of whole units ({unit}) exchanged within the class"


def group_shares(comparison: GroupMistakes) -> list[Part]:
    """Shares of groups for the first lines, or for the largest where nothing is listed.

    The key is that of the line with another group; details: ``a``, the rows with the mistake, and ``line``,
    the rank of the line, 0 for one that is not listed.
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
            (float(a.sum()), float(n.sum())), float(first + index), {line_group: float(lines.p[index])},
        )  # fmt: skip
    return parts


def _parts(
    comparison: GroupMistakes,
    mistake: tuple[int, int],
    groups: tuple[np.ndarray, Floats, Floats],
    margins: Pair,
    rank: float,
    tested: Mapping[int, float],
) -> list[Part]:
    """One part a group; ``tested`` has the p of the line's own, which its band may not contradict."""
    bound, (truth, label), (codes, a, n) = comparison.bound, mistake, groups
    band_level = min(LEVEL, 1 - comparison.options.alpha)  # what is listed at a higher level lies outside
    if bound.units is None:
        nulls = _hypergeometric(n.astype(np.int64), margins, band_level)
        rates, method = Rates.of_rows(a, n), _WILSON
    else:
        rates, nulls = _of_units(bound, bound.units, mistake, codes, band_level)
        method = _OF_CLUSTERS.format(unit=bound.units.name)
    low, high = rates.limits(normal_quantile(LEVEL))
    parts = []
    for index, code in enumerate(codes.tolist()):
        key = bound.cell_key(truth, code)
        is_known, value, null = rates.size[index] > 0, float(a[index] / n[index]), nulls[index]
        if null is not None and not np.isnan(p := tested.get(code, np.nan)):
            null = agreeing_band(null, value, p)
        interval = Interval(low=low[index], high=high[index], level=LEVEL, method=method)
        share = part(
            "share", key if label == MISS else [*key, bound.label_key(label)], value,
            interval=interval if is_known else None, null=null, n=n[index],
            reason=None if is_known else "one_cluster", details={"a": a[index], "line": rank},
        )  # fmt: skip
        parts.append(share)
    return parts


def _hypergeometric(n: Integers, margins: tuple[float, float], level: float) -> list[Null | None]:
    """What exchanged rows give groups of so many rows; margins are rows with the mistake, and all.

    The ends are counts that the test of lines, which counts half of an observed table, does not reject.
    """
    hits, rows = map(int, margins)
    least, most = hypergeometric_limits(rows, hits, n, level)
    is_accepted = [
        mid_p(ends, n, np.full(n.size, rows), np.full(n.size, hits)) > 1 - level for ends in (least, most)
    ]
    low, high = (least + ~is_accepted[0]) / n, (most - ~is_accepted[1]) / n
    mean = margins[0] / margins[1]
    return [
        Null(mean=mean, low=ends[0], high=ends[1], level=level, method=_HYPERGEOMETRIC)
        for ends in zip(low, high, strict=True)
    ]


def _of_units(
    bound: BoundCounts, cells: UnitCells, mistake: tuple[int, int], codes: Integers, level: float
) -> tuple[Rates, list[Null | None]]:
    """Rates of some groups by unit, and what exchanged units give; None where none can be exchanged."""
    (truth, label), rows_of_all = mistake, cells.by_row()
    _, group, prediction, unit = rows_of_all[:, rows_of_all[0] == truth]
    is_hit = prediction != truth if label == MISS else prediction == label
    occurring, group = keys_and_codes(group)
    unit, constant = codes_of(unit), np.ones(group.size)
    rows = UnitRates(np.ones_like(group), group, is_hit.astype(np.int64), unit, constant, occurring.size, 2)
    places = np.searchsorted(occurring, codes)
    rates = rows.rates("hit").at(0).take(places)
    if rows.relabelling.fixed:
        return rates, [None] * codes.size
    draws = rows.draws(bound.stream("shares", truth, label), ("hit",), REPLICATES, within=False)
    shares = np.concatenate([tallies["hit"].rates[:, places, 0] for tallies in draws])
    method = _EXCHANGED.format(unit=cells.name)
    return rates, [null_band(of, level=level, method=method, seed=bound.seed) for of in shares.T]
