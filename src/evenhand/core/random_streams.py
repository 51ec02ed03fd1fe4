"""Random streams that depend on what is computed, never on row order, shards or workers."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *keys: object) -> np.random.Generator:
    """A PCG64 generator for one purpose: ``SeedSequence([seed, hash(key), ...])``, equal on every machine."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *map(_digest, keys)])))


def lot(seed: int, *keys: object) -> int:
    """A number drawn for one thing, whatever else is there: of 64 bits, equal for equal arguments."""
    return _digest(":".join(map(str, (seed, *(_digest(key) for key in keys)))))


def _digest(key: object) -> int:
    return int.from_bytes(hashlib.blake2b(str(key).encode(), digest_size=8).digest(), "big")
