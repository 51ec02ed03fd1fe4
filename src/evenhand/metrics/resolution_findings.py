"""Findings from choices: rates of an outcome by gender, their mean and gap, and what chance gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import ParameterError
from evenhand.core.results import Finding, Interval, Null, Part
from evenhand.evidence.choices import Choices, Where
from evenhand.metrics.bound_choices import Bound, Rows
from evenhand.metrics.building import number
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.stats.choices import Chance, combined, exchanged_gap, random_rates
from evenhand.stats.multiplicity import adjust

MEAN, GAP = (0.5, 0.5), (1.0, -1.0)
CONTEXT = "context"
"""Attribute over whose values paper mode takes the mean of accuracies."""

_Z_POWER = 0.8416212335729143  # the .8 quantile of the normal distribution
_Z = 1.959963984540054
_RULES = {
    "resolution_accuracy": ("correct", MEAN),
    "resolution_gap": ("correct", GAP),
    "misgendering_rate": ("misgendered", MEAN),
    "misgendering_gap": ("misgendered", GAP),
    "neutral_rate": ("neutral", MEAN),
    "neutral_gap": ("neutral", GAP),
}


def rule_of(name: str) -> tuple[str, tuple[float, float]]:
    """Outcome and weights of the two genders' rates of a metric.

    Raises:
        ParameterError: Not a metric of choices.
    """
    if name not in _RULES:
        raise ParameterError(f"metric={name!r} is not possible; choose one of {', '.join(map(repr, _RULES))}")
    return _RULES[name]


def choice_finding(
    evidence: Choices, name: str, *, by: By, where: Where | None, mode: str, inference: str, seed: int
) -> Finding:
    """One of the metrics of choices.

    Args:
        evidence: The choices.
        name: Which metric.
        by: Attributes crossed for parts.
        where: Selection of samples.
        mode: ``default`` or ``paper``.
        inference: ``auto`` or ``none``.
        seed: Checked, not used: everything here is exact or in closed form.
    """
    check_common(mode, inference)
    if seed < 0:
        raise ParameterError(f"seed={seed} is not possible; choose 0 or more")
    outcome, weight = rule_of(name)
    bound = Bound.of(evidence, by, where, mode)
    rows = bound.rows(outcome)
    full = inference == "auto"
    fields: dict[str, Any] = {"parts": _parts(bound, rows, outcome, weight, full)}
    value = rows.value(weight)
    if mode == "paper":
        value, notes = _paper_value(bound, rows, weight)
        fields["notes"], full = notes, full and not notes
    if value is None:
        fields["reason"] = rows.reason or "undefined"
    elif full:
        fields |= _inference(bound, rows, outcome, weight)
    return bound.finding(name, value, bound.params, **fields)


def _inference(bound: Bound, rows: Rows, outcome: str, weight: tuple[float, float]) -> dict[str, Any]:
    observed = float(rows.value(weight) or 0.0)
    first, second = rows.rate(0), rows.rate(1)
    low, high = combined(first, second, weight)
    chance, method = _chance(bound, rows, outcome, weight)
    error = (high - low) / (2 * _Z)
    return {
        "interval": Interval(low=low, high=high, level=LEVEL, method=_method(bound, rows, "MOVER of ")),
        "null": _null(chance, method),
        "p_value": chance.p_value(observed),
        "mde": number(_Z * chance.sd + _Z_POWER * max(chance.sd, error)) if weight == GAP else None,
    }


def _method(bound: Bound, rows: Rows, before: str = "") -> str:
    plain = f"{before}Wilson score" + (" of both genders" if before else "")
    if not rows.clustered:
        return plain
    return f"{plain}, effective size by {rows.clustered} values of {bound.choices.cluster}"


def _chance(bound: Bound, rows: Rows, outcome: str, weight: tuple[float, float]) -> tuple[Chance, str]:
    if weight == GAP:
        inside = "+".join(bound.choices.strata)
        within = f" within {inside}" if inside else ""
        chance = exchanged_gap(rows.values, rows.second, rows.stratum, rows.unit)
        return chance, f"genders exchanged{within}, {'exact' if chance.values.size else 'normal'}"
    chance = random_rates(rows.sizes, bound.choices.chance(outcome), weight)
    return chance, "a candidate chosen at random, " + ("exact" if chance.values.size else "normal")


def _null(chance: Chance, method: str) -> Null:
    low, high = chance.band(LEVEL)
    return Null(mean=chance.mean, low=low, high=high, level=LEVEL, method=method)


def _parts(bound: Bound, rows: Rows, outcome: str, weight: tuple[float, float], full: bool) -> list[Part]:
    """Each gender; then, under a grouping, each group and each group's genders."""
    parts = _gender_parts(bound, rows, outcome, (), full)
    pieces = [rows.take(bound.group == code) for code in range(len(bound.groups))] if bound.by else []
    named = [_group_part(bound, piece, code, outcome, weight, full) for code, piece in enumerate(pieces)]
    parts += corrected(named)
    for code, piece in enumerate(pieces):
        parts += _gender_parts(bound, piece, outcome, bound.groups[code], full)
    return parts


