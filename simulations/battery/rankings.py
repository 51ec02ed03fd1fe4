"""Rankings: one pool for all queries, persons with several pictures, pools of their own, planted groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.design import Case, Design, called

from evenhand.core.findings import Finding
from evenhand.core.random_streams import stream
from evenhand.evidence.rankings import Rankings
from evenhand.stats.arrays import Floats, Integers, Rng

K = 5
FIGURES = ("bias_at_k", "skew_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl")
_POPULATION = 4_000  # draws behind the population values below


@dataclass(frozen=True)
class Pool:
    """Units of each group, how alike the scores of one unit are, and what queries have in common.

    Attributes:
        units: Of each group, such as (12, 9, 5).
        size: Samples of a unit of each group.
        queries: How many.
        alike: Share of the variance of scores that a unit's samples have in common, in every query.
        common: Share that a sample has in common over queries.
        lift: Added to the first group.
        lean: Spread over queries of what is added to the first group.
        shared: One pool for all queries; else one for each.
    """

    units: tuple[int, ...]
    size: tuple[int, ...] = (1,)
    queries: int = 20
    alike: float = 0.0
    common: float = 0.0
    lift: float = 0.0
    lean: float = 0.0
    shared: bool = True

    @property
    def sizes(self) -> tuple[int, ...]:
        """Samples of a unit, by group."""
        return self.size if len(self.size) > 1 else self.size * len(self.units)

    @property
    def groups(self) -> Integers:
        """Group of each sample of a pool."""
        samples = np.array(self.units) * np.array(self.sizes)
        return np.repeat(np.arange(len(self.units)), samples)

    @property
    def persons(self) -> Integers:
        """Unit of each sample of a pool."""
        return np.repeat(np.arange(sum(self.units)), np.repeat(self.sizes, self.units))

    def scores(self, rng: Rng) -> Floats:
        """Of each query and sample, shape (queries, samples)."""
        group, unit = self.groups, self.persons
        rows = 1 if self.shared else self.queries
        persons = rng.normal(size=(rows, sum(self.units)))[:, unit]
        samples = rng.normal(size=(rows, group.size))
        rest = rng.normal(size=(self.queries, group.size))
        left = 1 - self.alike - self.common
        lift = self.lift + self.lean * rng.normal(size=(self.queries, 1))
        made = self.alike**0.5 * persons + self.common**0.5 * samples + left**0.5 * rest
        return np.asarray(made + lift * (group == 0))

    def table(self, rng: Rng) -> pl.DataFrame:
        """Scores of one draw, with the persons and groups of samples."""
        scores = self.scores(rng)
        width = scores.shape[1]
        apart = np.zeros(self.queries, dtype=np.int64) if self.shared else np.arange(self.queries)
        sample = np.arange(width) + width * apart[:, None]
        person = self.persons + sum(self.units) * apart[:, None]
        return pl.DataFrame({
            "query": np.repeat([f"q{number:02d}" for number in range(self.queries)], width),
            "sample": sample.ravel().astype(str),
            "person": person.ravel().astype(str),
            "group": np.tile(np.array([f"g{code}" for code in self.groups]), self.queries),
            "score": scores.ravel(),
        })  # fmt: skip

    def draw(self, rng: Rng) -> Rankings:
        """Rankings of one draw."""
        return Rankings.from_frame(self.table(rng), cluster=None if max(self.sizes) == 1 else "person")


def call_of(name: str, **more: Any) -> Callable[[Rankings, int], Finding]:
    """One metric as the cases call it."""
    params = {"bias_at_k": {"groups": ["g0", "g1"]}, "skew_at_k": {"group": "g0"}}.get(name, {})
    return called(name, by="group", **params, **({} if name == "ndkl" else {"k": K}), **more)


def population(pool: Pool, draws: int = _POPULATION) -> dict[str, float]:
    """Mean of each metric over draws of a design: how those beside ``POOLS`` were made."""
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    calls = {name: call_of(name, inference="none") for name in FIGURES}
    for number in range(draws):
        data = pool.draw(stream(77, "population", number))
        for name, call in calls.items():
            value = call(data, 0).value
            if value is not None:
                found[name].append(value)
    return {name: round(float(np.mean(values)), 4) for name, values in found.items()}


def top_shares_test(data: Rankings) -> float:
    """Welch's t test of how often the units of two groups are among the first k, units as samples."""
    return _of_units(data, pl.col("score").rank("ordinal", descending=True).over("query") <= K)


def ranks_test(data: Rankings) -> float:
    """Welch's t test of the mean rank of the units of two groups."""
    return _of_units(data, pl.col("score").rank(descending=True).over("query"))


def _of_units(data: Rankings, number: pl.Expr) -> float:
    return standards.welch(data.table.select(number).to_series(), *data.table.select("person", "group"))


