"""Two or more models over one grouping: their summaries as they are, and in samples drawn again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import ParameterError
from evenhand.core.findings import key_of
from evenhand.core.random_streams import stream
from evenhand.evidence.derivation.paired import Aligned, Losses, without_missing
from evenhand.evidence.predictions.counts import PREDICTIONS, Counts
from evenhand.evidence.predictions.levels import CLUSTER
from evenhand.metrics.estimates import REPLICATES, By, losses, names_of, sizes_of
from evenhand.stats.arrays import Codes, Ends, Floats, Mask, Rng, keys_and_codes
from evenhand.stats.contingency import model_summaries
from evenhand.stats.contingency.model_changes import Flips, Shares
from evenhand.stats.contingency.model_summaries import ComparedClass, Drawn, JointClass, SeparateClass
from evenhand.stats.contingency.resampling import runs
from evenhand.stats.contingency.unit_summaries import SamplingUnits, UnitEntries, replicated_by_unit
from evenhand.stats.rates.differences import paired_correlation

Both = Counts | tuple[Counts, Counts]

MOST_KEPT = 20_000_000  # effect sizes of single classes in resamples that are held at a time
_SAME_MIX = 1e-9
_STORED = "attribute:"
_PLACES = ("class in order", "group in order")


@dataclass(frozen=True, eq=False)
class ComparedCounts:
    """Two or more models over one grouping, bound to a seed."""

    aligned: Aligned  # their usable rows
    singles: tuple[Counts, ...]  # counts of each model over these rows
    names: tuple[str, ...]  # what the models are called
    seed: int = 0  # the user's one seed

    @classmethod
    def of(cls, evidence: Both, by: By, names: Sequence[str], seed: int = 0) -> ComparedCounts:
        """Bind counts of two models: on the same samples (``prediction_b``), or one after the other."""
        groups = names_of(by)
        if not groups:
            raise ParameterError("models are compared by groups: name at least one attribute with by=")
        if not isinstance(evidence, Counts):
            return cls.of_separate(evidence, groups, names, seed)
        if not evidence.paired:
            raise ParameterError("counts of one model cannot be compared; give two, or joined ones")
        return cls.of_joined(_table(evidence.project(groups)), groups, PREDICTIONS, names, seed)

    @classmethod
    def of_joined(
        cls, table: pl.DataFrame, by: Sequence[str], columns: Sequence[str], names: Sequence[str],
        seed: int = 0,
    ) -> ComparedCounts:  # fmt: skip
        """Models on the same samples; ``columns`` hold the answers of each.

        The table has truth, attributes, these columns, ``n`` and, of rows sampled in clusters, their axis.
        """
        rows, lost = without_missing(table, _clusters(table))
        compared = cls.over(Aligned.of_joined(rows, by, columns), names, seed, lost)
        clusters = _clusters(rows)
        if len(clusters) != 1:
            return compared
        usable = rows.drop_nulls(["truth", *by, *columns])
        facts, last = ("truth", *by), (*clusters, "n")
        tables = [usable.select(*facts, pl.col(name).alias("prediction"), *last) for name in columns]
        return replace(compared, singles=tuple(_counted(single) for single in tables))

    @classmethod
    def of_separate(
        cls, counts: Sequence[Counts], by: Sequence[str], names: Sequence[str], seed: int = 0
    ) -> ComparedCounts:
        """Models on samples of their own."""
        tables, lost = list[pl.DataFrame](), list[tuple[str, int]]()
        for single, name in zip(counts, names, strict=True):
            table = _table(single.project(list(by)))
            rows, losses = without_missing(table, _clusters(table))
            tables.append(rows)
            lost += [(f"{reason} in {name}", count) for reason, count in losses]
        plain = [table.drop(_clusters(table)) for table in tables]
        compared = cls.over(Aligned.of_separate(plain, by, names), names, seed, tuple(lost))
        clusters = {tuple(_clusters(table)) for table in tables}
        if len(clusters) > 1 or not next(iter(clusters)):
            return compared
        usable = [table.drop_nulls() for table in tables]
        compared_rows = [table.filter(pl.Series(compared.places(table)[1] >= 0)) for table in usable]
        return replace(compared, singles=tuple(_counted(single) for single in compared_rows))

    @classmethod
    def over(cls, aligned: Aligned, names: Sequence[str], seed: int = 0, lost: Losses = ()) -> ComparedCounts:
        """Models over rows that are aligned; ``lost`` were left out before."""
        if lost:
            aligned = replace(aligned, dropped=(*lost, *aligned.dropped))
        singles = tuple(aligned.counts_of(model) for model in range(len(names)))
        return cls(aligned, singles, tuple(names), seed)

    def places(self, keys: pl.DataFrame) -> tuple[Codes, Codes]:
        """Class (of those with rows) and group of each entry; -1 where it is not among the rows compared.

        ``keys`` has the columns truth and the attributes.
        """
        a = self.aligned
        truth, group = np.unique(np.stack([a.truth, a.group]), axis=1)
        groups = [pl.Series(values).gather(group) for values in zip(*a.groups, strict=True)]
        columns = dict(zip(a.by, groups, strict=True)) | {"truth": pl.Series(a.labels).gather(truth)}
        codes = {_PLACES[0]: np.unique(truth, return_inverse=True)[1], _PLACES[1]: group}
        cells = pl.DataFrame({**columns, **codes})
        names = ["truth", *a.by]
        there = keys.select(names).join(cells, on=names, how="left", maintain_order="left")
        label, code = there.select(pl.col(_PLACES).fill_null(-1)).to_numpy().T.astype(np.int64)
        return label, code

    @cached_property
    def units(self) -> SamplingUnits | None:
        """The sampling units of the rows compared; None where rows are their own."""
        if any(single.cluster is None for single in self.singles):
            return None
        tables = [_table(single) for single in self.singles]
        column = _clusters(tables[0])[0]
        levels = pl.concat([table[column] for table in tables]).unique().sort()
        labels, rows = pl.Series(self.aligned.labels), []
        for table in tables:
            label, group = self.places(table)
            prediction, unit = _codes(table["prediction"], labels), _codes(table[column], levels)
            rows.append(UnitEntries(label, group, prediction, unit, table["n"].to_numpy().astype(np.float64)))
        return SamplingUnits(rows, levels.len())

    def entry_weights(self, keys: pl.DataFrame) -> Floats:
        """What a row of each entry counts for each model in the common mix, shape (2, E)."""
        if not self.standardised:
            return np.ones((2, keys.height))
        a, (rows, weight) = self.aligned, self._mix
        cell, first = np.unique(a.truth * len(a.groups) + a.group, return_index=True)
        classes = np.unique(a.truth)
        truth, group = self.places(keys)
        at = np.searchsorted(cell, classes[np.maximum(truth, 0)] * len(a.groups) + np.maximum(group, 0))
        at = np.minimum(at, cell.size - 1)
        return np.asarray(weight[first][at] / rows[:, at])

    @property
    def joined(self) -> bool:
        """Whether every sample was answered by all models."""
        return self.aligned.joined

    @cached_property
    def _mix(self) -> Ends:
        """Rows of each cell's class and group, and their weight in the common mix, each counted once."""
        a = self.aligned
        cell, index = keys_and_codes(a.truth * len(a.groups) + a.group)
        rows = np.stack([np.bincount(index, n, cell.size) for n in np.atleast_2d(a.n)]).astype(np.float64)
        return rows, (len(rows) / (1 / rows).sum(axis=0))[index]

    @cached_property
    def unlike(self) -> float:
        """The largest share of a model's rows that another has in other classes and groups, in [0, 1]."""
        rows = self._mix[0]
        shares = rows / rows.sum(axis=1, keepdims=True)
        return float(max(0.5 * np.abs(shares - share).sum(axis=1).max() for share in shares))

    @property
    def standardised(self) -> bool:
        """Whether rows are weighted, because models have other mixes of classes and groups."""
        return self.unlike > _SAME_MIX

    @property
    def sizes(self) -> Floats:
        """What each group counts for each model, shape (M, Z): its rows, or its weight in the common mix."""
        a = self.aligned
        if not self.standardised:
            return a.sizes
        first = np.unique(a.truth * len(a.groups) + a.group, return_index=True)[1]
        weights = np.bincount(a.group[first], self._mix[1][first], len(a.groups))
        return np.tile(weights, (len(a.n), 1))

    @property
    def labels(self) -> list[str]:
        """The true classes that have rows."""
        return [str(self.aligned.labels[compared.cells.label]) for compared in self.classes]

    @cached_property
    def classes(self) -> list[ComparedClass]:
        """The true classes that have rows, in the common mix."""
        return self._classes(self._mix[1] if self.standardised else None)

    def _classes(self, weights: Floats | None) -> list[ComparedClass]:
        a = self.aligned
        cuts = runs(a.truth)
        if a.joined:
            return [JointClass(int(a.truth[c.start]), a.group[c], a.answers[:, c], a.n[c]) for c in cuts]
        return [
            SeparateClass(
                int(a.truth[c.start]), a.group[c], a.answers[0, c], a.n[:, c],
                None if weights is None else weights[c],
            )
            for c in cuts
        ]  # fmt: skip

    @cached_property
    def observed(self) -> Drawn:
        """Every summary of each model in the common mix, shape (M, 1)."""
        return model_summaries.observed(self.classes, self.sizes)

    @cached_property
    def own(self) -> Drawn:
        """Every summary of each model in its own mix, shape (M, 1)."""
        return model_summaries.observed(self._classes(None), self.aligned.sizes)

    @property
    def resampled(self) -> Drawn:
        """Bootstrap replicates of every summary of each model, shape (M, replicates)."""
        return self._redrawn[0]

    @cached_property
    def _redrawn(self) -> tuple[Drawn, Floats | None]:
        """The replicates, and those of each class's effect size where two models are compared."""
        labels, by, units = self.labels, "+".join(self.aligned.by), self.units

        def streams(index: int, start: int) -> Rng:
            return stream(self.seed, "models", "resampled", by, labels[index], start)

        shape = (len(self.names), len(labels), REPLICATES)
        effects = np.empty(shape) if len(self.names) == 2 and math.prod(shape) <= MOST_KEPT else None
        if units is not None:
            chunks = partial(stream, self.seed, "models", "units", by)
            draws = replicated_by_unit(units, self.classes, self.sizes, REPLICATES, chunks, effects)
            return draws, effects
        return model_summaries.replicated(self.classes, self.sizes, REPLICATES, streams, effects), effects

    def correlation(self, metric: str) -> float:
        """Of the two models' summaries in resamples of the same samples; 0 for samples of their own.

        Where rows come in clusters these are drawn again, with the rows of both models.
        """
        if not self._correlated:
            return 0.0
        first, second = self.resampled[metric]
        n = self.aligned.n.sum() if self.units is None else self.units.count
        return float(paired_correlation(first, second, float(n)))

    @property
    def _correlated(self) -> bool:
        """Whether models answered the same samples, or samples of the same clusters."""
        return self.joined or (self.units is not None and self.units.shared)

    def class_correlation(self) -> Floats:
        """The same of each class's effect size, shape (classes,); 0, which is wider, for too many classes."""
        effects = self._redrawn[1] if self._correlated else None
        if effects is None:
            return np.zeros(len(self.classes))
        sizes = np.array([compared.n.sum() for compared in self.classes])
        if self.units is not None:
            sizes = np.minimum(sizes, self.units.count)
        return paired_correlation(effects[0], effects[1], sizes)

    def factor(self, metric: str, model: int) -> float:
        """An effect size in the common mix over that in a model's own mix."""
        own_effect = float(self.own[metric][model, 0]) if self.standardised else 0.0
        return float(self.observed[metric][model, 0]) / own_effect if own_effect > 0 else 1.0


