"""Subgroups on tables of rows and of clusters: how often is any listed by chance, how often a planted one?

Attributes have 2, 4 and 5 values, as in 89 subgroups; five classes have error rates around 10 %. Planted is a
rate added to the mistakes of one subgroup of one, two or three attributes, or to one class of it. "Found" is
that the planted subgroup is listed; "lines" how many are. Of rows that are no clusters, "intervals that hold"
are those of listed lines that hold the difference of the rates that mistakes were drawn with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from _common import Clock, arguments, mean, share, show

from evenhand import Predictions, metrics
from evenhand.core.findings import Part

NAMES, LEVELS = ("a", "b", "c"), (2, 4, 5)
CLASSES = 5


@dataclass(frozen=True)
class Design:
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

    @property
    def key(self) -> str | list[str]:
        """Of the part that is planted."""
        values = [f"{name} = {name}0" for name in NAMES[: self.depth]]
        key = ["c0", *values] if self.one_class else values
        return key[0] if len(key) == 1 else key

    def table(self, rng: np.random.Generator) -> pl.DataFrame:
        """One table."""
        low, high = self.per_cluster
        sizes = rng.integers(low, high + 1, 2 * self.rows // (low + high))
        values = np.stack([rng.integers(count, size=sizes.size) for count in LEVELS])
        sizes = np.where(values[0] == 0, sizes * self.larger, sizes)
        cluster = np.repeat(np.arange(sizes.size), sizes)
        values, truth = values[:, cluster], rng.integers(CLASSES, size=cluster.size)
        rate = np.linspace(0.05, 0.15, CLASSES)[truth]
        if high > 1:
            times = (1 - self.alike) / self.alike
            rate = np.clip(rate + rng.beta(0.1 * times, 0.9 * times, sizes.size)[cluster] - 0.1, 0, 1)
        planted = (values[: self.depth] == 0).all(axis=0) & (~np.array(self.one_class) | (truth == 0))
        wrong = rng.random(cluster.size) < rate + self.added * planted
        columns = {name: _named(name, code) for name, code in zip(NAMES, values, strict=True)}
        prediction = np.where(wrong, (truth + 1) % CLASSES, truth)
        return pl.DataFrame(
            {"truth": _named("c", truth), "prediction": _named("c", prediction), "unit": cluster, **columns}
        )

    def difference(self, part: Part) -> float:
        """Of the rates that mistakes of a subgroup and of all others (of its class) are drawn with."""
        *codes, truth = np.indices((*LEVELS, CLASSES)).reshape(len(LEVELS) + 1, -1)
        planted = np.all([code == 0 for code in codes[: self.depth]], axis=0)
        planted &= ~np.array(self.one_class) | (truth == 0)
        rate = np.linspace(0.05, 0.15, CLASSES)[truth] + self.added * planted
        key, of_class = [part.key] if isinstance(part.key, str) else list(part.key), truth >= 0
        if part.details["truth"] is not None:
            of_class = truth == int(str(key.pop(0))[1:])
        inside = of_class.copy()
        for value in key:
            name, level = str(value).split(" = ")
            inside &= codes[NAMES.index(name)] == int(level[1:])
        return float(rate[inside].mean() - rate[of_class & ~inside].mean())

    def evidence(self, rng: np.random.Generator) -> Predictions:
        """As the metric takes it."""
        cluster = None if self.per_cluster == (1, 1) else "unit"
        return Predictions.from_frame(
            self.table(rng), truth="truth", prediction="prediction", cluster=cluster
        )


DESIGNS = {
    "null, 1,000 rows": Design(),
    "null, 4,000 rows": Design(rows=4_000),
    "null, 150 clusters of 5 to 15": Design(rows=1_500, per_cluster=(5, 15)),
    "null, 40 clusters of 2 to 40": Design(rows=840, per_cluster=(2, 40)),
    "null, clusters six times larger in one group": Design(rows=600, per_cluster=(2, 6), larger=6),
    "1 attribute +.10": Design(added=0.1),
    "2 attributes +.15": Design(added=0.15, depth=2),
    "3 attributes +.30": Design(added=0.3, depth=3),
    "1 attribute, one class +.30": Design(added=0.3, one_class=True),
    "2 attributes +.15, 4,000 rows": Design(rows=4_000, added=0.15, depth=2),
    "1 attribute +.20, 300 clusters": Design(rows=3_000, added=0.2, per_cluster=(5, 15)),
}


def _named(prefix: str, codes: npt.NDArray[np.int64]) -> list[str]:
    return [f"{prefix}{code}" for code in codes.tolist()]


def main() -> None:
    """Print the table."""
    options, rows = arguments(__doc__ or "", 200), []
    with Clock():
        for number, (name, design) in enumerate(DESIGNS.items()):
            rng = np.random.default_rng([options.seed, number])
            findings = [
                metrics.subgroups(design.evidence(rng), by=NAMES, seed=seed)
                for seed in range(options.simulations)
            ]
            listed = [bool(finding.parts) for finding in findings]
            found = [any(part.key == design.key for part in finding.parts) for finding in findings]
            lines = [finding.details.get("beyond") or 0 for finding in findings]
            cells = (share(listed), share(found) if design.added else "", mean(lines, 1))
            ends = [
                (part.details["low"], design.difference(part), part.details["high"])
                for finding in findings for part in finding.parts if "low" in part.details
            ]  # fmt: skip
            covered = (
                share([low <= truth <= high for low, truth, high in ends]) if ends and design.added else ""
            )
            rows.append([name, *cells, mean([len(finding.parts) for finding in findings], 2), covered])
        heads = ["tables", "any listed, %", "planted listed, %", "beyond", "lines", "intervals that hold, %"]
        show("Subgroups", heads, rows)


if __name__ == "__main__":
    main()
