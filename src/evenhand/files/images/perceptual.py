"""Hashes of what a picture looks like: those of copies in another size or compression are mostly equal."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from evenhand.core.capabilities import Pixels
from evenhand.core.requests import UnreadableImage
from evenhand.files.database import connect, telling, transaction
from evenhand.files.home import home

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

    Args:
        pixels: uint8 RGB, shape (H, W, 3).
    """
    from PIL import Image

    small = Image.fromarray(pixels).convert("L").resize((_SIDE + 1, _SIDE + 1), Image.Resampling.BOX)
    grey = np.asarray(small, dtype=np.int16)
    brighter = np.stack([np.diff(grey, axis=1)[:_SIDE], np.diff(grey, axis=0)[:, :_SIDE]]) > _NOISE
    return np.packbits(brighter).tobytes().hex() if int(brighter.sum()) >= _FEWEST else ""


def looks_of(images: Any, digests: Sequence[tuple[int, str]]) -> dict[str, str]:
    """The difference hash of images by the sha256 of their bytes; hashes are remembered.

    Args:
        images: A source.
        digests: Position and sha256 of each.

    Returns:
        Hash by sha256; images that cannot be decoded have none, those too plain an empty one.
    """
    path = home() / "looks.sqlite"
    connection = connect(path, _SCHEMA)
    try:
        looks: dict[str, str] = {}
        hashes = [digest for _, digest in digests]
        for start in range(0, len(hashes), _AT_ONCE):
            some = hashes[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"select sha256, look from looks where sha256 in ({marks})"  # noqa: S608 - only marks
            with telling(path):
                looks |= dict(connection.execute(query, some))
        unknown = {digest: index for index, digest in reversed(digests) if digest not in looks}
        fresh = _hashed(images, [(index, digest) for digest, index in reversed(unknown.items())])
        if fresh:
            with telling(path), transaction(connection):
                connection.executemany("insert or replace into looks values (?, ?)", fresh.items())
        return looks | fresh
    finally:
        connection.close()


def _hashed(images: Any, digests: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Hash by sha256, by several threads: boxes of one picture follow each other and are one thread's."""
    threads = min(len(os.sched_getaffinity(0)), _THREADS)
    per_thread = max(math.ceil(len(digests) / threads), 1)
    shares = [digests[start : start + per_thread] for start in range(0, len(digests), per_thread)]
    with ThreadPoolExecutor(threads, "looks") as pool:
        return {
            digest: look
            for hashed in pool.map(lambda share: _hashed_in_turn(images, share), shares)
            for digest, look in hashed.items()
        }


def _hashed_in_turn(images: Any, digests: Sequence[tuple[int, str]]) -> dict[str, str]:
    looks: dict[str, str] = {}
    for index, digest in digests:
        try:
            looks[digest] = difference_hash(images.load(index))
        except UnreadableImage:  # asking about it says so
            continue
    return looks
