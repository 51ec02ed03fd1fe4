from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.stats.exchange.rates import Tally, mean_range
from evenhand.stats.exchange.relabelling import exceeded
from evenhand.stats.exchange.unit_rates import UnitRates
from evenhand.stats.inverted_families import Inverted
from evenhand.stats.rates.clustered import GroupCells


def units(seed: int = 0, *, mixed: bool = False, persons: int = 24, labels: int = 3) -> UnitRates:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(persons), rng.integers(1, 9, persons))
    group = rng.integers(0, 3, unit.size) if mixed else np.repeat([0, 1, 2], persons // 3)[unit]
    truth, said = rng.integers(0, labels, (2, unit.size))
    said = np.where(rng.random(unit.size) < 0.6, truth, said)
    return UnitRates(truth, group, said, unit, np.ones(unit.size), 3, labels)


def masks(tables: UnitRates, kind: str, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Hits and trials of a rate, row by row."""
    of_label, right = tables.truth == label, tables.truth == tables.prediction
    said, every = tables.prediction == label, np.ones(tables.unit.size, dtype=bool)
    return {
        "hit": (right, every),
        "predicted": (said, every),
        "true": (right & of_label, of_label),
        "false": (said & ~of_label, ~of_label),
    }[kind]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("kind", ["hit", "predicted", "true", "false"])
def test_rates_of_units_are_those_of_one_label_at_a_time(kind: str, mixed: bool) -> None:
    tables = units(mixed=mixed)
    rates = tables.rates(kind)
    for label in range(rates.value.shape[0]):
        hit, trial = masks(tables, kind, label)
        key, cell = np.unique(tables.unit[trial] * 3 + tables.group[trial], return_inverse=True)
        sums, size = np.bincount(cell, hit[trial]), np.bincount(cell).astype(float)
        means = GroupCells(sums, size, size, key // 3, key % 3, 3).means()
        np.testing.assert_allclose(rates.value[label], [mean.value for mean in means])
        np.testing.assert_allclose(rates.size[label], [mean.size for mean in means])
        np.testing.assert_allclose(rates.freedom[label], [max(mean.effective - 1, 1) for mean in means])
        if mixed:
            shifts = np.stack([mean.shifts for mean in means])
            assert rates.covariance is not None
            np.testing.assert_allclose(rates.covariance[label], shifts @ shifts.T)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("within", [False, True])
def test_an_exchange_keeps_rows_labels_and_units(mixed: bool, within: bool) -> None:
    tables = units(mixed=mixed)
    kinds = ("predicted", "true", "false")
    drawn = next(tables.draws(np.random.default_rng(1), kinds, 20, within=within))
    whole = {kind: tables.observed(kind) for kind in kinds}
    for kind in kinds:
        assert drawn[kind].hits.shape == (20, 3, 3)
        np.testing.assert_allclose(
            drawn[kind].hits.sum(axis=1), np.tile(whole[kind].hits.sum(axis=1), (20, 1))
        )


def test_rows_of_a_unit_and_truth_change_places_so_that_groups_keep_their_mix() -> None:
    plain = units(mixed=True, persons=60)
    tables = replace(plain, unit=plain.unit // 15)
    assert tables.mixed.all()
    drawn = next(tables.draws(np.random.default_rng(1), ("true",), 20, within=True))["true"]
    support = np.broadcast_to(tables.observed("true").trials, drawn.trials.shape)
    np.testing.assert_allclose(drawn.trials, support)
    assert np.ptp(drawn.hits, axis=0).max() > 0


def test_variance_over_units_is_that_of_their_residuals() -> None:
    tables = units(persons=60)
    tally = tables.observed("hit")
    hit, _ = masks(tables, "hit", 0)
    for group in range(3):
        own = tables.group == group
        sums, size = (np.bincount(tables.unit[own], weight[own]) for weight in (hit, np.ones(hit.size)))
        sums, size = sums[size > 0], size[size > 0]
        rate = sums.sum() / size.sum()
        robust = ((sums - rate * size) ** 2).sum() / size.sum() ** 2 * size.size / (size.size - 1)
        assert tally.rates[0, group, 0] == pytest.approx(rate)
        assert 0.5 < tally.variance[0, group, 0] / robust < 2


@pytest.mark.parametrize("middle", [None, -0.5, 0.4, 2.0], ids=["rate of all", "below", "between", "above"])
def test_the_largest_difference_is_that_of_all_pairs_and_labels(middle, monkeypatch) -> None:
    """Also where all groups are on one side of the middle, and where not all pairs are held at a time."""
    monkeypatch.setattr("evenhand.stats.exchange.rates._HELD", 30)
    rng = np.random.default_rng(3)
    trials = rng.integers(0, 9, (7, 5)).astype(float)
    hits = rng.binomial(trials.astype(int), 0.4, (40, 7, 5)).astype(float)
    tally = Tally(hits, trials, None if middle is None else np.full((7, 5), middle))
    rates, variance = tally.rates, tally.variance
    expected = np.zeros(40)
    for i in range(7):
        for j in range(i):
            t = np.abs(rates[:, i] - rates[:, j]) / np.sqrt(variance[:, i] + variance[:, j])
            expected = np.fmax(expected, np.nanmax(t, axis=1))
    np.testing.assert_allclose(tally.largest(), expected)


def test_the_lowest_group_is_compared_with_the_others() -> None:
    tally = Tally(np.array([[[40.0], [45.0], [10.0]]]), np.array([[50.0], [50.0], [20.0]]))
    p = 95 / 120
    error = np.sqrt(p * (1 - p) * (1 / 20 + 1 / 100))
    assert tally.below_rest()[0] == pytest.approx((85 / 100 - 10 / 20) / error)


def test_p_counts_ties() -> None:
    assert exceeded(1.0, np.array([0.5, 1.0 - 1e-12, 2.0])) == 3 / 4


def inverted(rates: np.ndarray, seed: int = 0) -> Inverted:
    rng = np.random.default_rng(seed)
    noise = 0.05 * rng.standard_normal((400, *rates.shape))
    observed = float((rates.max(axis=0) - rates.min(axis=0)).mean())
    away = rates - rates.mean(axis=0)
    variance, wider = np.full(rates.shape, 0.0025), np.ones(rates.shape)
    return mean_range(observed, [away], [variance], [noise], [wider], lambda ranges: ranges.mean(axis=-1))


def test_a_mean_range_of_noise_is_corrected_to_near_zero() -> None:
    found = inverted(0.5 + 0.05 * np.random.default_rng(5).standard_normal((4, 30)))
    low, high = found.limits()
    assert found.observed > 0.08
    assert low == 0
    assert low <= found.corrected <= high < found.observed


def test_a_mean_range_of_large_differences_stays() -> None:
    rates = np.tile([[0.9], [0.3]], (1, 20)) + 0.05 * np.random.default_rng(7).standard_normal((2, 20))
    found = inverted(rates)
    low, high = found.limits()
    assert low < 0.6 < high
    assert high - low < 0.1
    assert found.limits(0.99)[0] < low


def test_noise_is_that_of_the_rates_of_each_group() -> None:
    apart = Tally(np.array([[[95.0], [50.0]]]), np.array([[100.0], [100.0]]))
    p, own = 145 / 200, (50 + 4 * 145 / 200) / 104
    expected = np.sqrt(own * (1 - own) / (p * (1 - p)))
    assert apart.wider[0, 1, 0] == pytest.approx(expected)
    assert apart.wider[0, 0, 0] < 1 < apart.wider[0, 1, 0]


def test_wider_noise_is_that_much_wider_where_differences_are_as_observed() -> None:
    rng = np.random.default_rng(3)
    away, noise = 0.2 * rng.standard_normal((3, 8)), 0.05 * rng.standard_normal((300, 3, 8))
    variance, ones = np.full(away.shape, 0.0025), np.ones(away.shape)

    def limits(noise: np.ndarray, wider: np.ndarray) -> tuple[float, float]:
        found = mean_range(0.6, [away], [variance], [noise], [wider], lambda ranges: ranges.mean(axis=-1))
        return found.limits()

    assert limits(noise, 2 * ones)[0] == pytest.approx(limits(2 * noise, ones)[0], abs=0.02)
    assert limits(noise, 2 * ones)[0] < limits(noise, ones)[0] - 0.02
