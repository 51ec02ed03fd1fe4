"""Choices bound to a grouping and a selection: rates of both genders, and what exchanging genders gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.findings import Finding, GroupSize
from evenhand.evidence.choices import OUTCOMES, Choices
from evenhand.evidence.predictions.columns.annotated import Remembering, Where
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import By, Fields, Mode, described, get_or_make, number
from evenhand.stats.arrays import Floats, Integers, Mask, Rng, ratio
from evenhand.stats.exchange.compared_rates import ExchangedRates
from evenhand.stats.exchange.relabelling import units_in
from evenhand.stats.exchange.rows import UnitRows, exchange, likeness
from evenhand.stats.rates.clustered import FEWEST, GroupCells
from evenhand.stats.rates.rates import Rates, group_rates

Weight = tuple[float, float]

MEAN, GAP = (0.5, 0.5), (1.0, -1.0)
"""What the rates of the first and the second gender count for."""

DRAWS = 1999
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class OutcomeRates:
    """The samples of one piece of a finding; arrays of shape (N,)."""

    values: Floats  # how much each counts as the outcome, whole numbers of ``1/unit``
    turned: Floats  # how much it would if the truth were the other gender
    unit: int  # what counts as one
    second: Mask  # whether the truth is the second gender
    stratum: Integers  # codes within which genders are exchanged
    cluster: Integers | None  # codes; None where each row is its own unit

    def take(self, mask: Mask) -> OutcomeRates:
        """Fewer samples."""
        cluster = None if self.cluster is None else self.cluster[mask]
        return OutcomeRates(
            self.values[mask], self.turned[mask], self.unit, self.second[mask], self.stratum[mask], cluster
        )

    @cached_property
    def hits(self) -> Floats:
        """How much each counts, in [0, 1]."""
        return self.values / self.unit

    @cached_property
    def gender(self) -> Integers:
        """Code of each sample's gender."""
        return self.second.astype(np.int64)

    @cached_property
    def sizes(self) -> Integers:
        """Samples of the two genders."""
        return np.bincount(self.gender, minlength=2)

    @cached_property
    def shares(self) -> Floats:
        """The outcome's share among each gender; NaN where there is no sample."""
        return ratio(np.bincount(self.gender, self.values, 2) / self.unit, self.sizes)

    def value(self, weight: Weight) -> float | None:
        """The mean or the gap of the shares; None without both genders."""
        return number((np.array(weight) * self.shares).sum())

    @property
    def reason(self) -> str | None:
        """Why there is no value."""
        if not self.second.size:
            return "empty"
        return None if self.sizes.all() else "single_group"

    @cached_property
    def units(self) -> Integers:
        """Units of the two genders: clusters, or samples."""
        return self.sizes if self.cluster is None else units_in(self.cluster, self.gender, 2)

    @cached_property
    def is_one_unit(self) -> bool:
        """Whether neither gender has the two units that say how units vary."""
        return bool(self.units.max() < FEWEST)

    @cached_property
    def rates(self) -> Rates:
        """The shares of both genders. One unit says nothing of others."""
        if self.cluster is None:
            rates = group_rates(self.hits, self.gender, 2, None)
            return replace(rates, size=np.where(rates.size < FEWEST, 0.0, rates.size))
        cells = GroupCells.of_rows(self.hits, self.gender, 2, self.cluster)
        rates = Rates.of_clusters(cells.means())
        if not 0 < self.hits.mean() < 1:
            return rates
        # a gender without a hit, or without a miss, shows not how alike the samples of its clusters are:
        # those of both genders do
        together = ratio(np.bincount(cells.group, cells.sizes**2, 2), self.sizes, 1.0)
        size = self.sizes / (1 + (together - 1) * likeness(self.unit_rows(self.hits)))
        hidden = (rates.size > 0) & ((rates.value <= 0) | (rates.value >= 1))
        return replace(rates, size=np.where(hidden, np.maximum(size, rates.size), rates.size))

    def unit_rows(self, values: Floats) -> UnitRows:
        """Numbers of the samples by gender and unit."""
        return UnitRows(values, self.gender, 2, self.cluster)

    def exchanged(self, weight: Weight, rng: Rng) -> PermutedGenders | None:
        """Genders exchanged at random; None where nothing can change places.

        For a gap the outcomes stay, and the genders of the samples change: gender makes no difference. For
        a mean, or one gender's rate, the choices stay, and the truths change: the choice has nothing to do
        with the person.
        """
        values, slope = self._values_compared(weight)
        rows = self.unit_rows(values)
        if rows.fixed or self.is_one_unit:
            return None
        mixed = np.where(rows.mixed[rows.units], rows.units + 1, 0)
        _, block = np.unique(np.stack([self.stratum, mixed]), axis=1, return_inverse=True)
        rows = rows.within(block.ravel())
        value = float(self.value(weight) or 0.0)
        exchanged_rates = exchange(rows, rng, DRAWS, stratum=self.stratum)
        apart = exchanged_rates.observed.rates[0, 0, 0] - exchanged_rates.observed.rates[0, 1, 0]
        return PermutedGenders(exchanged_rates, slope, value - slope * float(apart))

    def _values_compared(self, weight: Weight) -> tuple[Floats, float]:
        """Values in [0, 1] whose difference between genders moves as the wanted one does, and how far."""
        if weight == GAP:
            return self.hits, 1.0
        as_first = np.where(self.second, self.turned, self.values) / self.unit
        as_second = np.where(self.second, self.values, self.turned) / self.unit
        (n_first, n_second), n = self.sizes, self.second.size
        if weight == MEAN:  # what a sample adds as one gender, less what it adds as the other
            return (as_first * n_second - as_second * n_first + n_first) / n, 0.5
        return (as_first, n_second / n) if weight[0] else (as_second, -n_first / n)


