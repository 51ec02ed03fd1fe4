"""Intervals of V: the jackknife by real deletion, inversion, coverage of the score interval."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.contingency.effect_intervals import (
    blended,
    phi_squared,
    score_draws,
    score_limits,
)
from evenhand.stats.contingency.null_tables import permutation_moments
from evenhand.stats.contingency.tables import TableBatch, association
from tests.helpers import one_table

RNG = np.random.default_rng(0)
TABLES = [
    [[40, 10, 5], [20, 30, 8]],
    [[9, 1], [4, 6]],
    [[3, 0, 7], [0, 5, 5], [9, 1, 0]],
    RNG.integers(0, 30, (5, 8)) + 1,
]
LONE = [[[1, 0, 0], [2, 3, 0], [4, 0, 1]], [[1, 0, 0, 0], [0, 1, 2, 4], [3, 5, 0, 2]], [[2, 0], [1, 2]]]


def score_interval(tables, found):
    """The score limits on the scale of V."""
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    ends = score_limits(found.centre, found.noise, found.slope, 0.95)
    return [np.sqrt(np.clip(end / dof, 0, 1)) for end in ends]


def jackknife(table):
    """Variance and bias of phi-squared by really deleting one row at a time, the groups' shares fixed."""
    table = np.asarray(table, dtype=float)
    weight = table.sum(axis=1) / table.sum()

    def value(counts):
        shares = counts / counts.sum(axis=1, keepdims=True)
        pooled = weight @ shares
        return (weight[:, None] * shares**2)[:, pooled > 0].sum(axis=0) @ (1 / pooled[pooled > 0]) - 1

    whole, variance, bias = value(table), 0.0, 0.0
    for i, size in enumerate(table.sum(axis=1)):
        if size == 1:
            continue
        values = []
        for j in np.flatnonzero(table[i]):
            fewer = table.copy()
            fewer[i, j] -= 1
            values += [value(fewer)] * int(table[i, j])
        variance += (size - 1) / size * np.square(values - np.mean(values)).sum()
        bias += (size - 1) * (np.mean(values) - whole)
    return variance, bias


def lone_terms(table):
    """What rows and columns of few counts have instead: the bias of their cells, their share of the rows."""
    table = np.asarray(table)
    rows, columns, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    bias = np.outer(1 - rows / n, 1 - columns / n) / (n - 1)
    lone = (rows == 1)[:, None] | (columns == 1)
    return (rows <= 2).sum() / (len(rows) - 1), bias[lone].sum()


@pytest.mark.parametrize("table", [*TABLES, *LONE])
def test_centre_and_variance_follow_from_deleting_every_row(table):
    batch = one_table(table)
    tables = association(batch)
    n, found = tables.n[0], phi_squared(batch, tables)
    floor = (tables.n_rows[0] - 1) * (tables.n_columns[0] - 1) / (n - 1)
    plain, noise = tables.chi2[0] / n, permutation_moments(batch, tables)[1][0] / n**2
    (variance, bias), (small_rows, lone_bias) = jackknife(table), lone_terms(table)
    bias += lone_bias
    variance += 2 * noise * small_rows
    chance = min(1, floor / plain)
    assert found.centre[0] == pytest.approx(plain - bias, rel=1e-9, abs=1e-12)
    assert found.noise[0] == pytest.approx(noise)
    signal = max(plain - floor, np.sqrt(2 * floor * (n - 1)) / n / 2)
    blended = chance * 4 / n + (1 - chance) * max(variance - noise, 0) / max(plain, floor)
    assert found.slope[0] == pytest.approx(max(blended, (variance - (1 + chance) * noise) / signal))


def test_many_tables_are_treated_as_each_alone_in_any_order_of_rows_and_columns():
    tables = RNG.poisson(0.7, (20, 4, 9))
    batch = TableBatch.from_dense(tables)
    together = phi_squared(batch, association(batch))
    for index, table in enumerate(tables):
        batch = one_table(RNG.permutation(RNG.permutation(table, axis=0), axis=1))
        alone = phi_squared(batch, association(batch))
        for name in ("centre", "noise", "slope"):
            assert getattr(alone, name)[0] == pytest.approx(
                getattr(together, name)[index], rel=1e-9, abs=1e-12
            )


def test_a_billion_counts_lose_no_precision():
    scaled = []
    for scale in (10**4, 10**9):
        batch = one_table(scale * np.array([[1, 2, 3], [2, 2, 1]]))
        tables = association(batch)
        found, n = phi_squared(batch, tables), tables.n[0]
        scaled.append([tables.chi2[0] - n * found.centre[0], n * n * found.noise[0], n * found.slope[0]])
    assert scaled[1] == pytest.approx(scaled[0], rel=1e-3)


def test_without_association_the_variance_is_that_of_permutations():
    table = np.outer([50, 30], [3, 4, 3])
    batch = one_table(table)
    tables = association(batch)
    found = phi_squared(batch, tables)
    n = table.sum()
    assert found.centre[0] == pytest.approx(-2 / (n - 1), rel=0.005)  # by the jackknife
    assert found.noise[0] == pytest.approx(permutation_moments(batch, tables)[1][0] / n**2)
    assert found.slope[0] == pytest.approx(4 / n)


