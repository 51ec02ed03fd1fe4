"""Associations: random encoders, groups apart in what no word says, planted ties, mitigations, families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.matching import READINGS

Floats = npt.NDArray[np.float64]
Families = dict[str, list[str]]

DIMENSIONS = 24
_PLACES = 5
_SYNONYMS = 5  # words of a family
_APART = 0.5  # how far words of a family lie from what they share, and photos of a concept from others
NAMES = ("X", "Y"), ("A", "B")


@dataclass(frozen=True)
class Encoded:
    """One draw: cosines, the same after a mitigation, and matches of the same items."""

    cosines: Similarities
    after: Similarities
    matches: Similarities | None


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

    def draw(self, rng: np.random.Generator) -> Encoded:
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
        before = _cosines(x, y, a, b, families)
        other = rng.normal(size=(DIMENSIONS, DIMENSIONS)) / DIMENSIONS**0.5
        after = _cosines(*((one @ other) for one in (x, y)), a, b, families)
        matches = _matches(before.values, self.sizes, families) if self.fusion else None
        return Encoded(before, after, matches)

    def _set(self, rng: np.random.Generator, name: str, size: int) -> Floats:
        """Vectors of one set."""
        if name in self.synonyms:
            centres = rng.normal(size=(size // _SYNONYMS, DIMENSIONS))
            return np.repeat(centres, _SYNONYMS, axis=0) + _APART * rng.normal(size=(size, DIMENSIONS))
        vectors = rng.normal(size=(size, DIMENSIONS))
        if self.concepts and name in "XY":
            vectors += _APART * rng.normal(size=DIMENSIONS)
        return vectors


def _cosines(x: Floats, y: Floats, a: Floats, b: Floats, families: Families) -> Similarities:
    return Similarities.from_vectors({"X": x, "Y": y}, {"A": a, "B": b}, families=families)


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


def _two(name: str) -> Callable[[Encoded, int], Finding]:
    def call(data: Encoded, seed: int) -> Finding:
        targets, attributes = NAMES
        finding: Finding = getattr(metrics, name)(
            data.cosines, targets=targets, attributes=attributes, seed=seed
        )
        return finding

    return call


def _match(reading: str) -> Callable[[Encoded, int], Finding]:
    def call(data: Encoded, seed: int) -> Finding:
        targets, attributes = NAMES
        if data.matches is None:
            raise ValueError("this world is asked for no matches: fusion is False")
        return metrics.match_association(
            data.matches, targets=targets, attributes=attributes, k=5, reading=reading, seed=seed
        )

    return call


def _single(data: Encoded, seed: int) -> Finding:
    return metrics.single_category_association(data.cosines, target="X", attributes=NAMES[1], seed=seed)


def _pleasant(data: Encoded, seed: int) -> Finding:
    return metrics.pleasant_at_k(data.cosines, target="X", attributes=NAMES[1], k=_PLACES, seed=seed)


def _reduction(data: Encoded, seed: int) -> Finding:
    targets, attributes = NAMES
    return metrics.association_reduction(
        data.cosines, after=data.after, targets=targets, attributes=attributes, seed=seed
    )


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


def _cases(name: str, world: World) -> Sequence[Case]:
    calls: dict[str, Callable[[Any, int], Finding]] = {
        "association_effect_size": _two("association_effect_size"),
        "association_difference": _two("association_difference"),
        "single_category_association": _single,
        "association_reduction": _reduction,
    }
    if min(world.sizes[2:]) > _PLACES:
        calls["pleasant_at_k"] = _pleasant
    if world.fusion:
        calls |= {f"match_association[reading={reading}]": _match(reading) for reading in READINGS}
    planted = bool(world.tie)
    cases = []
    for metric, call in calls.items():
        truth = _TRUTHS.get(name, {}).get(metric) if planted else 0.0
        if metric == "pleasant_at_k" and not planted:
            truth = world.sizes[3] / (world.sizes[2] + world.sizes[3])
        tested = planted and metric.startswith(("association_e", "association_d"))
        test, told = (min_f, "Clark's min F'") if tested else (None, "")
        cases.append(Case(metric, call, truth, not planted, test, told))
    return cases


def design(name: str, world: World) -> Design:
    """All metrics on one way to draw vectors."""
    return Design(f"associations: {name}", "associations", world.draw, _cases(name, world))


DESIGNS: tuple[Design, ...] = tuple(design(name, world) for name, world in WORLDS.items())
