"""INLP: accuracy falls to chance, a fair encoder is left alone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InputError, MissingExtra, ParameterError
from evenhand.mitigate import INLP
from tests.mitigate.planted import DIMENSIONS, effect, planted


def test_it_stops_at_chance_and_the_planted_association_is_gone():
    fitted, other = planted(0, size=300), planted(1, size=300)
    mitigation = INLP().fit(fitted)
    accuracies = mitigation.facts["accuracies"]
    assert accuracies[0] > 0.9
    assert mitigation.facts["chance"] == 0.5
    assert accuracies[-1] <= 0.5 + 1.645 * (0.25 / 150) ** 0.5
    assert len(accuracies) == mitigation.facts["rounds"] + 1 == mitigation.facts["rank"] + 1
    assert "any more" in mitigation.facts["stopped_because"]
    before, after = (
        effect(other, change(other.targets, "image"), change(other.attributes, "text"))
        for change in (lambda vectors, _: vectors, mitigation.transform)
    )
    assert abs(before) > 1.5
    assert abs(after) < 0.5


def test_groups_that_cannot_be_told_apart_are_left_alone():
    kept = sum(INLP().fit(planted(seed, shift=0.0)).identity for seed in range(20))
    assert kept >= 16  # of 20; chance passes 1.645 standard errors one time in twenty


@pytest.mark.parametrize(("groups", "rank"), [(2, 3), (4, 9)])
def test_rounds_remove_one_direction_fewer_than_groups(groups, rank):
    mitigation = INLP(remove=3).fit(planted(groups=groups))
    assert mitigation.facts["rank"] == rank
    assert mitigation.facts["rounds"] == 3
    matrix = mitigation.maps["image"].matrix
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.matrix_rank(np.eye(DIMENSIONS) - matrix, tol=1e-8) == rank


def test_rounds_end_before_nothing_is_left():
    mitigation = INLP(remove=1000).fit(planted(size=8))
    assert 0 < mitigation.facts["rank"] < DIMENSIONS
    assert mitigation.facts["rounds"] < 1000
    assert mitigation.facts["stopped_because"] == "no further direction could be removed"


def test_the_order_of_rows_does_not_matter_to_the_bit():
    material = planted()
    order = np.random.default_rng(3).permutation(len(material.targets))
    place = np.argsort(order)
    shuffled = replace(
        material,
        targets=material.targets[order],
        target_sets={name: place[rows] for name, rows in material.target_sets.items()},
    )
    one, other = INLP().fit(material), INLP().fit(shuffled)
    assert one.facts["accuracies"] == other.facts["accuracies"]
    np.testing.assert_allclose(one.maps["text"].matrix, other.maps["text"].matrix, atol=1e-9)


def test_a_group_of_three_is_refused():
    with pytest.raises(InputError, match="a group has 3 items, and inlp needs 4"):
        INLP().fit(planted(size=3))


def test_an_impossible_penalty_is_refused():
    for penalty in (0.0, -1.0, float("nan")):
        with pytest.raises(ParameterError, match="penalty="):
            INLP(penalty=penalty).fit(planted())


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtra, match=r"pip install 'evenhand\[debias\]'"):
        INLP().fit(planted())


def test_listing_it_does_not_import_scikit_learn():
    code = (
        "import sys; from evenhand import mitigate; mitigate.INLP(remove=2); mitigate.LEACE(); "
        "assert not {'sklearn', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
