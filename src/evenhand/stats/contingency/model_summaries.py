"""Two or more models on the same classes: their summaries, and what drawing the rows again would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Codes, Floats, Rng, keys_and_codes, ratio, run_starts, sum_by
from evenhand.stats.contingency.resampling import ClassCells, bootstrap_cells
from evenhand.stats.skewness import skewness

Streams = Callable[[int, int], Rng]
Drawn = dict[str, Floats]
Adder = Callable[[Floats], Floats]

SUMMARIES = (
    "skewsize", "cramers_v_mean", "cramers_v_median", "cramers_v_max", "accuracy", "worst_group_accuracy",
    "accuracy_gap",
)  # fmt: skip
FEWEST_CLASSES = 3  # fewer effect sizes have no skewness that says anything
_CHUNK = 4_000_000  # numbers of one array of replicates held at a time
_NOTHING = 1e-12  # phi-squared below it is rounding


@dataclass(frozen=True, eq=False)
class TableCells:
    """The cells (group, label) that any of M models fills in one class, sorted by label, then group."""

    label: int  # index of the class among the labels
    group: Codes  # group of each cell, shape (S,)
    prediction: Codes  # predicted label of each cell, shape (S,)
    rows: Floats  # rows of the class in each cell's group, for each model, shape (M, S)

    @cached_property
    def starts(self) -> Codes:
        """First cell of each predicted label."""
        return run_starts(self.prediction)

    @cached_property
    def inverse(self) -> Floats:
        """One over the rows of each cell's group; 0 where a model has none."""
        return ratio(1, self.rows, 0.0)

    def effect(self, tables: Floats, model: int) -> Floats:
        r"""Cramér's V of one model's tables: ``sqrt((sum o^2 / (R C) - 1) / (min(r, c) - 1))``.

        ``tables`` are counts of each cell, shape (S, replicates), in which groups keep the rows that they
        have for the model. In [0, 1]; NaN where one group or one label is left.
        """
        columns = np.add.reduceat(tables, self.starts, axis=0)
        share = tables * tables
        share *= self.inverse[model][:, None]
        over = np.add.reduceat(share, self.starts, axis=0)
        over /= np.where(columns > 0, columns, 1)  # a label that does not occur has nothing over it either
        phi2 = over.sum(axis=0) - 1
        groups = np.unique(self.group[self.rows[model] > 0]).size
        dof = np.minimum(groups, np.count_nonzero(columns, axis=0)) - 1
        phi2[phi2 < _NOTHING] = 0.0
        return np.sqrt(ratio(phi2, dof))