def _gender_parts(bound: Bound, rows: Rows, outcome: str, group: tuple[str, ...], full: bool) -> list[Part]:
    parts, chances = [], bound.choices.chance(outcome)
    for which, gender in enumerate(bound.choices.genders):
        n, value = rows.sizes[which], rows.shares[which]
        if group and not n:
            continue
        more: dict[str, Any] = {} if n else {"reason": "empty"}
        if n and full and bound.mode == "default":
            one = rows.rate(which)
            sizes, weight = [(n, 0), (0, n)][which], (1.0, 1.0)
            more = {
                "interval": Interval(low=one.low, high=one.high, level=LEVEL, method=_method(bound, rows)),
                "null": _null(random_rates(sizes, chances, weight), "a candidate chosen at random, exact"),
            }
        if bound.mode == "paper" and value is not None:
            value = _rounded(value)
        parts.append(
            Part(
                kind="*".join([*(bound.by if group else ()), "gender"]),
                key=[*group, gender] if group else gender,
                value=value,
                n=n,
                **more,
            )
        )
    return parts


def _group_part(
    bound: Bound, rows: Rows, code: int, outcome: str, weight: tuple[float, float], full: bool
) -> Part:
    value, more = rows.value(weight), dict[str, Any]()
    if value is None:
        more = {"reason": rows.reason}
    elif bound.mode == "paper":
        value = _twice_rounded(rows, weight)
    elif full:
        more = _inference(bound, rows, outcome, weight)
    shares: dict[str, float | str | None] = dict(zip(bound.choices.genders, rows.shares, strict=True))
    return Part(
        kind="*".join(bound.by), key=bound.key(code), value=value, n=rows.second.size, details=shares, **more
    )


def corrected(parts: list[Part]) -> list[Part]:
    """Parts with p corrected over them by Holm."""
    p = np.array([np.nan if part.p_value is None else part.p_value for part in parts])
    return [
        part if np.isnan(q) else part.model_copy(update={"p_adjusted": float(q)})
        for part, q in zip(parts, adjust(p, "holm"), strict=True)
    ]


def _rounded(value: float) -> float:
    return float(np.round(value, 2))


def _twice_rounded(rows: Rows, weight: tuple[float, float]) -> float | None:
    """The mean or gap of rates that are rounded themselves, rounded again (half to even)."""
    first, second = rows.shares
    if first is None or second is None:
        return None
    first, second = _rounded(first), _rounded(second)
    return _rounded((first + second) / 2 if weight == MEAN else first - second)


def _paper_value(bound: Bound, rows: Rows, weight: tuple[float, float]) -> tuple[float | None, list[str]]:
    """As the released code rounds; over several contexts the mean of their means, and no gap."""
    if CONTEXT not in bound.choices.attributes:
        return _twice_rounded(rows, weight), []
    context = bound.choices.table[CONTEXT].cast(pl.String).fill_null("").to_numpy()[bound.chosen]
    levels = sorted(set(context.tolist()))
    if len(levels) < 2:
        return _twice_rounded(rows, weight), []
    if weight == GAP:
        return None, ["the paper has no gap over several contexts; select one with where"]
    means = [_twice_rounded(rows.take(context == level), weight) for level in levels]
    known = [mean for mean in means if mean is not None]
    note = f"the mean over {' and '.join(levels)}, whatever their sizes; no interval is made for it"
    return (_rounded(sum(known) / len(known)) if len(known) == len(means) else None), [note]
