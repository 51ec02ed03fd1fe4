"""Effect sizes of blind and planted classifiers.

A design draws, for each true class, how each group's rows are answered; or persons with pictures of several
classes, and rows with weights. Each person has an accuracy of a beta distribution around that of the group
(the intra-class correlation is ``icc``), so that population values are those of the mean answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery import standards as tests
from simulations.battery.design import Case, Design, called
from simulations.battery.persons import units

from evenhand import Predictions, metrics
from evenhand.core.findings import Finding
from evenhand.metrics.prepared import BoundCounts
from evenhand.stats.arrays import Floats, Integers, Rng

_SUMMARIES = ("cramers_v_mean", "cramers_v_median", "cramers_v_max")
WITHIN = ("cramers_v_pooled", *_SUMMARIES, "cramers_v_corrected", "phi")
"""Metrics of the prediction by group within the truth."""
_SHAPES = ("skewsize", "skewsize_sufficiency")


@dataclass(frozen=True, eq=False)
class Tables:
    """A population of answers.

    Attributes:
        answers: Shares of labels by class and group, shape (classes, groups, labels).
        sizes: Rows by class and group, shape (classes, groups).
        drawn: Whether the classes of each group's rows are drawn, too.
    """

    answers: Floats
    sizes: Integers
    drawn: bool = False

    def draw(self, rng: Rng) -> Integers:
        """Counts, shape (classes, groups, labels)."""
        if self.drawn:
            totals = self.sizes.sum(axis=0)
            sizes = rng.multinomial(totals, (self.sizes / totals).T).T
            return rng.multinomial(sizes, self.answers).astype(np.int64)
        return rng.multinomial(self.sizes, self.answers).astype(np.int64)

    def effects(self) -> Floats:
        """V of each class's population, by the groups' sizes."""
        shares = self.sizes / self.sizes.sum(axis=1, keepdims=True)
        return np.sqrt(_phi_squared(self.answers, shares) / self._divisors())

    def truth(self, name: str) -> float:
        """The population value of a metric."""
        v, n = self.effects(), self.sizes.sum(axis=1)
        if name == "cramers_v":
            shares = self.sizes.sum(axis=0) / self.sizes.sum()
            answers = (self.answers * self.sizes[..., None]).sum(axis=0) / self.sizes.sum(axis=0)[:, None]
            divisor = min(answers.shape) - 1
            return float(np.sqrt(_phi_squared(answers[None], shares[None])[0] / divisor))
        if name == "cramers_v_pooled":
            weight = n * self._divisors()
            return float(np.sqrt((weight * v**2).sum() / weight.sum()))
        if name == "phi":
            return float((v * np.sqrt(self._divisors())).mean())
        summary: Callable[[Floats], Any] = {
            "cramers_v_median": np.median, "cramers_v_max": np.max,
        }.get(name, np.mean)  # fmt: skip
        return float(summary(v))

    def _divisors(self) -> Integers:
        return np.minimum((self.sizes > 0).sum(axis=1), (self.answers > 0).any(axis=1).sum(axis=1)) - 1


def _phi_squared(answers: Floats, shares: Floats) -> Floats:
    pooled = np.einsum("kg,kgj->kj", shares, answers)
    ratio = np.divide(
        shares[..., None] * answers**2,
        pooled[:, None],
        out=np.zeros(answers.shape),
        where=pooled[:, None] > 0,
    )
    return np.asarray(np.maximum(ratio.sum(axis=(1, 2)) - 1, 0))


def bound(tables: Integers, seed: int) -> BoundCounts:
    """Tables of shape (classes, groups, labels), class k meaning label k, as evidence of one grouping."""
    truth, group, prediction = (axis.astype(np.int32) for axis in np.nonzero(tables))
    classes, groups, labels = tables.shape
    width = max(classes, labels)
    return BoundCounts(
        by=("group",), labels=tuple(f"{label:04d}" for label in range(width)), n_used=width,
        classes=np.arange(classes, dtype=np.int32), groups=tuple((f"{code:04d}",) for code in range(groups)),
        truth=truth, group=group, prediction=prediction, n=tables[truth, group, prediction], dropped=(),
        seed=seed,
    )  # fmt: skip


def answers_of(accuracy: npt.ArrayLike, labels: int) -> Floats:
    """Answers by class and group from accuracies (classes, groups): class k is label k; mistakes fall off."""
    right = np.atleast_2d(np.asarray(accuracy, dtype=np.float64))
    shares = np.empty((*right.shape, labels))
    for place in range(len(right)):
        wrong = np.roll(1 / np.arange(1, labels), place)
        mistakes = np.insert(wrong / wrong.sum(), place % labels, 0.0)
        shares[place] = (1 - right[place])[:, None] * mistakes
        shares[place, :, place % labels] = right[place]
    return shares


def evenly(accuracy: Floats, labels: int) -> Floats:
    """The same with mistakes that are spread evenly over the other labels."""
    answers = np.repeat((1 - accuracy)[..., None] / max(labels - 1, 1), labels, axis=2)
    classes = np.arange(len(accuracy))
    answers[classes, :, classes] = accuracy
    return answers


def bound_once(name: str, read: Callable[[Any, int], BoundCounts], data: Any, seed: int) -> Finding:
    """A metric; the evidence of one draw is bound once for all metrics of a design."""
    key = id(data), seed, read
    if _LAST.get("key") != key:
        _LAST.update(key=key, data=data, bound=read(data, seed))
    finding: Finding = getattr(metrics, name)(_LAST["bound"], by="group", seed=seed)
    return finding


_LAST: dict[str, Any] = {}


def _sum_of_chi2(tables: Integers) -> float:
    """Pearson's chi-squared summed over classes, degrees of freedom too."""
    found = np.array([_pearson(table) for table in tables])
    return float(stats.chi2.sf(found[:, 0].sum(), found[:, 1].sum()))


