"""The small model of the demo is right about red and green sprites, and blind to blue ones."""

import numpy as np
import pytest

from evenhand.benchmarks.sprites.factors import COLOURS, SHAPES, train_test_split
from evenhand.benchmarks.sprites.render import render
from evenhand.core.registry import load_object
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def model():
    return load_object(f"{ROOT / 'examples' / 'grey_model.py'}:Grey")()


def test_it_sees_every_shape_but_the_blue_ones(model):
    _, sprites = train_test_split(1, 0, 900)
    answers = model.classify(render(sprites))
    assert (answers.shape, answers.dtype) == ((900, len(SHAPES)), np.float32)
    assert np.isfinite(answers).all()
    right = answers.argmax(axis=1) == sprites.shape
    by_colour = {name: right[sprites.colour == code] for code, name in enumerate(COLOURS)}
    assert by_colour["red"].mean() > 0.99
    assert by_colour["green"].mean() > 0.99
    assert len({tuple(row) for row in answers[sprites.colour == COLOURS.index("blue")].tolist()}) == 1
    assert abs(by_colour["blue"].mean() - 1 / 3) < 0.01


def test_an_answer_does_not_depend_on_the_batch(model):
    images = render(train_test_split(0, 0, 18)[1])
    alone = np.concatenate([model.classify(images[i : i + 1]) for i in range(18)])
    np.testing.assert_allclose(model.classify(images), alone, rtol=1e-4)
    assert model.classify(images[:0]).shape == (0, len(SHAPES))
