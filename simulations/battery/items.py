"""Items that a model affirms of faces, one or several of a person: blind and planted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from simulations.battery.design import Case, Design, called
from simulations.battery.persons import units

from evenhand.evidence.item_scores import ItemScores
from evenhand.stats.arrays import Floats, Integers, Rng
from evenhand.stats.exchange.between import welch_p

_WORDINGS = 3
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

    def draw(self, rng: Rng) -> ItemScores:
        """Scores of six items in three wordings."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        noise = rng.exponential(size=group.size) - 1 if self.skewed else rng.normal(size=group.size)
        lean = np.array(self.means)[group] + np.array(self.spreads)[group] * noise
        return scored(lean, np.zeros((lean.size, _SIGNS.size, _WORDINGS)), group)

    def truth(self) -> float:
        """The share of the variance between groups."""
        share, mean = np.array(self.sizes) / sum(self.sizes), np.array(self.means)
        between = share @ (mean - share @ mean) ** 2
        return float(between / (between + share @ np.array(self.spreads) ** 2))


@dataclass(frozen=True)
class Leanings:
    """Persons whose images a model that is blind to their group scores.

    Attributes:
        persons: Of each group.
        images: Least and most of a person.
        icc: How alike the leanings of a person's images are.
    """

    persons: tuple[int, ...]
    images: tuple[int, int]
    icc: float

    def draw(self, rng: Rng) -> ItemScores:
        """Scores of one draw."""
        group, person = units(rng, self.persons, self.images)
        lean = np.sqrt(self.icc) * rng.normal(size=group.size)[person]
        lean = lean + np.sqrt(1 - self.icc) * rng.normal(size=person.size)
        noise = 0.3 * rng.normal(size=(person.size, _SIGNS.size, _WORDINGS))
        return scored(lean, noise, group[person], person=person.astype(str))

    def truth(self) -> float:
        """The share of the variance between groups."""
        return 0.0


def scored(lean: Floats, noise: Floats, group: Integers, **person: object) -> ItemScores:
    """Scores of six items in three wordings, by person where there are any."""
    names = [f"{row:05d}" for row in range(lean.size)]
    table = pl.DataFrame({"sample": names, "group": group.astype(str), **person})
    scores = (lean[:, None] * _SIGNS)[..., None] + noise
    return ItemScores(table, scores, tuple("abcdef"), _SIGNS, cluster="person" if person else None)


def _welch(data: ItemScores) -> float:
    """Welch's analysis of variance of the leanings."""
    group = data.annotated["group"].cast(pl.Int64).to_numpy()
    return float(welch_p(data.scores[:, :1, 0], group, int(group.max()) + 1)[0])


_LEAN = called("lean_effect", by="group")


def faces_design(name: str, world: Faces | Leanings) -> Design:
    """Leaning by group."""
    fair = world.truth() == 0
    standard = None if fair else _welch
    case = Case("lean_effect", _LEAN, world.truth(), fair, standard, "Welch" if standard else "")
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
    faces_design("blind, 20 persons x 15, ICC .5", Leanings((10, 10), (15, 15), 0.5)),
    faces_design("blind, 20 persons x 15, ICC .2", Leanings((10, 10), (15, 15), 0.2)),
    faces_design("blind, 10, 6 and 4 persons x 3 to 27, ICC .5", Leanings((10, 6, 4), (3, 27), 0.5)),
)
