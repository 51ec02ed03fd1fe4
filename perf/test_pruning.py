"""Effect sizes without each dimension, and greedy pruning, against computing every one anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measuring import best, seconds, show, within

from evenhand.mitigate.methods.dimension_pruning import Pruning
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.association.without_dimension import RemainingDimensions
from evenhand.stats.mutual_information import binned_information

N, M, D, REMOVED = 500, 120, 512, 54
X, Y, A, B = np.arange(250), np.arange(250, 500), np.arange(60), np.arange(60, 120)


@pytest.fixture(scope="module")
def vectors() -> Any:
    """Targets and words with large common dimensions, as CLIP has them, and groups a little apart."""
    rng = np.random.default_rng(0)
    common, apart = rng.normal(size=D) ** 3, rng.normal(size=D) * 0.15
    targets = rng.normal(size=(N, D)) + common + np.repeat([1, -1], 250)[:, None] * apart
    attributes = rng.normal(size=(M, D)) + common + np.repeat([1, -1], 60)[:, None] * apart
    return targets, attributes


def without_each(targets: Any, attributes: Any, tests: Any, **options: Any) -> Any:
    """Each d without each dimension, preparation included."""
    return RemainingDimensions(targets, attributes, tests, **options).without_each()


def anew(targets: Any, attributes: Any, gone: list[int]) -> float:
    """d without some dimensions, as one writes it down."""
    u, w = np.delete(targets, gone, axis=1), np.delete(attributes, gone, axis=1)
    u = u / np.linalg.norm(u, axis=1, keepdims=True)
    w = w / np.linalg.norm(w, axis=1, keepdims=True)
    values = u @ w.T
    phi = values[:, A].mean(axis=1) - values[:, B].mean(axis=1)
    return float((phi[X].mean() - phi[Y].mean()) / phi.std(ddof=1))


@pytest.fixture(scope="module")
def one_by_one(vectors: Any) -> tuple[float, Any]:
    return seconds(lambda: np.array([anew(*vectors, [k]) for k in range(D)]), rounds=2)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_each_dimension_left_out_100_times_faster(
    benchmark: Any, vectors: Any, one_by_one: Any, precision: str
) -> None:
    took, expected = one_by_one
    options = {"precision": precision}
    found = benchmark.pedantic(without_each, (*vectors, [(X, Y, A, B)]), options, rounds=15, warmup_rounds=2)[
        0
    ]
    top = np.argsort(expected, kind="stable")
    if precision == "float64":
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert np.argsort(found, kind="stable").tolist() == top.tolist()
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
        assert set(np.argsort(found)[:REMOVED]) == set(top[:REMOVED])
    show(f"d without each of {D} dimensions, {precision}", best(benchmark), took, "one by one", "100x")
    assert took / best(benchmark) >= 100


def test_greedy_removal_of_54(benchmark: Any, vectors: Any) -> None:
    material = TrainingVectors(
        vectors[0], {"X": X, "Y": Y}, vectors[1], {"A": A, "B": B}, (("X", "Y", "A", "B"),)
    )
    fitter = Pruning(remove=REMOVED, strategy="greedy", stop_at_zero=False)
    facts = benchmark.pedantic(fitter.fit, (material,), rounds=2).facts
    assert facts["removed"] == REMOVED
    assert facts["trajectory"][0][-1] == pytest.approx(anew(*vectors, facts["dimensions"]), abs=1e-11)
    first = [anew(*vectors, [k]) for k in range(D)]
    assert facts["dimensions"][0] == int(np.abs(first).argmin())
    once, _ = seconds(lambda: anew(*vectors, facts["dimensions"][:27]), rounds=20)
    estimate = once * sum(D - gone for gone in range(REMOVED))
    show(f"greedy removal of {REMOVED}", best(benchmark), estimate, "one by one, estimated", "100x")
    assert estimate / best(benchmark) >= 100


def test_91_pairs_of_14_groups_from_one_product(benchmark: Any) -> None:
    rng = np.random.default_rng(1)
    targets, attributes = rng.normal(size=(3500, D)) + 0.5, rng.normal(size=(M, D)) + 0.5
    groups = np.arange(3500).reshape(14, 250)
    pairs = [(groups[i], groups[j], A, B) for i in range(14) for j in range(i)]
    one, expected = seconds(lambda: without_each(targets, attributes, pairs[:1]), rounds=5)
    found = benchmark.pedantic(without_each, (targets, attributes, pairs), rounds=3)
    np.testing.assert_allclose(found[:1], expected, rtol=0, atol=1e-12)
    alone = one * len(pairs)
    show("91 pairs of 14 groups of 250 images", best(benchmark), alone, "each pair alone", "5x")
    assert alone / best(benchmark) >= 5


def test_information_of_3500_vectors_beside_a_sort(benchmark: Any) -> None:
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(14), 250)
    benchmark.pedantic(binned_information, (rng.normal(size=(3500, D)), labels), rounds=3)
    within("binned information, 3,500 x 512, 14 labels", best(benchmark), 2)
