"""Two models on pictures of persons, and leanings by persons: what whole persons decide, not pictures.

Each person has an accuracy of a beta distribution around the model's (the intra-class correlation is
``icc``), so that the population value of a difference in accuracy is that of the models. Models that treat
groups alike have population values of 0 of the differences of V, of worst groups and of gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design

from evenhand import Counts, metrics
from evenhand.core.findings import Finding
from evenhand.evidence.item_scores import ItemScores
from evenhand.metrics.differences.models import model_differences

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_RATES = ("accuracy", "worst_group_accuracy", "accuracy_gap")
_MEASURES = (*_RATES, "cramers_v_mean")
_SIGNS = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
_PERSON = "cluster:person"


@dataclass(frozen=True)
class Persons:
    """Persons whose pictures two models are asked about.

    Attributes:
        accuracy: Of the two models.
        persons: Of each group; of each model where these have persons of their own.
        pictures: Least and most of a person.
        icc: How alike the answers to a person's pictures are.
        evidence: What the models have in common: ``pictures``, ``persons`` (other pictures of them), or
            ``nothing``.
        alike: Whether the same persons are hard for both models.
        apart: What the second group's accuracy is above that of the others, for both models.
    """

    accuracy: tuple[float, float] = (0.8, 0.8)
    persons: tuple[int, ...] = (30, 30)
    pictures: tuple[int, int] = (10, 10)
    icc: float = 0.3
    evidence: str = "pictures"
    alike: bool = False
    apart: float = 0.0

    def draw(self, rng: np.random.Generator) -> tuple[pl.DataFrame, ...]:
        """Tables of truth, group, person and answers: one of both models, or one for each."""
        group = np.repeat(np.arange(len(self.persons)), self.persons)
        share = rng.random((2, group.size))
        share[1] = share[0] if self.alike else share[1]
        spread = 1 / self.icc - 1
        mean = np.array(self.accuracy)[:, None] + self.apart * (group == 1)
        right = stats.beta.ppf(share, mean * spread, (1 - mean) * spread)
        if self.evidence == "pictures":
            both = self._pictures(rng, group, right)
            return (both,)
        first, second = (self._pictures(rng, group, right[[model]]) for model in (0, 1))
        apart = pl.col(_PERSON) + (group.size if self.evidence == "nothing" else 0)
        return first, second.with_columns(apart)

    def _pictures(self, rng: np.random.Generator, group: Ints, right: Floats) -> pl.DataFrame:
        least, most = self.pictures
        person = np.repeat(np.arange(group.size), rng.integers(least, most + 1, group.size))
        truth = rng.integers(0, 2, person.size)
        hits = rng.random((len(right), person.size)) < right[:, person]
        columns = {"truth": truth, "group": group[person]}
        columns |= dict(zip(("prediction", "prediction_b"), np.where(hits, truth, 1 - truth), strict=False))
        return pl.DataFrame({**columns, _PERSON: person})


@lru_cache(maxsize=1)
def _findings_of_draw(draw: _Draw, seed: int) -> dict[str, Finding]:
    """All cases of a design on one draw."""
    counts = [
        Counts.from_table(
            table.group_by(table.columns).agg(n=pl.len()), {name: name for name in table.columns}
        )
        for table in draw
    ]
    evidence = counts[0] if len(counts) == 1 else (counts[0], counts[1])
    findings = model_differences(evidence, by="group", metrics=_MEASURES, seed=seed)
    return dict(zip(_MEASURES, findings, strict=True))


class _Draw(tuple[pl.DataFrame, ...]):
    """Tables that are told apart by what they are, not by what they hold."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def _difference(measure: str, draw: _Draw, seed: int) -> Finding:
    return _findings_of_draw(draw, seed)[measure]


def _of_persons(draw: Sequence[pl.DataFrame]) -> float:
    """T of persons' shares of right answers: paired, or Welch's."""
    if len(draw) == 1:
        means = _shares(draw[0], "prediction"), _shares(draw[0], "prediction_b")
        return float(stats.ttest_rel(*means).pvalue)
    means = _shares(draw[0], "prediction"), _shares(draw[1], "prediction")
    return float(stats.ttest_ind(*means, equal_var=False).pvalue)


def _shares(table: pl.DataFrame, answer: str) -> Floats:
    right = (pl.col("truth") == pl.col(answer)).mean()
    return table.group_by(_PERSON, maintain_order=True).agg(right)["truth"].to_numpy()


