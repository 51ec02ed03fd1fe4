"""Which pronoun a model attaches to a person: right, of the other gender, or neutral; and for whom."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
import polars as pl

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import ParameterError
from evenhand.core.findings import Finding, Part, key_of
from evenhand.core.metric import metric, of_family
from evenhand.core.random_streams import stream
from evenhand.evidence.choices import Choices
from evenhand.evidence.predictions.columns.annotated import Where
from evenhand.metrics.catalogue import SHARE, SIGNED, VISOGENDER
from evenhand.metrics.choices.rows import GAP, MEAN, BoundChoices, OutcomeRates, PermutedGenders, Weight
from evenhand.metrics.estimates import (
    LEVEL,
    Z_LEVEL,
    Z_POWER,
    By,
    Fields,
    Inference,
    Mode,
    at_levels,
    check_common,
    few_decide,
    get_or_make,
    interval_and_p,
    null_band,
    number,
    part,
    wilson_method,
)
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.stats.arrays import Pair, pair_of
from evenhand.stats.rates.rates import mean_limits, pair_limits, rate_limits

CONTEXT = "context"
"""Attribute over whose values paper mode takes the mean of accuracies."""
_ROUNDING = 1e-9
_GENDERS = ((1.0, 0.0), (0.0, 1.0))

Rule = tuple[str, Weight]
"""An outcome, and the weights of the rates of the two genders."""


def choice_finding(
    rule: Callable[[], Rule],
    evidence: Choices,
    *,
    by: By = (),
    where: Where | None = None,
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """One of the metrics of choices, which has the name of its rule."""
    check_common(mode, inference, seed)
    name, (outcome, weight) = rule.__name__, rule()
    bound = BoundChoices.of(evidence, by, where, mode)
    total = OutcomePart(bound, bound.rows(outcome), outcome, weight, seed, inference == "auto")
    value, notes = (total.value, []) if mode == "default" else _paper_value(total)
    fields: Fields = {"parts": _parts(total), "notes": notes}
    if weight != GAP:
        fields["details"] = {"guessing": sum(bound.choices.chance(outcome)) / 2}
    if value is None:
        fields["reason"] = total.rows.reason or "undefined"
    elif total.infers and not notes:
        sizes = zip(bound.choices.genders, total.rows.units.tolist(), strict=True)
        fields |= {"notes": few_decide(sizes, bound.units(total.rows)), **total.inference()}
    return bound.finding(name, bound.params, value=value, **fields)


@metric(
    title="Right pronoun",
    summary="how often the pronoun of the perceived gender scores highest, mean over the two genders",
    formula="mean over genders g of P(right pronoun | g)", **SHARE, direction="higher is better",
    source=Source(paper=VISOGENDER, equation="section 3.5; Table 2"), order=190,
    family="pronouns",
    sentences=Sentences(row="right pronoun", topic="Accuracy", hits="get the right pronoun",
        value="The right pronoun is chosen for a share of"),
    compared="contributions", p_is_about="guessing",
    tags=("outcome", "performance",),
)  # fmt: skip
@of_family(choice_finding)
def resolution_accuracy() -> Rule:
    """How often the right candidate is chosen, mean over the two genders (RA_avg); in [0, 1], higher better.

    Parts are the genders' own accuracies (RA_g); under a grouping also each group's mean, and each group's
    genders. With ``their`` among the candidates a neutral choice counts as not right: read ``neutral_rate``
    and ``misgendering_rate`` beside it; over the same choices the three (and other outcomes) add up to 1.

    Interval: MOVER of Wilson's intervals, their n what the variation between clusters leaves of it, t of
    Kish's effective number of clusters (Korn and Graubard 1998). ``chance_at``: what the same choices give
    if they are made without regard to the person, ``sum over strata of (share of a choice) x (share of a
    truth)``; ``guessing`` in the details is a candidate drawn at random. Null and p: truths exchanged
    against the choices within the strata, inside clusters that hold both genders, whole clusters otherwise,
    studentised; p is also at least that at which the interval holds ``chance_at``. None with reason
    ``single_group`` where one gender has no sample; no interval and p with reason ``one_cluster`` where
    there is one cluster. Grouped by the attribute of the clusters, each group's samples are its units.

    Args:
        evidence: Choices.
        by: Attribute, or list of attributes to cross, for parts.
        where: Only samples with these values: ``{"context": "single"}``; a list holds alternatives.
        mode: ``paper`` takes the first of tied candidates, rounds each gender's rate and then their mean, and
            over several contexts takes the mean of the contexts.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the exchanges.

    Raises:
        UnknownName: An attribute or value that does not exist.

    Source: Hall et al. 2023, section 3.5 and Table 2.
    """
    return "correct", MEAN


@metric(
    title="Right pronoun, masculine minus feminine",
    summary="accuracy for masculine minus accuracy for feminine subjects; where a neutral pronoun is "
        "offered it mixes misgendering with neutral choices, so the two gaps below are read with it",
    formula="P(right pronoun | first gender) - P(right pronoun | second gender)", **SIGNED,
    source=Source(paper=VISOGENDER, equation="section 3.5; Table 2"),
    order=200, family="pronouns",
    sentences=Sentences(row="right, masc. - fem.", topic="Accuracy",
        more="get the right pronoun more often",
        value="Accuracy for masculine minus feminine subjects"), compared="contributions",
    tags=("group gap",), first_line="rates", parts_of="resolution_accuracy",
)  # fmt: skip
@of_family(choice_finding)
def resolution_gap() -> Rule:
    """Accuracy for the first gender minus that for the second; in [-1, 1], fair at 0.

    Positive: masculine subjects are resolved better. With ``their`` among the candidates the gap mixes
    misgendering with neutral choices: ``misgendering_gap`` and ``neutral_gap`` are its two halves, negated.

    Interval as in ``resolution_accuracy``, with the correlation of two rates that share clusters. Null and p:
    genders exchanged within the strata, outcomes kept, as there; p is also at least that at which the
    interval holds the reference. ``chance_at``: the mean of the exchanges, where strata of unlike difficulty
    show genders unequally; else 0. ``mde`` is the gap that would be found with 80 % power. Parts under a
    grouping are corrected by Holm. Arguments as in ``resolution_accuracy``; paper mode has no gap over
    several contexts.

    Source: Hall et al. 2023, section 3.5 and Table 2.
    """
    return "correct", GAP


@metric(
    title="Misgendered",
    summary="how often the pronoun of the other gender scores highest, mean over the two genders",
    formula="mean over genders g of P(pronoun of the other gender | g)", **SHARE,
    direction="lower is fairer", source="misgendering apart from neutral choices",
    order=210, family="pronouns",
    sentences=Sentences(row="misgendered", topic="Misgendering", hits="are misgendered",
        value="The pronoun of the other gender is chosen for a share of"),
    compared="contributions", p_is_about="guessing",
)  # fmt: skip
@of_family(choice_finding)
def misgendering_rate() -> Rule:
    """How often the other gender's candidate is chosen, mean over the two genders; in [0, 1].

    A neutral choice is not misgendering. Parts, interval, null, p and arguments as in
    ``resolution_accuracy``.

    Source: ours; the paper counts neutral and misgendering choices together as errors.
    """
    return "misgendered", MEAN


@metric(
    title="Misgendered, masculine minus feminine",
    summary="misgendering of masculine minus that of feminine subjects",
    formula="P(misgendered | first gender) - P(misgendered | second gender)", **SIGNED,
    source="misgendering apart from neutral choices",
    order=220, family="pronouns",
    sentences=Sentences(row="misgendered, masc. - fem.", topic="Misgendering",
        more="are misgendered more often",
        value="Misgendering of masculine minus feminine subjects"), compared="contributions",
    tags=("group gap",), first_line="rates", parts_of="misgendering_rate",
)  # fmt: skip
@of_family(choice_finding)
def misgendering_gap() -> Rule:
    """Misgendering rate of the first gender minus that of the second; in [-1, 1], fair at 0.

    Positive: masculine subjects are misgendered more often. Interval, null, p and arguments as in
    ``resolution_gap``.

    Source: ours, after Hall et al. 2023, Table 4.
    """
    return "misgendered", GAP


@metric(
    title="Neutral pronoun",
    summary="how often a neutral pronoun (their) scores highest, mean over the two genders; no mistake in "
        "itself", formula="mean over genders g of P(neutral pronoun | g)", **SHARE,
    direction="descriptive", source=Source(paper=VISOGENDER, equation="Appendix D.1; Table 4"),
    order=230, family="pronouns",
    sentences=Sentences(row="neutral pronoun", topic="The share of neutral pronouns",
        hits="get a neutral pronoun",
        value="A neutral pronoun is chosen for a share of"), compared="contributions", p_is_about="guessing",
)  # fmt: skip
@of_family(choice_finding)
def neutral_rate() -> Rule:
    """How often a neutral candidate is chosen (R_neutral), mean over the two genders; in [0, 1].

    0 where no candidate is neutral. It is the same whoever is seen, so that there is no null and no p.
    Parts, interval and arguments as in ``resolution_accuracy``.

    Source: Hall et al. 2023, Appendix D.1 and Table 4.
    """
    return "neutral", MEAN


@metric(
    title="Neutral pronoun, masculine minus feminine",
    summary="neutral pronouns for masculine minus those for feminine subjects",
    formula="P(neutral pronoun | first gender) - P(neutral pronoun | second gender)", **SIGNED,
    source=Source(paper=VISOGENDER, equation="Appendix D.1; Table 4"),
    order=240, family="pronouns",
    sentences=Sentences(row="neutral, masc. - fem.", topic="The share of neutral pronouns",
        more="get the neutral pronoun more often",
        value="Neutral pronouns for masculine minus feminine subjects"), compared="contributions",
    tags=("group gap",), first_line="rates", parts_of="neutral_rate",
)  # fmt: skip
@of_family(choice_finding)
def neutral_gap() -> Rule:
    """Neutral rate of the first gender minus that of the second (Delta_N); in [-1, 1], fair at 0.

    Positive: masculine subjects get the neutral pronoun more often. Interval, null, p and arguments as in
    ``resolution_gap``.

    Source: Hall et al. 2023, Appendix D.1 and Table 4.
    """
    return "neutral", GAP


@dataclass(frozen=True, eq=False)
class OutcomePart:
    """One mean or gap of an outcome: of all samples, or of a group."""

    bound: BoundChoices
    rows: OutcomeRates
    outcome: str
    weight: Weight
    seed: int
    infers: bool  # whether intervals, null bands and p are wanted
    group: tuple[str, ...] = ()  # its values; empty for all samples

    @property
    def value(self) -> float | None:
        """The mean or the gap; in paper mode of rates that are rounded, rounded again (half to even)."""
        if self.bound.mode == "default":
            return self.rows.value(self.weight)
        return number(np.round((np.array(self.weight) * np.round(self.rows.shares, 2)).sum(), 2))

    def inference(self) -> Fields:
        """Interval, null band, p and, for gaps, the minimum detectable one."""
        if self.rows.is_one_unit:
            return {"reason": ONE_CLUSTER}
        exchange, method = self.exchanged(self.weight), f"MOVER of {self._wilson()} of both genders"
        if exchange is None:
            return interval_and_p(self._limits, None, 0.0, method)
        # of a gap, chance stands at 0 where genders are balanced
        at = None if self.weight == GAP and abs(exchange.expected) < _ROUNDING else exchange.expected
        fields = interval_and_p(self._limits, exchange.p_value, at or 0.0, method)
        fields |= self._chance(exchange) | {"chance_at": at}
        if self.weight == GAP:
            sd, interval = float(exchange.values.std()), fields["limits"](LEVEL)
            error = (interval.high - interval.low) / (2 * Z_LEVEL)
            fields["mde"] = number(Z_LEVEL * sd + Z_POWER * max(sd, error))
        return fields

    def exchanged(self, weight: Pair) -> PermutedGenders | None:
        """Genders exchanged; None for what no exchange says anything of."""
        if self.outcome == "neutral" and weight != GAP:
            return None  # a neutral choice is one for whoever is seen
        rng = stream(self.seed, "choices", str(self.bound.params), "+".join(self.bound.by), *self.group,
                     self.outcome, str(weight))  # fmt: skip
        return self.rows.exchanged(weight, rng)

    def _chance(self, exchange: PermutedGenders) -> Fields:
        """The mean and the central part of what the exchange gives."""
        strata = self.bound.choices.strata
        method = "genders exchanged" if self.weight == GAP else "truths exchanged against the same choices"
        method += f" within {'+'.join(strata)}" if strata else ""
        mean = exchange.expected
        band = null_band(exchange.values, method=method, seed=self.seed, mean=mean)
        return {"chance_at": mean, "null": band}

    def _limits(self, level: float) -> Pair:
        if self.weight == GAP:
            return pair_limits(self.rows.rates, level)
        return pair_of(mean_limits(self.rows.rates, np.array(self.weight), level), 0.0, 1.0)

    def genders(self) -> list[Part]:
        """Each gender's rate; of a group only those that it has."""
        bound, rows, paper = self.bound, self.rows, self.bound.mode == "paper"
        kind = "*".join([*(bound.by if self.group else ()), "gender"])
        parts = []
        for which, (gender, n) in enumerate(zip(bound.choices.genders, rows.sizes.tolist(), strict=True)):
            more: Fields = {} if n else {"reason": "empty"}
            if n and self.infers and not paper:
                more = self._gender(which)
            if n or not self.group:
                share = number(np.round(rows.shares[which], 2) if paper else rows.shares[which])
                parts.append(part(kind, key_of((*self.group, gender)), share, n=n, **more))
        return parts

    def _gender(self, which: int) -> Fields:
        """Wilson's interval of one gender's rate, unless it is one unit; of all samples also its chance."""
        fields: Fields = {"reason": ONE_CLUSTER}
        if self.rows.rates.size[which]:
            limits = partial(rate_limits, self.rows.rates, code=which)
            fields = {"limits": at_levels(limits, self._wilson())}
        if self.group or not self.rows.sizes.all():
            return fields
        key = (self.outcome, which, self.seed)  # drawn once for the mean and the gap of an outcome
        exchange = get_or_make(self.bound.memo, key, self.exchanged, _GENDERS[which])
        return fields if exchange is None else fields | self._chance(exchange)

    def _wilson(self) -> str:
        return wilson_method(self.rows.cluster, self.bound.units(self.rows))


