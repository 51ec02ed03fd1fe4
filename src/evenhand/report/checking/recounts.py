"""Counts of a run, counted again cell by cell: how often a mistake is made, how often answers are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from evenhand.evidence.predictions.counts import Counts

Pair = tuple[float, float]
"""Hits, of how many."""


@dataclass(frozen=True)
class WrongRows:
    """Rows with a wrong label that a headline is of."""

    by: tuple[str, ...]
    groups: frozenset[tuple[str, ...]]  # values of ``by``, of each group that they lie in
    truth: str | None = None  # their class; None: any
    label: str | None = None  # what they are called; None: whatever is wrong
    is_elsewhere: bool = False  # whether they lie in all other groups instead

    def holds(self, row: Mapping[str, str]) -> bool:
        """Whether a cell belongs to them."""
        is_wrong = (
            row["prediction"] != row["truth"] if self.label is None else row["prediction"] == self.label
        )
        is_of_class = self.truth in (None, row["truth"])
        is_in_groups = tuple(row[name] for name in self.by) in self.groups
        return is_wrong and is_of_class and is_in_groups != self.is_elsewhere


def mistakes_and_rows(
    counts: Counts, by: Sequence[str], truth: str, group: Sequence[str], label: str | None
) -> tuple[Pair, Pair] | None:
    """Rows of a class with a wrong label (None: any), in a group and in all others.

    None where the counts lack an attribute, or the class has no row on one of the sides.
    """
    if not set(by) <= set(counts.attributes):
        return None
    group_of = dict(zip(by, group, strict=True))
    sums = dict.fromkeys(product((True, False), (True, False)), 0.0)
    for row, n in _cells(counts, by):
        if row["truth"] == truth:
            hit = row["prediction"] != truth if label is None else row["prediction"] == label
            sums[all(row[name] == value for name, value in group_of.items()), hit] += n
    inside, outside = ((sums[side, True], sums[side, True] + sums[side, False]) for side in (True, False))
    return (inside, outside) if inside[1] and outside[1] else None


def right_rows(counts: Counts, by: Sequence[str], group: Sequence[str]) -> Pair:
    """Right rows of a group, of all its rows."""
    cells = [(row, n) for row, n in _cells(counts, by) if [row[name] for name in by] == list(group)]
    return sum(n for row, n in cells if row["truth"] == row["prediction"]), sum(n for _, n in cells)


def wrong_rows(counts: Counts, rows: WrongRows, *others: WrongRows) -> float | None:
    """How many there are, or how many of them are others, too; None where the counts lack an attribute."""
    by = list(dict.fromkeys(name for part in (rows, *others) for name in part.by))
    if not set(by) <= set(counts.attributes):
        return None
    return sum(n for row, n in _cells(counts, by) if all(part.holds(row) for part in (rows, *others)))


def _cells(counts: Counts, by: Sequence[str]) -> Iterator[tuple[Mapping[str, str], float]]:
    """What each cell is of, and how many rows it has; cells that lack something are left out."""
    if counts.cluster is not None:
        counts = counts.only(counts.codes_of(counts.axes[-1].name) >= 0)
    over = counts.unclustered().project(list(by))
    levels = {axis.name: axis.levels for axis in over.axes}
    for cell, n in zip(over.codes.T.tolist(), over.n.tolist(), strict=True):
        if min(cell) >= 0:
            yield {name: str(levels[name][code]) for name, code in zip(levels, cell, strict=True)}, float(n)
