"""Bands and p of exact null distributions: against sums of chances in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from evenhand.stats.rankings.null import NullDistribution

WEIGHTS = [1, 1, 2, 8, 2, 1, 1]  # of 16


@pytest.mark.parametrize("tail", [Fraction(1, 16), Fraction(1, 8), Fraction(1, 40), Fraction(1, 4)])
def test_a_band_is_the_narrowest_with_at_most_the_tail_beyond_each_end(tail):
    chances = [Fraction(weight, 16) for weight in WEIGHTS]
    low = max(k for k in range(7) if sum(chances[:k]) <= tail)
    high = min(k for k in range(7) if sum(chances[k + 1 :]) <= tail)
    null = NullDistribution.of(np.arange(7.0), np.array(WEIGHTS) / 16, 0)
    assert null.band(float(1 - 2 * tail)) == (low, high)


@pytest.mark.parametrize("drawn", [0, 99])
@pytest.mark.parametrize("observed", [0.0, 2.0, 3.0, 6.0, 9.0])
def test_p_is_the_chance_of_a_value_as_extreme_and_at_most_one(observed, drawn):
    null = NullDistribution.of(np.arange(7.0), np.array(WEIGHTS) / 16, drawn)
    for side, far in (
        ("high", [k >= observed for k in range(7)]),
        ("low", [k <= observed for k in range(7)]),
        ("both", [abs(k - 3) >= abs(observed - 3) for k in range(7)]),
    ):
        share = sum(weight for weight, one in zip(WEIGHTS, far, strict=True) if one) / 16
        expected = (1 + share * drawn) / (1 + drawn) if drawn else max(share, 1e-15)
        assert null.p_value(observed, side) == pytest.approx(expected)
        assert null.p_value(observed, side) <= 1
