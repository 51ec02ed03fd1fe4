"""Differences of two models' answers: values, limits and resamples against loops and formulas."""

import numpy as np
import pytest

from evenhand.stats.association.effect_size import effect_size
from evenhand.stats.paired.sums import PairedEffects, PairedSums, Summary, strata_of

MEAN = Summary("weights", (0,), (1.0,))


def answers(rng, n=60, groups=3, units=None):
    group = rng.integers(groups, size=n)
    unit = np.arange(n) if units is None else rng.integers(units, size=n)
    first, second = (rng.random((2, n)) < np.array([[0.6], [0.4]])).astype(float)
    return group, unit, first, second


def sums(group, unit, values, groups, units):
    found = np.zeros((units, 1 + groups))
    for g, u, value in zip(group, unit, values, strict=True):
        found[u, 0] += value
        found[u, 1 + g] += value
    return found


def kernel(group, unit, first, second, summaries, groups=3):
    units = int(unit.max()) + 1
    size = sums(group, unit, np.ones(group.size), groups, units)
    kept = size[:, 0] > 0
    made = [sums(group, unit, one, groups, units)[kept] for one in (first, second)]
    return PairedSums.of(*made, size[kept], strata_of(size[kept]), summaries)


@pytest.mark.parametrize("units", [None, 20])
def test_observed_numbers_are_those_of_a_loop(units):
    group, unit, first, second = answers(np.random.default_rng(1), units=units)
    wanted = (
        MEAN,
        Summary("range", (1, 2, 3)),
        Summary("least", (1, 2)),
        Summary("weights", (1, 3), (1, -1)),
    )
    made = kernel(group, unit, first, second, wanted).observed()
    for model, values in enumerate((first, second)):
        rates = [values[group == g].mean() for g in range(3)]
        expected = [values.mean(), max(rates) - min(rates), min(rates[:2]), rates[0] - rates[2]]
        np.testing.assert_allclose(made[model], expected, atol=1e-12)


def test_equal_units_are_kept_once_with_their_number():
    group, unit, first, second = answers(np.random.default_rng(2), n=500)
    made = kernel(group, unit, first, second, (MEAN,))
    assert made.count == 500
    assert made.units.size <= 3 * 4


def limits_of(made, at=0, level=0.95):
    return made.limits(at, np.random.default_rng(0))(level)


def newcombe(a, b, c, d, z=1.959964):
    """Newcombe 1998, method 10 without continuity correction, with the correlation times n / (n + 2)."""
    n = a + b + c + d
    first, second = (a + b) / n, (a + c) / n

    def wilson(p):
        middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)

    phi = (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d)) * n / (n + 2)
    (low, high), (under, over) = wilson(first), wilson(second)

    def arm(x, y):
        return np.sqrt(x**2 + y**2 - 2 * phi * x * y)

    value = first - second
    return value - arm(first - low, over - second), value + arm(high - first, second - under)


def test_single_samples_have_newcombes_limits_of_paired_shares():
    first, second = np.zeros(60), np.zeros(60)
    first[:30], second[10:45] = 1, 1  # 20 both, 10 only the first, 15 only the second, 15 none
    made = kernel(np.zeros(60, int), np.arange(60), first, second, (MEAN,), groups=1)
    assert limits_of(made) == pytest.approx(newcombe(20, 10, 15, 15), rel=1e-5)


def test_models_that_change_places_change_the_sign():
    group, unit, first, second = answers(np.random.default_rng(5), n=200)
    wanted = (MEAN, Summary("range", (1, 2, 3)), Summary("least", (1, 2, 3)))
    one, other = (kernel(group, unit, *both, wanted) for both in ((first, second), (second, first)))
    np.testing.assert_allclose(np.subtract(*one.observed()), -np.subtract(*other.observed()))
    for at in range(3):
        low, high = limits_of(one, at)
        assert limits_of(other, at) == pytest.approx((-high, -low), abs=0.02)


