"""Pronouns: models that do not look at the person, or treat genders alike; and some that do not."""

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

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.choices import BINARY_PRONOUNS, PRONOUNS, Choices

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NAMES = tuple(f"{what}_{how}" for what, how in (
    ("resolution", "accuracy"), ("resolution", "gap"), ("misgendering", "rate"), ("misgendering", "gap"),
    ("neutral", "rate"), ("neutral", "gap"),
))  # fmt: skip
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


def _nested(persons: tuple[int, int], sizes: Callable[[int], Integers]) -> People:
    """Persons of one gender each."""
    of = np.repeat([0, 1], persons)
    size = np.concatenate([sizes(gender)[: persons[gender]] for gender in (0, 1)])
    unit = np.repeat(np.arange(of.size), size)
    return People(of[unit], unit, np.zeros_like(unit))


def _rates(rng: np.random.Generator, mean: float | Floats, icc: float, count: int) -> Floats:
    """A rate for each unit, beta."""
    if not icc:
        return np.broadcast_to(np.asarray(mean, dtype=np.float64), (count,))
    scale = (1 - icc) / icc
    return np.asarray(rng.beta(np.asarray(mean) * scale, (1 - np.asarray(mean)) * scale, count))


def _answers(rng: np.random.Generator, second: Integers, right: Floats, neutral: float = 1 / 3) -> Integers:
    """Pronouns: right at a rate, else neutral in a share of cases, else those of the other gender."""
    hit = rng.random(second.size) < right
    miss = np.where(rng.random(second.size) < neutral, 2, 1 - second)
    return np.where(hit, second, miss)


def _call(name: str, data: Choices, seed: int, **options: Any) -> Finding:
    return getattr(metrics, name)(data, seed=seed, **options)  # type: ignore[no-any-return]


def _case(name: str, truth: float | None = None, *, fair: bool = False, **more: Any) -> Case:
    return Case(name, partial(_call, name), truth, fair, **more)


def _alike(right: float, neutral: float = 1 / 3) -> list[Case]:
    """Cases of a model that is right at one rate for both genders."""
    wrong, none = (1 - right) * (1 - neutral), (1 - right) * neutral
    return [
        _case("resolution_accuracy", right), _case("resolution_gap", 0.0, fair=True),
        _case("misgendering_rate", wrong), _case("misgendering_gap", 0.0, fair=True),
        _case("neutral_rate", none), _case("neutral_gap", 0.0, fair=True),
    ]  # fmt: skip


def _blind_priors(rng: np.random.Generator) -> Choices:
    second = (np.arange(300) >= 190).astype(np.int64)
    chosen = rng.choice(3, p=(0.6, 0.35, 0.05), size=300)
    return People(second, np.arange(300), second * 0).choices(chosen, cluster=False, strata=False)


def stereotype(rng: np.random.Generator, occupations: int = 24, most: int = 24) -> Choices:
    """Each occupation gets one pronoun, and shows one gender in 80 % of its fewer than ``most`` pictures."""
    kind = rng.integers(2, size=occupations)
    unit = np.repeat(np.arange(occupations), rng.integers(4, most, size=occupations))
    second = np.where(rng.random(unit.size) < 0.8, kind[unit], 1 - kind[unit])
    return People(second, unit, unit * 0).choices(kind[unit], cluster=True, strata=True)


def _priors_by_occupation(rng: np.random.Generator) -> Choices:
    """Each occupation has its own shares of pronouns, whoever is seen; genders are unbalanced."""
    own = _rates(rng, 0.6, 0.4, 24)
    unit = np.repeat(np.arange(24), 12)
    second = (rng.random(unit.size) < _rates(rng, 0.4, 0.2, 24)[unit]).astype(np.int64)
    chosen = (rng.random(unit.size) >= own[unit]).astype(np.int64)
    return People(second, unit, unit * 0).choices(chosen, cluster=True, strata=True, binary=True)


_VISOGENDER = _balanced(_SECTORS, (15, 15))


def _sectors(rng: np.random.Generator) -> Choices:
    right = _rates(rng, 0.7, 0.3, sum(_SECTORS))[_VISOGENDER.unit]
    chosen = _answers(rng, _VISOGENDER.second, right)
    return _VISOGENDER.choices(chosen, cluster=True, strata=True)


def _sector_cases() -> list[Case]:
    cases = _alike(0.7)
    for place, count in enumerate(_SECTORS[:4]):
        where = {"sector": str(place)}
        for name, truth in (("resolution_accuracy", 0.7), ("resolution_gap", 0.0)):
            call = partial(_call, name, where=where)
            cases.append(Case(f"{name}, {count} occupations", call, truth, fair=truth == 0))
    return cases


def _uneven(rng: np.random.Generator) -> Choices:
    """Fair on average; each occupation favours a gender of its own."""
    people = _balanced((23,), (4, 7))
    rate = np.stack([_rates(rng, 0.75, 0.1, 23), _rates(rng, 0.75, 0.1, 23)])
    chosen = _answers(rng, people.second, rate[people.second, people.unit])
    return people.choices(chosen, cluster=True, strata=True)


