"""Is one set of targets tied more to unpleasant attributes than another? WEAT and its kin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import ParameterError
from evenhand.core.findings import Finding, NewDetails, Part
from evenhand.core.metric import metric
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.estimation import (
    MOST_PARTS,
    SetComparison,
    differences_without,
    effects_without,
    left_out,
)
from evenhand.metrics.association.similarities import (
    SingleSet,
    crossed_fields,
    partition_null,
)
from evenhand.metrics.catalogue import CALISKAN, MMBIAS
from evenhand.metrics.estimates import Alternative, Fields, Inference, Levels, Mode, at_levels, number, part
from evenhand.stats.arrays import Floats, Pair
from evenhand.stats.association.effect_size import (
    associations,
    auc,
    effect_bound,
    effect_size,
    single_category,
)
from evenhand.stats.association.two_way import Sizes, reduction_interval, single_set
from evenhand.stats.paired.differences import Paired

_WHEN = ("before", "after")


@metric(
    title="Association, effect size d",
    summary="how much more the first group is tied to the first attributes (unpleasant) than the second is, "
        "in standard deviations over both; it cannot leave about ±2, so the difference is read with it",
    formula="(mean_X phi - mean_Y phi) / std(phi of X and Y)", range=(None, None), direction="descriptive",
    fair_at=0.0, source=Source(paper=MMBIAS, equation="eq. 1; Table 2"), unit="SDs", order=320,
    family="associations",
    sentences=Sentences(value="effect size d", more="are tied more to"),
    first_line="pairs", parts_of="single_category_association",
    compared="contributions",
    tags=("group gap", "where it differs",),
)  # fmt: skip
def association_effect_size(
    evidence: Similarities,
    *,
    targets: Sequence[str],
    attributes: Sequence[str],
    ddof: int = 1,
    alternative: Alternative = "two_sided",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """``d = (mean_X phi - mean_Y phi) / std(phi of X and Y)``: is X tied more to A than Y is? Fair at 0.

    ``phi`` of a target is its mean similarity with A minus that with B. With A unpleasant and B pleasant, a
    positive d ties X more to what is unpleasant. d cannot leave ``bound`` (in the details), which is near 2
    for sets of equal size and larger for others; near it d no longer tells how far the sets are apart: read
    ``cohens_d``, ``auc`` and ``difference`` beside it.

    Args:
        evidence: Similarities.
        targets: Names of the sets X and Y.
        attributes: Names of the sets A and B.
        ddof: 1 as in SEAT and iEAT, 0 as in WEFE.
        alternative: Of the test: ``two_sided``, ``greater`` (X tied more to A) or ``less``.
        mode: ``paper``: p is that of the right tail over targets, attributes as they are, as in the code of
            iEAT, and sets of one item count.
        inference: ``none`` skips interval, null and p.
        seed: Of permutations too many to list.

    Returns:
        A Finding; parts are the mean phi of X and Y. p and interval take targets and attributes as samples:
        the difference over its error is t (Clark 1973), the variance that over targets plus that over
        attributes less their interaction, with Satterthwaite's degrees of freedom; neither with fewer than
        three items of a set. Families of items (``Similarities.families``) are the sample where there are
        some, and are exchanged whole. ``p_items`` in the details exchanges targets, attributes as they are:
        exact up to 20 v 20 items, else from 100,000 random partitions. ``without_low`` and ``without_high``
        are the range of d without one item of any set. None with reason ``empty_set``,
        ``one_member`` (of X or Y) or ``equal_associations``.

    Raises:
        UserError: An unknown set or option.

    Source: Janghorbani and de Melo 2023, equation 1; Caliskan et al. 2017.
    """
    comparison = SetComparison.make(
        "association_effect_size", evidence, targets, attributes, mode=mode, inference=inference, seed=seed,
        alternative=alternative,
    )  # fmt: skip
    check_ddof(ddof)
    reason = undefined(comparison, ddof)
    value = number(effect_size(comparison.x, comparison.y, ddof)) if reason is None else None
    return _compared(comparison, value, reason, "d", ddof)


@metric(
    title="Association, difference",
    summary="the same difference of mean similarities, not divided by their spread",
    formula="mean_X phi - mean_Y phi", range=(None, None), direction="descriptive", fair_at=0.0,
    source=Source(paper=MMBIAS, equation="eq. 1, without its denominator"), unit="similarity", order=330,
    family="associations",
    why_not_compared="each model has a scale of its own; read association_effect_size",
)  # fmt: skip
def association_difference(
    evidence: Similarities,
    *,
    targets: Sequence[str],
    attributes: Sequence[str],
    alternative: Alternative = "two_sided",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """``mean_X phi - mean_Y phi``: the effect size before it is divided by the spread; fair at 0.

    In units of the similarity: a difference of cosines lies in [-4, 4]. It does not saturate, but depends on
    how wide a model spreads its cosines. Arguments, sign, p and errors as in ``association_effect_size``.

    Returns:
        A Finding; None with reason ``empty_set``.

    Source: Janghorbani and de Melo 2023, equation 1 without its denominator.
    """
    comparison = SetComparison.make(
        "association_difference", evidence, targets, attributes, mode=mode, inference=inference, seed=seed,
        alternative=alternative,
    )  # fmt: skip
    value = None if comparison.empty else number(comparison.difference)
    return _compared(comparison, value, "empty_set", "difference", 1)


@metric(
    title="Association of one group",
    summary="how much nearer one group is to the first attributes (unpleasant) than to the second (pleasant)",
    formula="mean over X of phi, the mean similarity with A - that with B", range=(None, None),
    direction="descriptive", fair_at=0.0, source=Source(paper=CALISKAN, equation="WEFAT; SC-WEAT"),
    unit="similarity", order=350, family="associations",
    why_not_compared="it is an effect size over words of a whole set",
)  # fmt: skip
def single_category_association(
    evidence: Similarities,
    *,
    target: str,
    attributes: Sequence[str],
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over one set's items of ``phi``, the mean similarity with A minus that with B; fair at 0.

    It needs no second set of targets. p and interval take items and attributes as samples, as in
    ``association_effect_size``. ``p_attributes`` in the details exchanges attributes between A and B (is this
    set's similarity with them different?); ``p_items`` flips the signs of the items' phi (do they agree?), in
    all ways up to 13 items, else in 9,999.
    ``effect_size`` is the difference over the spread of the set's mean similarity with each attribute.

    Args:
        evidence: Similarities.
        target: Name of the set of targets.
        attributes: Names of the sets A and B.
        mode: ``paper``: p exchanges attributes.
        inference: ``none`` skips interval, null and p.
        seed: Of permutations too many to list.

    Returns:
        A Finding; parts are the items' own effect sizes, the first 2,000 of them. None with reason
        ``empty_set``.

    Raises:
        UserError: An unknown set or option.

    Source: Caliskan et al. 2017 (WEFAT); SC-WEAT.
    """
    bound_set = SingleSet.make(
        "single_category_association", evidence, target, attributes, mode=mode, inference=inference, seed=seed
    )
    if bound_set.empty:
        return bound_set.finding({}, None, "empty_set")
    a, b = np.arange(bound_set.na), np.arange(bound_set.na, len(bound_set.words))
    phi, by_word = associations(bound_set.block, a, b), bound_set.block.mean(axis=0)
    word_means = by_word[a], by_word[b]
    details: NewDetails = {
        "effect_size": effect_size(*word_means), "bound": effect_bound(a.size, b.size),
        "sd": phi.std(ddof=1) if phi.size > 1 else None, "n_a": a.size, "n_b": b.size,
    }  # fmt: skip
    fields: Fields = {}
    if inference == "auto":
        more, fields = _single_inference(bound_set, phi, by_word)
        details |= more
    parts = _item_parts(bound_set, phi, single_category(bound_set.block[:MOST_PARTS], a, b))
    notes = [f"parts are the first {MOST_PARTS} of {phi.size} items"] if phi.size > MOST_PARTS else []
    fields |= {"details": details, "parts": parts, "notes": notes}
    return bound_set.finding({}, number(phi.mean()), None, **fields)


