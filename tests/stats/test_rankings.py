"""Retrieval kernels against a loop over single rankings, all tie orders, and all rankings of small pools."""

from itertools import permutations, product
from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand.benchmarks.papers.visogender.random_rankings import exact_moments
from evenhand.stats.hypergeometric import hypergeometric_limits, top_outcomes
from evenhand.stats.rankings.fairness import (
    RankedPools,
    difference,
    max_skews,
    min_skews,
    ndkl,
    skews,
    target_shares,
    tops,
)
from evenhand.stats.rankings.null import (
    NullDistribution,
    drawn_values,
    null_of_mean,
    null_of_ndkl,
    null_of_top,
)

RNG = np.random.default_rng


def loop(order, target, k, absent="floor"):
    """One ranking, group by group, in plain Python; skews of groups of the pool only."""
    pool = {group: order.count(group) for group in set(order)}
    share = {g: n / len(order) for g, n in pool.items()} if target is None else dict(enumerate(target))
    skew = {}
    for group in pool:
        inside = order[:k].count(group)
        if inside:
            skew[group] = log(inside / k / share[group])
        else:
            skew[group] = -log(k + 1) if absent == "floor" else log(1 / k / share[group])
    above, weights = 0.0, 0.0
    for i in range(1, len(order) + 1):
        top = order[:i]
        kl = sum((top.count(g) / i) * log(top.count(g) / i / share[g]) for g in set(top))
        above, weights = above + kl / log2(i + 1), weights + 1 / log2(i + 1)
    more, less = order[:k].count(0), order[:k].count(1)
    return {
        "difference": (more - less) / (more + less) if more + less else np.nan,
        "max": max(skew.values()),
        "min": min(skew.values()),
        "ndkl": above / weights,
        **{("skew", group): value for group, value in skew.items()},
    }


def kernels(ranked, target, k, absent="floor"):
    """The same of every ranking."""
    targets = target_shares(ranked.pools, "pool" if target is None else target)
    found = tops(ranked, k, RNG(0))
    owner = (found.counts, ranked.pools[found.owner], targets[found.owner], k, absent)
    skew = skews(*owner)
    return {
        "difference": found.mean(difference(found.counts[:, 0], found.counts[:, 1])),
        "max": found.mean(max_skews(*owner)),
        "min": found.mean(min_skews(*owner)),
        "ndkl": ndkl(ranked, targets),
        **{("skew", group): found.mean(skew[:, group]) for group in range(ranked.n_groups)},
    }


def tie_orders(codes, scores):
    """Every order that falling scores allow."""
    blocks = [
        [c for c, s in zip(codes, scores, strict=True) if s == score]
        for score in sorted(set(scores), reverse=True)
    ]
    for choice in product(*(list(permutations(block)) for block in blocks)):
        yield [code for block in choice for code in block]


def unlike(found, expected, row):
    """Names of the measures that are not as expected, with both values."""
    return {
        name: (float(found[name][row]), value)
        for name, value in expected.items()
        if found[name][row] != pytest.approx(value, abs=1e-12, rel=0, nan_ok=True)
    }


@pytest.mark.parametrize("absent", ["floor", "smoothed"])
@pytest.mark.parametrize("groups", [2, 3, 4])
def test_equals_the_loop_on_pools_of_different_sizes(groups, absent):
    rng = RNG(groups)
    sizes = rng.integers(6, 25, size=40)
    codes = np.full((40, 25), -1)
    scores = np.full((40, 25), np.nan)
    for row, size in enumerate(sizes):
        codes[row, :size], scores[row, :size] = rng.integers(groups, size=size), rng.normal(size=size)
    ranked = RankedPools.rank(codes, scores, groups)
    for target in (None, rng.dirichlet(np.full(groups, 5))):
        for k in (1, 2, 5, 6):
            found = kernels(ranked, target, k, absent)
            for row, size in enumerate(sizes):
                order = codes[row, np.argsort(-scores[row, :size], kind="stable")].tolist()
                assert unlike(found, loop(order, target, k, absent), row) == {}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=7),
    st.sampled_from(["floor", "smoothed"]),
)
def test_ties_give_the_average_over_all_orders(rows, absent):
    codes, scores = [row[0] for row in rows], [float(row[1]) for row in rows]
    ranked = RankedPools.rank([codes], [scores], 3)
    orders = list(tie_orders(codes, scores))
    for k in range(1, len(codes) + 1):
        each = [loop(order, None, k, absent) for order in orders]
        expected = {name: np.mean([one[name] for one in each]) for name in each[0]}
        assert unlike(kernels(ranked, None, k, absent), expected, 0) == {}
        assert ranked.open_at(k)[0] == (len({tuple(sorted(order[:k])) for order in orders}) > 1)
    orders_of_groups = {tuple(order) for order in orders}
    assert ranked.open_places[0].any() == (len(orders_of_groups) > 1)


