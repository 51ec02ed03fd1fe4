"""How well a model recognises what households of different income and region own."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Finding
from evenhand.core.metric import metric
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.metrics.catalogue import DE_VRIES, INDICATORS, SHARE, SIGNED
from evenhand.metrics.estimates import By, Inference, Mode, Weighting
from evenhand.metrics.labels.households.comparison import income_finding, matched, relative_finding
from evenhand.metrics.labels.households.estimation import HitRates, gap_finding, rate_finding, worst_finding


@metric(
    title="Recognised at home",
    summary="share of images of a household of which a first label says what they show, mean over households",
    formula="mean over households of recognised images / images", **SHARE, direction="higher is better",
    source=Source(paper=INDICATORS, equation="section 3.2; Figure 5"), order=410,
    family="households",
    sentences=Sentences(row="hit rate", hits="have their thing named"),
    compared="contributions",
    tags=("outcome", "performance",),
)  # fmt: skip
def household_hit_rate(
    evidence: HouseholdHits,
    *,
    by: By = (),
    weighting: Weighting = "household",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over households of the share of a household's images that are recognised; in [0, 1].

    An image counts where one of the first ``top`` predictions (five, as in the paper) names a concept it
    shows, with a confidence above the threshold of the evidence. Each household counts once, however many
    images it has.

    Args:
        evidence: HouseholdHits.
        by: Attribute, or list of attributes to cross, for parts: ``income_bucket``, ``region``, ``country``,
            ``concept`` or any other.
        weighting: ``household``, or ``image``: each image counts once, as in De Vries et al. 2019. Intervals
            go by household in both.
        mode: ``default`` counts an image once, hit where any of its concepts is. ``paper`` is the released
            code: each pair of an image and a concept counts, and a household with two incomes twice.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the exchanges.

    Returns:
        A Finding; n counts images (pairs in paper mode), and details have ``households`` and ``coverage``
        (share with any prediction at least as sure as the threshold), for each part too; a part's
        ``n_hits`` counts images that are hit, each once. Interval: Wilson's
        with the effective size of the variance between households and the quantile of t (Korn and Graubard
        1998); None of one household (``one_cluster``). The null and p of a part: households exchanged between
        groups as a whole, those of several groups inside, by how many standard errors the group is from the
        rest, without what concepts make of hits; corrected by Holm. No null where households lie in several
        of more than 30 groups. By ``concept`` an image counts in each of its concepts, and once in the whole.
        Undefined, with the reason ``empty`` or ``not in the label space``, where no image is left.

    Raises:
        InputError: Evidence of another kind.
        UnknownName: An attribute that does not exist.
        ParameterError: No such weighting.

    Source: Goyal et al. 2022, section 3.2 (indicator 2).
    """
    question = HitRates.make("household_hit_rate", evidence, by, weighting, mode, inference, seed)
    return rate_finding(question)


