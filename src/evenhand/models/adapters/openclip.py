"""Dual encoders of open_clip: ``openclip:arch/weights``, with weights by tag or from this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import InputError, UnknownName, UserError, one_line
from evenhand.files.hashing import sha256_files, sha256_text
from evenhand.models.identity.source import LoadOptions, ModelSource
from evenhand.models.weights.device import (
    import_torch,
    inference,
    to_numpy,
)
from evenhand.models.weights.hub import (
    hub_file,
    import_library,
    library_version,
    local_safetensors,
    read_config,
    remembered,
)
from evenhand.models.weights.weight_file import WeightFile

ADAPTER = "2"  # raised when answers of this adapter change
_CONFIG = "open_clip_config.json"
# what open_clip takes from a folder before anything else, so that no other file is loaded than the hashed one
_FOLDER_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
_HUB_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_PREPROCESSING = ("mean", "std", "interpolation", "resize_mode")


def open_openclip(rest: str, options: LoadOptions) -> ModelSource:
    """``openclip:arch/tag``, ``openclip:arch/FILE.safetensors`` or ``openclip:./FOLDER``."""
    release = library_version("open-clip-torch", "open_clip", "openclip")
    if rest.startswith((".", "/", "~")) or Path(rest).is_dir():
        return OpenClipSource(rest, options, _in_folder(Path(rest).expanduser(), rest, release))
    architecture, slash, weights = rest.partition("/")
    if not slash or not weights:
        raise UserError(
            f"openclip:{rest} names no weights; give openclip:{rest}/TAG or openclip:{rest}/FILE.safetensors "
            "(open_clip.list_pretrained() names the tags)"
        )
    if "/" in weights or Path(weights).suffix in (".safetensors", ".pt", ".pth", ".bin"):
        record = remembered("open_clip", release, architecture, lambda: _look_up(architecture, None))
        file = local_safetensors(Path(weights).expanduser(), f"openclip:{rest}")
        return OpenClipSource(
            rest, options, _OpenClipSource(architecture, architecture, file, release, record, {})
        )
    record = remembered(
        "open_clip", release, f"{architecture}/{weights}", lambda: _look_up(architecture, weights)
    )
    return OpenClipSource(rest, options, _by_tag(architecture, weights, release, record))


@dataclass(frozen=True)
class _OpenClipSource:
    """A model whose files are known; nothing of it is loaded."""

    name: str  # what open_clip.create_model is given
    title: str  # what the model is called wherever its files lie
    weights: Path
    release: str
    record: dict[str, Any]  # how weights, images and texts are used; hashed
    training: dict[str, Any]  # how the weights of a tag were trained
    files: tuple[Path, ...] = ()  # of a folder's tokenizer


class OpenClipSource:
    """A model of open_clip that is not loaded yet."""

    def __init__(self, rest: str, options: LoadOptions, checkpoint: _OpenClipSource) -> None:
        self.uri, self._checkpoint = f"openclip:{rest}", checkpoint
        self._file = WeightFile(self.uri, checkpoint.weights, options)

    def identity(self) -> dict[str, str]:
        """Architecture, hashes of weights, configuration and tokenizer, version of open_clip, dtype."""
        checkpoint = self._checkpoint
        hashes = sha256_files([checkpoint.weights, *checkpoint.files])
        parts = {
            "name": checkpoint.title,
            "sha256 of weights": hashes[checkpoint.weights],
            "sha256 of configuration": sha256_text(json.dumps(checkpoint.record, sort_keys=True)),
            "open_clip": checkpoint.release,
            "adapter": f"openclip {ADAPTER}",
            "dtype": self._file.dtype,
        }
        return parts | {f"sha256 of {file.name}": hashes[file] for file in checkpoint.files}

    def capabilities(self) -> Sequence[str]:
        """``embeds_images`` and ``embeds_texts``."""
        return ("embeds_images", "embeds_texts")

    def memory(self) -> float:
        """Bytes that its weights need once loaded."""
        return self._file.memory()

    def load(self) -> OpenClipModel:
        """The model, in evaluation mode on its device."""
        open_clip, checkpoint = _import_open_clip(), self._checkpoint
        trained = checkpoint.training
        device, dtype = self._file.device_and_dtype()
        with self._file.fitting():
            network = open_clip.create_model(
                checkpoint.name,
                pretrained=None if checkpoint.name.startswith("local-dir:") else str(checkpoint.weights),
                require_pretrained=True,
                force_quick_gelu=bool(trained.get("quick_gelu")),  # the tag knows, the architecture may not
                force_preprocess_cfg={key: trained[key] for key in _PREPROCESSING if key in trained},
            )
        preprocessing = open_clip.transform.PreprocessCfg(**network.visual.preprocess_cfg)
        transform = open_clip.transform.image_transform_v2(preprocessing, is_train=False)
        try:
            tokenizer = open_clip.get_tokenizer(checkpoint.name)
        except (OSError, ValueError, ImportError) as problem:  # some are transformers' own, from the hub
            cause = one_line(problem, 300)
            raise InputError(
                f"{self.uri!r}: its tokenizer cannot be loaded: {cause}; "
                "put it into a folder with open_clip_config.json and the weights, and give openclip:./FOLDER"
            ) from None
        return OpenClipModel(import_torch(), network, transform, tokenizer, device, dtype)


class OpenClipModel:
    """A dual encoder; its network is given in float32.

    A logit is cosine * ``logit_scale`` + ``logit_bias``; ``link`` makes probabilities of logits.
    """

    def __init__(
        self, torch: Any, network: Any, transform: Any, tokenizer: Any, device: Any, dtype: Any
    ) -> None:
        self._torch, self._transform, self._tokenizer = torch, transform, tokenizer
        self._device, self._dtype = device, dtype
        added = getattr(network, "logit_bias", None)  # both are read before half precision costs them digits
        self.logit_scale = float(network.logit_scale.detach().float().exp())
        self.logit_bias = 0.0 if added is None else float(added.detach().float())
        self.link = "softmax" if added is None else "sigmoid"
        self._network = network.to(device=device, dtype=dtype).eval()

    def prepare(self, image: Pixels) -> Any:
        """Resize, crop and normalise as the network was evaluated, to a float32 tensor, shape (3, h, w)."""
        from PIL import Image

        return self._transform(Image.fromarray(image))

    def embed_images(self, images: Images) -> Floats:
        """Projected image features, not normalised, float32, shape (N, D)."""
        pixels = self._torch.stack(list(images)).to(device=self._device, dtype=self._dtype)
        with inference():
            return to_numpy(self._network.encode_image(pixels))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Projected text features, not normalised, float32, shape (M, D); long texts are cut."""
        ids = self._tokenizer(list(texts)).to(self._device)
        with inference():
            return to_numpy(self._network.encode_text(ids))