def test_many_rankings_with_ties_equal_each_alone():
    rng = RNG(5)
    codes, scores = rng.integers(3, size=(300, 12)), rng.integers(4, size=(300, 12)).astype(float)
    together = kernels(RankedPools.rank(codes, scores, 3), None, 4)
    for row in range(0, 300, 7):
        alone = kernels(RankedPools.rank(codes[[row]], scores[[row]], 3), None, 4)
        assert unlike(together, {name: value[0] for name, value in alone.items()}, row) == {}


def test_ties_do_not_depend_on_the_order_of_rows():
    rng = RNG(6)
    codes, scores = rng.integers(2, size=(50, 20)), rng.integers(5, size=(50, 20)).astype(float)
    shuffle = rng.permutation(20)
    first = kernels(RankedPools.rank(codes, scores, 2), None, 5)
    second = kernels(RankedPools.rank(codes[:, shuffle], scores[:, shuffle], 2), None, 5)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], atol=1e-12)


def test_stable_ties_keep_the_order_given():
    ranked = RankedPools.rank([[0, 0, 1, 1]], [[1.0, 1.0, 1.0, 2.0]], 2, "stable")
    assert ranked.codes.tolist() == [[1, 0, 0, 1]]
    assert not ranked.open_places[0].any()


def test_relabelling_groups_moves_columns_and_turns_signs():
    rng = RNG(7)
    codes, scores = rng.integers(3, size=(60, 15)), rng.integers(8, size=(60, 15)).astype(float)
    new = np.array([2, 0, 1])
    before = kernels(RankedPools.rank(codes, scores, 3), None, 4)
    after = kernels(RankedPools.rank(new[codes], scores, 3), None, 4)
    for name in ("max", "min", "ndkl"):
        np.testing.assert_allclose(before[name], after[name], atol=1e-12)
    for group in range(3):
        np.testing.assert_allclose(before["skew", group], after["skew", int(new[group])], atol=1e-12)
    two = RankedPools.rank(codes % 2, scores, 2), RankedPools.rank(1 - codes % 2, scores, 2)
    first, second = (kernels(ranked, None, 4)["difference"] for ranked in two)
    np.testing.assert_allclose(first, -second, atol=1e-12)


def test_absent_is_below_whatever_is_present_and_never_the_max():
    for k, pool in product(range(1, 12), [(19, 1), (1, 40), (5, 5), (11, 2)]):
        pools = np.array([pool])
        targets = target_shares(pools, "pool")
        gone = skews(np.array([[k, 0]]), pools, targets, k, "floor")[0]
        there = skews(np.array([[k - 1, 1]]), pools, targets, k, "floor")[0]
        assert gone[1] < there[1]
        assert gone[0] >= 0 > gone[1]


def test_rankings_shorter_than_k_and_empty_pools_are_undefined_not_zero():
    ranked = RankedPools.rank([[0, 1, -1], [-1, -1, -1]], [[2.0, 1.0, np.nan], [np.nan] * 3], 2)
    assert ranked.cuts(3)[2].tolist() == [0, 0]
    assert not ranked.open_at(3).any()
    found = ndkl(ranked, target_shares(ranked.pools, "pool"))
    assert np.isnan(found).tolist() == [False, True]
    assert np.isnan(ndkl(ranked, target_shares(ranked.pools, "pool"), 3)).all()


