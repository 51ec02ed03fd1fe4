"""The hits that exchange within classes gives a group, against exchange itself."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.stats.exchanged_hits import hits_by_exchange


def exchanged(correct, support, times, seed):
    """Hits by group when the rows of each class are dealt to the groups at random, shape (times, Z)."""
    rng = np.random.default_rng(seed)
    totals = np.zeros((times, support.shape[0]))
    for hits, sizes in zip(correct.sum(axis=0), support.T, strict=True):
        totals += rng.multivariate_hypergeometric(sizes.astype(int), int(hits), size=times)
    return totals


@pytest.mark.parametrize("seed", range(6))
def test_moments_and_band_are_those_of_exchange(seed):
    rng = np.random.default_rng(seed)
    support = rng.integers(0, 40, size=(3, 7)).astype(float)
    correct = rng.binomial(support.astype(int), rng.uniform(0.3, 0.95, size=7)).astype(float)
    draws = exchanged(correct, support, 40_000, seed)
    mean, low, high = hits_by_exchange(correct, support, 0.95)
    assert mean == pytest.approx(draws.mean(axis=0), abs=5 * (draws.std(axis=0) / 200).max())
    inside = ((draws >= low - 1e-9) & (draws <= high + 1e-9)).mean(axis=0)
    assert (inside >= 0.94).all()
    assert (inside <= 0.98).all()
    ends = np.quantile(draws, [0.025, 0.975], axis=0)
    assert np.abs(np.stack([low, high]) - ends).max() <= 1.0, "no more than one row from the exact ends"


def test_groups_that_share_no_class_leave_nothing_to_chance():
    support = np.array([[10.0, 0.0], [0.0, 20.0]])
    correct = np.array([[7.0, 0.0], [0.0, 5.0]])
    mean, low, high = hits_by_exchange(correct, support, 0.95)
    assert mean.tolist() == low.tolist() == high.tolist() == [7.0, 5.0]


def test_bands_stay_within_what_is_possible():
    support = np.array([[2.0], [2.0]])
    mean, low, high = hits_by_exchange(np.array([[2.0], [1.0]]), support, 0.95)
    assert (low >= 1.0).all(), "of four rows one is wrong, so that a group of two has a hit at least"
    assert (high <= 2.0).all()
    assert mean.tolist() == [1.5, 1.5]


def test_a_model_without_mistakes_and_weights():
    support = np.array([[2.5, 3.0], [1.0, 4.0]])
    mean, low, high = hits_by_exchange(support, support, 0.95)
    assert mean.tolist() == low.tolist() == high.tolist() == [5.5, 5.0]
    half = support / 2
    mean, low, high = hits_by_exchange(half, support, 0.95)
    assert (low < mean).all()
    assert (mean < high).all()
