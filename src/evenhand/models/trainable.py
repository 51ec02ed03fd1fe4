"""Models that can be trained as a whole: ``hf:`` and ``timm:``, with a new last layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from evenhand.core.capabilities import Images, Pixels
from evenhand.core.errors import UserError
from evenhand.models.adapters.huggingface.trainable import open_hf_trainable
from evenhand.models.adapters.timm.trainable import open_timm_trainable
from evenhand.models.identity.source import LoadOptions


class Trainable(Protocol):
    """A network that makes one logit for each class, and its own preprocessing.

    Attributes:
        network: A torch module with a head for the classes, in float32.
        fresh: Names of the parameters that were not in the checkpoint: the new head.
    """

    network: Any
    fresh: frozenset[str]

    def prepare(self, image: Pixels) -> Any:
        """One image's inputs; safe in threads."""
        ...

    def logits(self, network: Any, images: Images) -> Any:
        """A tensor, shape (N, classes).

        Args:
            network: The module, or what accelerate made of it.
            images: N answers of ``prepare``, of one size.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write weights, configuration and preprocessing, as ``network_uri`` opens them."""
        ...


_OPEN: dict[str, Callable[[str, LoadOptions, Sequence[str]], Trainable]] = {
    "hf": open_hf_trainable,
    "timm": open_timm_trainable,
}


def open_trainable(uri: str, options: LoadOptions, labels: Sequence[str]) -> Trainable:
    """A model with a new head for some labels, in float32."""
    scheme, _, rest = uri.partition(":")
    if scheme not in _OPEN:
        raise UserError(
            f"{uri!r} cannot be fine-tuned here; give an hf: or timm: model, or adapt it with --method probe"
        )
    return _OPEN[scheme](rest, options, labels)


def network_uri(extractor: str, folder: Path) -> str:
    """The URI of the network that ``Trainable.save`` wrote."""
    return f"{'timm' if extractor.startswith('timm:') else 'hf'}:{folder}"
