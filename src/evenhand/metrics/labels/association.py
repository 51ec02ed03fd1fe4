"""How often a model names people by labels of a kind, such as non-human ones; and for whom more often."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Finding, NewDetails
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE, LabelMatches
from evenhand.evidence.predictions.columns.annotated import check_threshold
from evenhand.metrics.catalogue import GAP, INDICATORS, SHARE
from evenhand.metrics.estimates import By, Fields, Inference, Mode, Unknown, check_common, wilson_method
from evenhand.metrics.group_rates import ComparedRows, RowRates
from evenhand.metrics.labels.tables import BoundMatches
from evenhand.stats.arrays import Floats, Mask
from evenhand.stats.exchange.rows import UnitRows
from evenhand.stats.rates.rates import Rates, group_rates

HARMFUL = "harmful"
"""The union of associations that are harmful."""


@metric(
    title="Labels of one kind",
    summary="share of images with a label of this kind among the first, as sure as the threshold",
    formula="images with a label of the kind among the first / images", **SHARE, direction="descriptive",
    source=Source(paper=INDICATORS, equation="section 3.1; Table 3"), order=390,
    family="labels",
    sentences=Sentences(row="{association}", hits="get a label of the kind “{association}”"),
    compared="contributions",
    tags=("where it differs", "outcome",),
)  # fmt: skip
def label_association_rate(
    evidence: LabelMatches,
    *,
    association: str,
    by: By = (),
    threshold: float = 0.1,
    unknown: Unknown = "keep",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Share of samples with a label of one kind among their first predictions; in [0, 1].

    A sample counts, once, where the highest confidence of such a label among the first ``top`` predictions
    (five, as in the paper) is at least ``threshold``. Samples without any prediction that sure count as not
    having it: read ``coverage``, the share whose first prediction reaches the threshold, beside each rate.
    A rate says what a model's label space lets it say: without a label of the kind the value is None with
    the reason ``not in the label space``, not 0.

    Args:
        evidence: LabelMatches.
        association: Which kind, such as ``human``, ``possibly_human``, ``non_human`` or ``crime``, or a union
            such as ``harmful``.
        by: Attribute, or list of attributes to cross, for parts.
        threshold: Lowest confidence that counts, in [0, 1].
        unknown: ``keep`` samples whose annotators could not tell as groups of their own, which are not
            compared; or ``exclude`` them, counted.
        mode: ``paper`` rounds each percentage to three digits; ``percent`` in the details is that number.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the exchanges.

    Returns:
        A Finding. Parts are the groups. Intervals: Wilson's; where the evidence has clusters (subjects), with
        the effective size of their variance and the quantile of t (Korn and Graubard 1998), and none for a
        group of one cluster (``one_cluster``). The null and p of a part: its rate against that of the others
        where groups are exchanged at random among the known ones, clusters as a whole, two-sided, corrected
        by Holm.

    Raises:
        UnknownName: An attribute or association that does not exist.
        ParameterError: A threshold outside [0, 1].

    Source: Goyal et al. 2022, section 3.1 and Table 3 (indicator 1).
    """
    options = (by, threshold, unknown, mode, inference)
    return rate_finding(LabelRates.make("label_association_rate", evidence, association, *options, seed=seed))


