"""Accuracy by group, its gap and range, demographic parity, equalized odds: blind and planted classifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design, Line

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.evidence.predictions.counts import Counts
from evenhand.stats.rates.confusion import SUMMARIES, Confusion, over_classes, range_over_groups

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_METRICS: dict[str, tuple[str, dict[str, str]]] = {
    "accuracy": ("accuracy", {}),
    "mean_group_accuracy": ("mean_group_accuracy", {}),
    "worst_group_accuracy": ("worst_group_accuracy", {}),
    "worst_class_group_accuracy": ("worst_class_group_accuracy", {}),
    "accuracy_contrast": ("accuracy_contrast", {}),
    "accuracy_gap": ("accuracy_gap", {}),
    "class_group_accuracy_gap": ("accuracy_gap", {"groups": "yz"}),
    "accuracy_range": ("accuracy_range", {}),
    "demographic_parity/max": ("demographic_parity", {}),
    "demographic_parity/mean": ("demographic_parity", {"aggregate": "mean"}),
    "equalized_odds/max/max": ("equalized_odds", {}),
    "equalized_odds/max/mean": ("equalized_odds", {"aggregate": "mean"}),
    "equalized_odds/avg/max": ("equalized_odds", {"eo": "avg"}),
    "equalized_odds/avg/mean": ("equalized_odds", {"eo": "avg", "aggregate": "mean"}),
    "equalized_odds/full/max": ("equalized_odds", {"eo": "full"}),
    "equalized_odds/full/mean": ("equalized_odds", {"eo": "full", "aggregate": "mean"}),
}
_COMPARED = tuple(
    name
    for name in _METRICS
    if "/" in name or name in ("accuracy_contrast", "accuracy_gap", "accuracy_range")
)


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
    weights: Sequence[float] | None = field(default=None)

    def draw(self, rng: np.random.Generator) -> Counts:
        """Counts of one sample."""
        group, person, shift = self._people(rng)
        labels = self.base.shape[1]
        truth = (rng.random(group.size)[:, None] > self.base.cumsum(axis=1)[group]).sum(axis=1)
        truth = np.minimum(truth, labels - 1)
        right = rng.random(group.size) < np.clip(self.right[group, truth] + shift, 0, 1)
        wrong = (truth + rng.integers(1, labels, group.size)) % labels if labels > 1 else truth
        rows = {"truth": truth, "said": np.where(right, truth, wrong), "group": group}
        roles = {}
        if self.photos is not None:
            rows["person"], roles = person, {"cluster": "person"}
        if self.weights is not None:
            heavy = np.array(self.weights)[group] * rng.integers(2, 9, group.size) / 4
            rows["heavy"], roles = heavy, {**roles, "weight": "heavy"}
        frame = pl.DataFrame(rows)
        made = eh.Predictions.from_frame(frame, truth="truth", prediction="said", **roles)
        return made.count(["group"])

    def _people(
        self, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        if self.photos is None:
            return group, group, np.zeros(group.size)
        low, high = np.array(self.photos).T
        rows = rng.integers(low[group], high[group] + 1)
        person = np.repeat(np.arange(group.size), rows)
        # two-point persons: the mean stays, and the correlation is alike where accuracy is .8
        shift = np.where(rng.random(group.size) < 0.2, -2.0, 0.5) * 0.4 * np.sqrt(self.alike)
        group = group[person]
        if self.mixed:
            group = rng.integers(0, len(self.sizes), person.size)
        return group, person, shift[person]

    def population(self) -> dict[str, float]:
        """Every value of the metrics, by their formulas on shares instead of counts."""
        photos = np.ones(len(self.sizes)) if self.photos is None else np.mean(self.photos, axis=1)
        size = np.asarray(self.sizes) * photos
        if self.mixed:
            size = np.full(size.size, 1.0)
        if self.weights is not None:
            size = size * np.asarray(self.weights)
        support = self.base * size[:, None]
        labels = self.base.shape[1]
        spread = (1 - np.eye(labels)) / max(labels - 1, 1)
        table = self.right[..., None] * np.eye(labels) + (1 - self.right)[..., None] * spread
        predicted = (support[..., None] * table).sum(axis=1)
        confusion = Confusion(support, support * self.right, predicted)
        found = {key: confusion.summary(key) for key in SUMMARIES}
        given = np.where((support > 0)[..., None], table, np.nan)  # group, truth, label
        full = np.nanmax(range_over_groups(np.moveaxis(given, 0, -2), 2), axis=0)
        found |= {f"equalized_odds/full/{how}": over_classes(full, how) for how in ("max", "mean")}
        found["accuracy_contrast"] = found[
            "accuracy_range"
        ]  # 0 where that is; what it is of, the data choose
        return {name: float(value) for name, value in found.items()}

    def apart(self, groups: Sequence[int]) -> float:
        """How far some groups and all others are apart in accuracy, whichever is better."""
        photos = np.ones(len(self.sizes)) if self.photos is None else np.mean(self.photos, axis=1)
        size = np.asarray(self.sizes) * photos * (1 if self.weights is None else np.asarray(self.weights))
        size = np.ones(size.size) if self.mixed else size
        accuracy = (self.base * self.right).sum(axis=1)
        inside = np.isin(np.arange(size.size), groups)
        sides = (np.average(accuracy, weights=size * some) for some in (inside, ~inside))
        return float(abs(next(sides) - next(sides)))


@cache
def _truths(model: Model) -> dict[str, float]:
    return model.population()


def _call(name: str, params: dict[str, str], counts: Counts, seed: int) -> Finding:
    return getattr(eh.metrics, name)(counts, by="group", seed=seed, **params)


def cases_of(
    model: Model,
    names: Sequence[str] = tuple(_METRICS),
    standard: dict[str, tuple[str, Callable[[Counts], float]]] | None = None,
) -> list[Case]:
    """The metrics on one way to draw rows, with their population values."""
    cases, wide = [], len(model.sizes) > 10
    for key in names:
        name, params = _METRICS[key]
        truth = _truths(model)[key]
        named, test = (standard or {}).get(key, ("", None))
        call = partial(_call, name, params)
        fair = key in _COMPARED and abs(truth) < 1e-12
        lines = partial(_of_set, model) if key == "accuracy_contrast" else None
        cases.append(Case(key, call, truth, fair, test, named, wide, lines))
    return cases


def _of_set(model: Model, counts: Counts, finding: Finding) -> list[Line]:
    """The difference of the two sets of groups that the data chose, beside that of the population."""
    if finding.interval is None or finding.value is None:
        return []
    truth = model.apart([int(str(part.key)) for part in finding.parts])
    return [Line(finding.value, finding.interval.low, finding.interval.high, truth)]


def _table(counts: Counts, axis: str) -> Floats:
    """Group x correct (``hit``), or group x prediction."""
    group = counts.codes_of("group")
    said = counts.codes_of("prediction")
    other = (said == counts.codes_of("truth")).astype(int) if axis == "hit" else said
    table = np.zeros((group.max() + 1, other.max() + 1))
    np.add.at(table, (group, other), counts.n)
    return table


def pearson(counts: Counts, axis: str) -> float:
    """Pearson's chi-squared test of independence."""
    table = _table(counts, axis)
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table, correction=False)[1]) if table.shape[1] > 1 else 1.0


