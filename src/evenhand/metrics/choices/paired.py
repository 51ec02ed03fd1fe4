"""One model against another on the same samples: is the difference more than chance?"""

from __future__ import annotations

from dataclasses import replace

from evenhand.core.errors import InputError
from evenhand.core.findings import Dropped, Finding
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.choices import Choices
from evenhand.evidence.predictions.columns.annotated import Where
from evenhand.metrics.catalogue import BONETT_PRICE, card_of
from evenhand.metrics.choices.resolution import rule_of
from evenhand.metrics.choices.roles.bound import turned_signs
from evenhand.metrics.choices.rows import BoundChoices, OutcomeRates
from evenhand.metrics.estimates import By, Fields, Inference, Mode, check_common, no_value
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.stats.paired.differences import Deviations


@metric(
    title="Difference between two models",
    summary="a rate or gap of one model minus that of another on the same images",
    formula="value of the model - value of the reference, on the same images", range=(None, None),
    direction="descriptive", fair_at=0.0, source=BONETT_PRICE, unit="share difference", order=250,
    family="differences",
    p_is_about="models", first_line="changes",
)  # fmt: skip
def resolution_difference(
    evidence: Choices,
    *,
    reference: Choices,
    metric: str = "resolution_accuracy",
    by: By = (),
    where: Where | None = None,
    inference: Inference = "auto",
    seed: int = 0,
    mode: Mode = "default",
) -> Finding:
    """A metric of one model minus that of another, on the samples that both answered; fair at 0.

    Interval: adjusted Wald of paired shares, the samples reduced to what the variation between clusters
    leaves of them, with t of Kish's effective number of clusters. Null and p: the two models exchanged at
    random in each cluster (without clusters in each sample: McNemar's test), exact up to 13 contributions,
    else ``(1 + b) / (1 + B)`` with B = 9,999; reason ``one_cluster`` where there is one. ``mde`` is the
    difference that would be found with 80 % power. Parts are groups, corrected by Holm. Samples that the
    reference did not answer are dropped and counted.

    Args:
        evidence: Choices of the first model.
        reference: Choices of the second, with the same truths.
        metric: ``resolution_accuracy``, ``resolution_gap``, ``misgendering_rate``, ``misgendering_gap``,
            ``neutral_rate`` or ``neutral_gap``.
        by: Attribute, or list of attributes to cross, for parts.
        where: Only samples with these values.
        inference: ``none`` skips interval, null band and p.
        seed: Of the exchanges.
        mode: ``paper`` takes the first of tied candidates; nothing is rounded.

    Raises:
        UnknownName: An attribute or value that does not exist.
        InputError: The two disagree about the truth of a sample.
        ParameterError: Not a metric of choices.

    Source: McNemar 1947; Bonett and Price 2012.
    """
    check_common(mode, inference, seed)
    outcome, weight = rule_of(metric)
    bound, other = BoundChoices.of(evidence, by, where, mode), BoundChoices.of(reference, (), None, mode)
    bound, apart = _matched(bound, other, outcome)
    purpose = ("resolution_difference", str(bound.params), "+".join(bound.by), metric)

    def compared(rows: OutcomeRates, *group: str) -> Fields:
        if rows.reason is not None:
            return no_value(rows.reason)
        away = Deviations(rows.values, rows.second, weight, rows.cluster)
        if inference == "none" or rows.is_one_unit:
            return {"value": away.value, "reason": ONE_CLUSTER if inference == "auto" else None}
        unit = "sample" if rows.cluster is None else str(bound.choices.cluster)
        tested = turned_signs(away, stream(seed, *purpose, *group), seed, "models", unit, most=2.0)
        return {"value": away.value, **tested}

    parts = bound.parts(lambda code: compared(bound.piece(apart, code), *bound.groups[code]))
    params = {**bound.params, "metric": metric}
    if (against := other.params["candidates"]) != params["candidates"]:
        params["reference_candidates"] = against
    card = resolution_difference.card.comparing(card_of(metric))
    return bound.finding("resolution_difference", params, parts=parts, card=card, **compared(apart))


def _matched(bound: BoundChoices, other: BoundChoices, outcome: str) -> tuple[BoundChoices, OutcomeRates]:
    """The first on the samples that both have, and how much more each counts there than in the second."""
    mine = bound.choices.table.select("sample", "truth").filter(bound.chosen)
    other_table = other.choices.table.select("sample", "truth").with_row_index("row")
    pairs = mine.join(other_table, on="sample", how="left", maintain_order="left")
    is_shared = pairs["row"].is_not_null().to_numpy()
    matched = pairs.filter(is_shared)
    unlike = matched.filter(matched["truth"] != matched["truth_right"])
    if unlike.height:
        sample, truth, _, second = unlike.row(0)
        raise InputError(
            f"the truth of sample {sample!r} is {truth!r} in one and {second!r} in the other; compare "
            "choices with the same annotations and template"
        )
    gone = int((~is_shared).sum())
    lost = [Dropped(reason="not answered by the reference", count=gone)] if gone else []
    rows, mask = bound.rows(outcome).take(is_shared), bound.chosen.copy()
    mask[mask] = is_shared
    apart = rows.hits - other.rows(outcome).hits[matched["row"].to_numpy()]
    bound = replace(bound, chosen=mask, group=bound.group[is_shared], dropped=bound.dropped + lost, memo={})
    return bound, replace(rows, values=apart, unit=1)