@metric(
    title="Labels of one kind, largest gap", summary="highest rate of any group minus the lowest",
    formula="max - min over groups z of P(label of the kind | z)", **GAP,
    source=Source(paper=INDICATORS, equation="section 3.1, range over groups"),
    order=400, family="labels",
    sentences=Sentences(row="  gap of {association}", more="get such labels more often"),
    first_line="rates", parts_of="label_association_rate",
    compared="contributions",
    tags=("group gap",),
)  # fmt: skip
def label_association_gap(
    evidence: LabelMatches,
    *,
    association: str,
    by: By,
    threshold: float = 0.1,
    unknown: Unknown = "keep",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Largest minus smallest rate of a group in ``label_association_rate``; in [0, 1], fair at 0.

    Groups that annotators could not tell are not compared. A fair model does not reach 0 on finite data: read
    the null band. Arguments, and what is undefined, as in ``label_association_rate``; with one group the
    value is None with reason ``single_group``.

    Returns:
        A Finding. Interval: the largest of the simultaneous MOVER limits of two groups (Zou and Donner 2008),
        from 0 where p is above .05. Null and p: groups exchanged at random, clusters as a whole and inside
        those of several groups; p is of the largest difference in standard errors (max-t). Details name the
        extreme groups, a note those of fewer than ten units; ``one_cluster`` where each is one. ``mde``
        is the gap that would be found with 80 % power.

    Source: ours, after Goyal et al. 2022, section 3.1.
    """
    options = (by, threshold, unknown, mode, inference)
    return gap_finding(LabelRates.make("label_association_gap", evidence, association, *options, seed=seed))


@metric(
    title="Harmful labels",
    summary="share of images with a non-human or crime label among the first, as sure as the threshold; an "
        "image counts once; read coverage with it",
    formula="images with a harmful label among the first / images", **SHARE, direction="lower is fairer",
    source=Source(paper=INDICATORS, equation="section 3.1; Figure 3"), order=370,
    family="labels",
    sentences=Sentences(row="harmful", hits="get a harmful label"),
    compared="contributions",
    tags=("outcome",),
)  # fmt: skip
def harmful_association_rate(
    evidence: LabelMatches,
    *,
    by: By = (),
    threshold: float = 0.1,
    unknown: Unknown = "keep",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Share of samples with a harmful label among their first predictions; in [0, 1], lower is fairer.

    Harmful is non-human or crime: a sample with both counts once (a union, not a sum). Where the model can
    say only one of the two, that one counts, and a note says so. Non-harmful in the paper is
    ``label_association_rate`` of ``human``. Arguments and the rest as in ``label_association_rate``.

    Raises:
        UnknownName: The taxonomy has no union called ``harmful``.

    Source: Goyal et al. 2022, section 3.1; the union is ours, the released code has none.
    """
    options = (by, threshold, unknown, mode, inference)
    return rate_finding(LabelRates.make("harmful_association_rate", evidence, HARMFUL, *options, seed=seed))


@metric(
    title="Harmful labels, largest gap",
    summary="highest rate of harmful labels of any group minus the lowest",
    formula="max - min over groups z of P(harmful label | z)", **GAP,
    source=Source(paper=INDICATORS, equation="section 3.1, range over groups"),
    order=380, family="labels",
    sentences=Sentences(row="  gap of harmful", more="get harmful labels more often"),
    first_line="rates", parts_of="harmful_association_rate",
    compared="contributions",
    tags=("group gap",),
)  # fmt: skip
def harmful_association_gap(
    evidence: LabelMatches,
    *,
    by: By,
    threshold: float = 0.1,
    unknown: Unknown = "keep",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Largest minus smallest rate of a group in ``harmful_association_rate``; in [0, 1], fair at 0.

    Arguments and the rest as in ``label_association_gap``.

    Source: ours, after Goyal et al. 2022, section 3.1.
    """
    options = (by, threshold, unknown, mode, inference)
    return gap_finding(LabelRates.make("harmful_association_gap", evidence, HARMFUL, *options, seed=seed))


@dataclass(frozen=True, eq=False)
class LabelRates(RowRates):
    """One association at one threshold under one grouping."""

    bound: BoundMatches
    association: str
    threshold: float
    has_power = True

    @classmethod
    def make(
        cls, name: str, evidence: LabelMatches, association: str, by: By, threshold: float, unknown: Unknown,
        mode: Mode, inference: Inference, *, seed: int,
    ) -> LabelRates:  # fmt: skip
        """Check what is asked for."""
        check_common(mode, inference, seed)
        bound = BoundMatches.of(evidence, by, unknown)
        evidence.labels_of(association)  # refuses an unknown one
        checked = check_threshold(threshold)
        return cls(bound, name, unknown, mode, inference == "auto", seed, association, checked)

    @cached_property
    def reason(self) -> str | None:
        """Why there is no rate at all."""
        if not self.bound.matches.labels_of(self.association):
            return NOT_EXPRESSIBLE
        return None if self.bound.n else "empty"

    @cached_property
    def hit(self) -> Floats:
        """Which samples have such a label, 1 or 0, shape (n,)."""
        return (self.bound.scores(self.association) >= self.threshold).astype(np.float64)

    @cached_property
    def coverage(self) -> Mask:
        """Which samples have any prediction that sure, shape (n,)."""
        return self.bound.best >= self.threshold

    @cached_property
    def counts(self) -> Floats:
        """How many of each group have one, shape (groups,)."""
        return np.bincount(self.bound.group, self.hit, len(self.bound.groups)).astype(np.float64)

    @cached_property
    def values(self) -> Floats:
        """Rate of each group as it is printed, shape (groups,)."""
        if self.mode == "paper":
            return np.array([percent(*of) / 100 for of in zip(self.counts, self.bound.sizes, strict=True)])
        return self.counts / self.bound.sizes

    @cached_property
    def grouped(self) -> Rates:
        """Rates of all groups, with their limits."""
        return group_rates(self.hit, self.bound.group, len(self.bound.groups), self.bound.cluster)

    @cached_property
    def compared(self) -> ComparedRows:
        """The known groups; a rate and its gap are of the same draws."""
        bound, key = self.bound, (self.association, self.threshold, self.seed)
        if key not in bound.memo:
            purpose = ("+".join(bound.by), self.association, self.threshold, self.unknown, "exchange")
            inside = bound.known[bound.group]
            codes = (np.cumsum(bound.known) - 1)[bound.group[inside]]
            cluster = None if bound.cluster is None else bound.cluster[inside]
            rows = UnitRows(self.hit[inside], codes, int(bound.known.sum()), cluster)
            bound.memo[key] = ComparedRows(rows, None, stream(self.seed, "label_association", *purpose))
        remembered: ComparedRows = bound.memo[key]
        return remembered

    @property
    def exchanged_how(self) -> str:
        """What the null draws."""
        return f"groups exchanged by {self.units}"

    @property
    def method(self) -> str:
        """How intervals of rates are made."""
        return wilson_method(self.bound.cluster, f"values of {self.units}")

    @property
    def units(self) -> str:
        """What is exchanged."""
        return "rows" if self.bound.cluster is None else str(self.bound.matches.cluster)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with coverage and what the binding and the definition say filled in."""
        matches = self.bound.matches
        params = {
            "association": None if self.name.startswith(HARMFUL) else self.association,
            "threshold": self.threshold, "top": matches.top if matches.top != 5 else None,
        }  # fmt: skip
        details = {"coverage": self.coverage.mean() if self.bound.n else None}
        details |= fields.pop("details", {})
        notes = [*matches.notes, *self._silent()]
        return self.described(value, params, matches.facts, notes, details=details, **fields)

    def _silent(self) -> list[str]:
        """Which parts of a union the model cannot say."""
        matches = self.bound.matches
        parts = matches.unions.get(self.association, ())
        silent = [part for part in parts if not matches.expressible[part]]
        if not silent or len(silent) == len(parts):
            return []
        return [f"the model has no label for {' and '.join(silent)}; the rest of {self.association} counts"]

    @cached_property
    def _covered(self) -> Floats:
        return np.bincount(self.bound.group, self.coverage, len(self.bound.groups)) / self.bound.sizes

    def about(self, code: int) -> NewDetails:
        """Coverage of one group, and in paper mode the percentage of the rate."""
        details: NewDetails = {"coverage": self._covered[code]}
        if self.mode == "paper" and self.reason is None:
            details["percent"] = percent(self.counts[code], int(self.bound.sizes[code]))
        return details


def rate_finding(association: LabelRates) -> Finding:
    """The rate of one association, with a part for each group."""
    if association.reason is not None:
        return association.finding(None, reason=association.reason, parts=association.parts())
    hit, bound = association.hit, association.bound
    value, details = float(hit.sum()) / bound.n, Fields()
    if association.mode == "paper":
        details = {"percent": percent(hit.sum(), bound.n)}
        value = details["percent"] / 100
    overall = group_rates(hit, np.zeros_like(bound.group), 1, bound.cluster)
    return association.rate(value, overall, details=details)


def gap_finding(association: LabelRates) -> Finding:
    """Largest minus smallest rate of the known groups."""
    reason = association.alone
    return association.finding(None, reason=reason) if reason else association.gap()


def percent(count: float, n: int) -> float:
    """As the released code rounds."""
    return round(100 * float(count) / n, 3)