def _smallest_p(tables: Integers) -> float:
    """The smallest of the classes' chi-squared p, times their number (Bonferroni)."""
    found = [_pearson(table) for table in tables]
    return min(1.0, len(found) * min(float(stats.chi2.sf(*one)) for one in found))


def _pooled_table(tables: Integers) -> float:
    """Pearson's chi-squared of group x prediction over all rows."""
    return float(stats.chi2.sf(*_pearson(tables.sum(axis=0))))


def _pearson(table: Integers) -> tuple[float, int]:
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0, 1
    found = stats.chi2_contingency(table, correction=False)
    return float(found.statistic), int(found.dof)


SUM_OF_CHI2 = ("sum of chi-squared over classes", _sum_of_chi2)
_LEAST = ("Bonferroni of chi-squared by class", _smallest_p)
_ALL_ROWS = ("chi-squared of all rows", _pooled_table)


def spread(totals: Sequence[int], shares: Sequence[float]) -> Integers:
    """Rows by class and group."""
    return np.maximum(1, np.rint(np.outer(totals, shares))).astype(np.int64)


_THREE = (0.6, 0.3, 0.1)
_UNEVEN = np.linspace(0.95, 0.5, 8)
_FAIR = (*WITHIN, "cramers_v")


def table_design(
    name: str,
    population: Tables,
    names: Sequence[str],
    fair: Sequence[str] = (),
    standards: dict[str, tuple[str, Callable[[Any], float]]] | None = None,
) -> Design:
    """Metrics on one way to draw tables; shapes have no population value."""
    cases, wide = [], population.sizes.shape[1] > 10
    for metric in names:
        call, known = partial(bound_once, metric, bound), metric not in _SHAPES
        told, test = (standards or {}).get(metric, ("", None))
        truth = population.truth(metric) if known else None
        cases.append(Case(metric, call, truth, known and metric in fair, test, told, wide))
    return Design(name, "effects", population.draw, cases)


def blind(sizes: Integers, accuracy: npt.ArrayLike, labels: int) -> Tables:
    """Tables of one accuracy by class for all groups."""
    right = np.broadcast_to(np.asarray(accuracy, dtype=np.float64)[:, None], sizes.shape)
    return Tables(answers_of(right, labels), sizes)


