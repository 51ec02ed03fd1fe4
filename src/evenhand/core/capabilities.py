"""What a model can do, as Protocols. A model meets one by having the methods; nothing is inherited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt


@runtime_checkable
class HasIdentity(Protocol):
    """A model that says which model it is."""

    def identity(self) -> dict[str, str]:
        """What makes two models the same: name, revision, sha256 of the weights, preprocessing."""
        ...


@runtime_checkable
class ClassifiesImages(HasIdentity, Protocol):
    """Answers with one logit for each of its labels."""

    labels: Sequence[str]

    def classify(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Logits of a batch.

        Args:
            images: uint8 RGB, shape (N, H, W, 3), 0-255.

        Returns:
            float32, shape (N, len(labels)); any real values, larger is likelier.
        """
        ...
