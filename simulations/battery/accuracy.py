"""Accuracy, parity, odds and recall by group: blind and planted classifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.design import Case, Design, Line, called
from simulations.battery.persons import units

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.evidence.predictions.counts import Counts
from evenhand.stats.arrays import Floats, Integers, Rng
from evenhand.stats.rates.confusion import SUMMARIES, Confusion, over_classes, range_over_groups

Standard = tuple[str, Callable[[Counts], float]]
_MEAN = {"aggregate": "mean"}
_PARAMS: dict[str, dict[str, str]] = {
    "demographic_parity/max": {}, "demographic_parity/mean": _MEAN,
    "equalized_odds/max/max": {}, "equalized_odds/max/mean": _MEAN,
    "equalized_odds/avg/max": {"eo": "avg"}, "equalized_odds/avg/mean": {"eo": "avg", **_MEAN},
    "equalized_odds/full/max": {"eo": "full"}, "equalized_odds/full/mean": {"eo": "full", **_MEAN},
}  # fmt: skip
_COMPARED = ("accuracy_contrast", "accuracy_gap", "accuracy_range", *_PARAMS)
_ALL = (
    "accuracy", "mean_group_accuracy", "worst_group_accuracy", "worst_class_group_accuracy",
    "accuracy_contrast", "accuracy_gap", "class_group_accuracy_gap", "accuracy_range", *_PARAMS,
)  # fmt: skip


def metric_of(key: str) -> Callable[[Counts, int], Finding]:
    """A metric of classification by group, as tables of the battery name it with its options."""
    if key == "class_group_accuracy_gap":
        return called("accuracy_gap", by="group", groups="yz")
    return called(key.partition("/")[0], by="group", **_PARAMS.get(key, {}))


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier on groups of people, and how its rows are sampled.

    Attributes:
        sizes: Rows of each group, or their number of persons.
        base: Shares of the true classes, by group, shape (G, L).
        right: Accuracy by group and class, shape (G, L); a wrong answer is any other label.
        photos: Rows of a person by group: from, to; None where rows are independent.
        alike: Intra-class correlation of the correctness of a person's rows.
        mixed: Whether a person's rows lie in any group, by chance.
        weights: Weights of rows by group: each is this times a random number of 0.5 to 2.
    """

    sizes: Sequence[int]
    base: Floats
    right: Floats
    photos: Sequence[tuple[int, int]] | None = None
    alike: float = 0.2
    mixed: bool = False
    weights: Sequence[float] | None = None

    def draw(self, rng: Rng) -> Counts:
        """Counts of one sample."""
        group, person, shift = self._people(rng)
        labels = self.base.shape[1]
        truth = (rng.random(group.size)[:, None] > self.base.cumsum(axis=1)[group]).sum(axis=1)
        truth = np.minimum(truth, labels - 1)
        right = rng.random(group.size) < np.clip(self.right[group, truth] + shift, 0, 1)
        wrong = (truth + rng.integers(1, labels, group.size)) % labels if labels > 1 else truth
        rows, roles = {"truth": truth, "said": np.where(right, truth, wrong), "group": group}, {}
        if self.photos is not None:
            rows["person"], roles = person, {"cluster": "person"}
        if self.weights is not None:
            heavy = np.array(self.weights)[group] * rng.integers(2, 9, group.size) / 4
            rows["heavy"], roles = heavy, {**roles, "weight": "heavy"}
        return counts_of(rows, **roles)

    def _people(self, rng: Rng) -> tuple[Integers, Integers, Floats]:
        if self.photos is None:
            group = np.repeat(np.arange(len(self.sizes)), self.sizes)
            return group, group, np.zeros(group.size)
        group, person = units(rng, self.sizes, self.photos)
        # two-point persons: the mean stays, and the correlation is alike where accuracy is .8
        shift = np.where(rng.random(group.size) < 0.2, -2.0, 0.5) * 0.4 * np.sqrt(self.alike)
        group = rng.integers(0, len(self.sizes), person.size) if self.mixed else group[person]
        return group, person, shift[person]

    @property
    def _shares(self) -> Floats:
        """Rows that are expected of each group, by their weights."""
        if self.mixed:
            return np.ones(len(self.sizes))
        photos = 1 if self.photos is None else np.mean(self.photos, axis=1)
        return np.asarray(self.sizes) * photos * (1 if self.weights is None else np.asarray(self.weights))

    def population(self) -> dict[str, float]:
        """Every value of the metrics, by their formulas on shares instead of counts."""
        support = self.base * self._shares[:, None]
        labels = self.base.shape[1]
        spread = (1 - np.eye(labels)) / max(labels - 1, 1)
        table = self.right[..., None] * np.eye(labels) + (1 - self.right)[..., None] * spread
        predicted = (support[..., None] * table).sum(axis=1)
        confusion = Confusion(support, support * self.right, predicted)
        found = {key: confusion.summary(key) for key in SUMMARIES}
        given = np.where((support > 0)[..., None], table, np.nan)  # group, truth, label
        full = np.nanmax(range_over_groups(np.moveaxis(given, 0, -2), 2), axis=0)
        found |= {f"equalized_odds/full/{how}": over_classes(full, how) for how in ("max", "mean")}
        # 0 where the range is; what the contrast is of, the data choose
        found |= {"accuracy_contrast": found["accuracy_range"]}
        return {name: float(value) for name, value in found.items()}

    def apart(self, groups: Sequence[int]) -> float:
        """How far some groups and all others are apart in accuracy, whichever is better."""
        accuracy, inside = (self.base * self.right).sum(axis=1), np.isin(np.arange(len(self.sizes)), groups)
        first, second = (np.average(accuracy, weights=self._shares * some) for some in (inside, ~inside))
        return float(abs(first - second))

    def lines(self, _: Counts, finding: Finding) -> list[Line]:
        """The difference of the two sets of groups that the data chose, beside that of the population."""
        if finding.interval is None or finding.value is None:
            return []
        truth = self.apart([int(str(part.key)) for part in finding.parts])
        return [Line(finding.value, finding.interval.low, finding.interval.high, truth)]


