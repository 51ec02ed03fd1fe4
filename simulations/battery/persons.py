"""Persons with several pictures each, whose answers are alike: drawn for several families of the battery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask, Rng


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
    hit: Mask


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

    def draw(self, rng: Rng) -> Pictures:
        """Persons of fixed number, with their pictures."""
        spans = [(size, size) if isinstance(size, int) else size for size in self.sizes]
        group, person = units(rng, self.counts, spans)
        own = alike(rng, np.array(self.rates)[group], self.icc)
        groups = group[person]
        if self.mixed:
            share = np.array(self.counts) / sum(self.counts)
            groups = rng.choice(share.size, person.size, p=share)
        return Pictures(person, groups, rng.random(person.size) < own[person])

    @property
    def gap(self) -> float:
        """The largest minus the smallest rate."""
        return max(self.rates) - min(self.rates)


def units(
    rng: Rng, counts: Sequence[int], spans: Sequence[tuple[int, int]] | tuple[int, int]
) -> tuple[Integers, Integers]:
    """The group of each unit, and the unit of each of its rows.

    Args:
        rng: Source of the draws.
        counts: Units of each group.
        spans: Fewest and most rows of a unit, by group or of all.
    """
    group = np.repeat(np.arange(len(counts)), counts)
    low, high = np.broadcast_to(spans, (len(counts), 2))[group].T
    return group, np.repeat(np.arange(group.size), rng.integers(low, high + 1))


def alike(rng: Rng, rates: Floats, icc: float) -> Floats:
    """Rates of single persons around those of their groups, with this intra-class correlation."""
    if not icc:
        return rates
    if icc == 1:
        return (rng.random(rates.size) < rates).astype(np.float64)
    known = (rates > 0) & (rates < 1)
    safe = np.where(known, rates, 0.5)
    spread = (1 - icc) / icc
    return np.where(known, rng.beta(safe * spread, (1 - safe) * spread), rates)
