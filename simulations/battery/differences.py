"""Differences of two models: fair ones of unequal accuracy, identical ones, other mixes, planted differences.

Each class and group is answered rightly with a share of its own; wrong answers are spread evenly over the
other labels. Two models' mistakes on the same sample are independent, unless one is the other. Population
values of the differences of V, of worst groups and of gaps are 0 wherever both models treat groups alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.design import Case, Design
from simulations.battery.effects import Tables, evenly
from simulations.battery.persons import units

from evenhand import Counts
from evenhand.core.findings import Finding
from evenhand.metrics.differences.models import model_differences
from evenhand.stats.arrays import Floats, Integers, Rng

_EFFECTS = ("cramers_v_mean", "cramers_v_median", "cramers_v_max")
_GAPS = ("worst_group_accuracy", "accuracy_gap")


@dataclass(frozen=True, eq=False)
class Answers:
    """Tables of truth, group, answers and persons, if any: one of both models, or one for each."""

    tables: tuple[pl.DataFrame, ...]

    def evidence(self) -> Any:
        """What ``model_differences`` takes."""
        counts = tuple(
            Counts.from_table(
                table.group_by(table.columns).agg(n=pl.len()), {name: name for name in table.columns}
            )
            for table in self.tables
        )
        return counts if len(counts) > 1 else counts[0]

    def right(self, model: int) -> Floats:
        """Whether a model is right about each row of its table."""
        table = self.tables[-model]
        answer = "prediction_b" if model and len(self.tables) == 1 else "prediction"
        return (table["truth"] == table[answer]).to_numpy().astype(float)


@dataclass(frozen=True, eq=False)
class Models:
    """Two models and the samples that they are asked about.

    Attributes:
        sizes: Samples of each group.
        mix: Shares of classes; of the second model's samples, too, where they are others.
        first: Share of right answers by group.
        second: The same of the second model; None: it is the first one.
        labels: How many labels there are; as many as classes where it is 0.
        other: Shares of classes among the second model's samples; None: both answer the same samples.
    """

    sizes: tuple[int, ...]
    mix: tuple[float, ...]
    first: tuple[float, ...]
    second: tuple[float, ...] | None
    other: tuple[float, ...] | None = None
    labels: int = 0

    def draw(self, rng: Rng) -> Answers:
        """The rows of one draw; two thirds are the first model's where each has its own."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        if self.other is None:
            truth = rng.choice(len(self.mix), group.size, p=self.mix)
        else:
            is_second = rng.integers(0, 3, group.size) // 2 == 1
            mixes = [rng.choice(len(self.mix), group.size, p=p) for p in (self.mix, self.other)]
            truth = np.where(is_second, *mixes[::-1])
        first = self._said(rng, truth, np.array(self.first)[group])
        second = first if self.second is None else self._said(rng, truth, np.array(self.second)[group])
        table = pl.DataFrame({"truth": truth, "group": group, "prediction": first})
        if self.other is None:
            return Answers((table.with_columns(prediction_b=second),))
        of_second = table.with_columns(prediction=second)
        return Answers((table.filter(~is_second), of_second.filter(is_second)))

    def _said(self, rng: Rng, truth: Integers, right: Floats) -> Integers:
        labels = self.labels or len(self.mix)
        wrong = (truth + rng.integers(1, labels, truth.size)) % labels
        return np.where(rng.random(truth.size) < right, truth, wrong).astype(np.int64)

    @property
    def fair(self) -> bool:
        """Whether both treat groups alike."""
        return all(len(set(one)) == 1 for one in (self.first, self.second or self.first))

    def _population(self, right: Sequence[float], measure: str) -> float:
        """V of a model's population."""
        answers = evenly(np.tile(right, (len(self.mix), 1)), self.labels or len(self.mix))
        return Tables(answers, np.outer(self.mix, self.sizes)).truth(measure)  # type: ignore[arg-type]  # shares

    def truth(self, measure: str) -> float:
        """The population difference of a measure."""
        if self.second is None:
            return 0.0
        if measure in _EFFECTS:
            if self.fair:
                return 0.0
            return self._population(self.first, measure) - self._population(self.second, measure)
        share = np.array(self.sizes) / sum(self.sizes)
        first, second = np.array(self.first), np.array(self.second or self.first)
        whole = share @ first - share @ second
        worst = first.min() - second.min()
        return float({"accuracy": whole, "worst_group_accuracy": worst}.get(measure, whole - worst))


