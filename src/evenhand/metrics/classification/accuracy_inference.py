"""How sure accuracies of groups and their distances are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from scipy import special

from evenhand.core.findings import Part
from evenhand.metrics.classification.margin_rates import Margins
from evenhand.metrics.classification.margins import MarginInference, null_of, wilson
from evenhand.metrics.estimates import number
from evenhand.metrics.prepared import LEVEL, BoundCounts, Inference
from evenhand.stats.arrays import Floats, Pair
from evenhand.stats.exchange.relabelling import exceeded, on_scale_of
from evenhand.stats.rates.differences import (
    MOST_PAIRED,
    gap_limits,
    mean_limits,
    normal_quantile,
    range_limits,
    worst_limits,
)
from evenhand.stats.rates.rates import Rates

_MOST_GROUPS = 3_000
_ROUNDING = 1e-12  # as far apart as equal means may come
_BONFERRONI = "p by Bonferroni's inequality with linearised variances: weighted rows are not exchanged"
_WORST_OF = "smallest of the {}' limits (Wilson below, Jeffreys above)"
_ASYMPTOTIC = "p by Tukey and Kramer with linearised variances: weighted rows are not exchanged"
TOO_MANY = "no interval: too many groups and labels to compare a rate of each"


def mean_inference(margins: Margins, value: float) -> MarginInference:
    """Of the mean of groups: MOVER over all of them."""
    rates = _groups(margins)
    weight = np.full(rates.value.size, 1 / rates.value.size)
    draws, exchanged = _draws(margins, lambda accuracies: accuracies.mean(axis=1))
    if draws is not None and np.ptp(draws) <= _ROUNDING:  # of groups of one size: exchange cannot change it
        draws = None
    return MarginInference(
        partial(mean_limits, rates, weight), "MOVER of Wilson limits", p_value=_below(value, draws),
        draws=draws, exchanged=exchanged, side="low",
    )  # fmt: skip


def worst_inference(margins: Margins, value: float) -> MarginInference:
    """Of the worst group: the smallest of the groups' limits."""
    rates = _groups(margins)
    draws, exchanged = _draws(margins, lambda accuracies: accuracies.min(axis=1))
    return MarginInference(
        partial(worst_limits, rates), _WORST_OF.format("groups"), p_value=_below(value, draws), draws=draws,
        exchanged=exchanged, side="low", deciding=deciding(margins, [int(np.nanargmin(rates.value))]),
    )  # fmt: skip


def worst_cell_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of the worst (class, group) cell: the smallest of the cells' limits."""
    if not margins.by_label:
        return TOO_MANY
    chance = margins.within_truth if margins.testable else None
    draws = chance.values["worst_class_group_accuracy"] if chance else None
    return MarginInference(
        partial(worst_limits, _cells(margins)), _WORST_OF.format("cells"), p_value=_below(value, draws),
        draws=draws, exchanged=chance.method if chance else "", side="low", deciding=_worst_cell(margins),
    )  # fmt: skip


def gap_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of accuracy minus that of the worst group: MOVER of each group and the others, at once."""
    rates, size = _groups(margins), margins.confusion.group_size
    if size.size < 2:
        return ""
    share = size / size.sum()
    hits, p, draws, notes = margins.of_hits, None, None, []
    t = float(margins.tally("hit").below_rest()[0])
    if hits is not None:
        statistics = hits.below_rest()
        p, draws = exceeded(t, statistics), np.clip(on_scale_of(value, t, statistics), 0, 1)
    elif margins.tables is None:
        p = min(1.0, share.size * float(special.ndtr(-t)))
        notes = [_BONFERRONI]
    return MarginInference(
        partial(gap_limits, rates, share), "MOVER of each group and the others, at once",
        p_value=p, reference=0.0, draws=draws, exchanged=_scaled(margins), notes=notes,
        deciding=deciding(margins, [int(np.nanargmin(rates.value))]),
    )  # fmt: skip


def cell_gap_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of accuracy minus that of the worst cell: MOVER of both.

    Classes differ in accuracy, so that chance is not at 0 but at the mean of the null.
    """
    if not margins.by_label or len(margins.prepared.grouped.groups) < 2:
        return TOO_MANY if not margins.by_label else ""
    cells, total = _cells(margins), margins.overall()

    def ends(level: float) -> Pair:
        worst, best = (float(limit) for limit in worst_limits(cells, level))
        low, high = (float(limit[0, 0]) for limit in total.limits(normal_quantile(level)))
        middle = float(total.value[0, 0])
        below = np.hypot(middle - low, best - (middle - value))
        above = np.hypot(high - middle, middle - value - worst)
        return max(value - float(below), 0.0), min(value + float(above), 1.0)

    chance = margins.within_truth if margins.testable else None
    draws = chance.values["class_group_accuracy_gap"] if chance else None
    return MarginInference(
        ends, "MOVER of the accuracy and the smallest of the cells",
        p_value=None if draws is None else exceeded(value, draws),
        reference=None if draws is None else float(np.nanmean(draws)), draws=draws,
        exchanged=chance.method if chance else "", deciding=_worst_cell(margins),
    )  # fmt: skip


