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
    digests = [hashlib.blake2b(str(key).encode(), digest_size=8).digest() for key in keys]
    words = [int.from_bytes(digest, "big") for digest in digests]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
