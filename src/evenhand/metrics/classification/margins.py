"""Findings from the margins of truth x group x prediction: value, interval, null band, p."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.core.findings import Details, Finding, Interval, Null, Part
from evenhand.core.text.reasons import explain
from evenhand.metrics.classification.margin_rates import Margins
from evenhand.metrics.estimates import agreeing, build, few_decide, joint_p, null_band, number
from evenhand.metrics.prepared import LEVEL, Z_LEVEL, Z_POWER, BoundCounts, Inference, Mode, check_common
from evenhand.stats.arrays import Floats, pair_of
from evenhand.stats.rates.confusion import Confusion, summaries


@dataclass(frozen=True)
class MarginInference:
    """What is known of a value beyond itself."""

    ends: Callable[[float], tuple[Any, Any]]  # from a level to the limits
    method: str  # how these are made
    p_value: float | None = None  # of the test that groups make no difference
    reference: float | None = None  # where the value stands then; None where nothing says so
    draws: Floats | None = None  # the value with exchanged groups, shape (R,)
    exchanged: str = ""  # what was exchanged
    side: str = "high"  # which side of the draws is unfair: `high` or `low`
    corrected: float | None = None  # the value without what noise adds
    deciding: Mapping[str, int] = field(default_factory=dict)  # units of each group that decides the value
    details: Mapping[str, float | None] = field(default_factory=dict)  # further numbers
    notes: Sequence[str] = ()  # what a reader has to know
    # from the level of a test to details on what it would usually have shown; None: nothing is said of that
    noticed: Callable[[float], Details] | None = None


def observed(prepared: BoundCounts, mode: Mode) -> Confusion:
    """The margins; in paper mode a difference over a single group is 0, as the formulas give it."""
    return replace(prepared.confusion, fewest=1) if mode == "paper" else prepared.confusion


def margin_finding(
    prepared: BoundCounts,
    name: str,
    infer: Callable[[Margins, float], MarginInference | str],
    *,
    mode: Mode,
    inference: Inference,
    key: str | None = None,
    params: dict[str, Any] | None = None,
    parts: Sequence[Part] = (),
    value: float | None = None,
    details: Details | None = None,
) -> Finding:
    """A scalar of ``summaries``, called ``key`` or as the metric, or else a ``value``, as a Finding.

    ``infer`` gives interval, null and p of margins and value, or why there are none.
    """
    check_common(mode, inference)
    value = number(_summary(prepared, key or name, mode) if value is None else value)
    # the differences between modes show on single groups only, so equal values carry one name
    all_params = {**(params or {}), **({"mode": "paper"} if mode == "paper" else {})}
    if value is None:
        reason = "single_group" if len(prepared.grouped.groups) < 2 else "undefined"
        return build(prepared.grouped, name, all_params, None, parts=list(parts), reason=reason)
    margins = Margins.of(prepared)
    result = infer(margins, value) if inference == "auto" else ""
    if isinstance(result, str):
        notes = [result] if result else []
        return build(
            prepared.grouped, name, all_params, value, parts=list(parts), notes=notes, details=details or {}
        )
    p_value, reference = _weaker(result), result.reference
    centre = value if result.corrected is None else result.corrected

    def at(level: float) -> Interval:
        low, high = pair_of(result.ends(level))
        ends = min(low, centre), max(high, centre)
        if reference is not None:
            ends = agreeing(ends, p_value, reference, level)
        return Interval(low=ends[0], high=ends[1], level=level, method=result.method)

    usual = at(LEVEL)
    notes = [*result.notes, *few_decide(result.deciding.items(), margins.unit)]
    if margins.tables is not None and margins.tables.relabelling.fixed and len(prepared.grouped.groups) > 1:
        notes.insert(0, explain("one_cluster"))
    noticed = {} if result.noticed is None else dict(result.noticed(1 - LEVEL))
    finding = build(
        prepared.grouped, name, all_params, value, parts=list(parts), interval=usual, limits=at,
        null=null_of(result.draws, result.exchanged, result.side, prepared.seed), p_value=p_value,
        corrected=result.corrected, chance_at=reference or None, mde=_detectable(result, usual.high - centre),
        notes=notes, details={**result.details, **(details or {}), **noticed},
    )  # fmt: skip
    return finding if result.noticed is None else finding.with_power(result.noticed)


def _summary(prepared: BoundCounts, key: str, mode: Mode) -> float:
    memo = prepared.memo.setdefault(("margins", mode), {})
    if not memo:
        memo.update(summaries(observed(prepared, mode)))
    return float(memo[key])


def _weaker(inference: MarginInference) -> float | None:
    """The p of the exchange, or that of the interval where this is weaker: both have to say the same.

    The interval's is 1 minus the largest level at which it excludes the reference.
    """
    p, reference = inference.p_value, inference.reference
    if p is None or reference is None or p > 1 - LEVEL or inference.ends(LEVEL)[0] > reference:
        return p
    return joint_p(p, reference, inference.ends)


def null_of(draws: Floats | None, exchanged: str, side: str, seed: int) -> Null | None:
    """Mean and band of what exchanged groups give, if any were drawn."""
    if draws is None:
        return None
    return null_band(draws, level=LEVEL, method=exchanged, seed=seed, side=side)


def _detectable(inference: MarginInference, arm: float) -> float | None:
    """The value that would pass the null's 95 % point with 80 % power, from the upper arm of the interval."""
    if inference.draws is None or inference.side != "high" or np.isnan(inference.draws).all():
        return None
    return number(float(np.nanquantile(inference.draws, LEVEL) + Z_POWER * (arm / Z_LEVEL)))


def wilson(low: float, high: float, level: float = LEVEL, unit: str = "rows") -> Interval:
    """Wilson's interval as a result."""
    method = "Wilson score" if unit == "rows" else f"Wilson score, effective size over {unit}"
    return Interval(low=low, high=high, level=level, method=method)
