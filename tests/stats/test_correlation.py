"""Coefficients of correlation: where they are undefined."""

import warnings

import numpy as np
import pytest

from evenhand.stats.correlation import kendall, pearson


@pytest.mark.parametrize("coefficient", [pearson, kendall])
def test_numbers_that_differ_by_rounding_are_equal(coefficient):
    flat = np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = coefficient(np.arange(4.0), flat)
    assert (found.reason, found.n) == ("all values are equal", 4)
    assert np.isnan(found.value)
    assert coefficient(np.arange(4.0), np.zeros(4)).reason == "all values are equal"


def test_small_numbers_are_not_taken_for_equal():
    tiny = 1e-20 * np.array([1.0, 2.0, 3.0, 5.0])
    assert pearson(np.arange(4.0), tiny).value == pytest.approx(0.983, abs=0.001)
