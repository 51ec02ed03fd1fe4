"""Effect sizes of persons with pictures of several classes, and of rows with weights.

Each person has an accuracy of a beta distribution around that of the group (the intra-class correlation is
``icc``), so that population values are those of the mean answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design
from simulations.battery.effects import WITHIN, Tables

from evenhand import Predictions, metrics
from evenhand.core.findings import Finding
from evenhand.metrics.prepared import BoundCounts

Floats = npt.NDArray[np.float64]

_LAST: dict[str, Any] = {}  # the last draw, bound once for all metrics


@dataclass(frozen=True, eq=False)
class Persons:
    """Persons with pictures of several classes.

    Attributes:
        accuracy: By class and group, shape (classes, groups).
        persons: Of each group, shape (groups,).
        pictures: Mean pictures a person of each group, shape (groups,).
        icc: How alike a person's pictures are.
        uneven: Whether persons of a group differ in the number of their pictures.
        mixed: Whether the pictures of a person belong to groups at random.
        weighted: Whether rows have weights.
    """

    accuracy: Floats
    persons: Sequence[int]
    pictures: Sequence[int]
    icc: float = 0.2
    uneven: bool = False
    mixed: bool = False
    weighted: bool = False

    def draw(self, rng: np.random.Generator) -> pl.DataFrame:
        """Rows of truth, group, prediction, person and weight."""
        classes, groups = self.accuracy.shape
        group_of = np.repeat(np.arange(groups), self.persons)
        mean = np.repeat(self.pictures, self.persons)
        number = rng.integers(np.maximum(mean // 2, 1), 2 * mean - mean // 2 + 1) if self.uneven else mean
        person = np.repeat(np.arange(group_of.size), number)
        group = rng.choice(groups, person.size) if self.mixed else group_of[person]
        truth = rng.integers(classes, size=person.size)
        quantile = rng.random(group_of.size)[person]
        right = self.accuracy[truth, group]
        if self.icc:
            spread = 1 / self.icc - 1
            right = stats.beta.ppf(quantile, right * spread, (1 - right) * spread)
        hit = rng.random(person.size) < right
        wrong = (truth + rng.integers(1, classes, size=person.size)) % classes
        weight = rng.lognormal(0, 0.7, person.size) if self.weighted else np.ones(person.size)
        return pl.DataFrame({
            "truth": truth.astype(str), "group": group.astype(str),
            "prediction": np.where(hit, truth, wrong).astype(str), "person": person.astype(str),
            "weight": weight,
        })  # fmt: skip

    def population(self) -> Tables:
        """Shares of answers, and sizes in proportion to the rows that are expected."""
        classes, groups = self.accuracy.shape
        answers = np.repeat((1 - self.accuracy)[..., None] / max(classes - 1, 1), classes, axis=2)
        answers[np.arange(classes), :, np.arange(classes)] = self.accuracy
        rows = np.asarray(self.persons) * self.pictures
        rows = np.full(groups, rows.sum() / groups) if self.mixed else rows
        return Tables(answers, np.tile(np.rint(rows * 100).astype(np.int64), (classes, 1)))


def _of_persons(name: str, column: str, data: pl.DataFrame, seed: int) -> Finding:
    key = id(data), seed, column
    if _LAST.get("key") != key:
        read = Predictions.from_frame(
            data, truth="truth", prediction="prediction", **{column: _NAMES[column]}
        )
        _LAST.update(key=key, data=data, bound=BoundCounts.of(read, "group", seed))
    finding: Finding = getattr(metrics, name)(_LAST["bound"], by="group", seed=seed)
    return finding


_NAMES = {"cluster": "person", "weight": "weight"}


def design(name: str, persons: Persons, fair: bool, standard: Callable[[Any], float] | None = None) -> Design:
    """Metrics on one way to draw persons."""
    population = persons.population()
    column = "weight" if persons.weighted else "cluster"
    cases = [
        Case(metric, partial(_of_persons, metric, column), population.truth(metric), fair,
             standard if metric == "cramers_v_pooled" else None, "F of persons' shares of hits")
        for metric in (*WITHIN, "cramers_v")
    ]  # fmt: skip
    return Design(name, "effects", persons.draw, cases)


def _between_persons(data: pl.DataFrame) -> float:
    """Analysis of variance of the persons' shares of right answers."""
    hits = data.group_by("group", "person").agg((pl.col("truth") == pl.col("prediction")).mean().alias("hit"))
    return float(stats.f_oneway(*(part["hit"].to_numpy() for part in hits.partition_by("group"))).pvalue)


def _person_designs() -> list[Design]:
    def level(*by_group: float) -> Floats:
        return np.linspace(0.15, -0.15, 4)[:, None] + np.asarray(by_group)

    return [
        design("20 persons a group x 10 pictures, ICC .2",
                        Persons(level(0.7, 0.7), (20, 20), (10, 10)), True),
        design("3 groups of 30/15/8 persons, 4 to 16 pictures",
                        Persons(level(0.7, 0.7, 0.7), (30, 15, 8), (10, 10, 10), uneven=True), True),
        design("group and number of pictures go together",
                        Persons(level(0.7, 0.7), (30, 15), (5, 25)), True),
        design("9 persons x 40 pictures", Persons(level(0.7, 0.7), (5, 4), (40, 40)), True),
        design("60 persons x 2 pictures", Persons(level(0.7, 0.7), (35, 25), (2, 2)), True),
        design("pictures of a person in several groups",
                        Persons(level(0.7, 0.7, 0.7), (12, 12, 12), (12, 12, 12), mixed=True), True),
        design("planted, 25 persons a group x 10 pictures",
                        Persons(level(0.77, 0.56), (25, 25), (10, 10)), False, _between_persons),
        design("weighted rows", Persons(level(0.7, 0.7, 0.7), (300, 200, 80), (1, 1, 1), 0.0,
                                                  weighted=True), True),
        design("weighted rows, planted", Persons(level(0.75, 0.6), (300, 200), (1, 1), 0.0,
                                                           weighted=True), False),
    ]  # fmt: skip


DESIGNS: tuple[Design, ...] = tuple(_person_designs())
