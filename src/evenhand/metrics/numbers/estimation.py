"""Findings from Numbers: means by group, how far they are apart, which is worst, and what chance gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from evenhand.core.errors import check_choice
from evenhand.core.findings import Finding, Interval, NewDetails, Part
from evenhand.core.random_streams import stream
from evenhand.evidence.numbers import UNNAMED
from evenhand.metrics.estimates import LEVEL, By, Inference, against_reference, check_common, get_or_make
from evenhand.metrics.group_rates import ONE_CLUSTER, ComparedRows, RowRates, furthest_apart
from evenhand.metrics.numbers.binding import BoundNumbers
from evenhand.stats.arrays import Floats, Integers, Pair, nan_without_warning, pair_of
from evenhand.stats.exchange.compared_rates import ComparedRates
from evenhand.stats.exchange.cuts import Cuts
from evenhand.stats.exchange.rows import UnitRows
from evenhand.stats.rates.means import GroupMeans, quantiles_of
from evenhand.stats.rates.rates import gap_limits, mover, normal_quantile, worst_limits

Better = Literal["high", "low"]
"""Which numbers are good: ``high`` of an overlap, ``low`` of an error."""

SHORT = "intervals may be too short: a few far numbers make the mean of {}"
_QUANTILES = {"median": 0.5, "q10": 0.1, "q90": 0.9}


@dataclass(frozen=True, eq=False)
class NumberMeans(RowRates):
    """What one metric asks of numbers by group."""

    bound: BoundNumbers
    better: Better | None  # None: the metric does not ask which group is worst
    what = "mean"
    mover = "MOVER of each two groups, at once"
    worst_method = "worst of the groups' limits, simultaneous"
    has_power = True

    @classmethod
    def make(
        cls, name: str, evidence: Any, by: By, better: Better | None, inference: Inference, seed: int
    ) -> NumberMeans:
        """Check what is asked for."""
        check_common("default", inference, seed)
        if better is not None:
            check_choice("better", better, ("high", "low"))
        bound = BoundNumbers.of(evidence, by).in_order
        return cls(bound, name, "keep", "default", inference == "auto", seed, better)

    @property
    def reason(self) -> str | None:
        """Why there is no mean at all."""
        return None if self.bound.n else "empty"

    @property
    def alone(self) -> str | None:
        """Why nothing can be compared."""
        return self.reason or ("single_group" if len(self.bound.groups) < 2 else None)

    @property
    def sign(self) -> int:
        """1 where high numbers are better, else -1."""
        return -1 if self.better == "low" else 1

    @property
    def units(self) -> str:
        """What is exchanged."""
        return self.bound.numbers.cluster or "rows"

    @property
    def exchanged_how(self) -> str:
        """What the null draws."""
        return f"groups exchanged by {self.units}, in standard errors"

    @property
    def method(self) -> str:
        """How intervals of means are made."""
        form = "Wilson score" if np.isfinite(self.grouped.span) else "Hall's t without skewness"
        return f"{form}, spread of {self.units}"

    def means_of(self, group: Integers, groups: int) -> GroupMeans:
        """Means of some groups of the rows."""
        bound = self.bound
        return GroupMeans.of_numbers(
            bound.value, group, groups, bound.cluster, bound.weight, bound.numbers.range
        )

    @cached_property
    def grouped(self) -> GroupMeans:
        """The means of all groups, with their limits."""
        return get_or_make(self.bound.memo, "means", self.means_of, self.bound.group, len(self.bound.groups))

    @cached_property
    def toward(self) -> GroupMeans:
        """The same with the sign that makes the lowest the worst."""
        return self.grouped if self.sign == 1 else self.grouped.mirrored()

    @cached_property
    def whole(self) -> GroupMeans:
        """The mean of all rows."""
        return self.means_of(np.zeros_like(self.bound.group), 1)

    @cached_property
    def share(self) -> Floats:
        """Of the weight in each group."""
        weight = np.bincount(self.bound.group, self.bound.weight, len(self.bound.groups))
        return np.asarray(weight / weight.sum())

    @cached_property
    def compared(self) -> ComparedRows:
        """The groups, whose units change places; the same for every metric of this grouping."""
        bound = self.bound

        def make() -> ComparedRows:
            rows = UnitRows(
                bound.value, bound.group, len(bound.groups), bound.cluster, bound.weight, bound.numbers.range
            )
            rng = stream(self.seed, "numbers", "+".join(bound.by), bound.numbers.name)
            return ComparedRows(rows, None, rng)

        return get_or_make(bound.memo, ("exchanged", self.seed), make)

    @cached_property
    def _quantiles(self) -> list[Floats]:
        bound = self.bound
        order = np.argsort(bound.group, kind="stable")
        edges = np.cumsum(bound.sizes)[:-1]
        weights = [None] * bound.sizes.size if bound.weight is None else np.split(bound.weight[order], edges)
        parts = zip(np.split(bound.value[order], edges), weights, strict=True)
        return [quantiles_of(value, list(_QUANTILES.values()), weight) for value, weight in parts]

    def about(self, code: int) -> NewDetails:
        """Units of one group, and its median and 10 and 90 % quantiles."""
        numbers = dict(zip(_QUANTILES, self._quantiles[code].tolist(), strict=True))
        return {"units": float(self.units_of[code]), **numbers}

    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the evidence and the definition say already filled in."""
        numbers = self.bound.numbers
        low, high = numbers.range
        name = None if numbers.name == UNNAMED else numbers.name
        params: dict[str, Any] = {"value": name, "better": self.better}
        details: dict[str, Any] = {"unit": numbers.unit} if numbers.unit else {}
        if self.bound.cluster is not None:
            details["units"] = float(self.bound.cluster.max(initial=-1) + 1)
        if np.isfinite(high - low):
            details |= {"least": low, "largest": high}
        remarks = []
        if self.infers and self.reason is None:
            unsure = [self.bound.text(code) for code in np.flatnonzero(self.grouped.unsure).tolist()]
            remarks = [SHORT.format(", ".join(unsure))] if unsure else []
        details |= fields.pop("details", {})
        return self.described(value, params, {}, remarks, details=details, **fields)

    def tested(
        self, value: float, limits: Callable[[float], Pair], method: str, p: float | None,
        draws: Floats | None, deciding: list[int], chance: float = 0.0, **fields: Any,
    ) -> Finding:  # fmt: skip
        """A distance from chance, whose p and interval say the same."""
        fields["notes"] = [*fields.pop("notes", []), *self.few(deciding)]
        if self.compared.fixed:
            return self.finding(value, reason=ONE_CLUSTER, **fields)
        drawn_how, seed = self.exchanged_how, self.seed
        inferred = against_reference(value, limits, method, p, draws, drawn_how, seed, reference=chance)
        return self.finding(value, **inferred, **fields)


