"""Two or more models over one grouping: their summaries as they are, and in samples drawn again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import ParameterError
from evenhand.core.findings import Dropped, GroupSize, key_of
from evenhand.core.random_streams import stream
from evenhand.evidence.derivation.paired import Aligned
from evenhand.evidence.predictions.counts import PREDICTIONS, Counts
from evenhand.evidence.predictions.levels import CLUSTER
from evenhand.metrics.prepared import REPLICATES, By, names_of
from evenhand.stats.arrays import Codes, Ends, Floats, Mask
from evenhand.stats.contingency import model_summaries
from evenhand.stats.contingency.model_changes import Flips, Shares
from evenhand.stats.contingency.model_summaries import ComparedClass, Drawn, JointClass, SeparateClass
from evenhand.stats.contingency.resampling import runs
from evenhand.stats.rates.differences import paired_correlation

Both = Counts | tuple[Counts, Counts]

MOST_KEPT = 20_000_000  # effect sizes of single classes in resamples that are held at a time
_SAME_MIX = 1e-9


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
        if isinstance(evidence, Counts):
            if not evidence.paired:
                raise ParameterError("counts of one model cannot be compared; give two, or joined ones")
            rows = _named(evidence).project(groups)
            compared = cls.over(Aligned.of_joined(rows.table(), groups, PREDICTIONS), names, seed)
            usable = rows.only(np.asarray((rows.codes >= 0).all(axis=0)))
            singles = (usable.of_first(), usable.of_second())
        else:
            projected = [_named(counts).project(groups) for counts in evidence]
            tables = [counts.table() for counts in projected]
            compared = cls.over(Aligned.of_separate(tables, groups, names), names, seed)
            first, second = (counts.only(compared._shares(counts)) for counts in projected)
            singles = (first, second)
        alike = singles[0].cluster is not None and singles[0].cluster == singles[1].cluster
        return replace(compared, singles=singles) if alike else compared

    @classmethod
    def over(cls, aligned: Aligned, names: Sequence[str], seed: int = 0) -> ComparedCounts:
        """Models over rows that are aligned."""
        singles = tuple(aligned.counts_of(model) for model in range(len(names)))
        return cls(aligned, singles, tuple(names), seed)

    def _shares(self, counts: Counts) -> Mask:
        """Which cells of a model's counts are among the rows compared."""
        table = counts.to_frame()
        keys = table.rename({f"attribute:{name}": name for name in self.aligned.by})
        usable = (counts.codes >= 0).all(axis=0)
        return usable & (self.places(keys.select("truth", *self.aligned.by))[1] >= 0)

    def places(self, keys: pl.DataFrame) -> tuple[Codes, Codes]:
        """Class (of those with rows) and group of each entry; -1 where it is not among the rows compared.

        ``keys`` has the columns truth and the attributes.
        """
        a = self.aligned
        cells = np.unique(np.stack([a.truth, a.group]), axis=1)
        labels = {a.labels[code]: index for index, code in enumerate(np.unique(a.truth).tolist())}
        groups = {group: index for index, group in enumerate(a.groups)}
        there = {(a.labels[truth], a.groups[group]) for truth, group in cells.T.tolist()}
        rows = [(row[0], row[1:]) for row in keys.iter_rows()]
        truth = [labels[row[0]] if row in there else -1 for row in rows]
        group = [groups[row[1]] if row in there else -1 for row in rows]
        return np.array(truth, dtype=np.int64), np.array(group, dtype=np.int64)

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
        cell, index = np.unique(a.truth * len(a.groups) + a.group, return_inverse=True)
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
        labels, by = self.labels, "+".join(self.aligned.by)

        def streams(index: int, start: int) -> np.random.Generator:
            return stream(self.seed, "models", "resampled", by, labels[index], start)

        shape = (len(self.names), len(labels), REPLICATES)
        effects = np.empty(shape) if len(self.names) == 2 and math.prod(shape) <= MOST_KEPT else None
        return model_summaries.replicated(self.classes, self.sizes, REPLICATES, streams, effects), effects

    def correlation(self, metric: str) -> float:
        """Of the two models' summaries in resamples of the same samples; 0 for samples of their own."""
        if not self.joined:
            return 0.0
        first, second = self.resampled[metric]
        return float(paired_correlation(first, second, float(self.aligned.n.sum())))

    def class_correlation(self) -> Floats:
        """The same of each class's effect size, shape (classes,); 0, which is wider, for too many classes."""
        effects = self._redrawn[1] if self.joined else None
        if effects is None:
            return np.zeros(len(self.classes))
        return paired_correlation(
            effects[0], effects[1], np.array([compared.n.sum() for compared in self.classes])
        )

    def factor(self, metric: str, model: int) -> float:
        """An effect size in the common mix over that in a model's own mix."""
        own_effect = float(self.own[metric][model, 0]) if self.standardised else 0.0
        return float(self.observed[metric][model, 0]) / own_effect if own_effect > 0 else 1.0


def _named(counts: Counts) -> Counts:
    """The rows that name their cluster, where clusters were declared; as audits count them."""
    if counts.cluster is None:
        return counts
    return counts.only(counts.codes_of(CLUSTER + counts.cluster) >= 0)


def compared_rows(aligned: Aligned, which: int) -> dict[str, Any]:
    """Rows of one of the models, by group, and what was left out, as fields of a finding."""
    sizes = aligned.sizes[which]
    pairs = zip(aligned.groups, sizes.tolist(), strict=True)
    groups = [GroupSize(key=key_of(key), n=n) for key, n in pairs]
    dropped = [Dropped(reason=reason, count=count) for reason, count in aligned.dropped]
    return {"n": float(sizes.sum()), "groups": groups, "dropped": dropped}


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