@metric(
    title="Recognised at home, gap",
    summary="rate of high-income minus low-income households, or of the best group minus the worst",
    formula="rate of high - rate of low income; else max - min over groups of the rate", **SIGNED,

    source=Source(paper=INDICATORS, equation="section 3.2; gaps by income and region"),
    order=420,
    family="households",
    sentences=Sentences(row="  gap", more="have their things named more often",
        hits="have their thing named"),
    first_line="rates", parts_of="household_hit_rate",
    compared="contributions", parts_direction="higher is better",
    tags=("group gap",),
)  # fmt: skip
def household_hit_gap(
    evidence: HouseholdHits,
    *,
    by: By = "income_bucket",
    groups: Sequence[str | Sequence[str]] | str | None = None,
    weighting: Weighting = "household",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """How far the hit rates of two groups are apart; fair at 0.

    By ``income_bucket`` it is high minus low income, in [-1, 1]: above 0 the rich are recognised better;
    without households of one of them, the richest minus the poorest that are there, which a note says.
    By anything else it is the best minus the worst group, in [0, 1], which a fair model does not bring to 0
    on finite data: read the null band.

    Args:
        evidence: HouseholdHits.
        by: Attribute, or list of attributes to cross.
        groups: Two groups, of which the second is taken from the first, or ``extremes`` (best minus worst).
        weighting: As in ``household_hit_rate``, and so are all further arguments.
        mode: ``default`` or ``paper``.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the draws.

    Returns:
        A Finding with a part for each group. Groups own different things, and models know some better: the
        gap is compared with ``chance_at``, the gap that their concepts alone lead to expect (each image the
        mean hit rate of its concepts; ``gap_by_concept`` in the details). Interval: of the gap itself, MOVER
        of Wilson intervals by household, of the extremes the largest of all pairs at once; it does not
        exclude ``chance_at`` where the test does not. Null and p: households exchanged between groups, of
        hits less the mean of their concepts, in standard errors (max-t). ``mde`` is the gap that would be
        found with 80 % power, None where it would be above 1. Undefined with one group (``single_group``);
        no interval and p where each group is one household (``one_cluster``).

    Raises:
        InputError: No grouping, or evidence of another kind.
        UnknownName: An attribute or a group that does not occur.
        ParameterError: Not two groups.

    Source: Goyal et al. 2022, section 5 (gaps by income and region); the interval is ours.
    """
    question = HitRates.make("household_hit_gap", evidence, by, weighting, mode, inference, seed)
    return gap_finding(question, groups)


@metric(
    title="Recognised at home, worst group",
    summary="the rate of the group of households that is recognised least",
    formula="min over groups of the rate", **SHARE, direction="higher is better",
    source=Source(paper=INDICATORS, equation="section 3.2, least of the groups"), order=430,
    family="households", headline=False,
    compared="contributions",
    tags=("worst group",),
)  # fmt: skip
def worst_household_hit_rate(
    evidence: HouseholdHits,
    *,
    by: By = "income_bucket",
    weighting: Weighting = "household",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """The hit rate of the group that is recognised least; in [0, 1]. Details name it.

    Args:
        evidence: HouseholdHits.
        by: Attribute, or list of attributes to cross.
        weighting: As in ``household_hit_rate``, and so are all further arguments.
        mode: ``default`` or ``paper``.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the draws.

    Returns:
        A Finding with a part for each group. Interval: the smallest of the groups' limits by home,
        simultaneous (Sidak). Null: the worst group where households are exchanged, within concepts; p is
        one-sided; there is no verdict. Undefined with one group (``single_group``).

    Raises:
        InputError: No grouping, or evidence of another kind.
        UnknownName: An attribute that does not exist.

    Source: ours, after Goyal et al. 2022, section 3.2.
    """
    options = (by, weighting, mode, inference, seed)
    return worst_finding(HitRates.make("worst_household_hit_rate", evidence, *options))


@metric(
    title="Recognised at home, against another model",
    summary="how much more is recognised than by the reference model, as a share of what that one recognises",
    formula="(rate - rate of the reference) / rate of the reference", range=(-1, None),
    direction="descriptive", fair_at=0.0,
    source=Source(paper=INDICATORS, equation="Figure 5; (rate - reference) / reference"), unit="ratio",
    order=440, family="households",
    sentences=Sentences(row="  better than reference"), of=household_hit_rate.card, p_is_about="models",
)  # fmt: skip
def household_hit_improvement(
    evidence: HouseholdHits,
    *,
    reference: HouseholdHits,
    by: By = (),
    weighting: Weighting = "household",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """``(hit rate - reference) / reference``: how much better a model is than another on the same images.

    Both are judged on the images that both have, and whose groups both know or neither; the others are
    counted as dropped.

    Args:
        evidence: HouseholdHits.
        reference: HouseholdHits of the model to compare with, with the same groups.
        by: Attribute, or list of attributes to cross, for parts: who gains from the other model?
        weighting: As in ``household_hit_rate``, and so are all further arguments.
        mode: ``default`` or ``paper``.
        inference: ``none`` skips intervals, null bands and p.
        seed: Of the flips.

    Returns:
        A Finding; -1 is nothing left, 0 no change, 1 twice as many. Details: both rates. Interval: of the
        logarithm of the ratio, paired by household. Null and p: the two models exchanged in each household at
        random; no null where that may leave the reference nothing. Undefined (``undefined``) where the
        reference recognises nothing.

    Raises:
        InputError: Evidence of another kind, nothing in common, or an image in other groups in the reference.
        UnknownName: An attribute that does not exist.

    Source: Goyal et al. 2022, Figure 5; the definition is ours, since the paper gives none.
    """
    first, second = matched(evidence, reference, by)
    options = (by, weighting, mode, inference, seed)
    questions = [HitRates.make("household_hit_improvement", hits, *options) for hits in (first, second)]
    return relative_finding(*questions)


@metric(
    title="Recognition and income of countries",
    summary="correlation of a country’s hit rate with the mean income of its households; 0: unrelated",
    formula="correlation over countries of hit rate and mean income", range=(-1, 1), direction="descriptive",
    fair_at=0.0, source=Source(paper=DE_VRIES, equation="Figure 1"), unit="correlation", order=450,
    family="households",
    sentences=Sentences(row="countries, {method}"),
    why_not_compared="it is made of means of countries",
)  # fmt: skip
def country_income_correlation(
    evidence: HouseholdHits,
    *,
    method: str = "pearson",
    scale: str = "log",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """How the hit rate of a country goes with the mean income of its households; in [-1, 1], fair at 0.

    The older indicator: each image counts once, and each country once, however few images it has.
    ``country_hit_rates`` of ``metrics.labels.households.tables`` has the points.

    Args:
        evidence: HouseholdHits with ``country`` and ``income``.
        method: ``pearson``, or ``spearman`` (ranks, which ``scale`` does not change).
        scale: ``log`` or ``linear`` income.
        mode: ``paper`` counts pairs of an image and a concept.
        inference: ``none`` skips the interval and p.
        seed: Of the orders that are drawn.

    Returns:
        A Finding; details have the number of ``countries``. Interval by Fisher's transformation, its error
        by the jackknife over countries; none where all lie on one line. p: the studentised correlation over
        all orders of up to nine countries (three in one line: 1/3), else 9,999 (DiCiccio and Romano 2017),
        because rates of countries with few images are noisier. Undefined (``undefined``) below three
        countries, or where all are alike.

    Raises:
        InputError: Evidence of another kind.
        UnknownName: There is no ``country`` or ``income``.
        ParameterError: No such method or scale.

    Source: De Vries et al., Does object recognition work for everyone?, 2019, Figure 1.
    """
    name = "country_income_correlation"
    question = HitRates.make(name, evidence, "country", "image", mode, inference, seed)
    return income_finding(question, method, scale)
