"""The renderer draws what the factors say, and nothing else."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from evenhand.benchmarks.sprites.factors import (
    COLOURS,
    ORIENTATIONS,
    POSITIONS,
    SCALES,
    SHAPES,
    Factors,
    draw_factors,
)
from evenhand.benchmarks.sprites.render import SIZE, render


def make(**given: object) -> Factors:
    """Sprites with the given factors; the others are 0."""
    names = ("shape", "colour", "scale", "orientation", "x", "y")
    columns = np.broadcast_arrays(*(np.asarray(given.get(name, 0), dtype=np.int64) for name in names))
    return Factors(**dict(zip(names, (column.ravel() for column in columns), strict=True)))


def masks(factors: Factors) -> np.ndarray:
    """Which pixels are coloured, shape (N, 64, 64)."""
    return render(factors).any(axis=-1)


def every_stamp() -> Factors:
    shape, scale, orientation = np.mgrid[: len(SHAPES), :SCALES, :ORIENTATIONS]
    return make(shape=shape, scale=scale, orientation=orientation)


def test_images_are_uint8_without_blending():
    images = render(draw_factors(np.random.default_rng(0), 300))
    assert images.shape == (300, SIZE, SIZE, 3)
    assert images.dtype == np.uint8
    assert set(np.unique(images)) == {0, 255}


@pytest.mark.parametrize("colour", range(len(COLOURS)))
def test_only_the_own_channel_is_used(colour):
    images = render(make(colour=colour, shape=[0, 1, 2], scale=3, x=9, y=4))
    used = images.any(axis=(0, 1, 2))
    assert used.tolist() == [channel == colour for channel in range(3)]


def test_colour_changes_nothing_but_the_channel():
    images = render(make(colour=[0, 1, 2], shape=2, scale=4, orientation=7, x=3, y=20))
    np.testing.assert_array_equal(images[0, :, :, 0], images[1, :, :, 1])
    np.testing.assert_array_equal(images[0, :, :, 0], images[2, :, :, 2])


def test_area_grows_with_scale_and_is_no_clue_to_the_shape():
    area = masks(every_stamp()).sum(axis=(1, 2)).reshape(len(SHAPES), SCALES, ORIENTATIONS)
    assert (np.diff(area, axis=1) > 0).all()
    mean = area.mean(axis=2)
    np.testing.assert_allclose(mean, np.broadcast_to(mean.mean(axis=0), mean.shape), rtol=0.02)
    np.testing.assert_allclose(np.sqrt(mean[:, 0] / mean[:, -1]), 0.5, rtol=0.02)


def test_sprites_stay_in_the_frame_at_every_position():
    # A sprite that left the frame would lose pixels: its area would depend on where it is.
    ends = np.array([0, POSITIONS - 1])
    shape, scale, orientation, x, y = np.meshgrid(
        range(len(SHAPES)), [0, SCALES - 1], range(ORIENTATIONS), ends, ends, indexing="ij"
    )
    area = masks(make(shape=shape, scale=scale, orientation=orientation, x=x, y=y)).sum(axis=(1, 2))
    area = area.reshape(-1, 4)
    np.testing.assert_array_equal(area, area[:, :1].repeat(4, axis=1))
    largest = masks(make(shape=[0, 1, 2], scale=SCALES - 1, orientation=np.arange(ORIENTATIONS)[:, None]))
    assert not largest[:, 0].any()
    assert not largest[:, :, 0].any()


def test_a_step_in_position_is_one_pixel():
    images = render(make(shape=2, scale=5, orientation=3, x=[4, 5, 4], y=[6, 6, 7]))
    np.testing.assert_array_equal(np.roll(images[0], 1, axis=1), images[1])
    np.testing.assert_array_equal(np.roll(images[0], 1, axis=0), images[2])


@pytest.mark.parametrize(("shape", "turns"), [("square", 4), ("ellipse", 2), ("heart", 1)])
def test_rotational_symmetry_is_that_of_the_shape(shape, turns):
    pictures = masks(make(shape=SHAPES.index(shape), scale=5, orientation=np.arange(ORIENTATIONS), x=9, y=9))
    different = {picture.tobytes() for picture in pictures}
    assert len(different) == ORIENTATIONS // turns
    period = ORIENTATIONS // turns
    np.testing.assert_array_equal(pictures, np.roll(pictures, period, axis=0))


def test_a_quarter_turn_turns_the_picture():
    quarter = ORIENTATIONS // 4
    stamps = masks(make(shape=2, scale=5, orientation=[0, quarter], x=0, y=0))[:, :33, :33]
    np.testing.assert_array_equal(np.rot90(stamps[0], -1), stamps[1])


def test_the_heart_is_upright_and_symmetric_at_orientation_0():
    (heart,) = masks(make(shape=2, scale=5))[:, :33, :33]
    np.testing.assert_array_equal(heart, heart[:, ::-1])
    rows = heart.sum(axis=1)
    used = np.flatnonzero(rows)
    assert rows[used[0] : used[len(used) // 2]].sum() > rows[used[len(used) // 2] : used[-1] + 1].sum()


def test_shapes_are_distinct_at_every_size_and_orientation():
    pictures = masks(every_stamp()).reshape(len(SHAPES), -1, SIZE * SIZE)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        seen = {picture.tobytes() for picture in pictures[first]}
        assert not any(picture.tobytes() in seen for picture in pictures[second])


def test_pictures_do_not_change_between_releases():
    digest = hashlib.sha256(render(every_stamp()).tobytes()).hexdigest()
    assert digest == DIGEST


def test_batches_and_order_do_not_matter():
    factors = draw_factors(np.random.default_rng(1), 1500)
    whole = render(factors)
    np.testing.assert_array_equal(whole[1100:1110], render(factors.take(slice(1100, 1110))))
    np.testing.assert_array_equal(whole[::-1], render(factors.take(slice(None, None, -1))))
    assert render(factors.take(slice(0, 0))).shape == (0, SIZE, SIZE, 3)


DIGEST = "808045c09e00529cdcb03ee60fcda50e2a4a766fa8239ee1e06458dfd7ed1a56"