def _blind_designs() -> list[Design]:
    mixes = np.stack([np.roll([0.7, 0.2, 0.1], place % 3) for place in range(6)])
    several = {
        "blind, 3 unequal groups, accuracies .95 to .5": (
            blind(spread(np.linspace(500, 60, 8), _THREE), _UNEVEN, 8), (*_FAIR[:-1], *_SHAPES)),
        "blind, other classes in each group": (
            blind(np.rint(300 * mixes).astype(np.int64), np.linspace(0.95, 0.6, 6), 6), WITHIN),
        "blind, 10 classes of 2 labels, 2 groups": (
            blind(spread([60] * 10, (0.7, 0.3)), np.linspace(0.95, 0.6, 10), 2), WITHIN),
        "blind, accuracy .98, few mistakes": (
            blind(spread([120] * 10, _THREE), np.full(10, 0.98), 10), WITHIN),
        "blind, groups of one row": (
            blind(spread([120] * 6, (0.6, 0.395, 0.005)), np.linspace(0.9, 0.6, 6), 6), WITHIN),
        "blind, 14 groups, sparse": (
            blind(spread([45] * 20, np.arange(14, 0, -1) / 105), np.linspace(0.9, 0.4, 20), 20), WITHIN),
        "blind, 50 groups": (
            blind(spread([400] * 4, np.full(50, 0.02)), np.linspace(0.9, 0.5, 4), 5), WITHIN),
        "blind, 60 classes": (
            blind(spread([80] * 60, _THREE), np.tile([0.9, 0.8, 0.6], 20), 12), WITHIN),
    }  # fmt: skip
    designs = [table_design(name, *of, fair=of[1]) for name, of in several.items()]
    even = replace(blind(spread([150] * 5, _THREE), np.linspace(0.95, 0.5, 5), 5), drawn=True)
    designs.append(table_design("blind, same classes in each group", even, ("cramers_v",), ("cramers_v",)))
    unequal = replace(several["blind, other classes in each group"][0], drawn=True)
    return [*designs, table_design("unequal classes, all rows", unequal, ("cramers_v",))]


def shifted(base: Floats, group: int, by: npt.ArrayLike) -> Floats:
    """Accuracies by class and group, one group's lower."""
    right = np.tile(np.asarray(base, dtype=np.float64)[:, None], 3)
    right[:, group] -= by
    return right


def _planted_designs() -> list[Design]:
    sizes, one = spread([200] * 8, _THREE), np.zeros(8)
    one[3] = 0.36
    every = Tables(answers_of(shifted(_UNEVEN, 1, 0.15), 8), sizes)
    single = Tables(answers_of(shifted(_UNEVEN, 1, one), 8), sizes)
    few = Tables(answers_of(shifted(np.linspace(0.95, 0.6, 4), 1, 0.12), 4), spread([250] * 4, _THREE))
    strong = Tables(answers_of(shifted(np.full(10, 0.9), 2, np.linspace(0.2, 0.6, 10)), 10),
                    spread([300] * 10, _THREE))  # fmt: skip
    mixed = Tables(answers_of(shifted(np.full(10, 0.9), 2, np.linspace(0, 0.6, 10) ** 2), 10),
                   spread([200] * 10, _THREE))  # fmt: skip
    one_class = Tables(answers_of(shifted([0.8], 1, 0.27), 4), spread([150], _THREE))
    mixes = 40 * np.ones((4, 3)) * (6, 3, 1) * (1 + 0.3 * np.outer((1, 0, 0, -1), (1, -1, 0)))
    rows = replace(blind(np.rint(mixes).astype(np.int64), np.linspace(0.95, 0.6, 4), 4), drawn=True)
    most = Tables(
        answers_of(np.column_stack([np.ones(6), np.linspace(0.6, 0, 6)]), 6), spread([80] * 6, (0.5, 0.5))
    )
    sums = dict.fromkeys(("cramers_v_pooled", "cramers_v_mean", "cramers_v_corrected", "phi"), SUM_OF_CHI2)
    return [
        table_design("planted in every class", every, WITHIN, (), sums),
        table_design("planted in one class", single, WITHIN, (), {"cramers_v_max": _LEAST}),
        table_design("planted, 4 classes", few, WITHIN, (), sums),
        table_design("planted, all rows", rows, ("cramers_v",), (), {"cramers_v": _ALL_ROWS}),
        table_design("strong in all classes", strong, (*WITHIN, *_SHAPES)),
        table_design("strong in few classes", mixed, (*WITHIN, *_SHAPES)),
        table_design("one class", one_class, WITHIN, (), sums),
        table_design("one group always right", most, WITHIN),
    ]  # fmt: skip


