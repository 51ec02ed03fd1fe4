"""Tiny sentence encoders, saved as sentence-transformers saves them, without that library."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.models.tiny_tokenizers import bert_words

BUILDERS: dict[str, Callable[[Path], tuple[Any, ...]]] = {}
WIDTH = 32


@dataclass
class Modules:
    """What is saved beside the transformer.

    Attributes:
        pooling: The config.json of the pooling; ``word_embedding_dimension`` is added.
        dense: The activation of a dense layer to 12 numbers, by its full name; none without.
        normalize: Vectors get length 1.
        text: sentence_bert_config.json; none without.
        general: config_sentence_transformers.json; none without.
        transformer: The folder of the transformer.
    """

    pooling: dict[str, Any]
    dense: str | None = None
    normalize: bool = True
    text: dict[str, Any] | None = None
    general: dict[str, Any] | None = None
    transformer: str = ""

    def save_pretrained(self, folder: Path) -> None:
        """Write modules.json and the folders of the modules."""
        import torch
        from safetensors.torch import save_file

        listed = [("Transformer", self.transformer), ("Pooling", "1_Pooling")]
        listed += [("Dense", "2_Dense")] if self.dense else []
        listed += [("Normalize", f"{len(listed)}_Normalize")] if self.normalize else []
        modules = [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for number, (kind, path) in enumerate(listed)
        ]
        write(folder / "modules.json", modules)
        write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": WIDTH, **self.pooling})
        if self.text is not None:
            write(folder / self.transformer / "sentence_bert_config.json", self.text)
        if self.general is not None:
            write(folder / "config_sentence_transformers.json", self.general)
        if self.dense:
            mode = self.pooling.get("pooling_mode", "mean")
            sizes = {"in_features": WIDTH * (1 if isinstance(mode, str) else len(mode)), "out_features": 12}
            settings = {**sizes, "bias": True, "activation_function": self.dense}
            write(folder / "2_Dense" / "config.json", settings)
            drawn = torch.Generator().manual_seed(7)
            weight = torch.randn(12, sizes["in_features"], generator=drawn) / sizes["in_features"] ** 0.5
            weights = {"linear.weight": weight, "linear.bias": torch.randn(12, generator=drawn)}
            save_file(weights, folder / "2_Dense" / "model.safetensors")


def write(path: Path, content: Any) -> None:
    """A JSON file, in a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def bert() -> tuple[Any, Any]:
    """A tiny text encoder and its tokenizer, which keeps capital letters."""
    import transformers as hf

    tokenizer = bert_words(32)
    config = hf.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=32,
    )
    return hf.BertModel(config), tokenizer


def sentences(folder: Path) -> tuple[Any, ...]:
    """Mean pooling, a dense layer and length 1."""
    del folder
    return (*bert(), Modules({"pooling_mode_mean_tokens": True}, dense="torch.nn.modules.activation.Tanh"))


BUILDERS["sentences"] = sentences
