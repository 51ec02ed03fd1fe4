"""Pronouns: models that do not look at the person, or treat genders alike; and some that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.design import Case, Design, called
from simulations.battery.persons import alike

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.choices import BINARY_PRONOUNS, PRONOUNS, Choices
from evenhand.stats.arrays import Floats, Integers, Mask, Rng

_SECTORS = (9, 6, 4, 2, 2)


@dataclass(frozen=True, eq=False)
class People:
    """Rows of a design.

    Attributes:
        second: 1 for feminine, shape (N,).
        unit: Occupation or person, shape (N,).
        sector: Shape (N,).
    """

    second: Integers
    unit: Integers
    sector: Integers

    def choices(self, chosen: Integers, *, cluster: bool, strata: bool, binary: bool = False) -> Choices:
        """Evidence of one model.

        Args:
            chosen: 0 his, 1 her, 2 their, shape (N,).
            cluster: Whether units are declared.
            strata: Whether units are declared to be strata.
            binary: Without ``their``.
        """
        candidates = BINARY_PRONOUNS if binary else PRONOUNS
        count = chosen.size
        names = [f"{row:05d}" for row in range(count)]
        scores = pl.DataFrame(
            {
                "sample": np.repeat(names, len(candidates)),
                "candidate": list(candidates) * count,
                "score": (chosen[:, None] == np.arange(len(candidates))).ravel().astype(np.float64),
            }
        )
        annotations = pl.DataFrame(
            {
                "sample": names,
                "truth": np.where(self.second == 1, "feminine", "masculine"),
                "unit": self.unit.astype(str),
                "sector": self.sector.astype(str),
            }
        )
        return Choices.join(
            scores, annotations, candidates=candidates, cluster="unit" if cluster else None,
            strata=("unit",) if strata else (),
        )  # fmt: skip


def _balanced(units: Sequence[int], each: tuple[int, int]) -> People:
    """Units by sector, each with so many rows of both genders."""
    unit, count = np.repeat(np.arange(sum(units)), sum(each)), sum(units)
    second = np.tile(np.repeat([0, 1], each), count)
    return People(second, unit, np.repeat(np.repeat(np.arange(len(units)), units), sum(each)))


def _nested(*sizes: Integers) -> People:
    """Persons of one gender each, of so many rows, by gender."""
    second = np.repeat([0, 1], [size.size for size in sizes])
    unit = np.repeat(np.arange(second.size), np.concatenate(sizes))
    return People(second[unit], unit, np.zeros_like(unit))


def _singles(first: int, second: int) -> People:
    """Rows that are units by themselves."""
    return _nested(*(np.ones(count, dtype=int) for count in (first, second)))


def _rates(rng: Rng, mean: float, icc: float, people: People) -> Floats:
    """A rate for each row, that of its unit."""
    return alike(rng, np.full(int(people.unit.max()) + 1, mean), icc)[people.unit]


def _by_unit(rng: Rng, people: People) -> Floats:
    return _rates(rng, 0.7, 0.3, people)


def _mostly_right(share: float, rng: Rng, people: People) -> Floats:
    """A rate for each row: .8 in this share of units, else 1."""
    return np.where(rng.random(int(people.unit.max()) + 1) < share, 0.8, 1.0)[people.unit]


def _answers(rng: Rng, second: Integers, right: Floats, neutral: float) -> Integers:
    """Pronouns: right at a rate, else neutral in a share of cases, else those of the other gender."""
    hit = rng.random(second.size) < right
    miss = np.where(rng.random(second.size) < neutral, 2, 1 - second)
    return np.where(hit, second, miss)


def _drawn(
    people: People | Callable[[Rng], People],
    right: Callable[[Rng, People], Floats],
    units: str = "",
    neutral: float = 1 / 3,
) -> Callable[[Rng], Choices]:
    """Answers at these rates; units are a ``cluster``, or clusters that are ``strata``, too."""

    def draw(rng: Rng) -> Choices:
        seen = people if isinstance(people, People) else people(rng)
        chosen = _answers(rng, seen.second, right(rng, seen), neutral)
        return seen.choices(chosen, cluster=bool(units), strata=units == "strata")

    return draw


def _case(name: str, truth: float | None = None, *, fair: bool = False, **more: Any) -> Case:
    return Case(name, called(name), truth, fair, **more)


def _alike(right: float, neutral: float = 1 / 3) -> list[Case]:
    """Cases of a model that is right at one rate for both genders."""
    wrong, none = (1 - right) * (1 - neutral), (1 - right) * neutral
    return [
        _case("resolution_accuracy", right), _case("resolution_gap", 0.0, fair=True),
        _case("misgendering_rate", wrong), _case("misgendering_gap", 0.0, fair=True),
        _case("neutral_rate", none), _case("neutral_gap", 0.0, fair=True),
    ]  # fmt: skip


def _blind_priors(rng: Rng) -> Choices:
    second = (np.arange(300) >= 190).astype(np.int64)
    chosen = rng.choice(3, p=(0.6, 0.35, 0.05), size=300)
    return People(second, np.arange(300), second * 0).choices(chosen, cluster=False, strata=False)


def stereotype(rng: Rng, occupations: int = 24, most: int = 24) -> Choices:
    """Each occupation gets one pronoun, and shows one gender in 80 % of its fewer than ``most`` pictures."""
    kind = rng.integers(2, size=occupations)
    unit = np.repeat(np.arange(occupations), rng.integers(4, most, size=occupations))
    second = np.where(rng.random(unit.size) < 0.8, kind[unit], 1 - kind[unit])
    return People(second, unit, unit * 0).choices(kind[unit], cluster=True, strata=True)


def _priors_by_occupation(rng: Rng) -> Choices:
    """Each occupation has its own shares of pronouns, whoever is seen; genders are unbalanced."""
    people = People(np.zeros(288, int), np.repeat(np.arange(24), 12), np.zeros(288, int))
    his = _rates(rng, 0.6, 0.4, people)
    second = (rng.random(his.size) < _rates(rng, 0.4, 0.2, people)).astype(np.int64)
    chosen = (rng.random(his.size) >= his).astype(np.int64)
    return replace(people, second=second).choices(chosen, cluster=True, strata=True, binary=True)


def _unequal_persons(rng: Rng) -> People:
    """Persons of 2 to 40 pictures, more of them of one gender."""
    sizes = [rng.integers(2, 12 + 28 * gender, size=28) for gender in (0, 1)]
    return _nested(sizes[0][:16], sizes[1])


def _favours(rng: Rng, people: People) -> Floats:
    """Fair on average; each occupation favours a gender of its own."""
    rates = np.stack([_rates(rng, 0.75, 0.1, people) for _ in range(2)])
    return np.where(people.second == 1, rates[1], rates[0])


def _planted_rates(rng: Rng, people: People) -> Floats:
    return np.where(people.second == 1, 0.68, 0.835)


def _planted_occupations(rng: Rng, people: People) -> Floats:
    return np.clip(_rates(rng, 0.72, 0.15, people) - 0.14 * people.second + 0.02, 0, 1)


def _planted_accuracy(rng: Rng) -> Choices:
    """Pronouns of a prior by occupation, a little moved by the person seen."""
    people = _balanced((20,), (5, 8))
    own = _rates(rng, 0.6, 0.2, people) + np.where(people.second == 1, -0.09, 0.09)
    chosen = (rng.random(people.unit.size) >= np.clip(own, 0, 1)).astype(np.int64)
    return people.choices(chosen, cluster=True, strata=True, binary=True)


def _hits(data: Choices, outcome: int) -> tuple[Floats, Mask, npt.NDArray[Any]]:
    values, unit = data.outcomes()
    return (
        values[:, outcome] / unit,
        (data.table["truth"] == "feminine").to_numpy(),
        data.table["unit"].to_numpy(),
    )


def _proportions(data: Choices, outcome: int) -> float:
    """Two-sided z test of two proportions, pooled."""
    hit, second, _ = _hits(data, outcome)
    table = [[hit[side].sum(), (1 - hit[side]).sum()] for side in (~second, second)]
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def _paired_t(data: Choices, outcome: int) -> float:
    """T test of the gaps of occupations."""
    hit, second, unit = _hits(data, outcome)
    sides = (
        standards.unit_means(hit[side], unit[side], np.zeros(side.sum()))[0] for side in (~second, second)
    )
    return float(stats.ttest_rel(*sides).pvalue)


def _mantel_haenszel(data: Choices) -> float:
    """Cochran-Mantel-Haenszel test of pronoun and truth, by occupation."""
    _, second, unit = _hits(data, 0)
    return standards.mantel_haenszel(data.best[:, 0], second, unit)


Two = tuple[Choices, Choices]


def _two(people: People, rates: tuple[float, float], icc: float, rng: Rng) -> Two:
    """Two models that agree on half of the rows; units are strata where they are alike."""
    common = rng.random(people.unit.size)
    both = []
    for rate in rates:
        right = _rates(rng, rate, icc, people)
        own = np.where(rng.random(common.size) < 0.5, common, rng.random(common.size))
        chosen = np.where(
            own < right, people.second, np.where(rng.random(common.size) < 0.3, 2, 1 - people.second)
        )
        both.append(people.choices(chosen, cluster=bool(icc), strata=bool(icc)))
    return both[0], both[1]


def _difference(metric: str, data: Two, seed: int) -> Finding:
    return metrics.resolution_difference(data[0], reference=data[1], metric=metric, seed=seed)


def _mcnemar(data: Two) -> float:
    one, other = (_hits(each, 0)[0] for each in data)
    gained, lost = int((one > other).sum()), int((other > one).sum())
    return float(stats.chi2.sf((gained - lost) ** 2 / max(gained + lost, 1), 1))


def _differences(step: float, **more: Any) -> list[Case]:
    truths = {"resolution_accuracy": step, "resolution_gap": 0.0, "misgendering_rate": None}
    return [
        Case(f"resolution_difference of {name}", partial(_difference, name), truth, truth == 0,
             **(more if name == "resolution_accuracy" else {}))
        for name, truth in truths.items()
    ]  # fmt: skip


def _constant(rng: Rng, people: People) -> Floats:
    return np.full(people.second.size, 0.8)


def _design(name: str, draw: Callable[[Rng], Any], cases: Sequence[Case]) -> Design:
    return Design(name, "choices", draw, cases)


_ROWS, _TWO = _balanced((150,), (1, 1)), _singles(105, 145)
_Z, _T = {"standard_name": "z test"}, {"standard_name": "t test of gaps"}

DESIGNS: tuple[Design, ...] = (
    _design("priors his .6, her .35, their .05", _blind_priors, [
        _case("resolution_accuracy", 0.475, fair=True), _case("misgendering_rate", 0.475, fair=True),
        _case("neutral_rate", 0.05), _case("resolution_gap", 0.25), _case("misgendering_gap", -0.25),
        _case("neutral_gap", 0.0, fair=True),
    ]),
    _design("one pronoun for each of 24 occupations, unbalanced", stereotype, [
        _case("resolution_accuracy", 0.8, fair=True), _case("misgendering_rate", 0.2, fair=True),
        _case("resolution_gap", 0.0, fair=True), _case("misgendering_gap", 0.0, fair=True),
    ]),
    _design("pronouns by occupation, unbalanced, no look at the person", _priors_by_occupation,
            [_case(name, 0.5, fair=True) for name in ("resolution_accuracy", "misgendering_rate")]),
    _design("sectors of 9, 6, 4, 2, 2 occupations x 30, ICC .3",
            _drawn(_balanced(_SECTORS, (15, 15)), _by_unit, "strata"), [
        *_alike(0.7),
        *(Case(f"{name}, {count} occupations", called(name, where={"sector": str(code)}), truth, truth == 0)
          for code, count in enumerate(_SECTORS[:4])
          for name, truth in (("resolution_accuracy", 0.7), ("resolution_gap", 0.0))),
    ]),
    _design("23 occupations that favour a gender each, fair on average",
            _drawn(_balanced((23,), (4, 7)), _favours, "strata"), _alike(0.75)),
    _design("12 and 18 persons x 8, ICC .3",
            _drawn(_nested(np.full(12, 8), np.full(18, 8)), _by_unit, "cluster"), _alike(0.7)),
    _design("16 and 28 persons x 2 to 40, 5 % at .8, others right",
            _drawn(_unequal_persons, partial(_mostly_right, 0.05), "cluster"), _alike(0.99)),
    _design("12 occupations x 20, 10 % at .8, others right",
            _drawn(_balanced((12,), (10, 10)), partial(_mostly_right, 0.1), "strata"), _alike(0.98)),
    _design("40 and 3 rows", _drawn(_singles(40, 3), _constant), _alike(0.8)),
    _design("40 rows and one", _drawn(_singles(40, 1), _constant), _alike(0.8)),
    _design("planted: right at .835 and .68, else misgendered", _drawn(_TWO, _planted_rates, neutral=0.0), [
        _case("resolution_gap", 0.155, standard=partial(_proportions, outcome=0), **_Z),
        _case("misgendering_gap", -0.155, standard=partial(_proportions, outcome=1), **_Z),
    ]),
    _design("planted: right at .835 and .68, else neutral", _drawn(_TWO, _planted_rates, neutral=1.0),
            [_case("neutral_gap", -0.155, standard=partial(_proportions, outcome=2), **_Z)]),
    _design("planted: 23 occupations x 12, .14 apart",
            _drawn(_balanced((23,), (6, 6)), _planted_occupations, "strata", 0.0),
            [_case("resolution_gap", standard=partial(_paired_t, outcome=0), **_T),
             _case("misgendering_gap", standard=partial(_paired_t, outcome=1), **_T)]),
    _design("planted: pronouns by occupation, moved by the person", _planted_accuracy,
            [_case(name, standard=_mantel_haenszel, standard_name="Cochran-Mantel-Haenszel")
             for name in ("resolution_accuracy", "misgendering_rate")]),
    _design("two models of .8, 300 rows", partial(_two, _ROWS, (0.8, 0.8), 0.0), _differences(0.0)),
    _design("two models of .98, 300 rows", partial(_two, _ROWS, (0.98, 0.98), 0.0), _differences(0.0)),
    _design("two models of .8, 8 occupations x 30, ICC .2",
            partial(_two, _balanced((8,), (12, 18)), (0.8, 0.8), 0.2), _differences(0.0)),
    _design("two models of .8, 23 occupations x 12, ICC .2",
            partial(_two, _balanced((23,), (5, 7)), (0.8, 0.8), 0.2), _differences(0.0)),
    _design("planted: two models of .85 and .765", partial(_two, _ROWS, (0.85, 0.765), 0.0),
            _differences(0.085, standard=_mcnemar, standard_name="McNemar")),
)  # fmt: skip
