"""CLIP and its relatives: an encoder for images, one for texts, and one space for both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import UserError
from evenhand.models.adapters.huggingface.decoding import import_transformers
from evenhand.models.adapters.huggingface.towers import ImageInputs, TextInputs, by_size, load_tower
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.checkpoint import stored_number
from evenhand.models.weights.device import import_torch, inference, to_numpy


class DualEncoder:
    """CLIP, SigLIP, SigLIP 2, ALIGN, FLAVA, GroupViT, AltCLIP, Chinese CLIP, MetaCLIP 2, any two towers.

    A logit is cosine * ``logit_scale`` + ``logit_bias``; ``link`` makes probabilities of logits.
    """

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        self._model, _ = load_tower(import_transformers().AutoModel, folder, options)
        self._images = ImageInputs(folder, options)
        if self._model.config.model_type == "clip":  # it was trained on such crops, and open_clip makes them
            self._images.crop_as_torchvision()
        self._texts = TextInputs(folder, options, self._model.config)
        self.logit_scale = _scale(self._model, folder)
        bias = _number(self._model, folder, "logit_bias")
        self.logit_bias = 0.0 if bias is None else bias
        self.link = "softmax" if bias is None else "sigmoid"

    def prepare(self, image: Pixels) -> Any:
        """One image as the model's processor makes it, for the other methods; safe in threads."""
        return self._images.prepare(image)

    def embed_images(self, images: Images) -> Floats:
        """Projected vectors, not normalised, float32, shape (N, D)."""
        with inference():
            return by_size(images, self._see)

    def _see(self, images: Images) -> Floats:
        return _vectors(self._model.get_image_features(**self._images.batch(images)))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Projected vectors, not normalised, float32, shape (M, D)."""
        with inference():
            return _vectors(self._model.get_text_features(**self._texts.batch(texts)))


def _scale(model: Any, folder: Path) -> float:
    logarithm, divisor = (_number(model, folder, name) for name in ("logit_scale", "temperature"))
    if logarithm is not None:
        return float(import_torch().tensor(logarithm).exp())
    if divisor is not None:  # ALIGN divides by it
        return 1.0 / divisor
    raise UserError(f"{type(model).__name__} has neither logit_scale nor temperature; it is no dual encoder")


def _number(model: Any, folder: Path, name: str) -> float | None:
    """A model's number as the weights have it: half precision would cost digits that all logits need."""
    loaded = getattr(model, name, None)
    stored = None if loaded is None else stored_number(folder, name)
    return stored if stored is not None or loaded is None else float(loaded.detach())


def _vectors(features: Any) -> Floats:
    """The projected vectors; FLAVA projects every token, and the first one stands for the whole."""
    projected = getattr(features, "pooler_output", features)
    return to_numpy(projected[:, 0] if projected.ndim == 3 else projected)
