"""ALBEF (Li et al., 2021): matches and embeds, with a network of our own for the official weights.

The weights exist only as a pickle. Get ``ALBEF.pth`` (the authors' repository, salesforce/ALBEF, links it)
and a folder with BERT's uncased vocabulary, then:

    evenhand convert ALBEF.pth albef.safetensors
    export ALBEF_WEIGHTS=albef.safetensors ALBEF_TOKENIZER=google-bert/bert-base-uncased
    evenhand run BENCHMARK --model examples/albef.py:ALBEF

A vision transformer (B/16) encodes the image and the lower half of BERT the text; the upper half of BERT
reads the text while it attends to the image, and a linear layer says whether they match. The parameters have
the names of the official checkpoints, pre-trained or fine-tuned for retrieval. It is tested against other
implementations of its parts, with random weights; it has not been run on the official checkpoint.
"""
# ruff: noqa: PLC0415 - torch and transformers are imported when the model is asked, not when it is named

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import InputError

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
WORDS = TOKENS = 30  # how much of a text the authors' code reads
HEAD = 64  # width of an attention head, in both towers
UNUSED = re.compile(r"_m\.|_queue$|queue_ptr$|idx_queue|\.cls\.|pooler|position_ids$")  # of training


class ALBEF:
    """ALBEF with the weights in ``$ALBEF_WEIGHTS`` and the tokenizer ``$ALBEF_TOKENIZER``.

    Args:
        weights: Made by ``evenhand convert``; default: ``$ALBEF_WEIGHTS``.
        tokenizer: A hub id or folder; default: ``$ALBEF_TOKENIZER``, else BERT base, uncased.
        device: Where it computes; default: cuda where there is one.

    Attributes:
        files: The weights, hashed for the model's identity.
        logit_scale: One over the learnt temperature.
        size: Height and width of the input.
    """

    def __init__(
        self, weights: str | None = None, tokenizer: str | None = None, device: str | None = None
    ) -> None:
        path = Path(weights or os.environ.get("ALBEF_WEIGHTS", "albef.safetensors")).expanduser()
        if not path.is_file():
            raise InputError(
                f"there is no file {str(path)!r}; type: evenhand convert ALBEF.pth {path}, "
                "and export ALBEF_WEIGHTS=FILE.safetensors"
            )
        self._shapes, temperature = describe(path)
        tokens = self._shapes["visual_encoder.pos_embed"][1] - 1
        self.size = round(tokens**0.5) * self._shapes["visual_encoder.patch_embed.proj.weight"][-1]
        self.logit_scale = 1 / temperature
        self.files = (path,)
        self._tokenizer_name = tokenizer or os.environ.get("ALBEF_TOKENIZER", "google-bert/bert-base-uncased")
        self._device_name = device
        self._parts: tuple[Any, Network, Any] | None = None

    def identity(self) -> dict[str, str]:
        """The tokenizer; class, code and weights are added to it by evenhand."""
        return {"tokenizer": self._tokenizer_name}

    def prepare(self, image: Pixels) -> Floats:
        """The image squashed to the input's size and normalised.

        Args:
            image: uint8 RGB, shape (H, W, 3), 0-255.

        Returns:
            float32, shape (3, size, size).
        """
        from PIL import Image

        small = Image.fromarray(image).resize((self.size, self.size), Image.Resampling.BICUBIC)
        pixels = np.asarray(small, np.float32) / np.float32(255)
        normalised = (pixels - np.array(MEAN)) / np.array(STD)
        return np.ascontiguousarray(normalised.transpose(2, 0, 1), dtype=np.float32)

    def embed_images(self, images: Images) -> Floats:
        """Projected class token of the image tower, not normalised, float32, shape (N, D)."""
        torch, network, _ = self._loaded()
        with torch.inference_mode():
            return home(network.linear("vision_proj", network.image(self._pixels(images))[:, 0]))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Projected class token of the text tower, not normalised, float32, shape (M, D)."""
        torch, network, _ = self._loaded()
        with torch.inference_mode():
            ids, mask = self._tokens(texts)
            return home(network.linear("text_proj", network.text(ids, mask)[:, 0]))

    def match(self, images: Images, texts: Sequence[str]) -> Floats:
        """Probability that image i and text i belong together, float32, shape (N,), in [0, 1]."""
        torch, network, _ = self._loaded()
        with torch.inference_mode():
            ids, mask = self._tokens(texts)
            fused = network.fuse(network.text(ids, mask), mask, network.image(self._pixels(images)))
            return home(network.linear("itm_head", fused[:, 0]).softmax(-1)[:, 1])

    def _loaded(self) -> tuple[Any, Network, Any]:
        """torch, the network and the tokenizer; loaded when they are first asked."""
        if self._parts is None:
            import torch
            from safetensors.torch import load_file
            from transformers import AutoTokenizer

            place = self._device_name or ("cuda" if torch.cuda.is_available() else "cpu")
            tensors = {
                official(name): tensor.float().to(place) for name, tensor in load_file(self.files[0]).items()
            }
            self._parts = (torch, Network(tensors), AutoTokenizer.from_pretrained(self._tokenizer_name))
        return self._parts

    def _pixels(self, images: Images) -> Any:
        torch, network, _ = self._loaded()
        return torch.from_numpy(np.stack(list(images))).to(network.device)

    def _tokens(self, texts: Sequence[str]) -> tuple[Any, Any]:
        _, network, tokenizer = self._loaded()
        made = tokenizer(
            [clean(text) for text in texts],
            padding=True,
            truncation=True,
            max_length=TOKENS,
            return_tensors="pt",
        )
        return made["input_ids"].to(network.device), made["attention_mask"].to(network.device)


class Network:
    """The three encoders, computed straight from named tensors.

    Args:
        tensors: Parameters by official name.
    """

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._of = tensors
        self.device = next(iter(tensors.values())).device
        layers = count(tensors, "text_encoder.encoder.layer.")
        self._blocks = count(tensors, "visual_encoder.blocks.")
        fusing = [
            f"text_encoder.encoder.layer.{n}.crossattention.self.query.weight" in tensors
            for n in range(layers)
        ]
        first = fusing.index(True) if True in fusing else layers
        self._reading, self._fusing = range(first), range(first, layers)

    def linear(self, name: str, values: Any) -> Any:
        """A linear layer by name."""
        return values @ self._of[f"{name}.weight"].T + self._of[f"{name}.bias"]

    def image(self, pixels: Any) -> Any:
        """Tokens of images: float32, shape (N, 3, size, size) to (N, 1 + patches, width)."""
        from torch.nn.functional import conv2d, gelu

        at, of = "visual_encoder.", self._of
        kernel = of[f"{at}patch_embed.proj.weight"]
        patches = conv2d(pixels, kernel, of[f"{at}patch_embed.proj.bias"], stride=kernel.shape[-1])
        tokens = patches.flatten(2).transpose(1, 2)
        start = of[f"{at}cls_token"].expand(len(tokens), -1, -1)
        state = start.new_empty(len(tokens), tokens.shape[1] + 1, tokens.shape[2])
        state[:, :1], state[:, 1:] = start, tokens
        state = state + of[f"{at}pos_embed"]
        for number in range(self._blocks):
            block = f"{at}blocks.{number}."
            joint = self.linear(f"{block}attn.qkv", self._norm(f"{block}norm1", state, 1e-6))
            state = state + self.linear(f"{block}attn.proj", attend(*joint.chunk(3, dim=-1)))
            inner = gelu(self.linear(f"{block}mlp.fc1", self._norm(f"{block}norm2", state, 1e-6)))
            state = state + self.linear(f"{block}mlp.fc2", inner)
        return self._norm(f"{at}norm", state, 1e-6)

    def text(self, ids: Any, mask: Any) -> Any:
        """Tokens of texts before they meet an image: int64, shape (N, L) to float32, (N, L, width)."""
        at, of = "text_encoder.embeddings.", self._of
        state = of[f"{at}word_embeddings.weight"][ids]
        state = state + of[f"{at}token_type_embeddings.weight"][0]
        state = state + of[f"{at}position_embeddings.weight"][: ids.shape[1]]
        state = self._norm(f"{at}LayerNorm", state, 1e-12)
        for number in self._reading:
            state = self._layer(number, state, mask, None)
        return state

    def fuse(self, state: Any, mask: Any, seen: Any) -> Any:
        """Tokens of texts after they have met an image, float32, shape (N, L, width)."""
        for number in self._fusing:
            state = self._layer(number, state, mask, seen)
        return state

    def _layer(self, number: int, state: Any, mask: Any, seen: Any) -> Any:
        """A layer of BERT: self-attention, attention to the image where there is one, two linear layers."""
        from torch.nn.functional import gelu

        layer = f"text_encoder.encoder.layer.{number}."
        state = self._attention(f"{layer}attention.", state, state, mask)
        if seen is not None:
            state = self._attention(f"{layer}crossattention.", state, seen, None)
        inner = self.linear(f"{layer}output.dense", gelu(self.linear(f"{layer}intermediate.dense", state)))
        return self._norm(f"{layer}output.LayerNorm", inner + state, 1e-12)

    def _attention(self, name: str, state: Any, seen: Any, mask: Any) -> Any:
        query = self.linear(f"{name}self.query", state)
        key, value = self.linear(f"{name}self.key", seen), self.linear(f"{name}self.value", seen)
        mixed = self.linear(f"{name}output.dense", attend(query, key, value, mask))
        return self._norm(f"{name}output.LayerNorm", mixed + state, 1e-12)

    def _norm(self, name: str, values: Any, epsilon: float) -> Any:
        from torch.nn.functional import layer_norm

        scale = self._of[f"{name}.weight"]
        return layer_norm(values, scale.shape, scale, self._of[f"{name}.bias"], epsilon)


def attend(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """Attention in heads of ``HEAD`` channels.

    Args:
        query: float32, shape (N, L, width).
        key: float32, shape (N, K, width).
        value: float32, shape (N, K, width).
        mask: 1 where a key may be seen, shape (N, K); None where all may.

    Returns:
        float32, shape (N, L, width).
    """
    from torch.nn.functional import scaled_dot_product_attention

    first, second, third = (part.unflatten(-1, (-1, HEAD)).transpose(1, 2) for part in (query, key, value))
    visible = None if mask is None else mask.bool()[:, None, None, :]
    return scaled_dot_product_attention(first, second, third, visible).transpose(1, 2).flatten(2)


def official(name: str) -> str:
    """One name for a parameter: pre-training wraps BERT once more than fine-tuning does."""
    return name.replace("text_encoder.bert.", "text_encoder.", 1)


def count(names: Mapping[str, Any], before: str) -> int:
    """How many layers there are whose parameters begin with ``before`` and a number."""
    return len({name[len(before) :].partition(".")[0] for name in names if name.startswith(before)})


def clean(text: str) -> str:
    """A text as the authors' code reads it: lower case, without punctuation, at most ``WORDS`` words."""
    plain = re.sub(r"[,.'!?\"()*#:;~]", "", text.lower()).replace("-", " ").replace("/", " ")
    return " ".join(plain.split()[:WORDS])


