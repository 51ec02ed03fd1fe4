"""The first k with ties averaged over their orders, and labels of items exchanged."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from evenhand.stats.rankings.neighbour_pairs import TIED, FirstItems


def by_orders(values, match, k):
    """Mean precision over every order of tied items."""
    orders = permutations(range(len(values)))
    fitting = [order for order in orders if all(values[a] >= values[b] for a, b in pairwise(order))]
    return np.mean([match[list(order[:k])].mean() for order in fitting])


@pytest.mark.parametrize("k", range(1, 7))
def test_ties_are_averaged_over_all_orders(k):
    rng = np.random.default_rng(k)
    for _ in range(20):
        values = -np.sort(-rng.integers(0, 3, 6) / 4)
        match = rng.random(6) < 0.5
        first = FirstItems.of(values[None], k, 6)
        assert (first.weight[0] * match).sum() / k == pytest.approx(by_orders(values, match, k))
        assert first.weight.sum() == pytest.approx(k)
        assert first.tied[0] == (k < 6 and values[k - 1] == values[k])
        assert not first.unknown[0]


def test_a_tie_that_reaches_the_last_known_item_is_unknown_unless_that_is_all():
    values = np.array([[0.9, 0.5, 0.5, 0.5], [0.9, 0.5, 0.5, 0.4], [0.9, 0.8, 0.5, 0.5]])
    assert FirstItems.of(values, 2, 100).unknown.tolist() == [True, False, False]
    assert FirstItems.of(values, 2, 4).unknown.tolist() == [False, False, False]
    assert FirstItems.of(values, 2, 100).tied.tolist() == [True, True, False]


def test_cosines_that_float32_cannot_tell_apart_are_tied():
    one = np.float32(1)
    values = np.array([[one, one - np.float32(TIED / 4), 0.5]], dtype=np.float32)
    assert FirstItems.of(values, 1, 3).tied[0]
    values[0, 1] = one - np.float32(4 * TIED)
    assert not FirstItems.of(values, 1, 3).tied[0]


def test_in_order_takes_the_first_k_or_what_there_is():
    assert FirstItems.in_order((2, 3), 2).weight.tolist() == [[1, 1, 0]] * 2
    assert FirstItems.in_order((1, 3), 9).weight.tolist() == [[1, 1, 1]]
