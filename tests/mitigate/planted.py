"""Material with known structure, for all mitigations."""

from __future__ import annotations

import numpy as np

from evenhand.mitigate.training_vectors import TrainingVectors

DIMENSIONS = 32
PLANTED = (3, 17)  # dimensions along which the groups differ and the attributes too


def planted(
    seed: int = 0, *, size: int = 60, shift: float = 2.0, modality: str = "image", groups: int = 2
) -> TrainingVectors:
    """Groups that lie apart along two dimensions, noise elsewhere; A and B lie apart along the same two."""
    rng = np.random.default_rng(seed)
    direction = np.zeros(DIMENSIONS)
    direction[list(PLANTED)] = 1, -1
    steps = np.linspace(-1, 1, groups)
    common = np.random.default_rng(1234).normal(size=DIMENSIONS)  # the same model whatever the items
    targets = np.concatenate(
        [common + rng.normal(size=(size, DIMENSIONS)) + step * shift * direction for step in steps]
    )
    attributes = np.concatenate(
        [rng.normal(size=(20, DIMENSIONS)) + sign * 2 * direction for sign in (1, -1)]
    )
    names = [f"g{number}" for number in range(groups)]
    return TrainingVectors(
        targets=targets,
        target_sets={name: np.arange(at * size, (at + 1) * size) for at, name in enumerate(names)},
        attributes=attributes,
        attribute_sets={"a": np.arange(20), "b": np.arange(20, 40)},
        tests=tuple((x, y, "a", "b") for at, x in enumerate(names) for y in names[at + 1 :]),
        target_modality=modality,
        attribute_modality="text",
    )


def effect(material: TrainingVectors, targets: np.ndarray, attributes: np.ndarray) -> float:
    """d of the first test, the plain way."""
    unit = [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (targets, attributes)]
    similarity = unit[0] @ unit[1].T
    x, y, a, b = material.tests[0]
    tie = similarity[:, material.attribute_sets[a]].mean(1) - similarity[:, material.attribute_sets[b]].mean(
        1
    )
    left, right = tie[material.target_sets[x]], tie[material.target_sets[y]]
    return float((left.mean() - right.mean()) / np.concatenate([left, right]).std(ddof=1))
