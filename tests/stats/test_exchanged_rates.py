from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.exchange.compared_rates import (
    ComparedRates,
    ExchangedRates,
    UnitMoments,
    exceeded,
    widened,
)
from evenhand.stats.exchange.relabelling import UnitShares
from evenhand.stats.exchange.unit_rates import UnitRates
from evenhand.stats.inverted_families import Inverted
from evenhand.stats.rates.clustered import GroupCells
from evenhand.stats.rates.confusion import mean_range


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
    tables = units(mixed=mixed, persons=240)  # enough that no draw comes to its bounds of 0 and all trials
    kinds = ("predicted", "true", "false")
    drawn = next(tables.draws(np.random.default_rng(1), kinds, 20, within=within))
    whole = {kind: tables.observed(kind) for kind in kinds}
    for kind in kinds:
        assert drawn[kind].hits.shape == (20, 3, 3)
        np.testing.assert_allclose(
            drawn[kind].hits.sum(axis=1), np.tile(whole[kind].hits.sum(axis=1), (20, 1))
        )


def homes(seed: int, count: int = 40, photos: int = 10, icc: float = 0.6) -> UnitRates:
    """Homes of a man and a woman, to whom the model is fair; photos of a person are alike."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(2 * count), photos)
    spread = 1 / icc - 1
    right = rng.random(person.size) < rng.beta(0.8 * spread, 0.2 * spread, 2 * count)[person]
    return UnitRates(np.zeros_like(person), person % 2, 1 - right, person // 2, np.ones(person.size), 2, 2)


def test_what_groups_of_a_unit_differ_by_gets_one_number() -> None:
    """Homes have as many rows of each group, so that groups keep their rows."""
    tables = homes(0)
    shares = UnitShares(tables.group, tables.unit, weight=tables.weight, groups=2)
    drawn = shares.exchanged(np.random.default_rng(1), 30)
    tally = next(tables.draws(np.random.default_rng(1), ("hit",), 30, within=False))["hit"]
    np.testing.assert_allclose(tally.trials, 400)
    right = tables.prediction == 0
    man, woman = (np.bincount(tables.unit[tables.group == g], right[tables.group == g]) for g in (0, 1))
    expected = right.sum() / 2 + drawn.inside_units.T @ (man - woman) / 2
    np.testing.assert_allclose(tally.hits[:, 0, 0], expected)
    assert drawn.inside_units.mean() == pytest.approx(0, abs=0.15)
    assert (drawn.inside_units**2).mean() == pytest.approx(1, abs=0.1)


def test_covariances_of_rates_by_label_are_those_of_a_loop() -> None:
    """In each draw what units add to the rates of two groups, as the shares and numbers of the draw say."""
    tables = units(mixed=True, persons=60)
    shares = UnitShares(tables.group, tables.unit, weight=tables.weight, groups=3)
    drawn = shares.exchanged(np.random.default_rng(1), 4)
    for kind in ("predicted", "false"):
        tally = next(tables.draws(np.random.default_rng(1), (kind,), 4, within=False))[kind]
        for label in range(3):
            hit, trial = masks(tables, kind, label)
            s, w = (np.bincount(tables.unit[rows], minlength=60) for rows in (hit, trial))
            inside = np.zeros((60, 3))
            np.add.at(inside, (tables.unit[hit], tables.group[hit]), 1)
            inside -= shares.of_units * s[:, None]
            hits = drawn.of_units * s[:, None, None] + drawn.inside_units[..., None] * inside[:, None]
            trials = drawn.of_units * w[:, None, None]
            rate = hits.sum(axis=0) / trials.sum(axis=0)
            away = (hits - rate * trials) / trials.sum(axis=0)
            together = np.einsum("crg,crh->rgh", away, away)
            ratio = tally.covariance[..., label] / together
            for g, h in [(0, 1), (0, 2), (1, 2)]:  # as far as the units of both tell of it
                assert (ratio[:, g, h] > 0.5).all()
                assert (ratio[:, g, h] < 1).all()
                np.testing.assert_allclose(ratio[:, g, h], ratio[:, h, g])


def test_the_covariance_of_groups_that_share_units_is_that_of_a_loop() -> None:
    tables = units(mixed=True, persons=60)
    right = (tables.truth == tables.prediction).astype(float)
    tally = tables.observed("hit")
    p, counted = right.mean(), np.zeros((3, 60))
    for g in range(3):
        own = tables.group == g
        away = right[own] - right[own].mean()
        counted[g] = np.bincount(tables.unit[own], away, 60) / own.sum()
    telling = [
        min(len(set(tables.unit[tables.group == g])), (tables.group == g).sum() * p * (1 - p))
        for g in range(3)
    ]
    for g, h in [(0, 1), (0, 2), (1, 2)]:
        least = min(telling[g], telling[h])
        expected = counted[g] @ counted[h] * least / (least + 4)
        assert tally.covariance[0, g, h, 0] == pytest.approx(expected)
        assert tally.covariance[0, h, g, 0] == pytest.approx(expected)


def test_shares_within_truths_are_those_of_the_other_unit_or_of_all_its_rows() -> None:
    unit, truth = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 0, 0, 2, 0, 1])
    group = np.array([0, 1, 1, 1, 0, 0, 1, 0, 0])
    shares = UnitShares(group, unit, truth, weight=np.ones(9), groups=2)
    rows = {(u, y): a for u, y, a in zip(unit.tolist(), truth.tolist(), shares.atom.tolist(), strict=True)}
    assert rows[2, 0] == rows[2, 1]  # a unit of one group is one atom
    one = [[0.5, 0.5], [0, 1], [1, 0], [0, 1], [1, 0]]  # two truths each of units 0 and 1, and unit 2
    np.testing.assert_allclose(shares.share, one)
    drawn = shares.exchanged(np.random.default_rng(0), 200)
    of_first = {tuple(np.round(share, 6)) for share in drawn.of_atoms[rows[0, 1]]}
    assert of_first == {
        (0, 1),
        (0.666667, 0.333333),
        (1, 0),
    }  # unit 1 has no row of truth 1: its share of all
    np.testing.assert_allclose(drawn.of_atoms.sum(axis=2), 1)


@pytest.mark.parametrize("icc", [0.3, 0.6])
def test_homes_of_two_groups_keep_their_level_and_their_band(icc: float) -> None:
    small = np.zeros(3)
    for seed in range(200):
        tables = homes(seed, icc=icc)
        tally = tables.observed("hit")
        drawn = next(tables.draws(np.random.default_rng(seed), ("hit",), 399, within=False))["hit"]
        p = ExchangedRates(tally, drawn).below_rest().p_value
        apart, band = np.ptp(tally.rates[0, :, 0]), np.quantile(np.ptp(drawn.rates[..., 0], axis=1), 0.95)
        small += p <= 0.05, p <= 0.005, apart > band
    assert small[0] <= 20  # 10 expected
    assert small[1] <= 5  # 1 expected
    assert small[2] <= 20  # 10 expected


def test_groups_as_perceived_in_each_photo_have_the_power_of_a_cluster_robust_t() -> None:
    found = np.zeros(2)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        unit = np.repeat(np.arange(60), 10)
        own = unit % 2
        group = np.where(rng.random(unit.size) < 0.1, 1 - own, own)
        rate = np.where(np.arange(60) % 2, 0.62, 0.82)
        right = rng.random(unit.size) < rng.beta(rate * 7 / 3, (1 - rate) * 7 / 3)[unit]
        tables = UnitRates(np.zeros_like(unit), group, 1 - right, unit, np.ones(unit.size), 2, 2)
        drawn = next(tables.draws(rng, ("hit",), 399, within=False))["hit"]
        rates = [right[group == g].mean() for g in (0, 1)]
        score = (right - np.take(rates, group)) / np.bincount(group)[group] * np.where(group, -1, 1)
        error = np.sqrt((np.bincount(unit, score) ** 2).sum() * 60 / 59)
        found += (
            ExchangedRates(tables.observed("hit"), drawn).below_rest().p_value <= 0.05,
            2 * stats.t.sf(abs(rates[0] - rates[1]) / error, 59) <= 0.05,
        )
    assert found[1] >= 30
    assert found[0] >= 0.85 * found[1]


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
    monkeypatch.setattr("evenhand.stats.exchange.compared_rates._HELD", 30)
    rng = np.random.default_rng(3)
    trials = rng.integers(0, 9, (7, 5)).astype(float)
    hits = rng.binomial(trials.astype(int), 0.4, (40, 7, 5)).astype(float)
    tally = ComparedRates.of_rows(hits, trials, None if middle is None else np.full((7, 5), middle))
    rates, variance = tally.rates, tally.variance
    expected = np.zeros(40)
    for i in range(7):
        for j in range(i):
            t = np.abs(rates[:, i] - rates[:, j]) / np.sqrt(variance[:, i] + variance[:, j])
            expected = np.fmax(expected, np.nanmax(t, axis=1))
    np.testing.assert_allclose(tally.largest(), expected)


def test_the_lowest_group_is_compared_with_the_others() -> None:
    hits, trials = np.array([[[40.0], [45.0], [10.0]]]), np.array([[50.0], [50.0], [20.0]])
    tally = ComparedRates.of_rows(hits, trials)
    p = 95 / 120
    error = np.sqrt(p * (1 - p) * (1 / 20 + 1 / 100))
    below = ExchangedRates(tally, tally).below_rest()
    assert below.observed == below.draws[0] == pytest.approx((85 / 100 - 10 / 20) / error)


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
    wider = widened(np.array([[95.0], [50.0]]), np.array([[100.0], [100.0]]))
    p, own = 145 / 200, (50 + 4 * 145 / 200) / 104
    expected = np.sqrt(own * (1 - own) / (p * (1 - p)))
    assert wider[1, 0] == pytest.approx(expected)
    assert wider[0, 0] < 1 < wider[1, 0]


def test_wider_noise_is_that_much_wider_where_differences_are_as_observed() -> None:
    rng = np.random.default_rng(3)
    away, noise = 0.2 * rng.standard_normal((3, 8)), 0.05 * rng.standard_normal((300, 3, 8))
    variance, ones = np.full(away.shape, 0.0025), np.ones(away.shape)

    def limits(noise: np.ndarray, wider: np.ndarray) -> tuple[float, float]:
        found = mean_range(0.6, [away], [variance], [noise], [wider], lambda ranges: ranges.mean(axis=-1))
        return found.limits()

    assert limits(noise, 2 * ones)[0] == pytest.approx(limits(2 * noise, ones)[0], abs=0.02)
    assert limits(noise, 2 * ones)[0] < limits(noise, ones)[0] - 0.02


def test_a_small_weighted_group_that_looks_sure_of_itself_varies_as_all_rows_do() -> None:
    """A group without a single row that weighs most: the spread is that of all rows; of many, their own."""

    def varying(scale: float, rows: float) -> float:
        n, wrong = np.array([rows, 400.0]), np.array([0.0, 120.0])
        weight, square = scale * (n + 3 * wrong), scale**2 * (n + 15 * wrong)
        parts = [values[:, None] for values in (scale**2 * (n - wrong), scale**2 * (n - wrong), square, n)]
        hits, trials = scale * (n - wrong)[None, :, None], weight[None, :, None]
        tally = ComparedRates.of_units(hits, trials, UnitMoments(*parts, None))
        return float(tally.variance[0, 0, 0])

    p = (20 + 280) / (20 + 280 + 480)
    of_all = (20 * (1 - p) ** 2 + (280 * (1 - p) ** 2 + 120 * 16 * p**2) * (400 / 760) ** 2) / 420
    assert 0.85 * of_all / 20 < varying(1, 20) < of_all / 20
    assert varying(1, 200_000) * 200_000 < 0.01 * of_all
    assert varying(1000, 20) == pytest.approx(varying(1, 20))


@pytest.mark.parametrize("kind", ["predicted", "true", "false"])
def test_products_over_units_of_several_groups_are_those_of_a_loop(kind: str) -> None:
    tables = units(mixed=True, persons=30)
    tables = replace(tables, weight=np.random.default_rng(3).uniform(0.2, 1, tables.unit.size))
    shares = UnitShares(tables.group, tables.unit, weight=tables.weight, groups=3)
    drawn = shares.exchanged(np.random.default_rng(4), 5)
    share, sign = drawn.of_units, drawn.inside_units
    first, second = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])
    columns = tables._columns(kind, False, by_unit=True)
    ss, sw, ws, ww = columns.products(share, sign, first, second)
    there = columns.units(share)
    for label in range(3):
        hit, trial = masks(tables, kind, label)
        s, w = (np.bincount(tables.unit[rows], tables.weight[rows], 30) for rows in (hit, trial))
        inside = np.zeros((30, 3))
        np.add.at(inside, (tables.unit[hit], tables.group[hit]), tables.weight[hit])
        inside -= shares.of_units * s[:, None]
        hits = share * s[:, None, None] + sign[..., None] * inside[:, None]
        trials = share * w[:, None, None]
        for k, (g, h) in enumerate(zip(first, second, strict=True)):
            np.testing.assert_allclose(ss[:, k, label], (hits[..., g] * hits[..., h]).sum(axis=0))
            np.testing.assert_allclose(sw[:, k, label], (hits[..., g] * trials[..., h]).sum(axis=0))
            np.testing.assert_allclose(ws[:, k, label], (trials[..., g] * hits[..., h]).sum(axis=0))
            np.testing.assert_allclose(ww[:, k, label], (trials[..., g] * trials[..., h]).sum(axis=0))
        some = (share > 0) & (w > 0)[:, None, None]
        np.testing.assert_allclose(there[..., label], some.sum(axis=0))
