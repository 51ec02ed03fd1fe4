"""Which pronoun a model attaches to a person: right, of the other gender, or neutral; and for whom."""

from __future__ import annotations

import inspect

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import ParameterError
from evenhand.core.metric import metric, of_family
from evenhand.metrics.catalogue import SHARE, SIGNED, VISOGENDER
from evenhand.metrics.choices.estimation import Rule, choice_finding
from evenhand.metrics.choices.rows import GAP, MEAN


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


_METRICS = {
    metric.card.name: metric
    for metric in (
        resolution_accuracy, resolution_gap, misgendering_rate, misgendering_gap, neutral_rate, neutral_gap,
    )
}  # fmt: skip


def rule_of(name: str) -> Rule:
    """Outcome and weights of a metric of choices.

    Raises:
        ParameterError: Not a metric of choices.
    """
    if name not in _METRICS:
        possible = ", ".join(map(repr, _METRICS))
        raise ParameterError(f"metric={name!r} is not possible; choose one of {possible}")
    rule: Rule = inspect.unwrap(_METRICS[name])()  # the function as it stands above
    return rule
