"""Draws are balanced and disjoint, and a planted bias is exactly as strong as asked."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.benchmarks.sprites.factors import (
    COLOURS,
    GRID,
    LEFT_IN_PAPER,
    PAPER_CELL,
    SHAPES,
    TEST_POSES,
    Factors,
    draw_factors,
    from_index,
    left_fraction,
    plant,
    train_test_split,
)
from evenhand.benchmarks.sprites.presets import PRESETS, preset
from evenhand.core.errors import ParameterError, UnknownName


def cells(factors: Factors) -> np.ndarray:
    """Counts by shape and colour, shape (3, 3)."""
    table = np.zeros((len(SHAPES), len(COLOURS)), dtype=int)
    np.add.at(table, (factors.shape, factors.colour), 1)
    return table


def test_the_grid_has_every_crossing_once():
    assert GRID == 3 * 3 * 6 * 40 * 32 * 32 == 2_211_840
    index = np.arange(GRID)
    factors = from_index(index)
    np.testing.assert_array_equal(factors.index(), index)
    highest = [int(getattr(factors, name).max()) + 1 for name in vars(factors)]
    assert highest == [3, 3, 6, 40, 32, 32]


def test_draws_are_balanced_and_without_replacement():
    factors = draw_factors(np.random.default_rng(0), 9_004)
    assert len(np.unique(factors.index())) == 9_004
    assert sorted(cells(factors).ravel()) == [1_000] * 5 + [1_001] * 4


def test_draws_are_in_random_order_and_cover_every_factor():
    factors = draw_factors(np.random.default_rng(0), 9_000)
    assert cells(factors.take(slice(0, 900))).min() > 50
    for name, values in (("scale", 6), ("orientation", 40), ("x", 32), ("y", 32)):
        counts = np.bincount(getattr(factors, name), minlength=values)
        assert counts.min() > 0.7 * 9_000 / values


def test_too_many_sprites_are_refused():
    with pytest.raises(ParameterError, match="2,211,840"):
        draw_factors(np.random.default_rng(0), GRID + 1)
    with pytest.raises(ParameterError, match="90,000"):
        train_test_split(0, 9, 90_001)


def test_train_and_test_share_no_sprite_whatever_the_seeds():
    everything_tested = set(train_test_split(3, 0, 9 * TEST_POSES)[1].index().tolist())
    assert len(everything_tested) == 90_000
    for seed in (0, 1):
        train, test = train_test_split(seed, 20_000, 9_000)
        assert everything_tested.isdisjoint(train.index().tolist())
        assert everything_tested.issuperset(test.index().tolist())
        assert cells(test).tolist() == [[1_000] * 3] * 3


def test_a_seed_gives_the_same_split_again():
    first, again, other = (train_test_split(seed, 900, 90) for seed in (5, 5, 6))
    for one, two, three in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(one.index(), two.index())
        assert set(one.index()) != set(three.index())


@pytest.mark.parametrize("removed", SHAPES)
@pytest.mark.parametrize(("left", "expected"), [(0, 0), (1, 200), (0.25, 50), (0.0024, 0), (0.0026, 1)])
def test_planting_removes_exactly_one_cell(removed, left, expected):
    factors = draw_factors(np.random.default_rng(2), 1_800)
    planted = plant(factors, removed=removed, left=left)
    wanted = np.full((3, 3), 200)
    wanted[SHAPES.index(removed), COLOURS.index("green")] = expected
    np.testing.assert_array_equal(cells(planted), wanted)
    positions = [factors.index().tolist().index(value) for value in planted.index()[:100]]
    assert positions == sorted(positions)


def test_any_colour_can_be_planted():
    planted = plant(draw_factors(np.random.default_rng(2), 900), removed="heart", colour="blue", left=0)
    assert cells(planted).tolist() == [[100] * 3, [100] * 3, [100, 100, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"removed": "circle"}, "heart"), ({"colour": "pink"}, "green"), ({"left": 5_000}, "fraction")],
)
def test_impossible_plants_are_refused(change, message):
    given = {"removed": "heart", "left": 0.0, **change}
    with pytest.raises(ParameterError, match=message):
        plant(draw_factors(np.random.default_rng(2), 9), **given)


def test_strengths_scale_the_papers_counts():
    assert PAPER_CELL == 81_920
    assert [left_fraction(name) for name in LEFT_IN_PAPER] == [1, 5_000 / 81_920, 2_000 / 81_920, 0]
    # At the paper's own size the counts are the paper's; the quick preset leaves the same share.
    for name, count in (("mild", 5_000), ("medium", 2_000), ("strong", 0)):
        assert round(left_fraction(name) * preset("paper").n_train / 9) == count
    quick, _ = train_test_split(0, preset("quick").n_train, 0)
    left = [cells(plant(quick, removed="square", left=left_fraction(name)))[0, 1] for name in LEFT_IN_PAPER]
    assert left == [4_000, 244, 98, 0]
    with pytest.raises(ParameterError, match="mild"):
        left_fraction("weak")


def test_factors_outside_the_grid_are_refused():
    good = draw_factors(np.random.default_rng(0), 3)
    with pytest.raises(ParameterError, match="scale holds values outside 0 to 5"):
        Factors(**{**vars(good), "scale": np.array([0, 6, 1])})
    with pytest.raises(ParameterError, match="x has shape"):
        Factors(**{**vars(good), "x": np.array([0, 1])})


def test_presets_are_named_balanced_and_within_the_grid():
    for name, size in PRESETS.items():
        assert size.name == name
        assert preset(name) is size
        assert size.n_test % 9 == 0
        assert size.n_test <= 9 * TEST_POSES
        assert size.n_train <= GRID - 9 * TEST_POSES
    with pytest.raises(UnknownName, match="quick"):
        preset("quik")
