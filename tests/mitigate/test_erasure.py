"""LEACE against its authors' library, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from evenhand.mitigate.methods.erasure import LEACE, erasing
from evenhand.mitigate.training_vectors import TrainingVectors
from tests.mitigate.planted import DIMENSIONS, effect, planted


def oracle(vectors, onehot, shrinkage):
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("concept_erasure")
    eraser = library.LeaceEraser.fit(
        torch.from_numpy(vectors), torch.from_numpy(onehot), shrinkage=shrinkage, svd_tol=1e-6
    )
    return eraser.P.numpy(), eraser(torch.from_numpy(vectors)).numpy()


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def best_accuracy(vectors, codes):
    """Of a linear classifier that is hardly penalised, on what it was fitted on."""
    scaled = (vectors - vectors.mean(0)) / vectors.std()
    return LogisticRegression(C=1e4, max_iter=5000, tol=1e-8).fit(scaled, codes).score(scaled, codes)


@pytest.mark.parametrize("shrinkage", [True, False])
@pytest.mark.parametrize(
    ("size", "dimensions", "groups"), [(200, 24, 2), (150, 24, 4), (20, 64, 2), (15, 64, 3)]
)
def test_the_map_is_that_of_the_authors_library(shrinkage, size, dimensions, groups):
    rng = np.random.default_rng(size + groups)
    codes = np.repeat(np.arange(groups), size)
    mixing = rng.normal(size=(dimensions, dimensions)) / dimensions**0.5
    vectors = (
        rng.normal(size=(len(codes), dimensions)) @ mixing + rng.normal(size=(groups, dimensions))[codes]
    )
    onehot = np.eye(groups)[codes]
    matrix, erased = oracle(vectors, onehot, shrinkage)
    left, right = erasing(vectors, onehot, shrinkage=shrinkage)
    assert left.shape == (dimensions, groups - 1)
    np.testing.assert_allclose(np.eye(dimensions) - left @ right, matrix, atol=1e-6)
    ours = vectors - (vectors - vectors.mean(0)) @ (left @ right).T
    np.testing.assert_allclose(ours, erased, atol=1e-6)


@pytest.mark.parametrize("shrinkage", [True, False])
def test_the_whole_mitigation_is_that_of_the_authors_library(shrinkage):
    material = planted()
    vectors, codes, names = material.directions()
    _, erased = oracle(vectors, np.eye(len(names))[codes], shrinkage)
    ours = LEACE(shrinkage=shrinkage).fit(material).transform(material.targets, "image")
    np.testing.assert_allclose(ours, erased, atol=1e-6)


@pytest.mark.parametrize("shrinkage", [True, False])
@pytest.mark.parametrize("groups", [2, 3])
def test_no_linear_classifier_beats_chance_on_the_fit_half(groups, shrinkage):
    material = planted(groups=groups)
    codes = np.repeat(np.arange(groups), 60)
    assert best_accuracy(unit(material.targets), codes) > 0.9
    erased = LEACE(shrinkage=shrinkage).fit(material).transform(material.targets, "image")
    assert best_accuracy(erased, codes) <= 1 / groups + 1e-9
    covariance = (erased - erased.mean(0)).T @ np.eye(groups)[codes] / len(codes)
    assert np.abs(covariance).max() < 1e-12


@pytest.mark.parametrize("shrinkage", [True, False])
def test_fewer_items_than_dimensions(shrinkage):
    material = planted(size=10)
    codes = np.repeat([0, 1], 10)
    mitigation = LEACE(shrinkage=shrinkage).fit(material)
    erased = mitigation.transform(material.targets, "image")
    assert np.isfinite(erased).all()
    means = [erased[codes == code].mean(0) for code in (0, 1)]
    np.testing.assert_allclose(*means, atol=1e-9)
    assert mitigation.facts["rank"] == 1


def test_the_mean_of_neither_modality_moves():
    material = planted()
    mitigation = LEACE().fit(material)
    for modality, vectors in [("image", material.targets), ("text", material.attributes)]:
        after = mitigation.transform(vectors, modality)
        np.testing.assert_allclose(after.mean(0), unit(vectors).mean(0), atol=1e-12)
    assert set(mitigation.maps) == {"image", "text"}


def test_a_modality_without_items_stays_as_it_is():
    given = planted()
    material = TrainingVectors(
        given.targets,
        given.target_sets,
        given.attributes,
        given.attribute_sets,
        given.tests,
        "image",
        "image",
    )
    mitigation = LEACE().fit(material)
    assert mitigation.transform(given.attributes, "text").tobytes() == given.attributes.tobytes()
    assert mitigation.facts["applied_to"].startswith("image, ")


def test_its_affine_part_is_a_projection():
    change = LEACE().fit(planted()).maps["image"]
    np.testing.assert_allclose(change.matrix @ change.matrix, change.matrix, atol=1e-10)


def test_fewer_directions_are_less_than_the_guarantee():
    material = planted(groups=4)
    whole, some = LEACE().fit(material), LEACE(remove=1).fit(material)
    assert whole.facts["rank"] == 3
    assert some.facts == some.facts | {"rank": 1, "possible": 3}
    assert np.linalg.matrix_rank(np.eye(DIMENSIONS) - some.maps["image"].matrix) == 1
    assert any("beats chance" in promise for promise in some.card()["cannot_promise"])
    assert not any("beats chance" in promise for promise in whole.card()["cannot_promise"])


def test_the_planted_association_goes_on_other_items_too():
    fitted, other = planted(0, size=300), planted(1, size=300)
    mitigation = LEACE().fit(fitted)
    before = effect(other, other.targets, other.attributes)
    after = effect(
        other, mitigation.transform(other.targets, "image"), mitigation.transform(other.attributes, "text")
    )
    assert abs(before) > 1.5
    assert abs(after) < 0.5


def test_equal_vectors_have_nothing_to_erase():
    material = planted()
    same = TrainingVectors(
        np.ones((4, 3)), {"g0": np.arange(2), "g1": np.arange(2, 4)}, np.eye(3),
        {"a": np.arange(2), "b": np.arange(2, 3)}, material.tests,
    )  # fmt: skip
    assert LEACE().fit(same).identity
