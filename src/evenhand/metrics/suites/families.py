"""One family of tests for a run: its primary findings, corrected together and shown at their common level."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

import numpy as np

from evenhand.core.findings import Finding, Interval
from evenhand.core.significance import ALPHA, reference_of, significance_of
from evenhand.stats.multiplicity import adjust

FROM_INTERVAL = "where the interval would hold 0"
"""Method of a null band that follows from the interval."""
AUDIT = ("disparities", "accuracy_gap")
"""Primaries of an audit: does a mistake depend on the group, and does accuracy?"""


def adjust_run(
    findings: Sequence[Finding],
    primaries: Sequence[str] | None,
    *,
    alpha: float = ALPHA,
    method: str = "holm",
) -> list[Finding]:
    """Correct the p of a run's primary findings over all of them; every other p is exploratory.

    Parts keep their verdict where a primary finding of their grouping is beyond chance, and are exploratory
    elsewhere.

    The interval of a primary becomes that of its place in the family, ``1 - alpha / (m - rank + 1)`` of m
    tests by Holm, so that p and interval shown together are of one level; the 95 % interval stays in the
    details ``low_95`` and ``high_95``. Findings with a role already, and those without a test, stay.
    Primaries are names of metrics; ``name[key=value]`` for one choice of parameters; None: every finding that
    has a test and a reference. Methods are those of ``adjust``.
    """
    indices = [
        index for index, finding in enumerate(findings) if finding.role is None and _named(finding, primaries)
    ]
    p = np.array([np.nan if (q := findings[index].p_value) is None else q for index in indices])
    adjusted, places = adjust(p, method), holm_places(p)
    exploratory = {"role": "exploratory"}
    result = [
        finding if finding.p_value is None else finding.model_copy(update=exploratory) for finding in findings
    ]
    for index, corrected, rank in zip(indices, adjusted.tolist(), places.tolist(), strict=True):
        result[index] = _primary(findings[index], corrected, rank if method == "holm" else 1, alpha, method)
    groupings = {
        _grouping(result[index]) for index in indices if significance_of(result[index], alpha).beyond
    }
    return [finding if _grouping(finding) in groupings else _without_verdicts(finding) for finding in result]


def _grouping(finding: Finding) -> tuple[object, ...]:
    return (*finding.by, finding.params.get("answers"))


def _without_verdicts(finding: Finding) -> Finding:
    if not any(part.p_value is not None for part in finding.parts):
        return finding
    parts = [part.model_copy(update={"role": "exploratory"}) for part in finding.parts]
    return finding.model_copy(update={"parts": parts})


def holm_places(p: np.ndarray) -> np.ndarray:
    """How many tests are left when each p has its turn in Holm's steps: m for the smallest; 1 without p."""
    tested = np.flatnonzero(~np.isnan(p))
    left = np.ones(p.size, dtype=np.int64)
    left[tested[np.argsort(p[tested], kind="stable")]] = np.arange(tested.size, 0, -1)
    return left


def _named(finding: Finding, primaries: Sequence[str] | None) -> bool:
    if primaries is None:
        return finding.p_value is not None and reference_of(finding) is not None
    for primary in primaries:
        name, _, rest = primary.partition("[")
        params = dict(pair.split("=", 1) for pair in rest.rstrip("]").split(",") if pair)
        if finding.name == name and all(str(finding.params.get(key)) == text for key, text in params.items()):
            return True
    return False


def _primary(finding: Finding, adjusted: float, left: int, alpha: float, method: str) -> Finding:
    update: dict[str, object] = {"role": "primary"}
    if np.isfinite(adjusted):
        update |= {"p_adjusted": adjusted, "adjustment": method}
    return finding.model_copy(update=update | at_family_level(finding, left, alpha))


def at_family_level(finding: Finding, left: int, alpha: float) -> dict[str, object]:
    """The interval of level ``1 - alpha / left`` as fields of a finding, with the ends of the usual one.

    A band that is where the interval would hold 0, as of differences, has the same level. Empty where the
    level is the usual one, or the finding cannot make another.
    """
    usual, level = finding.interval, 1 - alpha / left
    other = usual is not None and not isclose(usual.level, level)
    new_interval = finding.interval_at(level) if other else None
    if usual is None or not isinstance(new_interval, Interval):
        return {}
    details = {**finding.details, "low_95": usual.low, "high_95": usual.high}
    update: dict[str, object] = {"interval": new_interval, "details": details}
    null = finding.null
    if null is not None and finding.value is not None and null.method == FROM_INTERVAL:
        ends = {"low": finding.value - new_interval.high, "high": finding.value - new_interval.low}
        update["null"] = null.model_copy(update={**ends, "level": new_interval.level})
    return update
