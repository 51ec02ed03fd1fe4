"""One family of tests for a run: its primary findings, corrected together and shown at their common level."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

import numpy as np
from scipy import special

from evenhand.core.findings import Finding, Interval, Null, Part
from evenhand.core.significance import (
    ALPHA,
    EDGE,
    FROM_INTERVAL,
    grouping_of,
    reference_of,
    significance_of,
    without_verdicts,
)
from evenhand.metrics.catalogue import named_arguments
from evenhand.metrics.estimates import agreeing_band, joint_p
from evenhand.stats.arrays import Pair
from evenhand.stats.multiplicity import adjust, holm_levels

AUDIT = ("disparities", "accuracy_contrast", "cramers_v_pooled")
"""Primaries of an audit: does a mistake depend on the group, does accuracy, does anything within classes?"""
SEARCH = "subgroups"
"""One more primary where a run searches subgroups."""

_AGREE = 1 + 1e-6  # times p


def adjust_run(
    findings: Sequence[Finding],
    primaries: Sequence[str] | None,
    *,
    alpha: float = ALPHA,
    method: str = "holm",
) -> list[Finding]:
    """Correct the p of a run's primary findings over all of them; every other p is exploratory.

    What is corrected is the p with which both test and interval leave the reference out (``joint_p``), so
    that at no level of the family does one of them say what the other denies.

    Primaries spend the error by the ``error_share`` of their cards. A secondary finding has the larger p of
    its own and its primary, so that it has a verdict only where the primary of its grouping has one. Parts
    keep their verdict where a primary finding of their grouping is beyond chance, and are exploratory
    elsewhere.

    The interval of a primary becomes that of its place in the family (``holm_levels``), so that p and
    interval shown together are of one level; the 95 % interval stays in the details ``low_95`` and
    ``high_95``. Findings with a role already, and those without a test, stay.
    Primaries are names of metrics; ``name[key=value]`` for one choice of parameters; None: every finding that
    has a test and a reference. Methods are those of ``adjust``.
    """
    leading = primaries
    if primaries is not None:  # a secondary metric leads where its primary was not computed
        names = {finding.name for finding in findings}
        alone = [
            finding.name
            for finding in findings
            if finding.card.tested_by in primaries and finding.card.tested_by not in names
        ]
        leading = [*primaries, *alone]
    indices = [
        index for index, finding in enumerate(findings) if finding.role is None and _named(finding, leading)
    ]
    tests = [findings[index] for index in indices]
    weights = np.array([finding.card.error_share for finding in tests])
    is_test = np.array([finding.p_value is not None for finding in tests], dtype=bool)
    # a difference that is alone in a run has its turn first
    first = np.full(weights.shape, alpha)
    if method != "none":
        first = alpha * weights / max(float(weights[is_test].sum()), 1e-300)
    p = np.array([_of_both(finding, share, alpha) for finding, share in zip(tests, first, strict=True)])
    adjusted = adjust(p, method, weights)
    levels = holm_levels(p, alpha, weights) if method == "holm" else np.full(p.shape, alpha)
    exploratory = {"role": "exploratory"}
    result = [
        finding if finding.p_value is None else finding.model_copy(update=exploratory) for finding in findings
    ]
    for index, corrected, level, share in zip(indices, adjusted, levels, first, strict=True):
        result[index] = _primary(findings[index], float(corrected), 1 - float(level), method)
        result[index] = result[index].at_test_level(float(share))
    result = _with_secondary(findings, result, method) if primaries is not None else result
    groupings = {
        grouping_of(result[index]) for index in indices if significance_of(result[index], alpha).beyond
    }
    result = [
        finding if grouping_of(finding) in groupings else without_verdicts(finding) for finding in result
    ]
    return [with_looser_bands(finding, alpha) for finding in result] if alpha > ALPHA else result


def _of_both(finding: Finding, least: float, alpha: float) -> float:
    """The p of test and interval, where the test by itself rejects; NaN without a test.

    Where both say so at ``least``, the strictest level of the family, p is the test's.
    """
    p, reference = finding.p_value, reference_of(finding)
    if p is None or reference is None or p > alpha:
        return np.nan if p is None else p

    def limits(level: float) -> Pair:
        interval = finding.interval_at(level)
        return (np.inf, np.inf) if interval is None else (interval.low - EDGE, interval.high + EDGE)

    start = max(p, least) * _AGREE  # of one statistic, an interval ends at the reference at p
    joint = joint_p(start, reference, limits)
    return p if joint is None or joint == start else joint


def _named(finding: Finding, primaries: Sequence[str] | None) -> bool:
    if primaries is None:
        return finding.p_value is not None and reference_of(finding) is not None
    for primary in primaries:
        name, params = named_arguments(primary)
        if finding.name == name and all(str(finding.params.get(key)) == text for key, text in params.items()):
            return True
    return False


def _primary(finding: Finding, adjusted: float, level: float, method: str) -> Finding:
    update: dict[str, object] = {"role": "primary"}
    if np.isfinite(adjusted):
        update |= {"p_adjusted": adjusted, "adjustment": method}
    return at_level(finding.model_copy(update=update), level)


def at_level(finding: Finding, level: float) -> Finding:
    """With the interval of a level; the 95 % limits stay in the details.

    A band that is where the interval would hold 0, as of differences, has the same level. The finding itself
    where it has that level, or cannot make another.
    """
    usual = finding.interval
    other = usual is not None and not isclose(usual.level, level)
    new_interval = finding.interval_at(level) if other else None
    if usual is None or not isinstance(new_interval, Interval):
        return finding
    details = {**finding.details, "low_95": usual.low, "high_95": usual.high}
    update: dict[str, object] = {"interval": new_interval, "details": details}
    null = finding.null
    if null is not None and finding.value is not None and null.method == FROM_INTERVAL:
        ends = {"low": finding.value - new_interval.high, "high": finding.value - new_interval.low}
        update["null"] = null.model_copy(update={**ends, "level": new_interval.level})
    return finding.model_copy(update=update)


def _with_secondary(before: Sequence[Finding], after: Sequence[Finding], method: str) -> list[Finding]:
    """Secondary findings with the p of their primary where that is larger, and its level.

    Both test one hypothesis, so that what the second adds after the first costs no error (Westfall and
    Krishen 2001).
    """
    leading = {
        (finding.name, grouping_of(finding)): finding for finding in after if finding.role == "primary"
    }
    result = list(after)
    for index, finding in enumerate(before):
        primary = leading.get((finding.card.tested_by, grouping_of(finding)))
        if primary is None or primary.p_adjusted is None or finding.p_value is None or finding.role:
            continue
        if after[index].role == "primary" or "groups" in finding.params:
            continue
        update = {
            "role": "secondary", "adjustment": method,
            "p_adjusted": max(finding.p_value, primary.p_adjusted),
        }  # fmt: skip
        level = finding.interval if primary.interval is None else primary.interval
        result[index] = at_level(finding.model_copy(update=update), level.level if level else 1 - ALPHA)
    return result


def with_looser_bands(finding: Finding, alpha: float) -> Finding:
    """With null bands of the level ``1 - alpha`` where only tests of that level reject the value.

    Ends are as far from the mean as of a normal statistic, ``z(1 - alpha) / z(level)`` times as far. Bands
    that say what the test says stay.
    """
    parts = [part.model_copy(update=_looser(part, alpha)) for part in finding.parts]
    return finding.model_copy(update={"parts": parts, **_looser(finding, alpha)})


def _looser(holder: Finding | Part, alpha: float) -> dict[str, Null]:
    null, value, p_value = holder.null, holder.value, holder.p_value
    if null is None or value is None or p_value is None or not 1 - null.level < p_value <= alpha:
        return {}
    ratio = float(special.ndtri(1 - alpha / 2) / special.ndtri((1 + null.level) / 2))
    low, high = (null.mean + (end - null.mean) * ratio for end in (null.low, null.high))
    looser = null.model_copy(update={"low": low, "high": high, "level": 1 - alpha})
    return {"null": agreeing_band(looser, value, p_value)}