def _table(counts: Counts) -> pl.DataFrame:
    """Counts with the columns named as the axes, the one of clusters too."""
    return counts.to_frame().rename({f"{_STORED}{name}": name for name in counts.attributes})


def _clusters(table: pl.DataFrame) -> list[str]:
    """The columns of clusters."""
    return [name for name in table.columns if name.startswith(CLUSTER)]


def _codes(values: pl.Series, levels: pl.Series) -> Codes:
    """The place of each value among the levels."""
    return values.replace_strict(levels, np.arange(levels.len())).to_numpy().astype(np.int64)


def _counted(table: pl.DataFrame) -> Counts:
    """Counts of a table whose columns are in the order of the axes, and ``n``."""
    return Counts.from_table(table, {name: name for name in table.columns if name != "n"})


def compared_rows(aligned: Aligned, which: int) -> dict[str, Any]:
    """Rows of one of the models, by group, and what was left out, as fields of a finding."""
    sizes = aligned.sizes[which]
    groups = sizes_of(map(key_of, aligned.groups), sizes.tolist())
    return {"n": float(sizes.sum()), "groups": groups, "dropped": losses(aligned.dropped)}


def flips_of(aligned: Aligned, unit: Codes, units: int) -> Flips:
    """Samples that one of two joined models alone got right, by the unit of each cell, shape (units,)."""
    right = aligned.answers == aligned.truth

    def summed(some: Mask) -> Floats:
        return np.bincount(unit, aligned.n * some, units).astype(np.float64)

    return Flips(
        summed(np.ones(aligned.n.shape, bool)), summed(right[0] & ~right[1]), summed(right[1] & ~right[0])
    )


def shares_of(aligned: Aligned, unit: Codes, units: int) -> Shares:
    """Right answers of two models in each class and group, as strata of the units."""
    cell, first, index = np.unique(
        aligned.truth * len(aligned.groups) + aligned.group, return_index=True, return_inverse=True
    )
    right = aligned.answers == aligned.truth
    rows = np.tile(aligned.n, (2, 1)) if aligned.joined else aligned.n

    def summed(weights: Floats) -> Floats:
        return np.stack([np.bincount(index, weight, cell.size) for weight in weights])

    return Shares(unit[first], summed(rows * right), summed(rows), units)


def changed(aligned: Aligned, unit: Codes, units: int) -> Flips | Shares:
    """Right answers of both models: paired where they answered the same samples, in one mix elsewhere."""
    return flips_of(aligned, unit, units) if aligned.joined else shares_of(aligned, unit, units)
