"""A model of your own: any class with ``labels`` and ``classify``.

    evenhand run BENCHMARK --model examples/own_model.py:Brightness

This one calls the brighter half of an image by its side; put your network in its place.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class Brightness:
    """Which half is brighter?"""

    labels = ("left", "right")

    def classify(self, images: Sequence[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
        """Logits, float32, shape (N, 2), of N images, uint8 RGB, shape (H, W, 3)."""
        halves = [np.array_split(image.astype(np.float32), 2, axis=1) for image in images]
        return np.array([[left.mean(), right.mean()] for left, right in halves], np.float32)
