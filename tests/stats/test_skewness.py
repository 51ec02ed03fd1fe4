"""Skewness against scipy.stats.skew."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.skewness import skewness, skewness_bound

VALUES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=12)


def scipy_skew(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(stats.skew(values))


@given(VALUES)
def test_equals_scipy(values):
    expected, spread = scipy_skew(values), np.var(values)
    if spread < 1e-12:
        return  # both are noise over noise
    assert skewness(np.array(values)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(VALUES)
def test_stays_within_its_bound(values):
    measured = float(skewness(np.array(values)))
    assert np.isnan(measured) or abs(measured) <= skewness_bound(len(values)) * (1 + 1e-9) + 1e-9


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_each_line_leaves_its_own_nan_out(lines):
    width = max(map(len, lines))
    matrix = np.array([line + [np.nan] * (width - len(line)) for line in lines])
    expected = [float(skewness(np.array(line))) for line in lines]
    np.testing.assert_allclose(skewness(matrix), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("values", [[], [0.3], [0.3, 0.3, 0.3], [np.nan, np.nan], [0.0, 0.0]])
def test_no_spread_has_no_skewness(values):
    assert np.isnan(skewness(np.array(values, dtype=float)))


@pytest.mark.parametrize("pair", [[0.1, 0.9], [0.2, 0.20001], [0.0, 1.0]])
def test_two_values_always_give_zero(pair):
    assert skewness(np.array(pair)) == pytest.approx(0, abs=1e-9)


def test_the_bound_needs_two_values():
    assert np.isnan(skewness_bound(1))
    assert skewness_bound(2) == 0
