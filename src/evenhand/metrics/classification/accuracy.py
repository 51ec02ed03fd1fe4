"""Accuracy overall, by group, for the worst group, and the distances between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from scipy import special

from evenhand.core.cards import Source
from evenhand.core.errors import check_choice
from evenhand.core.findings import Finding, Interval, Part
from evenhand.metrics.classification.declared import classifier_metric
from evenhand.metrics.classification.margin_rates import Margins
from evenhand.metrics.classification.margins import MarginInference, margin_finding, null_of, wilson
from evenhand.metrics.estimates import build, number
from evenhand.metrics.papers import SAGAWA, SKEWSIZE
from evenhand.metrics.prepared import LEVEL, BoundCounts, By, Evidence, check_common
from evenhand.stats.arrays import Floats, Pair
from evenhand.stats.exchange.relabelling import exceeded
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
_BONFERRONI = "p by Bonferroni's inequality with Kish's effective sizes: weighted rows are not exchanged"
_WORST_OF = "smallest of the {}' limits (Wilson below, Jeffreys above)"
_ASYMPTOTIC = "p by Tukey and Kramer with Kish's effective sizes: weighted rows are not exchanged"
TOO_MANY = "no interval: too many groups and labels to compare a rate of each"


@classifier_metric(
    title="Accuracy",
    summary="share of rows whose prediction is the truth",
    formula="right rows / usable rows",
    range=(0, 1),
    direction="higher is better",
    source=Source(paper=SKEWSIZE, equation="section 2.1"),
    unit="share",
    order=10,
    compared="counts",
)
def accuracy(
    evidence: Evidence, *, by: By = (), mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Correct rows over usable rows, in [0, 1], higher is better; parts are the groups.

    Micro accuracy over rows: large groups and classes weigh more. The interval is Wilson's, with the
    effective size of clusters or weights where there are any (Korn and Graubard 1998). There is no null band,
    because accuracy itself compares no groups; each group's has one: what the group would reach if groups
    changed places.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, list of attributes to cross, or nothing.
        mode: Same value in both.
        inference: ``none`` skips intervals.
        seed: Not used; every metric takes it.

    Raises:
        UserError: Unknown columns, or no usable row.

    Source: Albuquerque et al. 2024, section 2.1.
    """
    check_common(mode, inference)
    prepared = BoundCounts.of(evidence, by, seed)
    confusion = prepared.confusion
    value, parts = float(confusion.accuracy()), accuracy_parts(prepared, inference)
    if inference != "auto":
        return build(prepared.grouped, "accuracy", {}, number(value), parts=parts)
    margins = Margins.of(prepared)

    def at(level: float) -> Interval:
        low, high = margins.overall().limits(normal_quantile(level))
        return wilson(float(low[0, 0]), float(high[0, 0]), level, margins.unit)

    overall = number(value)
    return build(prepared.grouped, "accuracy", {}, overall, interval=at(LEVEL), limits=at, parts=parts)


@classifier_metric(
    title="Mean group accuracy",
    summary="the average of the groups’ accuracies, each group counting once",
    formula="mean over groups z of P(right | z)",
    range=(0, 1),
    direction="higher is better",
    source="macro average over groups",
    unit="share",
    order=20,
)
def mean_group_accuracy(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Mean of the groups' accuracies, each group counting once; in [0, 1], higher is better.

    Arguments and errors as in ``accuracy``. Interval: MOVER of the groups' Wilson limits (Zou and Donner
    2008). Null: groups exchanged among all rows.

    Source: macro average over groups (balanced accuracy with groups in place of classes).
    """
    prepared = BoundCounts.of(evidence, by, seed)
    return margin_finding(prepared, "mean_group_accuracy", mean_inference, mode=mode, inference=inference)


@classifier_metric(
    title="Worst-group accuracy",
    summary="the accuracy of the group the model serves worst",
    formula="min over groups z of P(right | z)",
    range=(0, 1),
    direction="higher is better",
    source=Source(paper=SKEWSIZE, equation="section 2.1; Table 1"),
    unit="share",
    order=30,
    compared="counts",
)
def worst_group_accuracy(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Smallest accuracy of a group, pooled over classes: ``min_z P(correct | z)``; higher is better.

    In [0, 1]. Groups are the values of the attribute, as in the paper's WG; for the worst (class, group)
    cell see ``worst_class_group_accuracy``. A minimum over noisy groups is below their true minimum: read
    the null band. The interval is the smallest of the groups' limits, upper ones at once (Sidak). Parts are
    the groups. Arguments and errors as in ``accuracy``.

    Source: Albuquerque et al. 2024, section 2.1 and Table 1.
    """
    prepared = BoundCounts.of(evidence, by, seed)
    parts = accuracy_parts(prepared, inference)
    return margin_finding(
        prepared, "worst_group_accuracy", worst_inference, mode=mode, inference=inference, parts=parts
    )


