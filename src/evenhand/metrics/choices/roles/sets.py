"""Sets of samples that differ in who is shown only: whose answers differ, in which direction, and how far.

Sets are drawn whole, in units such as scenarios. What chance gives is the exchange of the persons within a
set, the sets of a unit together, since they share images.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Finding
from evenhand.core.metric import metric
from evenhand.evidence.predictions.columns.annotated import Where
from evenhand.evidence.role_choices import TARGET, RoleChoices
from evenhand.metrics.catalogue import SHARE, SIGNED
from evenhand.metrics.choices.roles.bound import BoundRoles, PairedRows, SetMatrix, mean_interval
from evenhand.metrics.estimates import (
    By,
    Fields,
    Inference,
    described,
    names_of,
    no_value,
    null_band,
    resampled_p,
)
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.stats.paired.differences import Deviations
from evenhand.stats.rates.clustered import FEWEST

PAIRS = (
    "Fraser and Kiritchenko, Examining Gender and Racial Bias in Large Vision-Language Models Using a Novel "
    "Dataset of Parallel Images, EACL 2024"
)
UNCHANGED = "of pictures that were only encoded anew, {:.2f} of the answers change: no fewer than within sets"
_DRAWS = 999


@metric(
    title="Difference within sets",
    summary="how much more often an answer is chosen for the first persons than for the second, of sets that "
        "differ in nothing else",
    formula="mean over matched pairs of (share of orders with the outcome | first) - (... | second)",
    **SIGNED,
    source=Source(paper=PAIRS, equation="answers that differ within a scenario"),
    order=900, family="sets", tags=("group gap",), first_line="value",
    sentences=Sentences(row="{first} - {second}, {outcome}", topic="The answer",
        value="The answer for the first minus that for the second persons of a set"),
    compared="contributions",
)  # fmt: skip
def set_difference(
    evidence: RoleChoices,
    *,
    attribute: By,
    first: str,
    second: str,
    outcome: str = TARGET,
    by: By = (),
    where: Where | None = None,
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Share of an outcome for the first persons minus that for the second; in [-1, 1], fair at 0.

    Samples are paired that lie in one set and differ in ``attribute`` alone; an incomplete set counts with
    the pairs it has. An answer that chooses no option counts as another outcome, and is never dropped.

    Interval: adjusted Wald of paired shares, the pairs reduced to what the variation between units leaves of
    them, with t of Kish's effective number of units. Null and p: the two exchanged in all sets of a unit at
    once, exact up to 13 units that differ, else ``(1 + b) / (1 + B)`` with B = 9,999; p is also at least that
    at which the interval holds 0. ``mde`` is the difference that would be found with 80 % power. Below six
    units that differ in one direction no difference is beyond chance. Parts are groups, else the values of
    the other treatments, corrected by Holm. None with reason ``single_group`` where no set has both; without
    interval and p with reason
    ``one_cluster`` where there is one unit.

    Args:
        evidence: Role choices with sets.
        attribute: Treatment that tells the two apart, or several, crossed.
        first: Its value for the first persons; values of several are joined by ``*``.
        second: That for the second.
        outcome: ``target``, ``other``, ``unknown`` or ``unusable``.
        by: Attribute, or list of attributes to cross, for parts.
        where: Only samples with these values: ``{"section": "status"}``.
        inference: ``none`` skips interval, null band and p.
        seed: Of the exchanges.

    Raises:
        UserError: An attribute or value that does not exist, or evidence without sets.

    Source: Fraser and Kiritchenko 2024 (sets of images); Bonett and Price 2012.
    """
    bound = BoundRoles.of(evidence, by, where, inference, seed)
    pairs = PairedRows.of(bound, attribute, first, second, outcome)
    params = {"attribute": "+".join(pairs.attribute), "first": first, "second": second, "outcome": outcome}

    def piece(away: Deviations, *group: str) -> Fields:
        return bound.signed(away, bound.stream("set_difference", *params.values(), *group))

    inner = bound if by else BoundRoles.of(evidence, pairs.others, where)
    within = pairs if by else PairedRows.of(inner, attribute, first, second, outcome)

    def part(code: int) -> Fields:
        return piece(within.take(inner.group[within.left] == code), *inner.groups[code])

    fields = piece(pairs.away) | {"parts": inner.parts(part), **pairs.facts()}
    finding = described(bound, "set_difference", params | bound.params, **fields)
    return finding.with_outcomes(lambda: pairs.outcomes(bound, first, second))


