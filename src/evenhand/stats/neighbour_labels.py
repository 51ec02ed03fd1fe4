"""Labels of queries and database exchanged: what neighbours of a model that knows nothing of them would give.

Labels of units change places everywhere they enter: what queries ask for, their groups, the database. What is
near stays. Gaps are compared in standard errors of each draw (Janssen 1997; Chung and Romano 2013), because a
model may know labels, and groups alike, so that its precision varies otherwise than that of random labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.stats.exchange import pairs_of
from evenhand.stats.neighbour_pairs import Marks, NeighbourRows, Precision

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_WORK = 12_000_000  # neighbours and items x replicates that are drawn in all
_HELD = 60_000  # numbers of draws that are held at a time
_FEWEST, _MOST = 499, 999
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Relabelled:
    """Precision as observed, and with labels that changed places.

    Attributes:
        observed: As it is.
        value: Of groups, less chance, shape (R, G).
        covariance: Shape (R, G, G).
        total: Of all queries, less chance, shape (R,).
        shared: Whether a unit is on both sides, so that chance is above that of random items.
    """

    observed: Precision
    value: Floats
    covariance: Floats
    total: Floats
    shared: bool

    @cached_property
    def expected(self) -> Floats:
        """Precision that labels which say nothing lead to expect, shape (G,)."""
        own = self.value.mean(axis=0) if self.shared else np.zeros(self.value.shape[1])
        return np.asarray(np.clip(self.observed.chance + own, 0, 1))

    @property
    def expected_total(self) -> float:
        """The same of all queries."""
        return float(np.clip(self.observed.total_chance + (self.total.mean() if self.shared else 0.0), 0, 1))

    @property
    def rates(self) -> Floats:
        """Precision of groups by chance with the observed mix of labels, shape (R, G)."""
        return np.asarray(np.clip(self.observed.chance + self.value, 0, 1))

    @property
    def totals(self) -> Floats:
        """The same of all queries, shape (R,)."""
        return np.asarray(np.clip(self.observed.total_chance + self.total, 0, 1))

    def p_total(self) -> float:
        """Two-sided p of the precision of all queries."""
        return float(
            _two_sided(
                self.totals[:, None], np.array([self.observed.total]), np.array([self.expected_total])
            )[0]
        )

    def p_each(self) -> Floats:
        """Two-sided p of the precision of each group, shape (G,)."""
        return _two_sided(self.rates, self.observed.value, self.expected)

    def chance_at(self, known: Integers) -> float:
        """The gap of some groups that chance leads to expect."""
        return float(np.ptp(self.expected[known]))

    def p_gap(self, known: Integers, *, two_sided: bool = False) -> float:
        """The p of a gap of some groups above that by chance: max-t of how far differences are from it.

        Args:
            known: Groups that are compared.
            two_sided: Whether a gap below that by chance counts too.
        """
        apart, error = self._apart(self.observed.value[known][None], self.observed.covariance[None], known)
        beyond = _in_errors(apart - self.chance_at(known), error)
        most = abs(float(beyond[0, apart.argmax()])) if two_sided else float(beyond.max())
        reached = (self._largest(known) >= most - _ROUNDING * max(1.0, abs(most))).sum()
        return float((1 + reached) / (1 + len(self.value)))

    def quantile(self, known: Integers, level: float) -> float:
        """The quantile of the largest difference of two groups from its expectation, in standard errors."""
        return float(np.quantile(self._largest(known), level, method="higher"))

    def _largest(self, known: Integers) -> Floats:
        """How far the difference of two groups is from its expectation at most, in errors, in each draw."""
        free = (self.observed.chance + self.value - self.expected)[:, known]
        return np.asarray(_in_errors(*self._apart(free, self.covariance, known)).max(axis=1))

    def _apart(self, value: Floats, covariance: Floats, known: Integers) -> tuple[Floats, Floats]:
        contrast = pairs_of(known.size)
        inside = covariance[:, known][:, :, known]
        own = np.diagonal(inside, axis1=1, axis2=2) @ (contrast**2).T
        square = np.einsum("kg,rgh,kh->rk", contrast, inside, contrast, optimize=True)
        # a covariance may eat up what little variance there is; a tenth of it always stays
        return np.abs(value @ contrast.T), np.sqrt(np.maximum(square, 0.1 * own))


def _in_errors(apart: Floats, error: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        t = apart / error
    return np.where(
        error > 0, t, np.where(apart > _ROUNDING, np.inf, np.where(apart < -_ROUNDING, -np.inf, 0.0))
    )


def _two_sided(drawn: Floats, observed: Floats, middle: Floats) -> Floats:
    far = np.abs(observed - middle)
    exceeding = (np.abs(drawn - middle) >= far - _ROUNDING).sum(axis=0)
    return np.asarray((1 + exceeding) / (1 + len(drawn)))


def relabel(rows: NeighbourRows, rng: np.random.Generator) -> Relabelled:
    """Labels of units change places everywhere they enter: what queries ask for, their groups, the database.

    Units change places with others on the same sides: those only asked about, those only in the database,
    those in both, so that each side keeps its mix. A unit of several labels has them exchanged inside, on
    each side by itself.

    Args:
        rows: What was found.
        rng: Source of the draws.
    """
    cards = _Cards.of(rows)
    size = rows.items.size + rows.item_unit.size
    replicates = int(np.clip(_WORK // max(size, 1), _FEWEST, _MOST))
    parts = [rows.precisions(marks) for marks in cards.draws(rng, replicates)]
    value = np.concatenate([part.value - part.chance for part in parts])
    covariance = np.concatenate([part.covariance for part in parts])
    total = np.concatenate([part.total - part.total_chance for part in parts])
    return Relabelled(rows.precision(rows.marks), value, covariance, total, rows.shared)


@dataclass(frozen=True, eq=False)
class _Cards:
    """Units by what can happen to their labels.

    Attributes:
        rows: What was found.
        query_unit: Unit of each query, numbered from 0.
        item_unit: The same of items.
        blocks: Units of one label each that change places.
        query_of: A query of each unit, whose marks are those of the unit; -1: none.
        item_of: The same of items.
        inside: Queries, and items, of units with several labels.
    """

    rows: NeighbourRows
    query_unit: Integers
    item_unit: Integers
    blocks: list[Integers]
    query_of: Integers
    item_of: Integers
    inside: tuple[Integers, Integers]

    @classmethod
    def of(cls, rows: NeighbourRows) -> _Cards:
        marks = rows.marks
        _, code = np.unique(np.concatenate([rows.unit, rows.item_unit]), return_inverse=True)
        asking, owning = code[: rows.unit.size], code[rows.unit.size :]
        count = int(code.max(initial=-1)) + 1
        of = np.full((2, count), -1, dtype=np.int64)
        of[0, asking], of[1, owning] = np.arange(asking.size), np.arange(owning.size)
        mixed = np.zeros(count, dtype=bool)
        first = of[0][asking]
        mixed[asking[(marks.asked[first] != marks.asked) | (marks.group[first] != marks.group)]] = True
        mixed[owning[marks.labels[of[1][owning]] != marks.labels]] = True
        both = np.flatnonzero((of >= 0).all(axis=0))
        mixed[both[marks.asked[of[0][both]] != marks.labels[of[1][both]]]] = True
        side = (of[0] >= 0) + 2 * (of[1] >= 0)
        blocks = [np.flatnonzero(~mixed & (side == kind)) for kind in np.unique(side)]
        inside = np.flatnonzero(mixed[asking]), np.flatnonzero(mixed[owning])
        return cls(rows, asking, owning, blocks, of[0], of[1], inside)

    def draws(self, rng: np.random.Generator, replicates: int) -> Iterator[Marks]:
        """Marks that changed places, several draws at a time: R is the first axis of their arrays."""
        step = max(1, _HELD // self.rows.numbers)
        marks = self.rows.marks
        for start in range(0, replicates, step):
            query, item = self._places(rng, min(step, replicates - start))
            yield Marks(marks.asked[query], marks.group[query], marks.labels[item])

    def _places(self, rng: np.random.Generator, size: int) -> tuple[Integers, Integers]:
        """Of which query each query, and of which item each item, has the marks; shapes (R, N) and (R, M)."""
        whose = np.tile(np.arange(self.query_of.size), (size, 1))
        moved: list[list[Integers]] = [[], []]
        for row in whose:
            for some in self.blocks:
                row[some] = some[rng.permutation(some.size)]
            for side, unit in enumerate((self.query_unit, self.item_unit)):
                moved[side].append(_shuffled(rng, self.inside[side], unit))
        query, item = self.query_of[whose][:, self.query_unit], self.item_of[whose][:, self.item_unit]
        query[:, self.inside[0]], item[:, self.inside[1]] = moved
        return query, item


def _shuffled(rng: np.random.Generator, rows: Integers, unit: Integers) -> Integers:
    """Rows of the same units in random order within each."""
    if not rows.size:
        return rows
    place = np.argsort(unit[rows], kind="stable")
    order = np.argsort(unit[rows] + rng.random(rows.size))
    found = np.empty_like(rows)
    found[place] = rows[order]
    return found
