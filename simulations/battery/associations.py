"""Associations: random encoders, groups apart in what no word says, planted ties, mitigations, families."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design, called

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.matching import READINGS
from evenhand.stats.arrays import Floats, Rng

Families = dict[str, list[str]]

DIMENSIONS = 24
_PLACES = 5
_SYNONYMS = 5  # words of a family
_APART = 0.5  # how far words of a family lie from what they share, and photos of a concept from others
_WORDS = {"attributes": ("A", "B")}
_BOTH = {"targets": ("X", "Y"), **_WORDS}


@dataclass(frozen=True)
class Encoded:
    """One draw: cosines, the same after a mitigation and its true effect, and matches of the same items."""

    cosines: Similarities
    after: Similarities
    matches: Similarities | None = None
    reduction: float = 0.0


@dataclass(frozen=True)
class World:
    """Vectors of photos X and Y and words A and B.

    Attributes:
        sizes: Of X, Y, A and B.
        apart: How far X lies from Y in a direction in which the words of A and B are alike.
        wide: Spread of Y, where that of X is 1.
        tie: How far X lies from Y in the direction in which A lies from B.
        words: How far A lies from B.
        fusion: Whether matches are asked, which cost more.
        concepts: Whether each group of photos has a direction of its own, as concepts have in any encoder.
        synonyms: Sets whose items come as declared families of 5, such as ``AB``.
    """

    sizes: tuple[int, int, int, int]
    apart: float = 0.0
    wide: float = 1.0
    tie: float = 0.0
    words: float = 0.0
    fusion: bool = True
    concepts: bool = False
    synonyms: str = ""

    def draw(self, rng: Rng) -> Encoded:
        """Vectors of one draw."""
        x, y, a, b = (self._set(rng, name, size) for name, size in zip("XYAB", self.sizes, strict=True))
        y = y * self.wide
        x[:, 0] += self.apart
        x[:, 1] += self.tie
        a[:, 1] += self.words
        families = {
            name: [f"{name}{item // _SYNONYMS}" for item in range(size)]
            for name, size in zip("XYAB", self.sizes, strict=True)
            if name in self.synonyms
        }
        before = cosines_of(x, y, a, b, families)
        other = rng.normal(size=(DIMENSIONS, DIMENSIONS)) / DIMENSIONS**0.5
        after = cosines_of(*((one @ other) for one in (x, y)), a, b, families)
        matches = _matches(before.values, self.sizes, families) if self.fusion else None
        return Encoded(before, after, matches)

    def _set(self, rng: Rng, name: str, size: int) -> Floats:
        """Vectors of one set."""
        if name in self.synonyms:
            centres = rng.normal(size=(size // _SYNONYMS, DIMENSIONS))
            return np.repeat(centres, _SYNONYMS, axis=0) + _APART * rng.normal(size=(size, DIMENSIONS))
        vectors = rng.normal(size=(size, DIMENSIONS))
        if self.concepts and name in "XY":
            vectors += _APART * rng.normal(size=DIMENSIONS)
        return vectors


def cosines_of(x: Floats, y: Floats, a: Floats, b: Floats, families: Families | None = None) -> Similarities:
    """Cosines of photos and words."""
    return Similarities.from_vectors({"X": x, "Y": y}, {"A": a, "B": b}, families=families or {})


def _matches(values: Floats, sizes: tuple[int, int, int, int], families: Families) -> Similarities:
    """Probabilities of a match that grow with the cosine."""
    n, m, na, nb = sizes
    photos, words = [f"p{i:03d}" for i in range(n + m)], [f"w{i:03d}" for i in range(na + nb)]
    scores = {
        "sample": np.repeat(photos, len(words)),
        "candidate": np.tile(words, len(photos)),
        "score": 1 / (1 + np.exp(-6 * values.ravel())),
    }
    return Similarities.from_scores(
        pl.LazyFrame(scores),
        {"X": photos[:n], "Y": photos[n:]},
        {"A": words[:na], "B": words[na:]},
        families=families,
    )


def min_f(data: Encoded) -> float:
    """Clark's (1973) min F' of the difference, photos and words as samples."""
    values, n = data.cosines.values, data.cosines.target_sets["X"].size
    na = data.cosines.attribute_sets["A"].size
    phi = values[:, :na].mean(axis=1) - values[:, na:].mean(axis=1)
    gain = values[:n].mean(axis=0) - values[n:].mean(axis=0)
    by_photos = stats.ttest_ind(phi[:n], phi[n:], equal_var=False)
    by_words = stats.ttest_ind(gain[:na], gain[na:], equal_var=False)
    first, second = by_photos.statistic**2, by_words.statistic**2
    freedom = (first + second) ** 2 / (first**2 / by_words.df + second**2 / by_photos.df)
    return float(stats.f.sf(first * second / (first + second), 1, freedom))


def reduction(data: Encoded, seed: int) -> Finding:
    """Of the association, by the mitigation."""
    return metrics.association_reduction(data.cosines, after=data.after, **_BOTH, seed=seed)


WORLDS: dict[str, World] = {
    "random encoder, 15 v 10 x 12 + 9": World((15, 10, 12, 9)),
    "groups apart in what no word speaks of": World((15, 10, 12, 9), apart=2.5),
    "the same, 6 v 4 x 5 + 6": World((6, 4, 5, 6), apart=2.5, fusion=False),
    "30 v 5 of three times the spread x 20 + 20": World((30, 5, 20, 20), apart=1.0, wide=3.0),
    "20 v 20 x 3 + 3": World((20, 20, 3, 3), apart=1.0, fusion=False),
    "planted: 20 v 15 x 15 + 12": World((20, 15, 15, 12), tie=2.0, words=2.0),
    "two concepts, 15 independent words": World((20, 20, 15, 15), concepts=True),
    "two concepts, 3 families of 5 synonyms": World((20, 20, 15, 15), concepts=True, synonyms="AB"),
    "phrases and words of 3 families of 5": World((15, 15, 15, 15), synonyms="XYAB", fusion=False),
}
_TRUTHS: dict[str, dict[str, float]] = {
    "planted: 20 v 15 x 15 + 12": {
        "association_effect_size": 1.13431,
        "association_difference": 0.14116,
        "single_category_association": 0.14089,
        "association_reduction": 0.72747,
        "match_association[reading=per_image_joint]": 0.41904,
        "match_association[reading=per_image_joint_share]": 0.4659,
        "match_association[reading=per_image_per_set]": 0.1229,
        "match_association[reading=per_group]": 0.64318,
    }
}
"""Population values of the planted design, by metric: means of 1,500 draws."""


def design(name: str, world: World) -> Design:
    """All metrics on one way to draw vectors."""
    cosines, cases = attrgetter("cosines"), []
    calls: dict[str, Callable[[Any, int], Finding]] = {
        "association_effect_size": called("association_effect_size", cosines, **_BOTH),
        "association_difference": called("association_difference", cosines, **_BOTH),
        "single_category_association": called("single_category_association", cosines, target="X", **_WORDS),
        "association_reduction": reduction,
    }
    if min(world.sizes[2:]) > _PLACES:
        calls["pleasant_at_k"] = called("pleasant_at_k", cosines, target="X", k=_PLACES, **_WORDS)
    if world.fusion:
        options = {**_BOTH, "k": _PLACES}
        calls |= {
            f"match_association[reading={reading}]":
                called("match_association", attrgetter("matches"), **options, reading=reading)
            for reading in READINGS
        }  # fmt: skip
    for metric, call in calls.items():
        truth = _TRUTHS[name].get(metric) if world.tie else 0.0
        if metric == "pleasant_at_k" and not world.tie:
            truth = world.sizes[3] / (world.sizes[2] + world.sizes[3])
        test = min_f if world.tie and metric.startswith(("association_e", "association_d")) else None
        cases.append(Case(metric, call, truth, not world.tie, test, "Clark's min F'"))
    return Design(f"associations: {name}", "associations", world.draw, cases)


DESIGNS: tuple[Design, ...] = tuple(design(name, world) for name, world in WORLDS.items())
