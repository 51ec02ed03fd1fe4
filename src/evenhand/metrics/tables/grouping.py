"""Counts bound to one grouping: attributes crossed, rows with something missing left out and counted.

Usable rows as tables of classes, groups and predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from evenhand.core.findings import Key, key_of
from evenhand.core.random_streams import stream
from evenhand.evidence.predictions.columns.annotated import Lost, Remembering
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import (
    CLUSTER,
    MISSING,
    Label,
    check_usable,
    crossed_codes,
    merged,
)
from evenhand.stats.arrays import (
    Codes,
    Floats,
    Integers,
    Mask,
    Rng,
    is_sorted,
    keys_and_codes,
    run_starts,
    sum_by,
)
from evenhand.stats.contingency.resampling import CELL_BUDGET, ClassCells, runs
from evenhand.stats.contingency.tables import TableBatch
from evenhand.stats.rates.confusion import Confusion

Some = slice | Mask
"""Cells that are used: a slice of all, or a mask."""
_MOST_CELLS = 1_000_000
MOST_ROWS = 100_000_000
"""Rows of a table up to which it is drawn: scipy's sampler fails on far larger ones."""


@dataclass(frozen=True, eq=False)
class UnitCells:
    """The same usable rows by what was sampled as a whole: cells of class, group, prediction and cluster."""

    name: str  # the column of clusters
    truth: Codes  # shape (M,) as all others, sorted; codes as in ``Grouped``
    group: Codes
    prediction: Codes
    unit: Codes  # cluster of each cell
    n: Integers | Floats  # rows of each cell, with weights their sum
    rows: Integers | Floats  # rows of each cell, never weighted

    def by_row(self) -> Integers:
        """Class, group, prediction and cluster (from 0) of each row, shape (4, rows)."""
        unit = np.unique(self.unit, return_inverse=True)[1]
        codes = np.stack([self.truth, self.group, self.prediction, unit]).astype(np.int64)
        return np.repeat(codes, self.rows.astype(np.int64), axis=1)

    @cached_property
    def count(self) -> int:
        """How many clusters occur."""
        return int(np.count_nonzero(np.bincount(self.unit)))


@dataclass(frozen=True, eq=False)
class Grouped(Remembering):
    """Usable rows of Counts by class, group and prediction, and tables of them on demand.

    Attributes:
        by: The attributes, crossed.
        labels: Every value that occurs as truth or prediction of a usable row, sorted, then classes that
            lost all their rows; codes point here.
        n_used: How many of the labels occur in usable rows.
        classes: Codes of the labels that are a truth of any row, also of rows left out.
        groups: The groups that occur: one value per attribute of ``by``.
        truth: Class of each cell, shape (K,), sorted.
        group: Group of each cell, shape (K,), sorted within a class.
        prediction: Predicted label of each cell, shape (K,), sorted within a group.
        n: Rows of each cell, shape (K,); with weights their sum.
        dropped: Rows left out, by reason; a row with two reasons counts under the first.
        moments: With weights, how many rows each cell has and the sum of their squared weights, shape (2, K).
        units: The same rows by cluster, where clusters were declared.
        seed: The user's one seed.
    """

    by: tuple[str, ...]
    labels: tuple[Label, ...]
    n_used: int
    classes: Codes
    groups: tuple[tuple[Label, ...], ...]
    truth: Codes
    group: Codes
    prediction: Codes
    n: Integers | Floats
    dropped: Lost
    moments: Floats | None = None
    units: UnitCells | None = None
    seed: int = 0

    @classmethod
    def bind(cls, counts: Counts, by: Sequence[str], **more: Any) -> Self:
        """Cross the attributes of ``by``; no attribute means one group of everything.

        ``more`` are fields of a subclass.

        Raises:
            UnknownName: An attribute that was not counted.
            InputError: No usable row is left.
        """
        counts = counts.of_first().project(by)
        dropped, usable = _missing(counts, by)
        check_usable(usable, dropped, by)
        some: Some = slice(None) if usable.all() else usable  # a mask copies millions of cells
        labels, n_used, classes, truth_map, prediction_map = _label_space(counts, some)
        n, units = counts.n[some], None
        crossed = slice(1, 1 + len(by))  # the attributes stand after the truth
        code, groups = crossed_codes(counts.axes[crossed], list(counts.codes[crossed, some]), n.size)
        group = code.astype(np.int32, copy=False)
        truth = _renamed(counts.codes_of("truth")[some], truth_map)
        prediction = _renamed(counts.codes_of("prediction")[some], prediction_map)
        moments = None if counts.moments is None else counts.moments[:2, some]
        unit = None if counts.cluster is None else counts.codes_of(CLUSTER + counts.cluster)[some]
        if not is_sorted(truth, group, prediction):
            # labels cannot keep the orders of truth and prediction both
            order = np.lexsort((prediction, group, truth))
            truth, group, prediction, n = truth[order], group[order], prediction[order], n[order]
            moments = None if moments is None else moments[:, order]
            unit = None if unit is None else unit[order]
        if counts.cluster is not None and unit is not None:
            rows = n if moments is None else moments[0]
            units = UnitCells(counts.cluster, truth, group, prediction, unit, n, rows)
            # clusters are the last axis, so that cells of one class, group and prediction follow each other
            first = run_starts(truth, group, prediction)
            truth, group, prediction = truth[first], group[first], prediction[first]
            n = np.add.reduceat(n, first)
            moments = None if moments is None else np.add.reduceat(moments, first, axis=1)
        return cls(
            tuple(by), labels, n_used, classes, groups, truth, group, prediction, n, dropped, moments, units,
            **more,
        )  # fmt: skip

    @property
    def rows(self) -> Integers | Floats:
        """Rows of each cell, whatever they weigh, shape (K,)."""
        return self.n if self.moments is None else self.moments[0]

    @property
    def n_rows(self) -> int:
        """Usable rows."""
        return int(self.rows.sum())

    @property
    def strata(self) -> Integers:
        """First cell of every (class, group) that occurs."""
        return run_starts(self.truth, self.group)

    @cached_property
    def group_sizes(self) -> Integers:
        """Usable rows of each group, shape (groups,)."""
        return np.bincount(self.group, self.rows, len(self.groups)).astype(np.int64)

    def label_key(self, code: int) -> str:
        """A label as findings write it."""
        return str(self.labels[code])

    def group_key(self, code: int) -> Key:
        """A group as findings write it: one text, or a list in the order of ``by``."""
        return key_of(self.groups[code])

    def group_text(self, code: int) -> str:
        """A group as one text."""
        return " · ".join(map(str, self.groups[code]))

    def cell_key(self, label: int, group: int) -> list[str]:
        """A label and the values of a group, as keys of parts."""
        return [self.label_key(label), *map(str, self.groups[group])]

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

        def by(label: Codes, *columns: Floats) -> list[Floats]:
            cell = self.group.astype(np.int64) * shape[1] + label
            return [sum_by(cell, column, shape[0] * shape[1]).reshape(shape) for column in columns]

        support, hits = by(self.truth, values, values * self.right)
        (predicted,) = by(self.prediction, values)
        return Confusion(support, hits, predicted)

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


