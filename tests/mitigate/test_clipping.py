"""CLIP-clip: the dimensions that tell most about the group go."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InputError, MissingExtra, ParameterError
from evenhand.mitigate.methods.dimension_clipping import ClipClip
from evenhand.mitigate.mitigation import MITIGATIONS, Mitigation
from evenhand.mitigate.scikit_learn import neighbour_information
from tests.mitigate.test_pruning import PLANTED, association, planted

estimators = pytest.mark.parametrize("estimator", ["binned", "knn", "smoothed"])


@estimators
@pytest.mark.parametrize("seed", range(3))
def test_planted_dimensions_are_found(estimator, seed):
    mitigation = ClipClip(remove=3, estimator=estimator).fit(planted(seed))
    assert sorted(mitigation.facts["dimensions"]) == list(PLANTED)
    assert np.diff(mitigation.facts["information"]).max() <= 0
    assert association(planted(seed + 10)) > 1.5
    assert abs(association(planted(seed + 10), mitigation)) < 0.7


def test_the_same_dimensions_go_from_images_and_texts():
    material = planted()
    mitigation = ClipClip(remove=3).fit(material)
    expected = np.delete(material.targets, PLANTED, axis=1)
    for modality in ("image", "text"):
        assert (mitigation.transform(material.targets, modality) == expected).all()


@pytest.mark.parametrize(("dimensions", "removed"), [(512, 112), (64, 14), (1024, 224)])
def test_the_released_code_keeps_400_of_512(dimensions, removed):
    mitigation = ClipClip().fit(planted(dimensions=dimensions))
    assert mitigation.facts["removed"] == removed
    assert mitigation.transform(np.ones((1, dimensions)), "image").shape == (1, dimensions - removed)


def test_one_order_serves_every_amount():
    material = planted()
    order = ClipClip().order(material)
    assert sorted(order.dimensions) == list(range(64))
    for amount in (0, 1, 30):
        alone = ClipClip(remove=amount).fit(material)
        assert ClipClip().cut(order, amount).facts == alone.facts
        assert ClipClip().cut(order, amount).params == alone.params


@estimators
def test_remove_nothing_changes_nothing(estimator):
    material = planted()
    mitigation = ClipClip(remove=0, estimator=estimator).fit(material)
    assert mitigation.identity
    assert mitigation.facts["removed"] == 0
    assert mitigation.transform(material.targets, "image").tobytes() == material.targets.tobytes()


def test_items_of_two_groups_are_left_out_and_counted():
    material = planted()
    both = {"X": np.arange(45), "Y": np.arange(40, 80)}
    mitigation = ClipClip(remove=3).fit(replace(material, target_sets=both))
    assert mitigation.facts["n"] == 75
    assert mitigation.facts["groups"] == ["X", "Y"]
    assert sorted(mitigation.facts["dimensions"]) == list(PLANTED)
    same = {"X": np.arange(80), "Y": np.arange(80)}
    with pytest.raises(InputError, match="at least two groups"):
        ClipClip().fit(replace(material, target_sets=same))


def test_it_survives_its_file(tmp_path):
    mitigation = ClipClip(remove=5).fit(planted())
    loaded = Mitigation.load(mitigation.save(tmp_path / "clipped.safetensors"))
    assert loaded.card() == mitigation.card()


def test_the_seed_decides_only_the_noise_of_neighbours():
    material = planted()
    first, again = (ClipClip(remove=9, estimator="knn").fit(material, seed=3).facts for _ in range(2))
    assert first == again


def test_impossible_amounts_and_estimators_are_refused():
    assert MITIGATIONS.get("clip_clip") is ClipClip
    with pytest.raises(ParameterError, match="choose one of 'binned', 'knn', 'smoothed'"):
        ClipClip(estimator="paper")
    for amount, possible in ((-1, "give 0, 1, 2"), (64, "give 0 to 63")):
        with pytest.raises(ParameterError, match=possible):
            ClipClip(remove=amount).fit(planted())
    with pytest.raises(ParameterError, match="give 0 to 63"):
        ClipClip().cut(ClipClip().order(planted()), 64)


def test_without_scikit_learn_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.feature_selection", None)
    with pytest.raises(MissingExtra, match="scikit-learn is not installed; type: pip install"):
        neighbour_information(np.zeros((4, 2)), [0, 0, 1, 1])
