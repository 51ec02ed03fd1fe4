"""Items that a model affirms of faces, and recall of two groups: blind and planted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from simulations.battery.design import Case, Design

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.item_scores import ItemScores
from evenhand.stats.exchange.between import welch_p

Floats = npt.NDArray[np.float64]

_ITEMS, _WORDINGS = 6, 3
_SIGNS = np.array([1.0, 1, 1, -1, -1, -1])


@dataclass(frozen=True)
class Faces:
    """Faces of groups, each with a leaning of its own.

    Attributes:
        sizes: Faces of each group.
        means: Mean leaning of each group.
        spreads: Standard deviation of the leaning of each group.
        skewed: Whether leanings have a long tail.
    """

    sizes: Sequence[int]
    means: Sequence[float]
    spreads: Sequence[float]
    skewed: bool = False

    def draw(self, rng: np.random.Generator) -> ItemScores:
        """Scores of six items in three wordings."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        noise = rng.exponential(size=group.size) - 1 if self.skewed else rng.normal(size=group.size)
        lean = np.array(self.means)[group] + np.array(self.spreads)[group] * noise
        scores = np.repeat(lean[:, None] * _SIGNS, _WORDINGS, axis=1).reshape(-1, _ITEMS, _WORDINGS)
        table = pl.DataFrame(
            {"sample": [f"{row:05d}" for row in range(group.size)], "group": group.astype(str)}
        )
        return ItemScores(table, scores, tuple("abcdef"), _SIGNS)

    def truth(self) -> float:
        """The share of the variance between groups."""
        share, mean = np.array(self.sizes) / sum(self.sizes), np.array(self.means)
        between = share @ (mean - share @ mean) ** 2
        return float(between / (between + share @ np.array(self.spreads) ** 2))


def _lean_effect(data: ItemScores, seed: int) -> Finding:
    return metrics.lean_effect(data, by="group", seed=seed)


def _welch(data: ItemScores) -> float:
    """Welch's analysis of variance of the leanings."""
    group = data.annotated["group"].cast(pl.Int64).to_numpy()
    return float(welch_p(data.scores[:, :1, 0], group, int(group.max()) + 1)[0])


def faces_design(name: str, world: Faces) -> Design:
    """Leaning by group."""
    fair = len(set(world.means)) == 1
    standard = None if fair else _welch
    case = Case("lean_effect", _lean_effect, world.truth(), fair, standard, "Welch" if standard else "")
    return Design(f"leaning: {name}", "items", world.draw, [case])


DESIGNS: tuple[Design, ...] = (
    faces_design("2 groups of 60", Faces((60, 60), (0, 0), (1, 1))),
    faces_design("7 groups of 20", Faces((20,) * 7, (0,) * 7, (1,) * 7)),
    faces_design("5 unequal groups, a long tail", Faces((100, 40, 20, 8, 4), (0,) * 5, (1,) * 5, True)),
    faces_design("small group varies more", Faces((120, 20), (0, 0), (1, 2.5))),
    faces_design("large group varies more", Faces((120, 20), (0, 0), (2.5, 1))),
    faces_design("4 groups, sizes and spreads unlike", Faces((80, 40, 20, 10), (0,) * 4, (0.5, 1, 1.5, 2))),
    faces_design("planted, 2 groups of 60", Faces((60, 60), (0, 0.53), (1, 1))),
    faces_design("planted, 7 groups of 20", Faces((20,) * 7, tuple(np.linspace(0, 0.9, 7)), (1,) * 7)),
    faces_design("planted, spreads unlike", Faces((80, 40), (0, 0.6), (1, 1.2))),
)
