"""The one verdict: is a value beyond what chance gives? Its test and its interval have to agree."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.findings import Finding, Interval, Part

ALPHA = 0.05
EDGE = 1e-9
"""Numbers nearer than this are equal: a reference on the edge of an interval is inside it."""

FROM_INTERVAL = "where the interval would hold 0"
"""Method of a null band that follows from the interval."""


def grouping_of(finding: Finding) -> Hashable:
    """What a verdict on parts goes with: attributes, and of which answers."""
    return (*finding.by, finding.params.get("answers"))


def without_verdicts(finding: Finding) -> Finding:
    """The same with tests of parts that are exploratory: no primary of their grouping is beyond chance."""
    parts = [
        part.model_copy(update={"role": None if part.p_value is None else "exploratory"})
        for part in finding.parts
    ]
    return finding.model_copy(update={"parts": parts})


def alpha_of(manifest: Mapping[str, Any]) -> float:
    """The significance level of a run; 0.05 where the manifest does not say."""
    level = manifest.get("alpha")
    return float(level) if isinstance(level, int | float) and 0 < level < 1 else ALPHA


@dataclass(frozen=True)
class Significance:
    """A value beside chance."""

    side: str  # ``above``, ``below`` or ``within`` chance; ``beyond``: side unknown; empty: no verdict
    is_corrected: bool = False  # its p is too large only since it is corrected for several tests
    despite: float | None = None  # p that is small enough, but the interval holds the reference

    @property
    def beyond(self) -> bool:
        """Whether chance alone does not explain the value."""
        return self.side not in ("", "within")


def reference_of(holder: Finding | Part) -> float | None:
    """What a value is compared with: where chance puts it, else where it is fair; None without either.

    Of a part it is ``chance_at``, else the mean of its null band: parts are compared with the others.
    """
    if holder.chance_at is not None:
        return holder.chance_at
    if isinstance(holder, Finding):
        return holder.fair_at
    return None if holder.null is None else holder.null.mean


def lead_of(holder: Finding | Part) -> Any:
    """The value that the interval is of: where there is one, the corrected."""
    return holder.value if holder.corrected is None else holder.corrected


def excludes(interval: Interval | None, reference: float | None) -> bool:
    """Whether an interval leaves a reference out; one that is missing rules nothing in."""
    if interval is None or reference is None:
        return True
    return not interval.low - EDGE <= reference <= interval.high + EDGE


def significance_of(holder: Finding | Part, alpha: float = ALPHA) -> Significance:
    """Where a finding or part stands beside chance.

    Beyond chance: p (adjusted where it is) is at most ``alpha``, and the interval excludes the reference.
    Without value, test or reference, or of an exploratory holder, there is no verdict.
    """
    if holder.role == "exploratory":
        return Significance("")
    return _significance(holder, p_shown(holder), alpha)


def is_beyond(holder: Finding | Part, alpha: float = ALPHA) -> bool:
    """Whether chance alone does not explain a finding or part: the verdict as yes or no."""
    return significance_of(holder, alpha).beyond


def is_line_beyond(
    p_adjusted: float | None, low: float | None, high: float | None, alpha: float = ALPHA
) -> bool:
    """The verdict on a line of a table of differences, which are fair at 0."""
    if p_adjusted is None or p_adjusted > alpha:
        return False
    return low is None or high is None or not low - EDGE <= 0 <= high + EDGE


def p_shown(holder: Finding | Part) -> float | None:
    """The p that the verdict rests on: adjusted where it is."""
    return holder.p_value if holder.p_adjusted is None else holder.p_adjusted


def p_among_all(finding: Finding, part: Part) -> float | None:
    """The p of a part that its finding corrects for the others, among all questions of the run, too.

    It is larger by as much as that of the finding; None where the part has none.
    """
    if part.p_adjusted is None:
        return None
    once, run = finding.p_value, finding.p_adjusted
    return min(1.0, part.p_adjusted * (1.0 if not once or run is None else run / once))


def uncorrected(holder: Finding | Part, alpha: float = ALPHA) -> Significance:
    """Where it stands by itself, without the correction for several tests."""
    return _significance(holder, holder.p_value, alpha)


def _significance(holder: Finding | Part, p_value: float | None, alpha: float) -> Significance:
    reference = reference_of(holder)
    if holder.value is None or p_value is None or reference is None:
        return Significance("")
    if p_value > alpha:
        return Significance("within", holder.p_value is not None and holder.p_value <= alpha)
    if not excludes(holder.interval, reference):
        return Significance("within", despite=p_value)
    value = lead_of(holder)
    if abs(value - reference) <= EDGE:
        return Significance("beyond")
    return Significance("above" if value > reference else "below")
