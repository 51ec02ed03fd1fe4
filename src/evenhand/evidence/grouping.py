"""Counts bound to one grouping: attributes crossed, rows with something missing left out and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError
from evenhand.evidence.counts import Counts
from evenhand.evidence.labels import MISSING, Codes, Label

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Usable rows of Counts by class, group and prediction.

    Attributes:
        by: The attributes, crossed.
        labels: Every value that occurs as truth or prediction, sorted; codes point here.
        classes: Codes of the labels that are a truth of any row, also of rows left out.
        groups: The groups that occur: one value per attribute of ``by``.
        truth: Class of each cell, shape (K,), sorted.
        group: Group of each cell, shape (K,), sorted within a class.
        prediction: Predicted label of each cell, shape (K,), sorted within a group.
        n: Rows of each cell, shape (K,).
        dropped: Rows left out, by reason; a row with two reasons counts under the first.
    """

    by: tuple[str, ...]
    labels: tuple[Label, ...]
    classes: Codes
    groups: tuple[tuple[Label, ...], ...]
    truth: Codes
    group: Codes
    prediction: Codes
    n: Integers
    dropped: tuple[tuple[str, int], ...]

    @classmethod
    def bind(cls, counts: Counts, by: Sequence[str]) -> Grouped:
        """Cross the attributes of ``by``; no attribute means one group of everything.

        Raises:
            UnknownName: An attribute that was not counted.
            InputError: No usable row is left.
        """
        counts = counts.project(by)
        dropped, usable = _missing(counts, by)
        if not usable.any():
            reasons = (
                ", ".join(f"{count} with {reason}" for reason, count in dropped) or "the table has no row"
            )
            raise InputError(f"no usable row by {'+'.join(by) or 'nothing'}: {reasons}")
        labels, truth_map, prediction_map = _label_space(counts)
        group, groups = _cross(counts, by, usable)
        return cls(
            tuple(by),
            labels,
            truth_map,
            groups,
            truth_map[counts.codes_of("truth")[usable]],
            group,
            prediction_map[counts.codes_of("prediction")[usable]],
            counts.n[usable],
            dropped,
        )

    @property
    def n_rows(self) -> int:
        """Usable rows."""
        return int(self.n.sum())

    @cached_property
    def group_sizes(self) -> Integers:
        """Usable rows of each group, shape (groups,)."""
        return np.bincount(self.group, weights=self.n, minlength=len(self.groups)).astype(np.int64)

    def label_key(self, code: int) -> str:
        """A label as findings write it."""
        return str(self.labels[code])

    def group_key(self, code: int) -> str | list[str]:
        """A group as findings write it: one text, or a list in the order of ``by``."""
        values = [str(value) for value in self.groups[code]]
        return values[0] if len(values) == 1 else values


def _missing(counts: Counts, by: Sequence[str]) -> tuple[tuple[tuple[str, int], ...], npt.NDArray[np.bool_]]:
    usable = np.ones(counts.n.size, dtype=bool)
    dropped = []
    for name in ("truth", "prediction", *by):
        gone = usable & (counts.codes_of(name) == MISSING)
        if gone.any():
            dropped.append((f"missing {name}", int(counts.n[gone].sum())))
            usable &= ~gone
    return tuple(dropped), usable


def _label_space(counts: Counts) -> tuple[tuple[Label, ...], Codes, Codes]:
    """All labels, and where each level of truth and of prediction stands among them."""
    truth, prediction = counts.axis("truth").levels, counts.axis("prediction").levels
    labels = tuple(sorted({*truth, *prediction}))
    position = {label: index for index, label in enumerate(labels)}
    return (
        labels,
        np.array([position[label] for label in truth], dtype=np.int32),
        np.array([position[label] for label in prediction], dtype=np.int32),
    )


def _cross(
    counts: Counts, by: Sequence[str], usable: npt.NDArray[np.bool_]
) -> tuple[Codes, tuple[tuple[Label, ...], ...]]:
    """One code per cell for the crossed attributes, numbered over the groups that occur."""
    crossed = np.zeros(int(usable.sum()), dtype=np.int64)
    axes = [counts.axis(name) for name in by]
    for axis in axes:
        crossed = crossed * len(axis.levels) + counts.codes_of(axis.name)[usable]
    present, group = _compact(crossed)
    groups = []
    for key in present.tolist():
        values: list[Label] = []
        rest = key
        for axis in reversed(axes):
            rest, level = divmod(rest, len(axis.levels))
            values.append(axis.levels[level])
        groups.append(tuple(reversed(values)))
    return group.astype(np.int32, copy=False), tuple(groups)


def _compact(codes: Integers) -> tuple[Integers, npt.NDArray[np.integer]]:
    """Distinct codes and the position of each among them; by a table, since crossings are few."""
    if int(codes.max()) > 10_000_000:
        present, position = np.unique(codes, return_inverse=True)
        return present, np.asarray(position)
    seen = np.zeros(int(codes.max()) + 1, dtype=bool)
    seen[codes] = True
    present = np.flatnonzero(seen)
    table = np.cumsum(seen, dtype=np.int32) - 1
    return present, table[codes]