def counts_of(rows: dict[str, Floats], **roles: str) -> Counts:
    """Counts of rows of truth, what was said and group."""
    frame = pl.DataFrame(rows)
    return eh.Predictions.from_frame(frame, truth="truth", prediction="said", **roles).count(["group"])


def cases_of(
    model: Model, names: Sequence[str] = _ALL, standard: Standard = ("", None), beside: Sequence[str] = ()
) -> list[Case]:
    """The metrics on one way to draw rows, with their population values; some beside a standard test."""
    cases, truths, wide = [], model.population(), len(model.sizes) > 10
    for key in names:
        truth = truths[key]
        fair = key in _COMPARED and abs(truth) < 1e-12
        named, test = standard if key in (beside or names) else ("", None)
        lines = model.lines if key == "accuracy_contrast" else None
        cases.append(Case(key, metric_of(key), truth, fair, test, named, wide, lines))
    return cases


def _table(counts: Counts, axis: str) -> Floats:
    """Group x correct (``hit``), or group x prediction, without what nobody was called."""
    group = counts.codes_of("group")
    said = counts.codes_of("prediction")
    other = (said == counts.codes_of("truth")).astype(int) if axis == "hit" else said
    table = np.zeros((group.max() + 1, other.max() + 1))
    np.add.at(table, (group, other), counts.n)
    return table[:, table.sum(axis=0) > 0]


def pearson(counts: Counts, axis: str) -> float:
    """Pearson's chi-squared test of independence."""
    table = _table(counts, axis)
    return float(stats.chi2_contingency(table, correction=False)[1]) if table.shape[1] > 1 else 1.0


def within_truth(counts: Counts) -> float:
    """Pearson's chi-squared of group x prediction, summed over the truths."""
    truth = counts.codes_of("truth")
    found = [
        stats.chi2_contingency(_table(counts.only(truth == code), "said"), correction=False)
        for code in range(len(counts.axis("truth").levels))
    ]
    return float(stats.chi2.sf(sum(one[0] for one in found), sum(one[2] for one in found)))


def _stratified(counts: Counts) -> float:
    """Mantel and Haenszel's test of group x right within the classes."""
    truth, group = counts.codes_of("truth"), counts.codes_of("group")
    return standards.mantel_haenszel(truth == counts.codes_of("prediction"), group == 0, truth, counts.n)


def even(groups: int, labels: int) -> Floats:
    """Classes of equal shares in each group."""
    return np.full((groups, labels), 1 / labels)


def flat(groups: int, labels: int, accuracy: float) -> Floats:
    """One accuracy for all groups and classes."""
    return np.full((groups, labels), accuracy)


def _of_groups(*accuracies: float, labels: int) -> Floats:
    return np.repeat(np.array(accuracies)[:, None], labels, axis=1)


