"""Welch's test of several groups, against scipy's."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.exchange.between import welch_p

SIZES = (4, 9, 3, 1)


@pytest.mark.parametrize("seed", range(3))
def test_p_is_scipys_and_a_group_of_one_row_says_nothing(seed):
    rng = np.random.default_rng(seed)
    group = np.repeat(range(4), SIZES)
    values = rng.normal(3, 1 + group[:, None], (group.size, 2)) + group[:, None]
    samples = [values[group == number] for number in range(3)]
    expected = stats.f_oneway(*samples, equal_var=False).pvalue
    assert welch_p(values, group, 4) == pytest.approx(expected)