def test_hypergeometric_outcomes():
    counts, weight = top_outcomes((3, 2, 4), 4, RNG(0))
    assert (counts.sum(axis=1) == 4).all()
    assert len(counts) == len({tuple(row) for row in counts.tolist()}) == 11
    np.testing.assert_allclose(weight @ counts, 4 * np.array([3, 2, 4]) / 9, atol=1e-14)
    drawn, share = top_outcomes((60,) * 6, 100, RNG(0))  # C(105, 5) would be 96 million
    np.testing.assert_allclose(share @ drawn, 100 / 6, atol=0.2)


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_hypergeometric_limits_are_scipys(level):
    for total, hits, draws in [
        (7, 3, [1, 4, 7]),
        (500, 0, [9]),
        (40, 40, [6]),
        (3_000_000, 9_000, [5, 900_000]),
    ]:
        law = stats.hypergeom(total, hits, np.array(draws))
        ends = hypergeometric_limits(total, hits, np.array(draws), level)
        np.testing.assert_array_equal(ends, (law.ppf((1 - level) / 2), law.isf((1 - level) / 2)))


def every_ranking(pool):
    codes = [group for group, size in enumerate(pool) for _ in range(size)]
    return [list(order) for order in set(permutations(codes))]


@pytest.mark.parametrize("pool", [(4, 4), (6, 2), (3, 2, 2), (2, 2, 2, 1), (5, 0, 2)])
def test_null_is_that_of_all_rankings(pool):
    orders = every_ranking(pool)
    targets = target_shares(np.array([pool]), "pool")[0]
    for k in range(1, sum(pool) + 1):
        each = [loop(order, None, k) for order in orders]
        for name, kernel in (("max", max_skews), ("min", min_skews)):
            null = null_of_top(
                pool,
                k,
                lambda c, f=kernel, k=k: f(c, np.broadcast_to(pool, c.shape), targets, k, "floor"),
                RNG(0),
            )
            check_null(null, np.array([one[name] for one in each]))
        if len([size for size in pool if size]) == 2 and pool[1]:
            null = null_of_top(pool, k, lambda c: difference(c[:, 0], c[:, 1]), RNG(0))
            check_null(null, np.array([one["difference"] for one in each]))
    check_null(null_of_ndkl(pool, targets, RNG(0)), np.array([loop(o, None, 1)["ndkl"] for o in orders]))


