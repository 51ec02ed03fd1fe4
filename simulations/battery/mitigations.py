"""Mitigations on encoders with a known association: is the held-out reduction covered, a fair one left fair?

Groups and words are normal around means that a few dimensions set apart; a mitigation is fitted on one draw
of items and words and measured on another. The truth is the reduction of |d| for this very mitigation among
2,000 items a group, averaged over word sets of the size at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from simulations.battery.associations import Encoded, cosines_of, reduction
from simulations.battery.design import Case, Design, Line, answered

from evenhand.core.findings import Finding
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate import MeanDifference, Pruning
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.arrays import Floats, Rng
from evenhand.stats.association.effect_size import effect_size

Vectors = dict[str, Floats]
_SIGNS = {"X": 1, "Y": -1, "A": 1, "B": -1}
_DIMENSIONS, _CARRIERS = 48, 4
_POPULATION, _WORDS, _WORD_SETS = 2_000, 600, 60
METHODS: Mapping[str, Callable[[], Any]] = {
    "pruning, greedy": lambda: Pruning(strategy="greedy"),
    "pruning, one_shot": Pruning,
    "pruning past zero": lambda: Pruning(stop_at_zero=False),
    "mean_difference": MeanDifference,
}


@dataclass(frozen=True)
class Encoder:
    """An encoder and the items and words it is asked about.

    Attributes:
        strength: How far groups and words are set apart; 0 is a fair encoder.
        items: Of each group, fitted and held out.
        words: Of each pole.
        method: Of the mitigation.
    """

    strength: float
    items: int
    words: int
    method: str

    def draw(self, rng: Rng) -> Encoded:
        """Held-out cosines before and after, and the true reduction."""
        fit, held_out = (self._vectors(rng, self.items, self.words) for _ in range(2))
        mitigation = METHODS[self.method]().fit(_material(fit), seed=int(rng.integers(2**31)))

        def after(vectors: Vectors) -> Vectors:
            kinds = {"X": "image", "Y": "image", "A": "text", "B": "text"}
            return {name: mitigation.transform(rows, kinds[name]) for name, rows in vectors.items()}

        everyone = self._vectors(rng, _POPULATION, _WORDS)
        truth = self._effect(everyone, rng) - self._effect(after(everyone), rng)
        before, changed = (cosines_of(*vectors.values()) for vectors in (held_out, after(held_out)))
        return Encoded(before, changed, reduction=truth)

    def _vectors(self, rng: Rng, items: int, words: int) -> Vectors:
        scale, found = np.linspace(1.5, 0.5, _DIMENSIONS), {}
        for name, sign in _SIGNS.items():
            found[name] = rng.normal(size=(items if name in "XY" else words, _DIMENSIONS)) * scale
            found[name][:, 5 : 5 + _CARRIERS] += sign * self.strength
        return found

    def _effect(self, vectors: Vectors, rng: Rng) -> float:
        """|d| of many items, averaged over word sets of the size at hand."""
        unit = {name: normalised(rows) for name, rows in vectors.items()}
        found = []
        for _ in range(_WORD_SETS):
            a, b = (unit[name][rng.permutation(_WORDS)[: self.words]].mean(axis=0) for name in "AB")
            found.append(effect_size(unit["X"] @ (a - b), unit["Y"] @ (a - b)))
        return abs(float(np.mean(found)))

    def lines(self, drawn: Encoded, finding: Finding) -> list[Line]:
        """The reduction beside the true one; of a fair encoder any that leaves out 0 is false."""
        ends = finding.interval
        if ends is None or finding.value is None or ends.low == ends.high:  # nothing was removed
            return []
        is_false = not self.strength and not ends.low <= 0 <= ends.high
        return [Line(finding.value, ends.low, ends.high, drawn.reduction, is_false)]


def _material(vectors: Vectors) -> TrainingVectors:
    """As the fit half of a run."""
    places = {}
    for sides in ("XY", "AB"):
        n = len(vectors[sides[0]])
        places[sides] = {name: np.arange(n) + n * at for at, name in enumerate(sides)}
    targets, attributes = (np.concatenate([vectors[name] for name in sides]) for sides in ("XY", "AB"))
    return TrainingVectors(targets, places["XY"], attributes, places["AB"], (("X", "Y", "A", "B"),))


def _gained(drawn: Encoded, seed: int) -> Finding:
    finding = reduction(drawn, seed)
    return answered(finding, yes=finding.interval is not None and finding.interval.low > 0)


def _design(encoder: Encoder) -> Design:
    cases = [Case("association_reduction, held out", reduction, lines=encoder.lines, is_listed=True)]
    if encoder.strength:
        cases.append(Case("association_reduction, gained", _gained, least=0.0))
    name = f"{encoder.method}, {encoder.items} + {encoder.words}, apart by {encoder.strength:g}"
    return Design(f"mitigations: {name}", "associations", encoder.draw, cases)


DESIGNS: tuple[Design, ...] = tuple(
    _design(Encoder(strength, *sizes, method))
    for strength, sizes, method in product((0.0, 0.3, 1.0), ((10, 10), (20, 30), (125, 30)), METHODS)
)
