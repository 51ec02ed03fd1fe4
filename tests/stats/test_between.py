"""Welch's test of several groups, against scipy's."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.exchange.between import Between, UnitSums, welch_p

SIZES = (4, 9, 3, 1)


@pytest.mark.parametrize("seed", range(3))
def test_p_is_scipys_and_a_group_of_one_row_says_nothing(seed):
    rng = np.random.default_rng(seed)
    group = np.repeat(range(4), SIZES)
    values = rng.normal(3, 1 + group[:, None], (group.size, 2)) + group[:, None]
    samples = [values[group == number] for number in range(3)]
    expected = stats.f_oneway(*samples, equal_var=False).pvalue
    assert welch_p(values, group, 4) == pytest.approx(expected)


def of_rows(sizes=SIZES, seed=0):
    rng = np.random.default_rng(seed)
    group = np.repeat(range(len(sizes)), sizes)
    return rng.normal(3, 1 + group[:, None], (group.size, 2)) + group[:, None], group


def test_clusters_of_one_row_say_what_rows_do():
    values, group = of_rows()
    rows = Between.of(values, group, 4)
    units = UnitSums.of(values, group, 4, np.random.default_rng(1).permutation(group.size)).between()
    for name in ("between", "within"):
        np.testing.assert_allclose(getattr(units, name)[0], getattr(rows, name), err_msg=name)
    some = UnitSums.of(*of_rows((4, 9, 3)), 3, np.arange(16)).between()  # no group of one row
    rows = Between.of(*of_rows((4, 9, 3)), 3)
    np.testing.assert_allclose(some.noise[0], rows.noise)
    np.testing.assert_allclose(some.freedom[0][0], rows.freedom[0])


def test_noise_of_clusters_is_that_of_leaving_each_out():
    values, group = of_rows((12, 9, 10))
    unit = np.random.default_rng(2).integers(0, 7, group.size)
    found = UnitSums.of(values[:, :1], group, 3, unit).between()
    y, size, n = values[:, 0], np.bincount(group), group.size
    mean = np.bincount(group, y) / size
    moved = np.zeros((7, 3))
    for c, g in product(range(7), range(3)):
        here, left = (unit == c) & (group == g), (unit != c) & (group == g)
        moved[c, g] = mean[g] - y[left].mean() if here.any() else 0
    clusters = np.array([len(set(unit[group == g])) for g in range(3)])
    moved *= np.sqrt((clusters - 1) / clusters)  # the jackknife's shifts of each mean
    of_all = moved @ (size / n)
    spread = size * ((moved - of_all[:, None]) ** 2).sum(axis=0)
    assert found.noise[0] == pytest.approx([spread.sum()])
    kish = size**2 / np.array([(np.bincount(unit[group == g]) ** 2).sum() for g in range(3)])
    assert found.freedom[1][0] == pytest.approx([spread.sum() ** 2 / (spread**2 / (kish - 1)).sum()])
