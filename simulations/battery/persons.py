"""Persons with several pictures each, whose answers are alike: drawn for several families of the battery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures of persons.

    Attributes:
        person: Code of each picture's person.
        group: Code of its group.
        hit: Whether the model hits.
    """

    person: Integers
    group: Integers
    hit: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Persons:
    """How persons are drawn.

    Attributes:
        counts: Persons of each group.
        sizes: Pictures of a person, by group: a number, or the lowest and the highest of them.
        rates: Rate of each group.
        icc: How alike pictures of a person are (beta-binomial); 1: a person hits always or never.
        mixed: Whether each picture has a group of its own, in shares of ``counts``.
    """

    counts: Sequence[int]
    sizes: Sequence[int | tuple[int, int]]
    rates: Sequence[float]
    icc: float = 0.0
    mixed: bool = False

    def draw(self, rng: np.random.Generator) -> Pictures:
        """Persons of fixed number, with their pictures."""
        group = np.repeat(np.arange(len(self.counts)), self.counts)
        spans = [(size, size) if isinstance(size, int) else size for size in self.sizes]
        low, high = (np.array([span[end] for span in spans])[group] for end in (0, 1))
        many = rng.integers(low, high + 1)
        own = alike(rng, np.array(self.rates)[group], self.icc)
        person = np.repeat(np.arange(group.size), many)
        groups = group[person]
        if self.mixed:
            share = np.array(self.counts) / sum(self.counts)
            groups = rng.choice(share.size, person.size, p=share)
        return Pictures(person, groups, rng.random(person.size) < own[person])

    @property
    def gap(self) -> float:
        """The largest minus the smallest rate."""
        return max(self.rates) - min(self.rates)


def alike(rng: np.random.Generator, rates: Floats, icc: float) -> Floats:
    """Rates of single persons around those of their groups, with this intra-class correlation."""
    if not icc:
        return rates
    if icc == 1:
        return (rng.random(rates.size) < rates).astype(np.float64)
    known = (rates > 0) & (rates < 1)
    safe = np.where(known, rates, 0.5)
    spread = (1 - icc) / icc
    return np.where(known, rng.beta(safe * spread, (1 - safe) * spread), rates)


def person_means(pictures: Pictures) -> tuple[Floats, Integers]:
    """Share of hits and group of each person, for tests that take persons."""
    _, first, code = np.unique(pictures.person, return_index=True, return_inverse=True)
    share = np.bincount(code, pictures.hit) / np.bincount(code)
    return share, pictures.group[first]
