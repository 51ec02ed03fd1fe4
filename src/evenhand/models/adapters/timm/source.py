"""Classifiers and feature extractors of timm: ``timm:name``, weights from the hub or from this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import UnknownName, UserError
from evenhand.files.hashing import sha256_files, sha256_text
from evenhand.models.identity.source import LoadOptions
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
    tensor_shapes,
)
from evenhand.models.weights.weight_file import WeightFile

ADAPTER = "2"  # raised when answers of this adapter change

_PICKLE = "pytorch_model.bin"
_SAFE_NAMES = {
    "": ["model.safetensors"],
    _PICKLE: ["model.safetensors"],
    "open_clip_pytorch_model.bin": ["open_clip_model.safetensors"],
}


def open_timm(rest: str, options: LoadOptions) -> TimmSource:
    """``timm:name[.tag][@revision]``, ``timm:name@FILE.safetensors`` or ``timm:./FOLDER``."""
    release = library_version("timm", "timm", "timm")
    if rest.startswith((".", "/", "~")) or Path(rest).is_dir():
        return TimmSource(rest, options, _in_folder(Path(rest).expanduser(), rest, release))
    name, _, after = rest.partition("@")
    record = remembered("timm", release, name, lambda: _pretrained_cfg(name))
    if "/" in after or Path(after).suffix in (".safetensors", ".pth", ".pt", ".bin"):
        checkpoint = _with_file(
            name, local_safetensors(Path(after).expanduser(), f"timm:{rest}"), record, release
        )
        return TimmSource(rest, options, checkpoint)
    return TimmSource(rest, options, _on_hub(name, after or None, record, release))


@dataclass(frozen=True)
class _TimmSource:
    """A model whose files are known; nothing of it is loaded."""

    name: str  # what timm.create_model is given
    title: str  # what the model is called wherever its files lie
    weights: Path
    release: str
    config: str  # text that says how weights and images are used; hashed
    classes: int  # 0 without a classifier
    overlay: dict[str, Any] | None  # changes of the pretrained configuration; None for a folder


class TimmSource:
    """A model of timm that is not loaded yet."""

    def __init__(self, rest: str, options: LoadOptions, checkpoint: _TimmSource) -> None:
        self.uri, self._checkpoint = f"timm:{rest}", checkpoint
        self._file = WeightFile(self.uri, checkpoint.weights, options)

    def identity(self) -> dict[str, str]:
        """Architecture, hash of the weights and of the configuration, version of timm, dtype."""
        checkpoint = self._checkpoint
        return {
            "name": checkpoint.title,
            "sha256 of weights": sha256_files([checkpoint.weights])[checkpoint.weights],
            "sha256 of configuration": sha256_text(checkpoint.config),
            "timm": checkpoint.release,
            "adapter": f"timm {ADAPTER}",
            "dtype": self._file.dtype,
        }

    def capabilities(self) -> Sequence[str]:
        """``embeds_images``, and ``classifies_images`` where the weights hold a classifier."""
        return ("classifies_images", "embeds_images") if self._checkpoint.classes else ("embeds_images",)

    def memory(self) -> float:
        """Bytes that its weights need once loaded."""
        return self._file.memory()

    def load(self) -> TimmFeatures:
        """The model, in evaluation mode on its device."""
        torch, checkpoint = import_torch(), self._checkpoint
        device, dtype = self._file.device_and_dtype()
        network, transform = self.network()
        network = network.to(device=device, dtype=dtype).eval()
        if not checkpoint.classes:
            return TimmFeatures(torch, network, transform, device, dtype)
        labels, wordnet_ids = _labels(_import_timm(), network.pretrained_cfg, checkpoint.classes)
        return TimmClassifier(torch, network, transform, device, dtype, labels, wordnet_ids)

    def network(self) -> tuple[Any, Any]:
        """The torch module with its weights, and its own preprocessing, PIL image to tensor."""
        timm, checkpoint = _import_timm(), self._checkpoint
        arguments: dict[str, Any] = {}
        if checkpoint.overlay is not None:
            arguments = {"pretrained_cfg_overlay": checkpoint.overlay, "num_classes": checkpoint.classes}
        with self._file.fitting():
            network = timm.create_model(checkpoint.name, pretrained=True, **arguments)
        settings = timm.data.resolve_model_data_config(network)
        return network, timm.data.create_transform(**settings, is_training=False)


class TimmFeatures:
    """A network, given in evaluation mode on its device, whose pooled features are embeddings."""

    def __init__(self, torch: Any, network: Any, transform: Any, device: Any, dtype: Any) -> None:
        self._torch, self._network, self._transform = torch, network, transform
        self._device, self._dtype = device, dtype

    def prepare(self, image: Pixels) -> Any:
        """Resize, crop and normalise as the network was evaluated, to a float32 tensor, shape (3, h, w)."""
        from PIL import Image

        return self._transform(Image.fromarray(image))

    def embed_images(self, images: Images) -> Floats:
        """Pooled features before the classifier, float32, shape (N, D); any real values."""
        with inference():
            maps = self._network.forward_features(self._batch(images))
            return to_numpy(self._network.forward_head(maps, pre_logits=True).flatten(1))

    def _batch(self, images: Images) -> Any:
        return self._torch.stack(list(images)).to(device=self._device, dtype=self._dtype)


class TimmClassifier(TimmFeatures):
    """A network with a classifier."""

    def __init__(
        self,
        torch: Any,
        network: Any,
        transform: Any,
        device: Any,
        dtype: Any,
        labels: Sequence[str],
        wordnet_ids: Sequence[str],  # or empty texts
    ) -> None:
        super().__init__(torch, network, transform, device, dtype)
        self.labels, self.wordnet_ids = tuple(labels), tuple(wordnet_ids)

    def classify(self, images: Images) -> Floats:
        """Logits, float32, shape (N, len(labels)); any real values."""
        with inference():
            return to_numpy(self._network(self._batch(images)))


def _import_timm() -> Any:
    import_library("timm.data", "timm")
    return import_library("timm", "timm")


def _pretrained_cfg(name: str) -> dict[str, Any]:
    """What timm says about a name: ``{"cfg": {...}}``."""
    timm = _import_timm()
    architecture = name.partition(".")[0]
    if not timm.is_model(architecture):
        raise UnknownName("timm model", architecture, timm.list_models(), "timm.list_models() names them all")
    try:
        cfg = timm.get_pretrained_cfg(name)
    except RuntimeError:  # no such tag
        cfg = None
    if cfg is None:
        raise UnknownName(
            "timm model",
            name,
            timm.list_pretrained(f"{architecture}.*"),
            "the part after the dot names weights",
        )
    return {"cfg": cfg.to_dict()}


def _on_hub(name: str, revision: str | None, record: dict[str, Any], release: str) -> _TimmSource:
    cfg = record["cfg"]
    convert = (
        "get the .pth, then type: evenhand convert FILE.pth FILE.safetensors, "
        f"and give timm:{name}@FILE.safetensors"
    )
    if not cfg.get("hf_hub_id") or cfg.get("custom_load") == "hf":  # not even timm's own format
        raise UserError(f"timm has no safetensors on the hub for {name!r}; {convert}")
    file = cfg.get("hf_hub_filename") or ""
    names = [*(_SAFE_NAMES.get(file) or [str(Path(file).with_suffix(".safetensors"))]), file or _PICKLE]
    weights = hub_file(cfg["hf_hub_id"], names, revision, convert)
    return _TimmSource(
        name, name, weights, release, _canonical(cfg), cfg["num_classes"], {"file": str(weights)}
    )


def _with_file(name: str, weights: Path, record: dict[str, Any], release: str) -> _TimmSource:
    """A file may hold another classifier than timm's own weights: its size is read from the file."""
    cfg = record["cfg"]
    classes: int = cfg["num_classes"]
    overlay: dict[str, Any] = {"file": str(weights)}
    heads = cfg.get("classifier") or ()
    shapes = tensor_shapes(weights)
    for head in [heads] if isinstance(heads, str) else heads:
        n_classes = shapes.get(f"{head}.weight", [0])[0]
        if n_classes != classes + (cfg.get("label_offset") or 0):
            classes, overlay = n_classes, overlay | {"num_classes": n_classes, "label_offset": 0}
            break
    return _TimmSource(name, name, weights, release, _canonical(cfg), classes, overlay)


