"""What metrics by group share: the fields of their findings, and what chance does to a gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.findings import Finding, Interval, NewDetails
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.metrics.estimates import described, few_decide, null_band
from evenhand.metrics.named_groups import NamedGroups
from evenhand.metrics.prepared import LEVEL, Mode, Unknown
from evenhand.stats.arrays import Ends, Floats, Integers, Limits, Pair
from evenhand.stats.exchange.relabelling import units_in
from evenhand.stats.rates.differences import normal_quantile
from evenhand.stats.rates.rates import Rates

ONE_CLUSTER = "one_cluster"
"""Why there is no interval, null or p: nothing else of the kind was drawn."""


@dataclass(frozen=True, eq=False)
class GapTest:
    """What is known of a gap."""

    p_value: float  # of the gap of groups that are exchanged
    draws: Floats  # gaps of groups that were exchanged
    limits: Limits  # from a level to low and high limit of the gap
    method: str  # how limits are made
    chance_at: float | None = None  # the gap that chance alone leads to expect, where that is not 0


@dataclass(frozen=True, eq=False)
class GroupQuestion(ABC):
    """What one metric asks of evidence that is bound to a grouping."""

    bound: NamedGroups  # the samples or queries by group
    name: str  # name of the metric
    unknown: Unknown  # `keep` or `exclude` those whose annotators could not tell
    mode: Mode  # `default` or `paper`
    infers: bool  # whether intervals, null bands and p are wanted
    seed: int  # of the exchanges

    @property
    @abstractmethod
    def units(self) -> str:
        """What is exchanged: ``rows``, ``queries`` or the column of clusters."""

    @property
    @abstractmethod
    def exchanged_how(self) -> str:
        """What the null draws."""

    @abstractmethod
    def finding(self, value: float | None, **fields: Any) -> Finding:
        """A Finding with what the metric says of itself filled in."""

    @property
    @abstractmethod
    def grouped(self) -> Rates:
        """Rates of all groups, with their limits."""

    @property
    @abstractmethod
    def method(self) -> str:
        """How intervals of rates are made."""

    @cached_property
    def limits(self) -> Ends:
        """Of the rate of each group."""
        return self.grouped.limits(normal_quantile(LEVEL))

    def interval_of(self, code: int, value: float) -> dict[str, Any]:
        """The interval of one group's rate as a field of its part, or the reason why there is none."""
        if not self.grouped.size[code]:
            return {"reason": ONE_CLUSTER}
        low, high = self.limits
        return {"interval": self.interval((float(low[code]), float(high[code])), value, LEVEL, self.method)}

    def rate(self, value: float, overall: Rates, **fields: Any) -> Finding:
        """A rate of all samples with its interval."""
        if not overall.size[0]:
            return self.finding(value, reason=ONE_CLUSTER, **fields)

        def make(level: float) -> Interval:
            low, high = overall.limits(normal_quantile(level))
            return self.interval((float(low[0]), float(high[0])), value, level, self.method)

        return self.finding(value, interval=make(LEVEL), limits=make, **fields)

    @cached_property
    def units_of(self) -> Integers:
        """Units of each group, shape (groups,)."""
        cluster, group = self.bound.cluster, self.bound.group
        if cluster is None:
            return self.bound.sizes
        return units_in(cluster, group, len(self.bound.groups))

    def interval(self, ends: Pair, value: float, level: float, method: str) -> Interval:
        """An interval that holds its value, which paper mode may have rounded."""
        return Interval(low=min(ends[0], value), high=max(ends[1], value), level=level, method=method)

    def described(
        self, value: float | None, params: Mapping[str, Any], facts: Mapping[str, Any], remarks: list[str],
        **fields: Any,
    ) -> Finding:  # fmt: skip
        """A Finding with what the grouping and the definition say filled in.

        ``facts`` tell the evidence from others; ``remarks`` come before the ``notes`` of the fields.
        """
        unknown = {"unknown": self.unknown} if self.unknown != "keep" else {}
        mode = {"mode": self.mode} if self.mode == "paper" else {}
        notes = remarks + fields.pop("notes", [])
        return described(
            self.bound, self.name, {**params, **unknown, **facts, **mode}, value, notes=notes, **fields
        )

    def extremes(self, numbers: Floats, what: str) -> NewDetails:
        """The known groups with the highest and the lowest number, for the details of a gap.

        ``numbers`` has one for each known group; ``what`` they are, such as ``rate``, names them.
        """
        codes = np.flatnonzero(self.bound.known)
        highest, lowest = int(codes[numbers.argmax()]), int(codes[numbers.argmin()])
        return {
            "highest": "*".join(self.bound.groups[highest]), f"highest_{what}": float(numbers.max()),
            "lowest": "*".join(self.bound.groups[lowest]), f"lowest_{what}": float(numbers.min()),
        }  # fmt: skip

    def not_compared(self) -> list[str]:
        """Notes that name the groups that are not compared, by why; nothing where there are none."""
        notes: dict[str, list[str]] = {}
        for code in np.flatnonzero(~self.bound.known).tolist():
            group = self.bound.groups[code]
            unknown = any(value.lower() in UNKNOWN for value in group)
            why = "their group is not known" if unknown else "the database has nobody like them"
            notes.setdefault(why, []).append("*".join(group))
        return [f"not compared, because {why}: {', '.join(groups)}" for why, groups in notes.items()]

    def few(self, numbers: Floats) -> list[str]:
        """A note where the highest or the lowest of the known groups is small."""
        codes = np.flatnonzero(self.bound.known)
        ends = dict.fromkeys(int(codes[index]) for index in (numbers.argmax(), numbers.argmin()))
        group_sizes = (("*".join(self.bound.groups[code]), int(self.units_of[code])) for code in ends)
        return few_decide(group_sizes, self.units)

    def gap(self, value: float, test: GapTest, **fields: Any) -> Finding:
        """A largest minus a smallest number with its interval, null and p."""

        def make(level: float) -> Interval:
            low, high = test.limits(level)
            if test.p_value > 1 - level:  # a one-sided test says nothing of a gap below chance
                low = min(low, test.chance_at or 0.0)
            return self.interval((low, high), value, level, test.method)

        band = null_band(test.draws, level=LEVEL, method=self.exchanged_how, seed=self.seed, side="high")
        fields |= {"null": band, "p_value": test.p_value, "chance_at": test.chance_at}
        return self.finding(value, interval=make(LEVEL), limits=make, **fields)
