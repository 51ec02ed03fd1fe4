"""Rates of right answers and of answered labels by group, and what they would be if groups were exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.metrics.classification.random_tables import draw_tables
from evenhand.metrics.named_groups import get_or_make
from evenhand.metrics.prepared import MOST_ROWS, BoundCounts
from evenhand.stats.arrays import Codes, Ends, Floats, Integers, Mask, codes_of, piece_sizes, ratio
from evenhand.stats.contingency import resampling
from evenhand.stats.contingency.tables import sum_by
from evenhand.stats.exchange.rates import Tally, UnitMoments
from evenhand.stats.exchange.unit_rates import UnitRates
from evenhand.stats.rates.confusion import Confusion, over_classes, range_over_groups, summaries
from evenhand.stats.rates.rates import Rates

LABEL_BUDGET = 5_000_000  # groups x labels above which rates by label get no interval
_PAIR_BUDGET = 300_000_000  # groups x groups x labels, the same
_WORK = 10_000_000  # groups x labels x replicates that are drawn
_KEPT = 1_000_000  # of which so many are kept as noise
_FEWEST, _USUAL, _MOST = 199, 999, 9_999
_MOST_FREEDOM = 1e6  # beyond it t is normal


@dataclass(frozen=True, eq=False)
class ExchangedMargins:
    """Draws with exchanged groups."""

    # scalars in each draw, shape (R,): within the truth those of `summaries`, over all the parity of labels
    # by how it is aggregated
    values: dict[str, Floats]
    # the largest difference of two groups in each draw, in standard errors, by kind of rate
    largest: dict[str, Floats]
    noise: dict[str, Floats]  # rates less what is expected of them, of some draws, by kind, shape (K, G, L)
    method: str  # what was exchanged


@dataclass(frozen=True, eq=False)
class Margins:
    """The rates on which accuracy, parity and odds depend: ``hit``, ``predicted``, ``true``, ``false``.

    Rows are independent, or come in clusters, or have weights; the kinds are those of ``UnitRates``.
    """

    prepared: BoundCounts

    @classmethod
    def of(cls, prepared: BoundCounts) -> Margins:
        """The margins of bound evidence, made once."""
        return get_or_make(prepared.memo, "margin rates", lambda: cls(prepared))

    @property
    def confusion(self) -> Confusion:
        """Support, hits and predictions by group and label."""
        return self.prepared.confusion

    @property
    def unit(self) -> str:
        """What was sampled as a whole: rows, or the column of clusters."""
        return "rows" if self.prepared.grouped.units is None else self.prepared.grouped.units.name

    @property
    def by_label(self) -> bool:
        """Whether there are few enough labels and groups for limits of a rate of each."""
        groups, labels = self.confusion.support.shape[-2:]
        return bool(groups * labels <= LABEL_BUDGET and groups * groups * labels <= _PAIR_BUDGET)

    @property
    def testable(self) -> bool:
        """Whether groups can be exchanged: there are two, rows count alike or units are exchanged."""
        alike = self.prepared.grouped.moments is None
        movable = alike if self.tables is None else not self.tables.relabelling.fixed
        return len(self.prepared.grouped.groups) > 1 and movable

    @cached_property
    def tables(self) -> UnitRates | None:
        """Rows by cluster; None where rows are their own units."""
        unit_rows = self.prepared.grouped.units
        if unit_rows is None:
            return None
        rows = unit_rows.rows.astype(np.int64)
        unit = codes_of(unit_rows.unit)
        codes = np.stack([unit_rows.truth, unit_rows.group, unit_rows.prediction, unit]).astype(np.int64)
        truth, group, prediction, unit = np.repeat(codes, rows, axis=1)
        weight = np.repeat(unit_rows.n / rows, rows)
        groups, labels = self.confusion.support.shape
        return UnitRates(truth, group, prediction, unit, weight / weight.mean(), groups, labels)

    @cached_property
    def units(self) -> Integers:
        """Rows or clusters of each group, shape (G,)."""
        return self.prepared.grouped.group_sizes if self.tables is None else self.tables.sizes

    def rates(self, kind: str) -> Rates:
        """Rates of a kind with effective sizes, shape (L, G); of ``hit`` (1, G)."""
        return get_or_make(self.prepared.memo, ("rates", kind), lambda: self._rates(kind))

    def _rates(self, kind: str) -> Rates:
        if self.tables is not None:
            return self.tables.rates(kind)
        hits, trials = _sums(self.confusion, kind)
        moments = self.prepared.grouped.moments
        if moments is None:
            return Rates.of_rows(hits.T, trials.T)
        rows, squares = (_sums(self.added_up(values), kind) for values in moments)
        parts = (hits, trials, squares[1], squares[0], rows[1])
        return Rates.of_survey(*(np.broadcast_to(part, hits.shape).T for part in parts))

    def overall(self) -> Rates:
        """The rate of right answers of all rows, shape (1, 1)."""
        if self.tables is not None:
            return self.tables.ungrouped().rates("hit")
        g, hits, n = self.prepared.grouped, self.confusion.correct.sum(), self.confusion.support.sum()
        if g.moments is None:
            return Rates.of_rows([[hits]], [[n]])
        right = g.truth == g.prediction
        parts = (hits, n, g.moments[1].sum(), g.moments[1][right].sum(), g.moments[0].sum())
        return Rates.of_survey(*(np.array([[part]]) for part in parts))

    def added_up(self, values: Floats) -> Confusion:
        """A number of each cell (rows, squared weights) added up as counts are."""
        g, shape = self.prepared.grouped, self.confusion.support.shape
        right = g.truth == g.prediction

        def by(label: Codes, some: Floats) -> Floats:
            cell = g.group.astype(np.int64) * shape[1] + label
            return sum_by(cell, some, shape[0] * shape[1]).reshape(shape)

        return Confusion(by(g.truth, values), by(g.truth, values * right), by(g.prediction, values))

    def weight_noise(self, kind: str) -> Floats:
        """Noise of the rates of weighted rows, shape (K, G, L): one draw for all kinds and labels.

        Each cell's weight moves by a normal number with the variance of its squared weights, and rates by
        what that adds to them (linearised at the rate of all groups: few rows that all hit are not certain).
        Labels that exclude each other move against each other.
        """
        from scipy import sparse

        g, (groups, labels) = self.prepared.grouped, self.confusion.support.shape
        squares = np.zeros(g.truth.size) if g.moments is None else g.moments[1]
        draws = int(np.clip(_KEPT // max(squares.size, groups * labels), 60, _USUAL))
        moved = self.prepared.stream("weights").standard_normal((draws, squares.size)) * np.sqrt(squares)

        def by(label: Codes, some: Mask) -> Floats:
            cell = g.group[some].astype(np.int64) * labels + label[some]
            where = (np.flatnonzero(some), cell)
            add = sparse.csr_array((np.ones(cell.size), where), shape=(squares.size, groups * labels))
            return np.asarray(moved @ add).reshape(draws, groups, labels)

        every = np.ones(squares.size, dtype=bool)
        noise = Confusion(by(g.truth, every), by(g.truth, g.truth == g.prediction), by(g.prediction, every))
        hits, trials = _sums(noise, kind)
        all_hits, all_trials = _sums(self.confusion, kind)
        together = np.broadcast_to(all_trials, all_hits.shape).sum(axis=0)
        rates = ratio(all_hits.sum(axis=0), together)
        noise_of_rates = ratio(hits - rates * trials, all_trials)
        return noise_of_rates * self.unsure(kind, draws)

    def unsure(self, kind: str, draws: int) -> Floats:
        """What makes normal noise that of t, whose variance few rows tell, shape (draws, G, L)."""
        freedom = np.minimum(self.rates(kind).freedom.T, _MOST_FREEDOM)
        if (freedom == freedom[:, :1]).all():  # of the same rows, so that what one label gains others lose
            freedom = freedom[:, :1]
        squares = self.prepared.stream("weights", kind).chisquare(freedom, (draws, *freedom.shape))
        return np.sqrt(freedom / squares)

    def tally(self, kind: str) -> Tally:
        """Hits and trials as observed, R = 1."""
        if self.tables is not None:
            return self.tables.observed(kind)
        expected = self._expected if kind == "false" else None
        moments = self.prepared.grouped.moments
        if moments is None:
            return _tally(self.confusion, kind, expected)
        # a weighted row is a unit of one row: s^2 and s w are its squared weight if it hits
        (_, rows), (hit, every) = (_sums(self.added_up(values), kind) for values in moments)
        together = UnitMoments(hit, hit, every, rows, None)
        return replace(_tally(self.confusion, kind, expected), moments=together)

    @cached_property
    def _expected(self) -> Floats:
        """Wrong answers with a label that a group's mix of truths leads to expect, over its trials."""
        trials = _sums(self.confusion, "false")[1]
        return ratio(self.prepared.expected_wrong(), trials)

    @cached_property
    def of_hits(self) -> Tally | None:
        """Right answers of groups exchanged among all rows; None where nothing can be."""
        if not self.testable:
            return None
        groups, rng = len(self.prepared.grouped.groups), self.prepared.stream("exchange", "hit")
        if self.tables is not None:
            work = groups * 4 + self.tables.unit.size
            replicates = int(np.clip(2 * _WORK // work, _FEWEST, _MOST))
            chunks = self.tables.draws(rng, ("hit",), replicates, within=False)
            return _joined([chunk["hit"] for chunk in chunks])
        replicates = int(np.clip(_WORK // groups**2, _USUAL if groups < 1_000 else _FEWEST, _MOST))
        correct, size = self.confusion.correct.sum(axis=1), self.confusion.group_size
        margins = np.array([correct.sum(), size.sum() - correct.sum()])
        hits = _draw(rng, size, margins, replicates)[..., :1].astype(np.float64)
        return Tally(hits, size[:, None])

    @cached_property
    def over_all(self) -> ExchangedMargins:
        """Answers with each label, groups exchanged among all rows: for parity, which ignores the truth."""

        def drawn() -> Iterator[tuple[dict[str, Floats], dict[str, Tally]]]:
            for tally in self._predicted():
                ranges = range_over_groups(tally.rates, 2)
                yield {how: over_classes(ranges, how) for how in ("max", "mean")}, {"predicted": tally}

        return self._chance(("predicted",), drawn(), f"{self.exchanged} exchanged")

    def _chance(
        self, kinds: Sequence[str], pieces: Iterator[tuple[dict[str, Floats], dict[str, Tally]]], method: str
    ) -> ExchangedMargins:
        """Chunks of draws put together: their scalars, and their tallies by kind."""
        largest: dict[str, list[Floats]] = {kind: [] for kind in kinds}
        noise: dict[str, list[Floats]] = {kind: [] for kind in kinds}
        values = []
        for scalars, tallies in pieces:
            values.append(scalars)
            for kind in kinds:
                largest[kind].append(tallies[kind].largest())
                noise[kind].append(self._some(kind, tallies[kind], noise[kind]))
        joined_scalars = {name: np.concatenate([part[name] for part in values]) for name in values[0]}
        most, joined_noise = (
            {kind: np.concatenate(chunks) for kind, chunks in by_kind.items()} for by_kind in (largest, noise)
        )
        return ExchangedMargins(joined_scalars, most, joined_noise, method)

    def _predicted(self) -> Iterator[Tally]:
        groups, labels = self.confusion.support.shape
        rng, replicates = self.prepared.stream("exchange", "predicted"), self._replicates
        if self.tables is not None:
            for tallies in self.tables.draws(rng, ("predicted",), replicates, within=False):
                yield tallies["predicted"]
            return
        size, totals = self.confusion.group_size, self.confusion.predicted.sum(axis=0)
        for together in piece_sizes(replicates, 4_000_000, groups * labels):
            tables = _draw(rng, size, totals, together)
            yield Tally(tables.astype(np.float64), size[:, None])

    @cached_property
    def within_truth(self) -> ExchangedMargins:
        """All margins, groups exchanged among the rows of each truth: for equalized odds."""
        pieces = ((summaries(confusion), tallies) for confusion, tallies in self._within())
        return self._chance(("true", "false"), pieces, f"{self.exchanged} exchanged within the truth")

    def _within(self) -> Iterator[tuple[Confusion, dict[str, Tally]]]:
        rng, replicates = self.prepared.stream("exchange", "within"), self._replicates
        if self.tables is not None:
            kinds = ("predicted", "true", "false")
            for tallies in self.tables.draws(rng, kinds, replicates, within=True):
                margins = tallies["true"].trials, tallies["true"].hits, tallies["predicted"].hits
                yield Confusion(*margins), tallies
            return
        for confusion in self._row_chunks(replicates):
            false = _tally(confusion, "false", self._expected)
            yield confusion, {"true": _tally(confusion, "true"), "false": false}

    def _row_chunks(self, replicates: int) -> Iterator[Confusion]:
        prepared, support = self.prepared, self.confusion.support
        if prepared.cellwise(replicates):

            def streams(key: Any) -> np.random.Generator:
                label, chunk = key
                return prepared.stream("null", f"{prepared.grouped.label_key(label)}/{chunk}")

            return resampling.cellwise_null(prepared.classes, support, replicates, streams, draw_tables)
        wrong = prepared.expected_wrong()
        return resampling.marginal_null(self.confusion, wrong, replicates, prepared.stream("null"))

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

    def _some(self, kind: str, draws: Tally, before: list[Floats]) -> Floats:
        """As many of the draws as are still kept."""
        most = int(np.clip(_KEPT // draws.away[0].size, 60, _USUAL)) - sum(len(chunk) for chunk in before)
        away = draws.away if self.tables is None else draws.scaled_to(self.tally(kind))
        return away[: max(most, 0)]


def _sums(confusion: Confusion, kind: str) -> Ends:
    """Hits and trials of a kind of rate, shape (..., G, L); of ``hit`` one label."""
    size = confusion.group_size[..., None]
    if kind == "hit":
        return confusion.correct.sum(axis=-1)[..., None], size
    return {
        "predicted": (confusion.predicted, size),
        "true": (confusion.correct, confusion.support),
        "false": (confusion.predicted - confusion.correct, size - confusion.support),
    }[kind]


def _tally(confusion: Confusion, kind: str, expected: Floats | None = None) -> Tally:
    hits, trials = _sums(confusion, kind)
    return Tally(hits if hits.ndim == 3 else hits[None], trials, expected)


def _joined(parts: list[Tally]) -> Tally:
    """Draws of several pieces as one, without what the variance was made of."""
    merged = Tally(
        np.concatenate([part.hits for part in parts]), np.concatenate([part.trials for part in parts])
    )
    merged.__dict__["variance"] = np.concatenate([part.variance for part in parts])
    shared = [part.covariance for part in parts if part.covariance is not None]
    merged.__dict__["covariance"] = np.concatenate(shared) if shared else None
    return merged


def _draw(rng: np.random.Generator, rows: Floats, columns: Floats, replicates: int) -> Floats:
    """Tables with given margins, shape (replicates, rows, columns)."""
    if rows.sum() <= MOST_ROWS:
        return np.asarray(draw_tables(rng, rows, columns, replicates), dtype=np.float64)
    sizes = np.repeat(rows[:, None], columns.size, axis=1)
    return resampling.split_hypergeometric(rng, columns, sizes, replicates)
