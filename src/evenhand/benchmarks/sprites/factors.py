"""The factors that make a sprite: drawn, split into training and test, and planted with a bias."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError, check_choice
from evenhand.core.random_streams import stream

SHAPES: tuple[str, ...] = ("square", "ellipse", "heart")
COLOURS: tuple[str, ...] = ("red", "green", "blue")
SCALES: int = 6
ORIENTATIONS: int = 40
POSITIONS: int = 32

POSES: int = SCALES * ORIENTATIONS * POSITIONS * POSITIONS
"""How many sprites of one shape and colour there are."""

GRID: int = len(SHAPES) * len(COLOURS) * POSES
"""How many sprites there are in all: 2,211,840."""

TEST_POSES: int = 10_000
"""How many sprites of each shape and colour only ever appear in test sets."""

PAPER_CELL: int = 737_280 // (len(SHAPES) * len(COLOURS))
"""Training images of each shape and colour in the paper: dSprites' 737,280, recoloured evenly."""

LEFT_IN_PAPER: dict[str, int] = {"none": PAPER_CELL, "mild": 5_000, "medium": 2_000, "strong": 0}
"""How many images of the planted shape and colour the paper left in (Table 2), by bias strength."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Factors:
    """Sprites as factor indices; all arrays have the same length.

    Attributes:
        shape: Index into ``SHAPES``.
        colour: Index into ``COLOURS``.
        scale: 0 to 5; 0 is half the size of 5.
        orientation: 0 to 39; each step turns the sprite by 9 degrees.
        x: 0 to 31, from left to right; each step is one pixel.
        y: 0 to 31, from top to bottom; each step is one pixel.
    """

    shape: Indices
    colour: Indices
    scale: Indices
    orientation: Indices
    x: Indices
    y: Indices

    def __post_init__(self) -> None:
        limits = {
            "shape": len(SHAPES),
            "colour": len(COLOURS),
            "scale": SCALES,
            "orientation": ORIENTATIONS,
            "x": POSITIONS,
            "y": POSITIONS,
        }
        for name, limit in limits.items():
            values = getattr(self, name)
            if values.shape != (len(self),):
                raise ParameterError(
                    f"{name} has shape {values.shape}; all factors need shape {(len(self),)}"
                )
            if len(self) and not 0 <= values.min() <= values.max() < limit:
                raise ParameterError(f"{name} holds values outside 0 to {limit - 1}")

    def __len__(self) -> int:
        return len(self.shape)

    def take(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_] | slice) -> Factors:
        """The sprites at ``index``, in that order."""
        return Factors(
            shape=self.shape[index],
            colour=self.colour[index],
            scale=self.scale[index],
            orientation=self.orientation[index],
            x=self.x[index],
            y=self.y[index],
        )

    def index(self) -> Indices:
        """Each sprite's place in the grid, 0 to ``GRID - 1``: a stable id."""
        cell = self.shape * len(COLOURS) + self.colour
        pose = (self.scale * ORIENTATIONS + self.orientation) * POSITIONS + self.y
        return np.asarray(cell * POSES + pose * POSITIONS + self.x, dtype=np.int64)


def from_index(index: npt.NDArray[np.int64]) -> Factors:
    """The sprites at these places in the grid; undoes ``Factors.index``."""
    sizes = (len(SHAPES), len(COLOURS), SCALES, ORIENTATIONS, POSITIONS, POSITIONS)
    shape, colour, scale, orientation, y, x = np.unravel_index(index, sizes)
    return Factors(shape=shape, colour=colour, scale=scale, orientation=orientation, x=x, y=y)


def draw_factors(rng: np.random.Generator, n: int) -> Factors:
    """Draw sprites from the whole grid without replacement, in random order.

    Every shape and colour is drawn equally often (the first cells once more when ``n`` is no multiple of 9).
    """
    return _draw(rng, n, [np.arange(POSES)] * _cells())


def train_test_split(seed: int, n_train: int, n_test: int) -> tuple[Factors, Factors]:
    """Draw a training and a test set that share no sprite.

    The grid is divided once and for all: 10,000 sprites of each shape and colour are only for testing. So no
    training set meets any test set, whatever the seeds and sizes of the two. Both are balanced over shapes
    and colours and in random order, at most 2,121,840 sprites to train on and 90,000 to test on.
    """
    orders = [stream(0, "sprites", "test part", cell).permutation(POSES) for cell in range(_cells())]
    train = _draw(stream(seed, "sprites", "train"), n_train, [order[TEST_POSES:] for order in orders])
    test = _draw(stream(seed, "sprites", "test"), n_test, [order[:TEST_POSES] for order in orders])
    return train, test


def left_fraction(strength: str) -> float:
    """The fraction of the planted shape and colour that a bias strength leaves in the training set.

    The paper counts images of dSprites, 81,920 of each shape and colour: it leaves 5,000 (``mild``), 2,000
    (``medium``) or none (``strong``) of one. The same fractions carry over to a training set of any size.
    """
    check_choice("strength", strength, LEFT_IN_PAPER)
    return LEFT_IN_PAPER[strength] / PAPER_CELL


def plant(factors: Factors, *, removed: str, colour: str = "green", left: float) -> Factors:
    """Remove most sprites of one shape and colour, and so tie the colour to the other shapes.

    Applied to a training set, it plants a bias. Applied to a test set, it makes one that is biased in the
    same way; a biased model is right there, which shows that it learned the bias and was trained long enough.
    The fraction ``left`` of these sprites stays, the earliest of them; the order is kept.
    """
    check_choice("removed", removed, SHAPES)
    check_choice("colour", colour, COLOURS)
    if not 0 <= left <= 1:
        raise ParameterError(f"left={left!r} is not possible; give a fraction from 0 to 1")
    planted = (factors.shape == SHAPES.index(removed)) & (factors.colour == COLOURS.index(colour))
    n_left = math.floor(left * int(planted.sum()) + 0.5)
    return factors.take(~planted | (np.cumsum(planted) <= n_left))


def _cells() -> int:
    """How many crossings of shape and colour there are."""
    return len(SHAPES) * len(COLOURS)


def _draw(rng: np.random.Generator, n: int, poses: list[Indices]) -> Factors:
    """Draw ``n`` sprites evenly over the cells, each from its own list of poses."""
    if not 0 <= n <= sum(map(len, poses)):
        raise ParameterError(f"{n} sprites are not possible; there are {sum(map(len, poses)):,} to draw from")
    indices = []
    for cell, possible in enumerate(poses):
        n_images = n // len(poses) + (cell < n % len(poses))
        indices.append(cell * POSES + rng.choice(possible, size=n_images, replace=False))
    return from_index(rng.permutation(np.concatenate(indices)))
