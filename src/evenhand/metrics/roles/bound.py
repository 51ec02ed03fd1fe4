"""Role choices bound to a grouping and a selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.findings import Dropped, Interval
from evenhand.evidence.choices import Where
from evenhand.evidence.role_choices import UNUSABLE, RoleChoices
from evenhand.metrics import named_groups as named
from evenhand.metrics.prepared import By, names_of
from evenhand.stats.arrays import Floats, Integers, Mask, Pair
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.rates.differences import normal_quantile
from evenhand.stats.rates.rates import group_rates


@dataclass(frozen=True, eq=False)
class BoundRoles(named.NamedGroups):
    """Role choices under one grouping and selection."""

    choices: RoleChoices
    by: tuple[str, ...]
    where: Where
    rows: Mask  # which rows of the choices are in it
    groups: named.Groups
    group: Integers
    dropped: list[Dropped]

    @classmethod
    def of(cls, evidence: Any, by: By = (), where: Where | None = None) -> BoundRoles:
        """Bind choices to a grouping and a selection.

        Raises:
            InputError: The evidence is not RoleChoices.
            UnknownName: An attribute or value that does not exist.
        """
        named.check_kind(evidence, RoleChoices, "RoleChoices.join")
        names = names_of(by)
        for name in names:
            evidence.check_attribute(name)
        counts = {"not annotated": evidence.unannotated} if evidence.unannotated else {}
        counts |= {"no answer": evidence.unanswered} if evidence.unanswered else {}
        columns = named.texts(evidence.annotated, names)
        mask = named.left_out(evidence.selected(where or {}), named.missing(columns), counts)
        return cls(evidence, names, where or {}, mask, *named.coded(columns, mask), named.dropped_of(counts))

    @property
    def params(self) -> dict[str, Any]:
        """What tells a finding from others of its name and grouping."""
        conditions = [
            f"{name}={value if isinstance(value, str) else '|'.join(value)}"
            for name, value in sorted(self.where.items())
        ]
        return {"where": ",".join(conditions)} if conditions else {}

    @property
    def purpose(self) -> tuple[str, ...]:
        """What a random stream is for."""
        return str(self.params), "+".join(self.by)

    def codes_of(self, names: Sequence[str]) -> Integers:
        """One code for each chosen row for the crossed columns; a missing value is a value of its own."""
        if not names:
            return np.zeros(int(self.rows.sum()), dtype=np.int64)
        values = [pl.col(name).cast(pl.String).fill_null("") for name in names]
        table = self.choices.annotated.filter(self.rows)
        ranked = table.select(code=pl.concat_str(values, separator="\x1f").rank("dense"))
        return ranked["code"].to_numpy().astype(np.int64) - 1

    @cached_property
    def unit(self) -> Integers | None:
        """Unit of each chosen row; None where each row is its own."""
        name = self.choices.cluster
        return None if name is None else self.codes_of([name])

    @property
    def unit_name(self) -> str:
        """What is drawn as a whole."""
        return self.choices.cluster or "sample"

    def share(self, outcome: str) -> Floats:
        """The share of each chosen row's orders with an outcome."""
        return self.choices.share(outcome)[self.rows]

    @cached_property
    def unusable(self) -> float:
        """The share of answers that choose no option."""
        rows = self.share(UNUSABLE)
        return float(rows.mean()) if rows.size else 0.0

    def inside(self, code: int) -> BoundRoles:
        """The rows of one group, without a grouping."""
        mask = self.rows.copy()
        mask[np.flatnonzero(self.rows)[self.group != code]] = False
        where = {**self.where, **dict(zip(self.by, self.groups[code], strict=True))}
        zeros = np.zeros(int(mask.sum()), dtype=np.int64)
        return replace(self, by=(), where=where, rows=mask, groups=[()], group=zeros)


def mean_interval(values: Floats, unit: Integers | None, level: float) -> Interval | None:
    """Wilson's limits of a mean of numbers in [0, 1] at the size that units leave; None below two units."""
    ends = mean_ends(values, unit, level)
    if ends is None:
        return None
    by = "" if unit is None else f", effective size by {np.unique(unit).size} units"
    return Interval(low=ends[0], high=ends[1], level=level, method=f"Wilson score{by}")


def mean_ends(values: Floats, unit: Integers | None, level: float) -> Pair | None:
    """The limits of ``mean_interval``; None below two units."""
    clusters = np.arange(values.size) if unit is None else unit
    if np.unique(clusters).size < FEWEST:
        return None
    rates = group_rates(values, np.zeros(values.size, dtype=np.int64), 1, clusters)
    low, high = rates.limits(normal_quantile(level))
    return float(low[0]), float(high[0])
