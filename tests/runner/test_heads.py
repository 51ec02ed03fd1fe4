"""Linear probes against scikit-learn, on planted data, with weights, early stopping and both kernels."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.workflows.adapt import heads
from evenhand.workflows.adapt.heads import Vectors, class_weights, fit_probe

RECIPE = {"class_weights": "none", "l2": "0.01", "iterations": 500, "patience": 10}


def planted(
    seed: int, counts: tuple[int, ...], distance: float, dimensions: int = 6, share: float = 0.0
) -> Vectors:
    """Gaussian classes around corners, far from the origin and of unequal spread."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(counts)), counts)
    values = rng.normal(size=(len(codes), dimensions))
    values[np.arange(len(codes)), codes] += distance
    values = values * np.linspace(0.1, 5, dimensions) + 40
    order = rng.permutation(len(codes))
    held_out = round(len(codes) * share)
    return Vectors(
        values.astype("f4"), codes, len(counts), np.sort(order[held_out:]), np.sort(order[:held_out])
    )


@pytest.mark.parametrize("kind", ["none", "balanced"])
def test_it_is_the_regression_of_scikit_learn(kind):
    sklearn = pytest.importorskip("sklearn.linear_model")
    vectors = planted(0, (200, 60, 40), 1.5)
    probe = fit_probe(vectors, RECIPE | {"class_weights": kind})
    mean, deviation = vectors.spread()
    inputs = (vectors.values - mean) / deviation
    weighted = class_weights(vectors, kind)[vectors.codes].sum()
    theirs = sklearn.LogisticRegression(
        C=1 / (0.01 * weighted), class_weight=None if kind == "none" else "balanced", max_iter=5000, tol=1e-10
    ).fit(inputs, vectors.codes)
    ours = probe.head.logits(vectors.values)
    expected = inputs @ theirs.coef_.T + theirs.intercept_
    difference = (ours - ours.mean(1, keepdims=True)) - (expected - expected.mean(1, keepdims=True))
    assert np.abs(difference).max() < 0.02
    assert (ours.argmax(1) == expected.argmax(1)).mean() > 0.99
    assert probe.facts["stopped_because"] == "converged"


def test_planted_classes_are_learnt_in_blocks(monkeypatch):
    whole = fit_probe(planted(1, (90, 80, 70), 9, share=0.3), RECIPE)
    assert whole.facts["validation_accuracy"] > 0.98
    monkeypatch.setattr(heads, "_BLOCK", 17)
    pieces = fit_probe(planted(1, (90, 80, 70), 9, share=0.3), RECIPE)
    np.testing.assert_allclose(whole.head.weight, pieces.head.weight, rtol=0.05, atol=0.02)
    assert whole.facts["fit_images"] == 168


def test_balanced_weights_find_the_rare_class():
    vectors = planted(2, (900, 60), 1.2, share=0.5)
    rare = {}
    for kind in ("none", "balanced"):
        probe = fit_probe(vectors, RECIPE | {"class_weights": kind})
        said = probe.head.logits(vectors.values[vectors.validation]).argmax(1)
        truth = vectors.codes[vectors.validation]
        rare[kind] = (said[truth == 1] == 1).mean(), probe.facts["validation_mean_class_accuracy"]
    assert rare["balanced"][0] > rare["none"][0] + 0.3
    assert rare["balanced"][1] > rare["none"][1] + 0.1
    assert class_weights(vectors, "balanced")[vectors.codes[vectors.fit]].mean() == pytest.approx(1)


def test_the_step_of_the_smallest_validation_loss_is_kept():
    vectors = planted(3, (60, 60), 0.4, dimensions=60, share=0.5)  # more dimensions than images
    probe = fit_probe(vectors, RECIPE | {"l2": "0", "patience": 5})
    losses = [row["validation_loss"] for row in probe.history]
    assert probe.facts["stopped_because"] == "validation"
    assert probe.facts["iterations"] == int(np.argmin(losses)) + 1
    assert len(losses) == probe.facts["iterations"] + 5
    logits = probe.head.logits(vectors.values[vectors.validation]).astype(np.float64)
    codes = vectors.codes[vectors.validation]
    said = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(codes)), codes]
    assert said.mean() == pytest.approx(min(losses), abs=1e-3)


def test_the_penalty_is_chosen_by_validation():
    noisy = fit_probe(planted(4, (60, 60), 0.3, dimensions=80, share=0.5), RECIPE | {"l2": "auto"})
    clear = fit_probe(planted(4, (60, 60), 8, dimensions=80, share=0.5), RECIPE | {"l2": "auto"})
    assert noisy.facts["l2"] > clear.facts["l2"]
    tried = list(dict.fromkeys(row["l2"] for row in noisy.history))
    assert tried == list(heads.PENALTIES)[: len(tried)]
    assert min(row["validation_loss"] for row in noisy.history) == min(
        row["validation_loss"] for row in noisy.history if row["l2"] == noisy.facts["l2"]
    )


def test_constant_dimensions_and_vectors_of_length_1():
    vectors = planted(5, (40, 40), 6)
    values = np.hstack([vectors.values, np.full((80, 1), 7, "f4")])
    for unit in (False, True):
        probe = fit_probe(
            Vectors(values, vectors.codes, 2, vectors.fit, vectors.validation, unit), RECIPE | {"l2": "0.001"}
        )
        assert np.isfinite(probe.head.weight).all()
        assert probe.facts["fit_accuracy"] > 0.9
        assert probe.head.unit is unit


def test_torch_computes_the_same():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    inputs, theta = rng.normal(size=(50, 7)).astype("f4"), rng.normal(size=(4, 8)).astype("f4")
    codes, each = rng.integers(0, 4, 50), rng.random(50).astype("f4")
    for slope in (False, True):
        ours = heads._by_numpy(inputs, codes, each, theta, slope, "cpu")
        theirs = heads._by_torch(inputs, codes, each, theta, slope, "cpu")
        assert ours[0] == pytest.approx(theirs[0], rel=1e-5)
        assert (ours[1] is None) is (theirs[1] is None) is (not slope)
        if slope:
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-4)


def test_the_gradient_is_that_of_the_loss():
    vectors = planted(6, (30, 20, 10), 1)
    mean, deviation = vectors.spread()
    measure = heads._Measure(
        vectors, class_weights(vectors, "balanced"), mean.astype("f4"), deviation.astype("f4")
    )
    theta = np.random.default_rng(0).normal(size=(3, 7))
    _, gradient = measure.gradient(theta, vectors.fit)
    step = 1e-2
    for place in [(0, 0), (1, 3), (2, 6)]:
        up, down = theta.copy(), theta.copy()
        up[place] += step
        down[place] -= step
        slope = (measure.loss(up, vectors.fit) - measure.loss(down, vectors.fit)) / (2 * step)
        assert slope == pytest.approx(gradient[place], abs=1e-3)
