"""Rates of groups: one engine for metrics that are the mean by group of a number that each row has.

A family of metrics says which number a row has, what its units and strata are, and how a finding of it
is made; rates, gaps, worst groups and their parts, with intervals, null bands and p, are made here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from evenhand.core.findings import Finding, Interval, NewDetails, Null, Part
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.metrics.estimates import (
    LEVEL,
    Z_POWER,
    Fields,
    Mode,
    Unknown,
    agreeing,
    at_levels,
    described,
    few_decide,
    null_band,
    number,
    p_of_both,
)
from evenhand.metrics.named_groups import NamedGroups
from evenhand.stats.arrays import Ends, Floats, Integers, Pair, Rng, pair_of
from evenhand.stats.exchange.compared_rates import ExchangedRates
from evenhand.stats.exchange.relabelling import units_in
from evenhand.stats.exchange.rows import UnitRows, exchange
from evenhand.stats.rankings.neighbour_labels import RelabelledGroups
from evenhand.stats.rates.rates import (
    MOST_PAIRED,
    Rates,
    normal_quantile,
    pair_limits,
    range_limits,
    rate_limits,
    worst_limits,
)

ONE_CLUSTER = "one_cluster"
"""Why there is no interval, null or p: nothing else of the kind was drawn."""
CROWDED = "{unit} lie in several of more than 30 groups, so there is no exchange of {unit}"
_ROUNDING = 1e-9
_ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Some groups, their units exchanged, and what their strata alone lead to expect of their rates."""

    rows: UnitRows
    stratum: Integers | None  # of each row, codes; None where all are of one
    rng: Rng

    @cached_property
    def _within(self) -> UnitRows:
        return self.rows if self.stratum is None else self.rows.within(self.stratum)

    @cached_property
    def fixed(self) -> bool:
        """Whether nothing can change places."""
        return self.rows.fixed

    @cached_property
    def exchange(self) -> ExchangedRates | None:
        """Of rows without what strata make of them; None where nothing can change places, or too much."""
        rows = self.rows
        crowded = rows.groups > MOST_PAIRED and rows.mixed.any()
        return None if rows.groups < 2 or self.fixed or crowded else exchange(self._within, self.rng)

    @cached_property
    def expected(self) -> Floats:
        """Rate of each group that its strata alone lead to expect, shape (G,)."""
        rows = self.rows
        if self.stratum is None:
            return np.full(rows.groups, rows.mean)
        left = rows.value - self._within.value + rows.mean
        total = np.bincount(rows.group, rows.weights * left, rows.groups)
        return total / np.bincount(rows.group, rows.weights, rows.groups)

    @cached_property
    def nulls(self) -> Floats:
        """Rates that groups of these strata have by chance, shape (R, G)."""
        draws = np.zeros((0, self.rows.groups)) if self.exchange is None else self.exchange.rates
        return np.clip(self.expected + draws - self.rows.mean, *(self.rows.ends or (0, 1)))


@dataclass(frozen=True, eq=False)
class ComparedLabels:
    """Groups whose labels change places everywhere they enter."""

    exchange: RelabelledGroups
    fixed: bool  # whether nothing can change places
    stratum: None = None

    @property
    def expected(self) -> Floats:
        """Precision of each group that chance leads to expect, shape (G,)."""
        return self.exchange.expected

    @property
    def nulls(self) -> Floats:
        """Precision by chance, shape (R, G)."""
        return self.exchange.nulls


GroupComparison: TypeAlias = ComparedRows | ComparedLabels
"""Some groups whose units change places."""


def furthest_apart(values: Floats) -> tuple[int, int]:
    """Where the lowest and the highest value are: of values that are all alike two different places."""
    lowest, highest = int(values.argmin()), int(values.argmax())
    return (1, 0) if lowest == highest and values.size > 1 else (lowest, highest)