def mean_finding(question: NumberMeans) -> Finding:
    """The mean of all rows, with a part for each group."""
    if question.reason is not None:
        return question.finding(None, reason=question.reason)
    return question.rate(float(question.whole.value[0]), question.whole)


def range_finding(question: NumberMeans) -> Finding:
    """The highest mean less the lowest."""
    return question.finding(None, reason=question.alone) if question.alone else question.gap()


def gap_finding(question: NumberMeans) -> Finding:
    """The mean of all rows and that of the worst group, by how much this is worse."""
    if question.alone:
        return question.finding(None, reason=question.alone)
    sign, worst = question.sign, int(question.toward.value.argmin())
    mean, worst_mean = question.compared.rows.mean, float(question.grouped.value[worst])
    value = max(0.0, sign * (mean - worst_mean))
    details = {"worst": question.bound.text(worst), "worst_mean": worst_mean}
    if not question.infers:
        return question.finding(value, details=details, notes=question.few([worst]))
    exchange, toward, share = question.compared.exchange, question.toward, question.share
    below = None if exchange is None else exchange.below_rest(sign)
    p, draws = (None, None) if below is None else (below.p_value, below.scaled(value, most=toward.span))
    return question.tested(
        value, lambda level: pair_of(gap_limits(toward, share, level)),
        "MOVER of each group and the others, at once", p, draws, [worst], details=details,
    )  # fmt: skip


def worst_finding(question: NumberMeans) -> Finding:
    """The mean of the worst group."""
    if question.alone:
        return question.finding(None, reason=question.alone)
    sign, worst = question.sign, int(question.toward.value.argmin())
    value = float(question.grouped.value[worst])
    fields: dict[str, Any] = {
        "details": {"worst": question.bound.text(worst)}, "notes": question.few([worst]),
    }  # fmt: skip
    if not question.infers or question.compared.fixed:
        return question.finding(value, reason=ONE_CLUSTER if question.infers else None, **fields)
    if question.compared.exchange is not None:
        nulls = sign * (sign * question.compared.nulls).min(axis=1)
        fields["null"] = question.band(nulls, "low" if sign == 1 else "high")
        fields["p_value"] = gap_finding(question).p_value

    def make(level: float) -> Interval:
        low, high = sorted(sign * end for end in pair_of(worst_limits(question.toward, level)))
        return question.interval((low, high), value, level, question.worst_method)

    return question.finding(value, interval=make(LEVEL), limits=make, **fields)


