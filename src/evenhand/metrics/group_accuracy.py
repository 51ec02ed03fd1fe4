"""Accuracy overall, by group, for the worst group, and the distances between them."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import check_choice
from evenhand.core.results import Finding, Part
from evenhand.metrics.building import build, number
from evenhand.metrics.margin_findings import accuracy_parts, margin_finding, wilson
from evenhand.metrics.prepared import LEVEL, By, Evidence, Prepared, check_common
from evenhand.stats.effect_intervals import wilson_interval


def accuracy(
    evidence: Evidence, *, by: By = (), mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Correct rows over usable rows, in [0, 1], higher is better; parts are the groups.

    Micro accuracy over rows: large groups and classes weigh more. The interval is Wilson's. There is no
    null band, because accuracy itself compares no groups; each group's has one: what the group would reach
    if its rows changed places with others of their class, so that its mix of classes is allowed for.

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
    prepared = Prepared.of(evidence, by, seed)
    confusion = prepared.confusion
    hits, n = confusion.correct.sum(), confusion.support.sum()
    low, high = wilson_interval(hits, n, LEVEL)
    return build(
        prepared.grouped,
        "accuracy",
        {},
        number(hits / n),
        interval=wilson(float(low), float(high)) if inference == "auto" else None,
        parts=accuracy_parts(prepared, inference),
    )


def mean_group_accuracy(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Mean of the groups' accuracies, each group counting once; in [0, 1], higher is better.

    Arguments and errors as in ``accuracy``. Interval: stratified bootstrap. Null: groups permuted within
    class.

    Source: macro average over groups (balanced accuracy with groups in place of classes).
    """
    prepared = Prepared.of(evidence, by, seed)
    return margin_finding(
        prepared, "mean_group_accuracy", "mean_group_accuracy", side="low", mode=mode, inference=inference
    )


def worst_group_accuracy(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Smallest accuracy of a group, pooled over classes: ``min_z P(correct | z)``; higher is better.

    In [0, 1]. Groups are the values of the attribute, as in the paper's WG; for the worst (class, group)
    cell see ``worst_class_group_accuracy``. A minimum over noisy groups is below their true minimum: read
    the null band. Parts are the groups. Arguments and errors as in ``accuracy``.

    Source: Albuquerque et al. 2024, section 2.1 and Table 1.
    """
    prepared = Prepared.of(evidence, by, seed)
    return margin_finding(
        prepared,
        "worst_group_accuracy",
        "worst_group_accuracy",
        side="low",
        mode=mode,
        inference=inference,
        parts=accuracy_parts(prepared, inference),
    )


def worst_class_group_accuracy(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Smallest accuracy of a (class, group) cell: ``min_{y,z} P(correct | y, z)``; higher is better.

    In [0, 1]; cells without rows are left out. The one part is the worst cell. With many small cells this
    is near 0 for any model: read the null band. Arguments and errors as in ``accuracy``.

    Source: Sagawa et al. 2020.
    """
    prepared = Prepared.of(evidence, by, seed)
    cells = prepared.confusion.accuracy_by_cell()
    z, label = divmod(int(np.nanargmin(cells)), cells.shape[1])
    group = prepared.grouped.group_key(z)
    part = Part(
        kind="class*group",
        key=[prepared.grouped.label_key(label), *([group] if isinstance(group, str) else group)],
        value=number(cells[z, label]),
        n=prepared.confusion.support[z, label],
    )
    return margin_finding(
        prepared,
        "worst_class_group_accuracy",
        "worst_class_group_accuracy",
        side="low",
        mode=mode,
        inference=inference,
        parts=[part],
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

    A fair model does not reach 0 on finite data: read the null band. Classes' own gaps stand in the details
    of ``skewsize``'s parts. None with reason ``single_group`` (paper mode: 0).

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
    prepared = Prepared.of(evidence, by, seed)
    key = "accuracy_gap" if groups == "z" else "class_group_accuracy_gap"
    params = {"groups": groups} if groups != "z" else {}
    return margin_finding(
        prepared, "accuracy_gap", key, side="high", mode=mode, inference=inference, params=params
    )


def accuracy_range(
    evidence: Evidence, *, by: By, mode: str = "default", inference: str = "auto", seed: int = 0
) -> Finding:
    """Largest minus smallest group accuracy; in [0, 1], lower is fairer, fair at 0.

    None with reason ``single_group`` (paper mode: 0). Arguments and errors as in ``accuracy``.

    Source: range over groups; see also fairlearn's ``MetricFrame.difference``.
    """
    prepared = Prepared.of(evidence, by, seed)
    return margin_finding(
        prepared, "accuracy_range", "accuracy_range", side="high", mode=mode, inference=inference
    )
