"""A small model whose bias has a cause that can be read: it turns images to grey and cuts at a threshold.

    evenhand run sprites --model examples/grey_model.py:Grey -o runs/sprites-grey

Grey weighs blue least, so a threshold that suits red and green sees no blue sprite. Nothing is trained or
downloaded: shapes are told by their moments, beside the mean moments of sprites that the model draws itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evenhand.benchmarks.sprites.factors import ORIENTATIONS, SCALES, SHAPES, Factors
from evenhand.benchmarks.sprites.render import render

_GREY = np.array([0.299, 0.587, 0.114], np.float32)
_THRESHOLD = 60  # of 255; blue is 29 in grey

Floats = npt.NDArray[np.float32]


class Grey:
    """Which shape is it? The nearest by moments that turning, moving and scaling leave alone."""

    labels = SHAPES

    def __init__(self) -> None:
        shape, scale, turn = np.meshgrid(
            np.arange(len(SHAPES)), np.arange(SCALES), np.arange(ORIENTATIONS), indexing="ij"
        )
        still = np.zeros(shape.size, np.int64)
        drawn = Factors(shape.ravel(), still, scale.ravel(), turn.ravel(), still, still)
        seen = _moments(render(drawn))
        self._spread = seen.std(axis=0)
        self._centres = seen.reshape(len(SHAPES), -1, seen.shape[1]).mean(axis=1)

    def classify(self, images: Sequence[npt.NDArray[np.uint8]]) -> Floats:
        """Logits, float32, shape (N, 3), of N images, uint8 RGB, shape (64, 64, 3)."""
        if not len(images):
            return np.zeros((0, len(SHAPES)), np.float32)
        away = (_moments(np.stack(images))[:, None] - self._centres) / self._spread
        return np.asarray(-np.square(away).sum(axis=2), np.float32)


def _moments(images: npt.NDArray[np.uint8]) -> Floats:
    """Hu's first four moments of what is brighter than the threshold, as logarithms; shape (N, 4)."""
    mask = images.astype(np.float32) @ _GREY > _THRESHOLD
    down, right = np.mgrid[: mask.shape[1], : mask.shape[2]].astype(np.float32)
    area = np.maximum(mask.sum(axis=(1, 2)), 1).astype(np.float32)
    x = right - ((mask * right).sum(axis=(1, 2)) / area)[:, None, None]
    y = down - ((mask * down).sum(axis=(1, 2)) / area)[:, None, None]

    def moment(p: int, q: int) -> Floats:
        return np.asarray((mask * x**p * y**q).sum(axis=(1, 2)) / area ** (1 + (p + q) / 2), np.float32)

    total = moment(2, 0) + moment(0, 2)
    stretched = (moment(2, 0) - moment(0, 2)) ** 2 + 4 * moment(1, 1) ** 2
    skewed = (moment(3, 0) - 3 * moment(1, 2)) ** 2 + (3 * moment(2, 1) - moment(0, 3)) ** 2
    leaning = (moment(3, 0) + moment(1, 2)) ** 2 + (moment(2, 1) + moment(0, 3)) ** 2
    return np.stack([np.log(np.abs(m) + 1e-6) for m in (total, stretched, skewed, leaning)], axis=1)
