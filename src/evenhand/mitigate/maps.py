"""What a mitigation does to the vectors of one modality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError
from evenhand.stats.arrays import Floats, Mask, pieces

ONE_BASIS = (
    "anything about directions across dimensions: after a rotation, other dimensions would be left out"
)
_SMALL, _LARGE = 1e-140, 1e140  # of entries: squares of others are far from the limits of float64
_NUMBERS = 1 << 19  # of a block, 4 MiB in float64


@dataclass(frozen=True, eq=False)
class Map:
    """What happens to the vectors of one modality: ``y = unit?((unit?(x) - centre) @ matrix + centre)``.

    Or dimensions are left out. ``Map()`` leaves every bit as it is.

    Attributes:
        keep: Which dimensions stay, bool, shape (D,); None: all.
        matrix: Shape (D, D), applied to rows from the right; None: the identity.
        centre: Subtracted before the matrix and added after it, shape (D,); None: zero.
        unit_before: Whether vectors are brought to length 1 first.
        unit_after: Whether they are brought to length 1 at last.

    Raises:
        InputError: Arrays of other shapes, numbers that are not finite, no dimension kept, or both a matrix
            and dimensions to keep.
    """

    keep: Mask | None = None
    matrix: Floats | None = None
    centre: Floats | None = None
    unit_before: bool = False
    unit_after: bool = False

    def __post_init__(self) -> None:
        if self.keep is not None and (self.keep.ndim != 1 or self.keep.dtype != bool or not self.keep.any()):
            raise InputError(
                "a map keeps no dimension; keep must be bool, shape (D,), with one True at least"
            )
        if self.keep is not None and (self.matrix is not None or self.centre is not None):
            raise InputError("a map has dimensions to keep and a matrix or centre; give one of the two")
        if self.matrix is None and self.centre is not None:
            raise InputError("a map has a centre without a matrix, which changes nothing; give both")
        if self.matrix is None:
            return
        if self.matrix.ndim != 2 or len(set(self.matrix.shape)) != 1:
            raise InputError(f"a map's matrix has shape {self.matrix.shape}; it must be (D, D)")
        if self.centre is not None and self.centre.shape != self.matrix.shape[:1]:
            raise InputError(f"a map's centre has shape {self.centre.shape}; it must be (D,)")
        for array in (self.matrix, self.centre):
            if array is not None and (array.dtype.kind != "f" or not np.isfinite(array).all()):
                raise InputError("a map's matrix or centre holds numbers that are not finite; fit it again")

    @property
    def identity(self) -> bool:
        """Whether nothing is changed."""
        keeps_all = self.keep is None or bool(self.keep.all())
        return keeps_all and self.matrix is None and not (self.unit_before or self.unit_after)

    @property
    def dimensions(self) -> int | None:
        """D, of the vectors it takes; None: any."""
        shaping = self.keep if self.keep is not None else self.matrix
        return None if shaping is None else len(shaping)

    def transform(self, vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The vectors after the change, in blocks: beyond the result, memory does not grow with their number.

        Each row's result has the same bits whichever rows stand beside it. A vector of length 0 stays 0, one
        that is not finite stays not finite.

        Args:
            vectors: Shape (N, D), float16, float32 or float64.

        Returns:
            Shape (N, D), or (N, dimensions kept), of the same type; never the array given.

        Raises:
            InputError: Vectors of another number of dimensions.
        """
        if vectors.ndim != 2:
            raise InputError(f"vectors have shape {vectors.shape}; give (items, dimensions)")
        if self.dimensions is not None and vectors.shape[1] != self.dimensions:
            raise InputError(
                f"the vectors have {vectors.shape[1]} dimensions, and the mitigation was fitted on "
                f"{self.dimensions}; use the model it was fitted for"
            )
        if self.identity:
            return vectors.copy()
        rows = max(128, min(4096, _NUMBERS // max(1, vectors.shape[1])))
        if self.keep is not None and not (self.unit_before or self.unit_after):
            selected = vectors.take(np.flatnonzero(self.keep), axis=1)
            for some in pieces(len(vectors), rows):
                unanswered = ~np.isfinite(vectors[some]).all(axis=1)
                selected[some][unanswered] = np.nan  # what was no answer does not become one
            return selected
        width = vectors.shape[1] if self.keep is None else int(self.keep.sum())
        result = np.empty((len(vectors), width), dtype=vectors.dtype)
        block = np.zeros((rows, vectors.shape[1]))  # always full, as BLAS sums otherwise in other orders
        for some in pieces(len(vectors), rows):
            part = vectors[some]
            block[: len(part)], block[len(part) :] = part, 0
            result[some] = self._changed(block)[: len(part)]
        return result

    def _changed(self, block: Floats) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            changed = unit(block) if self.unit_before else block
            if self.keep is not None:
                changed = changed[:, self.keep]
            if self.matrix is not None:
                centre = 0.0 if self.centre is None else self.centre
                changed = (changed - centre) @ self.matrix + centre
            changed = unit(changed) if self.unit_after else changed
        something = np.any(block != 0, axis=1, keepdims=True)
        return np.where(something, changed, 0)


def kept_maps(total: int, gone: Sequence[int]) -> dict[str, Map]:
    """Maps that leave dimensions out of images and texts alike, or change nothing where none goes."""
    if not gone:
        return {"image": Map(), "text": Map()}
    keep = np.ones(total, dtype=bool)
    keep[list(gone)] = False
    return {"image": Map(keep=keep), "text": Map(keep=keep.copy())}


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1; one of length 0 stays 0, one that is not finite stays not finite."""
    vectors = in_range(vectors)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return vectors / np.where(length == 0, 1, length)


def in_range(vectors: Floats) -> Floats:
    """Rows whose squared length float64 cannot hold, divided by their largest entry; others as they are."""
    largest = np.abs(vectors).max(axis=1, initial=0, keepdims=True)
    extreme = np.isfinite(largest) & (largest > 0) & ((largest < _SMALL) | (largest > _LARGE))
    return np.divide(vectors, largest, out=vectors.copy(), where=extreme) if extreme.any() else vectors