@dataclass(frozen=True, eq=False)
class PermutedGenders:
    """What exchanging genders gives a mean or a gap."""

    drawn: ExchangedRates  # of what is left of values without their strata
    slope: float  # how far the value moves with a difference of one between genders
    expected: float  # the value's mean over all exchanges

    @property
    def values(self) -> Floats:
        """The value in each draw."""
        rates = self.drawn.rates
        return self.expected + self.slope * (rates[:, 0] - rates[:, 1])

    @property
    def p_value(self) -> float:
        """Two-sided, studentised; 1 where no exchange moves the value."""
        moved = np.abs(self.drawn.drawn.rates - self.drawn.observed.rates)
        return 1.0 if moved.max(initial=0.0) <= _ROUNDING else self.drawn.largest.p_value


@dataclass(frozen=True, eq=False)
class BoundChoices(named.ChosenRows, Remembering):
    """Usable choices under one grouping and selection."""

    choices: Choices
    where: Where
    mode: Mode

    @classmethod
    def of(cls, evidence: Any, by: By, where: Where | None, mode: Mode = "default") -> BoundChoices:
        """Bind choices to a grouping and a selection; choices remember it, for the next metric."""
        names = named.bound_names(evidence, Choices, "Choices.join", by)
        # of its own, since the caller may change theirs
        where = {name: some if isinstance(some, str) else tuple(some) for name, some in (where or {}).items()}
        key = ("bound", names, tuple(sorted(where.items())), mode)
        if key not in evidence.memo:
            inside, usable = evidence.selected(where), evidence.reason.is_null().to_numpy()
            counts = Counter(evidence.reason.to_numpy()[inside & ~usable].tolist())
            counts["not annotated"] = evidence.unannotated
            fields = named.bound(evidence.table, names, counts, inside[usable])
            evidence.memo[key] = cls(**fields, choices=evidence, where=where, mode=mode)
        remembered: BoundChoices = evidence.memo[key]
        return remembered

    def units(self, rows: OutcomeRates) -> str:
        """What is drawn as a whole in these rows, in words."""
        return "rows" if rows.cluster is None else f"values of {self.choices.cluster}"

    def piece(self, rows: OutcomeRates, code: int) -> OutcomeRates:
        """The rows of one group.

        A group that is one value of the cluster's attribute is not drawn from others like it: its rows are.
        """
        rows = rows.take(self.group == code)
        return replace(rows, cluster=None) if self.choices.cluster in self.by else rows

    def rows(self, outcome: str) -> OutcomeRates:
        """All rows in it."""
        if outcome not in self.memo:
            choices = self.choices
            ties = "first" if self.mode == "paper" else "share"
            outcomes, unit = get_or_make(choices.memo, ties, choices.outcomes, ties)
            turned = {"correct": "misgendered", "misgendered": "correct"}.get(outcome, outcome)
            at = [OUTCOMES.index(outcome), OUTCOMES.index(turned)]
            values = outcomes[self.chosen].T[at].astype(np.float64)
            second = (choices.table["truth"] == choices.genders[1]).to_numpy()[self.chosen]
            stratum = _codes(choices, choices.strata)[self.chosen]
            cluster = _codes(choices, [choices.cluster])[self.chosen] if choices.cluster else None
            self.memo[outcome] = OutcomeRates(values[0], values[1], unit, second, stratum, cluster)
        remembered: OutcomeRates = self.memo[outcome]
        return remembered

    @property
    def params(self) -> Fields:
        """What tells a finding from others of its name and grouping."""
        params = {"candidates": "/".join(self.choices.candidates)}
        if self.where:
            conditions = [f"{name}={named.listed(value)}" for name, value in sorted(self.where.items())]
            params["where"] = ",".join(conditions)
        params |= self.choices.facts
        return params | ({"mode": self.mode} if self.mode == "paper" else {})

    def group_sizes(self) -> list[GroupSize]:
        """Samples of each group, or of each gender where there is no grouping."""
        if self.by:
            return super().group_sizes()
        sizes = zip(self.choices.genders, self.rows("correct").sizes.tolist(), strict=True)
        return [GroupSize(key=gender, n=n) for gender, n in sizes if n]

    def finding(self, name: str, params: Fields, **fields: Any) -> Finding:
        """A Finding with what the binding and the definition say filled in."""
        tied, notes = int(self.choices.tied[self.chosen].sum()), list(fields.pop("notes", []))
        if tied:
            how = "the first counts" if self.mode == "paper" else "they share the weight"
            have = "sample has" if tied == 1 else "samples have"
            notes.append(f"{tied} {have} several candidates with the highest score; {how}")
        return described(self, name, params, notes=notes, **fields)


def _codes(choices: Choices, names: Sequence[str]) -> Integers:
    """One code per usable row for the crossed attributes; a missing value is a value of its own."""
    return get_or_make(choices.memo, ("codes", tuple(names)), named.crossed, choices.table, names)