@dataclass(frozen=True, eq=False)
class GroupRates(ABC):
    """What one metric asks of evidence that is bound to a grouping."""

    bound: NamedGroups  # the rows by group
    name: str  # name of the metric
    unknown: Unknown  # `keep` or `exclude` those whose annotators could not tell
    mode: Mode  # `default` or `paper`
    infers: bool  # whether intervals, null bands and p are wanted
    seed: int  # of the exchanges

    ends = ("highest", "lowest")  # what details call the groups that a largest gap is between
    what = "rate"  # what is compared, in details
    gap_by_strata = "gap_by_stratum"  # what details call the gap that strata alone lead to expect
    mover = "MOVER of all pairs, simultaneous by the exchange's largest t"
    has_power = False  # whether the detectable gap is told

    @property
    @abstractmethod
    def reason(self) -> str | None:
        """Why there is no rate at all."""

    @property
    def alone(self) -> str | None:
        """Why nothing can be compared."""
        return self.reason or ("single_group" if self.known.size < 2 else None)

    @property
    @abstractmethod
    def units(self) -> str:
        """What is exchanged: ``rows``, ``queries`` or the column of clusters."""

    @property
    @abstractmethod
    def exchanged_how(self) -> str:
        """What the null draws."""

    @property
    @abstractmethod
    def method(self) -> str:
        """How intervals of rates are made."""

    @property
    @abstractmethod
    def grouped(self) -> Rates:
        """Rates of all groups, with their limits."""

    @property
    def values(self) -> Floats:
        """The same as they are printed, shape (groups,)."""
        return self.grouped.value

    @property
    @abstractmethod
    def compared(self) -> GroupComparison:
        """The known groups."""

    @abstractmethod
    def parts(self) -> list[Part]:
        """The rate of each group, and how it stands to the others."""

    @abstractmethod
    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the metric says of itself filled in."""

    @cached_property
    def limits(self) -> Ends:
        """Of the rate of each group."""
        return self.grouped.limits(normal_quantile(LEVEL))

    @cached_property
    def units_of(self) -> Integers:
        """Units of each group, shape (groups,)."""
        cluster, group = self.bound.cluster, self.bound.group
        if cluster is None:
            return self.bound.sizes
        return units_in(cluster, group, len(self.bound.groups))

    @property
    def known(self) -> Integers:
        """Codes of the groups that are compared."""
        return np.flatnonzero(self.bound.known)

    def rate(self, value: float, overall: Rates | None, **fields: Any) -> Finding:
        """The rate of all rows, with a part for each group."""
        fields["parts"] = self.parts()
        if overall is None or not self.infers:
            return self.finding(value, **fields)
        if not overall.size[0]:
            return self.finding(value, reason=ONE_CLUSTER, **fields)

        limits = at_levels(partial(rate_limits, overall), self.method, value=value)
        return self.finding(value, limits=limits, **fields)

    def gap(
        self, pair: Sequence[int] | None = None, compared: GroupComparison | None = None, **fields: Any
    ) -> Finding:
        """The rate of one group less that of another; by default the highest less the lowest of the known.

        ``compared`` are the two of a pair.
        """
        codes = self.known if pair is None else np.array(pair)
        compared = compared or self.compared
        numbers, rates = self.values[codes], self.grouped.take(codes)
        second, first = furthest_apart(numbers) if pair is None else (1, 0)
        value, details = float(numbers[first] - numbers[second]), Fields()
        for role, end in zip(
            self.ends if pair is None else ("first", "second"), (first, second), strict=True
        ):
            details |= {role: self.bound.text(codes[end]), f"{role}_{self.what}": numbers[end]}
        notes = [*fields.pop("notes", []), *(self.not_compared() if pair is None else [])]
        fields["notes"] = [*notes, *self.few(codes[[first, second]].tolist())]
        fields["details"] = details | fields.pop("details", {})
        if not self.infers:
            return self.finding(value, **fields | {"mde": None})
        spread = partial(np.ptp, axis=-1) if pair is None else _first_less_second
        expected, exchange = float(spread(compared.expected)), compared.exchange
        if compared.stratum is not None:
            fields["details"][self.gap_by_strata] = expected
        if compared.fixed:
            return self.finding(value, **fields | {"reason": ONE_CLUSTER, "mde": None})
        p_value = None if exchange is None else exchange.largest.p_value
        either = None if exchange is None else exchange.p_either()

        def limits(level: float) -> Pair:
            if pair is not None:
                return pair_limits(rates, level)
            quantile = None if exchange is None else exchange.largest.quantile(level)
            return pair_of(range_limits(rates, level, quantile=quantile))

        p_value = p_of_both(p_value, expected, limits)

        def agreed(level: float) -> Pair:
            low, high = agreeing(limits(level), either, expected, level)
            # one-sided, the test says nothing of less than chance
            return agreeing((low, high), p_value, expected, level)[0], high

        if exchange is None:
            fields["notes"] += [CROWDED.format(unit=self.units)]
        else:
            draws = spread(compared.nulls)
            if pair is None and value > expected:  # p and band are of one statistic
                draws = exchange.gaps(value, expected)
            fields |= {"p_value": p_value, "null": self.band(draws, "high" if pair is None else "both")}
            if self.has_power and pair is None:
                fields["mde"] = _detectable(draws, codes.size)
        at = expected if abs(expected) > _ROUNDING else None
        levels = at_levels(agreed, self.mover, value=value)
        return self.finding(value, limits=levels, chance_at=at, **fields)

    def interval_of(self, code: int, value: float) -> Fields:
        """The interval of one group's rate as a field of its part, or the reason why there is none."""
        if not self.grouped.size[code]:
            return {"reason": ONE_CLUSTER}
        low, high = self.limits
        return {"interval": self.interval((float(low[code]), float(high[code])), value, LEVEL, self.method)}

    def interval(self, ends: Pair, value: float, level: float, method: str) -> Interval:
        """An interval that holds its value, which paper mode may have rounded."""
        return Interval(low=min(ends[0], value), high=max(ends[1], value), level=level, method=method)

    def band(self, draws: Floats, side: str = "both", mean: float | None = None) -> Null | None:
        """A null band of what exchanged groups give, around a mean where it is known."""
        method = self.exchanged_how
        return null_band(draws, method=method, seed=self.seed, side=side, mean=mean)

    def described(
        self, value: float | None, params: Fields, facts: Mapping[str, Any], remarks: list[str],
        **fields: Any,
    ) -> Finding:  # fmt: skip
        """A Finding with what the grouping and the definition say filled in.

        ``facts`` tell the evidence from others; ``remarks`` come before the ``notes`` of the fields.
        """
        unknown = self.unknown if self.unknown != "keep" else None
        mode = self.mode if self.mode == "paper" else None
        notes = remarks + fields.pop("notes", [])
        all_params = {**params, "unknown": unknown, **facts, "mode": mode}
        return described(self.bound, self.name, all_params, value, notes=notes, **fields)

    def not_compared(self) -> list[str]:
        """Notes that name the groups that are not compared, by why; nothing where there are none."""
        notes: dict[str, list[str]] = {}
        for code in np.flatnonzero(~self.bound.known).tolist():
            group = self.bound.groups[code]
            is_known = UNKNOWN.isdisjoint(map(str.lower, group))
            why = "the database has nobody like them" if is_known else "their group is not known"
            notes.setdefault(why, []).append("*".join(group))
        return [f"not compared, because {why}: {', '.join(groups)}" for why, groups in notes.items()]

    def few(self, codes: Sequence[int]) -> list[str]:
        """A note where groups that decide a value are small."""
        some = list(dict.fromkeys(codes))
        sizes = zip(map(self.bound.text, some), self.units_of[some].tolist(), strict=True)
        return few_decide(sizes, self.units)


