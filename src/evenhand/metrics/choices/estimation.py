"""Rates of choices by gender and group, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.findings import Finding, Interval, Null, Part, key_of
from evenhand.core.random_streams import stream
from evenhand.evidence.choices import Choices, Where
from evenhand.metrics.choices.rows import GAP, MEAN, BoundChoices, Exchanged, OutcomeRates, Weight
from evenhand.metrics.estimates import agreeing, few_decide, joint_p, number
from evenhand.metrics.named_groups import get_or_make
from evenhand.metrics.prepared import LEVEL, Z_LEVEL, Z_POWER, By, Inference, Mode, check_common
from evenhand.stats.arrays import Pair, pair_of
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.rates.differences import mean_limits, normal_quantile, pair_limits

CONTEXT = "context"
"""Attribute over whose values paper mode takes the mean of accuracies."""
_ROUNDING = 1e-9
_GENDERS = ((1.0, 0.0), (0.0, 1.0))

Rule = tuple[str, Weight]
"""An outcome, and the weights of the rates of the two genders."""


def choice_finding(
    rule: Callable[[], Rule],
    evidence: Choices,
    *,
    by: By = (),
    where: Where | None = None,
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """One of the metrics of choices, which has the name of its rule."""
    check_common(mode, inference, seed)
    name, (outcome, weight) = rule.__name__, rule()
    bound = BoundChoices.of(evidence, by, where, mode)
    rows = bound.rows(outcome)
    full = inference == "auto"
    piece = Piece(bound, rows, outcome, weight, seed, ())
    fields: dict[str, Any] = {"parts": _parts(piece, full)}
    value, notes = rows.value(weight), list[str]()
    if weight != GAP:
        fields["details"] = {"guessing": sum(bound.choices.chance(outcome)) / 2}
    if mode == "paper":
        value, notes = _paper_value(bound, rows, weight)
    if value is None or not full or notes:
        reason = (rows.reason or "undefined") if value is None else None
        return bound.finding(name, value, bound.params, reason=reason, notes=notes, **fields)
    tested = piece.inference()
    sizes = zip(bound.choices.genders, rows.units, strict=True)
    fields["notes"] = few_decide(sizes, bound.units(rows))

    def limits(level: float) -> Interval:
        return piece.interval(level, tested["p_value"], tested["chance_at"])

    return bound.finding(name, value, bound.params, limits=limits, **fields, **tested)


@dataclass(frozen=True, eq=False)
class Piece:
    """One mean or gap of an outcome: of all samples, or of a group."""

    bound: BoundChoices
    rows: OutcomeRates
    outcome: str
    weight: Weight
    seed: int
    group: tuple[str, ...]  # its values; empty for all samples

    def inference(self) -> dict[str, Any]:
        """Interval, null band, p and, for gaps, the minimum detectable one."""
        if self.rows.alone:
            return {"interval": None, "chance_at": None, "p_value": None, "reason": "one_cluster"}
        exchange = self.exchanged(self.weight)
        if exchange is None:
            return {"interval": self.interval(LEVEL, None, None), "chance_at": None, "p_value": None}
        # of a gap, chance stands at 0 where genders are balanced
        at = None if self.weight == GAP and abs(exchange.expected) < _ROUNDING else exchange.expected
        p_value = joint_p(exchange.p_value, at or 0.0, self._limits)
        interval = self.interval(LEVEL, p_value, at)
        fields = {"interval": interval, "chance_at": at, "p_value": p_value, "null": self.null(exchange)}
        if self.weight == GAP:
            sd, error = float(exchange.values.std()), (interval.high - interval.low) / (2 * Z_LEVEL)
            fields["mde"] = number(Z_LEVEL * sd + Z_POWER * max(sd, error))
        return fields

    def exchanged(self, weight: Pair) -> Exchanged | None:
        """Genders exchanged; None for what no exchange says anything of."""
        if self.outcome == "neutral" and weight != GAP:
            return None  # a neutral choice is one for whoever is seen
        rng = stream(self.seed, "choices", str(self.bound.params), "+".join(self.bound.by), *self.group,
                     self.outcome, str(weight))  # fmt: skip
        return self.rows.exchanged(weight, rng)

    def null(self, exchange: Exchanged) -> Null:
        """The central part of what the exchange gives."""
        low, high = np.quantile(exchange.values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        middle = exchange.expected
        return Null(
            mean=middle, low=min(float(low), middle), high=max(float(high), middle), level=LEVEL,
            method=self._exchange(), replicates=exchange.drawn.replicates, seed=self.seed,
        )  # fmt: skip

    def _exchange(self) -> str:
        strata = self.bound.choices.strata
        method = "genders exchanged" if self.weight == GAP else "truths exchanged against the same choices"
        return method + (f" within {'+'.join(strata)}" if strata else "")

    def interval(self, level: float, p_value: float | None, chance_at: float | None) -> Interval:
        """MOVER of both rates."""
        low, high = agreeing(self._limits(level), p_value, chance_at or 0.0, level)
        return Interval(low=low, high=high, level=level, method=f"MOVER of {self._wilson()} of both genders")

    def _limits(self, level: float) -> Pair:
        if self.weight == GAP:
            return pair_limits(self.rows.rates, level)
        return pair_of(mean_limits(self.rows.rates, np.array(self.weight), level), 0.0, 1.0)

    def gender_interval(self, which: int) -> Interval | None:
        """Wilson's of one gender's rate; None where it is one unit."""
        if self.rows.units[which] < FEWEST:
            return None
        low, high = self.rows.rates.limits(normal_quantile(LEVEL))
        return Interval(low=float(low[which]), high=float(high[which]), level=LEVEL, method=self._wilson())

    def gender_chance(self, which: int) -> dict[str, Any]:
        """What chance gives one gender's rate; drawn once for the mean and the gap of an outcome."""

        def make() -> Null | None:
            exchange = self.exchanged(_GENDERS[which])
            return None if exchange is None else self.null(exchange)

        null = get_or_make(self.bound.memo, (self.outcome, which, self.seed), make)
        if null is None:
            return {}
        return {"null": null.model_copy(update={"method": self._exchange()}), "chance_at": null.mean}

    def _wilson(self) -> str:
        if self.rows.cluster is None:
            return "Wilson score"
        many = np.unique(self.rows.cluster).size
        return f"Wilson score, effective size by {many} {self.bound.units(self.rows)}"