def _design(name: str, persons: Persons) -> Design:
    apart = persons.accuracy[0] - persons.accuracy[1]
    cases = [
        Case(
            f"{measure}_difference", partial(_difference, measure), *_truth(measure, apart),
            standard=_of_persons if apart and measure == "accuracy" else None,
            standard_name="t of persons" if apart and measure == "accuracy" else "",
        )
        for measure in (_MEASURES if persons.apart else _RATES)  # V of 0 has no spread to measure a width in
    ]  # fmt: skip

    def draw(rng: np.random.Generator) -> Any:
        return _Draw(persons.draw(rng))

    return Design(name, "differences", draw, cases)


def _truth(measure: str, apart: float) -> tuple[float, bool]:
    truth = apart if measure in _RATES[:2] else 0.0
    return truth, truth == 0


@dataclass(frozen=True)
class Leanings:
    """Persons whose images a model that is blind to their group scores.

    Attributes:
        persons: Of each group.
        images: Least and most of a person.
        icc: How alike the leanings of a person's images are.
    """

    persons: tuple[int, ...]
    images: tuple[int, int]
    icc: float

    def draw(self, rng: np.random.Generator) -> ItemScores:
        """Scores of one draw."""
        group = np.repeat(np.arange(len(self.persons)), self.persons)
        person = np.repeat(
            np.arange(group.size), rng.integers(self.images[0], self.images[1] + 1, group.size)
        )
        lean = np.sqrt(self.icc) * rng.normal(size=group.size)[person]
        lean = lean + np.sqrt(1 - self.icc) * rng.normal(size=person.size)
        scores = (lean[:, None] * _SIGNS)[..., None] + 0.3 * rng.normal(size=(person.size, 6, 3))
        table = pl.DataFrame({
            "sample": [f"{row:05d}" for row in range(person.size)],
            "group": group[person].astype(str), "person": person.astype(str),
        })  # fmt: skip
        return ItemScores(table, scores, tuple("abcdef"), _SIGNS, cluster="person")


def _lean_effect(data: ItemScores, seed: int) -> Finding:
    return metrics.lean_effect(data, by="group", seed=seed)


def _leaning(name: str, leanings: Leanings) -> Design:
    return Design(name, "items", leanings.draw, [Case("lean_effect", _lean_effect, 0.0, fair=True)])


DESIGNS: tuple[Design, ...] = (
    _design("two models of .8, 60 persons x 10, ICC .3", Persons()),
    _design("two models of .8, 60 persons x 10, ICC .3, hard for both", Persons(alike=True)),
    _design("two models of .8, 60 other persons x 10 each, ICC .3", Persons(evidence="nothing")),
    _design("two models of .8, other pictures of 60 persons x 10, ICC .3", Persons(evidence="persons")),
    _design(
        "two models of .8, other pictures of 60 persons that are hard for both, ICC .3",
        Persons(evidence="persons", alike=True),
    ),
    _design(
        "two models of .8, 30, 20 and 10 persons x 3 to 17, ICC .3",
        Persons(persons=(30, 20, 10), pictures=(3, 17)),
    ),
    _design(
        "two models of .8, 30, 20 and 10 other persons x 3 to 17 each, ICC .3",
        Persons(persons=(30, 20, 10), pictures=(3, 17), evidence="nothing"),
    ),
    _design("two models of .65 and .9 by group, 60 persons x 10, ICC .3", Persons((0.65, 0.65), apart=0.25)),
    _design(
        "two models of .65 and .9 by group, 60 other persons x 10 each, ICC .3",
        Persons((0.65, 0.65), apart=0.25, evidence="nothing"),
    ),
    _design("planted: models of .9 and .8, 60 persons x 10, ICC .3", Persons((0.9, 0.8))),
    _design(
        "planted: models of .9 and .8, 60 other persons x 10 each, ICC .3",
        Persons((0.9, 0.8), evidence="nothing"),
    ),
    _leaning("leaning: blind, 20 persons x 15, ICC .5", Leanings((10, 10), (15, 15), 0.5)),
    _leaning("leaning: blind, 20 persons x 15, ICC .2", Leanings((10, 10), (15, 15), 0.2)),
    _leaning("leaning: blind, 10, 6 and 4 persons x 3 to 27, ICC .5", Leanings((10, 6, 4), (3, 27), 0.5)),
)
