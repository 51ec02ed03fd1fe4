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
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design
from simulations.battery.effects import Tables

from evenhand import Counts
from evenhand.core.findings import Finding
from evenhand.metrics.differences.models import model_differences

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NAMES = ("truth", "group", "prediction", "prediction_b")
_EFFECTS = ("cramers_v_mean", "cramers_v_median", "cramers_v_max")
_GAPS = ("worst_group_accuracy", "accuracy_gap")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one draw, with both models' answers, or with each model's rows on samples of its own."""

    truth: Ints
    group: Ints
    first: Ints
    second: Ints
    paired: bool = True
    own: Ints | None = None

    def evidence(self) -> Any:
        """What ``model_differences`` takes."""
        table = pl.DataFrame(
            dict(zip(_NAMES, (self.truth, self.group, self.first, self.second), strict=True))
        )
        if self.paired:
            return _counts(table, _NAMES)
        a, b = (table.filter(pl.Series(self.own == place)) for place in (0, 1))
        alone = _NAMES[:3]
        return _counts(a, alone), _counts(b.with_columns(prediction="prediction_b"), alone)

    @property
    def right(self) -> tuple[Floats, Floats]:
        """Whether each model is right, shape (N,) each."""
        return (self.first == self.truth).astype(float), (self.second == self.truth).astype(float)


def _counts(table: pl.DataFrame, names: Sequence[str]) -> Counts:
    return Counts.from_table(table.group_by(names).agg(n=pl.len()), {name: name for name in names})


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

    def draw(self, rng: np.random.Generator) -> Rows:
        """The rows of one draw."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        if self.other is None:
            truth = rng.choice(len(self.mix), group.size, p=self.mix)
            first = self._said(rng, truth, np.array(self.first)[group])
            second = first if self.second is None else self._said(rng, truth, np.array(self.second)[group])
            return Rows(truth, group, first, second)
        own = rng.integers(0, 3, group.size) // 2  # two thirds are the first model's
        mixes = [rng.choice(len(self.mix), group.size, p=p) for p in (self.mix, self.other)]
        truth = np.where(own == 0, *mixes)
        first = self._said(rng, truth, np.array(self.first)[group])
        second = self._said(rng, truth, np.array(self.second)[group])
        return Rows(truth, group, first, second, paired=False, own=own)

    def _said(self, rng: np.random.Generator, truth: Ints, right: Floats) -> Ints:
        labels = self.labels or len(self.mix)
        wrong = (truth + rng.integers(1, labels, truth.size)) % labels
        return np.where(rng.random(truth.size) < right, truth, wrong).astype(np.int64)

    @property
    def fair(self) -> bool:
        """Whether both treat groups alike."""
        return all(len(set(one)) == 1 for one in (self.first, self.second or self.first))

    def _population(self, right: Sequence[float], measure: str) -> float:
        """V of a model's population."""
        classes, labels = len(self.mix), self.labels or len(self.mix)
        answers = np.empty((classes, len(right), labels))
        for label in range(classes):
            answers[label] = ((1 - np.array(right)) / (labels - 1))[:, None]
            answers[label, :, label] = right
        return Tables(answers, np.outer(self.mix, self.sizes)).truth(measure)  # type: ignore[arg-type]  # shares

    def truth(self, measure: str) -> float | None:
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
def _findings_of_draw(measures: tuple[str, ...], rows: Rows, seed: int) -> dict[str, Finding]:
    """All cases of a design on one draw."""
    found = model_differences(rows.evidence(), by="group", metrics=measures, seed=seed)
    return dict(zip(measures, found, strict=True))


def _difference(measures: tuple[str, ...], measure: str, rows: Rows, seed: int) -> Finding:
    return _findings_of_draw(measures, rows, seed)[measure]


def _case(models: Models, measures: tuple[str, ...], measure: str, **more: Any) -> Case:
    truth = models.truth(measure)
    return Case(
        f"{measure}_difference",
        partial(_difference, measures, measure),
        truth,
        fair=truth is not None and abs(truth) < 1e-12,
        **more,
    )


def design(name: str, models: Models, measures: tuple[str, ...], **more: Any) -> Design:
    """Differences of two models in these measures."""
    cases = [_case(models, measures, measure, **more) for measure in measures]
    return Design(name, "differences", models.draw, cases)


_FOUR, _TWO = (0.4, 0.3, 0.2, 0.1), (0.5, 0.5)
_ALL = (*_EFFECTS, "accuracy", *_GAPS)


def _mcnemar(rows: Rows) -> float:
    first, second = rows.right
    gained, lost = int((first > second).sum()), int((second > first).sum())
    return float(stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def _two_proportions(rows: Rows) -> float:
    first, second = rows.right
    a, b = first[rows.own == 0], second[rows.own == 1]
    table = [[a.sum(), a.size - a.sum()], [b.sum(), b.size - b.sum()]]
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def _between_groups(rows: Rows) -> float:
    """Welch's t of the paired differences of one group beside those of the other."""
    apart = rows.right[0] - rows.right[1]
    return float(stats.ttest_ind(apart[rows.group == 0], apart[rows.group == 1], equal_var=False).pvalue)


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
)  # fmt: skip
