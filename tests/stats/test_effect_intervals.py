"""Intervals: the delta method against finite differences, the score interval, inversion and Wilson."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.effect_intervals import (
    delta_interval,
    noncentral_interval,
    phi_squared,
    score_draws,
    score_interval,
    wilson_interval,
)
from tests.helpers import one_table

RNG = np.random.default_rng(0)
TABLES = [
    [[40, 10, 5], [20, 30, 8]],
    [[9, 1], [4, 6]],
    [[3, 0, 7], [0, 5, 5], [9, 1, 0]],
    RNG.integers(0, 30, (5, 8)) + 1,
]


def numeric_error(table, step=1e-6):
    """Standard error of phi-squared by central differences in every q_ij, rows fixed."""
    table = np.asarray(table, dtype=float)
    n = table.sum()
    weight, q = table.sum(axis=1) / n, table / table.sum(axis=1, keepdims=True)

    def phi_squared(shares):
        # columns that occur; the row shares stay as they are while one q_ij moves
        return (weight[:, None] * shares**2 / (weight @ shares)).sum()

    slope = np.zeros_like(q)
    for i, j in np.ndindex(q.shape):
        up, down = q.copy(), q.copy()
        up[i, j] += step
        down[i, j] -= step
        slope[i, j] = (phi_squared(up) - phi_squared(down)) / (2 * step) / weight[i]
    mean = (q * slope).sum(axis=1)
    variance = (q * slope**2).sum(axis=1) - mean**2
    return np.sqrt((weight * variance).sum() / n)


def numeric_bias(table, step=1e-4):
    """Second-order bias of phi-squared: half the trace of (Hessian x covariance), rows fixed, numerically."""
    table = np.asarray(table, dtype=float)
    n = table.sum()
    weight, q = table.sum(axis=1) / n, table / table.sum(axis=1, keepdims=True)

    def value(shares):
        return (weight[:, None] * shares**2 / (weight @ shares)).sum()

    total = 0.0
    for i, j in np.ndindex(q.shape):
        up, down = q.copy(), q.copy()
        up[i, j] += step
        down[i, j] -= step
        second = (value(up) - 2 * value(q) + value(down)) / step**2
        # columns are separate in phi-squared, so that only the diagonal of the Hessian is not 0
        total += second * q[i, j] * (1 - q[i, j]) / table[i].sum() / 2
    return total


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("table", TABLES)
def test_delta_interval_equals_finite_differences(table, level):
    batch = one_table(table)
    tables = association(batch)
    low, high = delta_interval(batch, tables, level)
    rows, columns, n = tables.n_rows[0], tables.n_columns[0], tables.n[0]
    centre = tables.chi2[0] / n - (rows - 1) * (columns - 1) / (n - 1)
    half = stats.norm.ppf((1 + level) / 2) * numeric_error(table)
    dof = tables.dof[0]
    assert high[0] ** 2 * dof == pytest.approx(min(max(centre + half, 0), dof), rel=1e-6, abs=1e-9)
    assert low[0] ** 2 * dof == pytest.approx(min(max(centre - half, 0), dof), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("table", TABLES)
def test_the_centre_lies_between_the_two_bias_terms_by_the_share_that_is_not_noise(table):
    batch = one_table(table)
    tables = association(batch)
    n = tables.n[0]
    floor = (tables.n_rows[0] - 1) * (tables.n_columns[0] - 1) / (n - 1)
    plain = tables.chi2[0] / n
    share = max(plain - floor, 0) / plain
    bias = floor - share / 2 * (floor - numeric_bias(table))
    assert phi_squared(batch, tables).centre[0] == pytest.approx(plain - bias, rel=1e-5)


def test_without_association_the_variance_is_that_of_chi_squared():
    table = np.outer([50, 30], [3, 4, 3])
    batch = one_table(table)
    found = phi_squared(batch, association(batch))
    n = table.sum()
    assert found.noise[0] == pytest.approx(2 * 2 / (n - 1) ** 2)
    assert found.slope[0] == pytest.approx(4 / n)


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
    squared = score_draws(tables, found, noise * 0.1, corrected=True) ** 2
    assert squared.mean() == pytest.approx(found.centre[0], rel=0.02)
    assert squared.std() == pytest.approx(0.1 * found.error[0], rel=0.03)
    plain = score_draws(tables, found, noise * 0.1, corrected=False) ** 2
    assert plain.mean() == pytest.approx(tables.chi2[0] / tables.n[0], rel=0.02)


@pytest.mark.parametrize("table", TABLES)
def test_noncentral_interval_puts_the_tails_at_the_observed_value(table):
    tables = association(one_table(table))
    degrees = (tables.n_rows[0] - 1) * (tables.n_columns[0] - 1)
    low, high = noncentral_interval(tables)
    shift = [end[0] ** 2 * tables.dof[0] * tables.n[0] for end in (low, high)]
    if low[0] > 0:
        assert stats.ncx2.sf(tables.chi2[0], degrees, shift[0]) == pytest.approx(0.025, rel=1e-6)
    if 0 < high[0] < 1:
        assert stats.ncx2.cdf(tables.chi2[0], degrees, shift[1]) == pytest.approx(0.025, rel=1e-6)
    assert low[0] <= high[0]


@pytest.mark.parametrize("table", [[[5], [4]], [[5, 4]], [[9]]])
def test_undefined_v_has_no_interval(table):
    batch = one_table(table)
    tables = association(batch)
    ends = (
        *score_interval(tables, phi_squared(batch, tables)),
        *delta_interval(batch, tables),
        *noncentral_interval(tables),
    )
    assert np.isnan(ends).all()


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_equals_scipy(n, share, level):
    hits = round(n * share)
    expected = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    low, high = wilson_interval(np.array([hits]), np.array([n]), level)
    assert low[0] == pytest.approx(expected.low, abs=1e-12)
    assert high[0] == pytest.approx(expected.high, abs=1e-12)


def test_wilson_without_rows_is_undefined_and_never_of_zero_width():
    low, high = wilson_interval(np.array([0.0, 0.0, 5.0]), np.array([0.0, 5.0, 5.0]))
    assert np.isnan([low[0], high[0]]).all()
    assert (high[1:] - low[1:] > 0.1).all()
    assert low.min(where=~np.isnan(low), initial=1) >= 0