def _parts(total: Piece, full: bool) -> list[Part]:
    """Each gender; then, under a grouping, each group and each group's genders."""
    bound = total.bound
    full = full and bound.mode == "default"
    codes = range(len(bound.groups)) if bound.by else ()
    pieces = [replace(total, rows=bound.piece(total.rows, code), group=bound.groups[code]) for code in codes]
    parts = [*_gender_parts(total, full), *bound.parts(lambda code: _group_fields(pieces[code], full))]
    return parts + [part for piece in pieces for part in _gender_parts(piece, full)]


def _gender_parts(piece: Piece, full: bool) -> list[Part]:
    parts, bound, rows = [], piece.bound, piece.rows
    kind = "*".join([*(bound.by if piece.group else ()), "gender"])
    for which, gender in enumerate(bound.choices.genders):
        n, value = rows.sizes[which], rows.shares[which]
        if piece.group and not n:
            continue
        more: dict[str, Any] = {} if n else {"reason": "empty"}
        if n and full:
            interval = piece.gender_interval(which)
            more = {"interval": interval} if interval else {"reason": "one_cluster"}
            more |= {} if piece.group or not all(rows.sizes) else piece.gender_chance(which)
        if bound.mode == "paper" and value is not None:
            value = _rounded(value)
        parts.append(Part(kind=kind, key=key_of((*piece.group, gender)), value=value, n=n, **more))
    return parts


def _group_fields(piece: Piece, full: bool) -> dict[str, Any]:
    """The mean or the gap of one group."""
    rows = piece.rows
    value = rows.value(piece.weight)
    more: dict[str, Any] = {"reason": rows.reason} if value is None else {}
    if value is not None and piece.bound.mode == "paper":
        value = _twice_rounded(rows, piece.weight)
    elif value is not None and full:
        more = piece.inference()
    shares = dict(zip(piece.bound.choices.genders, rows.shares, strict=True))
    return {"value": value, "details": shares, **more}


def _rounded(value: float) -> float:
    return float(np.round(value, 2))


def _twice_rounded(rows: OutcomeRates, weight: Weight) -> float | None:
    """The mean or gap of rates that are rounded themselves, rounded again (half to even)."""
    first, second = rows.shares
    if first is None or second is None:
        return None
    first, second = _rounded(first), _rounded(second)
    return _rounded((first + second) / 2 if weight == MEAN else first - second)


def _paper_value(bound: BoundChoices, rows: OutcomeRates, weight: Weight) -> tuple[float | None, list[str]]:
    """As the released code rounds; over several contexts the mean of their means, and no gap."""
    choices, levels = bound.choices, list[str]()
    if CONTEXT in choices.attributes:
        context = choices.table[CONTEXT].cast(pl.String).fill_null("").to_numpy()[bound.chosen]
        levels = sorted(set(context.tolist()))
    if len(levels) < 2:
        return _twice_rounded(rows, weight), []
    if weight == GAP:
        return None, ["the paper has no gap over several contexts; select one with where"]
    means = [_twice_rounded(rows.take(context == level), weight) for level in levels]
    values = [mean for mean in means if mean is not None]
    note = f"the mean over {' and '.join(levels)}, whatever their sizes; no interval is made for it"
    return (_rounded(sum(values) / len(values)) if len(values) == len(means) else None), [note]
