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

from evenhand.stats.arrays import Ends, Floats, Integers, Rng, codes_of, draw_blocks, nan_without_warning
from evenhand.stats.exchange.compared_rates import LEAST_OF_OWN, MaxT, each_exceeded, exceeded
from evenhand.stats.exchange.relabelling import Relabelling
from evenhand.stats.rankings.neighbour_pairs import Marks, NeighbourRows, Precisions

_WORK = 12_000_000  # neighbours and items x replicates that are drawn in all
_ARRAYS = 33  # of numbers of neighbours that a draw takes
_FEWEST, _MOST = 499, 999
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RelabelledPrecision:
    """Precision as observed, and with labels that changed places."""

    observed: Precisions  # as it is
    value: Floats  # of groups, less chance, shape (R, G)
    covariance: Floats  # shape (R, G, G)
    total: Floats  # of all queries, less chance, shape (R,)
    shared: bool  # whether a unit is on both sides, so that chance is above that of random items

    @cached_property
    def expected(self) -> Floats:
        """Precision that labels which say nothing lead to expect, shape (G,)."""
        excess = self.value.mean(axis=0) if self.shared else np.zeros(self.value.shape[1])
        return np.clip(self.observed.chance + excess, 0, 1)

    @property
    def expected_total(self) -> float:
        """The same of all queries."""
        return float(np.clip(self.observed.total_chance + (self.total.mean() if self.shared else 0.0), 0, 1))

    @property
    def rates(self) -> Floats:
        """Precision of groups by chance with the observed mix of labels, shape (R, G)."""
        return np.clip(self.observed.chance + self.value, 0, 1)

    @property
    def totals(self) -> Floats:
        """The same of all queries, shape (R,)."""
        return np.clip(self.observed.total_chance + self.total, 0, 1)

    def p_total(self) -> float:
        """Two-sided p of the precision of all queries."""
        far = abs(float(self.observed.total) - self.expected_total)
        return exceeded(far, np.abs(self.totals - self.expected_total))

    def p_each(self) -> Floats:
        """Two-sided p of the precision of each group, shape (G,)."""
        return each_exceeded(np.abs(self.observed.value - self.expected), np.abs(self.rates - self.expected))


@dataclass(frozen=True, eq=False)
class RelabelledGroups:
    """Some groups of these, compared two by two."""

    of: RelabelledPrecision
    codes: Integers  # of the groups, shape (K,)

    @cached_property
    def expected(self) -> Floats:
        """Precision that chance leads to expect, shape (K,)."""
        return self.of.expected[self.codes]

    @cached_property
    def nulls(self) -> Floats:
        """Precision by chance, shape (R, K)."""
        return self.of.rates[:, self.codes]

    @cached_property
    def largest(self) -> MaxT:
        """How far the difference of two groups is above its expectation at most, in standard errors."""
        free = (self.of.observed.chance + self.of.value - self.of.expected)[:, self.codes]
        draws = _in_errors(*self._apart(free, self.of.covariance)).max(axis=1)
        return MaxT(float(self._beyond[1].max()), draws)

    def p_either(self) -> float:
        """The p of a gap that is beyond its expectation in either direction."""
        apart, beyond = self._beyond
        return exceeded(abs(float(beyond[apart.argmax()])), self.largest.draws)

    def gaps(self, value: float, chance_at: float = 0.0) -> Floats:
        """What a gap would be at the statistics of the draws, shape (R,), in [0, 1]."""
        return self.largest.scaled(value, chance_at)

    @cached_property
    def _beyond(self) -> Ends:
        observed = self.of.observed
        apart, error = self._apart(observed.value[self.codes][None], observed.covariance[None])
        return apart[0], _in_errors(apart - float(np.ptp(self.expected)), error)[0]

    def _apart(self, value: Floats, covariance: Floats) -> Ends:
        """Differences of each two groups and their standard errors, shape (R, pairs) each."""
        i, j = np.triu_indices(self.codes.size, 1)
        inside = covariance[:, self.codes][:, :, self.codes]
        separate = inside[:, i, i] + inside[:, j, j]
        square = np.maximum(separate - 2 * inside[:, i, j], LEAST_OF_OWN * separate)
        return np.abs(value[:, i] - value[:, j]), np.sqrt(square)