def describe(path: Path) -> tuple[dict[str, list[int]], float]:
    """Shapes by official name, and the temperature; read without torch.

    Raises:
        InputError: No safetensors, or not all of the parameters.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stream:
            names = [name for name in stream.keys() if not UNUSED.search(name)]  # noqa: SIM118
            shapes = {official(name): list(stream.get_slice(name).get_shape()) for name in names}
            temperature = float(stream.get_tensor("temp")) if "temp" in shapes else float("nan")
    except (SafetensorError, OSError) as problem:
        raise InputError(
            f"{str(path)!r} is no safetensors file ({problem}); type: evenhand convert IN OUT"
        ) from None
    blocks = range(max(1, count(shapes, "visual_encoder.blocks.")))
    layers = range(max(1, count(shapes, "text_encoder.encoder.layer.")))
    wanted = [
        "temp",
        "visual_encoder.cls_token",
        "visual_encoder.pos_embed",
        "itm_head.weight",
        "itm_head.bias",
    ]
    wanted += ["vision_proj.weight", "text_proj.weight", "visual_encoder.patch_embed.proj.weight"]
    wanted += [f"visual_encoder.blocks.{number}.attn.qkv.weight" for number in blocks]
    wanted += [f"text_encoder.encoder.layer.{number}.attention.self.query.weight" for number in layers]
    wanted += [f"text_encoder.encoder.layer.{layers[-1]}.crossattention.self.query.weight"]
    lacking = [name for name in wanted if name not in shapes]
    if lacking:
        raise InputError(
            f"{str(path)!r} lacks {lacking[0]!r}; give ALBEF.pth or a checkpoint for retrieval, converted"
        )
    return shapes, temperature


def home(tensor: Any) -> Floats:
    """A tensor as float32 in memory of its own."""
    return np.array(tensor.float().cpu().numpy(), np.float32)
