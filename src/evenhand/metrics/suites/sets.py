"""Every finding about sets of samples that differ in who is shown only."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.findings import Finding
from evenhand.evidence.predictions.columns.annotated import Where
from evenhand.evidence.role_choices import TARGET, UNKNOWN, RoleChoices
from evenhand.metrics.choices.roles.sets import flip_rate, set_difference, set_distance


def set_findings(
    choices: RoleChoices,
    pairs: Sequence[tuple[str, str, str]],
    *,
    where: Where | None = None,
    outcomes: Sequence[str] = (TARGET, UNKNOWN),
    seed: int = 0,
) -> list[Finding]:
    """Differences and distances by each pair, and the flip rate.

    Args:
        choices: Role choices with sets.
        pairs: Attribute, its value for the first persons and that for the second.
        where: Only samples with these values.
        outcomes: Of which there are differences.
        seed: Of the exchanges.
    """
    findings = []
    for attribute, first, second in pairs:
        findings += [
            set_difference(
                choices, attribute=attribute, first=first, second=second, outcome=outcome, where=where,
                seed=seed,
            )
            for outcome in outcomes
        ]  # fmt: skip
        findings.append(set_distance(choices, attribute=attribute, where=where, seed=seed))
    return [*findings, flip_rate(choices, where=where, seed=seed)]