def _in_errors(apart: Floats, error: Floats) -> Floats:
    with nan_without_warning():
        t = apart / error
    without = np.where(np.abs(apart) > _ROUNDING, np.copysign(np.inf, apart), 0.0)
    return np.where(error > 0, t, without)


def relabel(rows: NeighbourRows, rng: Rng) -> RelabelledPrecision:
    """Labels of units change places everywhere they enter: what queries ask for, their groups, the database.

    Units change places with others on the same sides: those only asked about, those only in the database,
    those in both, so that each side keeps its mix. A unit of several labels has them exchanged inside, on
    each side by itself.
    """
    moved = _Moved.of(rows)
    size = rows.items.size + rows.item_unit.size
    replicates = int(np.clip(_WORK // max(size, 1), _FEWEST, _MOST))
    parts = [rows.precisions(marks) for marks in moved.draws(rng, replicates)]
    value = np.concatenate([part.value - part.chance for part in parts])
    covariance = np.concatenate([part.covariance for part in parts])
    total = np.concatenate([part.total - part.total_chance for part in parts])
    return RelabelledPrecision(rows.precision(rows.marks), value, covariance, total, rows.shared)


@dataclass(frozen=True, eq=False)
class _Moved:
    """Queries, then items, as rows of one exchange."""

    labels: Relabelling  # how their marks are exchanged: a label is a row of ``marks``
    marks: Integers  # distinct triples of what is asked for, group, and label of an item, shape (labels, 3)
    queries: int  # how many of the rows are queries
    width: int  # numbers of a draw

    @classmethod
    def of(cls, rows: NeighbourRows) -> _Moved:
        n, marks = rows.unit.size, rows.marks
        unit = codes_of(np.concatenate([rows.unit, rows.item_unit]))
        asking = np.arange(unit.size) < n
        row_marks = np.full((unit.size, 3), -2)  # -2: not on this side
        row_marks[:n, 0], row_marks[:n, 1], row_marks[n:, 2] = marks.query_labels, marks.group, marks.labels
        of_unit = np.full((int(unit.max(initial=-1)) + 1, 3), -2)
        for column, some in enumerate((asking, asking, ~asking)):
            of_unit[unit[some], column] = row_marks[some, column]
        unit_marks = of_unit[unit]
        apart = (np.where(row_marks == -2, unit_marks, row_marks) != unit_marks).any(axis=1)
        apart |= (unit_marks[:, 0] != unit_marks[:, 2]) & (unit_marks[:, [0, 2]] > -2).all(axis=1)
        mixed = np.zeros(len(of_unit), dtype=bool)
        mixed[unit[apart]] = True
        row_marks = np.where(mixed[unit][:, None], row_marks, unit_marks)
        side_code = (unit_marks[:, 0] > -2) + 2 * (unit_marks[:, 2] > -2)
        distinct, label = np.unique(row_marks, axis=0, return_inverse=True)
        stratum = np.where(mixed[unit], asking, side_code)
        labels = Relabelling(label.ravel().astype(np.int64), unit, stratum.astype(np.int64))
        return cls(labels, distinct, n, _ARRAYS * rows.numbers)

    def draws(self, rng: Rng, replicates: int) -> Iterator[Marks]:
        """Marks that changed places, several draws at a time: R is the first axis of their arrays."""
        for size in draw_blocks(replicates, self.width):
            label = self.labels.drawn(rng, size)
            query_labels, group, _ = np.moveaxis(self.marks[label[:, : self.queries]], -1, 0)
            yield Marks(query_labels, group, self.marks[label[:, self.queries :], 2])
