"""The metric of what a group's lower accuracy comes from: its mix of classes, or mistakes within them."""

from __future__ import annotations

import numpy as np

from evenhand.core.cards import Source
from evenhand.core.findings import Finding, Interval, Key, Part
from evenhand.metrics.classification.disparities.comparison import GroupMistakes, Options
from evenhand.metrics.estimates import LEVEL, By, Fields, Inference, Mode, build, check_common, number, part
from evenhand.metrics.prepared import BoundCounts, Evidence, classifier_metric
from evenhand.stats.arrays import Ends, sum_by
from evenhand.stats.disparities.candidates import MISS
from evenhand.stats.disparities.decomposition import Decomposition
from evenhand.stats.disparities.lines import Lines
from evenhand.stats.rates.rates import normal_quantile

_METHOD = "normal, delta method"
_CLUSTERS = "rows come in clusters, so that parts have no interval"


@classifier_metric(
    title="Accuracy gap within classes",
    summary="how much less accurate the worst group would be than the others if it had their mix of classes",
    formula="max over groups z of sum_y (w_zy + w_ry)/2 (acc_ry - acc_zy), r: all other groups",
    range=(-1, 1), direction="lower is fairer", fair_at=0.0,
    source=Source(paper="Kitagawa 1955", equation="two-part decomposition, symmetric"),
    unit="share difference", order=55, headline=False,
    tags=("group gap",), made_of="mistakes",
    rests_on=dict.fromkeys(("gap", "mix", "errors", "mistake", "other mistakes"), "group"),
)  # fmt: skip
def accuracy_decomposition(
    evidence: Evidence, *, by: By, mode: Mode = "default", inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Why groups differ in accuracy from all others: mix of classes, or mistakes within classes.

    ``gap = acc_rest - acc_group = mix + errors``, exactly. With shares of classes w and accuracies acc,
    ``mix = sum_y (w_ry - w_zy) (acc_zy + acc_ry)/2``, ``errors = sum_y (w_zy + w_ry)/2 (acc_ry - acc_zy)``;
    errors are the sum of the shares of all mistakes, ``(w_zy + w_ry)/2 (p_zyk - p_ryk)``. A class that only
    one side has is all mix. The value is the largest ``errors`` of a group, in [-1, 1], lower is fairer.

    Parts, of each group: ``gap`` (its accuracy and the rest's in details), ``mix``, ``errors``, then
    ``mistake`` for each that ``disparities`` lists for it (key: class, group, label) and ``other mistakes``,
    which is the rest of ``errors``. Intervals are by the delta method, both sides being multinomial; with
    weights by Taylor linearisation and t, so that these may go with the outcome; where a cluster column was
    declared there are none. None with reason ``single_group``.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        mode: Same value in both.
        inference: ``none`` skips intervals.
        seed: Not used; every metric takes it.

    Raises:
        UserError: Unknown columns, or no usable row.

    Source: Kitagawa 1955; Oaxaca 1973 and Blinder 1973, with mean weights; Chevan and Sutherland 2009;
    Woodruff 1971 (weights).
    """
    check_common(mode, inference)
    bound = BoundCounts.of(evidence, by, seed)
    if len(bound.groups) < 2:
        return build(bound, "accuracy_decomposition", {}, None, reason="single_group")
    squares = None
    if bound.moments is not None:  # of weighted rows
        squared = bound.added_up(bound.moments[1])
        rows = sum_by(bound.group, bound.moments[0], len(bound.groups))
        squares = squared.support, squared.correct, rows
    parts_of = Decomposition.of(bound.confusion.support, bound.confusion.correct, squares)
    comparison = GroupMistakes.of(bound, Options())
    lines = comparison.lines.take(np.sort(comparison.listed))
    lines = lines.take(lines.label != MISS)
    shares = parts_of.shares(lines.group, lines.truth, (lines.a, lines.b))
    parts: list[Part] = []
    for z in range(len(bound.groups)):
        parts += _parts(bound, parts_of, lines, shares, z)
    if inference == "none":
        parts = [piece.model_copy(update={"interval": None}) for piece in parts]
    notes = [] if bound.units is None else [_CLUSTERS]
    value = number(float(parts_of.errors.max()))
    return build(bound, "accuracy_decomposition", {}, value, parts=parts, notes=notes)


def _parts(bound: BoundCounts, parts_of: Decomposition, lines: Lines, shares: Ends, z: int) -> list[Part]:
    """Gap, mix and errors of a group, its listed mistakes, and what is left of its errors."""
    key, some = bound.group_key(z), np.flatnonzero(lines.group == z).tolist()
    numbers: list[tuple[str, Key, float, float | None]] = [
        ("gap", key, parts_of.gap[z], parts_of.gap_error[z]),
        ("mix", key, parts_of.mix[z], parts_of.mix_error[z]),
        ("errors", key, parts_of.errors[z], parts_of.errors_error[z]),
    ]
    for index in some:
        cell = bound.cell_key(int(lines.truth[index]), z)
        cell.append(bound.label_key(int(lines.label[index])))
        numbers.append(("mistake", cell, shares[0][index], shares[1][index]))
    numbers.append(("other mistakes", key, parts_of.errors[z] - shares[0][some].sum(), None))
    quantile = bound.rates("hit").at(0).quantiles(normal_quantile(LEVEL))[z]
    parts = []
    for kind, key, value, error in numbers:
        fields = Fields()
        if kind == "gap":
            fields["details"] = {"accuracy": parts_of.group.accuracy[z], "rest": parts_of.rest.accuracy[z]}
        if error is not None and bound.units is None:
            low, high = value - quantile * error, value + quantile * error
            fields["interval"] = Interval(low=low, high=high, level=LEVEL, method=_METHOD)
        parts.append(part(kind, key, value, n=bound.group_sizes[z], **fields))
    return parts
