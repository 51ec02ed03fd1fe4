"""Units that hold several groups, persons of very unequal size, and weights that go with the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.accuracy import counts_of, metric_of
from simulations.battery.design import Case, Design
from simulations.battery.persons import alike
from simulations.battery.rankings import FIGURES, Pool, call_of

from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.rankings import Rankings
from evenhand.stats.arrays import Floats, Integers, Mask, Rng

_LABELS = 3
_ALL = (
    "accuracy_gap", "accuracy_range", "demographic_parity/max", "demographic_parity/mean",
    "equalized_odds/max/max", "equalized_odds/avg/mean", "cramers_v_pooled", "cramers_v_mean", "disparities",
)  # fmt: skip


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
    right: Mask
    weight: Floats | None = None
    once: bool = False

    def counts(self, rng: Rng) -> Counts:
        """The counts of answers with three labels, wrong ones at random."""
        truth = rng.integers(0, _LABELS, self.unit.size)
        wrong = (truth + rng.integers(1, _LABELS, truth.size)) % _LABELS
        columns = {"truth": truth, "said": np.where(self.right, truth, wrong), "group": self.group}
        if self.weight is not None:
            return counts_of({**columns, "heavy": self.weight}, weight="heavy")
        weights = "equal" if self.once else "rows"
        return counts_of({**columns, "unit": self.unit}, cluster="unit", cluster_weights=weights)


def homes(rng: Rng, icc: float, count: int = 40, photos: int = 10) -> Photos:
    """Homes of a man and a woman, to whom the model is fair; photos of one person are alike."""
    person = np.repeat(np.arange(2 * count), photos)
    right = rng.random(person.size) < alike(rng, np.full(2 * count, 0.8), icc)[person]
    return Photos(person // 2, person % 2, right)


def perceived(rng: Rng, rates: tuple[float, float], persons: int = 60, photos: int = 10) -> Photos:
    """Persons of one group each, whom one photo in ten shows as of the other."""
    person = np.repeat(np.arange(persons), photos)
    group = np.where(rng.random(person.size) < 0.1, 1 - person % 2, person % 2)
    own_rate = alike(rng, np.array(rates)[np.arange(persons) % 2], 0.3)
    return Photos(person, group, rng.random(person.size) < own_rate[person])


def unequal(rng: Rng, rates: tuple[float, float], once: bool, persons: int = 80) -> Photos:
    """Persons of 1 to 200 photos, of which a few have most."""
    photos = np.exp(rng.uniform(0, np.log(201), persons)).astype(np.int64)
    person = np.repeat(np.arange(persons), photos)
    own_rate = alike(rng, np.array(rates)[np.arange(persons) % 2], 0.3)
    return Photos(person, person % 2, rng.random(person.size) < own_rate[person], once=once)


def surveyed(rng: Rng, sizes: Sequence[int], wrong: float, rates: Sequence[float] = ()) -> Photos:
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


def _fair(*names: str) -> list[Case]:
    return [Case(key, metric_of(key), None if key == "disparities" else 0.0, True) for key in names]


def _planted(truth: float, standard: Callable[[Counts], float], name: str) -> list[Case]:
    return [
        Case(key, metric_of(key), gap, standard=standard, standard_name=name)
        for key, gap in (("accuracy_gap", truth / 2), ("accuracy_range", truth))
    ]


def _design(name: str, photos: Callable[[Rng], Photos], cases: Sequence[Case]) -> Design:
    return Design(f"units: {name}", "accuracy", lambda rng: photos(rng).counts(rng), cases)


def ranked_homes(pool: Pool, rng: Rng) -> Rankings:
    """One pool of homes of a man and a woman: persons of the two groups with one number share a home."""
    table = pool.table(rng)
    home = pl.Series(np.tile(pool.persons % pool.units[0], pool.queries)).cast(pl.String)
    return Rankings.from_frame(table.with_columns(home=home), cluster="home")


def _ranked(name: str, pool: Pool) -> Design:
    cases = [Case(figure, call_of(figure), None, True) for figure in FIGURES]
    return Design(f"units: {name}", "rankings", partial(ranked_homes, pool), cases)


few_ranked_homes = _ranked("rankings of 8 homes", Pool((8, 8), (4,), queries=5, alike=0.5))
"""A small one, for the tests."""

_RANKED = Pool((14, 14), (4,), queries=10, alike=0.5)
_CONTRAST = "accuracy_contrast"
_WEIGHED = _ALL[:-1]
_APART = (0.9, 0.8, 0.6)
_OF_WEIGHTS = [r / (r + 3 * (1 - r)) for r in _APART]
_RANGE = Case("accuracy_range", metric_of("accuracy_range"), max(_OF_WEIGHTS) - min(_OF_WEIGHTS))
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
            _planted(0.2, partial(standards.welch_of_counts, unit="unit"), "Welch's t of persons")),
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