def ratio_finding(question: NumberMeans) -> Finding:
    """The mean of the worst group over that of the best."""
    toward = question.toward.value if question.alone is None else np.zeros(1)
    worst, best = furthest_apart(toward)
    means = question.grouped.value
    reason = question.alone or (None if means.min() >= 0 and means[best] > 0 else "undefined")
    if reason is not None:
        return question.finding(None, reason=reason)
    value = float(means[worst] / means[best])
    names = {"worst": question.bound.text(worst), "best": question.bound.text(best)}
    if not question.infers:
        return question.finding(value, details=names, notes=question.few([worst, best]))
    exchange = question.compared.exchange
    p = None if exchange is None else exchange.largest.p_value
    two = question.grouped.take(np.array([worst, best]))

    strict = replace(two, freedom=np.full(2, np.inf))

    def limits(level: float) -> Pair:
        quantile = normal_quantile(level)
        low, high = _ratio_limits(two, quantile)
        if exchange is None:
            return low, high
        # toward 1 an end holds for whichever two groups lie furthest apart
        near = _ratio_limits(strict, max(exchange.largest.quantile(level), quantile))
        return (low, max(high, near[1])) if value <= 1 else (min(low, near[0]), high)

    if question.compared.fixed or not np.isfinite(limits(LEVEL)).all():
        return question.finding(value, p_value=p, details=names, notes=question.few([worst, best]))
    return question.tested(
        value, limits, "MOVER of logarithms of both means", p, None, [worst, best], 1.0, details=names
    )


def _ratio_limits(two: GroupMeans, quantile: float) -> Pair:
    """MOVER limits of the first of two means over the second; 0 and infinity where a limit reaches 0."""
    with nan_without_warning():
        ends = two.limits(quantile)
        low, value, high = (np.log(np.maximum(numbers, 0)) for numbers in (ends[0], two.value, ends[1]))
        correlation = two.correlation()
        shared = None if correlation is None else correlation[0, 1]
        below, above = mover((low[0], value[0], high[0]), (low[1], value[1], high[1]), shared)
    return float(np.exp(below)), float(np.exp(above))


def contrast_finding(question: NumberMeans) -> Finding:
    """The two sets of groups that stand furthest apart: do means differ between any groups?"""
    if question.alone:
        return question.finding(None, reason=question.alone)
    exchange = question.compared.exchange if question.infers else None
    variance, share = question.grouped.error[None, :, None] ** 2, question.share[:, None]
    plain = ComparedRates(question.grouped.value[None, :, None], share, variance, _covariance(question))
    observed = Cuts.of(plain if exchange is None else exchange.observed)
    test = None if exchange is None else observed.against(exchange.drawn)
    lower = observed.lower()
    is_lower = 2 * int(lower.sum()) - (question.sign == 1) < lower.size  # of halves the worse
    codes = np.flatnonzero(lower if is_lower else ~lower).tolist()
    two = question.means_of(lower.astype(np.int64)[question.bound.group], 2)
    value = float(two.value[0] - two.value[1])
    side = "worse" if is_lower == (question.sign == 1) else "better"
    parts = [
        Part(
            kind="*".join(question.bound.by), key=question.bound.key(code),
            value=float(question.grouped.value[code]), n=float(question.bound.sizes[code]),
        )
        for code in codes
    ]  # fmt: skip
    means = two.value if is_lower else two.value[::-1]  # of the groups above the cut, and below
    details = {"side": side, "set_mean": float(means[1]), "others_mean": float(means[0])}
    fields: dict[str, Any] = {"details": details, "parts": parts}
    if not question.infers:
        return question.finding(value, notes=question.few(codes), **fields)
    draws = None if test is None else np.clip(observed.critical(test.draws), 0, two.span)
    p, limits = None if test is None else test.p_value, partial(observed.limits, two, test)
    method = "MOVER of both sets of groups, at once over all cuts of the groups in order of their means"
    return question.tested(value, limits, method, p, draws, codes, **fields)


def _covariance(question: NumberMeans) -> Floats | None:
    """Of the groups' means, with a diagonal of 0, shape (1, G, G, 1)."""
    covariance = question.grouped.covariance
    return None if covariance is None else (covariance - np.diag(np.diagonal(covariance)))[None, ..., None]
