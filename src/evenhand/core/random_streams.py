"""Random streams that depend on what is computed, never on row order, shards or workers."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *keys: object) -> np.random.Generator:
    """A generator for one purpose: ``SeedSequence([seed, hash(key), ...])``.

    Args:
        seed: The user's one seed.
        keys: What the stream is for, such as a bound metric and a part's key.

    Returns:
        A PCG64 generator; equal arguments give equal streams on every machine.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *map(_digest, keys)])))


def lot(seed: int, *keys: object) -> int:
    """A number drawn for one thing, whatever else is there: of 64 bits, equal for equal arguments."""
    return _digest(":".join(map(str, (seed, *(_digest(key) for key in keys)))))


def _digest(key: object) -> int:
    return int.from_bytes(hashlib.blake2b(str(key).encode(), digest_size=8).digest(), "big")
