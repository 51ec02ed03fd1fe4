"""Numbers of samples: overlaps, age errors and word error rates by group, of rows and of persons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from simulations.battery import standards
from simulations.battery.design import Case, Design, called
from simulations.battery.persons import units

from evenhand.evidence.numbers import CLUSTER, VALUE, Numbers
from evenhand.stats.arrays import Floats, Rng

GROUPS = ("dark", "light", "medium")
Law = Callable[[Rng, int], Floats]


def overlaps(rng: Rng, size: int) -> Floats:
    """IoU: between 0 and 1, most of them high."""
    return rng.beta(4, 1.5, size)


def errors(rng: Rng, size: int, sigma: float = 1.0) -> Floats:
    """Age errors in years: lognormal, with mean 4."""
    return 4 * rng.lognormal(-(sigma**2) / 2, sigma, size)


def word_errors(rng: Rng, size: int) -> Floats:
    """Word error rates: 80 % of samples have none, those of others are lognormal; mean 4."""
    return 5 * errors(rng, size) * (rng.random(size) < 0.2)


@dataclass(frozen=True)
class Drawn:
    """How numbers are drawn.

    Attributes:
        law: Of a sample's number.
        counts: Units of each group.
        of_each: Samples of a unit, at most; 1: each is its own.
        mixed: Whether each sample of a unit has a group of its own.
        factors: What the numbers of each group are multiplied by.
        widened: How far the numbers of each group are from their mean, as a factor.
    """

    law: Law
    counts: tuple[int, ...]
    of_each: int = 1
    mixed: bool = False
    factors: tuple[float, ...] = (1.0, 1.0, 1.0)
    widened: tuple[float, ...] = (1.0, 1.0, 1.0)

    def draw(self, rng: Rng) -> Numbers:
        """The numbers; half of those of a unit are the same, so that they are alike by .5 or so."""
        unit_group, unit = units(rng, self.counts, (1, self.of_each))
        value = self.law(rng, unit.size)
        if self.of_each > 1:
            value = np.where(rng.random(unit.size) < 0.7, self.law(rng, unit_group.size)[unit], value)
        group = rng.permuted(unit_group[unit]) if self.mixed else unit_group[unit]
        value = self.mean + (value - self.mean) * np.array(self.widened)[group]
        frame = pl.DataFrame(
            {
                "number": value * np.array(self.factors)[group],
                "group": np.array(GROUPS)[group],
                "person": unit.astype(str),
            }
        )
        cluster, ends = "person" if self.of_each > 1 else None, (0.0, 1.0) if self.law is overlaps else None
        return Numbers.from_frame(frame, value="number", cluster=cluster, range=ends)

    @property
    def mean(self) -> float:
        """Of the law."""
        return 4 / 5.5 if self.law is overlaps else 4.0


def welch(numbers: Numbers) -> float:
    """Welch's analysis of variance, of the means of units where there are any."""
    table = numbers.table.with_row_index()
    unit = table["index" if numbers.cluster is None else CLUSTER]
    return standards.welch(table[VALUE], unit, table["group"])


_BETTER = {"better": "low"}
_METRICS: dict[str, dict[str, str]] = {
    "mean": {}, "worst_group_mean": _BETTER, "mean_gap": _BETTER, "mean_range": {}, "mean_ratio": _BETTER,
    "mean_contrast": _BETTER,
}  # fmt: skip


def design(name: str, drawn: Drawn) -> Design:
    """All metrics on one way to draw numbers; the population values of fair ones are those of the law."""
    fair = len(set(drawn.factors)) == 1
    truths = {"mean": drawn.mean, "worst_group_mean": drawn.mean, "mean_ratio": 1.0}
    cases = [
        Case(
            metric, called(metric, by="group", **params), truth=truths.get(metric, 0.0) if fair else None,
            fair=fair and metric != "mean",
            standard=welch if not fair and metric in ("mean_range", "mean_contrast") else None,
            standard_name="Welch's analysis of variance",
        )
        for metric, params in _METRICS.items()
    ]  # fmt: skip
    return Design(f"numbers: {name}", "numbers", drawn.draw, cases)


DESIGNS: tuple[Design, ...] = (
    design("overlaps of 60, 30 and 12", Drawn(overlaps, (60, 30, 12))),
    design("age errors of 30, 30 and 30", Drawn(errors, (30, 30, 30))),
    design("age errors of 2,000, 700 and 300", Drawn(errors, (2_000, 700, 300))),
    design("word errors of 120, 60 and 30", Drawn(word_errors, (120, 60, 30))),
    design("word errors of 1,800, 900 and 300", Drawn(word_errors, (1_800, 900, 300))),
    design("overlaps of 40, 25 and 15 persons x 1 to 8", Drawn(overlaps, (40, 25, 15), 8)),
    design("age errors of 60, 40 and 30 persons x 1 to 8", Drawn(errors, (60, 40, 30), 8)),
    design("age errors of 60 persons in several groups", Drawn(errors, (30, 20, 10), 8, mixed=True)),
    design("overlaps of 200 and 100, spread 1 and 1/3", Drawn(overlaps, (200, 100), widened=(1 / 3, 1.0))),
    design("age errors of 200 and 100, spread 1 and 1/3", Drawn(errors, (200, 100), widened=(1.0, 1 / 3))),
    design("planted, overlaps of 60, 40 and 30", Drawn(overlaps, (60, 40, 30), factors=(1.0, 0.86, 1.0))),
    design(
        "planted, age errors of 300, 200 and 100", Drawn(errors, (300, 200, 100), factors=(1.5, 1.0, 1.0))
    ),
    design("planted, age errors of 90 and 60", Drawn(errors, (90, 60), factors=(1.0, 1.8))),
    design(
        "planted, overlaps of 40, 30 and 20 persons x 1 to 8",
        Drawn(overlaps, (40, 30, 20), 8, factors=(1.0, 0.86, 1.0)),
    ),
)
