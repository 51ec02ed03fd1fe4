"""How often a model names people by labels of a kind, such as non-human ones; and for whom more often."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.cards import Source
from evenhand.core.findings import Finding, Part
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE, LabelMatches
from evenhand.metrics.estimates import null_band, number
from evenhand.metrics.group_rates import ONE_CLUSTER, Details, GapTest, GroupQuestion
from evenhand.metrics.labels.tables import BoundMatches, check_threshold
from evenhand.metrics.named_groups import kept
from evenhand.metrics.papers import INDICATORS
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.stats.arrays import Floats, Mask
from evenhand.stats.exchange.rows import ExchangedRates, UnitRows, exchange
from evenhand.stats.rates.differences import range_limits
from evenhand.stats.rates.rates import Rates, group_rates

HARMFUL = "harmful"
"""The union of associations that are harmful."""

_GAP = "MOVER of all pairs, simultaneous by the exchange's largest t"
_Z_POWER = 0.8416212335729143  # the .8 quantile of the normal distribution
_ALPHA = 0.05


@metric(
    title="Labels of one kind",
    summary="share of images with a label of this kind among the first, as sure as the threshold",
    formula="images with a label of the kind among the first / images",
    range=(0, 1),
    direction="descriptive",
    source=Source(paper=INDICATORS, equation="section 3.1; Table 3"),
    unit="share",
    order=390,
    compared="contributions",
)
def label_association_rate(
    evidence: LabelMatches,
    *,
    association: str,
    by: By = (),
    threshold: float = 0.1,
    unknown: str = "keep",
    mode: str = "default",
    inference: str = "auto",
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
    return rate_finding(
        BoundAssociation.make("label_association_rate", evidence, association, *options, seed=seed)
    )


@metric(
    title="Labels of one kind, largest gap",
    summary="highest rate of any group minus the lowest",
    formula="max - min over groups z of P(label of the kind | z)",
    range=(0, 1),
    direction="lower is fairer",
    fair_at=0.0,
    source=Source(paper=INDICATORS, equation="section 3.1, range over groups"),
    unit="share difference",
    order=400,
    compared="contributions",
)
def label_association_gap(
    evidence: LabelMatches,
    *,
    association: str,
    by: By,
    threshold: float = 0.1,
    unknown: str = "keep",
    mode: str = "default",
    inference: str = "auto",
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
    return gap_finding(
        BoundAssociation.make("label_association_gap", evidence, association, *options, seed=seed)
    )


@metric(
    title="Harmful labels",
    summary=(
        "share of images with a non-human or crime label among the first, as sure as the threshold; an "
        "image counts once; read coverage with it"
    ),
    formula="images with a harmful label among the first / images",
    range=(0, 1),
    direction="lower is fairer",
    source=Source(paper=INDICATORS, equation="section 3.1; Figure 3"),
    unit="share",
    order=370,
    compared="contributions",
)
def harmful_association_rate(
    evidence: LabelMatches,
    *,
    by: By = (),
    threshold: float = 0.1,
    unknown: str = "keep",
    mode: str = "default",
    inference: str = "auto",
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
    return rate_finding(
        BoundAssociation.make("harmful_association_rate", evidence, HARMFUL, *options, seed=seed)
    )


@metric(
    title="Harmful labels, largest gap",
    summary="highest rate of harmful labels of any group minus the lowest",
    formula="max - min over groups z of P(harmful label | z)",
    range=(0, 1),
    direction="lower is fairer",
    fair_at=0.0,
    source=Source(paper=INDICATORS, equation="section 3.1, range over groups"),
    unit="share difference",
    order=380,
    compared="contributions",
)
def harmful_association_gap(
    evidence: LabelMatches,
    *,
    by: By,
    threshold: float = 0.1,
    unknown: str = "keep",
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Largest minus smallest rate of a group in ``harmful_association_rate``; in [0, 1], fair at 0.

    Arguments and the rest as in ``label_association_gap``.

    Source: ours, after Goyal et al. 2022, section 3.1.
    """
    options = (by, threshold, unknown, mode, inference)
    return gap_finding(
        BoundAssociation.make("harmful_association_gap", evidence, HARMFUL, *options, seed=seed)
    )


