"""Units that hold several groups, persons of very unequal size, and weights that go with the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design
from simulations.battery.rankings import FIGURES, Pool, call_of

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.rankings import Rankings

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LABELS = 3
_DIFFERENCES: dict[str, tuple[str, dict[str, str]]] = {
    "accuracy_gap": ("accuracy_gap", {}),
    "accuracy_range": ("accuracy_range", {}),
    "accuracy_contrast": ("accuracy_contrast", {}),
    "demographic_parity/max": ("demographic_parity", {}),
    "demographic_parity/mean": ("demographic_parity", {"aggregate": "mean"}),
    "equalized_odds/max/max": ("equalized_odds", {}),
    "equalized_odds/avg/mean": ("equalized_odds", {"eo": "avg", "aggregate": "mean"}),
    "cramers_v_pooled": ("cramers_v_pooled", {}),
    "cramers_v_mean": ("cramers_v_mean", {}),
    "disparities": ("disparities", {}),
}


@dataclass(frozen=True, eq=False)
class Photos:
    """Photos in units.

    Attributes:
        unit: Code of what each photo was taken with.
        group: Code of its group.
        right: Whether the model is right.
        weight: Of each photo; None where all count alike.
        once: Whether each unit counts once.
    """

    unit: Integers
    group: Integers
    right: npt.NDArray[np.bool_]
    weight: Floats | None = None
    once: bool = False

    def counts(self, rng: np.random.Generator) -> Counts:
        """The counts of answers with three labels, wrong ones at random."""
        truth = rng.integers(0, _LABELS, self.unit.size)
        wrong = (truth + rng.integers(1, _LABELS, truth.size)) % _LABELS
        columns = {"truth": truth, "said": np.where(self.right, truth, wrong), "group": self.group}
        if self.weight is not None:
            frame = pl.DataFrame({**columns, "heavy": self.weight})
            made = eh.Predictions.from_frame(frame, truth="truth", prediction="said", weight="heavy")
        else:
            made = eh.Predictions.from_frame(
                pl.DataFrame({**columns, "unit": self.unit}), truth="truth", prediction="said",
                cluster="unit", cluster_weights="equal" if self.once else "rows",
            )  # fmt: skip
        return made.count(["group"])


def _rates(rng: np.random.Generator, mean: Floats, icc: float) -> Floats:
    spread = 1 / icc - 1
    return rng.beta(mean * spread, (1 - mean) * spread)


def homes(rng: np.random.Generator, icc: float, count: int = 40, photos: int = 10) -> Photos:
    """Homes of a man and a woman, to whom the model is fair; photos of one person are alike."""
    person = np.repeat(np.arange(2 * count), photos)
    right = rng.random(person.size) < _rates(rng, np.full(2 * count, 0.8), icc)[person]
    return Photos(person // 2, person % 2, right)


def perceived(
    rng: np.random.Generator, rates: tuple[float, float], persons: int = 60, photos: int = 10
) -> Photos:
    """Persons of one group each, whom one photo in ten shows as of the other."""
    person = np.repeat(np.arange(persons), photos)
    group = np.where(rng.random(person.size) < 0.1, 1 - person % 2, person % 2)
    own_rate = _rates(rng, np.array(rates)[np.arange(persons) % 2], 0.3)
    return Photos(person, group, rng.random(person.size) < own_rate[person])


def unequal(rng: np.random.Generator, rates: tuple[float, float], once: bool, persons: int = 80) -> Photos:
    """Persons of 1 to 200 photos, of which a few have most."""
    photos = np.exp(rng.uniform(0, np.log(201), persons)).astype(np.int64)
    person = np.repeat(np.arange(persons), photos)
    own_rate = _rates(rng, np.array(rates)[np.arange(persons) % 2], 0.3)
    return Photos(person, person % 2, rng.random(person.size) < own_rate[person], once=once)


def surveyed(
    rng: np.random.Generator, sizes: Sequence[int], wrong: float, rates: Sequence[float] = ()
) -> Photos:
    """Rows of which wrong ones weigh so many times as much; the share of right ones is .8, or by group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    right = rng.random(group.size) < np.array(rates or [0.8] * len(sizes))[group]
    weight = rng.lognormal(0, 0.7, group.size) * np.where(right, 1.0, wrong)
    return Photos(np.arange(group.size), group, right, weight)


def cluster_robust(counts: Counts) -> float:
    """T of the difference of two groups' accuracies, with an error over units (Liang and Zeger 1986)."""
    unit, group = counts.codes_of("cluster:unit"), counts.codes_of("group")
    right = counts.codes_of("truth") == counts.codes_of("prediction")
    total, hits = np.bincount(group, counts.n), np.bincount(group, counts.n * right)
    score = counts.n * (right - (hits / total)[group]) / total[group] * np.where(group, -1, 1)
    units = np.bincount(unit, score)
    error = np.sqrt((units**2).sum() * units.size / (units.size - 1))
    return float(2 * stats.t.sf(abs(np.diff(hits / total)[0]) / error, units.size - 1))


def welch_of_means(counts: Counts) -> float:
    """Welch's t test of the persons' shares of right answers."""
    unit = counts.codes_of("cluster:unit")
    right = counts.codes_of("truth") == counts.codes_of("prediction")
    share = np.bincount(unit, counts.n * right) / np.bincount(unit, counts.n)
    group = np.zeros(share.size, dtype=np.int64)
    group[unit] = counts.codes_of("group")
    return float(stats.ttest_ind(share[group == 0], share[group == 1], equal_var=False).pvalue)


