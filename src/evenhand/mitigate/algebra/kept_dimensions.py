"""Dimensions that stay, and how many may go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.mitigate.mitigation import Map

ONE_BASIS = (
    "anything about directions across dimensions: after a rotation, other dimensions would be left out"
)


def kept_maps(total: int, gone: Sequence[int]) -> dict[str, Map]:
    """Maps that leave dimensions out of images and texts alike, or change nothing where none goes."""
    if not gone:
        return {"image": Map(), "text": Map()}
    keep = np.ones(total, dtype=bool)
    keep[list(gone)] = False
    return {"image": Map(keep=keep), "text": Map(keep=keep.copy())}
