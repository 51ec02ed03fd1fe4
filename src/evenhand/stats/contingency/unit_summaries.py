"""Summaries of models over samples in which whole sampling units, such as persons, are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Codes, Floats, Integers, Rng, sum_by
from evenhand.stats.contingency.model_summaries import (
    SUMMARIES,
    Adder,
    ComparedClass,
    Draw,
    Drawn,
    TableCells,
    adder,
    in_chunks,
)
from evenhand.stats.paired.sums import drawn_units, strata_of
from evenhand.stats.rates.clustered import FEWEST


@dataclass(frozen=True, eq=False)
class UnitEntries:
    """Rows of one model by class, group, answer and sampling unit, arrays of shape (E,)."""

    label: Codes  # index of the class among those compared
    group: Codes
    prediction: Codes  # predicted label
    unit: Codes  # one code for a unit in the rows of all models
    n: Floats  # rows


@dataclass(frozen=True, eq=False)
class UnitClass:
    """A class whose rows belong to units that are drawn again as wholes, for all models alike."""

    cells: TableCells  # that any model fills
    observed: Sequence[Floats]  # each model's counts of the cells, shape (S, 1)
    adders: Sequence[Adder]  # for each model, from how often units stand (U, R) to counts of the cells (S, R)

    def resampled(self, times: Floats) -> list[Floats]:
        """Each model's tables, shape (S, R), where each unit stands so many times, shape (U, R).

        The answers of a group are weighted to the rows that it has, since the number of rows varies with the
        units drawn (a ratio estimate). A group of which a draw has no row keeps its answers.
        """
        group = np.unique(self.cells.group, return_inverse=True)[1]
        tables = []
        for add, rows, observed in zip(self.adders, self.cells.rows, self.observed, strict=True):
            table = add(times)
            totals = np.zeros((int(group.max()) + 1, table.shape[1]))
            np.add.at(totals, group, table)
            total = totals[group]
            weighted = table * rows[:, None] / np.where(total > 0, total, 1)
            tables.append(np.where(total > 0, weighted, observed))
        return tables


@dataclass(frozen=True, eq=False)
class SamplingUnits:
    """The units of the rows that models are compared on."""

    rows: Sequence[UnitEntries]  # of each model
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
        width = 1 + max(int(compared.cells.group.max()) for compared in classes)
        adders: list[list[Adder]] = [[] for _ in classes]
        for rows in self.rows:
            order = np.argsort(rows.label, kind="stable")
            cuts = np.searchsorted(rows.label[order], np.arange(len(classes) + 1))
            for index, compared in enumerate(classes):
                some, cells = order[cuts[index] : cuts[index + 1]], compared.cells
                keys = cells.prediction.astype(np.int64) * width + cells.group
                cell = np.searchsorted(keys, rows.prediction[some] * width + rows.group[some])
                adders[index].append(adder(rows.n[some], cell, rows.unit[some], (keys.size, self.count)))
        return [
            UnitClass(compared.cells, compared.observed(), of_models)
            for compared, of_models in zip(classes, adders, strict=True)
        ]


def replicated_by_unit(
    units: SamplingUnits, classes: Sequence[ComparedClass], sizes: Floats, replicates: int,
    streams: Callable[[int], Rng], effect_draws: Floats | None = None,
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

    by_unit = units.classes(classes)

    def draws(start: int, size: int) -> Draw:
        ones = np.ones(units.count, dtype=np.int64)
        times = drawn_units(streams(start), ones, units.stratum, size).T.astype(np.float64)
        return lambda index: by_unit[index].resampled(times)

    return in_chunks(classes, sizes, replicates, draws, effect_draws, units.count)