def _call(name: str, params: dict[str, str], counts: Counts, seed: int) -> Finding:
    finding: Finding = getattr(eh.metrics, name)(counts, by="group", seed=seed, **params)
    return finding


def _fair(*names: str) -> list[Case]:
    return [
        Case(key, partial(_call, *_DIFFERENCES[key]), None if key == "disparities" else 0.0, True)
        for key in names
    ]


def _planted(truth: float, standard: Callable[[Counts], float], name: str) -> list[Case]:
    return [
        Case(key, partial(_call, *_DIFFERENCES[key]), truth / 2 if key == "accuracy_gap" else truth,
             standard=standard, standard_name=name)
        for key in ("accuracy_gap", "accuracy_range")
    ]  # fmt: skip


def _drawn(photos: Callable[[np.random.Generator], Photos]) -> Callable[[np.random.Generator], Counts]:
    def draw(rng: np.random.Generator) -> Counts:
        return photos(rng).counts(rng)

    return draw


def _design(name: str, photos: Callable[[np.random.Generator], Photos], cases: Sequence[Case]) -> Design:
    return Design(f"units: {name}", "accuracy", _drawn(photos), cases)


def ranked_homes(pool: Pool, rng: np.random.Generator) -> Rankings:
    """One pool of homes of a man and a woman: persons of the two groups with one number share a home."""
    scores = pool.scores(rng)
    queries, width = scores.shape
    return Rankings.from_frame(
        pl.DataFrame({
            "query": np.repeat([f"q{number:02d}" for number in range(queries)], width),
            "sample": np.tile(np.arange(width).astype(str), queries),
            "home": np.tile((pool.persons % pool.units[0]).astype(str), queries),
            "group": np.tile(np.array([f"g{code}" for code in pool.groups]), queries),
            "score": scores.ravel(),
        }),
        cluster="home",
    )  # fmt: skip


def _ranked(name: str, pool: Pool) -> Design:
    cases = [Case(figure, call_of(figure), None, True) for figure in FIGURES]
    return Design(f"units: {name}", "rankings", partial(ranked_homes, pool), cases)


few_ranked_homes = _ranked("rankings of 8 homes", Pool((8, 8), (4,), queries=5, alike=0.5))
"""A small one, for the tests."""

_RANKED = Pool((14, 14), (4,), queries=10, alike=0.5)
_CONTRAST = "accuracy_contrast"
_ALL = tuple(name for name in _DIFFERENCES if name != _CONTRAST)
_WEIGHED = _ALL[:-1]
_APART = (0.9, 0.8, 0.6)
_OF_WEIGHTS = [r / (r + 3 * (1 - r)) for r in _APART]
_RANGE = Case("accuracy_range", partial(_call, "accuracy_range", {}), max(_OF_WEIGHTS) - min(_OF_WEIGHTS))
_ROBUST = "cluster-robust t"

DESIGNS: tuple[Design, ...] = (
    _design("homes of a man and a woman x 10 photos, ICC .3", partial(homes, icc=0.3), _fair(*_ALL)),
    _design("homes of a man and a woman x 10 photos, ICC .6", partial(homes, icc=0.6), _fair(*_ALL)),
    _design("12 homes of a man and a woman x 10 photos, ICC .3", partial(homes, icc=0.3, count=12),
            _fair("accuracy_gap", "accuracy_range", "demographic_parity/max")),
    _design("groups seen in each photo, fair", partial(perceived, rates=(0.8, 0.8)), _fair(*_ALL)),
    # a tenth of the photos of either group is of persons of the other
    _design("groups seen in each photo, .85 and .65", partial(perceived, rates=(0.85, 0.65)),
            _planted(0.16, cluster_robust, _ROBUST)),
    _design("persons of 1 to 200 photos count once, fair", partial(unequal, rates=(0.8, 0.8), once=True),
            _fair("accuracy_gap", "accuracy_range", "demographic_parity/max")),
    _design("persons of 1 to 200 photos count once, .8 and .6",
            partial(unequal, rates=(0.8, 0.6), once=True),
            _planted(0.2, welch_of_means, "Welch's t of persons")),
    _design("weights, wrong rows three times as heavy", partial(surveyed, sizes=(250, 150), wrong=3.0),
            _fair(*_WEIGHED)),
    _design("weights, wrong rows three times as heavy, 3 groups",
            partial(surveyed, sizes=(250, 150, 60), wrong=3.0), _fair(*_WEIGHED)),
    _design("weights, wrong rows three times as heavy, a group of 25",
            partial(surveyed, sizes=(250, 150, 25), wrong=3.0), _fair(_CONTRAST, *_WEIGHED)),
    _design("weights, wrong rows five times as heavy, a group of 25",
            partial(surveyed, sizes=(100, 60, 25), wrong=5.0), _fair(_CONTRAST, *_WEIGHED)),
    _design("weights, wrong rows three times as heavy, planted, a group of 25",
            partial(surveyed, sizes=(250, 150, 25), wrong=3.0, rates=_APART), [_RANGE]),
    _ranked("rankings of 14 homes of a man and a woman x 4, alike .5", _RANKED),
)  # fmt: skip
