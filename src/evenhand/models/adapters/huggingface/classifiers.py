"""Image classifiers, and the same networks without a head as feature extractors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import UserError
from evenhand.models.adapters.huggingface.decoding import import_transformers
from evenhand.models.adapters.huggingface.towers import ImageInputs, by_size, load_tower
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import import_torch, inference, to_numpy

_WORDNET = re.compile(r"n\d{8}\b")


class Classifier:
    """Any image classifier of transformers: ViT, RegNet, ResNet, ConvNeXt, Swin, DINOv2 with a head.

    ``wordnet_ids`` exists where the model's labels begin with WordNet ids, such as ``n01440764``.
    """

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        kind = import_transformers().AutoModelForImageClassification
        self._model, _ = load_tower(kind, folder, options)
        self._images = ImageInputs(folder, options)
        config = self._model.config
        labels_by_number = config.id2label or {
            number: f"LABEL_{number}" for number in range(config.num_labels)
        }
        self.labels = [str(labels_by_number[number]) for number in range(len(labels_by_number))]
        matches = [_WORDNET.match(label) for label in self.labels]
        if any(matches):
            self.wordnet_ids = [match[0] if match else "" for match in matches]

    def prepare(self, image: Pixels) -> Any:
        """One image as the model's processor makes it, for the other methods; safe in threads."""
        return self._images.prepare(image)

    def classify(self, images: Images) -> Floats:
        """Logits, float32, shape (N, len(labels))."""
        with inference():
            return by_size(images, lambda some: to_numpy(self._model(**self._images.batch(some)).logits))

    def embed_images(self, images: Images) -> Floats:
        """What goes into the last linear layer, or the second of two (DeiT), float32, shape (N, D)."""
        head_inputs: list[Any] = []
        head = _head(self._model, len(self.labels))
        watch = head.register_forward_pre_hook(lambda _, inputs: head_inputs.append(inputs[0]))

        def features(some: Images) -> Floats:
            self._model(**self._images.batch(some))
            return to_numpy(head_inputs.pop().flatten(1))

        try:
            with inference():
                return by_size(images, features)
        finally:
            watch.remove()


def _head(model: Any, count: int) -> Any:
    """The layer that makes logits: the last linear one with a value for each label."""
    torch = import_torch()
    layers = [
        layer
        for layer in model.modules()
        if isinstance(layer, torch.nn.Linear) and layer.out_features == count
    ]
    if not layers:
        raise UserError(f"{type(model).__name__} has no linear head; it classifies, and embeds no images")
    return layers[-1]


class FeatureExtractor:
    """A vision network without a head: DINOv2, SEER (RegNet), ViT, ResNet, ConvNeXt, Swin."""

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        kind = import_transformers().AutoModel
        self._model, missing = load_tower(kind, folder, options, spare=("pooler",))
        self._pooled = not missing
        names = [name for name, _ in self._model.named_parameters()]
        self._class_token = any(name.endswith("cls_token") for name in names)
        self._images = ImageInputs(folder, options)

    def prepare(self, image: Pixels) -> Any:
        """One image as the model's processor makes it, for the other methods; safe in threads."""
        return self._images.prepare(image)

    def embed_images(self, images: Images) -> Floats:
        """The network's pooled output, float32, shape (N, D).

        Where it has none, or the checkpoint lacks its weights, it is the class token, else the mean over
        places.
        """
        with inference():
            return by_size(images, self._features)

    def _features(self, images: Images) -> Floats:
        outputs = self._model(**self._images.batch(images))
        pooled = getattr(outputs, "pooler_output", None) if self._pooled else None
        return to_numpy(self._pool(outputs.last_hidden_state) if pooled is None else pooled.flatten(1))

    def _pool(self, states: Any) -> Any:
        if states.ndim == 4:  # a map: channels, height, width
            return states.mean((2, 3))
        return states[:, 0] if self._class_token else states.mean(1)
