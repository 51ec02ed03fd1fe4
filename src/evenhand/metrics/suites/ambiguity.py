"""Every finding about questions that cannot always be decided."""

from __future__ import annotations

from evenhand.core.findings import Finding
from evenhand.evidence.predictions.columns.annotated import Where
from evenhand.evidence.role_choices import RoleChoices
from evenhand.metrics.choices.roles import abstention
from evenhand.metrics.estimates import By

_RATES = (
    abstention.answer_accuracy, abstention.abstention_rate, abstention.unusable_rate,
    abstention.order_effect,
)  # fmt: skip


def ambiguity_findings(
    choices: RoleChoices, *, ambiguous: str, by: By = (), targets: Where | None = None, seed: int = 0
) -> list[Finding]:
    """Of each condition the stereotype score, accuracy, abstention, unusable answers and the order effect.

    Choices have ``truth`` and an attribute ``condition``; the score is scaled, too, in the ``ambiguous`` one.
    ``targets`` are the samples of which is known whom the stereotype names; None: all.
    """
    findings: list[Finding] = []
    for condition in choices.annotated["condition"].unique().sort():
        where = {"condition": condition}
        scored = {**where, **(targets or {})}
        there = all(value in choices.annotated[name].to_list() for name, value in (targets or {}).items())
        scores = [
            abstention.stereotype_score(choices, scaled=scaled, by=by, where=scored, seed=seed)
            for scaled in ((False, True) if condition == ambiguous else (False,))
            if there
        ]  # the scaled one says what is tested already
        findings += [
            score.model_copy(update={"role": "exploratory"}) if number else score
            for number, score in enumerate(scores)
        ]
        findings += [rate(choices, by=by, where=where, seed=seed) for rate in _RATES]
    return findings
