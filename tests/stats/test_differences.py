"""The difference of two figures: MOVER, its p, its band, the correlation of two models."""

import numpy as np
import pytest
from scipy import special

from evenhand.stats.rates.differences import inverted_p, paired_correlation
from evenhand.stats.rates.rates import mover


def normal(value, error):
    """Limits that are plus and minus a quantile of the normal distribution."""

    def limits(level):
        reach = error * special.ndtri((1 + np.asarray(level)) / 2)
        return value - reach, np.asarray(value), value + reach

    return limits


@pytest.mark.parametrize("correlation", [0.0, 0.6, -0.4])
def test_symmetric_limits_join_as_standard_errors_do(correlation):
    first, second = normal(0.5, 0.04), normal(0.3, 0.03)
    low, high = mover(first(0.95), second(0.95), correlation)
    error = np.sqrt(0.04**2 + 0.03**2 - 2 * correlation * 0.04 * 0.03)
    assert (low, high) == pytest.approx((0.2 - 1.959964 * error, 0.2 + 1.959964 * error), rel=1e-5)


def test_p_is_that_of_the_normal_test():
    values = np.array([0.0, 0.05, 0.098, 0.0979, 0.15, -0.15, 1.0])

    def limits(level):
        low, _, high = normal(values, 0.05)(level)
        return low, high

    p = inverted_p(limits, values.size)
    wanted = 2 * special.ndtr(-np.abs(values) / 0.05)
    assert p == pytest.approx(np.maximum(wanted, 1e-6), rel=1e-3)
    low, high = limits(0.95)
    assert np.array_equal(p <= 0.05, (low > 0) | (high < 0))


def test_models_that_agree_on_all_samples_are_not_quite_correlated():
    draws = np.random.default_rng(0).normal(size=(2, 500))
    assert paired_correlation(draws[0], draws[0], 20) == pytest.approx(20 / 22)
    assert paired_correlation(draws[0], np.full(500, 0.3), 20) == 0
    lacking = draws.copy()
    lacking[0, :100], lacking[1, 50:150] = np.nan, np.inf
    some = draws[:, 150:]
    expected = np.corrcoef(some)[0, 1] * 20 / 22
    assert paired_correlation(*lacking, 20) == pytest.approx(expected)
    holes = np.where(np.arange(500) < 20, np.nan, draws[0])
    assert paired_correlation(holes, draws[0], 1e9) == pytest.approx(1)


@pytest.mark.parametrize("away", [-1e-6, 1e-6])
def test_p_is_at_most_5_percent_where_and_only_where_limits_of_95_leave_0_out(away):
    value = special.ndtri(0.975) + away

    def limits(level):
        reach = special.ndtri((1 + level) / 2)
        return value - reach, value + reach

    (p,) = inverted_p(limits)
    assert (p <= 0.05) == (away > 0)
    assert p == pytest.approx(0.05, rel=1e-3)