def _persons(rng: np.random.Generator) -> Choices:
    people = _nested((12, 18), lambda _: np.full(30, 8))
    right = _rates(rng, 0.7, 0.3, 30)[people.unit]
    return people.choices(_answers(rng, people.second, right), cluster=True, strata=False)


def _unequal_persons(rng: np.random.Generator) -> Choices:
    """Persons of 2 to 40 pictures, more of them of one gender; 5 % of persons at .8, all others right."""
    people = _nested((16, 28), lambda gender: rng.integers(2, 12 + 28 * gender, size=28))
    right = np.where(rng.random(44) < 0.05, 0.8, 1.0)[people.unit]
    return people.choices(_answers(rng, people.second, right), cluster=True, strata=False)


def _nearly_perfect(rng: np.random.Generator) -> Choices:
    people = _balanced((12,), (10, 10))
    right = np.where(rng.random(12) < 0.1, 0.8, 1.0)[people.unit]
    return people.choices(_answers(rng, people.second, right), cluster=True, strata=True)


def _few(rng: np.random.Generator) -> Choices:
    second = (np.arange(43) >= 40).astype(np.int64)
    chosen = _answers(rng, second, np.full(43, 0.8))
    return People(second, np.arange(43), second * 0).choices(chosen, cluster=False, strata=False)


def _one_row(rng: np.random.Generator) -> Choices:
    second = (np.arange(41) >= 40).astype(np.int64)
    chosen = _answers(rng, second, np.full(41, 0.8))
    return People(second, np.arange(41), second * 0).choices(chosen, cluster=False, strata=False)


def _planted(rng: np.random.Generator) -> Choices:
    second = (np.arange(250) >= 105).astype(np.int64)
    chosen = _answers(rng, second, np.where(second == 1, 0.68, 0.835), 0.0)
    return People(second, np.arange(250), second * 0).choices(chosen, cluster=False, strata=False)


def _planted_neutral(rng: np.random.Generator) -> Choices:
    second = (np.arange(250) >= 105).astype(np.int64)
    chosen = _answers(rng, second, np.where(second == 1, 0.68, 0.835), 1.0)
    return People(second, np.arange(250), second * 0).choices(chosen, cluster=False, strata=False)


def _planted_occupations(rng: np.random.Generator) -> Choices:
    people = _balanced((23,), (6, 6))
    right = np.clip(_rates(rng, 0.72, 0.15, 23)[people.unit] - 0.14 * people.second + 0.02, 0, 1)
    return people.choices(_answers(rng, people.second, right, 0.0), cluster=True, strata=True)


def _planted_accuracy(rng: np.random.Generator) -> Choices:
    """Pronouns of a prior by occupation, a little moved by the person seen."""
    people = _balanced((20,), (5, 8))
    own = _rates(rng, 0.6, 0.2, 20)[people.unit] + np.where(people.second == 1, -0.09, 0.09)
    chosen = (rng.random(people.unit.size) >= np.clip(own, 0, 1)).astype(np.int64)
    return people.choices(chosen, cluster=True, strata=True, binary=True)


def _hits(data: Choices, outcome: int) -> tuple[Floats, npt.NDArray[np.bool_], npt.NDArray[Any]]:
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
    gaps = [hit[(unit == u) & ~second].mean() - hit[(unit == u) & second].mean() for u in np.unique(unit)]
    return float(stats.ttest_1samp(gaps, 0).pvalue)


def _mantel_haenszel(data: Choices) -> float:
    """Cochran-Mantel-Haenszel test of pronoun and truth, by occupation."""
    _, second, unit = _hits(data, 0)
    his = data.best[:, 0].astype(np.float64)
    above = variance = 0.0
    for one in np.unique(unit):
        rows = unit == one
        n, men, yes = rows.sum(), (rows & ~second).sum(), his[rows].sum()
        above += his[rows & ~second].sum() - men * yes / n
        variance += men * (n - men) * yes * (n - yes) / (n**2 * (n - 1))
    return float(stats.chi2.sf(above**2 / variance, 1)) if variance else 1.0


Two = tuple[Choices, Choices]


def _two(
    rng: np.random.Generator, people: People, rates: tuple[float, float], icc: float, cluster: bool
) -> Two:
    """Two models that agree on half of the rows."""
    common = rng.random(people.unit.size)
    count = int(people.unit.max()) + 1
    both = []
    for rate in rates:
        right = _rates(rng, rate, icc, count)[people.unit]
        own = np.where(rng.random(common.size) < 0.5, common, rng.random(common.size))
        chosen = np.where(
            own < right, people.second, np.where(rng.random(common.size) < 0.3, 2, 1 - people.second)
        )
        both.append(people.choices(chosen, cluster=cluster, strata=cluster))
    return both[0], both[1]


