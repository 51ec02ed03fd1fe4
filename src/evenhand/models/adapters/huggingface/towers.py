"""What the encoders share: checked loading, images one by one, texts as the family was trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import InputError
from evenhand.core.frames import grouped
from evenhand.models.adapters.huggingface.decoding import import_transformers
from evenhand.models.adapters.huggingface.quantization import size_arguments
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import choose_device, choose_dtype, import_torch

_NO_LIMIT = 1_000_000  # tokenizers that know no limit name a number beyond all reason
_OFFSET_POSITIONS = ("altclip_text_model", "camembert", "roberta", "xlm-roberta")


def load_tower(
    kind: Any, folder: Path, options: LoadOptions, *, spare: Sequence[str] = ()
) -> tuple[Any, list[str]]:
    """A model with all of its weights, on its device or spread over several, ready to answer.

    transformers fills weights that a folder lacks with random numbers and only warns; answers of such a model
    mean nothing, so it is refused. Weights whose names hold a word of ``spare`` may be missing, since the
    caller does not use them; the list names those that are.
    """
    model, report = kind.from_pretrained(
        folder,
        local_files_only=True,
        dtype=choose_dtype(options),
        trust_remote_code=options.trust_remote_code,
        output_loading_info=True,
        **size_arguments(options),
    )
    missing = sorted(report["missing_keys"])
    needed = [name for name in missing if not any(word in name for word in spare)]
    if needed:
        raise InputError(
            f"{str(folder)!r} lacks {len(needed)} weights of {type(model).__name__}, such as {needed[0]!r}; "
            "give a complete checkpoint, or set architectures in config.json to the class that it is for"
        )
    is_placed = options.device_map or options.quantize
    return (model if is_placed else model.to(choose_device(options))).eval(), missing


class ImageInputs:
    """Turns images into a model's inputs as its own processor does, with PIL whatever else is installed."""

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        self._processor = import_transformers().AutoImageProcessor.from_pretrained(
            folder, backend="pil", local_files_only=True, trust_remote_code=options.trust_remote_code
        )
        self._device, self._dtype = choose_device(options), choose_dtype(options)

    def prepare(self, image: Pixels) -> Any:
        """One image's inputs, mostly float32, shape (3, h, w), else a dict of arrays; safe in threads."""
        inputs = self._processor(images=[image], input_data_format="channels_last", return_tensors="np")
        arrays = {name: np.asarray(value)[0] for name, value in inputs.items()}
        return arrays["pixel_values"] if list(arrays) == ["pixel_values"] else arrays

    def crop_as_torchvision(self) -> None:
        """Round the margins of centre crops as torchvision does; transformers rounds half pixels down."""
        if hasattr(self._processor, "center_crop"):
            self._processor.center_crop = _torchvision_crop(self._processor.center_crop)

    def batch(self, images: Images) -> dict[str, Any]:
        """Inputs of several prepared images, by the name of the model's argument, on the device.

        Images with a mask may differ in size, and are padded with zeros.
        """
        torch = import_torch()
        if isinstance(images[0], dict):
            arrays = {name: _pad([np.asarray(image[name]) for image in images]) for name in images[0]}
        else:
            arrays = {"pixel_values": np.stack(images)}
        tensors = {name: torch.from_numpy(array).to(self._device) for name, array in arrays.items()}
        return {
            name: tensor.to(self._dtype) if tensor.is_floating_point() else tensor
            for name, tensor in tensors.items()
        }


def _torchvision_crop(crop: Callable[..., Any]) -> Callable[..., Any]:
    def centre(image: Any, size: Any, **options: Any) -> Any:
        margins = [image.shape[-2] - size.height, image.shape[-1] - size.width]
        if min(margins) < 0:
            return crop(image, size, **options)
        top, left = (round(margin / 2) for margin in margins)
        return image[..., top : top + size.height, left : left + size.width]

    return centre


def _pad(arrays: list[Any]) -> Any:
    shape = np.max([array.shape for array in arrays], axis=0).astype(int)
    padded = np.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
    for row, array in zip(padded, arrays, strict=True):
        row[tuple(slice(length) for length in array.shape)] = array
    return padded


def by_size(images: Images, answer: Callable[[Images], Floats]) -> Floats:
    """Answers to images that preparation left of different sizes: those of one size together, order kept."""
    shapes = [() if isinstance(image, dict) else np.shape(image) for image in images]
    places = grouped(range(len(images)), shapes.__getitem__)
    if len(places) == 1:
        return answer(images)
    rows = np.concatenate([answer([images[index] for index in alike]) for alike in places.values()])
    ordered = np.empty_like(rows)
    ordered[np.concatenate([*places.values()])] = rows
    return ordered


class TextInputs:
    """Turns texts into a model's inputs: padded as the family was trained, cut at the longest it can take."""

    def __init__(
        self,
        folder: Path,
        options: LoadOptions,
        config: Any,
        *,
        longest: int | None = None,  # most tokens of a text; None: as the tokenizer says
        lower: bool = False,  # make texts lower case first
    ) -> None:
        self._tokenizer = import_transformers().AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=options.trust_remote_code
        )
        self._device = choose_device(options)
        self._length = _longest(self._tokenizer, getattr(config, "text_config", config), longest)
        self._sees_padding = config.model_type.startswith("siglip")
        self._lower = lower or self._sees_padding

    def batch(self, texts: Sequence[str]) -> dict[str, Any]:
        """Token ids and masks, shape (N, L), by the name of the model's argument, on the device."""
        # SigLIP was trained on small letters with padding after them and no mask, and must see both, which
        # not all saved tokenizers say. Other families mask padding; its length changes nothing.
        how = (
            {"padding": "max_length", "padding_side": "right", "return_attention_mask": False}
            if self._sees_padding
            else {"padding": "longest"}
        )
        sentences = [text.lower() for text in texts] if self._lower else list(texts)
        tokens = self._tokenizer(
            sentences, truncation=True, max_length=self._length, return_tensors="pt", **how
        )
        return {name: tensor.to(self._device) for name, tensor in tokens.items()}

    def length_before(self, prompt: str) -> int:
        """How many tokens a prompt takes up before the text after it, first special tokens included."""
        ids = self._tokenizer([prompt.lower() if self._lower else prompt])["input_ids"][0]
        return len(ids) - (ids[-1] in self._tokenizer.all_special_ids)


def _longest(tokenizer: Any, config: Any, longest: int | None) -> int | None:
    """The most tokens that position embeddings and either ``longest`` or the tokenizer allow."""
    limit = tokenizer.model_max_length if longest is None else longest
    limits = [limit] if limit < _NO_LIMIT else []
    positions = getattr(config, "max_position_embeddings", None)
    if positions and config.model_type in _OFFSET_POSITIONS:
        positions -= config.pad_token_id + 1  # numbering starts after the padding's id
    limits += [positions] if positions else []
    return min(limits) if limits else None
