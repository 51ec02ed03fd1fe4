"""A model of timm with a new last layer, for training as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Images, Pixels
from evenhand.core.errors import UserError, one_line
from evenhand.models.adapters.timm.source import open_timm
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import choose_device, import_torch
from evenhand.models.weights.hub import import_library


class TrainableTimm:
    """A network of timm that makes one logit for each class, and its own preprocessing."""

    def __init__(
        self, network: Any, transform: Any, device: Any, labels: Sequence[str], fresh: Sequence[str]
    ) -> None:
        self.network, self.fresh = network, frozenset(fresh)
        self._transform, self._device, self._labels = transform, device, list(labels)

    def prepare(self, image: Pixels) -> Any:
        """A float32 tensor, shape (3, h, w), of uint8 RGB, shape (H, W, 3)."""
        from PIL import Image

        return self._transform(Image.fromarray(image))

    def logits(self, network: Any, images: Images) -> Any:
        """A tensor, shape (N, classes), of N answers of ``prepare``."""
        return network(import_torch().stack(list(images)).to(self._device))

    def save(self, folder: Path) -> None:
        """Write safetensors and a configuration with the preprocessing, as ``timm:FOLDER`` opens them."""
        import_library("timm.models", "timm").save_for_hf(
            self.network, folder, model_config={"label_names": self._labels}, safe_serialization=True
        )


def open_timm_trainable(rest: str, options: LoadOptions, labels: Sequence[str]) -> TrainableTimm:
    """A model of ``timm:`` with a new head for some labels, in float32.

    The weights are loaded whole before the head is changed, so that a checkpoint that lacks some is refused.
    """
    network, transform = open_timm(rest, replace(options, dtype="float32")).network()
    original_parameters = list(network.parameters())  # kept, so that no new one can be taken for an old one
    old = {id(parameter) for parameter in original_parameters}
    try:
        network.reset_classifier(len(labels))
    except (AttributeError, NotImplementedError, TypeError, RuntimeError, AssertionError) as problem:
        raise UserError(
            f"{'timm:' + rest!r} cannot be given a new head by timm: {one_line(problem, 200)}; adapt it "
            "with --method probe"
        ) from problem
    fresh = [name for name, parameter in network.named_parameters() if id(parameter) not in old]
    return TrainableTimm(network, transform, choose_device(options), labels, fresh)
