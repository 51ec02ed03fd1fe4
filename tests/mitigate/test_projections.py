"""Orthogonal, calibrated and mean-difference projections against their formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InputError, ParameterError
from evenhand.mitigate import CalibratedProjection, MeanDifference, OrthogonalProjection
from tests.mitigate.planted import DIMENSIONS, effect, planted


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def naive_p0(columns):
    """I - B (B^T B)^+ B^T, word by word."""
    return np.eye(len(columns)) - columns @ np.linalg.pinv(columns.T @ columns) @ columns.T


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("centred", [True, False])
def test_means_span_what_is_removed(groups, centred):
    material = planted(groups=groups)
    means = np.stack([unit(material.targets[rows]).mean(0) for rows in material.target_sets.values()])
    expected = naive_p0((means - means.mean(0) if centred else means).T)
    mitigation = OrthogonalProjection(centred=centred).fit(material)
    for modality in ("image", "text"):
        np.testing.assert_allclose(mitigation.maps[modality].matrix, expected, atol=1e-10)
    assert mitigation.facts["rank"] == groups - centred


def test_items_of_prompts_as_in_the_released_code():
    material = planted(size=5, modality="text")
    mitigation = OrthogonalProjection(basis="items", centred=False).fit(material)
    np.testing.assert_allclose(mitigation.maps["text"].matrix, naive_p0(unit(material.targets).T), atol=1e-9)
    assert mitigation.facts["rank"] == 10
    assert np.abs(mitigation.transform(material.targets, "text")).max() < 1e-9


def test_the_strongest_directions_come_first():
    material = planted(shift=4.0)
    one = OrthogonalProjection(basis="items", remove=1).fit(material)
    vectors = unit(material.targets)
    kept = one.transform(vectors, "image")
    assert np.linalg.matrix_rank(np.eye(DIMENSIONS) - one.maps["image"].matrix) == 1
    assert abs(effect(material, kept, material.attributes)) < 0.3


@pytest.mark.parametrize("remove", [None, DIMENSIONS, 99])
def test_nothing_left_is_refused(remove):
    with pytest.raises(ParameterError, match="give remove, a number below 32"):
        OrthogonalProjection(basis="items", remove=remove).fit(planted())


def test_more_than_there_is_removes_what_there_is_and_says_so():
    mitigation = MeanDifference(remove=7).fit(planted())
    assert mitigation.facts["removed"] == 1
    assert mitigation.facts["note"] == "7 directions were to be removed, and 1 are there"


def test_means_are_equal_after_mean_difference():
    material = planted(groups=3)
    mitigation = MeanDifference().fit(material)
    after = mitigation.transform(unit(material.targets), "image")
    means = [after[rows].mean(0) for rows in material.target_sets.values()]
    np.testing.assert_allclose(means[0], means[1], atol=1e-12)
    np.testing.assert_allclose(means[0], means[2], atol=1e-12)
    assert mitigation.facts["rank"] == 2


def test_mean_difference_leaves_what_no_test_compares():
    material = planted(groups=4)
    two = replace(material, tests=(("g0", "g1", "a", "b"), ("g2", "g3", "a", "b")))
    assert MeanDifference().fit(two).facts["rank"] == 2
    assert OrthogonalProjection().fit(two).facts["rank"] == 3


@pytest.mark.parametrize("strength", [0.0, 1.0, 1000.0])
def test_calibration_is_its_formula(strength):
    material = planted(size=10, modality="text")
    pairs = np.array([[0, 10], [3, 13], [4, 12]])
    mitigation = CalibratedProjection(strength=strength).fit(replace(material, positive_pairs=pairs))
    z = unit(material.targets)
    m = np.zeros((DIMENSIONS, DIMENSIONS))
    for i, j in pairs:
        m += np.outer(z[i] - z[j], z[i] - z[j]) / len(pairs)
    means = np.stack([z[:10].mean(0), z[10:].mean(0)])
    p = naive_p0((means - means.mean(0)).T) @ np.linalg.inv(np.eye(DIMENSIONS) + strength * m)
    text = np.random.default_rng(5).normal(size=(7, DIMENSIONS))
    expected = unit(np.stack([p @ row for row in text]))
    np.testing.assert_allclose(mitigation.transform(text, "text"), expected, atol=1e-9)
    assert mitigation.transform(text, "image").tobytes() == text.tobytes()
    assert mitigation.facts["pairs"] == 3
    assert mitigation.facts["paired"] == "as given"


def test_pairs_come_nearer():
    material = planted(size=10, modality="text")
    z = unit(material.targets)

    def mean_cosine(vectors):
        return float((unit(vectors)[:10] * unit(vectors)[10:]).sum(1).mean())

    plain = OrthogonalProjection().fit(material).transform(z, "text")
    calibrated = CalibratedProjection().fit(material)
    assert mean_cosine(z) < mean_cosine(plain) < mean_cosine(calibrated.transform(z, "text"))
    assert mean_cosine(calibrated.transform(z, "text")) > 0.95
    assert calibrated.facts["paired"] == "by place"


def test_with_all_prompts_removed_there_is_nothing_to_calibrate():
    material = planted(size=5, modality="text")
    other = np.random.default_rng(0).normal(size=(6, DIMENSIONS))
    whole = {"basis": "items", "centred": False}
    np.testing.assert_allclose(
        CalibratedProjection(**whole).fit(material).transform(other, "text"),
        unit(OrthogonalProjection(**whole).fit(material).transform(other, "text")),
        atol=1e-9,
    )


def test_calibration_needs_prompts_and_pairs():
    with pytest.raises(InputError, match=r"needs prompts about the groups.*'image'.*textual form"):
        CalibratedProjection().fit(planted())
    text = planted(size=5, modality="text")
    uneven = replace(text, target_sets={"g0": np.arange(5), "g1": np.arange(5, 8)})
    with pytest.raises(InputError, match=r"'g0' has 5 prompts and 'g1' 3.*give positive_pairs"):
        CalibratedProjection().fit(uneven)
    for rows in ([[0, 99]], [[-1, 2]], np.zeros((0, 2))):
        with pytest.raises(InputError, match="rows of the 10 targets"):
            CalibratedProjection().fit(replace(text, positive_pairs=np.array(rows)))
    with pytest.raises(ParameterError, match="strength=-1"):
        CalibratedProjection(strength=-1).fit(text)


def test_an_unknown_basis_is_named_with_the_possible_ones():
    with pytest.raises(ParameterError, match="basis='mean' is not possible; choose one of 'means', 'items'"):
        OrthogonalProjection(basis="mean").fit(planted())
