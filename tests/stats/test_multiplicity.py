"""Holm and Benjamini-Hochberg against naive implementations and scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.multiplicity import adjust, holm_levels

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


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([0.001, 0.012, 0.0167, 0.02, 0.024, 0.04, 0.2]), min_size=1, max_size=6),
    st.sampled_from([None, (0.45, 0.45, 0.1, 0.3, 1.0, 0.7)]),
)
def test_a_p_is_within_its_holm_level_where_the_adjusted_one_rejects(p, weights):
    some = None if weights is None else np.array(weights[: len(p)])
    values = np.array(p)
    levels, adjusted = holm_levels(values, 0.05, some), adjust(values, "holm", some)
    np.testing.assert_array_equal(values <= levels, adjusted <= 0.05)


def test_tests_after_the_first_that_does_not_reject_share_its_level():
    levels = holm_levels(np.array([0.02, 0.001, 0.024, np.nan, 0.04]), 0.05)
    np.testing.assert_allclose(levels, [0.05 / 3, 0.05 / 4, 0.05 / 3, 0.05, 0.05 / 3])