@lru_cache(maxsize=1)
def _findings_of_draw(measures: tuple[str, ...], rows: Answers, seed: int) -> dict[str, Finding]:
    """All cases of a design on one draw."""
    found = model_differences(rows.evidence(), by="group", metrics=measures, seed=seed)
    return dict(zip(measures, found, strict=True))


def _difference(measures: tuple[str, ...], measure: str, rows: Answers, seed: int) -> Finding:
    return _findings_of_draw(measures, rows, seed)[measure]


def case_of(world: Any, measures: tuple[str, ...], measure: str, **more: Any) -> Case:
    """A difference in a measure, of those that are found together, in a world of this population value."""
    truth = world.truth(measure)
    call = partial(_difference, measures, measure)
    return Case(f"{measure}_difference", call, truth, abs(truth) < 1e-12, **more)


def design(name: str, models: Models, measures: tuple[str, ...], **more: Any) -> Design:
    """Differences of two models in these measures."""
    cases = [case_of(models, measures, measure, **more) for measure in measures]
    return Design(name, "differences", models.draw, cases)


_FOUR, _TWO = (0.4, 0.3, 0.2, 0.1), (0.5, 0.5)
_ALL = (*_EFFECTS, "accuracy", *_GAPS)


def _mcnemar(rows: Answers) -> float:
    first, second = rows.right(0), rows.right(1)
    gained, lost = int((first > second).sum()), int((second > first).sum())
    return float(stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def _two_proportions(rows: Answers) -> float:
    table = [[right.sum(), right.size - right.sum()] for right in (rows.right(0), rows.right(1))]
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def _between_groups(rows: Answers) -> float:
    """Welch's t of the paired differences of one group beside those of the other."""
    apart = rows.right(0) - rows.right(1)
    return standards.welch(apart, np.arange(apart.size), rows.tables[0]["group"])


_RATES = ("accuracy", "worst_group_accuracy", "accuracy_gap")
_MEASURES = (*_RATES, "cramers_v_mean")
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

    def draw(self, rng: Rng) -> Answers:
        """Answers of one draw."""
        group = np.repeat(np.arange(len(self.persons)), self.persons)
        share = rng.random((2, group.size))
        share[1] = share[0] if self.alike else share[1]
        spread = 1 / self.icc - 1
        mean = np.array(self.accuracy)[:, None] + self.apart * (group == 1)
        right = stats.beta.ppf(share, mean * spread, (1 - mean) * spread)
        if self.evidence == "pictures":
            return Answers((self._pictures(rng, group, right),))
        first, second = (self._pictures(rng, group, right[[model]]) for model in (0, 1))
        apart = pl.col(_PERSON) + (group.size if self.evidence == "nothing" else 0)
        return Answers((first, second.with_columns(apart)))

    def _pictures(self, rng: Rng, group: Integers, right: Floats) -> pl.DataFrame:
        _, person = units(rng, self.persons, self.pictures)
        truth = rng.integers(0, 2, person.size)
        hits = rng.random((len(right), person.size)) < right[:, person]
        columns = {"truth": truth, "group": group[person]}
        columns |= dict(zip(("prediction", "prediction_b"), np.where(hits, truth, 1 - truth), strict=False))
        return pl.DataFrame({**columns, _PERSON: person})

    def truth(self, measure: str) -> float:
        """The population difference of a measure."""
        return self.accuracy[0] - self.accuracy[1] if measure in _RATES[:2] else 0.0


def _of_persons(answers: Answers) -> float:
    """T of persons' shares of right answers: paired, or Welch's."""
    tables, test = answers.tables, stats.ttest_ind if len(answers.tables) > 1 else stats.ttest_rel
    means = [
        standards.unit_means(answers.right(model), tables[-model][_PERSON], np.zeros(tables[-model].height))[
            0
        ]
        for model in (0, 1)
    ]
    return float(test(*means, **({"equal_var": False} if len(tables) > 1 else {})).pvalue)


def _persons_design(name: str, persons: Persons) -> Design:
    planted = {"standard": _of_persons, "standard_name": "t of persons"} if persons.truth("accuracy") else {}
    cases = [
        case_of(persons, _MEASURES, measure, **(planted if measure == "accuracy" else {}))
        for measure in (_MEASURES if persons.apart else _RATES)  # V of 0 has no spread to measure a width in
    ]
    return Design(name, "differences", persons.draw, cases)


_OTHERS = "nothing"
_PERSONS = {
    "two models of .8, 60 persons x 10, ICC .3": Persons(),
    "two models of .8, 60 persons x 10, ICC .3, hard for both": Persons(alike=True),
    "two models of .8, 60 other persons x 10 each, ICC .3": Persons(evidence=_OTHERS),
    "two models of .8, other pictures of 60 persons x 10, ICC .3": Persons(evidence="persons"),
    "two models of .8, other pictures of 60 persons that are hard for both, ICC .3":
        Persons(evidence="persons", alike=True),
    "two models of .8, 30, 20 and 10 persons x 3 to 17, ICC .3":
        Persons(persons=(30, 20, 10), pictures=(3, 17)),
    "two models of .8, 30, 20 and 10 other persons x 3 to 17 each, ICC .3":
        Persons(persons=(30, 20, 10), pictures=(3, 17), evidence=_OTHERS),
    "two models of .65 and .9 by group, 60 persons x 10, ICC .3": Persons((0.65, 0.65), apart=0.25),
    "two models of .65 and .9 by group, 60 other persons x 10 each, ICC .3":
        Persons((0.65, 0.65), apart=0.25, evidence=_OTHERS),
    "planted: models of .9 and .8, 60 persons x 10, ICC .3": Persons((0.9, 0.8)),
    "planted: models of .9 and .8, 60 other persons x 10 each, ICC .3":
        Persons((0.9, 0.8), evidence=_OTHERS),
}  # fmt: skip

DESIGNS: tuple[Design, ...] = (
    design(
        "two fair models of .9 and .8, 2 groups",
        Models((200, 100), _FOUR, (0.9, 0.9), (0.8, 0.8)), _ALL
    ),
    design(
        "two fair models of .9 and .8, 3 groups",
        Models((150, 100, 50), _FOUR, (0.9, 0.9, 0.9), (0.8, 0.8, 0.8)), _ALL,
    ),
    design(
        "two fair models of .9 and .8, 20 labels",
        Models((700, 300), (0.1,) * 10, (0.9, 0.9), (0.8, 0.8), labels=20), _EFFECTS,
    ),
    design(
        "two fair models of .9 and .8, 3 classes of 30 labels",
        Models((210, 90), (1 / 3,) * 3, (0.9, 0.9), (0.8, 0.8), labels=30), ("cramers_v_mean",),
    ),
    design(
        "two models with V of .2 and .1, 20 labels",
        Models((700, 300), (0.1,) * 10, (0.9, 0.75), (0.8, 0.7), labels=20), ("cramers_v_mean",),
    ),
    design(
        "two fair models of .8 and .5, 3 groups",
        Models((600, 300, 100), _FOUR, (0.8, 0.8, 0.8), (0.5, 0.5, 0.5)), (*_EFFECTS, *_GAPS),
    ),
    design("two models of .85 and .8, n = 40", Models((28, 12), _TWO, (0.85, 0.85), (0.8, 0.8)), _ALL),
    design("identical models", Models((60, 40), _TWO, (0.85, 0.7), None), _ALL),
    design(
        "two fair models, samples of their own in other mixes",
        Models((300, 150), _FOUR, (0.9, 0.9), (0.8, 0.8), (0.1, 0.2, 0.3, 0.4)), _ALL,
    ),
    design(
        "planted: more unequal by group, same samples", Models((250, 250), _TWO, (0.92, 0.62), (0.88, 0.74)),
        ("cramers_v_mean",), standard=_between_groups, standard_name="Welch's t of paired differences",
    ),
    design(
        "planted: unequal by group, beside a fair model", Models((100, 100), _TWO, (0.91, 0.69), (0.8, 0.8)),
        ("cramers_v_mean",), standard=_between_groups, standard_name="Welch's t of paired differences",
    ),
    design(
        "planted: more accurate, same samples", Models((100, 100), _TWO, (0.84, 0.84), (0.725, 0.725)),
        ("accuracy",), standard=_mcnemar, standard_name="McNemar's exact test",
    ),
    design(
        "planted: more accurate, samples of their own",
        Models((300, 150), _TWO, (0.85, 0.85), (0.735, 0.735), _TWO),
        ("accuracy",), standard=_two_proportions, standard_name="two-proportion test",
    ),
    *(_persons_design(name, persons) for name, persons in _PERSONS.items()),
)  # fmt: skip