def test_a_table_more_even_than_chance_allows_does_not_put_v_at_zero():
    batch = one_table(np.tile([1, 2], (3, 20)))
    tables = association(batch)
    found = phi_squared(batch, tables)
    assert found.centre[0] < -2 * np.sqrt(found.noise[0])
    low, high = score_interval(tables, found)
    assert low[0] == 0
    assert high[0] > 0.02
    edge = replace(found, centre=-stats.norm.ppf(0.95) * np.sqrt(found.noise))
    assert high[0] == pytest.approx(score_interval(tables, edge)[1][0])


@pytest.mark.parametrize("table", TABLES)
def test_the_score_interval_holds_exactly_the_values_within_z_of_their_own_error(table):
    batch = one_table(table)
    tables = association(batch)
    found = phi_squared(batch, tables)
    low, high = (end[0] ** 2 * tables.dof[0] for end in score_interval(tables, found))
    for end in (low, high):
        if 0 < end < tables.dof[0]:
            distance = abs(found.centre[0] - end)
            assert distance == pytest.approx(
                1.959964 * np.sqrt(found.noise[0] + found.slope[0] * end), rel=1e-5
            )
    assert low < high


@pytest.mark.parametrize(
    "table", [[[10, 10], [10, 10]], [[3, 0], [0, 3]], [[1, 0], [0, 1]], [[1, 1], [1, 1]]]
)
def test_the_score_interval_never_collapses(table):
    batch = one_table(table)
    tables = association(batch)
    low, high = score_interval(tables, phi_squared(batch, tables))
    assert high[0] - low[0] > 0.2
    value = tables.statistic("cramers_v")[0]
    assert low[0] <= value <= high[0]


@pytest.mark.parametrize("v", [0.0, 0.1, 0.25])
def test_the_score_interval_of_2x2_tables_covers(v):
    rng = np.random.default_rng(3)
    tables = np.stack([rng.binomial(100, 0.5 + v / 2, 2000), rng.binomial(100, 0.5 - v / 2, 2000)], axis=1)
    batch = TableBatch.from_dense(np.stack([tables, 100 - tables], axis=2))
    found = association(batch)
    low, high = score_interval(found, phi_squared(batch, found))
    assert 0.92 <= ((low <= v + 1e-9) & (v <= high)).mean() <= 0.98


def test_score_draws_have_the_moments():
    batch = one_table(TABLES[0])
    tables = association(batch)
    found = phi_squared(batch, tables)
    noise = np.random.default_rng(2).standard_normal((20_000, 1))
    squared = score_draws(tables, found, noise * 0.1) ** 2
    error = np.sqrt(found.noise[0] + found.slope[0] * max(found.centre[0], 0))
    assert squared.mean() == pytest.approx(tables.chi2[0] / tables.n[0], rel=0.02)
    assert squared.std() == pytest.approx(0.1 * error, rel=0.03)


@pytest.mark.parametrize("table", [[[5], [4]], [[5, 4]], [[9]]])
def test_undefined_v_has_no_interval(table):
    batch = one_table(table)
    tables = association(batch)
    assert np.isnan(score_interval(tables, phi_squared(batch, tables))).all()


def test_nothing_is_known_of_a_table_of_one_row():
    batch = TableBatch.from_dense(np.array([[[1, 0], [0, 0]], [[1, 0], [0, 1]]]))
    known = phi_squared(batch, association(batch))
    assert all(np.isnan(array[0]) for array in vars(known).values())
    assert known.size[1] == 2


@pytest.mark.parametrize("plain", [0.01, 0.06, 0.3])
@pytest.mark.parametrize("n", [2.0, 3.0, 40.0])
def test_the_variance_grows_with_what_is_more_than_half_a_deviation_of_noise(plain, n):
    freedom, noise, variance, bias = 2.0, 0.003, 0.02, 0.01
    floor = freedom / (n - 1)
    found = blended(*(np.array([x]) for x in (plain, floor, noise, variance, bias, n)))
    chance = min(1, floor / plain)
    mixed = chance * 4 / n + (1 - chance) * (variance - noise) / max(plain, floor)
    deviation = stats.chi2(freedom).std() / n
    most = (variance - (1 + chance) * noise) / max(plain - floor, deviation / 2)
    assert found.slope[0] == pytest.approx(max(mixed, most))
    assert (found.centre[0], found.floor[0]) == pytest.approx((plain - bias, floor))


def test_draws_around_a_table_without_an_effect_spread_by_noise_alone():
    batch = one_table([[20, 20, 21], [20, 21, 20]])
    found = association(batch)
    known, noise = phi_squared(batch, found), np.array([[-1.0], [0.5], [2.0]])
    assert known.centre[0] < 0
    squared = found.chi2 / found.n + noise[:, 0] * np.sqrt(known.noise)
    drawn = score_draws(found, known, noise)
    assert drawn[:, 0] == pytest.approx(np.sqrt(np.clip(squared, 0, 1)))
