"""Rates of choices by gender and group, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
import polars as pl

from evenhand.core.findings import Finding, Part, key_of
from evenhand.core.random_streams import stream
from evenhand.evidence.choices import Choices
from evenhand.evidence.predictions.columns.annotated import Where
from evenhand.metrics.choices.rows import GAP, BoundChoices, OutcomeRates, PermutedGenders, Weight
from evenhand.metrics.estimates import (
    LEVEL,
    Z_LEVEL,
    Z_POWER,
    By,
    Fields,
    Inference,
    Mode,
    at_levels,
    check_common,
    few_decide,
    get_or_make,
    interval_and_p,
    null_band,
    number,
    part,
    wilson_method,
)
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.stats.arrays import Pair, pair_of
from evenhand.stats.rates.rates import mean_limits, pair_limits, rate_limits

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
    total = OutcomePart(bound, bound.rows(outcome), outcome, weight, seed, inference == "auto")
    value, notes = (total.value, []) if mode == "default" else _paper_value(total)
    fields: Fields = {"parts": _parts(total), "notes": notes}
    if weight != GAP:
        fields["details"] = {"guessing": sum(bound.choices.chance(outcome)) / 2}
    if value is None:
        fields["reason"] = total.rows.reason or "undefined"
    elif total.infers and not notes:
        sizes = zip(bound.choices.genders, total.rows.units.tolist(), strict=True)
        fields |= {"notes": few_decide(sizes, bound.units(total.rows)), **total.inference()}
    return bound.finding(name, bound.params, value=value, **fields)


@dataclass(frozen=True, eq=False)
class OutcomePart:
    """One mean or gap of an outcome: of all samples, or of a group."""

    bound: BoundChoices
    rows: OutcomeRates
    outcome: str
    weight: Weight
    seed: int
    infers: bool  # whether intervals, null bands and p are wanted
    group: tuple[str, ...] = ()  # its values; empty for all samples

    @property
    def value(self) -> float | None:
        """The mean or the gap; in paper mode of rates that are rounded, rounded again (half to even)."""
        if self.bound.mode == "default":
            return self.rows.value(self.weight)
        return number(np.round((np.array(self.weight) * np.round(self.rows.shares, 2)).sum(), 2))

    def inference(self) -> Fields:
        """Interval, null band, p and, for gaps, the minimum detectable one."""
        if self.rows.is_one_unit:
            return {"reason": ONE_CLUSTER}
        exchange, method = self.exchanged(self.weight), f"MOVER of {self._wilson()} of both genders"
        if exchange is None:
            return interval_and_p(self._limits, None, 0.0, method)
        # of a gap, chance stands at 0 where genders are balanced
        at = None if self.weight == GAP and abs(exchange.expected) < _ROUNDING else exchange.expected
        fields = interval_and_p(self._limits, exchange.p_value, at or 0.0, method)
        fields |= self._chance(exchange) | {"chance_at": at}
        if self.weight == GAP:
            sd, interval = float(exchange.values.std()), fields["limits"](LEVEL)
            error = (interval.high - interval.low) / (2 * Z_LEVEL)
            fields["mde"] = number(Z_LEVEL * sd + Z_POWER * max(sd, error))
        return fields

    def exchanged(self, weight: Pair) -> PermutedGenders | None:
        """Genders exchanged; None for what no exchange says anything of."""
        if self.outcome == "neutral" and weight != GAP:
            return None  # a neutral choice is one for whoever is seen
        rng = stream(self.seed, "choices", str(self.bound.params), "+".join(self.bound.by), *self.group,
                     self.outcome, str(weight))  # fmt: skip
        return self.rows.exchanged(weight, rng)

    def _chance(self, exchange: PermutedGenders) -> Fields:
        """The mean and the central part of what the exchange gives."""
        strata = self.bound.choices.strata
        method = "genders exchanged" if self.weight == GAP else "truths exchanged against the same choices"
        method += f" within {'+'.join(strata)}" if strata else ""
        mean = exchange.expected
        band = null_band(exchange.values, method=method, seed=self.seed, mean=mean)
        return {"chance_at": mean, "null": band}

    def _limits(self, level: float) -> Pair:
        if self.weight == GAP:
            return pair_limits(self.rows.rates, level)
        return pair_of(mean_limits(self.rows.rates, np.array(self.weight), level), 0.0, 1.0)

    def genders(self) -> list[Part]:
        """Each gender's rate; of a group only those that it has."""
        bound, rows, paper = self.bound, self.rows, self.bound.mode == "paper"
        kind = "*".join([*(bound.by if self.group else ()), "gender"])
        parts = []
        for which, (gender, n) in enumerate(zip(bound.choices.genders, rows.sizes.tolist(), strict=True)):
            more: Fields = {} if n else {"reason": "empty"}
            if n and self.infers and not paper:
                more = self._gender(which)
            if n or not self.group:
                share = number(np.round(rows.shares[which], 2) if paper else rows.shares[which])
                parts.append(part(kind, key_of((*self.group, gender)), share, n=n, **more))
        return parts

    def _gender(self, which: int) -> Fields:
        """Wilson's interval of one gender's rate, unless it is one unit; of all samples also its chance."""
        fields: Fields = {"reason": ONE_CLUSTER}
        if self.rows.rates.size[which]:
            limits = partial(rate_limits, self.rows.rates, code=which)
            fields = {"limits": at_levels(limits, self._wilson())}
        if self.group or not self.rows.sizes.all():
            return fields
        key = (self.outcome, which, self.seed)  # drawn once for the mean and the gap of an outcome
        exchange = get_or_make(self.bound.memo, key, self.exchanged, _GENDERS[which])
        return fields if exchange is None else fields | self._chance(exchange)

    def _wilson(self) -> str:
        return wilson_method(self.rows.cluster, self.bound.units(self.rows))


def _parts(total: OutcomePart) -> list[Part]:
    """Each gender; then, under a grouping, each group and each group's genders."""
    bound, rows = total.bound, total.rows
    pieces = [
        replace(total, rows=bound.piece(rows, code), group=group)
        for code, group in enumerate(bound.groups if bound.by else ())
    ]

    def fields(code: int) -> Fields:
        piece = pieces[code]
        shares = dict(zip(bound.choices.genders, map(number, piece.rows.shares), strict=True))
        more = {"value": piece.value, "reason": piece.rows.reason, "details": shares}
        tested = piece.infers and bound.mode == "default" and piece.rows.reason is None
        return more | (piece.inference() if tested else {})

    return [*total.genders(), *bound.parts(fields), *chain.from_iterable(map(OutcomePart.genders, pieces))]


def _paper_value(total: OutcomePart) -> tuple[float | None, list[str]]:
    """As the released code rounds; over several contexts the mean of their means, and no gap."""
    bound, levels = total.bound, list[str]()
    if CONTEXT in bound.choices.attributes:
        context = bound.choices.table[CONTEXT].cast(pl.String).fill_null("").to_numpy()[bound.chosen]
        levels = sorted(set(context.tolist()))
    if len(levels) < 2:
        return total.value, []
    if total.weight == GAP:
        return None, ["the paper has no gap over several contexts; select one with where"]
    means = [replace(total, rows=total.rows.take(context == level)).value for level in levels]
    note = f"the mean over {' and '.join(levels)}, whatever their sizes; no interval is made for it"
    return number(np.round(np.mean(np.array(means, dtype=np.float64)), 2)), [note]
