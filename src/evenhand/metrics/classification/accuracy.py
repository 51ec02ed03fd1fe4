"""Accuracy overall, by group, for the worst group, and the distances between them; and how sure each is."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import check_choice
from evenhand.core.findings import Finding
from evenhand.metrics.catalogue import GAP, SAGAWA, SHARE, SKEWSIZE
from evenhand.metrics.estimates import (
    By,
    Fields,
    Inference,
    Mode,
    at_levels,
    build,
    check_common,
    number,
    part,
)
from evenhand.metrics.prepared import (
    TOO_MANY,
    BoundCounts,
    Evidence,
    MarginInference,
    accuracy_parts,
    classifier_metric,
    deciding,
    margin_finding,
    of_weights,
    together,
)
from evenhand.metrics.tables.margin_rates import Margins
from evenhand.stats.arrays import Floats, Pair
from evenhand.stats.rates.rates import (
    Rates,
    gap_limits,
    mean_limits,
    range_limits,
    rate_limits,
    worst_limits,
)

_MOST_GROUPS = 3_000
_ROUNDING = 1e-12  # as far apart as equal means may come
_BY_BONFERRONI = "p by Bonferroni's inequality with linearised variances: weighted rows are not exchanged"
_WORST_OF = "smallest of the {}' limits (Wilson below, Jeffreys above)"


@classifier_metric(
    sentences=Sentences(models="is right more often", hits="are right"),
    title="Accuracy", summary="share of rows whose prediction is the truth",
    formula="right rows / usable rows", **SHARE, direction="higher is better",
    source=Source(paper=SKEWSIZE, equation="section 2.1"), order=10,
    family="mistakes", compared="counts",
    tags=("outcome", "performance",),
    made_of="right rows",
)  # fmt: skip
def accuracy(
    evidence: Evidence, *, by: By = (), mode: Mode = "default", inference: Inference = "auto", seed: int = 0
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
    value, limits = number(float(prepared.confusion.accuracy())), None
    if inference == "auto":
        limits = at_levels(partial(rate_limits, prepared.overall()), prepared.wilson)
    parts = accuracy_parts(prepared, inference)
    return build(prepared, "accuracy", {}, value, limits=limits, parts=parts)


@classifier_metric(
    title="Mean group accuracy", summary="the average of the groups’ accuracies, each group counting once",
    formula="mean over groups z of P(right | z)", **SHARE, direction="higher is better",
    source="macro average over groups", order=20, family="mistakes", headline=False,
)  # fmt: skip
def mean_group_accuracy(
    evidence: Evidence, *, by: By, mode: Mode = "default", inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Mean of the groups' accuracies, each group counting once; in [0, 1], higher is better.

    Arguments and errors as in ``accuracy``. Interval: MOVER of the groups' Wilson limits (Zou and Donner
    2008). Null: groups exchanged among all rows.

    Source: macro average over groups (balanced accuracy with groups in place of classes).
    """
    prepared = BoundCounts.of(evidence, by, seed)
    return margin_finding(prepared, "mean_group_accuracy", mean_inference, mode=mode, inference=inference)


