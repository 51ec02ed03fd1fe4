"""Accuracy overall, by group, for the worst group, and the distances between them."""

from __future__ import annotations

from functools import partial

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import check_choice
from evenhand.core.findings import Finding
from evenhand.metrics.catalogue import GAP, SAGAWA, SHARE, SKEWSIZE
from evenhand.metrics.classification.margins import (
    accuracy_parts,
    cell_gap_inference,
    gap_inference,
    margin_finding,
    mean_inference,
    range_inference,
    worst_cell,
    worst_cell_inference,
    worst_inference,
)
from evenhand.metrics.estimates import By, Inference, Mode, at_levels, build, check_common, number, part
from evenhand.metrics.prepared import BoundCounts, Evidence, classifier_metric
from evenhand.stats.rates.rates import rate_limits


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
