"""Repositories laid out as real ones: files of tiny models under the names and in the formats of the hub."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.tiny import build

OLD_IMAGES = {  # preprocessor_config.json as the first conversions have it; sizes are the tiny model's
    "crop_size": 32,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "size": 32,
}
NOT_READ = ("README.md", ".gitattributes", "tf_model.h5", "flax_model.msgpack")


def write(path: Path, content: Any) -> None:
    """JSON into a file."""
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


def read(path: Path) -> Any:
    """JSON of a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def pickled(
    folder: Path, *, parts: int = 1, keep: bool = False, positions: bool = False, old: bool = False
) -> None:
    """Weights as ``torch.save`` writes them, in one file or in parts with an index."""
    import torch
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    if positions:  # numbers of the places, which were saved beside the weights
        for tower in ("text", "vision"):
            shape = weights[f"{tower}_model.embeddings.position_embedding.weight"].shape
            weights[f"{tower}_model.embeddings.position_ids"] = torch.arange(shape[0])[None]
    if not keep:
        (folder / "model.safetensors").unlink()
    if parts == 1:
        # before torch 1.6 it was no zip file
        torch.save(weights, folder / "pytorch_model.bin", _use_new_zipfile_serialization=not old)
        return
    names, places = sorted(weights), {}
    for part in range(parts):
        file = f"pytorch_model-{part + 1:05d}-of-{parts:05d}.bin"
        mine = names[part::parts]
        torch.save({name: weights[name] for name in mine}, folder / file)
        places |= dict.fromkeys(mine, file)
    write(folder / "pytorch_model.bin.index.json", {"metadata": {}, "weight_map": places})


def in_parts(folder: Path) -> None:
    """Safetensors in two parts with an index."""
    from safetensors.torch import load_file, save_file

    weights, places = load_file(folder / "model.safetensors"), {}
    (folder / "model.safetensors").unlink()
    for part in range(2):
        file = f"model-{part + 1:05d}-of-00002.safetensors"
        mine = sorted(weights)[part::2]
        save_file({name: weights[name] for name in mine}, folder / file, metadata={"format": "pt"})
        places |= dict.fromkeys(mine, file)
    write(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})


def old_images(folder: Path) -> None:
    """The image processor's settings as they were before there was a processor_config.json."""
    (folder / "processor_config.json").unlink()
    write(folder / "preprocessor_config.json", OLD_IMAGES)


def no_processor(folder: Path) -> None:
    """Settings of today, of the image processor alone."""
    write(folder / "preprocessor_config.json", read(folder / "processor_config.json")["image_processor"])
    (folder / "processor_config.json").unlink()


def slow_tokenizer(folder: Path) -> None:
    """vocab.json and merges.txt in place of tokenizer.json, as of the first conversions of CLIP."""
    model = read(folder / "tokenizer.json")["model"]
    write(folder / "vocab.json", model["vocab"])
    merges = [" ".join(pair) if isinstance(pair, list) else pair for pair in model["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    names = ("bos_token", "eos_token", "pad_token", "unk_token")
    config = read(folder / "tokenizer_config.json")
    write(folder / "special_tokens_map.json", {name: config[name] for name in names})
    kept = {name: config[name] for name in (*names, "model_max_length")}
    write(
        folder / "tokenizer_config.json", kept | {"tokenizer_class": "CLIPTokenizer", "do_lower_case": True}
    )


def as_first_published(folder: Path) -> None:
    """Everything as CLIP was first converted: one pickled file, old settings, no tokenizer.json."""
    pickled(folder, positions=True)
    old_images(folder)
    slow_tokenizer(folder)
    config = read(folder / "config.json")
    config["torch_dtype"] = config.pop("dtype")
    config["text_config"] |= {
        "bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 1,
    }  # as no tokenizer has it
    write(folder / "config.json", config | {"transformers_version": None})


def both(folder: Path) -> None:
    """Both formats, and the same weights once more for open_clip."""
    pickled(folder, keep=True)
    for name in ("open_clip_model.safetensors", "model.fp16.safetensors"):
        shutil.copy(folder / "model.safetensors", folder / name)
    shutil.copy(folder / "pytorch_model.bin", folder / "open_clip_pytorch_model.bin")
    write(folder / "open_clip_config.json", {})


def template_in(name: str) -> Callable[[Path], None]:
    """The chat template in one of the three files that have held it."""

    def move(folder: Path) -> None:
        text = (folder / "chat_template.jinja").read_text(encoding="utf-8")
        if name == "tokenizer_config.json":
            write(folder / name, read(folder / name) | {"chat_template": text})
        elif name == "chat_template.json":
            write(folder / name, {"chat_template": text})
        if name != "chat_template.jinja":
            (folder / "chat_template.jinja").unlink()

    return move


def own_code(folder: Path) -> None:
    """A model type that transformers does not know, and code for it."""
    (folder / "strange.py").write_text("raise RuntimeError('it ran')", encoding="utf-8")
    auto = {"AutoConfig": "strange.Config", "AutoModelForImageClassification": "strange.Strange"}
    write(folder / "config.json", {"model_type": "strange", "architectures": ["Strange"], "auto_map": auto})


def with_an_object(folder: Path) -> None:
    """A checkpoint that holds an object beside its tensors, which only running code could build."""
    import torch
    from safetensors.torch import load_file

    weights: dict[str, Any] = dict(load_file(folder / "model.safetensors"))
    (folder / "model.safetensors").unlink()
    torch.save(weights | {"trainer": Path("x")}, folder / "pytorch_model.bin")


LAYOUTS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "old-images": ("clip", old_images),
    "no-processor": ("clip", no_processor),
    "parts": ("clip", in_parts),
    "bin": ("clip", lambda folder: pickled(folder, old=True)),
    "bin-parts": ("clip", lambda folder: pickled(folder, parts=2)),
    "both": ("clip", both),
    "slow-tokenizer": ("clip", slow_tokenizer),
    "first-published": ("clip", as_first_published),
    "converted": ("clip", pickled),
    "converted-before-a-change": ("clip", pickled),
    "template-json": ("llava", template_in("chat_template.json")),
    "template-jinja": ("llava", template_in("chat_template.jinja")),
    "template-inside": ("llava", template_in("tokenizer_config.json")),
    "own-code": ("clip", own_code),
    "gated": ("clip", lambda _: None),
    "gated-logged-in": ("clip", lambda _: None),
    "object": ("clip", with_an_object),
}
"""From the name of a repository to the tiny model in it and what rearranges its files."""


def lay_out(name: str, folder: Path) -> Path:
    """The files of a repository."""
    model, rearrange = LAYOUTS[name]
    shutil.copytree(build(model), folder)
    for path in NOT_READ:
        (folder / path).write_text("words", encoding="utf-8")
    rearrange(folder)
    return folder
