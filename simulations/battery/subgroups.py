"""Subgroups: tables of rows and of clusters in which all are alike, or a planted one has more mistakes.

Attributes have 2, 4 and 5 values, as in 89 subgroups; five classes have error rates around 10 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from simulations.battery.design import Case, Design, Line, answered, called

from evenhand import Predictions
from evenhand.core.findings import Finding, Part
from evenhand.stats.arrays import Integers, Rng

NAMES, LEVELS = ("a", "b", "c"), (2, 4, 5)
_CLASSES = 5
_RATES = np.linspace(0.05, 0.15, _CLASSES)


@dataclass(frozen=True)
class Tables:
    """Tables of one kind.

    Attributes:
        rows: Of a table.
        added: To the rate of mistakes of the planted subgroup.
        depth: Attributes of the planted subgroup.
        one_class: Whether only one class of it gets them.
        per_cluster: Fewest and most rows of a cluster; (1, 1): none.
        alike: Correlation of mistakes within a cluster.
        larger: How many times larger clusters of the first value of the first attribute are.
    """

    rows: int = 1_000
    added: float = 0.0
    depth: int = 1
    one_class: bool = False
    per_cluster: tuple[int, int] = (1, 1)
    alike: float = 0.2
    larger: int = 1

    def draw(self, rng: Rng) -> Predictions:
        """One table."""
        low, high = self.per_cluster
        sizes = rng.integers(low, high + 1, 2 * self.rows // (low + high))
        values = np.stack([rng.integers(count, size=sizes.size) for count in LEVELS])
        sizes = np.where(values[0] == 0, sizes * self.larger, sizes)
        cluster = np.repeat(np.arange(sizes.size), sizes)
        values, truth = values[:, cluster], rng.integers(_CLASSES, size=cluster.size)
        rate = _RATES[truth]
        if high > 1:
            times = (1 - self.alike) / self.alike
            rate = np.clip(rate + rng.beta(0.1 * times, 0.9 * times, sizes.size)[cluster] - 0.1, 0, 1)
        wrong = rng.random(cluster.size) < rate + self.added * self._is_planted(values, truth)
        said = np.where(wrong, (truth + 1) % _CLASSES, truth)
        columns = zip(("truth", "said", *NAMES), "cc" + "".join(NAMES), (truth, said, *values), strict=True)
        table = {name: [f"{letter}{code}" for code in codes] for name, letter, codes in columns}
        return Predictions.from_frame(
            pl.DataFrame({**table, "unit": cluster}), truth="truth", prediction="said",
            cluster=None if high == 1 else "unit",
        )  # fmt: skip

    def _is_planted(self, values: Integers, truth: Integers) -> Integers:
        return (values[: self.depth] == 0).all(axis=0) & ((truth == 0) | (not self.one_class))

    def finds(self, data: Predictions, seed: int) -> Finding:
        """Whether the planted subgroup is listed."""
        found = _SUBGROUPS(data, seed)
        key = ["c0"] * self.one_class + [f"{name} = {name}0" for name in NAMES[: self.depth]]
        return answered(found, yes=any(part.key == (key if key[1:] else key[0]) for part in found.parts))

    def lines(self, _: Predictions, found: Finding) -> list[Line]:
        """The listed subgroups of rows that are no clusters, with their population differences."""
        parts = [(part, self._difference(part)) for part in found.parts if "low" in part.details]
        return [
            Line(*(part.details[name] for name in ("difference", "low", "high")), truth, is_false=truth <= 0)
            for part, truth in parts
        ]

    def _difference(self, part: Part) -> float:
        """Of the rates that mistakes of a subgroup and of all others (of its class) are drawn with."""
        *codes, truth = np.indices((*LEVELS, _CLASSES)).reshape(len(LEVELS) + 1, -1)
        rate = _RATES[truth] + self.added * self._is_planted(np.stack(codes), truth)
        key, of_class = [part.key] if isinstance(part.key, str) else list(part.key), truth >= 0
        if part.details["truth"] is not None:
            of_class = truth == int(str(key.pop(0))[1:])
        inside = of_class.copy()
        for value in key:
            name, level = str(value).split(" = ")
            inside &= codes[NAMES.index(name)] == int(level[1:])
        return float(rate[inside].mean() - rate[of_class & ~inside].mean())


_SUBGROUPS = called("subgroups", by=NAMES)


def _design(name: str, tables: Tables) -> Design:
    planted = tables.added > 0
    lines = tables.lines if planted else None
    cases = [Case("subgroups", _SUBGROUPS, fair=not planted, lines=lines, is_listed=planted)]
    if planted:
        cases.append(Case("subgroups, planted one", tables.finds, least=0.4))
    return Design(f"subgroups: {name}", "disparities", tables.draw, cases)


DESIGNS: tuple[Design, ...] = (
    _design("1,000 rows", Tables()),
    _design("4,000 rows", Tables(rows=4_000)),
    _design("150 clusters of 5 to 15", Tables(rows=1_500, per_cluster=(5, 15))),
    _design("40 clusters of 2 to 40", Tables(rows=840, per_cluster=(2, 40))),
    _design("clusters six times larger in one group", Tables(rows=600, per_cluster=(2, 6), larger=6)),
    _design("planted, 1 attribute +.10", Tables(added=0.1)),
    _design("planted, 2 attributes +.15", Tables(added=0.15, depth=2)),
    _design("planted, 3 attributes +.30", Tables(added=0.3, depth=3)),
    _design("planted, 1 attribute, one class +.30", Tables(added=0.3, one_class=True)),
    _design("planted, 2 attributes +.15, 4,000 rows", Tables(rows=4_000, added=0.15, depth=2)),
    _design("planted, 1 attribute +.20, 300 clusters", Tables(rows=3_000, added=0.2, per_cluster=(5, 15))),
)
