"""Several sources of images, one after the other, as one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from evenhand.core.capabilities import Pixels
from evenhand.files.images.sources import Digests


class ChainedImages:
    """The images of several sources, which have ``digests``, one after the other."""

    def __init__(self, sources: Sequence[Any]) -> None:
        self.sources = tuple(sources)
        self.ends = tuple(accumulate(len(source) for source in self.sources))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def digest(self, index: int) -> str:
        """As of the source that has the image."""
        source, position = self._locate(index)
        return str(source.digest(position))

    def digests(self, start: int, stop: int) -> Digests:
        """As of the sources that have the images."""
        result: Digests = []
        for source, end in zip(self.sources, self.ends, strict=True):
            first = end - len(source)
            low, high = max(start, first), min(stop, end)
            if low < high:
                result += source.digests(low - first, high - first)
        return result

    def load(self, index: int) -> Pixels:
        """As of the source that has the image."""
        source, position = self._locate(index)
        pixels: Pixels = source.load(position)
        return pixels

    def _locate(self, index: int) -> tuple[Any, int]:
        number = bisect_right(self.ends, index)
        source = self.sources[number]
        return source, index - (self.ends[number] - len(source))
