"""Usable rows of counts as tables of classes, groups and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.random_streams import stream
from evenhand.evidence.grouping import Grouped
from evenhand.evidence.predictions.columns.annotated import Remembering
from evenhand.stats.arrays import Codes, Floats, Mask, Rng, keys_and_codes, sum_by
from evenhand.stats.contingency.resampling import CELL_BUDGET, ClassCells, runs
from evenhand.stats.contingency.tables import TableBatch
from evenhand.stats.rates.confusion import Confusion

_MOST_CELLS = 1_000_000
MOST_ROWS = 100_000_000
"""Rows of a table up to which it is drawn: scipy's sampler fails on far larger ones."""


@dataclass(frozen=True, eq=False)
class CountTables(Grouped, Remembering):
    """Tables on demand."""

    seed: int = 0  # the user's one seed

    def stream(self, *purpose: object) -> Rng:
        """The random stream for one purpose under this grouping."""
        return stream(self.seed, "+".join(self.by), *purpose)

    @cached_property
    def weights(self) -> Floats:
        """Rows of each cell as floats, shape (K,)."""
        return self.n.astype(np.float64)

    @cached_property
    def separation(self) -> TableBatch:
        """One group x prediction table per label, holding the rows whose truth it is."""
        # cells are sorted by truth, group, prediction already
        return TableBatch(self.truth, self.group, self.prediction, self.weights, len(self.labels))

    @cached_property
    def sufficiency(self) -> TableBatch:
        """One group x truth table per label, holding the rows predicted as it."""
        return TableBatch.from_cells(self.prediction, self.group, self.truth, self.n, len(self.labels))

    @cached_property
    def independence(self) -> TableBatch:
        """The one group x prediction table of all rows."""
        width = len(self.labels)
        totals = sum_by(self.group.astype(np.int64) * width + self.prediction, self.weights)
        keys = np.flatnonzero(totals)
        zeros = np.zeros(keys.size, dtype=np.int64)
        return TableBatch(zeros, keys // width, keys % width, totals[keys], 1)

    @cached_property
    def confusion(self) -> Confusion:
        """Support, hits and predictions by group and label."""
        return self.added_up(self.weights)

    def added_up(self, values: Floats) -> Confusion:
        """A number of each cell (rows, weights, their squares) added up by group and label."""
        shape = len(self.groups), self.n_used

        def by(label: Codes, some: Floats) -> Floats:
            cell = self.group.astype(np.int64) * shape[1] + label
            return sum_by(cell, some, shape[0] * shape[1]).reshape(shape)

        return Confusion(
            by(self.truth, values), by(self.truth, values * self.right), by(self.prediction, values)
        )

    @cached_property
    def right(self) -> Mask:
        """Which cells are right answers, shape (K,)."""
        return np.asarray(self.truth == self.prediction)

    @cached_property
    def class_cells(self) -> list[ClassCells]:
        """The cells of each true class."""
        return [
            ClassCells(
                int(self.truth[some.start]), self.group[some], self.prediction[some], self.weights[some]
            )
            for some in runs(self.truth)
        ]

    def cellwise(self, replicates: int) -> bool:
        """Whether replicates are drawn cell by cell (exact) or from the margins (very large tables)."""
        groups, occupied = self.confusion.support.shape[0], self.truth.size
        if self.n_rows > MOST_ROWS or occupied >= _MOST_CELLS:
            return False
        # a null table can fill every cell of its class's groups x labels
        dense = sum(np.unique(cells.prediction).size for cells in self.class_cells) * groups
        return bool(max(occupied, dense) * replicates <= CELL_BUDGET)

    def expected_wrong(self) -> Floats:
        """Errors by (group, label) if each class's errors fell to groups by their share of the class."""
        support, width = self.confusion.support, len(self.labels)
        wrong = ~self.right
        keys, where = keys_and_codes(self.truth[wrong].astype(np.int64) * width + self.prediction[wrong])
        errors = sum_by(where, self.weights[wrong])
        truth, label = keys // width, keys % width
        share = support / np.maximum(support.sum(axis=0), 1)
        return np.stack(
            [sum_by(label, errors * group_share[truth], support.shape[1]) for group_share in share]
        )