def within_truth(counts: Counts) -> float:
    """Pearson's chi-squared of group x prediction, summed over the truths."""
    total, freedom = 0.0, 0
    for level in counts.axis("truth").levels:
        chi2, _, df, _ = stats.chi2_contingency(_of(counts, level), correction=False)
        total, freedom = total + chi2, freedom + df
    return float(stats.chi2.sf(total, freedom))


def _of(counts: Counts, level: object) -> Floats:
    kept = counts.only(counts.codes_of("truth") == counts.axis("truth").levels.index(level))  # type: ignore[arg-type]
    table = _table(kept, "said")
    return table[:, table.sum(axis=0) > 0]


def welch_of_persons(counts: Counts) -> float:
    """Welch's t of persons' shares of right answers, of two groups."""
    unit = counts.codes_of("cluster:person")
    hit = counts.codes_of("truth") == counts.codes_of("prediction")
    share = np.bincount(unit, hit * counts.n) / np.bincount(unit, counts.n)
    group = np.zeros(share.size, dtype=int)
    group[unit] = counts.codes_of("group")
    return float(stats.ttest_ind(share[group == 0], share[group == 1], equal_var=False)[1])


def even(groups: int, labels: int) -> Floats:
    """Classes of equal shares in each group."""
    return np.full((groups, labels), 1 / labels)


def flat(groups: int, labels: int, accuracy: float) -> Floats:
    """One accuracy for all groups and classes."""
    return np.full((groups, labels), accuracy)


