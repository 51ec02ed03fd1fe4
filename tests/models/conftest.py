"""Fixtures for models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.models.tiny import build

TEXTS = ["a photo of the doctor and his patient", "a nurse", "the dog is in the street with her teacher"]


@pytest.fixture(scope="session")
def tiny() -> Callable[[str], Path]:
    """From a name of ``tests.models.tiny.NAMES`` to the folder of that model."""
    return build


@pytest.fixture(scope="session")
def pictures() -> list[np.ndarray]:
    """Five small RGB images of different sizes and contents."""
    return make_pictures(5)


def make_pictures(count: int, seed: int = 0) -> list[np.ndarray]:
    """Random smooth images, uint8 RGB, of different sizes."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        height, width = 40 + 4 * number, 52 - 3 * number
        coarse = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
        rows, columns = np.arange(height) * 4 // height, np.arange(width) * 5 // width
        made.append(np.ascontiguousarray(coarse[rows][:, columns]))
    return made
