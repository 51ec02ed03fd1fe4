"""Metrics of a number that each sample has: its mean by group, and how far groups are apart."""

from __future__ import annotations

from evenhand.core.cards import Sentences
from evenhand.core.findings import Finding
from evenhand.evidence.numbers import Numbers
from evenhand.metrics.estimates import By, Inference
from evenhand.metrics.numbers import estimation
from evenhand.metrics.numbers.binding import number_metric
from evenhand.metrics.numbers.estimation import Better, NumberMeans

_FORM = "mean of a number by group, groups exchanged in standard errors: Janssen 1997; Chung and Romano 2013"


@number_metric(
    title="Mean", summary="mean of the number over all rows", formula="sum w v / sum w", range=(None, None),
    direction="descriptive", source="weighted mean", unit="outcome", order=600, family="numbers",
    sentences=Sentences(row="{value}"), tags=("outcome",), compared="mean",
)  # fmt: skip
def mean(evidence: Numbers, *, by: By = (), inference: Inference = "auto", seed: int = 0) -> Finding:
    """Mean of the numbers, in their own unit; parts are the groups.

    Every row counts once, or by its weight. Parts have the group's median and 10 and 90 % quantiles, units
    and, without verdict, what the group would reach if groups changed places. Intervals: of numbers of a
    known range Wilson's, at the size that hits would need to vary as much; of others t on units (delete one
    at a time) with the skewness taken off (Hall 1992). A note names groups of fewer than ``25 skewness^2``
    units (Cochran 1977), whose intervals may be too short.

    Args:
        evidence: Numbers; or a list, array or Series of numbers, with ``groups``, ``cluster``,
            ``sample_weight``, ``range`` and ``unit``.
        by: Attribute, list of attributes to cross, or nothing.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the exchanges.

    Raises:
        UserError: Unknown columns.

    Source: weighted mean; interval by Hall 1992, On the removal of skewness by transformation.
    """
    return estimation.mean_finding(NumberMeans.make("mean", evidence, by, None, inference, seed))


@number_metric(
    title="Mean, worst group", summary="the mean of the group with the worst mean",
    formula="min (better=high) or max (better=low) over groups z of the mean of z", range=(None, None),
    direction="descriptive", source=_FORM, unit="outcome", order=610, family="numbers", tags=("worst group",),
    compared="worst",
)  # fmt: skip
def worst_group_mean(
    evidence: Numbers, *, by: By, better: Better, inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Mean of the worst group, in the numbers' own unit.

    The worst of noisy groups is worse than their true worst: read the null band. Interval: the worst of the
    groups' limits, those toward the others at once (Sidak). p: the group's mean against that of all others,
    the largest such difference in its standard error. Arguments as in ``mean_gap``; None with reason
    ``single_group``.

    Source: ours, as ``worst_group_accuracy``.
    """
    return estimation.worst_finding(
        NumberMeans.make("worst_group_mean", evidence, by, better, inference, seed)
    )


@number_metric(
    title="Mean, gap", summary="how much worse the mean of the worst group is than that of all rows",
    formula="mean - min over groups z of the mean of z; better=low: max over z - mean", range=(0, None),
    direction="lower is fairer", fair_at=0.0, source=_FORM, unit="outcome", order=620, family="numbers",
    tags=("group gap",), tested_by="mean_contrast", compared="gap",
)  # fmt: skip
def mean_gap(
    evidence: Numbers, *, by: By, better: Better, inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Mean of all rows less that of the worst group (``better="low"``: the other way round); fair at 0.

    From 0, in the numbers' own unit; a fair model does not reach 0 on finite data: read the null band.
    Interval: MOVER of each group and the others (Zou and Donner 2008), lower limits at once. p: groups
    exchanged among all units, the largest difference of a group and the others in its standard error.

    Args:
        evidence: Numbers; or a list, array or Series of numbers, with ``groups``, ``cluster``,
            ``sample_weight``, ``range`` and ``unit``.
        by: Attribute, or list of attributes to cross.
        better: Which numbers are good: ``high`` of an overlap, ``low`` of an error.
        inference: ``none`` skips interval, null band and p.
        seed: Of the exchanges.

    Raises:
        UserError: Unknown columns or options.

    Source: ours, as ``accuracy_gap``; Chung and Romano 2013 for the studentised exchange.
    """
    return estimation.gap_finding(NumberMeans.make("mean_gap", evidence, by, better, inference, seed))


@number_metric(
    title="Mean, range", summary="highest mean of a group minus the lowest",
    formula="max - min over groups z of the mean of z", range=(0, None), direction="lower is fairer",
    fair_at=0.0, source=_FORM, unit="outcome", order=630, family="numbers", headline=False,
    tags=("group gap",), compared="range",
)  # fmt: skip
def mean_range(evidence: Numbers, *, by: By, inference: Inference = "auto", seed: int = 0) -> Finding:
    """Largest less smallest mean of a group, from 0, in the numbers' own unit; fair at 0.

    Interval: MOVER of each two groups, lower limits at once by the exchange; p: the largest difference of two
    groups in standard errors. Arguments as in ``mean``; None with reason ``single_group``.

    Source: range over groups.
    """
    return estimation.range_finding(NumberMeans.make("mean_range", evidence, by, None, inference, seed))


@number_metric(
    title="Mean, ratio", summary="mean of the worst group over that of the best",
    formula="worst mean / best mean", range=(0, None), direction="descriptive", fair_at=1.0, source=_FORM,
    unit="ratio", order=640, family="numbers", headline=False, tags=("group gap",),
    why_not_compared="mean_range_difference compares the same two means",
)  # fmt: skip
def mean_ratio(
    evidence: Numbers, *, by: By, better: Better, inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Worst mean over best mean, from 0; fair at 1, below 1 for ``better="high"``, above for ``"low"``.

    Interval: MOVER of the logarithms of both means, toward 1 at once over all groups; p as of ``mean_range``.
    Arguments as in ``mean_gap``. None with reason ``undefined`` where a mean is below 0 or the best is 0.

    Source: ratio over groups.
    """
    return estimation.ratio_finding(NumberMeans.make("mean_ratio", evidence, by, better, inference, seed))


@number_metric(
    title="Mean, groups furthest apart",
    summary="mean of some groups less that of all others: the two sets that stand furthest apart",
    formula="|mean of S - mean of the others|, S: the cut of groups in order of their means whose difference "
        "in standard errors exceeds most what such cuts reach by chance",
    range=(0, None), direction="lower is fairer", fair_at=0.0, source=_FORM, unit="outcome", order=615,
    family="numbers", tags=("group gap",), first_line="means", parts_of="mean",
    why_not_compared="each run chose its own two sets of groups",
)  # fmt: skip
def mean_contrast(
    evidence: Numbers, *, by: By, better: Better, inference: Inference = "auto", seed: int = 0
) -> Finding:
    """How far two sets of groups stand apart in their means: does the number differ between any groups?

    As ``accuracy_contrast``: of the cuts between groups in order of their means the one whose difference, in
    standard errors, most exceeds what such a cut of equal groups reaches by chance. Parts are the groups of
    the smaller set, the detail ``side`` says whether it is ``worse`` or ``better`` off, ``set_mean`` and
    ``others_mean`` are the means of both sides. p, interval and band
    are of that statistic. Arguments as in ``mean_gap``; None with reason ``single_group``.

    Source: Scheffé 1953 (contrasts after the fact); Chung and Romano 2013 (studentised exchange).
    """
    return estimation.contrast_finding(
        NumberMeans.make("mean_contrast", evidence, by, better, inference, seed)
    )
