"""Neighbours: precision of queries and its gap; databases are unbalanced, have hubs or whole persons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from simulations.battery import standards
from simulations.battery.design import Case, Design, called

from evenhand.evidence.neighbours import SPARE, Neighbours
from evenhand.stats.arrays import Floats, Integers, Rng


@dataclass(frozen=True)
class Pictures:
    """How queries and a database are drawn.

    Attributes:
        queries: Persons who are asked about, of each label.
        database: Persons in the database, of each label.
        size: Pictures of a person.
        knows: How strongly vectors show the label, in queries of each label.
        dimensions: Of the vectors.
        hubs: How much nearer some items of the database are to all queries.
        shared: Whether the database has pictures of the persons who are asked about.
        alike: Share of a picture's vector that is its person's.
        k: How many neighbours count.
    """

    queries: tuple[int, ...]
    database: tuple[int, ...]
    size: int = 1
    knows: tuple[float, ...] = (0.0, 0.0, 0.0)
    dimensions: int = 6
    hubs: float = 0.0
    shared: bool = False
    alike: float = 0.8
    k: int = 10

    def draw(self, rng: Rng) -> Neighbours:
        """Vectors, searched as ``Neighbours.from_vectors`` does, without its start-up."""
        asked = np.repeat(np.arange(len(self.queries)), self.queries)
        held = np.repeat(np.arange(len(self.database)), self.database)
        left, own = self._vectors(rng, asked, np.array(self.knows))
        strongest = np.full(len(self.database), max(self.knows))
        right, _ = self._vectors(rng, held, strongest)
        left[:, -1] += self.hubs
        right[:, -1] += self.hubs * rng.exponential(size=len(right))
        tables = [self._table("q", asked), self._table("d", held)]
        if self.shared:
            more, _ = self._vectors(rng, asked, np.array(self.knows), own)
            right = np.concatenate([right, more])
            again = tables[0].with_columns(sample="again " + pl.col("sample"))
            tables[1] = pl.concat([tables[1], again])
        cluster = "person" if self.size > 1 or self.shared else None
        one, other = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (left, right))
        cosines = (one @ other.T).astype(np.float32)
        ids = np.argsort(-cosines, axis=1, kind="stable")[:, : self.k + SPARE]
        return Neighbours(*tables, ids, np.take_along_axis(cosines, ids, axis=1), self.k, cluster)

    def _vectors(
        self, rng: Rng, label: Integers, knows: Floats, own: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Pictures of persons, and the persons; with ``own`` further pictures of these."""
        if own is None:
            own = rng.normal(size=(label.size, self.dimensions))
        person = np.repeat(np.arange(label.size), self.size)
        noise = rng.normal(size=(person.size, self.dimensions))
        share = self.alike if self.size > 1 or self.shared else 1.0
        found = np.sqrt(share) * own[person] + np.sqrt(1 - share) * noise
        angle = 2 * np.pi * label / len(self.queries)
        shown = knows[label][:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        found[:, :2] += shown[person]
        return found, own

    def _table(self, prefix: str, label: Integers) -> pl.DataFrame:
        person = np.repeat(np.arange(label.size), self.size)
        return pl.DataFrame(
            {
                "sample": [f"{prefix}{number:05d}" for number in range(person.size)],
                "gender": label[person].astype(str),
                "person": [f"{prefix}{number}" for number in person.tolist()],
            }
        )


def design(
    name: str,
    pictures: Pictures,
    *,
    blind: bool = True,
    gap_truth: float | None = None,
    standard: Callable[[Neighbours], float] | None = None,
) -> Design:
    """Precision and its gap for one way to draw pictures."""
    truth, gap = None, gap_truth
    if blind and not pictures.shared:  # as of random neighbours
        share, weight = np.array(pictures.database) / sum(pictures.database), np.array(pictures.queries)
        truth, gap = float(share @ weight / weight.sum()), float(np.ptp(share))
    same = {"match": "gender", "by": "gender", "k": pictures.k}
    cases = [
        Case("precision_gap", called("precision_gap", **same), gap, gap_truth == 0 or blind,
             standard, "Welch's t test of persons"),
        Case("precision_at_k", called("precision_at_k", **same), truth, blind),
    ]  # fmt: skip
    return Design(f"neighbours: {name}", "neighbours", pictures.draw, cases)


def welch(data: Neighbours) -> float:
    """Welch's t test of the precision of each person's queries."""
    gender = data.queries["gender"].to_numpy()
    same = data.database["gender"].to_numpy()[data.ids[:, : data.k]] == gender[:, None]
    return standards.welch(same.mean(axis=1), data.queries["person"], gender)


DESIGNS: tuple[Design, ...] = (
    design("database 61/39, random vectors", Pictures((100, 100), (122, 78))),
    design("3 labels 50/30/20, random vectors", Pictures((70, 50, 30), (150, 90, 60))),
    design("balanced, with hubs", Pictures((60, 60), (75, 75), hubs=2.5)),
    design("20 persons x 6 and 20 in the database", Pictures((10, 10), (10, 10), size=6)),
    design("12 persons x 5, database 30/10 x 5", Pictures((6, 6), (30, 10), size=5)),
    design("30 persons on both sides", Pictures((15, 15), (15, 15), size=3, shared=True)),
    design("one neighbour, 80/20", Pictures((60, 20), (160, 40), k=1)),
    design(
        "groups known alike, balanced",
        Pictures((80, 60), (150, 150), knows=(1.0, 1.0)),
        blind=False,
        gap_truth=0.0,
    ),
    design(
        "groups known alike, 16 persons x 6",
        Pictures((8, 8), (40, 40), size=6, knows=(0.8, 0.8)),
        blind=False,
        gap_truth=0.0,
    ),
    design(
        "planted: one group known better",
        Pictures((80, 80), (150, 150), knows=(1.0, 0.45)),
        blind=False,
        standard=welch,
    ),
)