def check_null(null, values):
    assert null.mean == pytest.approx(values.mean(), abs=1e-12)
    assert null.sd == pytest.approx(values.std(), abs=1e-9)
    assert null.values.min() == pytest.approx(values.min(), abs=1e-9)
    assert null.values.max() == pytest.approx(values.max(), abs=1e-9)
    for observed in values[:: max(1, len(values) // 7)]:
        assert null.p_value(observed, "high") == pytest.approx((values >= observed - 1e-9).mean(), abs=1e-12)
        assert null.p_value(observed, "low") == pytest.approx((values <= observed + 1e-9).mean(), abs=1e-12)


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_null_of_ndkl_to_a_depth(depth):
    pool, targets = (4, 3), np.array([0.5, 0.5])
    orders = every_ranking(pool)
    codes = np.array(orders)
    ranked = RankedPools.rank(codes, np.tile(-np.arange(7.0), (len(codes), 1)), 2)
    check_null(
        null_of_ndkl(pool, targets, RNG(0), depth),
        ndkl(ranked, np.broadcast_to(targets, (len(codes), 2)), depth),
    )


def test_a_drawn_null_is_near_the_listed_one():
    drawn = null_of_ndkl((14, 14), np.array([0.5, 0.5]), RNG(0))  # 40 million rankings
    assert drawn.drawn == 9999
    tied = RankedPools.rank([[0] * 14 + [1] * 14], np.zeros((1, 28)), 2)
    exact = ndkl(tied, np.full((1, 2), 0.5))[0]  # all tied is the mean over all orders
    assert drawn.mean == pytest.approx(exact, abs=4 * drawn.sd / 100)
    assert drawn.p_value(10.0, "high") == 1 / 10_000


@pytest.mark.parametrize("pools", [[(3, 3)] * 2, [(3, 3), (4, 2)], [(2, 2), (3, 3), (3, 1)]])
def test_null_of_a_mean_is_that_of_all_combinations(pools):
    for make in (skewed, signed):
        chances = {pool: make(pool) for pool in pools}
        combined = null_of_mean([chances[pool] for pool in pools])
        grids = np.meshgrid(*(chances[pool].values for pool in pools), indexing="ij")
        weights = np.meshgrid(*(chances[pool].weight for pool in pools), indexing="ij")
        values, weight = sum(grids).ravel() / len(pools), np.prod(weights, axis=0).ravel()
        assert combined.mean == pytest.approx(values @ weight, abs=1e-12)
        assert combined.variance == pytest.approx(weight @ (values - values @ weight) ** 2, abs=1e-12)
        centre = values @ weight
        for observed in values:
            for side, hit in (
                ("high", values >= observed - 1e-9),
                ("low", values <= observed + 1e-9),
                ("both", np.abs(values - centre) >= abs(observed - centre) - 1e-9),
            ):
                assert combined.p_value(observed, side) == pytest.approx(weight[hit].sum(), abs=2e-3)


def skewed(pool):
    targets = target_shares(np.array([pool]), "pool")[0]
    return null_of_ndkl(pool, targets, RNG(0))


def signed(pool):
    return null_of_top(pool, 2, lambda c: difference(c[:, 0], c[:, 1]), RNG(0))


@pytest.mark.parametrize("queries", [23, 500, 5_000])
def test_null_of_a_mean_of_many_is_near_the_normal(queries):
    one = skewed((10, 10))
    many = null_of_mean([one] * queries)
    assert many.values @ many.weight == pytest.approx(one.mean, abs=1e-9)
    assert np.sqrt((many.values - many.mean) ** 2 @ many.weight) == pytest.approx(many.sd, rel=1e-3)
    assert many.sd == pytest.approx(one.sd / np.sqrt(queries))
    low, high = many.band(0.95)
    assert (high - low) / 2 / many.sd == pytest.approx(1.96, abs=0.03)
    assert many.p_value(many.mean + 2 * many.sd, "high") == pytest.approx(0.0228, abs=0.008)  # 23 are skewed
    assert many.p_value(1.0, "high") == 1e-15
    assert many.p_value(0.0, "high") == pytest.approx(1)


def test_a_band_holds_at_least_its_level():
    for k in (1, 2, 5, 9):
        null = null_of_top((10, 10), k, lambda c: difference(c[:, 0], c[:, 1]), RNG(0))
        low, high = null.band(0.95)
        inside = null.weight[(null.values >= low) & (null.values <= high)].sum()
        assert inside >= 0.95
        assert low == pytest.approx(-high)


def test_a_null_without_spread():
    null = NullDistribution.of(np.zeros(3), np.full(3, 1 / 3))
    assert np.isnan(null.z(0.0))
    assert null.p_value(0.0, "both") == 1
    assert null_of_mean([null, null]).band(0.95) == (0, 0)


def test_moments_of_several_rankings_are_those_of_their_nulls():
    nulls = [null_of_ndkl((4, 2), np.array([0.5, 0.5]), np.random.default_rng(0)) for _ in range(3)]
    found = exact_moments(nulls, np.random.default_rng(1), 5)
    assert found.mean == pytest.approx(nulls[0].mean)
    assert found.mean_sd == pytest.approx(np.sqrt(nulls[0].variance / 3))
    sigmas = drawn_values(nulls, np.random.default_rng(1), 5).std(axis=1, ddof=1)
    assert (found.sigma, found.sigma_sd) == pytest.approx((sigmas.mean(), sigmas.std(ddof=1)))


def test_contents_of_rankings_that_are_alike_stand_once():
    """As of a model that ties all, in every draw: what a ranking can hold is not listed 3,000 times."""
    codes = np.tile(np.repeat(np.arange(6), 20), (3_000, 1))
    codes[1_000:, :20] = 1  # other pools, and another tie in the last thousand
    scores = np.zeros(codes.shape)
    scores[2_000:, 0] = 1
    found = tops(RankedPools.rank(codes, scores, 6), 10, RNG(0))
    assert np.unique(found.owner).tolist() == np.unique(found.alike).tolist() == [0, 1_000, 2_000]
    assert found.owner.size < 3 * 3_003  # ways to take 10 of 6 kinds
    means = found.mean(found.counts[:, 1])
    np.testing.assert_allclose(means, np.repeat([10 / 6, 10 / 3, 1 + 9 * 39 / 119], 1_000))
