"""The samples of one finding from choices: rates of both genders, and what exchanging the genders gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.stats.clustered import FEWEST, Cells
from evenhand.stats.exchange import Exchange, UnitRows, exchange, likeness
from evenhand.stats.rates import Rates

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Weight = tuple[float, float]

MEAN, GAP = (0.5, 0.5), (1.0, -1.0)
"""What the rates of the first and the second gender count for."""

DRAWS = 1999
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Rows:
    """The samples of one piece of a finding.

    Attributes:
        values: How much each counts as the outcome, whole numbers of ``1/unit``, shape (N,).
        turned: How much it would if the truth were the other gender, shape (N,).
        unit: What counts as one.
        second: Whether the truth is the second gender, shape (N,).
        stratum: Codes within which genders are exchanged, shape (N,).
        cluster: Codes, shape (N,), or None where each row is its own unit.
    """

    values: Integers
    turned: Integers
    unit: int
    second: Mask
    stratum: Integers
    cluster: Integers | None

    def take(self, chosen: Mask) -> Rows:
        """Fewer samples."""
        cluster = None if self.cluster is None else self.cluster[chosen]
        return Rows(
            self.values[chosen], self.turned[chosen], self.unit, self.second[chosen], self.stratum[chosen],
            cluster,
        )  # fmt: skip

    @property
    def sizes(self) -> tuple[int, int]:
        """Samples of the two genders."""
        other = int(self.second.sum())
        return self.second.size - other, other

    @cached_property
    def shares(self) -> tuple[float | None, float | None]:
        """The outcome's share among each gender; None where there is no sample."""
        first, second = (
            float(self.values[mask].sum() / self.unit / n) if n else None
            for mask, n in zip((~self.second, self.second), self.sizes, strict=True)
        )
        return first, second

    def value(self, weight: Weight) -> float | None:
        """The mean or the gap of the shares; None without both genders."""
        first, second = self.shares
        return None if first is None or second is None else weight[0] * first + weight[1] * second

    @property
    def reason(self) -> str | None:
        """Why there is no value."""
        if not self.second.size:
            return "empty"
        return None if all(self.sizes) else "single_group"

    @cached_property
    def units(self) -> tuple[int, int]:
        """Units of the two genders: clusters, or samples."""
        if self.cluster is None:
            return self.sizes
        one, other = (np.unique(self.cluster[mask]).size for mask in (~self.second, self.second))
        return one, other

    @cached_property
    def alone(self) -> bool:
        """Whether neither gender has the two units that say how units vary."""
        return max(self.units) < FEWEST

    @cached_property
    def rates(self) -> Rates:
        """The shares of both genders; there must be samples of each. One unit says nothing of others."""
        hits, group = self.values / self.unit, self.second.astype(np.int64)
        if self.cluster is None:
            rates = Rates.of_rows(np.bincount(group, hits, 2), np.bincount(group, minlength=2))
            return replace(rates, size=np.where(rates.size < FEWEST, 0.0, rates.size))
        cells = Cells.of_rows(hits, group, 2, self.cluster)
        rates = Rates.of_clusters(cells.means())
        if not 0 < hits.mean() < 1:
            return rates
        # a gender without a hit, or without a miss, shows not how alike the samples of its clusters are:
        # those of both genders do
        squares = np.bincount(cells.group, cells.sizes**2, 2)
        counts = np.array(self.sizes, dtype=np.float64)
        together = np.divide(squares, counts, out=np.ones(2), where=counts > 0)
        alike = likeness(UnitRows(hits, group, 2, self.cluster))
        size = counts / (1 + (together - 1) * alike)
        hidden = (rates.size > 0) & ((rates.value <= 0) | (rates.value >= 1))
        return replace(rates, size=np.where(hidden, np.maximum(size, rates.size), rates.size))

    def exchanged(self, weight: Weight, rng: np.random.Generator) -> Exchanged | None:
        """Genders exchanged at random; None where nothing can change places.

        For a gap the outcomes stay, and the genders of the samples change: gender makes no difference. For
        a mean, or one gender's rate, the choices stay, and the truths change: the choice has nothing to do
        with the person.

        Args:
            weight: Of the two genders' rates.
            rng: Source of the draws.
        """
        values, slope = self._moved(weight)
        rows = UnitRows(values, self.second.astype(np.int64), 2, self.cluster)
        if rows.fixed or self.alone:
            return None
        mixed = np.where(rows.mixed[rows.units], rows.units + 1, 0)
        _, block = np.unique(np.stack([self.stratum, mixed]), axis=1, return_inverse=True)
        rows = rows.within(block.ravel())
        value = float(self.value(weight) or 0.0)
        drawn = exchange(rows, rng, DRAWS, stratum=self.stratum)
        apart = drawn.observed.rates[0, 0] - drawn.observed.rates[0, 1]
        return Exchanged(drawn, slope, value - slope * float(apart))

    def _moved(self, weight: Weight) -> tuple[Floats, float]:
        """Values in [0, 1] whose difference between genders moves as the wanted one does, and how far."""
        if weight == GAP:
            return self.values / self.unit, 1.0
        as_first = np.where(self.second, self.turned, self.values) / self.unit
        as_second = np.where(self.second, self.values, self.turned) / self.unit
        (n_first, n_second), n = self.sizes, self.second.size
        if weight == MEAN:  # what a sample adds as one gender, less what it adds as the other
            return (as_first * n_second - as_second * n_first + n_first) / n, 0.5
        return (as_first, n_second / n) if weight[0] else (as_second, -n_first / n)


@dataclass(frozen=True, eq=False)
class Exchanged:
    """What exchanging genders gives a mean or a gap.

    Attributes:
        drawn: The exchange of what is left of values without their strata.
        slope: How far the value moves with a difference of one between genders.
        expected: The value's mean over all exchanges.
    """

    drawn: Exchange
    slope: float
    expected: float

    @property
    def values(self) -> Floats:
        """The value in each draw."""
        rates = self.drawn.rates
        return np.asarray(self.expected + self.slope * (rates[:, 0] - rates[:, 1]))

    @property
    def p_value(self) -> float:
        """Two-sided, studentised; 1 where no exchange moves the value."""
        moved = np.abs(self.drawn.drawn.rates - self.drawn.observed.rates)
        return 1.0 if moved.max(initial=0.0) <= _ROUNDING else self.drawn.p_largest()
