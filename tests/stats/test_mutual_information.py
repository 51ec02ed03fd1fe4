"""Mutual information by counting: against a loop, against known values, and against scikit-learn."""

from math import log

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.metrics import mutual_info_score

from evenhand.stats.mutual_information import binned_information, smoothed_information

RNG = np.random.default_rng


def labelled(n=600, d=12, kinds=3):
    """Vectors of which the first few dimensions tell something about the label, less and less."""
    rng = RNG(1)
    labels = rng.integers(0, kinds, n)
    vectors = rng.normal(size=(n, d))
    vectors[:, :4] += labels[:, None] * np.array([2.0, 1.0, 0.5, 0.25])
    return vectors, labels


def test_binned_against_scikit_learn_and_the_correction_by_hand():
    vectors, labels = labelled()
    found = binned_information(vectors, labels, bins=8)
    for column, value in zip(vectors.T, found, strict=True):
        bins = np.searchsorted(np.quantile(column, np.arange(1, 8) / 8), column, side="left")
        cells = len({*zip(bins.tolist(), labels.tolist(), strict=True)})
        correction = (len(set(bins.tolist())) - 1 + 3 - 1 - (cells - 1)) / (2 * len(labels))
        assert value == pytest.approx(mutual_info_score(labels, bins) + correction, abs=1e-12)


def test_dimensions_that_tell_more_come_first():
    vectors, labels = labelled()
    for estimate in (binned_information, smoothed_information):
        assert np.argsort(-estimate(vectors, labels))[:3].tolist() == [0, 1, 2]


def test_a_dimension_that_tells_all_and_one_that_tells_nothing():
    labels = np.repeat([0, 1], 400)
    rng = RNG(0)
    vectors = np.stack([labels * 2 + rng.random(800), rng.random(800), np.ones(800)], axis=1)
    found = binned_information(vectors, labels)
    assert found[0] == pytest.approx(log(2), abs=0.01)
    assert abs(found[1]) < 0.01
    assert found[2] == pytest.approx(0, abs=1e-12)


def test_the_correction_takes_the_surplus_of_chance_away():
    rng = RNG(5)
    labels = np.repeat([0, 1], 250)
    found = binned_information(rng.normal(size=(500, 2000)), labels)
    assert abs(found.mean()) < 3e-4  # without the correction 7 / 1000
    assert np.quantile(found, 0.95) == pytest.approx(0.0065, abs=0.002)


def test_names_of_labels_do_not_matter():
    vectors, labels = labelled()
    names = np.array(["z", "a", "m"])[labels]
    np.testing.assert_allclose(
        binned_information(vectors, labels), binned_information(vectors, names), atol=1e-12
    )


def test_blocks_make_no_difference(monkeypatch):
    vectors, labels = labelled()
    whole = binned_information(vectors, labels), smoothed_information(vectors, labels)
    monkeypatch.setattr("evenhand.stats.mutual_information._BLOCK", 1500)
    parts = binned_information(vectors, labels), smoothed_information(vectors, labels)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("kinds", [2, 3])
def test_smoothed_against_one_histogram_after_the_other(kinds):
    vectors, labels = labelled(kinds=kinds)
    found = smoothed_information(vectors, labels)
    for column, value in zip(vectors.T, found, strict=True):
        joint = gaussian_filter(np.histogram2d(column, labels, bins=64)[0], 1, mode="constant")
        joint = joint + np.finfo(float).eps
        joint /= joint.sum()
        expected = joint * (np.log(joint) - np.log(joint.sum(0)) - np.log(joint.sum(1))[:, None])
        assert value == pytest.approx(expected.sum(), abs=1e-12)


def test_without_rows_nothing_is_known():
    for estimate in (binned_information, smoothed_information):
        assert np.isnan(estimate(np.zeros((0, 3)), [])).all()
