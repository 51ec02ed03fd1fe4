"""Models that look at an image and a text together and say whether they belong together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.models.adapters.huggingface.decoding import import_transformers
from evenhand.models.adapters.huggingface.towers import ImageInputs, TextInputs, load_tower
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import inference, to_numpy


class ViltMatcher:
    """ViLT, fine-tuned for retrieval.

    Its head has one logit, trained by a softmax over one fitting text and fifteen others of the same image.
    The sigmoid of it, given here, keeps the order and lies in [0, 1], but is no calibrated probability.
    """

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        self._model, _ = load_tower(import_transformers().ViltForImageAndTextRetrieval, folder, options)
        self._images = ImageInputs(folder, options)
        self._texts = TextInputs(folder, options, self._model.config)

    def prepare(self, image: Pixels) -> Any:
        """One image's pixels and their mask, for ``match``; safe in threads."""
        return self._images.prepare(image)

    def match(self, images: Images, texts: Sequence[str]) -> Floats:
        """Sigmoid of the ranking logit of image i and text i, float32, shape (N,), in [0, 1]."""
        with inference():
            outputs = self._model(**self._images.batch(images), **self._texts.batch(texts))
            return to_numpy(outputs.logits[:, 0].float().sigmoid())


class BlipMatcher:
    """BLIP for retrieval: a head that matches pairs, and two projections into one space.

    The checkpoints do not hold the temperature that the projections were trained with: ``logit_scale`` is 1,
    and logits are cosines.
    """

    logit_scale = 1.0

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        self._model, _ = load_tower(import_transformers().BlipForImageTextRetrieval, folder, options)
        self._images = ImageInputs(folder, options)
        self._texts = TextInputs(folder, options, self._model.config)

    def prepare(self, image: Pixels) -> Any:
        """One image as the model's processor makes it, for the other methods; safe in threads."""
        return self._images.prepare(image)

    def _see(self, images: Images) -> Any:
        return self._model.vision_model(**self._images.batch(images)).last_hidden_state

    def _read(self, texts: Sequence[str], image_states: Any = None) -> Any:
        """The first token of each text, read alone or with an image in view."""
        inputs = self._texts.batch(texts)
        outputs = self._model.text_encoder(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            encoder_hidden_states=image_states,
        )
        return outputs.last_hidden_state[:, 0]

    def match(self, images: Images, texts: Sequence[str]) -> Floats:
        """Probability of a match of image i and text i, float32, shape (N,), in [0, 1]."""
        with inference():
            logits = self._model.itm_head(self._read(texts, self._see(images)))
            return to_numpy(logits.float().softmax(-1)[:, 1])

    def embed_images(self, images: Images) -> Floats:
        """Projected vectors, not normalised, float32, shape (N, D)."""
        with inference():
            return to_numpy(self._model.vision_proj(self._see(images)[:, 0]))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Projected vectors, not normalised, float32, shape (M, D)."""
        with inference():
            return to_numpy(self._model.text_proj(self._read(texts)))
