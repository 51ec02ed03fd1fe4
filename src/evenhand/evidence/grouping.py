"""Counts bound to one grouping: attributes crossed, rows with something missing left out and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError
from evenhand.core.findings import Key, key_of
from evenhand.evidence.predictions.columns.annotated import Lost
from evenhand.evidence.predictions.columns.arrays import Floats, Integers, Mask
from evenhand.evidence.predictions.columns.order import Label, merged
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import CLUSTER, MISSING, MOST_LEVELS, Codes

Some = slice | npt.NDArray[np.bool_]
"""Cells that are used: a slice of all, or a mask."""


@dataclass(frozen=True, eq=False)
class UnitCells:
    """The same usable rows by what was sampled as a whole: one cell per class, group, prediction and cluster.

    Attributes:
        name: The column of clusters.
        truth: Class of each cell, shape (M,), sorted; codes as in ``Grouped``.
        group: Group of each cell, shape (M,).
        prediction: Predicted label of each cell, shape (M,).
        unit: Cluster of each cell, shape (M,).
        n: Rows of each cell, with weights their sum, shape (M,).
        rows: Rows of each cell, whatever they weigh, shape (M,).
    """

    name: str
    truth: Codes
    group: Codes
    prediction: Codes
    unit: Codes
    n: Integers | Floats
    rows: Integers | Floats

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
class Grouped:
    """Usable rows of Counts by class, group and prediction.

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
        levels = {name: counts.axis(name).levels for name in by}
        code, groups = crossed_codes(levels, [counts.codes_of(name)[some] for name in by], n.size)
        group = code.astype(np.int32, copy=False)
        truth = _renamed(counts.codes_of("truth")[some], truth_map)
        prediction = _renamed(counts.codes_of("prediction")[some], prediction_map)
        moments = None if counts.moments is None else counts.moments[:2, some]
        unit = None if counts.cluster is None else counts.codes_of(CLUSTER + counts.cluster)[some]
        order = _sorting(truth, group, prediction)
        if order is not None:
            truth, group, prediction = (codes[order] for codes in (truth, group, prediction))
            n = n[order]
            moments = None if moments is None else moments[:, order]
            unit = None if unit is None else unit[order]
        if counts.cluster is not None and unit is not None:
            rows = n if moments is None else moments[0]
            units = UnitCells(counts.cluster, truth, group, prediction, unit, n, rows)
            # clusters are the last axis, so that cells of one class, group and prediction follow each other
            first = np.flatnonzero(np.r_[True, np.diff([truth, group, prediction], axis=1).any(axis=0)])
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
        change = (self.truth[1:] != self.truth[:-1]) | (self.group[1:] != self.group[:-1])
        return np.concatenate(([0], np.flatnonzero(change) + 1))

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


def _sorting(truth: Codes, group: Codes, prediction: Codes) -> Integers | None:
    """What sorts cells by class, group and prediction; None where they are, as labels keep their order.

    They are not where the axes of truth and prediction have orders of which labels cannot keep both.
    """
    steps = np.diff(np.array([truth, group, prediction], dtype=np.int64), axis=1)
    falls = (steps[0] < 0) | (
        (steps[0] == 0) & ((steps[1] < 0) | ((steps[1] == 0) & (steps[2] < 0)))
    )  # fmt: skip
    return np.lexsort((prediction, group, truth)) if falls.any() else None


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
    used = {truth[code] for code in usable}
    used |= {prediction[code] for code in _present(counts.codes_of("prediction")[some], len(prediction))}
    empty = [label for label in truth if label not in used]
    labels = (*(label for label in merged(truth, prediction) if label in used), *empty)
    position = {label: index for index, label in enumerate(labels)}
    map_truth = np.array([position[label] for label in truth], dtype=np.int32)
    map_prediction = np.array([position.get(label, MISSING) for label in prediction], dtype=np.int32)
    return labels, len(used), map_truth[there], map_truth, map_prediction


def _renamed(codes: Codes, names: Codes) -> Codes:
    """The new code of each; the same array where no code changes."""
    return codes if np.array_equal(names, np.arange(names.size)) else names[codes]


def _present(codes: Codes, levels: int) -> list[int]:
    """The codes that occur, "missing" left out; by a table, since sorting millions of codes takes longer."""
    seen = np.zeros(levels + 1, dtype=bool)
    seen[codes] = True  # MISSING marks the last entry
    return np.flatnonzero(seen[:levels]).tolist()


def crossed_codes(
    levels: Mapping[str, Sequence[Label]], codes: Sequence[Codes], rows: int
) -> tuple[Integers, tuple[tuple[Label, ...], ...]]:
    """One code per row for the crossed attributes, numbered over the groups that occur.

    Raises:
        InputError: There are more groups than can be compared.
    """
    group = np.zeros(rows, dtype=np.int64)
    groups: list[tuple[Label, ...]] = [()]
    for names, code in zip(levels.values(), codes, strict=True):
        # compacted after each attribute, so that many attributes cannot overflow
        present, group = _compact(group * len(names) + code)
        groups = [(*groups[key // len(names)], names[key % len(names)]) for key in present.tolist()]
        if len(groups) > MOST_LEVELS:
            raise InputError(
                f"{'+'.join(levels)!r} gives more than {MOST_LEVELS:,} groups; cross fewer attributes"
            )
    return group, tuple(groups)


def check_usable(usable: Mask, dropped: Sequence[tuple[str, int]], by: Sequence[str]) -> None:
    """Refuse a table of which no row is left, and say why.

    Raises:
        InputError: None is.
    """
    if not usable.any():
        reasons = ", ".join(f"{count} with {reason}" for reason, count in dropped) or "the table has no row"
        raise InputError(f"no usable row by {'+'.join(by) or 'nothing'}: {reasons}")


def _compact(codes: Integers) -> tuple[Integers, Integers]:
    """Distinct codes and the position of each among them; by a table where codes are small."""
    if int(codes.max()) > 10_000_000:
        present, position = np.unique(codes, return_inverse=True)
        return present, np.asarray(position)
    seen = np.zeros(int(codes.max()) + 1, dtype=bool)
    seen[codes] = True
    return np.flatnonzero(seen), codes if seen.all() else (np.cumsum(seen) - 1)[codes]
