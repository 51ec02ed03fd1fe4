"""Every finding about a number of the user's own, under every grouping of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.core.errors import InputError
from evenhand.core.findings import Finding
from evenhand.evidence.numbers import Numbers
from evenhand.metrics.numbers import means
from evenhand.metrics.numbers.binding import BoundNumbers
from evenhand.metrics.numbers.estimation import Better
from evenhand.metrics.prepared import Inference
from evenhand.metrics.suites.audit import MOST_GROUPS
from evenhand.metrics.suites.families import adjust_run

PRIMARIES = ("mean_contrast",)
"""Primary of a run of numbers: do means differ between any groups?"""


def number_findings(
    numbers: Numbers,
    groupings: Sequence[tuple[str, ...]],
    *,
    better: Better,
    alpha: float,
    adjustment: str,
    inference: Inference,
    seed: int,
) -> list[Finding]:
    """Findings of all groupings, their primaries corrected together.

    Raises:
        InputError: A grouping of fewer than two groups, or of more than can be tested.
    """
    findings: list[Finding] = []
    for by in groupings:
        groups = len(BoundNumbers.of(numbers, by).groups)
        if not 1 < groups <= MOST_GROUPS:
            raise InputError(
                f"{'+'.join(by)!r} has {groups:,} groups among usable rows; an audit compares 2 to "
                f"{MOST_GROUPS:,}: name another column with --by, in Python by="
            )
        common: dict[str, Any] = {"by": by, "inference": inference, "seed": seed}
        worse = {**common, "better": better}
        findings += [
            means.mean_contrast(numbers, **worse), means.mean(numbers, **common),
            means.worst_group_mean(numbers, **worse), means.mean_gap(numbers, **worse),
            means.mean_range(numbers, **common), means.mean_ratio(numbers, **worse),
        ]  # fmt: skip
    return adjust_run(findings, PRIMARIES, alpha=alpha, method=adjustment)