def _parts(total: OutcomePart) -> list[Part]:
    """Each gender; then, under a grouping, each group and each group's genders."""
    bound, rows = total.bound, total.rows
    pieces = [
        replace(total, rows=bound.piece(rows, code), group=group)
        for code, group in enumerate(bound.groups if bound.by else ())
    ]

    def fields(code: int) -> Fields:
        piece = pieces[code]
        shares = dict(zip(bound.choices.genders, map(number, piece.rows.shares), strict=True))
        more = {"value": piece.value, "reason": piece.rows.reason, "details": shares}
        tested = piece.infers and bound.mode == "default" and piece.rows.reason is None
        return more | (piece.inference() if tested else {})

    return [*total.genders(), *bound.parts(fields), *chain.from_iterable(map(OutcomePart.genders, pieces))]


def _paper_value(total: OutcomePart) -> tuple[float | None, list[str]]:
    """As the released code rounds; over several contexts the mean of their means, and no gap."""
    bound, levels = total.bound, list[str]()
    if CONTEXT in bound.choices.attributes:
        context = bound.choices.table[CONTEXT].cast(pl.String).fill_null("").to_numpy()[bound.chosen]
        levels = sorted(set(context.tolist()))
    if len(levels) < 2:
        return total.value, []
    if total.weight == GAP:
        return None, ["the paper has no gap over several contexts; select one with where"]
    means = [replace(total, rows=total.rows.take(context == level)).value for level in levels]
    note = f"the mean over {' and '.join(levels)}, whatever their sizes; no interval is made for it"
    return number(np.round(np.mean(np.array(means, dtype=np.float64)), 2)), [note]


_METRICS = {
    metric.card.name: metric
    for metric in (
        resolution_accuracy, resolution_gap, misgendering_rate, misgendering_gap, neutral_rate, neutral_gap,
    )
}  # fmt: skip


def rule_of(name: str) -> Rule:
    """Outcome and weights of a metric of choices."""
    if name not in _METRICS:
        possible = ", ".join(map(repr, _METRICS))
        raise ParameterError(f"metric={name!r} is not possible; choose one of {possible}")
    rule: Rule = inspect.unwrap(_METRICS[name])()  # the function as it stands above
    return rule