_FAIR: dict[str, Model] = {
    "3 unequal groups, fair": Model((300, 120, 40), even(3, 3), flat(3, 3, 0.85)),
    "14 groups x 3 classes, fair": Model((60,) * 14, even(14, 3), flat(14, 3, 0.8)),
    "10 groups x 20 classes x 3 rows, fair": Model((60,) * 10, even(10, 20), flat(10, 20, 0.7)),
    "99 rows and 1 row, fair": Model((99, 1), even(2, 2), flat(2, 2, 0.95)),
    "rates near 1, fair": Model((400, 150, 50), even(3, 3), flat(3, 3, 0.985)),
    "50 groups, fair": Model((80,) * 50, even(50, 2), flat(50, 2, 0.8)),
    "base rates .7 and .3, accuracy .95":
        Model((200, 200), np.array([[0.7, 0.3], [0.3, 0.7]]), flat(2, 2, 0.95)),
    "unequal bases and class accuracies":
        Model((250, 120, 60), np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]]),
              np.tile([0.95, 0.8, 0.6], (3, 1))),
    "some cells worse":
        Model((250, 150, 80), even(3, 4),
              np.array([[0.9] * 4, [0.85, 0.9, 0.7, 0.9], [0.75, 0.9, 0.6, 0.8]])),
    "one label of ten worse": Model((300, 200), even(2, 10), np.array([[0.9] * 10, [0.2] + [0.9] * 9])),
    "20 persons x 10 a group, fair": Model((20,) * 3, even(3, 2), flat(3, 2, 0.8), ((10, 10),) * 3),
    "8 to 12 persons of 2 to 40 rows, fair":
        Model((9, 8, 12), even(3, 3), flat(3, 3, 0.8), ((2, 40), (10, 20), (2, 6))),
    "persons in several groups, fair":
        Model((10,) * 3, even(3, 3), flat(3, 3, 0.8), ((4, 12),) * 3, mixed=True),
    "weights, fair": Model((300, 150, 60), even(3, 3), flat(3, 3, 0.8), weights=(1, 3, 2)),
}  # fmt: skip
_HIT = ("Pearson's chi-squared", partial(pearson, axis="hit"))
SAID = ("Pearson's chi-squared", partial(pearson, axis="said"))
WITHIN = ("chi-squared within the truth", within_truth)
_WELCH = ("Welch's t of persons", partial(standards.welch_of_counts, unit="person"))
_PLANTED: dict[str, tuple[Any, ...]] = {
    "planted gap":
        (Model((220, 220), even(2, 2), _of_groups(0.85, 0.744, labels=2)), _COMPARED[:3], _HIT),
    "planted parity":
        (Model((300, 300), np.array([[0.34, 0.33, 0.33], [0.214, 0.456, 0.33]]), flat(2, 3, 0.9)),
         _COMPARED[3:5], SAID),
    "planted odds":
        (Model((220, 220), even(2, 2), np.array([[0.9, 0.85], [0.745, 0.85]])),
         _COMPARED[5:], WITHIN, _COMPARED[5:9]),
    "planted gap of persons":
        (Model((40, 40), even(2, 2), _of_groups(0.8, 0.655, labels=2), ((8, 8),) * 2),
         _COMPARED[:3], _WELCH),
}  # fmt: skip

_HARD = np.tile(np.linspace(0.95, 0.5, 8), (2, 1))
_MIXES = np.stack([np.linspace(4, 1, 8), np.linspace(1, 4, 8)]) / 20
_RECALL: dict[str, Model] = {
    "8 classes, unequal groups": Model((400, 100), even(2, 8), _HARD),
    "8 classes, other mixes": Model((300, 200), _MIXES, _HARD),
    "40 sparse classes": Model((200, 60), even(2, 40), flat(2, 40, 0.8)),
    "rates near 1": Model((300, 120), even(2, 4), flat(2, 4, 0.985)),
    "a group of 12 rows": Model((300, 12), even(2, 3), flat(2, 3, 0.8)),
    "20 persons a group x 10": Model((20, 20), even(2, 3), flat(2, 3, 0.8), ((10, 10),) * 2),
    "persons of 2 to 40": Model((20, 14), even(2, 3), flat(2, 3, 0.8), ((2, 40), (2, 6))),
    "persons in several groups":
        Model((20, 20), even(2, 3), flat(2, 3, 0.8), ((4, 12),) * 2, mixed=True),
    "planted": Model((160, 160), even(2, 5), _of_groups(0.85, 0.71, labels=5)),
    "planted in one class": Model((300, 300), even(2, 2), np.array([[0.8, 0.9], [0.8, 0.77]])),
}  # fmt: skip


def _recall(name: str, model: Model) -> Design:
    gap = float((model.right[0] - model.right[1]).mean())
    fair = not np.any(model.right[0] - model.right[1])
    call = called("recall_gap", by="group", groups=["0", "1"])
    case = Case("recall_gap", call, gap, fair, None if fair else _stratified, "Mantel-Haenszel")
    return Design(f"recall: {name}", "accuracy", model.draw, [case])


DESIGNS: tuple[Design, ...] = (
    *(Design(f"accuracy: {name}", "accuracy", model.draw,
             cases_of(model, _COMPARED[:5] if name.startswith("99") else _ALL))
      for name, model in _FAIR.items()),
    *(Design(f"accuracy: {name}", "accuracy", model.draw, cases_of(model, *more))
      for name, (model, *more) in _PLANTED.items()),
    *(_recall(name, model) for name, model in _RECALL.items()),
)  # fmt: skip