def _import_open_clip() -> Any:
    import_library("open_clip.transform", "openclip")
    return import_library("open_clip", "openclip")


def _look_up(architecture: str, tag: str | None) -> dict[str, Any]:
    """What open_clip says about an architecture and a tag: ``{"model": {...}, "tag": {...}}``."""
    open_clip = _import_open_clip()
    model = open_clip.get_model_config(architecture)
    if model is None:
        raise UnknownName("open_clip architecture", architecture, open_clip.list_models())
    if tag is None:
        return {"model": model, "tag": {}}
    training = open_clip.get_pretrained_cfg(architecture, tag)
    if not training:
        tags = open_clip.list_pretrained_tags_by_model(architecture)
        raise UnknownName(
            f"weights of {architecture}", tag, tags, "or give a file as ARCH/./FILE.safetensors"
        )
    return {"model": model, "tag": training}


def _by_tag(architecture: str, tag: str, release: str, record: dict[str, Any]) -> _OpenClipSource:
    training = record["tag"]
    convert = (
        "get the weights, then type: evenhand convert FILE FILE.safetensors, "
        f"and give openclip:{architecture}/./FILE.safetensors"
    )
    repository, _, file = training.get("hf_hub", "").rpartition("/")
    if not repository:
        raise UserError(f"open_clip has no safetensors on the hub for {architecture}/{tag}; {convert}")
    names = [str(Path(file).with_suffix(".safetensors")), file] if file else list(_HUB_WEIGHTS)
    weights = hub_file(repository, names, None, convert)
    return _OpenClipSource(architecture, architecture, weights, release, record, training)


def _in_folder(folder: Path, rest: str, release: str) -> _OpenClipSource:
    config = read_config(folder / _CONFIG, f"openclip:{rest}", ["model_cfg"])
    present = [folder / name for name in _FOLDER_WEIGHTS if (folder / name).is_file()]
    if not present:
        raise InputError(
            f"openclip:{rest} holds none of {', '.join(_FOLDER_WEIGHTS)}; "
            "type: evenhand convert FILE.bin FOLDER/open_clip_model.safetensors"
        )
    small = tuple(sorted(file for file in folder.iterdir() if file.suffix in (".json", ".txt", ".model")))
    return _OpenClipSource(f"local-dir:{folder}", "folder", present[0], release, config, {}, small)
