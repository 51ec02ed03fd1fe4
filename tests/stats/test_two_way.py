"""The bootstrap over targets and attributes: draws against a loop, errors against doing it again, ends."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.stats.association import associations, cohens_d, effect_bound, effect_size
from evenhand.stats.pigeonhole import Sizes, Weights, d_of, jackknife_error, studied
from evenhand.stats.two_way import (
    paired_two_way_draws,
    paired_two_way_interval,
    two_way_draws,
    two_way_interval,
)

SETS = (7, 5, 4, 6)


def planted(gap=0.1, n=7, m=5, na=4, nb=6, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 0.1, (n + m, na + nb)) + 0.2
    values[:n, :na] += gap
    values[:, :na] += rng.normal(0, 0.05, (n + m, 1))
    return values


def d_and_cohen(values, n, na, ddof=1):
    phi = associations(values, np.arange(na), np.arange(na, values.shape[1]))
    return effect_size(phi[:n], phi[n:], ddof), cohens_d(phi[:n], phi[n:])


def test_draws_are_d_of_the_items_that_were_drawn():
    values = planted()
    draws = two_way_draws(values, *SETS, replicates=20, rng=np.random.default_rng(3))
    weights = Weights.drawn(Sizes(*SETS), 20, np.random.default_rng(3))
    for r in range(20):
        counts = [np.rint(w[:, r] * len(w)).astype(int) for w in (weights.x, weights.y, weights.a, weights.b)]
        assert [count.sum() for count in counts] == list(SETS)
        rows = np.r_[np.repeat(np.arange(7), counts[0]), 7 + np.repeat(np.arange(5), counts[1])]
        columns = np.r_[np.repeat(np.arange(4), counts[2]), 4 + np.repeat(np.arange(6), counts[3])]
        drawn = values[np.ix_(rows, columns)]
        d, cohen = d_and_cohen(drawn, 7, 4)
        phi = associations(drawn, np.arange(4), np.arange(4, 10))
        assert draws["d"][r] == pytest.approx(d, rel=1e-10)
        assert draws["cohens_d"][r] == pytest.approx(cohen, rel=1e-10)
        assert draws["difference"][r] == pytest.approx(phi[:7].mean() - phi[7:].mean(), abs=1e-12)


def test_before_and_after_are_of_the_same_items():
    values = planted()
    before, after = paired_two_way_draws(
        values, 1 - 2 * values, *SETS, replicates=50, rng=np.random.default_rng(4)
    )
    np.testing.assert_allclose(after["d"], -before["d"], atol=1e-10)
    np.testing.assert_allclose(after["difference"], -2 * before["difference"], atol=1e-12)
    alone = two_way_draws(values, *SETS, replicates=50, rng=np.random.default_rng(4))
    np.testing.assert_array_equal(alone["d"], before["d"])


def test_draws_do_not_depend_on_block_size(monkeypatch):
    values = planted()
    whole = two_way_draws(values, *SETS, replicates=3000, rng=np.random.default_rng(5))["d"]
    assert abs(np.nanmean(whole) - d_and_cohen(values, 7, 4)[0]) < 0.3
    monkeypatch.setattr("evenhand.stats.two_way._CELLS", 2000)
    blocks = two_way_draws(values, *SETS, replicates=3000, rng=np.random.default_rng(5))["d"]
    assert blocks.shape == whole.shape
    assert abs(np.nanmean(blocks) - np.nanmean(whole)) < 0.05


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
    variance = sum((len(part) - 1) * np.var(part) for part in without)
    assert jackknife_error(values, sizes) == pytest.approx(np.sqrt(variance), rel=1e-10)
    assert jackknife_error(values, Sizes(*SETS, fixed=True)) == pytest.approx(
        np.sqrt(sum((len(part) - 1) * np.var(part) for part in without[:2])), rel=1e-10
    )


@pytest.mark.parametrize("scaled", [True, False])
def test_influence_functions_are_slopes(scaled):
    values, sizes = planted(), Sizes(*SETS)
    once = Weights.once(sizes)
    _, error = studied(values, sizes, once, scaled)
    step, variance = 1e-6, 0.0
    for name, size in zip("xyab", SETS, strict=True):
        start = getattr(once, name)
        slopes = []
        for item in range(size):
            moved = start * (1 - step)
            moved[item] += step
            other = {key: moved if key == name else getattr(once, key) for key in "xyab"}
            slopes.append(studied(values, sizes, Weights(**other), scaled)[0][0])
        base = studied(values, sizes, once, scaled)[0][0]
        change = (np.array(slopes) - base) / step
        variance += (change**2).mean() / (size - 1)
    assert float(error[0]) == pytest.approx(np.sqrt(variance), rel=1e-4)


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
    values = planted(gap, 20, 15, 30, 20)
    d, cohen = d_and_cohen(values, 20, 30, ddof)
    low, high = two_way_interval(values, 20, 15, 30, 20, rng=np.random.default_rng(0), ddof=ddof)
    bound = effect_bound(20, 15, ddof)
    assert -bound < low < d < high < bound * (1 + 1e-12)
    ends = two_way_interval(values, 20, 15, 30, 20, rng=np.random.default_rng(0), statistic="cohens_d")
    assert ends[0] < cohen < ends[1]


def test_exchanging_sets_negates_the_interval():
    values = planted(0.1, 12, 12, 9, 9)
    turned = np.r_[values[12:], values[:12]]
    one = two_way_interval(values, 12, 12, 9, 9, rng=np.random.default_rng(0), replicates=4999)
    other = two_way_interval(turned, 12, 12, 9, 9, rng=np.random.default_rng(1), replicates=4999)
    assert one == pytest.approx((-other[1], -other[0]), abs=0.12)


def test_the_interval_of_a_difference_is_near_that_of_its_known_error():
    rng = np.random.default_rng(6)
    values = rng.normal(0, 1, (80, 90))
    low, high = two_way_interval(values, 40, 40, 45, 45, rng=rng, statistic="difference")
    phi = associations(values, np.arange(45), np.arange(45, 90))
    assert (low + high) / 2 == pytest.approx(phi[:40].mean() - phi[40:].mean(), abs=1e-12)
    assert 0.8 < (high - low) / (2 * 1.96 * np.sqrt(4 / (40 * 45))) < 2


def test_attributes_taken_as_they_are_narrow_the_interval():
    rng = np.random.default_rng(7)
    values = rng.normal(0, 0.05, (40, 20))
    values[:20] += rng.normal(0, 0.3, 20)
    both = two_way_interval(values, 20, 20, 10, 10, rng=rng)
    targets = two_way_interval(values, 20, 20, 10, 10, rng=rng, fixed=True)
    assert targets[1] - targets[0] < 0.7 * (both[1] - both[0])
    one_each = two_way_interval(values[:, [0, 10]], 20, 20, 1, 1, rng=rng, fixed=True)
    assert np.isfinite(one_each).all()


@pytest.mark.parametrize("sets", [(2, 10, 4, 6), (10, 2, 4, 6), (6, 6, 1, 9), (6, 6, 9, 1)])
def test_sets_too_small_have_no_interval(sets):
    values = planted(0.1, *sets)
    assert np.isnan(two_way_interval(values, *sets, rng=np.random.default_rng(0))).all()
    assert np.isnan(paired_two_way_interval(values, values, *sets, rng=np.random.default_rng(0))).all()


def test_no_spread_within_the_sets_or_nan_has_no_interval():
    values = np.zeros((12, 10))
    values[:7, :4] = 0.5
    assert np.isnan(two_way_interval(values, *SETS, rng=np.random.default_rng(0))).all()
    broken = planted()
    broken[2, 2] = np.nan
    assert np.isnan(two_way_interval(broken, *SETS, rng=np.random.default_rng(0))).all()
    draws = two_way_draws(np.full((12, 10), 0.3), *SETS, replicates=9, rng=np.random.default_rng(0))
    assert np.isnan(draws["d"]).all()
    assert np.isnan(draws["cohens_d"]).all()


def test_an_empty_set_has_no_draws():
    draws = two_way_draws(np.zeros((3, 4)), 3, 0, 2, 2, replicates=5, rng=np.random.default_rng(0))
    assert {key: draw.shape for key, draw in draws.items()} == dict.fromkeys(
        ("d", "difference", "cohens_d"), (5,)
    )
    assert np.isnan(draws["d"]).all()


def test_no_change_is_no_reduction():
    values = planted(0.1, 20, 20, 15, 15)
    ends = paired_two_way_interval(values, values, 20, 20, 15, 15, rng=np.random.default_rng(0))
    assert ends == pytest.approx((0, 0), abs=1e-6)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_real_reduction_is_found_whatever_the_sign(turn):
    before, after = planted(0.15, 20, 20, 15, 15), planted(0.0, 20, 20, 15, 15)
    low, high = paired_two_way_interval(
        turn * before, turn * after, 20, 20, 15, 15, rng=np.random.default_rng(0)
    )
    reduction = abs(d_and_cohen(before, 20, 15)[0]) - abs(d_and_cohen(after, 20, 15)[0])
    assert 0 < low < reduction < high
    signed = paired_two_way_interval(
        turn * before, turn * after, 20, 20, 15, 15, rng=np.random.default_rng(0), absolute=False
    )
    assert signed[0] < turn * (d_and_cohen(before, 20, 15)[0] - d_and_cohen(after, 20, 15)[0]) < signed[1]


def test_a_reversal_is_no_reduction():
    before = planted(0.1, 20, 20, 15, 15)
    low, high = paired_two_way_interval(before, -before, 20, 20, 15, 15, rng=np.random.default_rng(0))
    assert low <= 0 <= high
    low, _ = paired_two_way_interval(
        before, -before, 20, 20, 15, 15, rng=np.random.default_rng(0), absolute=False
    )
    assert low > 0


def test_a_statistic_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="'t'; there is one of d, cohens_d, difference"):
        two_way_interval(planted(), *SETS, rng=np.random.default_rng(0), statistic="t")
