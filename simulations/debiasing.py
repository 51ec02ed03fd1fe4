"""Mitigations on encoders with a known association: is the held-out reduction covered, a fair one left fair?

Groups and words are normal around means that a few dimensions set apart by ``strength``; 0 is a fair
encoder. A mitigation is fitted on one draw of items and words and measured on another. The truth is the
reduction of |d| for this very mitigation among 2,000 items a group, averaged over word sets of the size at
hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from _common import Clock, aimed, arguments, mean, share, show

from evenhand.core.random_streams import stream
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.weat import association_reduction
from evenhand.mitigate import MeanDifference, Mitigation, Pruning
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.association.effect_size import associations, effect_size

Floats = npt.NDArray[np.float64]
Vectors = dict[str, Floats]
SETS = ("X", "Y", "A", "B")
DIMENSIONS, CARRIERS = 48, 4
POPULATION, WORDS, WORD_SETS = 2_000, 600, 60
METHODS: Mapping[str, Callable[[], Any]] = {
    "pruning, greedy": lambda: Pruning(strategy="greedy"),
    "pruning, one_shot": Pruning,
    "pruning past zero": lambda: Pruning(stop_at_zero=False),
    "mean_difference": MeanDifference,
}


def draw(rng: np.random.Generator, strength: float, items: int, words: int) -> Vectors:
    """Vectors of the two groups and the two poles."""
    scale = np.linspace(1.5, 0.5, DIMENSIONS)
    found = {}
    for name, sign in zip(SETS, (1, -1, 1, -1), strict=True):
        size = items if name in "XY" else words
        found[name] = rng.normal(size=(size, DIMENSIONS)) * scale
        found[name][:, 5 : 5 + CARRIERS] += sign * strength
    return found


def material_of(vectors: Vectors) -> TrainingVectors:
    """As the fit half of a run."""
    n, m = len(vectors["X"]), len(vectors["A"])
    return TrainingVectors(
        np.concatenate([vectors["X"], vectors["Y"]]),
        {"X": np.arange(n), "Y": np.arange(n, 2 * n)},
        np.concatenate([vectors["A"], vectors["B"]]),
        {"A": np.arange(m), "B": np.arange(m, 2 * m)},
        (("X", "Y", "A", "B"),),
    )


def changed(vectors: Vectors, mitigation: Mitigation) -> Vectors:
    """After the mitigation: groups are images, poles are texts."""
    return {
        name: mitigation.transform(given, "image" if name in "XY" else "text")
        for name, given in vectors.items()
    }


def similarities(vectors: Vectors) -> Similarities:
    """As evidence of a metric."""
    return Similarities.from_vectors(
        {name: vectors[name] for name in "XY"}, {name: vectors[name] for name in "AB"}
    )


def true_effect(vectors: Vectors, words: int, rng: np.random.Generator) -> float:
    """|d| of many items, averaged over word sets of the size at hand."""
    unit = {name: normalised(given) for name, given in vectors.items()}
    found = []
    for _ in range(WORD_SETS):
        a, b = (unit[name][rng.permutation(WORDS)[:words]].mean(axis=0) for name in "AB")
        found.append(effect_size(unit["X"] @ (a - b), unit["Y"] @ (a - b)))
    return abs(float(np.mean(found)))


def once(seed: int, cell: tuple[object, ...], strength: float, items: int, words: int, fitter: Any) -> Any:
    """One encoder: the finding, the truth, and |d| of the fit half before and after."""
    rng = stream(seed, *cell)
    fit = draw(rng, strength, items, words)
    mitigation = fitter.fit(material_of(fit), seed=seed)
    held_out = draw(rng, strength, items, words)
    finding = association_reduction(
        similarities(held_out),
        after=similarities(changed(held_out, mitigation)),
        targets=("X", "Y"),
        attributes=("A", "B"),
        seed=seed,
    )
    everyone = draw(rng, strength, POPULATION, WORDS)
    truth = true_effect(everyone, words, rng) - true_effect(changed(everyone, mitigation), words, rng)
    on_fit = [_d(material_of(one)) for one in (fit, changed(fit, mitigation))]
    return finding, truth, abs(on_fit[0]) - abs(on_fit[1])


def _d(material: TrainingVectors) -> float:
    values = normalised(material.targets) @ normalised(material.attributes).T
    phi = associations(values, material.attribute_sets["A"], material.attribute_sets["B"])
    return effect_size(phi[material.target_sets["X"]], phi[material.target_sets["Y"]])


def table(runs: int, seed: int, strength: float) -> None:
    """One table: methods by sizes."""
    rows = []
    for items, words in ((10, 10), (20, 30), (125, 30)):
        for name, make in METHODS.items():
            done = [
                once(seed, (strength, items, words, name, run), strength, items, words, make())
                for run in range(runs)
            ]
            usable = [one for one in done if one[0].interval is not None]
            ends = np.array([(one[0].interval.low, one[0].interval.high) for one in usable])
            truth = np.array([one[1] for one in usable])
            value = np.array([one[0].value for one in usable])
            rows.append(
                (
                    f"{items} + {words}",
                    name,
                    mean([one[2] for one in usable]),
                    mean(value),
                    mean(truth),
                    aimed((ends[:, 0] <= truth) & (truth <= ends[:, 1]), 0.93),
                    share(ends[:, 0] > 0),
                    share(ends[:, 1] < 0),
                )
            )
    header = (
        "items + words",
        "method",
        "fit half says",
        "held-out half says",
        "truth",
        "interval holds it",
        '"gained"',
        '"stronger"',
    )
    show(f"Groups and words set apart by {strength:g} in {CARRIERS} of {DIMENSIONS} dimensions", header, rows)


if __name__ == "__main__":
    given = arguments(__doc__ or "", 500)
    with Clock():
        for apart in (0.0, 0.3, 1.0):
            table(given.simulations, given.seed, apart)
