"""Corrections for several tests of which some are hidden: that of the others must not tell of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import FROM_INTERVAL, grouping_of, is_beyond, without_verdicts
from evenhand.report.suppression.details import OF_INTERVAL, compared

METHOD = "bonferroni"

_PRIMARY, _SECONDARY = "primary", "secondary"
_USUAL = 0.95


def corrected_apart(before: Sequence[Finding], after: Sequence[Finding], alpha: float) -> list[Finding]:
    """Findings whose correction for several tests rests on what is shown.

    Holm's corrected p and the level of an interval say how many tests have a smaller p, and a corrected p may
    be that of another test: with it, a guess at hidden cells could be checked. Where a test of a family is
    hidden, the others get ``p * sum of shares / own share`` (Bonferroni), which is at least as large, and
    their 95 % intervals; so do parts of a finding of which a part is hidden. Parts have a verdict where a
    primary finding that is shown has one. Roles and numbers of tests are those of ``before``; ``after`` are
    the same findings as far as they are shown.
    """
    result = [_parts_apart(old, new) for old, new in zip(before, after, strict=True)]
    families: dict[Hashable, list[int]] = {}
    for index, finding in enumerate(before):
        if finding.p_adjusted is not None and finding.adjustment not in (None, "none", METHOD):
            family = finding.name if compared(finding) else finding.role
            families.setdefault(family, []).append(index)
    if not any(after[index].p_value is None for indices in families.values() for index in indices):
        return result
    seconds = families.pop(_SECONDARY, [])
    for indices in families.values():
        if any(after[index].p_value is None for index in indices):
            shares = {index: before[index].card.error_share for index in indices}
            for index, share in shares.items():
                result[index] = _apart(result[index], sum(shares.values()) / share)
    primaries = [finding for finding in result if finding.role == _PRIMARY]
    leading = {(finding.name, grouping_of(finding)): finding for finding in primaries}
    for index in seconds:
        result[index] = _beside(result[index], leading)
    groupings = {grouping_of(finding) for finding in primaries if is_beyond(finding, alpha)}
    return [
        finding if compared(finding) or grouping_of(finding) in groupings else without_verdicts(finding)
        for finding in result
    ]


def _apart(finding: Finding, factor: float) -> Finding:
    """With a p that is corrected by the number of tests alone, and the 95 % interval."""
    p = finding.p_value
    corrected = {"p_adjusted": None if p is None else min(1.0, p * factor), "adjustment": METHOD}
    return _usual(finding).model_copy(update=corrected)


def _beside(finding: Finding, leading: Mapping[tuple[str, Hashable], Finding]) -> Finding:
    """A secondary finding with the larger p of its own and its primary; no verdict beside a hidden one."""
    primary = leading.get((finding.card.tested_by, grouping_of(finding)))
    if finding.p_value is None or primary is None or primary.p_adjusted is None:
        alone = {"role": "exploratory", "p_adjusted": None, "adjustment": None}
        return _usual(finding).model_copy(update=alone)
    corrected = {
        "p_adjusted": max(finding.p_value, primary.p_adjusted),
        "adjustment": primary.adjustment,
    }
    return _usual(finding).model_copy(update=corrected)


def _usual(finding: Finding) -> Finding:
    """With the interval, and a band that follows from it, at 95 %, where they are at another level."""
    interval, null = finding.interval, finding.null
    low, high = (finding.details.get(name) for name in OF_INTERVAL)
    if interval is None or not isinstance(low, float) or not isinstance(high, float):
        return finding
    update: dict[str, object] = {
        "interval": interval.model_copy(update={"low": low, "high": high, "level": _USUAL}),
        "details": {name: value for name, value in finding.details.items() if name not in OF_INTERVAL},
    }
    if null is not None and null.method == FROM_INTERVAL and finding.value is not None:
        ends = {"low": finding.value - high, "high": finding.value - low, "level": _USUAL}
        update["null"] = null.model_copy(update=ends)
    return finding.model_copy(update=update)


def _parts_apart(before: Finding, after: Finding) -> Finding:
    """With the p of parts corrected by their number alone where the p of one of them is hidden."""
    there = {(part.kind, str(part.key)): part.p_value for part in after.parts}
    counts = Counter(part.kind for part in before.parts)
    hidden = {
        part.kind
        for part in before.parts
        if part.p_adjusted is not None and there.get((part.kind, str(part.key))) is None
    }
    if not hidden or before.adjustment == "none":
        return after

    def apart(part: Part) -> Part:
        if part.kind not in hidden or part.p_value is None or part.p_adjusted is None:
            return part
        return part.model_copy(update={"p_adjusted": min(1.0, part.p_value * counts[part.kind])})

    update: dict[str, object] = {"parts": list(map(apart, after.parts))}
    if before.adjustment is not None and before.p_adjusted is None:  # it is that of the parts
        update["adjustment"] = METHOD
    return after.model_copy(update=update)
