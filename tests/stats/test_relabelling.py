"""One exchange for all: wholes move as wholes, mixed units inside, strata keep their labels."""

import numpy as np
import pytest

from evenhand.stats.exchange.compared_rates import each_exceeded, exceeded
from evenhand.stats.exchange.relabelling import (
    Levels,
    Relabelling,
    levels_of,
    shuffled,
    units_in,
)

LABEL = np.array([0, 0, 1, 1, 2, 2, 0, 1, 2])  # units 0, 1, 2 are wholes of two rows; unit 3 holds all labels
UNIT = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])


def test_wholes_change_places_and_mixed_units_inside():
    exchange = Relabelling(LABEL, UNIT)
    assert exchange.mixed.tolist() == [False, False, False, True]
    drawn = exchange.drawn(np.random.default_rng(0), 200)
    assert (drawn[:, [0, 2, 4]] == drawn[:, [1, 3, 5]]).all()
    assert (np.sort(drawn[:, [0, 2, 4]]) == [0, 1, 2]).all()
    assert (np.sort(drawn[:, 6:]) == [0, 1, 2]).all()
    assert len(np.unique(drawn[:, [0, 2, 4]], axis=0)) == len(np.unique(drawn[:, 6:], axis=0)) == 6


def test_rows_of_one_label_in_a_mixed_unit_stay_together():
    label, unit = np.array([0, 0, 0, 1, 1, 2, 0, 1]), np.array([0, 0, 0, 0, 0, 0, 1, 1])
    exchange = Relabelling(label, unit)
    drawn = exchange.drawn(np.random.default_rng(0), 200)
    assert (drawn[:, 0:2] == drawn[:, 1:3]).all()
    assert (drawn[:, 3] == drawn[:, 4]).all()
    assert (np.sort(drawn[:, [0, 3, 5]]) == [0, 1, 2]).all()
    assert len(np.unique(drawn[:, :6], axis=0)) == 6
    assert (np.sort(drawn[:, 6:]) == [0, 1]).all()


def test_labels_stay_within_strata_and_units_of_several_change_with_each_other():
    label, unit = np.array([0, 1, 0, 1, 0, 1, 0, 1]), np.array([0, 1, 2, 3, 4, 5, 4, 5])
    stratum = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    exchange = Relabelling(label, unit, stratum)
    assert exchange.block.tolist() == [0, 0, 1, 1, -1, -1]
    drawn = exchange.drawn(np.random.default_rng(0), 100)
    for pair in ([0, 1], [2, 3], [4, 5]):
        assert (drawn[:, pair].sum(axis=1) == 1).all()
        assert 20 < drawn[:, pair[0]].sum() < 80
    assert (drawn[:, [4, 5]] == drawn[:, [6, 7]]).all()


def test_blocks_are_shuffled_alike_whether_one_by_one_or_sorted_together():
    rng = np.random.default_rng(0)
    for block in (np.repeat([0, 1], 12), np.repeat(np.arange(12), 2)):
        label = np.tile([0, 1], 12)
        drawn = shuffled(rng, label, block, 400)
        for code in np.unique(block):
            inside = drawn[:, block == code]
            assert (inside.sum(axis=1) == inside.shape[1] // 2).all()
            assert inside.mean(axis=0) == pytest.approx(0.5, abs=0.12)


def test_fixed_is_one_unit_a_label_or_nothing_that_can_change():
    assert not Relabelling(LABEL, UNIT).fixed
    assert Relabelling(np.array([0, 0, 1]), np.array([0, 0, 1])).fixed
    assert not Relabelling(np.array([0, 0, 1]), np.array([0, 1, 2])).fixed
    own = np.array([0, 0, 1, 1])
    assert Relabelling(own, np.arange(4), own).fixed  # strata are labels


def test_levels_draw_what_shuffling_gives():
    rng, label = np.random.default_rng(0), np.repeat([0, 1, 2], [3, 4, 5])
    value, block = np.array([1.0] * 5 + [0.0] * 7), np.zeros(12, dtype=np.int64)
    first, level = levels_of(value)
    levels = Levels.of(block, level, value[first, None], label, 3)
    hits = levels.drawn(rng, 20_000)[:, :, 0] @ levels.moments[0, :, 0]
    one_by_one = shuffled(rng, label, block, 20_000)
    for code in range(3):
        again = ((one_by_one == code) * value).sum(axis=1)
        assert hits[:, code].mean() == pytest.approx(again.mean(), abs=0.03)
        assert hits[:, code].var() == pytest.approx(again.var(), abs=0.04)
    assert (hits.sum(axis=1) == 5).all()
    assert Levels.of(block, np.arange(12), np.arange(12.0)[:, None], label, 3) is None


def test_p_counts_the_observed_and_what_is_as_large():
    drawn = np.array([0.1, 0.3, 0.3 - 1e-12, 0.5])
    assert exceeded(0.3, drawn) == 4 / 5
    assert each_exceeded(np.array([0.3, 0.6]), np.stack([drawn, drawn], axis=1)).tolist() == [4 / 5, 1 / 5]


def test_units_count_in_each_group_they_lie_in():
    assert units_in(UNIT, LABEL, 4).tolist() == [2, 2, 2, 0]


def test_what_has_no_error_is_exceeded_by_draws_without_one():
    assert exceeded(np.inf, np.array([1.0, np.inf])) == pytest.approx(2 / 3)


@pytest.mark.parametrize("observed", [0.0, 0.5, -0.5, 100.0, np.inf])
def test_draws_that_are_equal_but_for_rounding_count_and_others_do_not(observed):
    slack = 1e-9 * max(1, abs(observed)) if np.isfinite(observed) else 0.0
    draws = observed - np.array([0.9, 1.1, -5.0, 100.0]) * slack if slack else np.array([np.inf, 1, 2, 3e300])
    assert exceeded(observed, draws) == (3 / 5 if slack else 2 / 5)