def test_equal_answers_leave_a_width_and_one_unit_says_nothing():
    group, unit, first, _ = answers(np.random.default_rng(12), n=50)
    wanted = (MEAN, Summary("range", (1, 2, 3)), Summary("weights", (1, 2), (1.0, -1.0)))
    made = kernel(group, unit, first, first, wanted)
    for at in range(3):
        low, high = limits_of(made, at)
        assert low < 0 < high
    alone = PairedSums.of(np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1, int), (MEAN,))
    assert limits_of(alone, level=0.01)[0] < 0


def test_one_household_counts_once_with_all_its_images():
    """Mean shares of households vary less than single answers: more images a household say more."""
    rng = np.random.default_rng(13)
    shares = rng.binomial(20, 0.5, (2, 30, 1)) / 20
    ones, strata = np.ones((30, 1)), np.zeros(30, int)
    few, many = (
        PairedSums.of(*shares, ones, strata, (MEAN,), samples=images * ones) for images in (1.0, 20.0)
    )
    widths = [np.ptp(limits_of(one)) for one in (few, many)]
    assert widths[1] < 0.5 * widths[0]


def test_bootstrap_draws_within_groups_and_has_the_variance_of_pairs():
    group, unit, first, second = answers(np.random.default_rng(6), n=400)
    made = kernel(group, unit, first, second, (MEAN, Summary("weights", (1, 2, 3), (1.0, 1.0, 1.0))))
    draws = np.subtract(*made.resampled(np.random.default_rng(0), 4000))
    np.testing.assert_allclose(draws.mean(axis=0), np.subtract(*made.observed()), atol=0.01)
    away = first - second
    within = sum((group == g).sum() * away[group == g].var() for g in range(3)) / 400**2
    assert draws[:, 0].std() == pytest.approx(np.sqrt(within), rel=0.05)
    other = kernel(group, unit, np.ones(400), np.ones(400), (MEAN,))
    assert np.ptp(other.resampled(np.random.default_rng(0), 50)) == 0


def test_a_column_without_samples_has_no_number():
    group, unit, first, second = answers(np.random.default_rng(7), groups=2)
    made = kernel(group, unit, first, second, (Summary("range", (1, 2, 3)), MEAN))
    assert np.isnan(made.observed()[:, 0]).all()
    assert np.isfinite(made.observed()[:, 1]).all()


def test_strata_are_groups_unless_units_lie_in_several():
    nested = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]])
    assert strata_of(nested).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert strata_of(nested[1:]).tolist() == [0, 0, 0]  # a unit alone could not be drawn again
    assert strata_of(np.eye(4) + np.ones((4, 4))).tolist() == [0, 0, 0, 0]


def effects(rng, n=6, m=5):
    in_x = np.arange(n + m) < n
    first = rng.normal(size=n + m) + in_x
    return first, 0.3 * first + rng.normal(size=n + m), in_x


def test_effect_sizes_are_those_of_the_metric():
    first, second, in_x = effects(np.random.default_rng(8))
    made = PairedEffects(first, second, in_x).observed()[:, 0]
    expected = [effect_size(one[in_x], one[~in_x]) for one in (first, second)]
    np.testing.assert_allclose(made, expected)


def test_the_scale_of_a_model_changes_nothing():
    first, second, in_x = effects(np.random.default_rng(10))
    plain, scaled = (PairedEffects(first, one, in_x) for one in (second, 7 * second + 3))
    draws = [one.resampled(np.random.default_rng(0), 200) for one in (plain, scaled)]
    np.testing.assert_allclose(*draws, atol=1e-9)


def test_many_draws_are_made_in_pieces(monkeypatch):
    first, second, in_x = effects(np.random.default_rng(11))
    monkeypatch.setattr("evenhand.stats.paired.sums._HELD", 50)
    made = PairedEffects(first, second, in_x).resampled(np.random.default_rng(0), 30)
    assert np.isfinite(made).all()
    assert np.unique(made[0]).size > 20