@dataclass(frozen=True, eq=False)
class RowRates(GroupRates):
    """Rates of rows whose units change places."""

    worst_method = "smallest of the groups' limits, simultaneous"

    @property
    @abstractmethod
    def compared(self) -> ComparedRows:
        """The known groups."""

    @abstractmethod
    def about(self, code: int) -> NewDetails:
        """Details of one group's part."""

    def parts(self) -> list[Part]:
        """The rate of each group, and how it stands to the others."""
        bound, codes = self.bound, self.known
        tested = self.infers and bound.by and self.reason is None and codes.size > 1
        exchange = self.compared.exchange if tested else None
        p_values = None if exchange is None else dict(zip(codes.tolist(), exchange.p_each(), strict=True))

        def fields(code: int) -> Fields:
            details = self.about(code)
            if self.reason is not None:
                return {"reason": self.reason, "value": None, "details": details}
            value = float(self.values[code])
            more = self.interval_of(code, value) if self.infers else {}
            if p_values is not None and code in p_values:
                null = self.band(self.compared.nulls[:, int(np.searchsorted(codes, code))])
                more |= {"null": null, "p_value": p_values[code]}
            return {"value": value, "details": details, **more}

        return bound.parts(fields)

    def worst(self, **fields: Any) -> Finding:
        """The lowest rate of a known group."""
        codes = self.known
        rates, worst = self.grouped.take(codes), int(codes[self.values[codes].argmin()])
        value = float(self.values[worst])
        fields |= {"details": {"worst": self.bound.text(worst)}, "notes": self.few([worst])}
        if not self.infers:
            return self.finding(value, **fields)
        if self.compared.exchange is not None:
            fields["null"] = self.band(self.compared.nulls.min(axis=1), "low")
            fields["p_value"] = self.compared.exchange.below_rest().p_value
        limits = at_levels(partial(worst_limits, rates), self.worst_method, value=value)
        return self.finding(value, limits=limits, **fields)


def _first_less_second(rates: Floats) -> Floats:
    return rates[..., 0] - rates[..., 1]


def _detectable(draws: Floats, groups: int) -> float | None:
    """The gap that would be called beyond chance with a power of .8.

    Of two groups the draws are absolute values, which have only ``sqrt(1 - 2/pi)`` of the signed spread.
    """
    spread = draws.std() / (np.sqrt(1 - 2 / np.pi) if groups == 2 else 1.0)
    return number(float(np.quantile(draws, 1 - _ALPHA) + Z_POWER * spread))
