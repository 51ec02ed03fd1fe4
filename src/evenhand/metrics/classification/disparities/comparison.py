"""Mistakes of each group beside those of all others of the same class: compared, tested, listed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from evenhand.core.errors import ParameterError, check_choice
from evenhand.metrics.estimates import get_or_make
from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.tables.grouping import UnitCells
from evenhand.stats.arrays import Floats, Integers
from evenhand.stats.contingency.tables import looked_up
from evenhand.stats.disparities.candidates import MISS, Candidates, Mistakes
from evenhand.stats.disparities.clusters import ClusterRows, clustered_lines
from evenhand.stats.disparities.lines import Lines, Spread
from evenhand.stats.disparities.listing import Parents, listed
from evenhand.stats.disparities.mid_p import detectable_rate
from evenhand.stats.disparities.testing import compared_lines
from evenhand.stats.multiplicity import adjust
from evenhand.stats.rates.rates import Rates

Correction = Literal["bh", "holm", "by"]
Order = Literal["rows", "points"]
UNDEFINED = ("single_group", "too_few_rows", "too_few_mistakes", "weighted", "one_cluster")
"""What a status says why nothing could be tested."""


@dataclass(frozen=True)
class Options:
    """What a user can choose."""

    alpha: float = 0.05
    min_rows: int = 5
    correction: Correction = "bh"
    order: Order = "rows"

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ParameterError(f"alpha={self.alpha!r} is not possible; choose a number between 0 and 1")
        is_whole = isinstance(self.min_rows, int | np.integer) and not isinstance(self.min_rows, bool)
        if not is_whole or self.min_rows < 1:
            raise ParameterError(f"min_rows={self.min_rows!r} is not possible; choose a whole number from 1")
        check_choice("correction", self.correction, get_args(Correction))
        check_choice("order", self.order, get_args(Order))

    @property
    def params(self) -> dict[str, float | int | str]:
        """Those that differ from their default."""
        default = Options()
        return {name: value for name, value in vars(self).items() if value != getattr(default, name)}


@dataclass(frozen=True, eq=False)
class Detectable:
    """What would have been noticed in a class of usual size, four times in five."""

    n: int  # rows of the class in the group
    others: float  # rate elsewhere
    rate: float  # NaN: none would


@dataclass(frozen=True, eq=False)
class GroupMistakes:
    """Mistakes of the groups of a table, compared under some options."""

    bound: BoundCounts
    options: Options

    @classmethod
    def of(cls, bound: BoundCounts, options: Options) -> GroupMistakes:
        """The comparison, made once for each grouping and choice of options."""
        return get_or_make(bound.memo, ("disparities", options), cls, bound, options)

    @cached_property
    def mistakes(self) -> Mistakes:
        """By class, group and label."""
        return get_or_make(self.bound.memo, "mistakes", self._mistakes, self.bound.n)

    def _mistakes(self, n: Integers | Floats) -> Mistakes:
        """Of a number of each cell, such as its rows."""
        bound = self.bound
        return Mistakes.of_cells(bound.truth, bound.group, bound.prediction, n, bound.rows, len(bound.groups))

    @cached_property
    def _tested(self) -> tuple[Lines, int]:
        """Lines with p (with weights: without), and how many candidates there were."""
        mistakes, options = self.mistakes, self.options
        candidates = Candidates.of(mistakes, options.min_rows)
        if mistakes.groups < 2:
            candidates = candidates.take(np.zeros(0, dtype=np.int64))
        if self.bound.moments is not None:
            undefined = np.full(candidates.pair.size, np.nan)
            return Lines.of(
                candidates, undefined, undefined, self._linearised(candidates)
            ), candidates.pair.size
        if self.bound.units is not None:
            return self._clustered(candidates, self.bound.units), candidates.pair.size
        lines, _ = compared_lines(candidates, alpha=options.alpha, correction=options.correction)
        return lines, candidates.pair.size

    @property
    def lines(self) -> Lines:
        """All lines that were tested; with weights all that could be compared."""
        return self._tested[0]

    @property
    def candidates(self) -> int:
        """How many mistakes of a group have enough rows to be compared."""
        return self._tested[1]

    @cached_property
    def listed(self) -> Integers:
        """Indices of the lines that are listed, the first to be read first."""
        alpha, min_rows = self.options.alpha, self.options.min_rows
        index = listed(self.lines, self.mistakes, alpha=alpha, min_rows=min_rows)
        return index[self.lines.take(index).ranked(self.options.order)]

    @cached_property
    def listed_lines(self) -> Lines:
        """The lines that are listed, the first to be read first; limits heed that the data chose them."""
        return self.lines.selected(self.listed, self.options.alpha)

    @cached_property
    def status(self) -> str:
        """What came of it, as a code."""
        mistakes = self.mistakes
        states = {
            "single_group": mistakes.groups < 2,
            "no_mistakes": not mistakes.cell_n.size,
            "too_few_rows": not mistakes.eligible(self.options.min_rows).any(),
            "weighted": self.bound.moments is not None,
            "too_few_mistakes": not len(self.lines),
            "one_cluster": bool(np.isnan(self.lines.p).all()),
            "none_beyond_chance": not self.listed.size,
        }
        return next((name for name, holds in states.items() if holds), "found")

    @cached_property
    def p_value(self) -> float | None:
        """Simes' p that no mistake differs between groups; of clusters, that of the largest score.

        None where nothing was tested.
        """
        if self.status in UNDEFINED or not len(self.lines):
            return None
        if self.bound.units is not None or self.options.correction == "bh":
            return float(self.lines.q.min())
        return float(adjust(self.lines.p, "bh").min())

    @cached_property
    def parents(self) -> tuple[str | None, ...]:
        """For each listed line the wider group that it repeats, in the same order; None: it repeats none.

        Of several, that with the least p against the rest of the class; of equal ones the widest.
        """
        by, lines = self.bound.by, self.listed_lines
        names: list[str | None] = [None] * len(lines)
        least = np.full(len(lines), np.inf)
        if not len(lines):
            return ()
        for count in range(1, len(by)):
            for some in combinations(range(len(by)), count):
                wider, texts = self._wider(some)
                parents = Parents.of(lines, self.mistakes, wider, self.options.alpha)
                better = parents.repeats & (parents.p_against_rest < least)
                least[better] = parents.p_against_rest[better]
                for index in np.flatnonzero(better).tolist():
                    names[index] = texts[wider[lines.group[index]]]
        return tuple(names)

    def _wider(self, attributes: tuple[int, ...]) -> tuple[Integers, list[str]]:
        """The wider group of each group that shares some attributes, and what these are called."""
        by, groups = self.bound.by, self.bound.groups
        texts = [" · ".join(f"{by[at]} = {group[at]}" for at in attributes) for group in groups]
        values = [tuple(group[at] for at in attributes) for group in groups]
        codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
        names = dict(zip(values, texts, strict=True))
        return np.array([codes[value] for value in values]), [names[value] for value in codes]

    def detectable(self, alpha: float) -> Detectable | None:
        """What a test of this level would usually have shown.

        None where nothing was tested, and where rows come in clusters.
        """
        if self.p_value is None or self.bound.units is not None:
            return None
        lines, n = self.lines, _lower_median(self.lines.n)
        m = max(
            _lower_median(lines.n + lines.m) - n, 1
        )  # of one class: of two groups both are not the smaller
        _, first = np.unique(lines.pair, return_index=True)
        labels = first[lines.label[first] != MISS]
        pairs = lines.take(labels if labels.size else first)
        usual = float(np.quantile((pairs.a + pairs.b) / (pairs.n + pairs.m), 0.75))
        b = int(np.ceil(m * usual - 1e-9))
        return Detectable(n, usual, detectable_rate(n, m, b, alpha / len(lines)))

    @property
    def largest(self) -> Lines:
        """Where nothing is listed: the line of a group that has a mistake more often with the least p."""
        index = np.flatnonzero(self.lines.is_more)
        best = index[self.lines.take(index).by_p()[:1]]
        return self.lines.take(best)

    def _clustered(self, candidates: Candidates, units: UnitCells) -> Lines:
        """Lines of rows in clusters; p is NaN where nothing says how clusters vary."""
        rows = ClusterRows(*units.by_row())
        lines = clustered_lines(candidates, rows, self.bound.stream("disparities"), self.options.alpha)
        if not rows.relabelling.fixed:
            return lines
        undefined = np.full(len(lines), np.nan)
        return replace(lines, p=undefined, q=undefined)

    def _linearised(self, candidates: Candidates) -> Spread:
        """How weighted rows vary in each group's rows of the class and elsewhere (``Rates.of_survey``)."""
        moments = self.bound.moments
        squared = self._mistakes(np.zeros(0) if moments is None else moments[1])
        key = squared.cell_pair * squared.truth.size + squared.cell_stratum
        order = np.argsort(key)
        candidate_key = candidates.pair * squared.truth.size + candidates.stratum
        hits = looked_up(key[order], squared.cell_n[order], candidate_key)
        of = Candidates(squared, candidates.pair, candidates.stratum, hits)
        rows = self.mistakes.rows[candidates.stratum].astype(np.float64)
        by_class = np.bincount(self.mistakes.truth, self.mistakes.rows, self.mistakes.classes)
        inside = Rates.of_survey(candidates.a, candidates.n, of.n, of.a, rows)
        outside = Rates.of_survey(
            candidates.hits - candidates.a, candidates.total - candidates.n, of.total - of.n, of.hits - of.a,
            by_class[candidates.truth] - rows,
        )  # fmt: skip
        return Spread((inside.size, outside.size), (inside.freedom, outside.freedom))


def _lower_median(values: np.ndarray) -> int:
    return int(np.partition(values, (values.size - 1) // 2)[(values.size - 1) // 2])
