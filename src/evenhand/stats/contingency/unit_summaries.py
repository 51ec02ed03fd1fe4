"""Summaries of models over samples in which whole sampling units, such as persons, are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.stats.arrays import Codes, Floats, Integers
from evenhand.stats.contingency.model_summaries import (
    SUMMARIES,
    ComparedClass,
    Draw,
    Drawn,
    TableCells,
    in_chunks,
)
from evenhand.stats.contingency.tables import sum_by
from evenhand.stats.paired.sums import drawn_units, strata_of
from evenhand.stats.rates.clustered import FEWEST


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows of one model by class, group, answer and sampling unit, arrays of shape (E,)."""

    label: Codes  # index of the class among those compared
    group: Codes
    prediction: Codes  # predicted label
    unit: Codes  # one code for a unit in the rows of all models
    n: Floats  # rows


@dataclass(frozen=True, eq=False)
class UnitClass:
    """A class whose rows belong to units that are drawn again as wholes, for all models alike."""

    plain: ComparedClass  # the same class, as it is
    tables: Sequence[Any]  # for each model a sparse matrix (S, U): rows of each unit in each cell
    units: int  # how many units there are

    @property
    def label(self) -> int:
        """Index of the class among the labels."""
        return self.plain.label

    @property
    def cells(self) -> TableCells:
        """The cells that any model fills."""
        return self.plain.cells

    @property
    def width(self) -> int:
        """Cells or units, whichever are more."""
        return max(self.plain.width, self.units)

    @cached_property
    def _observed(self) -> list[Floats]:
        return self.plain.observed()

    def resampled(self, times: Floats) -> list[Floats]:
        """Each model's tables, shape (S, R), where each unit stands so many times, shape (U, R).

        The answers of a group are weighted to the rows that it has, since the number of rows varies with the
        units drawn (a ratio estimate). A group of which a draw has no row keeps its answers.
        """
        group = np.unique(self.cells.group, return_inverse=True)[1]
        drawn = []
        for matrix, rows, observed in zip(self.tables, self.cells.rows, self._observed, strict=True):
            table = np.asarray(matrix @ times)
            totals = np.zeros((int(group.max()) + 1, table.shape[1]))
            np.add.at(totals, group, table)
            there = totals[group]
            weighted = table * rows[:, None] / np.where(there > 0, there, 1)
            drawn.append(np.where(there > 0, weighted, observed))
        return drawn


@dataclass(frozen=True, eq=False)
class Units:
    """The units of the rows that models are compared on."""

    rows: Sequence[UnitRows]  # of each model
    count: int  # how many units there are

    @cached_property
    def stratum(self) -> Integers:
        """Units with rows in the same groups and of the same models, drawn again among each other."""
        groups = 1 + max(int(rows.group.max(initial=0)) for rows in self.rows)
        parts = [
            sum_by(rows.unit * groups + rows.group, rows.n, self.count * groups).reshape(-1, groups)
            for rows in self.rows
        ]
        return strata_of(np.concatenate(parts, axis=1))

    @cached_property
    def shared(self) -> bool:
        """Whether units have rows of more than one model."""
        times = sum((np.bincount(rows.unit, minlength=self.count) > 0).astype(int) for rows in self.rows)
        return bool(np.any(np.asarray(times) > 1))

    def classes(self, classes: Sequence[ComparedClass]) -> list[UnitClass]:
        """The same classes with the rows of every unit in their cells."""
        from scipy.sparse import csr_array

        matrices: list[list[Any]] = [[] for _ in classes]
        width = 1 + max(int(compared.cells.group.max()) for compared in classes)
        for rows in self.rows:
            order = np.argsort(rows.label, kind="stable")
            cuts = np.searchsorted(rows.label[order], np.arange(len(classes) + 1))
            for index, compared in enumerate(classes):
                some, cells = order[cuts[index] : cuts[index + 1]], compared.cells
                keys = cells.prediction.astype(np.int64) * width + cells.group
                cell = np.searchsorted(keys, rows.prediction[some] * width + rows.group[some])
                entries = (rows.n[some], (cell, rows.unit[some]))
                matrices[index].append(csr_array(entries, shape=(keys.size, self.count)))
        return [
            UnitClass(compared, tables, self.count)
            for compared, tables in zip(classes, matrices, strict=True)
        ]


def replicated_by_unit(
    units: Units, classes: Sequence[ComparedClass], sizes: Floats, replicates: int,
    streams: Callable[[int], np.random.Generator], effect_draws: Floats | None = None,
) -> Drawn:  # fmt: skip
    """Replicates of every summary of each model, units drawn again; shapes as of ``replicated``.

    A unit is drawn with all its rows, in all classes and of all models. NaN below two units, which say
    nothing of others. ``streams`` gives the random stream of a chunk.

    Source: Davison and Hinkley 1997, section 3.8 (the bootstrap of clusters).
    """
    if units.count < FEWEST:
        if effect_draws is not None:
            effect_draws[:] = np.nan
        return {name: np.full((len(sizes), replicates), np.nan) for name in SUMMARIES}

    def draws(start: int, size: int) -> Draw[UnitClass]:
        times = drawn_units(streams(start), np.ones(units.count, dtype=np.int64), units.stratum, size)
        return lambda _, compared: compared.resampled(times.T.astype(np.float64))

    return in_chunks(units.classes(classes), sizes, replicates, draws, effect_draws)
