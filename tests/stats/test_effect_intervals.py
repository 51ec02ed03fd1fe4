"""Intervals: the delta method against finite differences, inversion and Wilson against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.contingency import association
from evenhand.stats.effect_intervals import (
    delta_draws,
    delta_interval,
    delta_moments,
    noncentral_interval,
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


@pytest.mark.parametrize("table", TABLES)
def test_delta_error_equals_finite_differences(table):
    batch = one_table(table)
    tables = association(batch)
    centre, error = delta_moments(batch, tables)
    assert error[0] == pytest.approx(numeric_error(table), rel=1e-6)
    rows, columns, n = tables.n_rows[0], tables.n_columns[0], tables.n[0]
    assert centre[0] == pytest.approx(tables.chi2[0] / n - (rows - 1) * (columns - 1) / (n - 1), rel=1e-12)


@pytest.mark.parametrize("table", TABLES)
def test_delta_error_is_the_spread_of_resampled_tables(table):
    large = np.asarray(table) * 200  # so large that the linear approximation holds
    batch = one_table(large)
    _, error = delta_moments(batch, association(batch))
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.multinomial(row.sum(), row / row.sum(), 3000) for row in large], axis=1)
    expected = drawn.sum(2, keepdims=True) * drawn.sum(1, keepdims=True) / large.sum()
    chi2 = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    assert error[0] == pytest.approx((chi2 / large.sum()).std(), rel=0.06)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("table", TABLES)
def test_delta_interval_is_symmetric_for_phi_squared_and_cut_at_zero(table, level):
    batch = one_table(table)
    tables = association(batch)
    centre, error = delta_moments(batch, tables)
    low, high = delta_interval(tables, (centre, error), level)
    half = stats.norm.ppf((1 + level) / 2) * error[0]
    dof = tables.dof[0]
    assert high[0] ** 2 * dof == pytest.approx(min(max(centre[0] + half, 0), dof), abs=1e-12)
    assert low[0] ** 2 * dof == pytest.approx(min(max(centre[0] - half, 0), dof), abs=1e-12)


def test_an_independent_table_has_zero_in_its_interval():
    batch = one_table([[30, 10], [30, 10]])
    tables = association(batch)
    assert delta_interval(tables, delta_moments(batch, tables))[0][0] == 0
    assert noncentral_interval(tables)[0][0] == 0


def test_delta_draws_have_the_moments():
    batch = one_table(TABLES[0])
    tables = association(batch)
    moments = delta_moments(batch, tables)
    noise = np.random.default_rng(2).standard_normal((20_000, 1))
    squared = delta_draws(tables, moments, noise, corrected=True) ** 2
    assert squared.mean() == pytest.approx(moments[0][0], rel=0.02)
    plain = delta_draws(tables, moments, noise, corrected=False) ** 2
    assert plain.mean() == pytest.approx(tables.chi2[0] / tables.n[0], rel=0.02)
    assert squared.std() == pytest.approx(moments[1][0], rel=0.03)


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
    ends = (*delta_interval(tables, delta_moments(batch, tables)), *noncentral_interval(tables))
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