def _in_folder(folder: Path, rest: str, release: str) -> _TimmSource:
    config = read_config(folder / "config.json", f"timm:{rest}", ["architecture"])
    weights = local_safetensors(folder / "model.safetensors", f"timm:{rest}")
    inner = config.get("pretrained_cfg", config)
    classes = config.get("num_classes", inner.get("num_classes", 1000))
    return _TimmSource(
        f"local-dir:{folder}", config["architecture"], weights, release, _canonical(config), classes, None
    )


def _canonical(config: dict[str, Any]) -> str:
    import json

    return json.dumps(config, sort_keys=True)


def _labels(timm: Any, cfg: dict[str, Any], classes: int) -> tuple[list[str], list[str]]:
    """Names and WordNet ids of the classes.

    WordNet has two cranes and two maillots; names that occur twice get their id behind them.
    """
    names, described = cfg.get("label_names"), cfg.get("label_descriptions") or {}
    if isinstance(names, dict):  # by index, which may have gaps
        names = [names.get(str(index), f"class_{index}") for index in range(classes)]
    if names and len(names) == classes:
        labels = [str(described.get(name, name)) for name in names]
        ids = [str(name) if _is_wordnet_id(str(name)) else "" for name in names]
        return _distinct(labels, [str(name) for name in names]), ids
    subset = timm.data.infer_imagenet_subset({"num_classes": classes})
    if subset is None:
        return [f"class_{index}" for index in range(classes)], [""] * classes
    info = timm.data.ImageNetInfo(subset)
    ids = list(info.label_names())
    return _distinct(list(info.label_descriptions()), ids), ids


def _distinct(labels: list[str], ids: list[str]) -> list[str]:
    often = Counter(labels)
    return [f"{label} ({id_})" if often[label] > 1 else label for label, id_ in zip(labels, ids, strict=True)]


def _is_wordnet_id(name: str) -> bool:
    return len(name) == 9 and name[0] == "n" and name[1:].isdigit()
