"""Seeds as the unit: against scipy where it has the same test, and by hand."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.paired.seeds import mean_of, predicted, shared_variance, spread, welch


@pytest.fixture
def values():
    rng = np.random.default_rng(3)
    return rng.normal(0.7, 0.02, 5), rng.normal(0.72, 0.05, 3)


def test_without_samples_it_is_welchs_test(values):
    first, second = values
    found, told = welch(first, second), stats.ttest_ind(first, second, equal_var=False)
    low, high = told.confidence_interval(0.95)
    assert found.p_value == pytest.approx(told.pvalue)
    assert found.df == pytest.approx(told.df)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_by_seed_it_is_the_paired_test(values):
    first, second = values[0][:3], values[1]
    found, told = mean_of(first - second), stats.ttest_rel(first, second)
    low, high = told.confidence_interval(0.95)
    assert found.p_value == pytest.approx(told.pvalue)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_a_mean_has_the_t_interval(values):
    found = mean_of(values[0])
    told = stats.t.interval(0.95, 4, values[0].mean(), stats.sem(values[0]))
    assert (found.low, found.high) == pytest.approx(told)


def test_one_further_seed_is_predicted(values):
    several = values[0]
    found = predicted(0.9, several)
    error = several.std(ddof=1) * np.sqrt(1 + 1 / 5)
    assert found.error == pytest.approx(error)
    assert found.value == pytest.approx(0.9 - several.mean())
    assert found.p_value == pytest.approx(2 * stats.t.sf((0.9 - several.mean()) / error, 4))


def test_samples_widen(values):
    """Against draws of t for the seeds and of z for the samples, together."""
    alone, both = welch(*values), welch(*values, shared=0.001)
    assert both.error == pytest.approx(np.hypot(alone.error, np.sqrt(0.001)))
    assert both.df == alone.df
    assert both.seed_error == alone.seed_error == alone.error
    rng = np.random.default_rng(0)
    drawn = alone.error * rng.standard_t(alone.df, 400_000) + np.sqrt(0.001) * rng.standard_normal(400_000)
    assert both.p_value == pytest.approx((np.abs(drawn) >= abs(both.value)).mean(), abs=0.003)
    assert both.high - both.value == pytest.approx(np.quantile(np.abs(drawn), 0.95), rel=0.01)


def test_little_of_either_is_the_other(values):
    first, second = values
    told = stats.ttest_ind(first, second, equal_var=False)
    assert welch(first, second, shared=1e-12).p_value == pytest.approx(told.pvalue, rel=1e-4)
    close = np.array([0.7, 0.7 + 1e-9, 0.7 - 1e-9])
    assert welch(close, close + 0.1, shared=0.01).p_value == pytest.approx(2 * stats.norm.sf(1), rel=1e-4)
    far = mean_of(np.array([5.0, 5.001, 5.002]), shared=1e-12)
    assert far.p_value == pytest.approx(stats.ttest_1samp([5.0, 5.001, 5.002], 0).pvalue, rel=0.02)


def test_equal_recipes_are_seldom_called_different():
    """At most 5 % whatever the shares of seeds and samples, with the fewest seeds."""
    rng = np.random.default_rng(2)
    for shared in (0.1, 1.0):
        called = [
            mean_of(rng.normal(e, np.sqrt(3), 3), shared).p_value <= 0.05
            for e in rng.normal(0, np.sqrt(shared), 400)
        ]
        assert np.mean(called) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_without_a_spread_only_samples_count():
    only = welch(np.full(3, 0.7), np.full(3, 0.8), shared=0.01)
    assert only.df == np.inf
    assert only.p_value == pytest.approx(2 * stats.norm.sf(1.0))


def test_where_nothing_varies_there_is_no_p():
    found = welch(np.full(3, 0.7), np.full(3, 0.8))
    assert found.value == pytest.approx(-0.1)
    assert found.p_value is None
    assert found.low == found.value == found.high


def test_the_spread_has_the_chi_square_interval(values):
    found = spread(values[0])
    sd = values[0].std(ddof=1)
    assert found.sd == pytest.approx(sd)
    assert found.low == pytest.approx(sd * np.sqrt(4 / stats.chi2.ppf(0.975, 4)))
    assert found.high == pytest.approx(sd * np.sqrt(4 / stats.chi2.ppf(0.025, 4)))
    assert spread(np.full(4, 0.3)).sd == 0
    assert spread(np.array([0.0, 1.0, 2.0])).high / 1.0 == pytest.approx(6.285, abs=0.001)


def test_shared_variance_leaves_out_what_the_spread_holds():
    """Runs move together by common, and each by own: only the first is not in their spread."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(0, 0.03, (2, 20_000)), rng.normal(0, 0.02, (7, 20_000))
    draws = np.repeat(common, (4, 3), axis=0) + own
    weights = np.r_[np.full(4, 1 / 4), np.full(3, -1 / 3)]
    found = shared_variance(draws, weights, [range(4), range(4, 7)])
    assert found == pytest.approx(2 * 0.03**2, rel=0.03)
    assert shared_variance(own, weights, [range(4), range(4, 7)]) == pytest.approx(0, abs=2e-5)
    one = shared_variance(draws[3:], np.r_[1.0, np.full(3, -1 / 3)], [range(1), range(1, 4)])
    assert one == pytest.approx(2 * 0.03**2, rel=0.05)


def test_too_few_replicates_say_nothing():
    draws = np.random.default_rng(0).normal(size=(4, 100))
    draws[0, :20] = np.nan
    assert shared_variance(draws, np.full(4, 0.25), [range(4)]) is None


@pytest.mark.parametrize(
    ("replicates", "lost", "there"), [(10, 1, True), (10, 2, False), (2, 0, True), (1, 0, False)]
)
def test_shared_variance_needs_two_replicates_and_nine_of_ten(replicates, lost, there):
    draws = np.random.default_rng(0).normal(size=(2, replicates))
    draws[1, :lost] = np.nan
    found = shared_variance(draws, np.array([1.0, -1.0]), [[0], [1]])
    assert (found is not None) == there
    if there:
        assert found == pytest.approx((draws[0] - draws[1])[lost:].var(ddof=1))