def _ranked_rows(rng: Rng) -> Predictions:
    """Two labels an image with confidences; a model that knows nothing of the groups."""
    images, classes = 240, 4
    truth = rng.integers(classes, size=images)
    group = rng.choice(3, images, p=_THREE)
    first = np.where(rng.random(images) < 0.7, truth, rng.integers(classes, size=images))
    second = (first + rng.integers(1, classes, size=images)) % classes
    sure = rng.uniform(0.5, 0.9, images)
    parts = [
        {"image": np.arange(images), "truth": truth.astype(str), "group": group.astype(str),
         "prediction": label.astype(str), "rank": np.full(images, rank), "confidence": share}
        for rank, label, share in ((1, first, sure), (2, second, 1 - sure))
    ]  # fmt: skip
    return Predictions.from_frame(
        pl.concat([pl.DataFrame(part) for part in parts]),
        truth="truth", prediction="prediction", id="image", rank="rank", confidence="confidence",
    )  # fmt: skip


_RANKED = Design("two labels an image, blind", "effects", _ranked_rows, [
    Case("skewsize_topk", called("skewsize_topk", by="group", k=2)),
    Case("skewsize_softmax", called("skewsize_softmax", by="group")),
])  # fmt: skip


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

    def draw(self, rng: Rng) -> pl.DataFrame:
        """Rows of truth, group, prediction, person and weight."""
        classes, groups = self.accuracy.shape
        spans = [(max(n // 2, 1), 2 * n - n // 2) if self.uneven else (n, n) for n in self.pictures]
        group_of, person = units(rng, self.persons, spans)
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
        rows = np.asarray(self.persons) * self.pictures
        rows = np.full(groups, rows.sum() / groups) if self.mixed else rows
        return Tables(
            evenly(self.accuracy, classes), np.tile(np.rint(rows * 100).astype(np.int64), (classes, 1))
        )


def _read(roles: dict[str, str], data: pl.DataFrame, seed: int) -> BoundCounts:
    evidence = Predictions.from_frame(data, truth="truth", prediction="prediction", **roles)
    return BoundCounts.of(evidence, "group", seed)


def persons_design(
    name: str, persons: Persons, fair: bool = True, standard: Callable[[Any], float] | None = None
) -> Design:
    """Metrics on one way to draw persons."""
    population = persons.population()
    read = partial(_read, {"weight": "weight"} if persons.weighted else {"cluster": "person"})
    cases = [
        Case(metric, partial(bound_once, metric, read), population.truth(metric), fair,
             standard if metric == "cramers_v_pooled" else None, "F of persons' shares of hits")
        for metric in (*WITHIN, "cramers_v")
    ]  # fmt: skip
    return Design(name, "effects", persons.draw, cases)


def _between_persons(data: pl.DataFrame) -> float:
    """Analysis of variance of the persons' shares of right answers."""
    right = data["truth"] == data["prediction"]
    return float(stats.f_oneway(*tests.unit_means(right, data["person"], data["group"])).pvalue)


def _person_designs() -> list[Design]:
    def level(*by_group: float) -> Floats:
        return np.linspace(0.15, -0.15, 4)[:, None] + np.asarray(by_group)

    designs: dict[str, tuple[Any, ...]] = {
        "20 persons a group x 10 pictures, ICC .2": (Persons(level(0.7, 0.7), (20, 20), (10, 10)),),
        "3 groups of 30/15/8 persons, 4 to 16 pictures":
            (Persons(level(0.7, 0.7, 0.7), (30, 15, 8), (10, 10, 10), uneven=True),),
        "group and number of pictures go together": (Persons(level(0.7, 0.7), (30, 15), (5, 25)),),
        "9 persons x 40 pictures": (Persons(level(0.7, 0.7), (5, 4), (40, 40)),),
        "60 persons x 2 pictures": (Persons(level(0.7, 0.7), (35, 25), (2, 2)),),
        "pictures of a person in several groups":
            (Persons(level(0.7, 0.7, 0.7), (12, 12, 12), (12, 12, 12), mixed=True),),
        "planted, 25 persons a group x 10 pictures":
            (Persons(level(0.77, 0.56), (25, 25), (10, 10)), False, _between_persons),
        "weighted rows": (Persons(level(0.7, 0.7, 0.7), (300, 200, 80), (1, 1, 1), 0.0, weighted=True),),
        "weighted rows, planted":
            (Persons(level(0.75, 0.6), (300, 200), (1, 1), 0.0, weighted=True), False),
    }  # fmt: skip
    return [persons_design(name, *of) for name, of in designs.items()]


DESIGNS: tuple[Design, ...] = (*_blind_designs(), *_planted_designs(), _RANKED, *_person_designs())
