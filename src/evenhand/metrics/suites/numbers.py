"""Every finding about a number of the user's own, under every grouping of a run."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.errors import InputError
from evenhand.core.findings import Finding
from evenhand.core.metric import Metric
from evenhand.evidence.numbers import Numbers
from evenhand.metrics.estimates import Inference
from evenhand.metrics.numbers import means
from evenhand.metrics.numbers.binding import BoundNumbers
from evenhand.metrics.numbers.estimation import Better
from evenhand.metrics.suites.audit import MOST_GROUPS
from evenhand.metrics.suites.families import adjust_run

PRIMARIES = ("mean_contrast",)
"""Primary of a run of numbers: do means differ between any groups?"""
METRICS = (
    means.mean_contrast, means.mean, means.worst_group_mean, means.mean_gap, means.mean_range,
    means.mean_ratio,
)  # fmt: skip
"""What an audit of numbers asks of each grouping where nothing is named."""


def number_findings(
    numbers: Numbers,
    groupings: Sequence[tuple[str, ...]],
    *,
    better: Better,
    alpha: float,
    adjustment: str,
    inference: Inference,
    seed: int,
    metrics: Sequence[Metric[...]] = METRICS,
) -> list[Finding]:
    """Findings of all groupings, their primaries corrected together; a metric is given what it takes."""
    findings: list[Finding] = []
    for by in groupings:
        groups = len(BoundNumbers.of(numbers, by).groups)
        if not 1 < groups <= MOST_GROUPS:
            raise InputError(
                f"{'+'.join(by)!r} has {groups:,} groups among usable rows; an audit compares 2 to "
                f"{MOST_GROUPS:,}: name another column with --by, in Python by="
            )
        options = {"by": by, "better": better, "inference": inference, "seed": seed}
        findings += [metric.taking(options)(numbers) for metric in metrics]
    return adjust_run(findings, PRIMARIES, alpha=alpha, method=adjustment)
