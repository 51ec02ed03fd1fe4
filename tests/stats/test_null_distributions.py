"""Bands and p of exact null distributions: against sums of chances in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.rankings.null import NullDistribution, _lattice, null_of_mean

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


def test_sums_on_a_lattice_are_those_of_all_pairs():
    """Steps of 1/4: exact values and chances, and nothing between them."""
    first = NullDistribution.of(np.array([-1, 0, 0.5]), np.array([0.5, 0.25, 0.25]))
    second = NullDistribution.of(np.array([0.25, 0.5, 3.0]), np.array([0.1, 0.3, 0.6]))
    sums: dict[float, float] = {}
    for a, chance_a in zip(first.values, first.weight, strict=True):
        for b, chance_b in zip(second.values, second.weight, strict=True):
            sums[a + b] = sums.get(a + b, 0) + chance_a * chance_b
    combined = null_of_mean([first, second])
    some = combined.weight > 1e-12  # the transform leaves rounding elsewhere
    assert combined.values[some] == pytest.approx(sorted(value / 2 for value in sums), abs=1e-12)
    assert combined.weight[some] == pytest.approx([sums[value] for value in sorted(sums)], abs=1e-12)
    assert combined.slack == pytest.approx(0.25 / 4 / 2)  # a quarter of a step


@pytest.mark.parametrize("coins", [1, 2, 3, 4, 7, 8, 15, 16, 40])
def test_heads_of_coins_are_binomial(coins):
    coin = NullDistribution.of(np.array([0.0, 1.0]), np.array([0.7, 0.3]), 99)
    combined = null_of_mean([coin] * coins)
    chances = np.bincount(np.rint(combined.values * coins).astype(int), combined.weight, 2 * coins + 2)
    binomial = stats.binom.pmf(np.arange(2 * coins + 2), coins, 0.3)
    assert chances[: binomial.size] == pytest.approx(binomial, abs=1e-13)
    assert combined.mean == pytest.approx(0.3)
    assert combined.variance == pytest.approx(0.21 / coins)
    assert combined.drawn == 99


def test_the_mean_of_what_never_varies_is_certain():
    combined = null_of_mean([NullDistribution.of(np.array([value]), np.ones(1)) for value in (0.25, 1.0)])
    assert (combined.values.tolist(), combined.weight.tolist()) == ([0.625], [1])


def test_sums_off_a_lattice_lie_within_the_slack_of_all_pairs():
    values, weight = np.array([0, 1 / np.pi, 1]), np.array([0.5, 0.2, 0.3])
    combined = null_of_mean([NullDistribution.of(values, weight)] * 2)
    means = (values[:, None] + values).ravel() / 2
    some = combined.weight > 1e-12
    assert np.abs(combined.values[some][:, None] - means).min(axis=1).max() <= combined.slack
    assert combined.slack == pytest.approx(2 * 1.001 / 131_072 * (1 + 2 * np.sqrt(2)) / 2)
    for mean in means:
        near = np.abs(combined.values - mean) <= combined.slack
        same = np.abs(means - mean) < 1e-12
        assert combined.weight[near].sum() == pytest.approx(np.outer(weight, weight).ravel()[same].sum())


@pytest.mark.parametrize(
    ("values", "span", "lattice"),
    [
        ([0.0, 0.5, 2.0], 2.0, True),
        ([3.0, 3.25, 5.0], 4.0, True),
        ([0.0, 0.5, 0.75], 2.0, False),  # 0.75 is no whole number of its least step
        ([0.0, 0.5, 1 + 1e-8], 2.0, True),  # rounding
        ([0.0, 0.5, 1 + 1e-5], 2.0, False),
        ([0.0, 0.5], 32_768.0, True),  # half of the grid
        ([0.0, 0.5], 32_768.5, False),
    ],
)
def test_values_lie_on_a_lattice_where_all_are_whole_steps_apart(values, span, lattice):
    chance = NullDistribution.of(np.array(values), np.full(len(values), 1 / len(values)))
    step, blurred = _lattice([chance], span, 2.0)
    assert blurred == (not lattice)
    assert step == pytest.approx(values[1] - values[0] if lattice else 2.002 / 131_072)