@metric(
    title="Less association, held out",
    summary="|d| before minus |d| after a mitigation, on items that were not used to fit it; above 0: weaker",
    formula="|d before| - |d after|", range=(None, None), direction="higher is fairer",
    source=Source(paper=MMBIAS, equation="Table 3, here on held-out items"), unit="SDs", order=310,
    family="reductions", first_line="reductions",
)  # fmt: skip
def association_reduction(
    evidence: Similarities,
    *,
    after: Similarities,
    targets: Sequence[str],
    attributes: Sequence[str],
    ddof: int = 1,
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """``|d before| - |d after|`` of the same items; d as in ``association_effect_size``.

    Measure it on items that the mitigation was not fitted on: on others it is larger than it will ever be
    again.

    Args:
        evidence: Similarities of the items as the model gave them.
        after: Similarities of the same items in the same places after the mitigation.
        targets: Names of X and Y.
        attributes: Names of A and B.
        ddof: 1 as in SEAT and iEAT, 0 as in WEFE.
        mode: ``default`` or ``paper``; the same here.
        inference: ``auto``, or ``none``: no interval.
        seed: Without effect: nothing is drawn.

    Returns:
        Positive where the association is weaker afterwards, at most |d before|; negative where it is
        stronger. The interval has other targets and other attributes in mind, the same ones before and after.
        ``details`` tell a change of sign, and the share of all pairs of an item of X and one of Y in which
        the first is tied more to A (``auc_before``, ``auc_after``). No value where d is undefined in one.

    Raises:
        UserError: Not Similarities, other items before than after, or an unknown set.
    """
    check_ddof(ddof)
    comparison = SetComparison.make(
        "association_reduction", evidence, targets, attributes, mode=mode, inference=inference, seed=seed
    )
    reason, blocks = undefined(comparison, ddof), [comparison.block, _block_of(after, comparison)]
    n, m, na, nb = comparison.sizes
    d, details = [np.nan, np.nan], NewDetails()
    if reason is None:
        phis = [associations(block, np.arange(na), np.arange(na, na + nb)) for block in blocks]
        d = [effect_size(phi[:n], phi[n:], ddof) for phi in phis]
        details = {"n_x": n, "n_y": m}
        details |= {f"auc_{when}": auc(phi[:n], phi[n:]) for when, phi in zip(_WHEN, phis, strict=True)}
    value = number(abs(d[0]) - abs(d[1]))
    details |= {"before": d[0], "after": d[1]}
    if value is not None:
        details["sign"] = "changed" if d[0] * d[1] < 0 else "kept"

    fields: Fields = {}
    if value is not None and inference == "auto":
        fields["limits"] = _reduction_levels(comparison, blocks, ddof)
    reason = reason or "equal_associations"
    return comparison.finding({"ddof": ddof}, value, reason, details=details, **fields)


def _reduction_levels(comparison: SetComparison, blocks: Sequence[Floats], ddof: int) -> Levels:
    """Intervals of a reduction."""
    n, m, na, nb = comparison.sizes
    sizes, families = Sizes(n, m, na, nb), comparison.families

    def limits(level: float) -> Pair:
        return reduction_interval(blocks[0], blocks[1], sizes, ddof=ddof, level=level, families=families)

    over = " and ".join(comparison.sampled("targets", "attributes"))
    return at_levels(limits, f"t over {over}, of d before and after on the same items")


def _block_of(after: Similarities, comparison: SetComparison) -> Floats:
    """Similarities of the items of a comparison, from others of the same items."""
    names = (comparison.evidence.targets, comparison.evidence.attributes)
    if not isinstance(after, Similarities) or names != (after.targets, after.attributes):
        raise ParameterError(
            "association_reduction compares the same items before and after; give two Similarities of equal "
            "targets and attributes"
        )
    row_of = {name: row for row, name in enumerate(after.targets)}
    column = {name: at for at, name in enumerate(after.attributes)}
    rows = [row_of[name] for name in comparison.items]
    return after.values[np.ix_(rows, [column[name] for name in comparison.words])]


def _compared(
    comparison: SetComparison, value: float | None, reason: str | None, statistic: str, ddof: int
) -> Finding:
    """The finding of ``d`` or ``difference``."""
    details, fields, is_d = comparison.scale_details(ddof), Fields(), statistic == "d"
    if value is not None:
        without = effects_without(comparison, ddof) if is_d else differences_without(comparison)
        details |= comparison.p_details() | left_out(comparison, *without)
        fields = comparison.inferred(statistic, ddof) if comparison.infers else {}
    return comparison.finding({"ddof": ddof if is_d else None}, value, reason, details=details, **fields)


def check_ddof(ddof: int) -> None:
    """Refuse what is neither 0 nor 1."""
    if isinstance(ddof, bool) or ddof not in (0, 1):
        raise ParameterError(f"ddof={ddof!r} is not possible; choose 1 (SEAT, iEAT) or 0 (WEFE)")


def undefined(comparison: SetComparison, ddof: int) -> str | None:
    """Why a comparison has no effect size; None if it has one."""
    if comparison.empty:
        return "empty_set"
    n, m, *_ = comparison.sizes
    if n + m <= ddof or (min(n, m) == 1 and comparison.mode != "paper"):
        return "one_member"
    return None if comparison.spread else "equal_associations"


def _single_inference(bound_set: SingleSet, phi: Floats, by_word: Floats) -> tuple[NewDetails, Fields]:
    """The test over items and attributes, and beside it those over either alone."""
    words = bound_set.word_test(by_word)
    items = Paired.of(bound_set.exchanged_items(phi)[0], bound_set.stream("items"))
    details: NewDetails = {
        "z": words.z, "method": words.method, "p_attributes": words.two_sided,
        "p_items": items.p_value,
    }  # fmt: skip
    estimate = single_set(bound_set.block, bound_set.na, bound_set.families)
    fields = {}
    if estimate is not None:
        over = " and ".join(bound_set.sampled("items", "attributes"))
        fields = crossed_fields(estimate, f"t over {over}", "no association")
    if bound_set.mode == "paper":
        null = partition_null(
            by_word, bound_set.na, 1, np.inf, bound_set.stream("band"), bound_set.seed, "attributes"
        )
        fields |= {"p_value": number(words.two_sided), "null": null}
    return details, fields


def _item_parts(bound_set: SingleSet, phi: Floats, effects: Floats) -> list[Part]:
    return [
        part(
            "item", item, effect, n=len(bound_set.words), details={"association": association},
            reason=None if np.isfinite(effect) else "equal_associations",
        )
        for item, effect, association in zip(bound_set.items, effects.tolist(), phi.tolist(), strict=False)
    ]  # fmt: skip
