"""Hashes of what a picture looks like: those of copies in another size or compression are mostly equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from evenhand.core.capabilities import Pixels
from evenhand.core.requests import UnreadableImage
from evenhand.files.database import connect, telling, transaction
from evenhand.files.home import home
from evenhand.files.threads import by_threads

_SIDE = 12  # differences along each side
_FEWEST = _SIDE * _SIDE // 8  # differences below which a picture is too plain to tell from others
_NOISE = 2  # grey levels that compression changes
_AT_ONCE = 500
_THREADS = 8  # more of them decode no faster beside a model
_SCHEMA = "create table if not exists looks (sha256 text primary key, look text not null) without rowid"


def difference_hash(pixels: Pixels) -> str:
    """Where the picture gets brighter, to the right and downwards; empty of one that is nearly plain.

    The picture is made grey and small, and each pixel is compared with its neighbours: 2 x 12 x 12 bits. The
    difference hash (dHash) of N. Krawetz, "Kind of Like That" (2013), there 8 x 8 bits to the right.
    """
    from PIL import Image

    small = Image.fromarray(pixels).convert("L").resize((_SIDE + 1, _SIDE + 1), Image.Resampling.BOX)
    grey = np.asarray(small, dtype=np.int16)
    brighter = np.stack([np.diff(grey, axis=1)[:_SIDE], np.diff(grey, axis=0)[:, :_SIDE]]) > _NOISE
    return np.packbits(brighter).tobytes().hex() if int(brighter.sum()) >= _FEWEST else ""


class HashesLooks:
    """A source of images that hashes what they look like when they are decoded for somebody else.

    Decoding a picture once more costs ten times its hash. What was hashed stays in this process.
    """

    _looks: dict[int, str | None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_looks"}

    def hash_looks(self, indices: Iterable[int]) -> None:
        """Hash these images from now on, each when it is first loaded."""
        self._looks = dict.fromkeys(indices)

    def hashed_looks(self) -> dict[int, str]:
        """The difference hash of those that were loaded since, by position."""
        return {index: look for index, look in (self._looks or {}).items() if look is not None}

    def _loaded(self, index: int, pixels: Pixels) -> Pixels:
        if self._looks and self._looks.get(index, "") is None:
            self._looks[index] = difference_hash(pixels)
        return pixels


def hash_while_loading(images: HashesLooks, digests: Sequence[tuple[int, str]]) -> None:
    """Let a source hash looks not yet remembered when it loads images; ``digests``: position and sha256."""
    remembered = _remembered([digest for _, digest in digests])
    images.hash_looks(index for index, digest in digests if digest not in remembered)


def looks_of(images: HashesLooks, digests: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Difference hashes, remembered, by sha256 of the bytes: none of undecodable, empty of plain images."""
    looks = _remembered([digest for _, digest in digests])
    loaded = images.hashed_looks()
    fresh = {digest: loaded[index] for index, digest in digests if digest not in looks and index in loaded}
    unknown = {
        digest: index for index, digest in reversed(digests) if digest not in looks and digest not in fresh
    }
    left = [(index, digest) for digest, index in reversed(unknown.items())]
    fresh |= by_threads(partial(_hashed, images), left, _THREADS, "looks")
    if fresh:
        path = home() / "looks.sqlite"
        with closing(connect(path, _SCHEMA)) as connection, telling(path), transaction(connection):
            connection.executemany("insert or replace into looks values (?, ?)", fresh.items())
    return looks | fresh


def _remembered(digests: Sequence[str]) -> dict[str, str]:
    path = home() / "looks.sqlite"
    looks: dict[str, str] = {}
    with closing(connect(path, _SCHEMA)) as connection, telling(path):
        for start in range(0, len(digests), _AT_ONCE):
            some = digests[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"select sha256, look from looks where sha256 in ({marks})"  # noqa: S608 - only marks
            looks |= dict(connection.execute(query, some))
    return looks


def _hashed(images: Any, digests: Sequence[tuple[int, str]]) -> list[tuple[str, str]]:
    """Sha256 and hash of those that can be decoded."""
    looks = []
    for index, digest in digests:
        try:
            looks.append((digest, difference_hash(images.load(index))))
        except UnreadableImage:  # asking about it says so
            continue
    return looks
