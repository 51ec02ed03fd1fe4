"""Role choices bound to a grouping and a selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from evenhand.evidence.choices import Where
from evenhand.evidence.role_choices import UNUSABLE, RoleChoices
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import interval_and_p, no_value, turned_signs, wilson_method
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.metrics.prepared import By, Fields, Inference
from evenhand.stats.arrays import Floats, Integers, Rng
from evenhand.stats.paired.differences import Deviations
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.rates.differences import rate_limits
from evenhand.stats.rates.rates import group_rates


@dataclass(frozen=True, eq=False)
class BoundRoles(named.ChosenRows):
    """Role choices under one grouping and selection."""

    choices: RoleChoices
    where: Where

    @classmethod
    def of(cls, evidence: Any, by: By = (), where: Where | None = None) -> BoundRoles:
        """Bind choices to a grouping and a selection.

        Raises:
            InputError: The evidence is not RoleChoices.
            UnknownName: An attribute or value that does not exist.
        """
        names = named.bound_names(evidence, RoleChoices, "RoleChoices.join", by)
        counts = {"not annotated": evidence.unannotated, "no answer": evidence.unanswered}
        fields = named.bound(evidence.annotated, names, counts, evidence.selected(where or {}))
        return cls(**fields, choices=evidence, where=where or {})

    @property
    def params(self) -> Fields:
        """The selection, which tells a finding from others of its name and grouping."""
        return {name: named.listed(value) for name, value in sorted(self.where.items())}

    @property
    def purpose(self) -> tuple[str, ...]:
        """What a random stream is for."""
        return str(self.params), "+".join(self.by)

    def codes_of(self, names: Sequence[str]) -> Integers:
        """One code for each chosen row for the crossed columns; a missing value is a value of its own."""
        return named.crossed(self.choices.annotated.filter(self.chosen), names)

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
        return self.choices.share(outcome)[self.chosen]

    def outcomes(self, row: Integers, value: Floats, **of_sets: Any) -> pl.DataFrame:
        """What some chosen rows count as; or their sets, which are drawn whole, with columns of their own."""
        unit = self.choices.cluster or (self.choices.set_ if of_sets else None)
        names = {
            "unit": pl.lit(None) if unit is None else pl.col(unit),
            "unit_name": pl.lit(unit or "sample"),
        }
        rows = self.choices.annotated.filter(self.chosen)[row].with_columns(**names)
        return rows.select("sample", *names, *self.by).cast(pl.String).with_columns(value=value, **of_sets)

    @cached_property
    def unusable(self) -> float:
        """The share of answers that choose no option."""
        rows = self.share(UNUSABLE)
        return float(rows.mean()) if rows.size else 0.0

    @cached_property
    def reencoded(self) -> dict[str, float]:
        """The share of answers that change with the encoding of the image; nothing where none was asked."""
        again = np.zeros(0) if self.choices.again is None else self.choices.again[self.chosen]
        return {"noise_reencoded": float(np.nanmean(again))} if np.isfinite(again).any() else {}

    def signed(
        self, away: Deviations, inference: Inference, seed: int, rng: Rng, scale: float = 1.0
    ) -> Fields:
        """Fields of the mean of numbers whose sign would turn if the two compared changed places."""
        if not away.difference.size:
            return no_value("single_group")
        fields: Fields = {"value": scale * away.value}
        if inference == "none":
            return fields
        if np.unique(away.units).size < FEWEST:
            return fields | {"reason": ONE_CLUSTER}
        return fields | turned_signs(away, rng, seed, "the two", self.unit_name, scale=scale)


def mean_interval(
    values: Floats, unit: Integers | None, p_value: float | None = None, reference: float = 0.0
) -> Fields:
    """Interval and p of a mean in [0, 1]: Wilson's at the size that units leave; nothing below two units.

    ``p_value`` is that of a test of the reference, if there is one.
    """
    clusters = np.arange(values.size) if unit is None else unit
    if np.unique(clusters).size < FEWEST:
        return {}
    rates = group_rates(values, np.zeros(values.size, dtype=np.int64), 1, clusters)
    limits = partial(rate_limits, rates)
    return interval_and_p(limits, p_value, reference, wilson_method(unit, "units"))
