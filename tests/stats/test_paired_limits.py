"""Degrees of freedom of t and both ends of paired differences: against scipy and loops over units."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.association.two_way import single_set
from evenhand.stats.contingency.resampling import split_hypergeometric
from evenhand.stats.exchange.rows import UnitRows, expected_variance, likeness
from evenhand.stats.exchange.unit_rates import Column
from evenhand.stats.paired.differences import Deviations, Paired
from evenhand.stats.paired.sums import PairedEffects, PairedSums, Summary, strata_of
from tests.helpers import wilson

MEAN = Summary("weights", (0,), (1.0,))


def paired(first, second, size=None):
    """Sums of each unit in one column."""
    sums = [np.asarray(one, dtype=float)[:, None] for one in (first, second)]
    size = np.ones(sums[0].shape) if size is None else np.asarray(size, dtype=float)[:, None]
    return PairedSums.of(*sums, size, np.zeros(len(size), dtype=np.int64), (MEAN,))


@pytest.mark.parametrize("n", [3, 4, 12])
def test_numbers_of_any_size_have_the_t_interval_of_pairs(n):
    first, second = np.random.default_rng(n).normal((2.0, 1.0), (0.5, 1.0), (n, 2)).T
    told = stats.ttest_rel(first, second).confidence_interval(0.9)
    assert paired(first, second).limits(0, np.random.default_rng(0))(0.9) == pytest.approx(tuple(told))


def test_units_of_unequal_size_have_fewer_degrees_of_freedom():
    rng = np.random.default_rng(1)
    size = np.array([1.0, 2, 3, 10, 4, 1])
    first, second = size * rng.normal(2, 1, 6), size * rng.normal(1, 1, 6)
    moved, value = 0.0, (first - second).sum() / size.sum()
    for unit in range(6):
        share = size[unit] / size.sum()
        away = (first - second)[unit] - value * size[unit]
        moved += 5 / 6 * (away / size.sum() / (1 - share)) ** 2
    kish = size.sum() ** 2 / (size**2).sum()
    reach = stats.t.ppf(0.975, kish - 1) * np.sqrt(moved)
    found = paired(first, second, size).limits(0, np.random.default_rng(0))(0.95)
    assert found == pytest.approx((value - reach, value + reach))


def test_two_samples_are_samples():
    made = paired([1.0, 0.0], [1.0, 0.0])
    reach = np.sqrt(2) * (0.5 - wilson(1, 2)[0])  # two units say nothing of a correlation
    assert made.limits(0, np.random.default_rng(0))(0.95) == pytest.approx((-reach, reach))


def test_effect_sizes_of_two_models_have_t_over_items():
    rng = np.random.default_rng(3)
    made = PairedEffects(rng.normal(size=9), rng.normal(size=9), np.arange(9) < 4)
    first, second = made.resampled(np.random.default_rng(7), 999)[..., 0]
    value = np.subtract(*made.observed()[:, 0])
    reach = stats.t.ppf(0.95, 9 - 2) * (first - second).std(ddof=1)
    assert made.limits(0, np.random.default_rng(7))(0.9) == pytest.approx((value - reach, value + reach))


def bonett_price(d, second, cluster, level):
    """Mean of one group minus that of another, with loops; see ``Deviations.limits``."""
    groups = [d[~second], d[second]]
    value, weight = (
        groups[0].mean() - groups[1].mean(),
        {False: 1 / len(groups[0]), True: -1 / len(groups[1])},
    )
    quantile, shrunk, kish = stats.norm.ppf((1 + level) / 2), 1.0, 0.0
    if cluster is not None:
        names = sorted(set(cluster.tolist()))
        loads = [
            sum(abs(weight[bool(s)]) for s, c in zip(second, cluster, strict=True) if c == one)
            for one in names
        ]
        kish = sum(loads) ** 2 / sum(load**2 for load in loads)
        quantile = stats.t.ppf((1 + level) / 2, max(kish - 1, 1))
        away = [weight[bool(s)] * (x - groups[int(s)].mean()) for x, s in zip(d, second, strict=True)]
        sums = [sum(a for a, c in zip(away, cluster, strict=True) if c == one) for one in names]
        alone, clustered = sum(a**2 for a in away), len(names) / (len(names) - 1) * sum(s**2 for s in sums)
        shrunk = 0.0 if alone == 0 else 1.0 if clustered == 0 else min(1.0, alone / clustered)
    centre, variance = 0.0, 0.0
    for sign, x in zip((1, -1), groups, strict=True):
        n = (len(x) * shrunk if shrunk > 0 else min(kish, len(x))) + 2
        mean, square = x.mean() * (n - 2) / n, ((x**2).mean() * (n - 2) + 2) / n
        centre += sign * mean
        variance += (square - mean**2) / n
    reach = quantile * np.sqrt(variance)
    return min(centre - reach, value), max(centre + reach, value)


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("units", [None, 5, 11])
@pytest.mark.parametrize("alike", [False, True])
def test_paired_changes_have_bonett_and_prices_limits(level, units, alike):
    rng = np.random.default_rng(4)
    second = rng.random(40) < 0.4
    cluster = None if units is None else rng.integers(0, units, 40) * 3
    d = np.full(40, 0.0) if alike else rng.choice([-1.0, 0.0, 1.0], 40, p=(0.1, 0.5, 0.4))
    if units == 5 and not alike:
        d = np.round(rng.normal(size=13)[cluster]).clip(-1, 1)  # units move together
    found = Deviations(d, second, (1.0, -1.0), cluster).limits(level)
    assert found == pytest.approx(bonett_price(d, second, cluster, level))


def test_one_cluster_has_no_limits_and_two_have_those_of_one_degree_of_freedom():
    d, second = np.array([1.0, 0.0, 1.0, -1.0]), np.array([False, True, False, True])
    assert np.isnan(Deviations(d, second, (1.0, -1.0), np.zeros(4, dtype=int)).limits(0.95)).all()
    two = np.array([0, 0, 1, 1])
    expected = bonett_price(d, second, two, 0.95)
    assert Deviations(d, second, (1.0, -1.0), two).limits(0.95) == pytest.approx(expected)


def test_signs_of_very_many_samples_are_normal():
    n = 20_001
    d = np.where(np.arange(n) < 10_200, 1.0, -1.0)
    found = Deviations(d, np.zeros(n, dtype=bool), (1.0, 0.0), None).exchanged(np.random.default_rng(0))
    error = 1 / np.sqrt(n)  # each adds 1 / n with a random sign
    assert (found.sd, found.replicates, found.mean) == (pytest.approx(error), None, 0.0)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(d.mean()) / error))
    assert 0.001 < found.p_value < 0.9
    assert found.band(0.9) == pytest.approx((-stats.norm.ppf(0.95) * error, stats.norm.ppf(0.95) * error))
    d = np.tile([1.0, 1.0, -1.0], 17)
    drawn = Deviations(d, np.zeros(51, dtype=bool), (1.0, 0.0), None).exchanged(np.random.default_rng(0))
    assert drawn.replicates == drawn.sums.size == 9999
    assert drawn.p_value == pytest.approx(stats.binomtest(17, 51).pvalue, abs=0.006)
    below = np.mean(drawn.sums <= drawn.band(0.9)[0])
    law = stats.binom(51, 0.5)
    assert below == pytest.approx(law.cdf(round(51 * (1 + drawn.band(0.9)[0]) / 2)), abs=0.01)


def test_few_signs_are_enumerated():
    rng = np.random.default_rng(16)
    numbers = rng.normal(0.3, 1, 11)
    sums = np.array([signs @ np.abs(numbers) for signs in np.array(list(product((-1, 1), repeat=11)))])
    found = Paired.of(numbers, rng)
    assert (found.sums, found.replicates) == (pytest.approx(np.sort(sums)), None)
    assert found.value == pytest.approx(numbers.sum())
    assert found.sd == pytest.approx(sums.std())
    assert found.p_value == pytest.approx(np.mean(np.abs(sums) >= abs(numbers.sum()) - 1e-9), abs=1e-12)
    drawn = Paired.of(np.tile(numbers, 4) / 4, rng)
    assert drawn.replicates == 9999
    assert drawn.p_value == pytest.approx(2 * stats.norm.sf(abs(drawn.value) / drawn.sd), abs=0.01)


def test_signs_of_no_numbers_of_zeros_and_of_one_say_nothing():
    rng = np.random.default_rng(0)
    assert [Paired.of(np.array(some), rng).p_value for some in ([], [0.0, 0.0], [3.0])] == [1, 1, 1]


def test_one_set_of_targets_has_the_error_and_freedom_of_crossed_samples():
    """Clark's quasi-F with Satterthwaite's degrees of freedom, by hand."""
    rng = np.random.default_rng(5)
    table = (
        rng.normal(size=(6, 7))
        + rng.normal(0, 0.5, (6, 1)) * np.array([1, 1, 1, -1, -1, -1, -1])
        + rng.normal(size=7)
    )
    phi, words = table[:, :3].mean(axis=1) - table[:, 3:].mean(axis=1), table.mean(axis=0)
    over = [(phi.var(ddof=1) / 6, 5), (words[:3].var(ddof=1) / 3, 2), (words[3:].var(ddof=1) / 4, 3)]
    beside = []
    for block in (table[:, :3], table[:, 3:]):
        rows, columns = block.shape
        rest = block - block.mean(axis=0) - block.mean(axis=1, keepdims=True) + block.mean()
        freedom = (rows - 1) * (columns - 1)
        beside.append(((rest**2).sum() / freedom / block.size, freedom))
    variance = sum(v for v, _ in over) - sum(v for v, _ in beside)
    freedom = variance**2 / sum(v**2 / f for v, f in (*over, *beside))
    found = single_set(table, 3)
    assert (found.value, found.error**2) == pytest.approx((phi.mean(), variance))
    assert freedom > 2
    assert found.freedom == pytest.approx(freedom)
    reach = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    assert found.limits(0.95) == pytest.approx((phi.mean() - reach, phi.mean() + reach))
    assert found.p_value() == pytest.approx(2 * stats.t.sf(abs(phi.mean()) / np.sqrt(variance), freedom))


def test_likeness_is_over_pairs_of_the_rows_of_a_unit():
    rng = np.random.default_rng(6)
    unit = np.repeat(np.arange(8), [1, 2, 3, 4, 5, 1, 2, 3])
    value = (rng.random(8)[unit] < 0.5).astype(float)
    value[::5] = 1 - value[::5]
    rows, p = UnitRows(value, np.arange(21) % 2, 2, unit), value.mean()
    pairs = [(i, j) for i in range(21) for j in range(21) if i != j and unit[i] == unit[j]]
    rho = sum((value[i] - p) * (value[j] - p) for i, j in pairs) / len(pairs) / (p * (1 - p))
    assert 0 < rho < 1
    assert likeness(rows) == pytest.approx(rho)
    size = np.bincount(unit)
    assert expected_variance(rows) == pytest.approx(size**2 * p * (1 - p) * (rho + (1 - rho) / size))
    assert likeness(UnitRows(value, np.arange(21) % 2, 2)) == 0.0
    assert likeness(UnitRows(np.ones(21), np.arange(21) % 2, 2, unit)) == 0.0


@pytest.mark.parametrize("common", [None, np.array([1.0, 2.0, 0.5, 3.0])])
def test_sums_of_sparse_and_common_numbers_are_those_of_the_dense_table(common):
    cells, values = np.array([0, 4, 5, 9, 11]), np.array([2.0, 3.0, -1.0, 0.0, 7.0])
    column = Column.of(3, cells, values, 4, common)
    dense = np.zeros((4, 3)) if common is None else np.tile(common[:, None], 3)
    for cell, value in zip(cells, values, strict=True):
        dense[cell // 3, cell % 3] += value
    assert column.dense(slice(0, 3)).tolist() == dense.tolist()
    assert column.dense(slice(1, 3)).tolist() == dense[:, 1:].tolist()
    member = np.random.default_rng(0).integers(0, 2, (4, 6)).astype(float)
    expected = (dense.T @ member).T.reshape(2, 3, 3)
    np.testing.assert_allclose(column.summed(member, (2, 3)), expected)
    np.testing.assert_allclose(column.total(), dense.sum(axis=0))


def test_very_large_groups_are_split_with_the_moments_of_the_hypergeometric():
    """At 10^9 rows, where numpy's sampler ends, numbers are normal with the same mean and variance."""
    sizes = np.array([[6e8, 5.0], [9e8, 7.0]])
    total = np.array([3e8, 4.0])
    parts = split_hypergeometric(np.random.default_rng(0), total, sizes, 4000)
    assert (parts.sum(axis=1) == total).all()
    for label, law in enumerate((stats.hypergeom(int(1.5e9), int(6e8), int(3e8)), stats.hypergeom(12, 5, 4))):
        drawn = parts[:, 0, label]
        assert drawn.mean() == pytest.approx(law.mean(), abs=4 * law.std() / np.sqrt(4000))
        assert drawn.std(ddof=1) == pytest.approx(law.std(), rel=0.06)
    most = split_hypergeometric(np.random.default_rng(0), np.array([2.0]), np.array([[1.0], [2e9]]), 500)
    assert set(most[:, 0, 0]) <= {0.0, 1.0}


