"""The test over targets and attributes: errors against doing it again, limits, p, reductions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.association.effect_size import associations, cohens_d, effect_bound, effect_size
from evenhand.stats.association.two_way import Sizes, d_of, left_out, reduction_interval, single_set, two_way

SETS = (7, 5, 4, 6)


def two_way_interval(values, sizes, statistic="d", level=0.95, ddof=1):
    return two_way(values, sizes, statistic, ddof).limits(level)


def planted(gap=0.1, n=7, m=5, na=4, nb=6, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 0.1, (n + m, na + nb)) + 0.2
    values[:n, :na] += gap
    values[:, :na] += rng.normal(0, 0.05, (n + m, 1))
    return values


def d_and_cohen(values, n, na, ddof=1):
    phi = associations(values, np.arange(na), np.arange(na, values.shape[1]))
    return effect_size(phi[:n], phi[n:], ddof), cohens_d(phi[:n], phi[n:])


def test_the_error_is_that_of_leaving_each_out_and_doing_it_again():
    values, sizes = planted(), Sizes(*SETS)

    def h(table, n, m, na):
        phi = associations(table, np.arange(na), np.arange(na, table.shape[1]))
        x, y = phi[:n], phi[n:]
        within = 7 / 12 * x.var(ddof=1) + 5 / 12 * y.var(ddof=1)
        return np.arcsinh((x.mean() - y.mean()) / np.sqrt(within) * sizes.unit)

    without = [
        [h(np.delete(values, i, 0), 6, 5, 4) for i in range(7)],
        [h(np.delete(values, i, 0), 7, 4, 4) for i in range(7, 12)],
        [h(np.delete(values, j, 1), 7, 5, 3) for j in range(4)],
        [h(np.delete(values, j, 1), 7, 5, 4) for j in range(4, 10)],
    ]
    for mine, again in zip(left_out(values, sizes), without, strict=True):
        np.testing.assert_allclose(mine, again, rtol=1e-10)
    assert len(left_out(values, Sizes(*SETS, fixed=True))) == 2


def test_a_difference_has_the_error_of_crossed_samples():
    """Components of variance by hand: over targets, over attributes, less that of both together."""
    values = planted()
    phi = associations(values, np.arange(4), np.arange(4, 10))
    gain = values[:7].mean(axis=0) - values[7:].mean(axis=0)
    over = phi[:7].var(ddof=1) / 7 + phi[7:].var(ddof=1) / 5
    beside = gain[:4].var(ddof=1) / 4 + gain[4:].var(ddof=1) / 6
    both = 0.0
    for rows in (values[:7], values[7:]):
        for block in (rows[:, :4], rows[:, 4:]):
            rest = block - block.mean(axis=0) - block.mean(axis=1, keepdims=True) + block.mean()
            both += (rest**2).sum() / np.prod(np.array(block.shape) - 1) / block.size
    found = two_way(values, Sizes(*SETS), "difference")
    assert found.value == pytest.approx(phi[:7].mean() - phi[7:].mean())
    assert found.error**2 == pytest.approx(max(over + beside - both, over, beside))
    assert found.freedom >= 3
    t = found.value / found.error
    assert found.p_value() == pytest.approx(2 * stats.t.sf(abs(t), found.freedom))
    assert found.p_value("greater") == pytest.approx(stats.t.sf(t, found.freedom))
    assert found.p_value("less") == pytest.approx(stats.t.cdf(t, found.freedom))


def test_attributes_as_they_are_leave_welchs_t():
    values = planted()
    phi = associations(values, np.arange(4), np.arange(4, 10))
    found = two_way(values, Sizes(*SETS, fixed=True), "difference")
    assert found.p_value() == pytest.approx(stats.ttest_ind(phi[:7], phi[7:], equal_var=False).pvalue)


@pytest.mark.parametrize("statistic", ["d", "difference"])
def test_limits_exclude_0_where_p_is_small(statistic):
    for seed in range(20):
        values, sizes = planted(0.04, seed=seed), Sizes(*SETS)
        found = two_way(values, sizes, statistic)
        for level in (0.5, 0.9, 0.99):
            low, high = two_way_interval(values, sizes, statistic=statistic, level=level)
            assert (low <= 0 <= high) == (found.p_value() > 1 - level)
            band = two_way(values, sizes, statistic).band(level)
            assert band[0] == -band[1] < 0


def test_one_set_over_its_items_and_the_attributes():
    values = planted()[:7]
    found = single_set(values, 4)
    phi = associations(values, np.arange(4), np.arange(4, 10))
    assert found.value == pytest.approx(phi.mean())
    assert found.error**2 >= phi.var(ddof=1) / 7
    assert single_set(values[:1], 4) is single_set(values[:, :5], 4) is None
    assert single_set(np.zeros((3, 4)), 2) is None


def test_the_scale_goes_back_to_d():
    sizes = Sizes(6, 9, 2, 2)
    for h in (-2.0, 0.0, 0.7):
        g = np.sinh(h) / sizes.unit
        expected = g / np.sqrt(1 + g**2 * 6 * 9 / 15**2)
        assert d_of(h, sizes, 0) == pytest.approx(expected, rel=1e-12)
    assert d_of(1e9, sizes, 1) == pytest.approx(effect_bound(6, 9, 1), rel=1e-12)


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.5, 5.0])
@pytest.mark.parametrize("ddof", [0, 1])
def test_intervals_hold_the_value_and_stay_within_the_bound(gap, ddof):
    values, sizes = planted(gap, 20, 15, 30, 20), Sizes(20, 15, 30, 20)
    d, _ = d_and_cohen(values, 20, 30, ddof)
    low, high = two_way_interval(values, sizes, ddof=ddof)
    bound = effect_bound(20, 15, ddof)
    assert -bound < low < d < high < bound * (1 + 1e-12)


def test_exchanging_sets_negates_the_interval():
    values = planted(0.1, 12, 12, 9, 9)
    turned = np.r_[values[12:], values[:12]]
    one, other = (two_way_interval(table, Sizes(12, 12, 9, 9)) for table in (values, turned))
    assert one == pytest.approx((-other[1], -other[0]))


def test_attributes_taken_as_they_are_narrow_the_interval():
    rng = np.random.default_rng(7)
    values = rng.normal(0, 0.05, (40, 20))
    values[:20] += rng.normal(0, 0.3, 20)
    both = two_way_interval(values, Sizes(20, 20, 10, 10))
    targets = two_way_interval(values, Sizes(20, 20, 10, 10, fixed=True))
    assert targets[1] - targets[0] < 0.7 * (both[1] - both[0])
    assert np.isfinite(two_way_interval(values[:, [0, 10]], Sizes(20, 20, 1, 1, fixed=True))).all()


@pytest.mark.parametrize("sets", [(2, 10, 4, 6), (10, 2, 4, 6), (6, 6, 1, 9), (6, 6, 9, 1)])
def test_sets_too_small_have_no_interval(sets):
    values = planted(0.1, *sets)
    assert two_way(values, Sizes(*sets)) is None
    assert two_way(values, Sizes(*sets)) is None
    assert np.isnan(reduction_interval(values, values, Sizes(*sets))).all()


def test_no_spread_within_the_sets_or_nan_has_no_interval():
    values = np.zeros((12, 10))
    values[:7, :4] = 0.5
    broken = planted()
    broken[2, 2] = np.nan
    for table in (values, broken):
        assert two_way(table, Sizes(*SETS)) is None


def test_no_change_is_no_reduction():
    values = planted(0.1, 20, 20, 15, 15)
    ends = reduction_interval(values, values, Sizes(20, 20, 15, 15))
    assert ends == pytest.approx((0, 0), abs=1e-6)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_real_reduction_is_found_whatever_the_sign(turn):
    before, after = planted(0.15, 20, 20, 15, 15), planted(0.0, 20, 20, 15, 15)
    low, high = reduction_interval(turn * before, turn * after, Sizes(20, 20, 15, 15))
    reduction = abs(d_and_cohen(before, 20, 15)[0]) - abs(d_and_cohen(after, 20, 15)[0])
    assert 0 < low < reduction < high


def test_a_reversal_is_no_reduction():
    before = planted(0.1, 20, 20, 15, 15)
    low, high = reduction_interval(before, -before, Sizes(20, 20, 15, 15))
    assert low <= 0 <= high


def test_a_statistic_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="'t'; there is one of d, difference"):
        two_way(planted(), Sizes(*SETS), "t")


@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_d_is_that_of_leaving_each_target_out_where_words_are_fixed(seed):
    values, sizes = planted(gap=0.4, seed=seed), Sizes(*SETS, fixed=True)
    phi = associations(values, np.arange(4), np.arange(4, 10))

    def h(x, y):
        within = 7 / 12 * x.var(ddof=1) + 5 / 12 * y.var(ddof=1)
        return np.arcsinh((x.mean() - y.mean()) / np.sqrt(within) * np.sqrt(7 * 5 / 2) / 12)

    x, y = phi[:7], phi[7:]
    without = (
        np.array([h(np.delete(x, i), y) for i in range(7)]),
        np.array([h(x, np.delete(y, i)) for i in range(5)]),
    )
    square = sum((k.size - 1) / k.size * ((k - k.mean()) ** 2).sum() for k in without)
    plain = np.sqrt(x.var(ddof=1) / 7 + y.var(ddof=1) / 5)
    chord = plain * h(x, y) / (x.mean() - y.mean())
    found = two_way(values, sizes)
    assert found.error == pytest.approx(max(np.sqrt(square), chord))
    assert found.value == pytest.approx(h(x, y))
    a, b = x.var(ddof=1) / 7, y.var(ddof=1) / 5
    assert found.freedom == pytest.approx((a + b) ** 2 / (a**2 / 6 + b**2 / 4))


def test_three_items_have_one_degree_of_freedom_and_none_is_no_bound():
    assert cohens_d([1.0, 2.0], [4.0]) == pytest.approx((1.5 - 4) / np.sqrt(0.5))
    assert np.isnan(cohens_d([1.0], [4.0]))
    assert np.isnan(effect_bound(1, 1, 2))
    assert effect_bound(2, 1, 2) == pytest.approx(3 / np.sqrt(2) * np.sqrt(1 / 3))
