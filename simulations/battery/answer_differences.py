"""Answers of two models to the same units (persons, rankings, items): blind and planted differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from simulations.battery import standards
from simulations.battery.design import Case, Design
from simulations.battery.persons import alike

from evenhand.core.findings import Finding
from evenhand.metrics.catalogue import known_cards
from evenhand.metrics.differences.answers import AnsweredBoth, answer_difference
from evenhand.stats.arrays import Floats, Rng
from evenhand.stats.paired.sums import PairedEffects, PairedSums, Summary


@dataclass(frozen=True, eq=False)
class Units:
    """Samples, or units of several, that two models answer yes or no.

    Attributes:
        units: How many units each group has.
        size: Samples of a unit.
        first: Share of yes of the first model, by group.
        second: Of the second.
        spread: How unlike units are: parameters of their beta distribution add up to 1 / spread - 1.
    """

    units: tuple[int, ...]
    size: int
    first: tuple[float, ...]
    second: tuple[float, ...]
    spread: float = 0.0

    def draw(self, rng: Rng) -> tuple[Floats, Floats, Floats]:
        """Sums of both models and sizes of each unit, shape (U, groups)."""
        group = np.repeat(np.arange(len(self.units)), self.units)
        sums = []
        for shares in (self.first, self.second):
            share = alike(rng, np.array(shares)[group], self.spread)
            sums.append(rng.binomial(self.size, share).astype(float))
        there = np.eye(len(self.units))[group]
        return there * sums[0][:, None], there * sums[1][:, None], there * self.size


_NAMES = {
    "rate": "label_association_rate", "weights": "resolution_gap", "range": "label_association_gap",
    "least": "worst_household_hit_rate",
}  # fmt: skip


def _answers(how: str, data: tuple[Floats, Floats, Floats], seed: int) -> Finding:
    """The rate of all, the difference of two groups (weights), the range of groups or the least of them."""
    groups = tuple(range(data[0].shape[1]))
    first, second, size = data if how != "rate" else (one.sum(axis=1, keepdims=True) for one in data)
    summary = {"rate": Summary("weights", (0,), (1.0,)), "weights": Summary("weights", (0, 1), (1.0, -1.0))}
    found = summary.get(how, Summary(how, groups))
    pairs = PairedSums.of(first, second, size, np.argmax(size > 0, axis=1), [found])
    return _compared(_NAMES[how], pairs, "person", size.sum(), seed)


def _compared(name: str, pairs: Any, unit: str, n: float, seed: int) -> Finding:
    card = known_cards()[name]
    of = Finding(
        metric=f"{name}(by=group)", name=name, params={}, by=["group"], value=0.5, n=float(n), groups=[],
        dropped=[], direction=card.direction, fair_at=card.fair_at, source=card.source,
    )  # fmt: skip
    return answer_difference(AnsweredBoth(of, pairs, unit, int(n)), seed=seed)


def _answer_case(units: Units, how: str, **more: Any) -> Case:
    first, second, share = (np.array(one) for one in (units.first, units.second, units.units))
    truth = {
        "rate": (share / share.sum()) @ (first - second),
        "weights": first[0] - first[1] - second[0] + second[1],
        "range": np.ptp(first) - np.ptp(second),
        "least": first.min() - second.min(),
    }[how]
    name = f"{_NAMES[how] if how in ('range', 'least') else how} of answers"
    return Case(name, partial(_answers, how), float(truth), abs(truth) < 1e-12, **more)


def design(name: str, units: Units, hows: Sequence[str], **more: Any) -> Design:
    """Differences of answers: the range of groups, the least, a difference of two, or the rate of all."""
    return Design(name, "differences", units.draw, [_answer_case(units, how, **more) for how in hows])


def _paired_t(data: tuple[Floats, Floats, Floats]) -> float:
    apart = (data[0] - data[1]).sum(axis=1)
    return standards.one_sample(apart, np.arange(apart.size))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers of two models for each of some units, such as the NDKL of rankings, or associations of items.

    Attributes:
        means: Of both models; of associations the distance between X and Y.
        units: How many units; of associations so many in X and as many in Y.
    """

    means: tuple[float, float]
    units: int

    def draw(self, rng: Rng) -> tuple[Floats, Floats]:
        """Both models' numbers, correlated by .5, of another spread each."""
        shared, *own = rng.normal(size=(3, self.units))
        return shared + own[0] + self.means[0], 2 * (shared + own[1]) + self.means[1]

    def draw_items(self, rng: Rng) -> tuple[Floats, Floats]:
        """The same of two sets of items, the second without distance."""
        x, y = self.draw(rng), Numbers((0.0, 0.0), self.units).draw(rng)
        return np.r_[x[0], y[0]], np.r_[x[1], y[1]]


def _numbers(data: tuple[Floats, Floats], seed: int) -> Finding:
    first, second = (one[:, None] for one in data)
    n = len(first)
    summary = Summary("weights", (0,), (1.0,))
    pairs = PairedSums.of(first, second, np.ones((n, 1)), np.zeros(n, int), [summary])
    return _compared("ndkl", pairs, "ranking", n, seed)


def _items(data: tuple[Floats, Floats], seed: int) -> Finding:
    size = data[0].size
    pairs = PairedEffects(*data, np.arange(size) < size // 2)
    return _compared("association_effect_size", pairs, "item", size, seed)


def _d(distance: float, deviation: float) -> float:
    """Effect size d of two sets of equal size: over the deviation of both together."""
    return distance / float(np.sqrt(deviation**2 + distance**2 / 4))


DESIGNS: tuple[Design, ...] = (
    design(
        "answers of two fair models of .9 and .6, samples",
        Units((80, 40, 20), 1, (0.9, 0.9, 0.9), (0.6, 0.6, 0.6)), ("range", "least", "rate"),
    ),
    design(
        "answers of two fair models, 12, 9 and 8 persons",
        Units((12, 9, 8), 10, (0.7, 0.7, 0.7), (0.55, 0.55, 0.55), 0.2), ("range", "least", "rate"),
    ),
    design(
        "answers of two models of .95 and .05 of yes, persons of 6",
        Units((15, 10), 6, (0.95, 0.95), (0.9, 0.9), 0.2), ("range", "weights", "rate"),
    ),
    Design(
        "numbers of two models, 23 rankings", "differences", Numbers((1.0, 1.0), 23).draw,
        [Case("ndkl of answers", _numbers, 0.0, fair=True)],
    ),
    Design(
        "associations of 20 and 20 items, no distance", "differences", Numbers((0.0, 0.0), 20).draw_items,
        [Case("association_effect_size of answers", _items, 0.0, fair=True)],
    ),
    Design(
        "associations of 20 and 20 items, one distance", "differences", Numbers((1.4, 1.4), 20).draw_items,
        [Case("association_effect_size of answers", _items, _d(1.4, 2**0.5) - _d(1.4, 8**0.5))],
    ),
    design(
        "planted: answers of persons", Units((20, 20), 5, (0.75, 0.75), (0.6, 0.6), 0.15), ("rate",),
        standard=_paired_t, standard_name="t-test of persons",
    ),
)  # fmt: skip