@metric(
    title="Sets whose answers differ",
    summary="share of sets whose members do not all get the same answer; 1 minus it is the consistency",
    formula="mean over sets and orders of 1[the answers of a set are not all alike]", **SHARE,
    direction="lower is fairer", source=Source(paper="counterfactual consistency within sets"),
    order=910, family="sets", first_line="value",
    sentences=Sentences(row="sets that differ", topic="The share of sets whose answers differ",
        value="Not all members get the same answer in a share of sets of"),
    compared="contributions",
)  # fmt: skip
def flip_rate(
    evidence: RoleChoices,
    *,
    by: By = (),
    where: Where | None = None,
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Share of complete sets whose answers are not all alike, mean over orders of the options; in [0, 1].

    An answer that chooses no option is an answer of its own. Incomplete sets are left out and counted.
    Details: ``consistency``, 1 minus the value; ``pair_flips``, the share of two members of a set that answer
    unlike in one order; ``noise_floor``, the share of two orders in which one member answers unlike (None
    with one order); ``noise_reencoded``, the share of answers that change when the same image is encoded
    anew, where that was asked: only ``pair_flips`` above both are due to who is shown. Interval: Wilson's at
    the size that units leave. Null: the answers of each order exchanged among all samples, which is what
    answers at random give; there is no p, since a model that answers by the scenario is rightly far below.
    None with reason ``empty`` without a complete set. Arguments as in ``set_difference``.

    Source: ours, after Fraser and Kiritchenko 2024.
    """
    bound = BoundRoles.of(evidence, by, where, inference, seed)

    def piece(some: BoundRoles, *group: str) -> Fields:
        sets = SetMatrix.of(some, complete=True)
        values = sets.flips
        if not values.size:
            return no_value("empty")
        fields: Fields = {"value": float(values.mean())}
        if not bound.infers:
            return fields
        draws = sets.random_flips(bound.stream("flip_rate", *group), _DRAWS)
        method = "answers exchanged among all samples"
        band = null_band(draws, method=method, seed=seed)
        return fields | mean_interval(values, sets.unit) | {"null": band, "chance_at": band and band.mean}

    fields, sets = bound.with_parts(piece), SetMatrix.of(bound, complete=True)
    details = sets.noise() | bound.reencoded | {"unusable": bound.unusable, "sets": len(sets.codes)}
    if fields["value"] is not None:
        details["consistency"] = 1 - fields["value"]
    flips, noise = details["pair_flips"], bound.reencoded.get("noise_reencoded")
    fields["notes"] = [UNCHANGED.format(noise)] if noise and flips is not None and flips <= noise else []
    fields |= {"details": details, "dropped": [*bound.dropped, *sets.dropped]}
    finding = described(bound, "flip_rate", bound.params, **fields)
    return finding.with_outcomes(lambda: bound.outcomes(sets.member, sets.flips, sample=sets.sets))


@metric(
    title="Distance within sets",
    summary="how far the answers of a set lie apart between values of an attribute, in either direction, "
        "beside members that are exchanged",
    formula="mean over matched pairs of |score(first) - score(second)|", range=(0, 1),
    direction="lower is fairer", source=Source(paper="individual fairness within sets"),
    unit="share difference", order=920, family="sets", first_line="value",
    sentences=Sentences(row="distance by {attribute}", topic="The distance within sets",
        value="Answers of members of a set lie apart by"),
    compared="contributions",
)  # fmt: skip
def set_distance(
    evidence: RoleChoices,
    *,
    attribute: By,
    by: By = (),
    where: Where | None = None,
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Mean distance of the scores of members of a set that differ in ``attribute`` alone; in [0, 1].

    Positive without any bias where answers vary: ``chance_at`` is its mean when the members of each set are
    exchanged, those of a unit's sets together. Larger than that means that answers go by the attribute, in
    whatever direction. The score is the probability of the target, else the share of orders in which it was
    chosen. Interval: Wilson's at the size that units leave. p: one-sided, and at least that at which the
    interval holds ``chance_at``. None with reason ``single_group`` where no set has both; without p and
    interval with reason ``one_cluster`` where there is one unit. Arguments as in ``set_difference``.

    Source: ours; the mean absolute difference of counterfactual pairs beside its null.
    """
    bound = BoundRoles.of(evidence, by, where, inference, seed)

    def piece(some: BoundRoles, *group: str) -> Fields:
        sets = SetMatrix.of(some)
        pairs, of_set, _ = sets.distances(attribute)
        if not pairs.size:
            return no_value("single_group")
        unit = sets.unit[of_set]
        fields: Fields = {"value": float(pairs.mean())}
        if not bound.infers:
            return fields
        if np.unique(unit).size < FEWEST:
            return fields | {"reason": ONE_CLUSTER}
        rng = bound.stream("set_distance", str(attribute), *group)
        draws = sets.exchanged_distances(attribute, rng, _DRAWS)
        method = f"members of sets exchanged by {bound.unit_name}"
        band = null_band(draws, method=method, seed=seed, side="high")
        at = fields["value"] if band is None else band.mean
        tested = mean_interval(pairs, unit, resampled_p(draws, fields["value"], "high"), at)
        return fields | tested | {"null": band, "chance_at": at}

    params = {"attribute": "+".join(names_of(attribute)), **bound.params}
    finding = described(bound, "set_distance", params, **bound.with_parts(piece))

    def outcomes() -> pl.DataFrame:
        sets = SetMatrix.of(bound)
        value, of_set, pair = sets.distances(attribute)
        return bound.outcomes(sets.member[of_set], value, sample=sets.called(attribute, of_set, pair))

    return finding.with_outcomes(outcomes)
