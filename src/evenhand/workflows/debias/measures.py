"""Association before and after a mitigation, on each half, beside what removal at random does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.evidence.similarities import Similarities
from evenhand.mitigate.mitigation import Mitigation
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.arrays import Floats, Integers, ratio
from evenhand.stats.association.effect_size import associations, effect_size
from evenhand.workflows.debias.items import AssociationItems, Test
from evenhand.workflows.debias.split import Split, rows_within

RANDOM_SETS = 20
_NOTHING = 1e-12  # of two lengths: below it nothing is left of a vector


def changed(vectors: Floats, modality: str, mitigation: Mitigation | None) -> Floats:
    """Vectors after a mitigation, shape (N, D kept); one of which nothing but rounding is left is 0."""
    if mitigation is None or not len(vectors):
        return vectors
    after = np.asarray(mitigation.transform(vectors, modality), dtype=np.float64)
    if mitigation.map_of(modality).unit_before or mitigation.map_of(modality).unit_after:
        return after
    size = np.abs(vectors).max(axis=1, initial=0)
    after[np.abs(after).max(axis=1, initial=0) < _NOTHING * size] = 0
    return after


def cosines(material: TrainingVectors, mitigation: Mitigation | None = None) -> Floats:
    """Cosine of every target with every attribute, shape (T, A), in [-1, 1], after a mitigation if any."""
    targets = changed(material.targets, material.target_modality, mitigation)
    attributes = changed(material.attributes, material.attribute_modality, mitigation)
    return np.clip(normalised(targets) @ normalised(attributes).T, -1, 1)


def similarities(items: AssociationItems, values: Floats, half: Split, test: Test) -> Similarities:
    """What one test compares in one half, as evidence of an association metric."""
    x, y, a, b = items.compared[test]
    return Similarities(
        values[np.ix_(half.targets, half.attributes)],
        tuple(items.targets[row] for row in half.targets),
        tuple(items.attributes[row] for row in half.attributes),
        {name: rows_within(rows, half.targets) for name, rows in zip(test[:2], (x, y), strict=True)},
        {name: rows_within(rows, half.attributes) for name, rows in zip(test[2:], (a, b), strict=True)},
        form=items.form,
        families=items.families,
    )


def everything(items: AssociationItems) -> Split:
    """All items, as if they were one half."""
    targets, attributes = len(items.material.targets), len(items.material.attributes)
    return Split(np.arange(targets), np.arange(attributes), np.arange(len(items.phrases)))


Compared = tuple[Integers, Integers, Integers, Integers]


def compared_in(items: AssociationItems, half: Split, tests: Sequence[Test]) -> list[Compared]:
    """Rows of X, Y, A and B of each test that lie in a half."""
    compared_rows = []
    for test in tests:
        x, y, a, b = items.compared[test]
        first, second = (rows[np.isin(rows, half.targets)] for rows in (x, y))
        left, right = (rows[np.isin(rows, half.attributes)] for rows in (a, b))
        compared_rows.append((first, second, left, right))
    return compared_rows


def effect_sizes(values: Floats, compared: Sequence[Compared]) -> Floats:
    """The d of each test from the cosines of all items, shape (T, A); NaN where a test has no spread."""
    sizes = []
    for x, y, a, b in compared:
        phi, other = (associations(values[rows], a, b) for rows in (x, y))
        sizes.append(effect_size(phi, other))
    return np.array(sizes)


@dataclass(frozen=True, eq=False)
class Units:
    """All items at length 1 and their cosines, from which a removal is worked out quickly."""

    targets: Floats
    attributes: Floats
    cosines: Floats
    modalities: tuple[str, str]

    @classmethod
    def of(cls, material: TrainingVectors) -> Units:
        """From the vectors of all items."""
        targets, attributes = normalised(material.targets), normalised(material.attributes)
        modalities = (material.target_modality, material.attribute_modality)
        return cls(targets, attributes, targets @ attributes.T, modalities)


@dataclass(frozen=True)
class Removal:
    """What a mitigation removes, in a way that chance can do too."""

    kind: str  # dimensions or directions
    amount: int
    modalities: tuple[str, ...]  # whose vectors are changed

    @classmethod
    def of(cls, mitigation: Mitigation) -> Removal:
        """From what a mitigation says of itself."""
        facts = mitigation.facts
        modalities = tuple(sorted(mitigation.maps))
        if "dimensions" in facts:
            return cls("dimensions", len(facts["dimensions"]), modalities)
        return cls("directions", int(facts.get("rank", facts.get("removed", 0))), modalities)

    def at_random(self, units: Units, rng: np.random.Generator) -> Floats:
        """Cosines, shape (T, A), after as many dimensions, or directions, drawn at random are removed.

        What is removed of two vectors leaves their product, and their lengths: no vector is made anew.
        """
        gone = self._drawn(units, rng)
        left = units.cosines - gone[0] @ gone[1].T
        lengths = [
            np.sqrt(np.maximum(1 - np.square(part).sum(axis=1), 0))
            if modality in self.modalities
            else np.ones(len(part))
            for part, modality in zip(gone, units.modalities, strict=True)
        ]
        scale = lengths[0][:, None] * lengths[1]
        return np.clip(ratio(left, np.where(scale > _NOTHING, scale, 0), 0.0), -1, 1)

    def _drawn(self, units: Units, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The part of targets and attributes that is removed, in coordinates of what is removed."""
        dimensions = units.targets.shape[1]
        amount = min(self.amount, dimensions - 1) if self.modalities else 0
        if self.kind == "dimensions":
            columns = rng.permutation(dimensions)[:amount]
            return units.targets[:, columns], units.attributes[:, columns]
        basis, _ = np.linalg.qr(rng.standard_normal((dimensions, amount)))
        return units.targets @ basis, units.attributes @ basis


def random_effect_sizes(
    items: AssociationItems,
    removal: Removal,
    halves: Sequence[Split],
    tests: Sequence[Test],
    rng: np.random.Generator,
    draws: int = RANDOM_SETS,
) -> Floats:
    """The d of each test after removal at random, in each half; shape (draws, halves, tests)."""
    units = Units.of(items.material)
    compared = [compared_in(items, half, tests) for half in halves]
    sizes = np.empty((draws, len(halves), len(tests)))
    for draw in range(draws):
        values = removal.at_random(units, rng)
        for index, rows in enumerate(compared):
            sizes[draw, index] = effect_sizes(values, rows)
    return sizes
