"""Draws sprites from their factors, as dSprites does, with three colours added.

The shapes are defined by inequalities and tested at the centres of the pixels, so a pixel is coloured or
black and nothing is blended. Sprites move by whole pixels, so one stamp for each shape, scale and orientation
is drawn once and then copied to its place.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from evenhand.benchmarks.sprites.factors import ORIENTATIONS, SCALES, SHAPES, Factors

SIZE: int = 64
"""Width and height of an image, in pixels."""

_REACH = 16  # a stamp spans 16 pixels to each side of its centre, which is column x + 16 and row y + 16
_AREA = 480.0  # all shapes cover as much at the largest scale, so that none can be told by its area
_CHUNK = 1024  # images drawn at once: bounds the memory that indexing takes

Plane = npt.NDArray[np.float64]


def render(factors: Factors) -> npt.NDArray[np.uint8]:
    """Draw sprites; equal factors give equal pixels everywhere.

    Args:
        factors: What to draw.

    Returns:
        uint8 RGB, shape (N, 64, 64, 3); every value is 0 or 255, and only the sprite's own channel is used.
    """
    images = np.zeros((len(factors), SIZE, SIZE, 3), dtype=np.uint8)
    for start in range(0, len(factors), _CHUNK):
        _copy_stamps(images[start : start + _CHUNK], factors.take(slice(start, start + _CHUNK)))
    return images


def _copy_stamps(images: npt.NDArray[np.uint8], factors: Factors) -> None:
    """Copy each sprite's stamp into its image."""
    span = np.arange(2 * _REACH + 1)
    stamps = _stamps()[factors.shape, factors.scale, factors.orientation]
    number = np.arange(len(factors))[:, None, None]
    rows = (factors.y[:, None] + span)[:, :, None]
    columns = (factors.x[:, None] + span)[:, None, :]
    images[number, rows, columns, factors.colour[:, None, None]] = stamps


@cache
def _stamps() -> npt.NDArray[np.uint8]:
    """Every shape, scale and orientation, drawn once: 0 or 255, shape (3, 6, 40, 33, 33)."""
    scale = np.linspace(0.5, 1.0, SCALES)[:, None, None, None]
    cosine, sine = _turns()
    down, right = np.mgrid[-_REACH : _REACH + 1, -_REACH : _REACH + 1] / np.sqrt(_AREA)
    across = (cosine * right + sine * down) / scale
    along = (cosine * down - sine * right) / scale
    inside = {"square": _in_square, "ellipse": _in_ellipse, "heart": _in_heart}
    return np.stack([np.where(inside[shape](across, along), 255, 0) for shape in SHAPES]).astype(np.uint8)


def _turns() -> tuple[Plane, Plane]:
    """Cosine and sine of every orientation, shape (40, 1, 1) each.

    Three quadrants are copied from the first, so that a quarter turn maps pixels to pixels without rounding.
    """
    quarter = np.arange(ORIENTATIONS // 4) * (2 * np.pi / ORIENTATIONS)
    cosine, sine = np.cos(quarter), np.sin(quarter)
    return (
        np.concatenate([cosine, -sine, -cosine, sine])[:, None, None],
        np.concatenate([sine, cosine, -sine, -cosine])[:, None, None],
    )


# The shapes have area 1 and are centred; ``across`` points to the right and ``along`` down.


def _in_square(across: Plane, along: Plane) -> npt.NDArray[np.bool_]:
    """A square with sides of 1."""
    return np.maximum(np.abs(across), np.abs(along)) <= 0.5


def _in_ellipse(across: Plane, along: Plane) -> npt.NDArray[np.bool_]:
    """An ellipse 1.4 times as wide as high."""
    ratio = 1.4
    return across**2 / ratio + along**2 * ratio <= 1 / np.pi


def _in_heart(across: Plane, along: Plane) -> npt.NDArray[np.bool_]:
    """The curve (u² + v² - 1)³ = u² v³, whose inside has area 3.6620, with the middle of its height at 0."""
    area, middle = 3.6619726, 0.1181
    u, v = across * np.sqrt(area), middle - along * np.sqrt(area)
    return np.asarray((u**2 + v**2 - 1) ** 3 <= u**2 * v**3)
