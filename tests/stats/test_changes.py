"""What changed in single classes and groups: exact tests against scipy and enumeration, intervals, stages."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.changes import FEW, Flips, Shares, effect_changes
from evenhand.stats.exchanged import JointClass, SeparateClass


def flips(*cells):
    n, gained, lost = (np.array(column, dtype=float) for column in zip(*cells, strict=True))
    return Flips(n, gained, lost)


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (3, 0), (0, 7), (5, 5), (12, 3), (40, 21)])
def test_p_of_flips_is_the_exact_binomial_test(gained, lost):
    expected = stats.binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    assert flips((80, gained, lost)).p[0] == pytest.approx(expected)


def test_the_value_is_the_difference_of_accuracies_and_undefined_without_samples():
    found = flips((50, 6, 1), (0, 0, 0))
    assert found.value[0] == pytest.approx(0.1)
    assert np.isnan(found.value[1])
    assert np.isnan(found.interval(0.95)[0][1])


def test_the_null_band_holds_its_share_of_the_exchange_and_no_shorter_band_does():
    low, high = flips((100, 9, 4)).null(0.95)
    sums = 2 * np.arange(14) - 13
    chance = stats.binom.pmf(np.arange(14), 13, 0.5)
    assert low == -high
    assert chance[np.abs(sums / 100) <= high + 1e-12].sum() >= 0.95
    assert chance[np.abs(sums / 100) < high - 1e-12].sum() < 0.95


@pytest.mark.parametrize(
    ("up", "down", "n"), [(0.1, 0.02, 40), (0.2, 0.2, 30), (0.3, 0.05, 200), (0.01, 0.0, 50)]
)
def test_intervals_of_flips_hold_the_truth_often_enough(up, down, n):
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n, [up, down, 1 - up - down], size=4000)
    low, high = Flips(np.full(4000, float(n)), drawn[:, 0], drawn[:, 1]).interval(0.95)
    assert ((low <= up - down) & (up - down <= high)).mean() > 0.93
    assert ((low >= -1) & (high <= 1) & (high > low)).all()


def shares(cells, units=1):
    """Cells of unit, right and rows of the first, right and rows of the second."""
    unit, a, n, b, m = (np.array(column) for column in zip(*cells, strict=True))
    return Shares(unit, np.stack([a, b]).astype(float), np.stack([n, m]).astype(float), units)


def test_one_stratum_is_dealt_as_in_fishers_test():
    found = shares([(0, 9, 12, 3, 10)])
    p, low, high = found.dealt(0.95)
    count = stats.hypergeom(22, 12, 12)
    assert p[0] == pytest.approx(min(1.0, 2 * min(count.sf(8), count.cdf(9))))
    assert found.value[0] == pytest.approx(9 / 12 - 3 / 10)
    assert low[0] < 0 < high[0]


def test_strata_are_dealt_each_by_itself():
    cells = [(0, 3, 4, 1, 5), (0, 2, 6, 1, 3), (0, 5, 5, 2, 4)]
    found = shares(cells)
    whole = np.ones(1)
    for _, a, n, b, m in cells:
        first = max(0, a + b - m)
        whole = np.convolve(whole, stats.hypergeom(n + m, a + b, n).pmf(np.arange(first, min(a + b, n) + 1)))
    least = sum(max(0, a + b - m) for _, a, n, b, m in cells)
    at = sum(a for _, a, *_ in cells) - least
    expected = min(1.0, 2 * min(whole[at:].sum(), whole[: at + 1].sum()))
    assert found.dealt(0.95)[0][0] == pytest.approx(expected)
    weight = np.array([2 / (1 / n + 1 / m) for _, _, n, _, m in cells])
    each = np.array([a / n - b / m for _, a, n, b, m in cells])
    assert found.value[0] == pytest.approx((weight * each).sum() / weight.sum())


def test_many_rows_are_dealt_as_a_normal_count_of_the_same_spread():
    found = shares([(0, 2100, 4000, 2000, 4000), (1, 9, 12, 3, 10)], units=2)
    p, low, high = found.dealt(0.95)
    count = stats.hypergeom(8000, 4100, 4000)
    assert p[0] == pytest.approx(2 * count.sf(2099), rel=0.02)
    assert high[0] == pytest.approx((count.ppf(0.975) - 2050) / 2000, rel=0.02)
    assert p[1] == pytest.approx(shares([(0, 9, 12, 3, 10)]).dealt(0.95)[0][0])
    assert low[0] < 0 < high[0]


def test_intervals_of_shares_hold_the_truth_often_enough():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(1500):
        cells = [(0, rng.binomial(40, 0.8), 40, rng.binomial(15, 0.7), 15)]
        cells.append((0, rng.binomial(10, 0.5), 10, rng.binomial(30, 0.4), 30))
        low, high = shares(cells).interval(0.95)
        held.append(low[0] <= 0.1 <= high[0])
    assert np.mean(held) > 0.93


def joint(seed, n=9, label=0, labels=3, groups=2):
    rng = np.random.default_rng(seed)
    group = np.sort(np.r_[np.arange(groups), rng.integers(0, groups, n - groups)])
    return JointClass(label, group, rng.integers(0, labels, (2, n)), np.ones(n))


def v_of(group, said):
    table = np.zeros((group.max() + 1, said.max() + 1))
    np.add.at(table, (group, said), 1)
    table = table[:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return np.nan
    chi2 = stats.chi2_contingency(table, correction=False).statistic
    return np.sqrt(chi2 / table.sum() / (min(table.shape) - 1))


def enumerated(one):
    """The exact p of a change of V: every way of exchanging the answers that differ."""
    differing = np.flatnonzero(one.predictions[0] != one.predictions[1])
    observed = v_of(one.group, one.predictions[0]) - v_of(one.group, one.predictions[1])
    draws = []
    for swaps in product([False, True], repeat=differing.size):
        said = one.predictions.copy()
        swapped = differing[np.array(swaps, dtype=bool)]
        said[:, swapped] = said[::-1, swapped]
        draws.append(v_of(one.group, said[0]) - v_of(one.group, said[1]))
    usable = np.array(draws)[~np.isnan(draws)]
    return observed, (np.abs(usable) >= abs(observed) - 1e-9).mean()


def changes_of(classes, replicates=999, **given):
    def streams(place, start):
        return np.random.default_rng([7, place, start])

    drawn = []
    for place, one in enumerate(classes):
        tables = one.exchanged(np.random.default_rng([3, place]), replicates)
        drawn.append(one.cells.effect(tables[0], 0) - one.cells.effect(tables[1], 1))
    return effect_changes(classes, np.array(drawn), streams, **{"wanted": 999, "budget": 1e9, **given})


@pytest.mark.parametrize("seed", range(6))
def test_p_of_an_effect_size_is_that_of_all_exchanges(seed):
    one = joint(seed)
    observed, p = enumerated(one)
    found = changes_of([one], replicates=4000)
    assert found.values[0, 0] - found.values[1, 0] == pytest.approx(observed, abs=1e-9)
    assert found.p[0] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 4000) + 1 / 4000)


def far_out():
    """A class where one model's mistakes follow the group and the other's do not, and one without change."""
    group = np.repeat([0, 1], 30)
    rng = np.random.default_rng(0)
    biased = np.where(group == 0, 1, 2)
    fair = rng.integers(1, 3, 60)
    return [JointClass(0, group, np.stack([biased, fair]), np.ones(60)), joint(3, n=40)]


def test_classes_far_out_get_more_draws_and_no_others():
    first = changes_of(far_out())
    found = changes_of(far_out(), wanted=50_000)
    assert first.p[0] == pytest.approx(1 / 1000)
    assert found.draws[0] == pytest.approx(50_000, rel=0.01)
    assert found.p[0] < 1 / 5_000
    assert found.draws[1] <= 999
    assert found.p[1] == first.p[1] > (1 + FEW) / 1000


def test_a_budget_cuts_the_stages_short_for_all_alike():
    twice = [far_out()[0], far_out()[0]]
    found = changes_of(twice, wanted=50_000, budget=twice[0].width * 2 * 4000)
    assert found.draws[0] == found.draws[1] == 4999
    assert changes_of(twice, wanted=50_000, budget=1.0).draws[0] == 999


def test_no_change_is_no_surprise_and_undefined_is_not_tested():
    same = joint(1, n=30)
    alike = JointClass(0, same.group, np.stack([same.predictions[0]] * 2), same.n)
    constant = JointClass(0, same.group, np.zeros((2, 30), dtype=int), same.n)
    found = changes_of([alike, constant])
    assert found.p[0] == 1
    assert np.isnan(found.p[1])
    assert np.isnan(found.values[:, 1]).all()
    assert np.isnan(found.low[1])


def test_models_with_fewer_rows_are_told_apart_by_the_smaller_tail():
    group, said = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    one = SeparateClass(
        0, group[[0, 2, 1, 3]], said[[0, 2, 1, 3]], np.array([[30.0, 2, 2, 30], [5, 6, 6, 5]])
    )
    found = changes_of([one], wanted=9_990)
    assert 0 < found.p[0] < 0.05
    assert found.draws[0] > 999


def test_p_under_exchange_is_not_below_its_level_more_often_than_allowed():
    rng = np.random.default_rng(5)
    classes = []
    for _ in range(600):
        group = np.repeat([0, 1], 15)
        classes.append(JointClass(0, group, rng.choice(3, (2, 30), p=[0.6, 0.3, 0.1]), np.ones(30)))
    p = changes_of(classes, replicates=199, wanted=1_990).p
    known = p[~np.isnan(p)]
    for level in (0.01, 0.05, 0.2):
        assert (known <= level).mean() <= level + 3 * np.sqrt(level / known.size)