@dataclass(frozen=True, eq=False)
class BoundAssociation(GroupQuestion):
    """One association at one threshold under one grouping."""

    bound: BoundMatches
    association: str
    threshold: float

    @classmethod
    def make(
        cls, name: str, evidence: LabelMatches, association: str, by: By, threshold: float, unknown: str,
        mode: str, inference: str, *, seed: int,
    ) -> BoundAssociation:  # fmt: skip
        """Check what is asked for.

        Raises:
            UserError: An unknown attribute, association or option.
        """
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
    def hits(self) -> Floats:
        """How many of each group, shape (groups,)."""
        return np.bincount(self.bound.group, self.hit, len(self.bound.groups)).astype(np.float64)

    @cached_property
    def rates(self) -> Floats:
        """Rate of each group as it is printed, shape (groups,)."""
        if self.mode == "paper":
            return np.array([_percent(*one) / 100 for one in zip(self.hits, self.bound.sizes, strict=True)])
        return np.asarray(self.hits / self.bound.sizes)

    @cached_property
    def grouped(self) -> Rates:
        """Rates of all groups, with their limits."""
        return group_rates(self.hit, self.bound.group, len(self.bound.groups), self.bound.cluster)

    @cached_property
    def compared(self) -> UnitRows:
        """The rows of the groups that are compared."""
        bound = self.bound
        inside = bound.known[bound.group]
        codes = (np.cumsum(bound.known) - 1)[bound.group[inside]]
        cluster = None if bound.cluster is None else bound.cluster[inside]
        return UnitRows(self.hit[inside], codes, int(bound.known.sum()), cluster)

    @cached_property
    def exchanged(self) -> ExchangedRates:
        """The known groups, exchanged at random; a rate and its gap are of the same draws."""
        purpose = ("+".join(self.bound.by), self.association, self.threshold, self.unknown, "exchange")

        def draw() -> ExchangedRates:
            return exchange(self.compared, stream(self.seed, "label_association", *purpose))

        return kept(self.bound.memo, (self.association, self.threshold, self.seed), draw)

    @property
    def exchanged_how(self) -> str:
        """What the null draws."""
        return f"groups exchanged by {self.units}"

    @property
    def method(self) -> str:
        """How intervals of rates are made."""
        if self.bound.cluster is None:
            return "Wilson score"
        return f"Wilson score, effective size by {np.unique(self.bound.cluster).size} values of {self.units}"

    @property
    def units(self) -> str:
        """What is exchanged."""
        return "rows" if self.bound.cluster is None else str(self.bound.matches.cluster)

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with coverage and what the binding and the definition say filled in."""
        matches = self.bound.matches
        params: dict[str, Any] = {
            **({} if self.name.startswith(HARMFUL) else {"association": self.association}),
            "threshold": self.threshold,
            **({"top": matches.top} if matches.top != 5 else {}),
        }
        details = {"coverage": float(self.coverage.mean()) if self.bound.n else None}
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

    def parts(self) -> list[Part]:
        """The rate of each group, and how it stands to that of the others."""
        bound = self.bound
        covered = np.bincount(bound.group, self.coverage, minlength=len(bound.groups))
        tested = self.infers and self.reason is None and bound.known.sum() > 1 and not self.compared.fixed
        p_values = self.exchanged.p_each() if tested else np.zeros(0)
        place = np.cumsum(bound.known) - 1  # among the known groups

        def fields(code: int) -> dict[str, Any]:
            details: Details = {"coverage": float(covered[code] / bound.sizes[code])}
            if self.reason is not None:
                return {"reason": self.reason, "value": None, "details": details}
            value = float(self.rates[code])
            if self.mode == "paper":
                details["percent"] = _percent(self.hits[code], int(bound.sizes[code]))
            more = self.interval_of(code, value) if self.infers else {}
            if tested and bound.known[code]:
                draws = self.exchanged.rates[:, place[code]]
                more["null"] = null_band(draws, level=LEVEL, method=self.exchanged_how, seed=self.seed)
                more["p_value"] = float(p_values[place[code]])
            return {"value": value, "details": details, **more}

        return bound.parts(fields)


def rate_finding(asked: BoundAssociation) -> Finding:
    """The rate of one association, with a part for each group."""
    if asked.reason is not None:
        return asked.finding(None, reason=asked.reason, parts=asked.parts())
    count, n = float(asked.hit.sum()), asked.bound.n
    value, fields = count / n, dict[str, Any](parts=asked.parts())
    if asked.mode == "paper":
        percent = _percent(count, n)
        value, fields["details"] = percent / 100, {"percent": percent}
    if not asked.infers:
        return asked.finding(value, **fields)
    whole = group_rates(asked.hit, np.zeros_like(asked.bound.group), 1, asked.bound.cluster)
    return asked.rate(value, whole, **fields)


def gap_finding(asked: BoundAssociation) -> Finding:
    """Largest minus smallest rate of the known groups."""
    known = np.flatnonzero(asked.bound.known)
    reason = asked.reason or ("single_group" if known.size < 2 else None)
    if reason is not None:
        return asked.finding(None, reason=reason)
    rates = asked.rates[known]
    value = float(rates.max() - rates.min())
    fields: dict[str, Any] = {"details": asked.extremes(rates, "rate")}
    fields["notes"] = asked.not_compared() + asked.few(rates)
    if not asked.infers:
        return asked.finding(value, **fields)
    if asked.compared.fixed:
        return asked.finding(value, reason=ONE_CLUSTER, **fields)
    compared, exchanged = asked.grouped.take(known), asked.exchanged

    def limits(level: float) -> tuple[float, float]:
        low, high = range_limits(compared, level, quantile=exchanged.quantile_largest(level))
        return float(low), float(high)

    draws = np.ptp(exchanged.rates, axis=1)
    test = GapTest(exchanged.p_largest(), draws, limits, _GAP)
    return asked.gap(value, test, mde=_detectable(draws, known.size), **fields)


def _detectable(draws: Floats, groups: int) -> float | None:
    """The gap that would be called beyond chance with a power of .8.

    Of two groups the draws are absolute values, which have only ``sqrt(1 - 2/pi)`` of the signed spread.
    """
    spread = draws.std() / (np.sqrt(1 - 2 / np.pi) if groups == 2 else 1.0)
    return number(float(np.quantile(draws, 1 - _ALPHA) + _Z_POWER * spread))


def _percent(count: float, n: int) -> float:
    """As the released code rounds."""
    return round(100 * float(count) / n, 3)