def _difference(metric: str, data: Two, seed: int) -> Finding:
    return metrics.resolution_difference(data[0], reference=data[1], metric=metric, seed=seed)


def _mcnemar(data: Two) -> float:
    one, other = (_hits(each, 0)[0] for each in data)
    gained, lost = int((one > other).sum()), int((other > one).sum())
    return float(stats.chi2.sf((gained - lost) ** 2 / max(gained + lost, 1), 1))


def _differences(step: float, **more: Any) -> list[Case]:
    cases = []
    for name, truth in (("resolution_accuracy", step), ("resolution_gap", 0.0), ("misgendering_rate", None)):
        options = more if name == "resolution_accuracy" else {}
        call = partial(_difference, name)
        cases.append(Case(f"resolution_difference of {name}", call, truth, truth == 0, **options))
    return cases


_ROWS = _balanced((150,), (1, 1))


DESIGNS: tuple[Design, ...] = (
    Design(
        "priors his .6, her .35, their .05", "choices", _blind_priors,
        [
            _case("resolution_accuracy", 0.475, fair=True), _case("misgendering_rate", 0.475, fair=True),
            _case("neutral_rate", 0.05), _case("resolution_gap", 0.25), _case("misgendering_gap", -0.25),
            _case("neutral_gap", 0.0, fair=True),
        ],
    ),
    Design(
        "one pronoun for each of 24 occupations, unbalanced", "choices", stereotype,
        [
            _case("resolution_accuracy", 0.8, fair=True), _case("misgendering_rate", 0.2, fair=True),
            _case("resolution_gap", 0.0, fair=True), _case("misgendering_gap", 0.0, fair=True),
        ],
    ),
    Design(
        "pronouns by occupation, unbalanced, no look at the person", "choices", _priors_by_occupation,
        [_case("resolution_accuracy", 0.5, fair=True), _case("misgendering_rate", 0.5, fair=True)],
    ),
    Design("sectors of 9, 6, 4, 2, 2 occupations x 30, ICC .3", "choices", _sectors, _sector_cases()),
    Design("23 occupations that favour a gender each, fair on average", "choices", _uneven, _alike(0.75)),
    Design("12 and 18 persons x 8, ICC .3", "choices", _persons, _alike(0.7)),
    Design("16 and 28 persons x 2 to 40, 5 % at .8, others right", "choices", _unequal_persons, _alike(0.99)),
    Design("12 occupations x 20, 10 % at .8, others right", "choices", _nearly_perfect, _alike(0.98)),
    Design("40 and 3 rows", "choices", _few, _alike(0.8)),
    Design("40 rows and one", "choices", _one_row, _alike(0.8)),
    Design(
        "planted: right at .835 and .68, else misgendered", "choices", _planted,
        [
            _case(name, truth, standard=partial(_proportions, outcome=outcome), standard_name="z test")
            for name, truth, outcome in (("resolution_gap", 0.155, 0), ("misgendering_gap", -0.155, 1))
        ],
    ),
    Design(
        "planted: right at .835 and .68, else neutral", "choices", _planted_neutral,
        [_case("neutral_gap", -0.155, standard=partial(_proportions, outcome=2), standard_name="z test")],
    ),
    Design(
        "planted: 23 occupations x 12, .14 apart", "choices", _planted_occupations,
        [_case("resolution_gap", standard=partial(_paired_t, outcome=0), standard_name="t test of gaps"),
         _case("misgendering_gap", standard=partial(_paired_t, outcome=1), standard_name="t test of gaps")],
    ),
    Design(
        "planted: pronouns by occupation, moved by the person", "choices", _planted_accuracy,
        [_case(name, standard=_mantel_haenszel, standard_name="Cochran-Mantel-Haenszel")
         for name in ("resolution_accuracy", "misgendering_rate")],
    ),
    Design(
        "two models of .8, 300 rows", "choices",
        lambda rng: _two(rng, _ROWS, (0.8, 0.8), 0.0, False), _differences(0.0),
    ),
    Design(
        "two models of .98, 300 rows", "choices",
        lambda rng: _two(rng, _ROWS, (0.98, 0.98), 0.0, False), _differences(0.0),
    ),
    Design(
        "two models of .8, 8 occupations x 30, ICC .2", "choices",
        lambda rng: _two(rng, _balanced((8,), (12, 18)), (0.8, 0.8), 0.2, True), _differences(0.0),
    ),
    Design(
        "two models of .8, 23 occupations x 12, ICC .2", "choices",
        lambda rng: _two(rng, _balanced((23,), (5, 7)), (0.8, 0.8), 0.2, True), _differences(0.0),
    ),
    Design(
        "planted: two models of .85 and .765", "choices",
        lambda rng: _two(rng, _ROWS, (0.85, 0.765), 0.0, False),
        _differences(0.085, standard=_mcnemar, standard_name="McNemar"),
    ),
)  # fmt: skip
