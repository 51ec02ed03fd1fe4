"""Questions: what is asked of a model, one row a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from evenhand.core.capabilities import Pixels


class UnreadableImage(Exception):  # noqa: N818 - it is not an error of the program: the sample is dropped
    """An image that cannot be decoded; ``reason`` is the same short phrase for all with the same trouble.

    ``temporary``: it says nothing about the image itself, so that it is worth reading again.
    """

    def __init__(self, reason: str, detail: str = "", *, temporary: bool = False) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail, self.temporary = reason, detail, temporary


class ImageSource(Protocol):
    """Images by position; read or rendered one at a time, in any order, from several threads or processes."""

    def __len__(self) -> int: ...

    def digest(self, index: int) -> str:
        """A hash of what the image is made from; equal digests mean equal pixels.

        Raises:
            UnreadableImage: There is no such file.
        """
        ...

    def load(self, index: int) -> Pixels:
        """The decoded image, uint8 RGB, shape (H, W, 3).

        Raises:
            UnreadableImage: It cannot be decoded.
        """
        ...


@dataclass(frozen=True, eq=False)
class Question:
    """One question about many samples.

    Attributes:
        name: Unique in the run; names the evidence's folder.
        capability: What answers it, a name of ``core.capabilities.CAPABILITIES``.
        method: The capability's method, for those that have two.
        samples: Ids, in the order of the answers.
        images: One for each sample, or None where only texts are asked about.
        texts: Caption, prefix, prompt or text itself, one for each sample, or None.
        candidates: Continuations, a list of equal length for each sample, or None.
        truth: Of a classifier's question, the true label of each sample or None.
        top: Of a classifier's answer, how many labels are kept.
        names: What a classifier's labels are called: its ``labels`` or its ``wordnet_ids``.
        outputs: Other names for a classifier's outputs, one for each in their order, or None.
    """

    name: str
    capability: str
    samples: Sequence[str]
    images: ImageSource | None = None
    texts: Sequence[str] | None = None
    candidates: Sequence[Sequence[str]] | None = None
    method: str = ""
    truth: Sequence[str | None] | None = None
    top: int = 1
    names: str = "labels"
    outputs: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.samples)