def chance_test(name: str) -> Callable[[Rankings], float]:
    """Student's one-sample t test of the queries' values against the mean of all rankings of 10 + 10."""

    def test(data: Rankings) -> float:
        parts = call_of(name, inference="none")(data, 0).parts
        return float(stats.ttest_1samp([part.value for part in parts], _CHANCE[name]).pvalue)

    return test


_CHANCE = {
    "bias_at_k": 0.0, "skew_at_k": -0.0925, "max_skew_at_k": 0.2769, "min_skew_at_k": -0.4619, "ndkl": 0.1675,
}  # fmt: skip
"""Exact means of random rankings of 10 + 10 samples at k = 5."""


POOLS: dict[str, tuple[Pool, tuple[float, ...]]] = {
    "one pool of 20 + 15 + 5 for 20 queries, common .2":
        (Pool((20, 15, 5), common=0.2), (0.1431, -0.1058, 0.5213, -1.2574, 0.1872)),
    "one pool of 20 + 15 + 5 for 20 queries, common .5":
        (Pool((20, 15, 5), common=0.5), (0.1419, -0.1097, 0.522, -1.2571, 0.1872)),
    "rankings of 12 persons x 5, alike .5":
        (Pool((6, 6), (5,), queries=10, alike=0.5), (-0.0165, -0.207, 0.3768, -0.7521, 0.1212)),
    "9 persons of 2 to 10 pictures by group, alike .2":
        (Pool((5, 4), (2, 10), queries=10, alike=0.2), (-0.5792, -0.3368, 0.3005, -0.6854, 0.0925)),
    "40 persons of 2 or 6 pictures by group, alike .3":
        (Pool((26, 14), (2, 6), queries=10, alike=0.3), (-0.2098, -0.1554, 0.3046, -0.571, 0.0586)),
    "pools of their own, 12 + 7, 23 queries":
        (Pool((12, 7), queries=23, shared=False), (0.2624, -0.0551, 0.2626, -0.4623, 0.1666)),
    "pools of their own, 10 + 6 + 4, 6 queries":
        (Pool((10, 6, 4), queries=6, shared=False), (0.2491, -0.0903, 0.4646, -1.0077, 0.2797)),
    "pools of their own, each query leans elsewhere":
        (Pool((10, 10), queries=23, lean=0.7, shared=False), (0.0007, -0.1687, 0.3586, -0.6982, 0.211)),
    "pools of 6 persons x 4, 15 queries, alike .4":
        (Pool((3, 3), (4,), queries=15, alike=0.4, shared=False), (0.0063, -0.1486, 0.3453, -0.6574, 0.1847)),
    "one pool of 12 groups, 60 samples":
        (Pool((12, 8, 7, 6, 5, 4, 4, 4, 3, 3, 2, 2), common=0.3), (0.1965, -0.361, 1.5074, -1.7918, 0.514)),
    "one pool, group of one sample":
        (Pool((25, 14, 1), common=0.3, queries=12), (0.2803, -0.0681, 0.5325, -1.6678, 0.1477)),
    "planted: one pool of 25 + 25, common .3":
        (Pool((25, 25), common=0.3, lift=0.5), (0.4173, 0.3013, 0.3827, -0.7618, 0.1377)),
    "planted: pools of their own, 10 + 10":
        (Pool((10, 10), queries=12, lift=0.8, shared=False), (0.4877, 0.363, 0.4063, -0.8286, 0.2335)),
    "planted: 16 persons x 3, alike .3":
        (Pool((8, 8), (3,), queries=10, alike=0.3, lift=0.85), (0.6376, 0.4622, 0.4923, -1.1016, 0.2007)),
}  # fmt: skip
"""Pools by name of their design, with ``population`` of each."""

_TOP = "Welch's t of the share of queries that have a unit on top"


def _standard(name: str, figure: str) -> tuple[Callable[[Rankings], float] | None, str]:
    """The named test of right level that a planted design is compared with."""
    if not name.startswith("planted"):
        return None, ""
    if "their own" in name:
        return chance_test(figure), "Student's t of the queries' values against exact chance"
    return (ranks_test, "Welch's t of mean ranks") if figure == "ndkl" else (top_shares_test, _TOP)


def design(name: str, pool: Pool, truths: Sequence[float | None] = (None,) * len(FIGURES)) -> Design:
    """All metrics on one way to draw rankings."""
    cases = []
    for figure, truth in zip(FIGURES, truths, strict=True):
        # queries that lean to different sides are unfair one by one: only the mean bias is fair
        fair = not pool.lift and (not pool.lean or figure == "bias_at_k")
        test, told = _standard(name, figure)
        cases.append(Case(figure, call_of(figure), truth, fair, test, told, wide=len(pool.units) > 10))
    return Design(f"rankings: {name}", "rankings", pool.draw, cases)


DESIGNS: tuple[Design, ...] = tuple(design(name, *of) for name, of in POOLS.items())

if __name__ == "__main__":
    for name, (pool, _) in POOLS.items():
        print(f"    {name!r}: {tuple(population(pool).values())},")
