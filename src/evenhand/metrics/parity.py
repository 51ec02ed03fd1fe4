"""Demographic parity and equalized odds for any number of classes and groups, one class against the rest."""

from __future__ import annotations

from functools import partial

import numpy as np

from evenhand.core.errors import check_choice
from evenhand.core.results import Finding, Part
from evenhand.metrics.building import build, number
from evenhand.metrics.margin_findings import margin_finding, observed
from evenhand.metrics.parity_inference import Question, inference_of
from evenhand.metrics.prepared import By, Evidence, Prepared, check_common
from evenhand.stats.arrays import Floats
from evenhand.stats.confusion import over_classes
from evenhand.stats.contingency import range_by_column


def demographic_parity(
    evidence: Evidence,
    *,
    by: By,
    aggregate: str = "max",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Difference in prediction rates: per label ``max_z P(pred = c | z) - min_z P(pred = c | z)``.

    In [0, 1], lower is fairer, fair at 0. Parts are the labels that occur as truth or prediction. The truth
    plays no part: groups that differ in truth differ here, too; how much of the value that explains is in the
    details, ``explained_by_truth`` (its mean with groups exchanged within the truth). None with reason
    ``single_group`` (paper mode: 0).

    Interval of the largest label: MOVER of each two groups and label (Zou and Donner 2008), lower limits at
    once; p: groups exchanged among all rows, the largest difference in its standard error. Of the mean:
    limits by inverting that exchange along a family of populations, and ``corrected``, the value without
    what noise adds to it.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        aggregate: Over labels: ``max`` (the paper) or ``mean``.
        mode: ``default`` or ``paper``.
        inference: ``none`` skips interval, null band and p.
        seed: Of the resampling.

    Raises:
        UserError: Unknown columns or options, or no usable row.

    Source: Albuquerque et al. 2024, eq. 5, Appendix A (after Alabdulmohsin et al. 2022).
    """
    check_choice("aggregate", aggregate, ("max", "mean"))
    prepared = Prepared.of(evidence, by, seed)
    question = Question(("predicted",), aggregate, "max", aggregate)
    return margin_finding(
        prepared, "demographic_parity", partial(inference_of, question), mode=mode, inference=inference,
        key=f"demographic_parity/{aggregate}", params={"aggregate": aggregate},
        parts=_label_parts(prepared, observed(prepared, mode).parity_by_class()),
    )  # fmt: skip


def equalized_odds(
    evidence: Evidence,
    *,
    by: By,
    eo: str = "max",
    aggregate: str = "max",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Difference in true and false positive rates, per label over groups; in [0, 1], lower is fairer.

    Per label c: the range over groups of P(pred = c | truth = c, z), and of P(pred = c | truth != c, z);
    ``eo="max"`` takes the larger (eq. 6 as intended: read literally it mixes the two rates and gives 1 for
    a perfect classifier), ``eo="avg"`` their average, which the numbers of Table 1 follow. ``eo="full"``
    looks at every truth k apart: the largest range over groups of P(pred = c | truth = k, z); it has no
    interval or null band. A label that
    fewer than two groups have as truth has no true positive rate to compare: its false positive rate alone
    counts. Parts are the labels. Fair at 0.

    Interval and p as of ``demographic_parity``, groups exchanged within the truth; the largest difference is
    that of either rate.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        eo: ``max``, ``avg`` or ``full``.
        aggregate: Over labels: ``max`` or ``mean``.
        mode: ``default`` or ``paper``.
        inference: ``none`` skips interval, null band and p.
        seed: Of the resampling.

    Raises:
        UserError: Unknown columns or options, or no usable row.

    Source: Albuquerque et al. 2024, eq. 6 and Table 1.
    """
    check_choice("eo", eo, ("max", "avg", "full"))
    check_choice("aggregate", aggregate, ("max", "mean"))
    prepared = Prepared.of(evidence, by, seed)
    if eo == "full":
        return _full_odds(prepared, aggregate, mode, inference)
    key = f"equalized_odds/{eo}/{aggregate}"
    question = Question(("true", "false"), key, eo, aggregate)
    return margin_finding(
        prepared, "equalized_odds", partial(inference_of, question), mode=mode, inference=inference, key=key,
        params={"eo": eo, "aggregate": aggregate},
        parts=_label_parts(prepared, observed(prepared, mode).odds_by_class(eo)),
    )  # fmt: skip


def _full_odds(prepared: Prepared, aggregate: str, mode: str, inference: str) -> Finding:
    check_common(mode, inference)
    batch = prepared.separation
    fewest = 1 if mode == "paper" else 2
    comparable = batch.n_rows >= fewest
    ranges, truths, labels = range_by_column(batch)
    kept = comparable[truths]
    # a label that is never predicted given a truth has a range of 0 there
    values = np.full(prepared.grouped.n_used, 0.0 if comparable.any() else np.nan)
    np.maximum.at(values, labels[kept], ranges[kept])
    value = number(float(over_classes(values, aggregate)))
    params = {"eo": "full", "aggregate": aggregate, **({"mode": mode} if mode == "paper" else {})}
    reason = "single_group" if value is None else None
    parts = _label_parts(prepared, values)
    return build(prepared.grouped, "equalized_odds", params, value, reason=reason, parts=parts)


def _label_parts(prepared: Prepared, values: Floats) -> list[Part]:
    grouped = prepared.grouped
    support = np.bincount(grouped.truth, grouped.rows, grouped.n_used)
    reasons = [None if np.isfinite(value) else "single_group" for value in values]
    return [
        Part(kind="class", key=grouped.label_key(code), value=number(value), n=support[code], reason=reason)
        for code, (value, reason) in enumerate(zip(values, reasons, strict=True))
    ]
