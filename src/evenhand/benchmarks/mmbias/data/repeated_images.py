"""Images that are asked about many times in a row: each is decoded once, or nearly."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future

from evenhand.core.capabilities import Pixels
from evenhand.core.requests import ImageSource, UnreadableImage
from evenhand.files.images.sources import Reopening

KEPT = 8
"""Decoded images that are remembered: a batch and those read ahead of it touch few at a time."""


class RepeatedImages(Reopening):
    """Every image of a source so many times, one after the other: row ``r`` is image ``r // times``.

    The last decoded images are remembered. Threads that want the same one wait for it. What is remembered
    is read-only, so that a model that writes into its input cannot change the next answer.
    """

    repeats = True
    """Rows of one image give the same pixel array, so that a model prepares it once."""

    def __init__(self, source: ImageSource, times: int) -> None:
        self.source, self.times = source, times
        self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._decoded: OrderedDict[int, Future[Pixels]] = OrderedDict()

    def __len__(self) -> int:
        return len(self.source) * self.times

    def digest(self, index: int) -> str:
        """As of the source."""
        return self.source.digest(index // self.times)

    def digests(self, start: int, stop: int) -> list[str | UnreadableImage]:
        """As of the source, each image once."""
        low, high = start // self.times, (max(start, stop - 1)) // self.times + 1
        image_digests = self._each(low, high)
        return [image_digests[row // self.times - low] for row in range(start, stop)]

    def _each(self, low: int, high: int) -> list[str | UnreadableImage]:
        if hasattr(self.source, "digests"):
            digests: list[str | UnreadableImage] = self.source.digests(low, high)
            return digests
        return [self._digest(image) for image in range(low, high)]

    def _digest(self, image: int) -> str | UnreadableImage:
        try:
            return self.source.digest(image)
        except UnreadableImage as problem:
            return problem

    def load(self, index: int) -> Pixels:
        """The decoded image, uint8 RGB, shape (H, W, 3), read-only."""
        image = index // self.times
        with self._lock:
            waiting = self._decoded.get(image)
            mine = waiting is None
            if waiting is None:
                waiting = self._decoded[image] = Future()
                while len(self._decoded) > KEPT:
                    self._decoded.popitem(last=False)
            self._decoded.move_to_end(image)
        if mine:
            self._decode(image, waiting)
        return waiting.result()

    def _decode(self, image: int, waiting: Future[Pixels]) -> None:
        try:
            pixels = self.source.load(image).view()
        except BaseException as problem:
            with self._lock:  # what failed is tried again: it may have been for the time being
                if self._decoded.get(image) is waiting:
                    del self._decoded[image]
            waiting.set_exception(problem)
            return
        pixels.flags.writeable = False
        waiting.set_result(pixels)
