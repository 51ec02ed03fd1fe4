"""Exchange and bootstrap of two models' answers, against loops, McNemar's test and scipy's permutations."""

import itertools

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.association import effect_size
from evenhand.stats.exchanged import exchange_p
from evenhand.stats.paired_sums import PairedEffects, PairedSums, Summary, strata_of

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
    assert made.linear


def test_exchange_gives_the_exact_p_of_mcnemar():
    first, second = np.zeros(40), np.zeros(40)
    first[:14], second[10:19] = 1, 1  # 10 only the first, 5 only the second
    made = kernel(np.zeros(40, int), np.arange(40), first, second, (MEAN,), groups=1)
    null = np.subtract(*made.exchanged(np.random.default_rng(0), 40_000))[:, 0]
    p = exchange_p(null, float(np.subtract(*made.observed())[0]), symmetric=True)
    exact = stats.binomtest(10, 15, 0.5).pvalue
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))


def test_exchange_gives_the_exact_p_of_scipys_paired_permutations():
    rng = np.random.default_rng(3)
    group = np.repeat([0, 1], 6)
    first, second = rng.random((2, 12))

    def gap(a, b, axis=-1):
        def apart(one):
            low, high = one[..., :6].mean(axis=axis), one[..., 6:].mean(axis=axis)
            return np.abs(high - low)

        return apart(a) - apart(b)

    exact = stats.permutation_test(
        (first, second), gap, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    made = kernel(group, np.arange(12), first, second, (Summary("range", (1, 2)),), groups=2)
    null = np.subtract(*made.exchanged(np.random.default_rng(0), 40_000))[:, 0]
    value = float(np.subtract(*made.observed())[0])
    assert value == pytest.approx(exact.statistic)
    share = (np.abs(exact.null_distribution) >= abs(value) - 1e-12).mean()
    assert exchange_p(null, value, symmetric=True) == pytest.approx(share, abs=0.01)


def test_clusters_change_places_as_a_whole():
    rng = np.random.default_rng(4)
    group, unit, first, second = answers(rng, n=30, groups=1, units=6)
    made = kernel(group, unit, first, second, (MEAN,), groups=1)
    null = np.subtract(*made.exchanged(rng, 4000))[:, 0]
    by_unit = [(first - second)[unit == u].sum() / 30 for u in np.unique(unit)]
    possible = {round(float(np.dot(s, by_unit)), 9) for s in itertools.product((1, -1), repeat=len(by_unit))}
    assert {round(float(one), 9) for one in null} == possible


def test_models_that_change_places_change_the_sign():
    group, unit, first, second = answers(np.random.default_rng(5), n=200)
    wanted = (MEAN, Summary("range", (1, 2, 3)))
    one, other = (kernel(group, unit, *both, wanted) for both in ((first, second), (second, first)))
    np.testing.assert_allclose(np.subtract(*one.observed()), -np.subtract(*other.observed()))
    null = np.subtract(*one.exchanged(np.random.default_rng(0), 20_000))
    assert np.abs(null.mean(axis=0)).max() < 4 * null.std(axis=0).max() / np.sqrt(20_000)


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


def test_exchanged_effect_sizes_are_those_of_all_exchanges():
    first, second, in_x = effects(np.random.default_rng(9), 4, 4)
    z = [(one - one.mean()) / one.std(ddof=1) for one in (first, second)]
    possible = []
    for flips in itertools.product((False, True), repeat=8):
        a, b = np.where(flips, z[1], z[0]), np.where(flips, z[0], z[1])
        possible.append(effect_size(a[in_x], a[~in_x]) - effect_size(b[in_x], b[~in_x]))
    null = np.subtract(*PairedEffects(first, second, in_x).exchanged(np.random.default_rng(0), 4000))[:, 0]
    assert set(null.round(9)) <= set(np.array(possible).round(9))
    assert null.std() == pytest.approx(np.std(possible), rel=0.05)


def test_the_scale_of_a_model_changes_nothing():
    first, second, in_x = effects(np.random.default_rng(10))
    plain, scaled = (PairedEffects(first, one, in_x) for one in (second, 7 * second + 3))
    for how in ("exchanged", "resampled"):
        draws = [getattr(one, how)(np.random.default_rng(0), 200) for one in (plain, scaled)]
        np.testing.assert_allclose(*draws, atol=1e-9)


def test_many_draws_are_made_in_pieces(monkeypatch):
    first, second, in_x = effects(np.random.default_rng(11))
    monkeypatch.setattr("evenhand.stats.paired_sums._HELD", 50)
    made = PairedEffects(first, second, in_x).resampled(np.random.default_rng(0), 30)
    assert np.isfinite(made).all()
    assert np.unique(made[0]).size > 20