_THREE = Model((300, 120, 40), even(3, 3), flat(3, 3, 0.85))
_FOURTEEN = Model((60,) * 14, even(14, 3), flat(14, 3, 0.8))
_SPARSE = Model((60,) * 10, even(10, 20), flat(10, 20, 0.7))
_TINY = Model((99, 1), even(2, 2), flat(2, 2, 0.95))
_SURE = Model((400, 150, 50), even(3, 3), flat(3, 3, 0.985))
_FIFTY = Model((80,) * 50, even(50, 2), flat(50, 2, 0.8))
_BASES = Model((200, 200), np.array([[0.7, 0.3], [0.3, 0.7]]), flat(2, 2, 0.95))
_HARD = Model(
    (250, 120, 60),
    np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]]),
    np.tile([0.95, 0.8, 0.6], (3, 1)),
)
_SKEWED = Model(
    (250, 150, 80), even(3, 4), np.array([[0.9] * 4, [0.85, 0.9, 0.7, 0.9], [0.75, 0.9, 0.6, 0.8]])
)
_ONE_LABEL = Model((300, 200), even(2, 10), np.array([[0.9] * 10, [0.2] + [0.9] * 9]))
_PERSONS = Model((20, 20, 20), even(3, 2), flat(3, 2, 0.8), photos=((10, 10),) * 3)
_FEW = Model((9, 8, 12), even(3, 3), flat(3, 3, 0.8), photos=((2, 40), (10, 20), (2, 6)))
_MIXED = Model((10, 10, 10), even(3, 3), flat(3, 3, 0.8), photos=((4, 12),) * 3, mixed=True)
_WEIGHTED = Model((300, 150, 60), even(3, 3), flat(3, 3, 0.8), weights=(1, 3, 2))
_GAP = Model((220, 220), even(2, 2), np.array([[0.85, 0.85], [0.744, 0.744]]))
_PARITY = Model((300, 300), np.array([[0.34, 0.33, 0.33], [0.214, 0.456, 0.33]]), flat(2, 3, 0.9))
_ODDS = Model((220, 220), even(2, 2), np.array([[0.9, 0.85], [0.745, 0.85]]))
_GAP_PERSONS = Model((40, 40), even(2, 2), np.array([[0.8, 0.8], [0.655, 0.655]]), photos=((8, 8),) * 2)


def _design(name: str, model: Model, cases: Sequence[Case]) -> Design:
    return Design(name, "accuracy", model.draw, cases)


_HIT = ("Pearson's chi-squared", partial(pearson, axis="hit"))
SAID = ("Pearson's chi-squared", partial(pearson, axis="said"))
_WITHIN = ("chi-squared within the truth", within_truth)
_WELCH = ("Welch's t of persons", welch_of_persons)

DESIGNS: tuple[Design, ...] = (
    _design("accuracy: 3 unequal groups, fair", _THREE, cases_of(_THREE)),
    _design("accuracy: 14 groups x 3 classes, fair", _FOURTEEN, cases_of(_FOURTEEN)),
    _design("accuracy: 10 groups x 20 classes x 3 rows, fair", _SPARSE, cases_of(_SPARSE)),
    _design("accuracy: 99 rows and 1 row, fair", _TINY, cases_of(_TINY, _COMPARED[:5])),
    _design("accuracy: rates near 1, fair", _SURE, cases_of(_SURE)),
    _design("accuracy: 50 groups, fair", _FIFTY, cases_of(_FIFTY)),
    _design("accuracy: base rates .7 and .3, accuracy .95", _BASES, cases_of(_BASES)),
    _design("accuracy: unequal bases and class accuracies", _HARD, cases_of(_HARD)),
    _design("accuracy: some cells worse", _SKEWED, cases_of(_SKEWED)),
    _design("accuracy: one label of ten worse", _ONE_LABEL, cases_of(_ONE_LABEL)),
    _design("accuracy: 20 persons x 10 a group, fair", _PERSONS, cases_of(_PERSONS)),
    _design("accuracy: 8 to 12 persons of 2 to 40 rows, fair", _FEW, cases_of(_FEW)),
    _design("accuracy: persons in several groups, fair", _MIXED, cases_of(_MIXED)),
    _design("accuracy: weights, fair", _WEIGHTED, cases_of(_WEIGHTED)),
    _design(
        "accuracy: planted gap", _GAP,
        cases_of(_GAP, _COMPARED[:3], dict.fromkeys(_COMPARED[:3], _HIT)),
    ),
    _design(
        "accuracy: planted parity", _PARITY,
        cases_of(
            _PARITY, ("demographic_parity/max", "demographic_parity/mean"),
            {"demographic_parity/max": SAID, "demographic_parity/mean": SAID},
        ),
    ),
    _design(
        "accuracy: planted odds", _ODDS,
        cases_of(_ODDS, _COMPARED[5:], dict.fromkeys(_COMPARED[5:9], _WITHIN)),
    ),
    _design(
        "accuracy: planted gap of persons", _GAP_PERSONS,
        cases_of(_GAP_PERSONS, _COMPARED[:3], dict.fromkeys(_COMPARED[:3], _WELCH)),
    ),
)  # fmt: skip
