"""Dimension pruning of MMBias against its reference vectors: psi, order and trajectory."""

import json
from pathlib import Path

import numpy as np
import pytest

from evenhand.mitigate.methods.dimension_pruning import Pruning
from evenhand.mitigate.scikit_learn import neighbour_information
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.association.without_dimension import RemainingDimensions

VECTORS = Path(__file__).parent / "vectors" / "mmbias"
NAMES = ("pruning", "pruning_negative")
OBJECTIVES = {"abs": "absolute", "signed": "signed"}


def case(name):
    """The expected numbers, and the material they are about."""
    expected = json.loads((VECTORS / f"{name}.json").read_text())
    with np.load(VECTORS / "pruning.npz") as arrays:
        targets, attributes = arrays["U"], arrays["W"]
    x, a = expected["nx"], expected["na"]
    sets = {"X": np.arange(x), "Y": np.arange(x, len(targets))}
    words = {"A": np.arange(a), "B": np.arange(a, len(attributes))}
    first, second = ("Y", "X") if name == "pruning_negative" else ("X", "Y")
    return expected, TrainingVectors(targets, sets, attributes, words, ((first, second, "A", "B"),))


def psi(material, **options):
    x, y, a, b = material.tests[0]
    sets, words = material.target_sets, material.attribute_sets
    test = (sets[x], sets[y], words[a], words[b])
    return RemainingDimensions(material.targets, material.attributes, [test], **options).without_each()[0]


@pytest.mark.parametrize("name", NAMES)
def test_effect_sizes_without_each_dimension(name):
    expected, material = case(name)
    np.testing.assert_allclose(psi(material), expected["psi_renorm"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(psi(material, precision="float32"), expected["psi_renorm"], atol=1e-5)


def test_effect_sizes_without_renormalisation():
    expected, material = case("pruning")
    found = psi(material, renormalise=False)
    np.testing.assert_allclose(found, expected["psi_no_renorm"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("stop_at_zero", [False, True])
@pytest.mark.parametrize("kind", OBJECTIVES)
@pytest.mark.parametrize("name", NAMES)
def test_one_shot_order(name, kind, stop_at_zero):
    expected, material = case(name)
    fitter = Pruning(remove=expected["N"], objective=OBJECTIVES[kind], stop_at_zero=stop_at_zero)
    facts = fitter.fit(material).facts
    assert facts["dimensions"] == expected[kind]["one_shot"]
    assert facts["trajectory"][0][0] == pytest.approx(expected["base_d"], abs=1e-12)
    assert facts["trajectory"][0][-1] == pytest.approx(expected[kind]["one_shot_d"], abs=1e-12)


@pytest.mark.parametrize("kind", OBJECTIVES)
@pytest.mark.parametrize("name", NAMES)
def test_greedy_order_and_trajectory(name, kind):
    expected, material = case(name)
    fitter = Pruning(remove=expected["N"], strategy="greedy", objective=OBJECTIVES[kind], stop_at_zero=False)
    facts = fitter.fit(material).facts
    assert facts["dimensions"] == expected[kind]["greedy"]
    np.testing.assert_allclose(facts["trajectory"][0], expected[kind]["greedy_traj"], rtol=0, atol=1e-12)


def test_information_by_nearest_neighbours():
    expected, material = case("pruning")
    found = neighbour_information(material.targets, np.repeat([0, 1], 10), seed=0)
    np.testing.assert_allclose(found, expected["mi_knn_sklearn_k3_seed0"], rtol=0, atol=1e-12)
