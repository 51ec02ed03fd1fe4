"""Rates of right answers and of answered labels by group, and what they would be if groups were exchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from evenhand.metrics.tables.grouping import MOST_ROWS, Grouped
from evenhand.stats.arrays import (
    Codes,
    Ends,
    Floats,
    Integers,
    Mask,
    Rng,
    piece_sizes,
    ratio,
    sum_by,
)
from evenhand.stats.contingency import resampling
from evenhand.stats.exchange.compared_rates import ComparedRates, ExchangedRates, UnitMoments, widened
from evenhand.stats.exchange.unit_rates import UnitRates
from evenhand.stats.rates.confusion import SUMMARIES, Confusion
from evenhand.stats.rates.rates import Rates

LABEL_BUDGET = 5_000_000  # groups x labels above which rates by label get no interval
_PAIR_BUDGET = 300_000_000  # groups x groups x labels, the same
_WORK = 10_000_000  # groups x labels x replicates that are drawn
_KEPT = 1_000_000  # of which so many are kept as noise
_FEWEST, _USUAL, _MOST = 199, 999, 9_999
_MOST_FREEDOM = 1e6  # beyond it t is normal


Sampler = Callable[[Integers, Integers, int, int, Rng], Integers]
"""Rows, columns, their sum, replicates and a generator to tables."""


@dataclass(frozen=True, eq=False)
class ExchangedMargins:
    """Draws with exchanged groups."""

    values: dict[str, Floats]  # scalars of `SUMMARIES` in each draw, shape (R,)
    # the largest difference of two groups in each draw, in standard errors, by kind of rate
    largest: dict[str, Floats]
    noise: dict[str, Floats]  # rates less what is expected of them, of some draws, by kind, shape (K, G, L)
    method: str  # what was exchanged


_Piece = tuple[Confusion, dict[str, ComparedRates]]


@dataclass(frozen=True, eq=False)
class Margins(Grouped):
    """The rates on which accuracy, parity and odds depend: ``hit``, ``predicted``, ``true``, ``false``.

    Rows are independent, or come in clusters, or have weights; the kinds are those of ``UnitRates``.
    """

    @property
    def unit(self) -> str:
        """What was sampled as a whole: rows, or the column of clusters."""
        return "rows" if self.units is None else self.units.name

    @property
    def wilson(self) -> str:
        """How limits of rates are made."""
        return "Wilson score" if self.unit == "rows" else f"Wilson score, effective size over {self.unit}"

    @property
    def by_label(self) -> bool:
        """Whether there are few enough labels and groups for limits of a rate of each."""
        groups, labels = self.confusion.support.shape[-2:]
        return bool(groups * labels <= LABEL_BUDGET and groups * groups * labels <= _PAIR_BUDGET)

    @property
    def testable(self) -> bool:
        """Whether groups can be exchanged: there are two, rows count alike or units are exchanged."""
        alike = self.moments is None
        movable = alike if self.tables is None else not self.tables.relabelling.fixed
        return len(self.groups) > 1 and movable

    @cached_property
    def tables(self) -> UnitRates | None:
        """Rows by cluster; None where rows are their own units."""
        cells = self.units
        if cells is None:
            return None
        rows = cells.rows.astype(np.int64)
        weight = np.repeat(cells.n / rows, rows)
        truth, group, prediction, unit = cells.by_row()
        groups, labels = self.confusion.support.shape
        return UnitRates(truth, group, prediction, unit, weight / weight.mean(), groups, labels)

    @cached_property
    def unit_sizes(self) -> Integers:
        """Rows or clusters of each group, shape (G,)."""
        return self.group_sizes if self.tables is None else self.tables.sizes

    def rates(self, kind: str) -> Rates:
        """Rates of a kind with effective sizes, shape (L, G); of ``hit`` (1, G)."""
        if ("rates", kind) not in self.memo:
            tables = self.tables
            rates = _rates_of(self._sums(kind)) if tables is None else tables.rates(kind)
            self.memo["rates", kind] = rates
        remembered: Rates = self.memo["rates", kind]
        return remembered

    @property
    def accuracies(self) -> Rates:
        """Rates of right answers of the groups, shape (G,)."""
        return self.rates("hit").at(0)

    def _sums(self, kind: str) -> list[Ends]:
        """Hits and trials; of rows with weights also in numbers of rows, and in squared weights."""
        moments = self.moments
        tables = [self.confusion, *map(self.added_up, () if moments is None else moments)]
        return [table.sums(kind) for table in tables]

    def regrouped(self, wider: Integers, groups: int) -> Rates:
        """Rates of right answers of wider groups, that of each group below ``groups``; shape (groups,)."""
        if self.tables is not None:
            return self.tables.regrouped(wider, groups).rates("hit").at(0)
        return _rates_of(
            [
                (sum_by(wider, hits[:, 0], groups), sum_by(wider, n[:, 0], groups))
                for hits, n in self._sums("hit")
            ]
        )

    def overall(self) -> Rates:
        """The rate of right answers of all rows, shape (1,)."""
        return self.regrouped(np.zeros(len(self.groups), dtype=np.int64), 1)

    def weight_noise(self, kind: str) -> Floats:
        """Noise of the rates of weighted rows, shape (K, G, L): one draw for all kinds and labels.

        Each cell's weight moves by a normal number with the variance of its squared weights, and rates by
        what that adds to them (linearised at the rate of all groups: few rows that all hit are not certain).
        Labels that exclude each other move against each other.
        """
        from scipy import sparse

        groups, labels = self.confusion.support.shape
        squares = np.zeros(self.truth.size) if self.moments is None else self.moments[1]
        draws = int(np.clip(_KEPT // max(squares.size, groups * labels), 60, _USUAL))
        moved = self.stream("weights").standard_normal((draws, squares.size)) * np.sqrt(squares)

        def by(label: Codes, some: Mask) -> Floats:
            cell = self.group[some].astype(np.int64) * labels + label[some]
            where = (np.flatnonzero(some), cell)
            add = sparse.csr_array((np.ones(cell.size), where), shape=(squares.size, groups * labels))
            return np.asarray(moved @ add).reshape(draws, groups, labels)

        every = np.ones(squares.size, dtype=bool)
        noise = Confusion(by(self.truth, every), by(self.truth, self.right), by(self.prediction, every))
        hits, trials = noise.sums(kind)
        all_hits, all_trials = self.confusion.sums(kind)
        together = np.broadcast_to(all_trials, all_hits.shape).sum(axis=0)
        rates = ratio(all_hits.sum(axis=0), together)
        noise_of_rates = ratio(hits - rates * trials, all_trials)
        return noise_of_rates * self.unsure(kind, draws)

    def unsure(self, kind: str, draws: int) -> Floats:
        """What makes normal noise that of t, whose variance few rows tell, shape (draws, G, L)."""
        freedom = np.minimum(self.rates(kind).freedom.T, _MOST_FREEDOM)
        if (freedom == freedom[:, :1]).all():  # of the same rows, so that what one label gains others lose
            freedom = freedom[:, :1]
        squares = self.stream("weights", kind).chisquare(freedom, (draws, *freedom.shape))
        return np.sqrt(freedom / squares)

    def compared(self, kind: str) -> ComparedRates:
        """The rates as observed, R = 1."""
        if self.tables is not None:
            return self.tables.observed(kind)
        expected = self._expected if kind == "false" else None
        (hits, trials), *moments = self._sums(kind)
        if not moments:
            return ComparedRates.of_rows(hits[None], trials, expected)
        # a weighted row is a unit of one row: s^2 and s w are its squared weight if it hits
        (_, rows), (hit, every) = moments
        return ComparedRates.of_units(hits[None], trials, UnitMoments(hit, hit, every, rows, None), expected)

    def wider(self, kind: str) -> Floats:
        """As of ``widened``, shape (G, L); of units and weighted rows, whose own rates tell, 1."""
        hits, trials = self.confusion.sums(kind)
        alike = self.tables is None and self.moments is None
        return widened(hits, trials) if alike else np.ones(hits.shape)

    @cached_property
    def _expected(self) -> Floats:
        """Wrong answers with a label that a group's mix of truths leads to expect, over its trials."""
        return ratio(self.expected_wrong(), self.confusion.sums("false")[1])

    @cached_property
    def hits(self) -> ExchangedRates | None:
        """Right answers, groups exchanged among all rows; None where nothing can be."""
        if not self.testable:
            return None
        groups, rng = len(self.groups), self.stream("exchange", "hit")
        if self.tables is not None:
            work = groups * 4 + self.tables.unit.size
            replicates = int(np.clip(2 * _WORK // work, _FEWEST, _MOST))
            chunks = self.tables.draws(rng, ("hit",), replicates, within=False)
            compared = ComparedRates.joined([chunk["hit"] for chunk in chunks])
        else:
            replicates = int(np.clip(_WORK // groups**2, _USUAL if groups < 1_000 else _FEWEST, _MOST))
            correct, size = self.confusion.sums("hit")
            margins = np.array([correct.sum(), size.sum() - correct.sum()])
            hits = draw_tables(rng, size[:, 0], margins, replicates)[..., :1].astype(np.float64)
            compared = ComparedRates.of_rows(hits, size)
        return ExchangedRates(self.compared("hit"), compared)

    @cached_property
    def over_all(self) -> ExchangedMargins:
        """Answers with each label, groups exchanged among all rows: for parity, which ignores the truth."""
        return self._drawn(("predicted",), self._predicted(), "exchanged")

    @cached_property
    def within_truth(self) -> ExchangedMargins:
        """All margins, groups exchanged among the rows of each truth: for equalized odds."""
        return self._drawn(("true", "false"), self._within(), "exchanged within the truth")

    def _drawn(self, kinds: tuple[str, ...], pieces: Iterator[_Piece], how: str) -> ExchangedMargins:
        """Pieces of draws put together: their scalars, and by kind largest differences and noise."""
        of_kinds = ("class", "/") if len(kinds) > 1 else ("parity",)
        keys = [key for key in SUMMARIES if any(word in key for word in of_kinds)]
        values, largest, noise = (defaultdict[str, list[Floats]](list) for _ in range(3))
        for confusion, compared in pieces:
            for key in keys:
                values[key].append(confusion.summary(key))
            for kind in kinds:
                largest[kind].append(compared[kind].largest())
                noise[kind].append(self._some(kind, compared[kind], noise[kind]))
        scalars, most, away = (
            {name: np.concatenate(chunks) for name, chunks in by_name.items()}
            for by_name in (values, largest, noise)
        )
        return ExchangedMargins(scalars, most, away, f"{self.exchanged} {how}")

    def _predicted(self) -> Iterator[_Piece]:
        groups, labels = self.confusion.support.shape
        rng, replicates = self.stream("exchange", "predicted"), self._replicates
        if self.tables is not None:
            for compared in self.tables.draws(rng, ("predicted",), replicates, within=False):
                of_label = compared["predicted"]
                yield Confusion(of_label.trials[..., :1], of_label.hits, of_label.hits), compared
            return
        size, totals = self.confusion.group_size, self.confusion.predicted.sum(axis=0)
        for together in piece_sizes(replicates, 4_000_000, groups * labels):
            drawn_tables = draw_tables(rng, size, totals, together).astype(np.float64)
            confusion = replace(self.confusion, predicted=drawn_tables)
            yield confusion, {"predicted": ComparedRates.of_rows(*confusion.sums("predicted"))}

    def _within(self) -> Iterator[_Piece]:
        rng, replicates = self.stream("exchange", "within"), self._replicates
        if self.tables is not None:
            kinds = ("predicted", "true", "false")
            for compared in self.tables.draws(rng, kinds, replicates, within=True):
                margins = compared["true"].trials, compared["true"].hits, compared["predicted"].hits
                yield Confusion(*margins), compared
            return
        for confusion in self._row_chunks(replicates):
            false = ComparedRates.of_rows(*confusion.sums("false"), self._expected)
            yield confusion, {"true": ComparedRates.of_rows(*confusion.sums("true")), "false": false}

    def _row_chunks(self, replicates: int) -> Iterator[Confusion]:
        support = self.confusion.support
        if self.cellwise(replicates):

            def streams(key: Any) -> Rng:
                label, chunk = key
                return self.stream("null", f"{self.label_key(label)}/{chunk}")

            return resampling.cellwise_null(self.class_cells, support, replicates, streams, draw_tables)
        wrong = self.expected_wrong()
        return resampling.marginal_null(self.confusion, wrong, replicates, self.stream("null"))

    @property
    def exchanged(self) -> str:
        """What changes places."""
        return "groups of rows" if self.tables is None else f"groups of whole units ({self.unit})"

    @property
    def _replicates(self) -> int:
        size = self.confusion.support.size
        if self.tables is not None:
            size = max(size, self.tables.unit.size * 4)
        return int(np.clip(_WORK // size, _FEWEST, _USUAL))

    def _some(self, kind: str, draws: ComparedRates, before: list[Floats]) -> Floats:
        """As many of the draws as are still kept."""
        most = int(np.clip(_KEPT // draws.rates[0].size, 60, _USUAL)) - sum(map(len, before))
        away = draws.away if self.tables is None else draws.scaled_to(self.compared(kind))
        return away[: max(most, 0)]


def _rates_of(sums: Sequence[Ends]) -> Rates:
    """Rates of rows from hits and trials by group, and of rows with weights from those of ``_sums``."""
    (hits, trials), *moments = sums
    if not moments:
        return Rates.of_rows(hits.T, trials.T)
    (_, rows), (hit_squares, squares) = moments
    numbers = np.broadcast_arrays(hits, trials, squares, hit_squares, rows)
    return Rates.of_survey(*[number.T for number in numbers])


@cache
def samplers() -> tuple[Sampler, Sampler] | None:
    """SciPy's two samplers of tables, from their own module; None where SciPy does not have it there.

    By cells (Patefield 1981) and by counts (Boyett 1979). ``import scipy.stats`` takes longer than all other
    work of a small audit.
    """
    spec = PathFinder.find_spec("rcont", [str(Path(folder, "stats", "_rcont")) for folder in scipy.__path__])
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        pair = module.rvs_rcont2, module.rvs_rcont1
        for sampler in pair:  # it is no public module: another release may have others
            sampler(np.array([1, 1]), np.array([1, 1]), 2, 1, np.random.default_rng(0))
    except (AttributeError, TypeError, ValueError):
        return None
    return pair


def draw_tables(rng: Rng, rows: Floats, columns: Floats, replicates: int) -> Integers:
    """Random tables with the given margins, shape (replicates, r, c), uniformly over assignments."""
    n = int(rows.sum())
    if n > MOST_ROWS:
        sizes = np.repeat(rows[:, None], columns.size, axis=1)
        return resampling.split_hypergeometric(rng, columns, sizes, replicates).astype(np.int64)
    if rows.size == 1 or columns.size == 1:  # determined by its margins; scipy's sampler is wrong here
        only = np.broadcast_to(columns, (rows.size, columns.size)) if rows.size == 1 else rows[:, None]
        return np.broadcast_to(only.astype(np.int64), (replicates, rows.size, columns.size)).copy()
    margins, pair = (rows.astype(np.int64), columns.astype(np.int64)), samplers()
    if pair is not None:  # as random_table chooses
        sampler = pair[0 if n > np.log(n + 1) * rows.size * columns.size else 1]
        return sampler(*margins, n, replicates, rng).reshape(replicates, rows.size, columns.size)
    from scipy.stats import random_table

    tables = np.asarray(random_table(*margins).rvs(size=replicates, random_state=rng), dtype=np.int64)
    return tables.reshape(replicates, rows.size, columns.size)