@classifier_metric(
    title="Worst class-and-group accuracy",
    summary="the lowest accuracy of any group within any class",
    formula="min over classes y and groups z of P(right | y, z)",
    range=(0, 1),
    direction="higher is better",
    source=SAGAWA,
    unit="share",
    order=40,
)
def worst_class_group_accuracy(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Smallest accuracy of a (class, group) cell: ``min_{y,z} P(correct | y, z)``; higher is better.

    In [0, 1]; cells without rows are left out. The one part is the worst cell. With many small cells this
    is near 0 for any model: read the null band. Arguments and errors as in ``accuracy``.

    Source: Sagawa et al. 2020.
    """
    prepared = BoundCounts.of(evidence, by, seed)
    g, cells = prepared.grouped, prepared.confusion.accuracy_by_cell()
    z, label = divmod(int(np.nanargmin(cells)), cells.shape[1])
    group = g.group_key(z)
    part = Part(
        kind="class*group", key=[g.label_key(label), *([group] if isinstance(group, str) else group)],
        value=number(cells[z, label]), n=int(g.rows[(g.truth == label) & (g.group == z)].sum()),
    )  # fmt: skip
    return margin_finding(
        prepared, "worst_class_group_accuracy", worst_cell_inference, mode=mode, inference=inference,
        parts=[part],
    )  # fmt: skip


@classifier_metric(
    title="Accuracy gap",
    summary="accuracy minus the accuracy of the worst group",
    formula="P(right) - min over groups z of P(right | z)",
    range=(0, 1),
    direction="lower is fairer",
    fair_at=0.0,
    source=Source(paper=SKEWSIZE, equation="section 2.1; Table 1"),
    unit="share difference",
    order=50,
    compared="counts",
)
def accuracy_gap(
    evidence: Evidence,
    *,
    by: By,
    groups: str = "z",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Accuracy minus worst group accuracy; in [0, 1] for ``z``, lower is fairer, fair at 0.

    A fair model does not reach 0 on finite data: read the null band. The gap is the largest, over groups, of
    the others' accuracy minus the group's, times their share; interval: MOVER of each (Zou and Donner 2008),
    lower limits at once; p: groups exchanged among all rows, the largest such difference in its standard
    error (Chung and Romano 2013). With ``yz`` groups are exchanged within the truth, and chance is at the
    mean of the null, because classes differ in accuracy. Classes' own gaps stand in the details of
    ``skewsize``'s parts. None with reason ``single_group`` (paper mode: 0).

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        groups: ``z`` (attribute values, as in the paper) or ``yz`` (class and attribute).
        mode: ``default`` or ``paper``.
        inference: ``none`` skips interval, null band and p.
        seed: Of the resampling.

    Source: Albuquerque et al. 2024, section 2.1 and Table 1 (Gap).
    """
    check_choice("groups", groups, ("z", "yz"))
    prepared = BoundCounts.of(evidence, by, seed)
    if groups == "z":
        return margin_finding(prepared, "accuracy_gap", gap_inference, mode=mode, inference=inference)
    return margin_finding(
        prepared, "accuracy_gap", cell_gap_inference, key="class_group_accuracy_gap", mode=mode,
        inference=inference, params={"groups": groups},
    )  # fmt: skip


@classifier_metric(
    title="Accuracy range",
    summary="highest group accuracy minus lowest",
    formula="max - min over groups z of P(right | z)",
    range=(0, 1),
    direction="lower is fairer",
    fair_at=0.0,
    source="range over groups",
    unit="share difference",
    order=60,
)
def accuracy_range(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Largest minus smallest group accuracy; in [0, 1], lower is fairer, fair at 0.

    None with reason ``single_group`` (paper mode: 0). Interval: MOVER of each two groups, lower limits at
    once; p: the largest difference in standard errors, groups exchanged among all rows. Arguments and errors
    as in ``accuracy``.

    Source: range over groups; see also fairlearn's ``MetricFrame.difference``.
    """
    prepared = BoundCounts.of(evidence, by, seed)
    return margin_finding(prepared, "accuracy_range", range_inference, mode=mode, inference=inference)


def mean_inference(margins: Margins, value: float) -> MarginInference:
    """Of the mean of groups: MOVER over all of them."""
    rates = _groups(margins)
    weight = np.full(rates.value.size, 1 / rates.value.size)
    draws, exchanged = _draws(margins, lambda drawn: drawn.mean(axis=1))
    return MarginInference(
        partial(mean_limits, rates, weight), "MOVER of Wilson limits", p_value=_below(value, draws),
        draws=draws, exchanged=exchanged, side="low",
    )  # fmt: skip


def worst_inference(margins: Margins, value: float) -> MarginInference:
    """Of the worst group: the smallest of the groups' limits."""
    rates = _groups(margins)
    draws, exchanged = _draws(margins, lambda drawn: drawn.min(axis=1))
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
    drawn, p, notes = margins.of_hits, None, []
    if drawn is not None:
        p = exceeded(float(margins.tally("hit").below_rest()[0]), drawn.below_rest())
    elif margins.tables is None:
        p = min(1.0, share.size * float(special.ndtr(-float(margins.tally("hit").below_rest()[0]))))
        notes = [_BONFERRONI]
    draws, exchanged = _draws(margins, lambda groups: groups @ share - groups.min(axis=1))
    return MarginInference(
        partial(gap_limits, rates, share), "MOVER of each group and the others, at once",
        p_value=p, reference=0.0, draws=draws, exchanged=exchanged, notes=notes,
        deciding=deciding(margins, [int(np.nanargmin(rates.value))]),
    )  # fmt: skip


def cell_gap_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of accuracy minus that of the worst cell: MOVER of both.

    Classes differ in accuracy, so that chance is not at 0 but at the mean of the null.
    """
    if not margins.by_label or len(margins.prepared.grouped.groups) < 2:
        return TOO_MANY if not margins.by_label else ""
    cells, whole = _cells(margins), margins.overall()

    def ends(level: float) -> Pair:
        worst, best = (float(one) for one in worst_limits(cells, level))
        low, high = (float(one[0, 0]) for one in whole.limits(normal_quantile(level)))
        middle = float(whole.value[0, 0])
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
    rates, drawn = _groups(margins), margins.of_hits
    groups = rates.value.size
    if not 1 < groups <= _MOST_GROUPS:
        return TOO_MANY if groups > 1 else ""
    p, quantile, notes = largest_test(margins, ("hit",), None if drawn is None else drawn.largest(), groups)
    draws, exchanged = _draws(margins, lambda drawn: drawn.max(axis=1) - drawn.min(axis=1))
    extremes = [int(np.nanargmin(rates.value)), int(np.nanargmax(rates.value))]
    return MarginInference(
        lambda level: range_limits(rates, level, quantile=quantile(level)),
        together("MOVER of each two groups", groups), p_value=p, reference=0.0, draws=draws,
        exchanged=exchanged, deciding=deciding(margins, extremes), notes=notes,
    )  # fmt: skip


def largest_test(
    margins: Margins, kinds: Sequence[str], drawn: Floats | None, groups: int, families: int = 1
) -> tuple[float | None, Callable[[float], float | None], list[str]]:
    """P of the largest difference of two groups in standard errors, the quantile of its limits, and notes.

    Both are those of the draws, except that units of several groups leave the quantile to Tukey and Kramer,
    who also give the p of weighted rows.
    """
    from scipy import stats

    def quantile(level: float) -> float | None:
        mixed = margins.tables is not None and margins.tables.mixed.any()
        return None if drawn is None or mixed else float(np.quantile(drawn, level, method="higher"))

    if drawn is None and margins.tables is not None:
        return None, quantile, []
    t = max(float(margins.tally(kind).largest()[0]) for kind in kinds)
    if drawn is not None:
        return exceeded(t, drawn), quantile, []
    p = families * float(stats.studentized_range.sf(t * np.sqrt(2), groups, np.inf))
    return min(1.0, p), quantile, [_ASYMPTOTIC]


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


def accuracy_parts(prepared: BoundCounts, inference: str) -> list[Part]:
    """Accuracy of every group, with Wilson's interval and what exchanged groups would give."""
    grouped, margins = prepared.grouped, Margins.of(prepared)
    if not grouped.by:
        return []
    hits, sizes = prepared.confusion.correct.sum(axis=1), prepared.confusion.group_size
    if inference == "auto":
        rates = _groups(margins)
        low, high = rates.limits(normal_quantile(LEVEL))
        drawn, exchanged = _draws(margins, lambda groups: groups)
    parts = []
    for z, n in enumerate(grouped.group_sizes.tolist()):
        more: dict[str, object] = {}
        if inference == "auto":
            alone = not rates.size[z] > 0
            more = {
                "interval": None if alone else wilson(float(low[z]), float(high[z]), unit=margins.unit),
                "null": None if drawn is None else null_of(drawn[:, z], exchanged, "both", prepared.seed),
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
    drawn = margins.of_hits
    return (None, "") if drawn is None else (value(drawn.rates[..., 0]), f"{margins.exchanged} exchanged")


def _below(value: float, draws: Floats | None) -> float | None:
    """The p of a value that is unfair where it is low; None without draws."""
    return None if draws is None else exceeded(-value, -draws)