def range_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of the largest minus the smallest accuracy: MOVER of each two groups, at once."""
    rates, hits = _groups(margins), margins.of_hits
    groups = rates.value.size
    if not 1 < groups <= _MOST_GROUPS:
        return TOO_MANY if groups > 1 else ""
    largest = None if hits is None else hits.largest()
    p, quantile, notes = largest_test(margins, ("hit",), largest, groups)
    extremes = [int(np.nanargmin(rates.value)), int(np.nanargmax(rates.value))]
    return MarginInference(
        lambda level: range_limits(rates, level, quantile=quantile(level)),
        together("MOVER of each two groups", groups), p_value=p, reference=0.0,
        draws=largest_draws(margins, ("hit",), value, largest), exchanged=_scaled(margins),
        deciding=deciding(margins, extremes), notes=notes,
    )  # fmt: skip


def largest_test(
    margins: Margins, kinds: Sequence[str], draws: Floats | None, groups: int, families: int = 1
) -> tuple[float | None, Callable[[float], float | None], list[str]]:
    """P of the largest difference of two groups in standard errors, the quantile of its limits, and notes.

    Both are those of the draws; Tukey and Kramer give those of weighted rows.
    """

    def quantile(level: float) -> float | None:
        return None if draws is None else float(np.quantile(draws, level, method="higher"))

    if draws is None and margins.tables is not None:
        return None, quantile, []
    t = _largest(margins, kinds)
    if draws is not None:
        return exceeded(t, draws), quantile, []
    from scipy import stats  # its import takes longer than a small audit, which does not come here

    p = families * float(stats.studentized_range.sf(t * np.sqrt(2), groups, np.inf))
    return min(1.0, p), quantile, [_ASYMPTOTIC]


def largest_draws(
    margins: Margins, kinds: Sequence[str], value: float, draws: Floats | None
) -> Floats | None:
    """What a largest difference would be at the statistic of each draw; None without draws."""
    return None if draws is None else np.clip(on_scale_of(value, _largest(margins, kinds), draws), 0, 1)


def _largest(margins: Margins, kinds: Sequence[str]) -> float:
    return max(float(margins.tally(kind).largest()[0]) for kind in kinds)


def _scaled(margins: Margins) -> str:
    """What was exchanged, where bands are those of the statistic."""
    return f"{margins.exchanged} exchanged, in standard errors"


def together(method: str, groups: int) -> str:
    """A method with how many groups are compared, where the interval alone decides nothing."""
    return f"{method}, at once over {groups} groups" if groups > MOST_PAIRED else f"{method}, at once"


def deciding(margins: Margins, groups: Iterable[int]) -> dict[str, int]:
    """Units of some groups by their names."""
    return {group_name(margins.prepared, group): int(margins.units[group]) for group in groups}


def group_name(prepared: BoundCounts, group: int) -> str:
    """A group as one text."""
    key = prepared.grouped.group_key(group)
    return key if isinstance(key, str) else " · ".join(key)


def accuracy_parts(prepared: BoundCounts, inference: Inference) -> list[Part]:
    """Accuracy of every group, with Wilson's interval and what exchanged groups would give."""
    grouped, margins = prepared.grouped, Margins.of(prepared)
    if not grouped.by:
        return []
    hits, sizes = prepared.confusion.correct.sum(axis=1), prepared.confusion.group_size
    if inference == "auto":
        rates = _groups(margins)
        low, high = rates.limits(normal_quantile(LEVEL))
        draws, exchanged = _draws(margins, lambda groups: groups)
    parts = []
    for z, n in enumerate(grouped.group_sizes.tolist()):
        more: dict[str, object] = {}
        if inference == "auto":
            alone = not rates.size[z] > 0
            more = {
                "interval": None if alone else wilson(float(low[z]), float(high[z]), unit=margins.unit),
                "null": None if draws is None else null_of(draws[:, z], exchanged, "both", prepared.seed),
                "reason": "one_cluster" if alone else None,
            }
        value = number(hits[z] / sizes[z])
        parts.append(Part(kind="group", key=grouped.group_key(z), value=value, n=n, **more))  # type: ignore[arg-type]
    return parts


def _groups(margins: Margins) -> Rates:
    """Accuracies of the groups, shape (G,)."""
    return margins.rates("hit").at(0)


def _cells(margins: Margins) -> Rates:
    """Accuracies of all cells in one line."""
    rates = margins.rates("true")
    return Rates(rates.value.ravel(), rates.size.ravel(), rates.freedom.ravel())


def _worst_cell(margins: Margins) -> dict[str, int]:
    """Rows of the worst (class, group) cell by its name."""
    prepared, cells = margins.prepared, margins.confusion.accuracy_by_cell()
    z, label = divmod(int(np.nanargmin(cells)), cells.shape[1])
    name = f"{prepared.grouped.label_key(label)} of {group_name(prepared, z)}"
    g = prepared.grouped
    if margins.tables is not None:
        unit = margins.tables.unit[(margins.tables.truth == label) & (margins.tables.group == z)]
        return {name: int(np.unique(unit).size)}
    return {name: int(g.rows[(g.truth == label) & (g.group == z)].sum())}


def _draws(margins: Margins, value: Callable[[Floats], Floats]) -> tuple[Floats | None, str]:
    """A value of the groups' accuracies in each draw, and what was exchanged."""
    hits = margins.of_hits
    return (None, "") if hits is None else (value(hits.rates[..., 0]), f"{margins.exchanged} exchanged")


def _below(value: float, draws: Floats | None) -> float | None:
    """The p of a value that is unfair where it is low; None without draws."""
    return None if draws is None else exceeded(-value, -draws)