@dataclass(frozen=True, eq=False)
class JointClass:
    """A class whose samples every model answered: cells are combinations of answers."""

    label: int  # index of the class among the labels
    group: Codes  # group of each combination, shape (K,), sorted
    predictions: Codes  # label that each model gave, shape (M, K)
    n: Floats  # samples with this combination, shape (K,)

    @cached_property
    def _placed(self) -> tuple[TableCells, Codes]:
        """The cells, and which of them each model fills with each combination, shape (M, K)."""
        width = int(self.group.max()) + 1
        keys, cell = keys_and_codes(self.predictions.astype(np.int64) * width + self.group)
        group = keys % width
        rows = sum_by(self.group, self.n, width)[group]
        models = self.predictions.shape[0]
        cells = TableCells(self.label, group, keys // width, np.tile(rows, (models, 1)))
        return cells, cell.reshape(self.predictions.shape)

    @property
    def cells(self) -> TableCells:
        """The cells that any model fills."""
        return self._placed[0]

    @property
    def width(self) -> int:
        """Combinations or cells, whichever are more."""
        return max(self.n.size, self.cells.group.size)

    @cached_property
    def _adders(self) -> list[Adder]:
        """For each model, what adds combinations up to its cells."""
        shape, every = (self.cells.group.size, self.n.size), np.arange(self.n.size)
        return [adder(np.ones(every.size), cell, every, shape) for cell in self._placed[1]]

    def observed(self) -> list[Floats]:
        """Each model's counts of the cells, shape (S, 1)."""
        return [add(self.n[:, None]) for add in self._adders]

    def resampled(self, rng: Rng, replicates: int) -> list[Floats]:
        """Samples drawn again within each group, with the answers of all models: (S, replicates) each."""
        cells = ClassCells(self.label, self.group, np.arange(self.n.size), self.n)
        resamples = np.ascontiguousarray(bootstrap_cells(rng, cells, replicates).T)
        return [add(resamples) for add in self._adders]


@dataclass(frozen=True, eq=False)
class SeparateClass:
    """A class that models answered on samples that cannot be paired."""

    label: int  # index of the class among the labels
    group: Codes  # group of each cell, shape (S,)
    prediction: Codes  # label of each cell, shape (S,), sorted; groups are sorted within a label
    n: Floats  # each model's rows, shape (M, S)
    # rows that each cell's group counts as, whatever it has, shape (S,); as it has if not given
    target: Floats | None = None

    @cached_property
    def cells(self) -> TableCells:
        """The cells that any model fills."""
        rows = self._own if self.target is None else np.tile(self.target, (len(self.n), 1))
        return TableCells(self.label, self.group, self.prediction, rows)

    @cached_property
    def _own(self) -> Floats:
        """Each model's rows in each cell's group, shape (M, S)."""
        width = int(self.group.max()) + 1
        return np.stack([sum_by(self.group, n, width)[self.group] for n in self.n])

    def _weighted(self, tables: Sequence[Floats]) -> list[Floats]:
        """Each model's tables (S, R) with every group counted as the target says."""
        if self.target is None:
            return list(tables)
        factors = ratio(self.target, self._own, 0.0)
        return [table * factor[:, None] for table, factor in zip(tables, factors, strict=True)]

    @property
    def width(self) -> int:
        """Cells, or rows where these are drawn one by one."""
        return self.group.size

    def observed(self) -> list[Floats]:
        """Each model's counts of the cells, shape (S, 1)."""
        return self._weighted([n[:, None] for n in self.n])

    def resampled(self, rng: Rng, replicates: int) -> list[Floats]:
        """Each model's rows drawn again within each group, apart from the other's: (S, replicates) each."""
        order = np.argsort(self.group, kind="stable")
        tables = []
        for n in self.n:
            table = np.zeros((self.group.size, replicates))
            some = order[n[order] > 0]
            if some.size:
                cells = ClassCells(self.label, self.group[some], self.prediction[some], n[some])
                table[some] = bootstrap_cells(rng, cells, replicates).T
            tables.append(table)
        return self._weighted(tables)


ComparedClass = JointClass | SeparateClass

Draw = Callable[[int], list[Floats]]
"""From the index of a class to each model's tables, shape (S, R) each."""


def adder(values: Floats, cell: Codes, unit: Codes, shape: tuple[int, int]) -> Adder:
    """What adds the values of units up to the cells that they belong to, by a sparse matrix."""
    from scipy.sparse import csr_array

    matrix = csr_array((values, (cell, unit)), shape=shape)
    return lambda times: np.asarray(matrix @ times)


def observed(classes: Sequence[ComparedClass], sizes: Floats) -> Drawn:
    """Every summary of each model as it is; see ``replicated`` for shapes."""
    return _summaries(classes, sizes, lambda index: classes[index].observed(), 1)


def replicated(
    classes: Sequence[ComparedClass], sizes: Floats, replicates: int, streams: Streams,
    effect_draws: Floats | None = None,
) -> Drawn:  # fmt: skip
    """Replicates of every summary of each model, rows drawn again within class and group.

    ``sizes`` are rows of each group for each model, shape (M, Z); ``streams`` gives the random stream of a
    class (its index in ``classes``) and a chunk; ``effect_draws`` is filled with each model's effect sizes,
    shape (M, classes, replicates). By the names in ``SUMMARIES``, shape (M, replicates); NaN where a summary
    is not defined. SkewSize needs three classes with an effect size.
    """

    def draws(start: int, size: int) -> Draw:
        return lambda index: classes[index].resampled(streams(index, start), size)

    return in_chunks(classes, sizes, replicates, draws, effect_draws)


def in_chunks(
    classes: Sequence[ComparedClass], sizes: Floats, replicates: int, draws: Callable[[int, int], Draw],
    effect_draws: Floats | None, width: int = 0,
) -> Drawn:  # fmt: skip
    """As ``replicated``; ``draws`` goes from the first replicate of a chunk and its size to what draws it.

    ``width`` is how many numbers of a replicate are held besides those of a class.
    """
    widest = max(len(classes) * len(sizes), *(compared.width for compared in classes), sizes.size, width)
    step = max(8, min(replicates, _CHUNK // widest))
    parts = []
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        here = None if effect_draws is None else effect_draws[..., start : start + size]
        parts.append(_summaries(classes, sizes, draws(start, size), size, here))
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in SUMMARIES}


def _summaries(
    classes: Sequence[ComparedClass], sizes: Floats, draw: Draw, replicates: int,
    effect_draws: Floats | None = None,
) -> Drawn:  # fmt: skip
    models, groups = sizes.shape
    effects = np.empty((models, len(classes), replicates))
    hits = np.zeros((models, groups, replicates))
    for index, compared in enumerate(classes):
        for model, tables in enumerate(draw(index)):
            effects[model, index] = compared.cells.effect(tables, model)
            right = compared.cells.prediction == compared.label
            hits[model, compared.cells.group[right]] += tables[right]
    if effect_draws is not None:
        effect_draws[:] = effects
    summaries = [_of_model(effects[model], hits[model], sizes[model]) for model in range(models)]
    return {name: np.stack([summary[name] for summary in summaries]) for name in SUMMARIES}


def _of_model(effects: Floats, hits: Floats, sizes: Floats) -> Drawn:
    """The summaries of one model from its classes' effects (k, R) and its groups' hits (Z, R)."""
    ordered = np.sort(effects, axis=0)  # NaN comes last
    used = (~np.isnan(ordered)).sum(axis=0)
    some, column = np.maximum(used, 1), np.arange(used.size)
    present = sizes > 0
    worst = (hits[present] / sizes[present][:, None]).min(axis=0)
    accuracy = hits.sum(axis=0) / sizes.sum()
    lopsided = np.where(used < FEWEST_CLASSES, np.nan, skewness(np.ascontiguousarray(effects.T)))
    return {
        "skewsize": lopsided,
        "cramers_v_mean": np.where(used > 0, np.nansum(ordered, axis=0) / some, np.nan),
        "cramers_v_median": (ordered[(some - 1) // 2, column] + ordered[some // 2, column]) / 2,
        "cramers_v_max": ordered[some - 1, column],
        "accuracy": accuracy,
        "worst_group_accuracy": worst,
        "accuracy_gap": accuracy - worst,
    }