@pytest.mark.parametrize("numbers", [[1, 2, 4], [1, 1, 1], [3, 3, 1, 2]])
@pytest.mark.parametrize("tail", [Fraction(1, 16), Fraction(3, 16), Fraction(1, 40)])
def test_the_band_of_signs_ends_where_mid_p_is_at_least_the_tail(numbers, tail):
    sums = [sum(map(np.multiply, signs, numbers)) for signs in product((-1, 1), repeat=len(numbers))]

    def mid(at, side):
        return Fraction(sum(2 * int(side * s > side * at) + int(s == at) for s in sums), 2 * len(sums))

    low = min(s for s in sums if mid(s, -1) >= tail)
    high = max(s for s in sums if mid(s, 1) >= tail)
    d = np.array(numbers) * float(len(numbers))  # the mean of which is the sum of the numbers
    none, rng = np.zeros(d.size, dtype=bool), np.random.default_rng(0)
    found = Deviations(d, none, (1.0, 0.0), None).exchanged(rng).band(float(1 - 2 * tail))
    assert found == pytest.approx((low, high))


@pytest.mark.parametrize(("n", "signs"), [(13, 2**13), (14, 9999), (20_000, 9999), (20_001, 0)])
def test_signs_are_enumerated_or_drawn_or_normal_by_how_many_there_are(n, signs, monkeypatch):
    monkeypatch.setattr("evenhand.stats.paired.differences.FLIPS", 9999 if n < 99 else 5)
    d = np.append(np.ones(n), 0.0)
    found = Deviations(d, np.zeros(n + 1, dtype=bool), (1.0, 0.0), None).exchanged(np.random.default_rng(0))
    assert found.sums.size == (min(signs, 5) if n > 99 else signs)
    assert (found.replicates is not None) == (signs == 9999)


def test_one_large_unit_among_small_ones_leaves_one_degree_of_freedom():
    size = np.array([30.0, 1, 1])
    first, second = size * np.array([2.0, 2.5, 1.5]), size * np.array([1.0, 1.7, 1.2])
    value, moved = (first - second).sum() / 32, 0.0
    for unit in range(3):
        away = (first - second)[unit] - value * size[unit]
        moved += 2 / 3 * (away / 32 / (1 - size[unit] / 32)) ** 2
    reach = stats.t.ppf(0.975, 1) * np.sqrt(moved)
    found = paired(first, second, size).limits(0, np.random.default_rng(0))(0.95)
    assert found == pytest.approx((value - reach, value + reach))


@pytest.mark.parametrize(
    ("kinds", "strata"),
    [
        ("10 10 01 01", [1, 1, 0, 0]),  # as many kinds as columns
        ("10 10 01 01 11 11", [0] * 6),
        ("10 10 10 01", [0] * 4),
        ("11 11", [0, 0]),
    ],
)
def test_units_of_the_same_columns_are_a_stratum_where_each_has_two(kinds, strata):
    size = np.array([[float(one) for one in kind] for kind in kinds.split()])
    assert strata_of(3 * size).tolist() == strata
