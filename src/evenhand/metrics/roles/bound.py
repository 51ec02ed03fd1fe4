"""Role choices bound to a grouping and a selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.findings import Dropped, Interval, Null
from evenhand.evidence.choices import Where
from evenhand.evidence.role_choices import UNUSABLE, RoleChoices
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import agreeing, joint_p, number
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.metrics.prepared import LEVEL, Z_POWER, By, Inference, names_of
from evenhand.stats.arrays import Floats, Integers, Mask, Pair
from evenhand.stats.paired.differences import Deviations, paired_difference
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
        evidence.check_attribute(*names)
        counts = {"not annotated": evidence.unannotated} if evidence.unannotated else {}
        counts |= {"no answer": evidence.unanswered} if evidence.unanswered else {}
        columns = named.texts(evidence.annotated, names)
        mask = named.left_out(evidence.selected(where or {}), named.missing(columns), counts)
        return cls(evidence, names, where or {}, mask, *named.coded(columns, mask), named.dropped_of(counts))

    @property
    def params(self) -> dict[str, Any]:
        """The selection, which tells a finding from others of its name and grouping."""
        return {
            name: value if isinstance(value, str) else "|".join(value)
            for name, value in sorted(self.where.items())
        }

    @property
    def purpose(self) -> tuple[str, ...]:
        """What a random stream is for."""
        return str(self.params), "+".join(self.by)

    def codes_of(self, names: Sequence[str]) -> Integers:
        """One code for each chosen row for the crossed columns; a missing value is a value of its own."""
        return named.crossed(self.choices.annotated.filter(self.rows), names)

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

    @cached_property
    def reencoded(self) -> dict[str, float]:
        """The share of answers that change with the encoding of the image; nothing where none was asked."""
        again = np.zeros(0) if self.choices.again is None else self.choices.again[self.rows]
        return {"noise_reencoded": float(np.nanmean(again))} if np.isfinite(again).any() else {}

    def inside(self, code: int) -> BoundRoles:
        """The rows of one group, without a grouping."""
        mask = self.rows.copy()
        mask[np.flatnonzero(self.rows)[self.group != code]] = False
        where = {**self.where, **dict(zip(self.by, self.groups[code], strict=True))}
        zeros = np.zeros(int(mask.sum()), dtype=np.int64)
        return replace(self, by=(), where=where, rows=mask, groups=[()], group=zeros)


@dataclass(frozen=True, eq=False)
class SignedRows:
    """Numbers in [-1, 1] whose sign would turn if the two that are compared changed places."""

    values: Floats  # shape (N,)
    unit: Integers  # codes of what was drawn as a whole, shape (N,)
    unit_name: str
    scale: float = 1.0  # what their mean is multiplied by

    @property
    def units(self) -> int:
        """How many were drawn as a whole."""
        return int(np.unique(self.unit).size)

    @property
    def _all(self) -> tuple[Floats, Mask, Pair, Integers]:
        return self.values, np.zeros(self.values.size, dtype=bool), (1.0, 0.0), self.unit

    def compared(self, inference: Inference, seed: int, rng: np.random.Generator) -> dict[str, Any]:
        """Mean, interval, null band and p by turning the sign of whole units, smallest detectable mean."""
        if not self.values.size:
            return {"value": None, "reason": "single_group"}
        fields: dict[str, Any] = {"value": self.scale * float(self.values.mean())}
        if inference == "none":
            return fields
        if self.units < FEWEST:
            return fields | {"reason": ONE_CLUSTER}
        test, deviations = paired_difference(*self._all, rng), Deviations(*self._all)
        p_value = joint_p(test.p_value, 0.0, deviations.limits)
        low, high, mean = (self.scale * end for end in (*test.band(LEVEL), test.mean))
        sampling = {"replicates": test.replicates, "seed": seed} if test.replicates else {}
        method = f"the two exchanged by {self.unit_name}"
        band = Null(mean=mean, low=low, high=high, level=LEVEL, method=method, **sampling)
        ends, z = deviations.limits(LEVEL), normal_quantile(LEVEL)
        error = max(test.sd, (ends[1] - ends[0]) / (2 * z))
        return fields | {
            "interval": self.interval(LEVEL, p_value), "null": band, "p_value": p_value,
            "mde": number(self.scale * (z + Z_POWER) * error),
        }  # fmt: skip

    def interval(self, level: float, p_value: float | None) -> Interval:
        """Bonett and Price's, with rows shrunk to what units leave of them."""
        low, high = agreeing(Deviations(*self._all).limits(level), p_value, 0.0, level)
        method = f"Bonett-Price, paired, by {self.unit_name}"
        low, high = self.scale * max(low, -1.0), self.scale * min(high, 1.0)
        return Interval(low=low, high=high, level=level, method=method)


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