@classifier_metric(
    sentences=Sentences(models="is right more often in its worst group"),
    title="Worst-group accuracy", summary="the accuracy of the group the model serves worst",
    formula="min over groups z of P(right | z)", **SHARE, direction="higher is better",
    source=Source(paper=SKEWSIZE, equation="section 2.1; Table 1"), order=30,
    family="mistakes", compared="counts",
    tags=("worst group",),
)  # fmt: skip
def worst_group_accuracy(
    evidence: Evidence, *, by: By, mode: Mode = "default", inference: Inference = "auto", seed: int = 0
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
    title="Worst class-and-group accuracy", summary="the lowest accuracy of any group within any class",
    formula="min over classes y and groups z of P(right | y, z)", **SHARE, direction="higher is better",
    source=SAGAWA, order=40, family="mistakes", headline=False,
    tags=("where it differs", "worst group",),
    made_of="one cell",
)  # fmt: skip
def worst_class_group_accuracy(
    evidence: Evidence, *, by: By, mode: Mode = "default", inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Smallest accuracy of a (class, group) cell: ``min_{y,z} P(correct | y, z)``; higher is better.

    In [0, 1]; cells without rows are left out. The one part is the worst cell. With many small cells this
    is near 0 for any model: read the null band. Arguments and errors as in ``accuracy``.

    Source: Sagawa et al. 2020.
    """
    prepared = BoundCounts.of(evidence, by, seed)
    z, label, n = worst_cell(prepared)
    key = prepared.cell_key(label, z)
    value = number(prepared.confusion.rates("true")[z, label])
    worst = part("class*group", key, value, n=n)
    return margin_finding(
        prepared, "worst_class_group_accuracy", worst_cell_inference, mode=mode, inference=inference,
        parts=[worst],
    )  # fmt: skip


@classifier_metric(
    sentences=Sentences(models="has the wider gap"),
    title="Accuracy gap", summary="accuracy minus the accuracy of the worst group",
    formula="P(right) - min over groups z of P(right | z)", **GAP,
    source=Source(paper=SKEWSIZE, equation="section 2.1; Table 1"),
    order=50, family="mistakes", compared="counts",
    tags=("group gap",), first_line="rates", parts_of="accuracy", second_to="disparities",
    tested_by="accuracy_contrast",
)  # fmt: skip
def accuracy_gap(
    evidence: Evidence,
    *,
    by: By,
    groups: str = "z",
    mode: Mode = "default",
    inference: Inference = "auto",
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
    title="Accuracy range", summary="highest group accuracy minus lowest",
    formula="max - min over groups z of P(right | z)", **GAP,
    source="range over groups", order=60, family="mistakes", headline=False,
    tags=("group gap",),
)  # fmt: skip
def accuracy_range(
    evidence: Evidence, *, by: By, mode: Mode = "default", inference: Inference = "auto", seed: int = 0
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
    rates, draws = margins.accuracies, None if margins.hits is None else margins.hits.rates.mean(axis=1)
    if draws is not None and np.ptp(draws) <= _ROUNDING:  # of groups of one size: exchange cannot change it
        draws = None
    return MarginInference(
        partial(mean_limits, rates, np.full(rates.value.size, 1 / rates.value.size)),
        "MOVER of Wilson limits", draws=draws, exchanged=f"{margins.exchanged} exchanged", side="low",
    )  # fmt: skip


def worst_inference(margins: Margins, value: float) -> MarginInference:
    """Of the worst group: the smallest of the groups' limits."""
    rates = margins.accuracies
    return MarginInference(
        partial(worst_limits, rates), _WORST_OF.format("groups"), side="low",
        draws=None if margins.hits is None else margins.hits.rates.min(axis=1),
        exchanged=f"{margins.exchanged} exchanged",
        deciding=deciding(margins, [int(np.nanargmin(rates.value))]),
    )  # fmt: skip


def worst_cell_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of the worst (class, group) cell: the smallest of the cells' limits."""
    if not margins.by_label:
        return TOO_MANY
    limits = partial(worst_limits, _cells(margins))
    draws, exchanged = _by_cell(margins, "worst_class_group_accuracy")
    return MarginInference(
        limits, _WORST_OF.format("cells"), draws=draws, exchanged=exchanged, side="low",
        deciding=_worst_cell(margins),
    )  # fmt: skip


def gap_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of accuracy minus that of the worst group: MOVER of each group and the others, at once."""
    rates, size = margins.accuracies, margins.confusion.group_size
    if size.size < 2:
        return ""
    share, more = size / size.sum(), Fields()
    if margins.hits is None and margins.tables is None:
        t = -float(margins.compared("hit").from_rest[0, :, 0].min())
        more = {"p_value": min(1.0, share.size * float(special.ndtr(-t))), "notes": [_BY_BONFERRONI]}
    return MarginInference(
        partial(gap_limits, rates, share), "MOVER of each group and the others, at once", reference=0.0,
        test=None if margins.hits is None else margins.hits.below_rest(),
        exchanged=f"{margins.exchanged} exchanged, in standard errors",
        deciding=deciding(margins, [int(np.nanargmin(rates.value))]),
        **more,
    )  # fmt: skip


def cell_gap_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of accuracy minus that of the worst cell: MOVER of both.

    Classes differ in accuracy, so that chance is not at 0 but at the mean of the null.
    """
    if not margins.by_label or len(margins.groups) < 2:
        return TOO_MANY if not margins.by_label else ""
    cells, total = _cells(margins), margins.overall()

    def ends(level: float) -> Pair:
        worst, best = (float(limit) for limit in worst_limits(cells, level))
        low, high = rate_limits(total, level)
        middle = float(total.value[0])
        below = np.hypot(middle - low, best - (middle - value))
        above = np.hypot(high - middle, middle - value - worst)
        return max(value - float(below), 0.0), min(value + float(above), 1.0)

    draws, exchanged = _by_cell(margins, "class_group_accuracy_gap")
    return MarginInference(
        ends, "MOVER of the accuracy and the smallest of the cells", draws=draws, exchanged=exchanged,
        reference=None if draws is None else float(np.nanmean(draws)), deciding=_worst_cell(margins),
    )  # fmt: skip


def range_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of the largest minus the smallest accuracy: MOVER of each two groups, at once."""
    rates, test = margins.accuracies, None if margins.hits is None else margins.hits.largest
    groups = rates.value.size
    if not 1 < groups <= _MOST_GROUPS:
        return TOO_MANY if groups > 1 else ""
    extremes = [int(np.nanargmin(rates.value)), int(np.nanargmax(rates.value))]
    return MarginInference(
        lambda level: range_limits(rates, level, quantile=None if test is None else test.quantile(level)),
        together("MOVER of each two groups", groups), reference=0.0, test=test,
        exchanged=f"{margins.exchanged} exchanged, in standard errors",
        deciding=deciding(margins, extremes), **of_weights(margins, ("hit",), groups),
    )  # fmt: skip


def worst_cell(prepared: Margins) -> tuple[int, int, int]:
    """Group and class of the worst (class, group) cell, and its rows."""
    cells = prepared.confusion.rates("true")
    z, label = divmod(int(np.nanargmin(cells)), cells.shape[1])
    return z, label, int(prepared.rows[(prepared.truth == label) & (prepared.group == z)].sum())


def _worst_cell(margins: Margins) -> dict[str, int]:
    """Rows or clusters of the worst (class, group) cell by its name."""
    tables = margins.tables
    z, label, n = worst_cell(margins)
    if tables is not None:
        n = int(np.unique(tables.unit[(tables.truth == label) & (tables.group == z)]).size)
    return {f"{margins.label_key(label)} of {margins.group_text(z)}": n}


def _by_cell(margins: Margins, key: str) -> tuple[Floats | None, str]:
    """A summary of the cells with exchanged groups, and what was exchanged."""
    chance = margins.within_truth if margins.testable else None
    return (None, "") if chance is None else (chance.values[key], chance.method)


def _cells(margins: Margins) -> Rates:
    """Accuracies of all cells in one line."""
    rates = margins.rates("true")
    return Rates(rates.value.ravel(), rates.size.ravel(), rates.freedom.ravel())