def _missing(counts: Counts, by: Sequence[str]) -> tuple[Lost, Mask]:
    usable, dropped = np.ones(counts.n.size, dtype=bool), list[tuple[str, int]]()
    zeros = None if counts.moments is None else counts.moments[2]
    rows = counts.rows if zeros is None else counts.rows + zeros
    clusters = () if counts.cluster is None else (CLUSTER + counts.cluster,)
    for axis in ("truth", "prediction", *by, *clusters):
        gone = usable & (counts.codes_of(axis) == MISSING)
        if gone.any():
            dropped.append((f"missing {'cluster' if axis in clusters else axis}", int(rows[gone].sum())))
            usable &= ~gone
    if zeros is not None and zeros[usable].any():
        dropped.append(("weight 0", int(zeros[usable].sum())))
        usable &= counts.n > 0
    return tuple(dropped), usable


def _label_space(counts: Counts, some: Some) -> tuple[tuple[Label, ...], int, Codes, Codes, Codes]:
    """Labels of usable rows, then classes that lost all rows; and where truths and predictions stand."""
    truth, prediction = counts.axis("truth").levels, counts.axis("prediction").levels
    there = _present(counts.codes_of("truth"), len(truth))
    usable = there if isinstance(some, slice) else _present(counts.codes_of("truth")[some], len(truth))
    answered = _present(counts.codes_of("prediction")[some], len(prediction))
    used = set([truth[code] for code in usable] + [prediction[code] for code in answered])
    labels = [label for label in merged(truth, prediction) if label in used]
    labels += [label for label in truth if label not in used]
    position = dict(zip(labels, range(len(labels)), strict=True))
    map_truth = np.array([position[label] for label in truth], dtype=np.int32)
    map_prediction = np.array([position.get(label, MISSING) for label in prediction], dtype=np.int32)
    return tuple(labels), len(used), map_truth[there], map_truth, map_prediction


def _renamed(codes: Codes, names: Codes) -> Codes:
    """The new code of each; the same array where no code changes."""
    return codes if np.array_equal(names, np.arange(names.size)) else names[codes]


def _present(codes: Codes, levels: int) -> list[int]:
    """The codes that occur, "missing" left out; by a table, since sorting millions of codes takes longer."""
    seen = np.zeros(levels + 1, dtype=bool)
    seen[codes] = True  # MISSING marks the last entry
    return np.flatnonzero(seen[:levels]).tolist()
