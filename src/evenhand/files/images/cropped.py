"""Some images of a source, and boxes cut out of images, as sources of their own."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.capabilities import Pixels
from evenhand.core.errors import check_choice
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.decode import FORMATS
from evenhand.files.images.sources import Digests, Reopening

SQUARES: tuple[str, ...] = ("code", "paper", "none")
"""How a box that is far from square becomes one: as the code of the fairness indicators does it, as its paper
says, or not at all."""

FAR_FROM_SQUARE: float = 1.2
"""From this ratio of the longer to the shorter side on, a box is cut to a square."""

_KEPT = 2  # decoded images, as the boxes of one follow each other
_SIDEWAYS = (5, 6, 7, 8)  # orientations in which height and width change places
_ORIENTATION = 0x0112

Box = tuple[int, int, int, int]


def image_size(path: str) -> tuple[int, int]:
    """Width and height of an image file, from its header, turned as the camera noted."""
    from PIL import Image

    try:
        with Image.open(path, formats=FORMATS) as image:
            width, height = image.size
            turned = image.getexif().get(_ORIENTATION) in _SIDEWAYS
    except FileNotFoundError as problem:
        raise UnreadableImage("no such file", path) from problem
    except Exception as problem:  # decoders of damaged files raise whatever they stumble over
        raise UnreadableImage("header that cannot be read", str(problem)) from problem
    return (height, width) if turned else (width, height)


def box_in_pixels(box: Sequence[float], width: int, height: int, square: str) -> Box:
    """The pixels that a box cuts out of an image: left, top, right and bottom, the last two not included.

    The box, in shares of width and height, is rounded to whole pixels (halves to even, as Pillow does). Where
    its longer side is ``FAR_FROM_SQUARE`` times the shorter one or more, it is cut to a square: of a tall box
    the top; of a wide box the middle (``code``) or the left (``paper``, "from the top-left of the bounding
    box").
    """
    check_choice("crop", square, SQUARES)
    left, right = (min(max(round(edge * width), 0), width) for edge in (box[0], box[2]))
    top, bottom = (min(max(round(edge * height), 0), height) for edge in (box[1], box[3]))
    wide, high = right - left, bottom - top
    side = min(wide, high)
    if square == "none" or side <= 0 or max(wide, high) / side < FAR_FROM_SQUARE:
        return left, top, right, bottom
    start = left + int((wide - side) / 2) if square == "code" and wide > high else left
    return start, top, start + side, top + side


class ChosenImages:
    """Some images of a source, in any order; one may be chosen several times."""

    def __init__(self, source: Any, indices: Sequence[int] | npt.NDArray[np.int64]) -> None:
        self.source = source
        self.chosen: npt.NDArray[np.int64] = np.asarray(indices, dtype=np.int64).reshape(-1)

    def __len__(self) -> int:
        return len(self.chosen)

    def digest(self, index: int) -> str:
        """As of the source."""
        return str(self.source.digest(int(self.chosen[index])))

    def digests(self, start: int, stop: int) -> Digests:
        """As of the source; what lies together there is asked for at once."""
        indices = self.chosen[start:stop]
        if not len(indices):
            return []
        places, inverse = np.unique(indices, return_inverse=True)
        breaks = [0, *(np.flatnonzero(np.diff(places) > 1) + 1).tolist(), len(places)]
        unique_digests: Digests = []
        for first, last in pairwise(breaks):
            unique_digests += self._of_source(int(places[first]), int(places[last - 1]) + 1)
        return [unique_digests[position] for position in inverse.tolist()]

    def absent(self) -> dict[int, str]:
        """As of the source; none where it does not lie in files."""
        paths: dict[int, str] = getattr(self.source, "absent", dict)()
        return {
            index: paths[source_index]
            for index, source_index in enumerate(self.chosen.tolist())
            if source_index in paths
        }

    def load(self, index: int) -> Pixels:
        """As of the source."""
        pixels: Pixels = self.source.load(int(self.chosen[index]))
        return pixels

    def _of_source(self, start: int, stop: int) -> Digests:
        if hasattr(self.source, "digests"):
            digests: Digests = self.source.digests(start, stop)
            return digests
        return [_digest(self.source, index) for index in range(start, stop)]


class CroppedImages(Reopening, ChosenImages):
    """Boxes cut out of the images of a source: left, top, right and bottom as shares of width and height.

    ``indices`` are positions of the boxes' images. Boxes of one image that follow each other decode it once.
    """

    def __init__(
        self,
        source: Any,
        indices: Sequence[int] | npt.NDArray[np.int64],
        boxes: Sequence[Sequence[float]] | npt.NDArray[np.float64],
        square: str = "code",  # one of ``SQUARES``: what becomes of boxes far from square
        *,
        pixels: bool = False,  # boxes are in pixels instead of shares
    ) -> None:
        check_choice("crop", square, SQUARES)
        super().__init__(source, indices)
        self.boxes: npt.NDArray[np.float64] = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
        self.square, self.pixels = square, pixels
        self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._decoded: OrderedDict[int, Pixels] = OrderedDict()

    def digest(self, index: int) -> str:
        """Of the image and the box."""
        return self._with_box(super().digest(index), index)

    def digests(self, start: int, stop: int) -> Digests:
        """Of images and boxes; in place of one, what is wrong with the image."""
        source_digests = super().digests(start, stop)
        return [
            digest if isinstance(digest, UnreadableImage) else self._with_box(digest, index)
            for index, digest in enumerate(source_digests, start)
        ]

    def load(self, index: int) -> Pixels:
        """The pixels in the box, uint8 RGB, shape (H, W, 3)."""
        image = self._image(int(self.chosen[index]))
        height, width = image.shape[:2]
        box = self.boxes[index] / ([width, height, width, height] if self.pixels else 1)
        left, top, right, bottom = box_in_pixels(box.tolist(), width, height, self.square)
        if right <= left or bottom <= top:
            raise UnreadableImage("box of less than a pixel", f"{self.boxes[index].tolist()}")
        return np.ascontiguousarray(image[top:bottom, left:right])

    def _image(self, index: int) -> Pixels:
        with self._lock:
            cached_pixels = self._decoded.get(index)
        if cached_pixels is not None:
            return cached_pixels
        pixels: Pixels = self.source.load(index)
        with self._lock:
            self._decoded[index] = pixels
            while len(self._decoded) > _KEPT:
                self._decoded.popitem(last=False)
        return pixels

    def _with_box(self, digest: str, index: int) -> str:
        box = ",".join(edge.hex() for edge in self.boxes[index].tolist())
        kind = "crop in pixels" if self.pixels else "crop"
        return hashlib.sha256(f"{digest}|{kind}|{self.square}|{box}".encode()).hexdigest()


def _digest(source: Any, index: int) -> str | UnreadableImage:
    try:
        return str(source.digest(index))
    except UnreadableImage as problem:
        return problem
