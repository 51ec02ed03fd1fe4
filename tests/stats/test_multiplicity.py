"""Holm and Benjamini-Hochberg against naive implementations and scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.multiplicity import adjust

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def naive_holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    result, largest = [0.0] * len(p), 0.0
    for step, index in enumerate(order):
        largest = max(largest, min(1.0, p[index] * (len(p) - step)))
        result[index] = largest
    return result


@given(P_VALUES)
def test_holm_equals_a_naive_loop(p):
    np.testing.assert_allclose(adjust(np.array(p), "holm"), naive_holm(p), rtol=1e-12)


@given(P_VALUES)
def test_bh_equals_scipy(p):
    expected = stats.false_discovery_control(p, method="bh")
    np.testing.assert_allclose(adjust(np.array(p), "bh"), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("method", ["holm", "bh", "none"])
@given(p=P_VALUES)
def test_untested_values_stay_untested_and_do_not_count(method, p):
    with_gaps = np.array([x for value in p for x in (value, np.nan)])
    adjusted = adjust(with_gaps, method)
    assert np.isnan(adjusted[1::2]).all()
    np.testing.assert_array_equal(adjusted[::2], adjust(np.array(p), method))


@pytest.mark.parametrize("method", ["holm", "bh", "none"])
@given(p=P_VALUES)
def test_adjusting_keeps_the_order_and_lowers_nothing(method, p):
    values = np.array(p)
    adjusted = adjust(values, method)
    assert (adjusted >= values * (1 - 1e-15)).all()  # p m / m may round below p
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(values, kind="stable")]) >= 0).all()


def test_holm_is_never_below_bh():
    p = np.random.default_rng(0).random(50) ** 3
    assert (adjust(p, "holm") >= adjust(p, "bh")).all()


@pytest.mark.parametrize("method", ["holm", "bh", "none"])
def test_no_test_at_all_is_no_error(method):
    assert np.isnan(adjust(np.full(3, np.nan), method)).all()
    assert adjust(np.zeros(0), method).size == 0
