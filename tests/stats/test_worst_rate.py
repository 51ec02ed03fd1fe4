"""The upper limit of a worst rate keeps its error near 1, where Wilson's tail is too light."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.rates.rates import Rates, worst_limits


def test_the_worst_of_many_rates_near_one_holds_the_truth():
    sizes, truth = np.repeat([133, 50, 17], 3), 0.985
    hits = np.random.default_rng(0).binomial(sizes, truth, size=(4_000, 9))
    high = worst_limits(Rates.of_rows(hits, np.broadcast_to(sizes, hits.shape)))[1]
    assert (high < truth).mean() < 0.05  # 13.7 % by Wilson's limits


def test_an_upper_limit_is_jeffreys_and_one_where_all_or_nothing_is_known():
    rates = Rates(np.array([0.8, 1.0, 0.5]), np.array([20.0, 20.0, 0.0]), np.full(3, np.inf))
    assert rates.upper(1.96) == pytest.approx([stats.beta.ppf(stats.norm.cdf(1.96), 16.5, 4.5), 1, 1])


def test_an_upper_limit_is_never_below_its_rate():
    rates = Rates(np.array([0.95, 0.5]), np.full(2, 20.0), np.full(2, np.inf))
    share = stats.norm.cdf(0.01)
    assert stats.beta.ppf(share, 19.5, 1.5) < 0.95
    assert rates.upper(0.01) == pytest.approx([0.95, stats.beta.ppf(share, 10.5, 10.5)])
