"""Demographic parity and equalized odds for any number of classes and groups, one class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np

from evenhand.core.cards import Source
from evenhand.core.errors import check_choice
from evenhand.core.findings import Finding, Part
from evenhand.display.text.reasons import explain
from evenhand.metrics.catalogue import GAP, SKEWSIZE
from evenhand.metrics.estimates import (
    Aggregate,
    By,
    EqualizedOdds,
    Inference,
    Mode,
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
    classifier_metric,
    deciding,
    margin_finding,
    observed,
    of_weights,
    together,
)
from evenhand.metrics.tables.margin_rates import ExchangedMargins, Margins
from evenhand.stats.arrays import Ends, Floats, Pair, pieces
from evenhand.stats.contingency.tables import range_by_column
from evenhand.stats.exchange.compared_rates import MaxT
from evenhand.stats.rates.confusion import mean_range, odds_of, over_classes, range_over_groups
from evenhand.stats.rates.rates import Rates, range_limits

_HELD = 4_000_000  # labels x groups x groups held at a time


@classifier_metric(
    title="Demographic parity difference",
    summary="how far apart the groups are in how often a label is predicted",
    formula="mean or max over labels c of max - min over groups z of P(predicted c | z)", **GAP,
    source=Source(paper=SKEWSIZE, equation="eq. 5"),
    order=170, family="mistakes",
    tags=("group gap",),
    made_of="shares",
)  # fmt: skip
def demographic_parity(
    evidence: Evidence,
    *,
    by: By,
    aggregate: Aggregate = "max",
    mode: Mode = "default",
    inference: Inference = "auto",
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
    check_choice("aggregate", aggregate, get_args(Aggregate))
    prepared = BoundCounts.of(evidence, by, seed)
    question = RangeSummary(("predicted",), f"demographic_parity/{aggregate}", "max", aggregate)
    return margin_finding(
        prepared, "demographic_parity", partial(inference_of, question), mode=mode, inference=inference,
        key=question.key, params={"aggregate": aggregate},
        parts=_label_parts(prepared, observed(prepared, mode).parity_by_class),
    )  # fmt: skip


@classifier_metric(
    title="Equalized odds difference",
    summary="how far apart the groups are in their true-positive and false-positive rates",
    formula="mean or max over labels of the larger, or the average, of the ranges over groups of true and "
        "false positive rate", **GAP,
    source=Source(paper=SKEWSIZE, equation="eq. 6; Table 1"), order=180,
    family="mistakes",
    tags=("group gap", "where it differs",),
    made_of="shares",
)  # fmt: skip
def equalized_odds(
    evidence: Evidence,
    *,
    by: By,
    eo: EqualizedOdds = "max",
    aggregate: Aggregate = "max",
    mode: Mode = "default",
    inference: Inference = "auto",
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
    check_choice("eo", eo, get_args(EqualizedOdds))
    check_choice("aggregate", aggregate, get_args(Aggregate))
    prepared = BoundCounts.of(evidence, by, seed)
    if eo == "full":
        return _full_odds(prepared, aggregate, mode, inference)
    question = RangeSummary(("true", "false"), f"equalized_odds/{eo}/{aggregate}", eo, aggregate)
    return margin_finding(
        prepared, "equalized_odds", partial(inference_of, question), mode=mode, inference=inference,
        key=question.key,
        params={"eo": eo, "aggregate": aggregate},
        parts=_label_parts(prepared, observed(prepared, mode).odds_by_class(eo)),
    )  # fmt: skip


def _full_odds(prepared: BoundCounts, aggregate: Aggregate, mode: Mode, inference: Inference) -> Finding:
    check_common(mode, inference)
    batch = prepared.separation
    fewest = 1 if mode == "paper" else 2
    comparable = batch.n_rows >= fewest
    ranges, truths, labels = range_by_column(batch)
    is_comparable = comparable[truths]
    # a label that is never predicted given a truth has a range of 0 there
    values = np.full(prepared.n_used, 0.0 if comparable.any() else np.nan)
    np.maximum.at(values, labels[is_comparable], ranges[is_comparable])
    value = number(float(over_classes(values, aggregate)))
    params = {"eo": "full", "aggregate": aggregate, "mode": mode if mode == "paper" else None}
    reason = "single_group" if value is None else None
    parts = _label_parts(prepared, values)
    return build(prepared, "equalized_odds", params, value, reason=reason, parts=parts)


def _label_parts(prepared: BoundCounts, values: Floats) -> list[Part]:
    support = np.bincount(prepared.truth, prepared.rows, prepared.n_used)
    reasons = [None if np.isfinite(value) else "single_group" for value in values]
    return [
        part("class", prepared.label_key(code), value, n=support[code], reason=reason)
        for code, (value, reason) in enumerate(zip(values, reasons, strict=True))
    ]


@dataclass(frozen=True)
class RangeSummary:
    """Which rates are compared, and what is made of their ranges.

    Demographic parity compares rates of predictions, whatever the truth; equalized odds those of right and of
    wrong predictions within the truth.
    """

    kinds: tuple[str, ...]  # of rates: `predicted`, or `true` and `false`
    key: str  # of the value among `SUMMARIES`
    how: str  # `max` or `avg` of the ranges of two kinds
    aggregate: Aggregate  # `max` or `mean` over labels

    def of_labels(self, ranges: Sequence[Floats]) -> Floats:
        """The value of each label from the ranges of each kind, shape (..., L)."""
        return ranges[0] if len(ranges) == 1 else odds_of(ranges[0], ranges[1], self.how)

    def combined(self, *ranges: Floats) -> Floats:
        """The mean over labels."""
        return over_classes(self.of_labels(ranges), "mean")

    def chance(self, margins: Margins) -> ExchangedMargins | None:
        """The draws in which the question has no answer but 0."""
        if not margins.testable:
            return None
        return margins.over_all if self.kinds == ("predicted",) else margins.within_truth


def inference_of(question: RangeSummary, margins: Margins, value: float) -> MarginInference | str:
    """How the value of a question is inferred."""
    if len(margins.groups) < 2:
        return ""
    if not margins.by_label:
        return TOO_MANY
    return (
        _mean(margins, value, question)
        if question.aggregate == "mean"
        else _largest(margins, value, question)
    )


def _largest(margins: Margins, value: float, question: RangeSummary) -> MarginInference:
    """The largest over labels: MOVER of each two groups of each label, at once."""
    chance, rates = question.chance(margins), [margins.rates(kind) for kind in question.kinds]
    labels, groups = rates[0].value.shape
    families, test = labels * len(rates), None
    if chance is not None:
        largest = max(float(margins.compared(kind).largest()[0]) for kind in question.kinds)
        test = MaxT(largest, np.max([chance.largest[kind] for kind in question.kinds], axis=0))

    def ends(level: float) -> Pair:
        quantile = None if test is None else test.quantile(level)
        limits = [_label_limits(rate, level, quantile, families) for rate in rates]
        lows = question.of_labels([low for low, _ in limits])
        highs = question.of_labels([high for _, high in limits])
        if question.how == "avg":  # right and wrong answers with a label are of other truths: independent
            ranges = [_ranges(rate) for rate in rates]
            arms = [np.nan_to_num(high - value) for (_, high), value in zip(limits, ranges, strict=True)]
            has_both = ~np.isnan(ranges[0]) & ~np.isnan(ranges[1])
            highs = np.where(has_both, question.of_labels(ranges) + np.hypot(*arms) / 2, highs)
        return float(np.nanmax(lows)), float(np.nanmax(highs))

    return MarginInference(
        ends, together("MOVER of each two groups and label", groups), reference=0.0, test=test,
        exchanged="" if chance is None else f"{chance.method}, in standard errors",
        deciding=_extremes(margins, rates, question), details=_explained(margins, question),
        **of_weights(margins, question.kinds, groups, families),
    )  # fmt: skip


def _mean(margins: Margins, value: float, question: RangeSummary) -> MarginInference | str:
    """The mean over labels, without what noise adds to it."""
    chance, notes = question.chance(margins), []
    compared = [margins.compared(kind) for kind in question.kinds]
    if chance is not None:
        noise, draws = [chance.noise[kind] for kind in question.kinds], chance.values[question.key]
        exchanged = chance.method
        if margins.tables is not None:  # units that came may be of other sizes: their spread is put right
            draws = question.combined(*(range_over_groups(rates, 2) for rates in noise))
    elif margins.tables is not None:
        return explain("one_cluster")
    else:
        noise = [margins.weight_noise(kind) for kind in question.kinds]
        draws = question.combined(*(range_over_groups(rates, 2) for rates in noise))
        exchanged, notes = "normal noise of weighted rows", [_NORMAL]
    away, variance = [rates.away[0] for rates in compared], [rates.variance[0] for rates in compared]
    wider = [margins.wider(kind) for kind in question.kinds]
    inverted = mean_range(value, away, variance, noise, wider, question.combined)
    return MarginInference(
        inverted.limits, "inverted test of the mean range, noise by " + exchanged,
        reference=0.0, draws=draws, exchanged=exchanged,
        corrected=inverted.corrected, notes=notes, details=_explained(margins, question),
    )  # fmt: skip


_NORMAL = "p by normal noise of the weights: weighted rows are not exchanged"


def _explained(margins: Margins, question: RangeSummary) -> dict[str, float | None]:
    """Of parity, what the groups' truths alone explain: the mean where groups are exchanged within them."""
    if question.kinds != ("predicted",) or not margins.testable:
        return {}
    return {"explained_by_truth": float(np.nanmean(margins.within_truth.values[question.key]))}


def _ranges(rates: Rates) -> Floats:
    return range_over_groups(rates.value.T, 2)


def _label_limits(rates: Rates, level: float, quantile: float | None, families: int) -> Ends:
    """Limits of the range of each label, shape (L,) each."""
    labels, groups = rates.value.shape
    parts = [
        range_limits(rates.at(some), level, families=families, quantile=quantile)
        for some in pieces(labels, _HELD, groups**2)
    ]
    low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    return low, high


def _extremes(margins: Margins, rates: Sequence[Rates], question: RangeSummary) -> dict[str, int]:
    """The groups between which the label that decides has its range."""
    ranges = [_ranges(rate) for rate in rates]
    label = int(np.nanargmax(question.of_labels(ranges)))
    kind = int(np.nanargmax([by_label[label] for by_label in ranges]))
    value = rates[kind].value[label]
    return deciding(margins, [int(np.nanargmin(value)), int(np.nanargmax(value))])
