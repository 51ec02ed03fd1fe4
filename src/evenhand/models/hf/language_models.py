"""What captioners and chat models share: loading, and decoding greedily."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.core.errors import MissingExtra
from evenhand.models.source import LoadOptions
from evenhand.models.torch_device import choose_device, choose_dtype, import_torch

MAX_NEW_TOKENS = 64
# tokens that belong to the model; all else in a generation_config.json (sampling, penalties) is a way of decoding
KEPT = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "bad_words_ids", "suppress_tokens")


def import_transformers() -> Any:
    """The module ``transformers``.

    Raises:
        MissingExtra: It, or torch, is not installed.
    """
    import_torch()
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "hf") from None
    return transformers


def load_weights(kind: Any, folder: Path, options: LoadOptions) -> Any:
    """A model on its device, ready to answer; from safetensors, and from this folder only.

    Args:
        kind: A class of transformers with ``from_pretrained``.
        folder: Where its config and weights are.
        options: Device, dtype, and whether code in the folder may run.
    """
    model = kind.from_pretrained(
        folder,
        local_files_only=True,
        use_safetensors=True,
        dtype=choose_dtype(options),
        trust_remote_code=options.trust_remote_code,
    )
    return model.to(choose_device(options)).eval()


def decode_greedily(model: Any, max_new_tokens: int, pad: int | None) -> None:
    """Make a model's ``generate`` take the likeliest token at each step, whatever its folder says.

    Args:
        model: Its ``generation_config`` is replaced.
        max_new_tokens: Where an answer ends at the latest.
        pad: The padding token of its tokenizer, used where the model names none.
    """
    given = model.generation_config
    kept = {name: getattr(given, name, None) for name in KEPT}
    if kept["pad_token_id"] is None:
        ends = kept["eos_token_id"]
        kept["pad_token_id"] = pad if pad is not None else ends[0] if isinstance(ends, list) else ends
    model.generation_config = import_transformers().GenerationConfig(
        **kept, do_sample=False, num_beams=1, max_new_tokens=max_new_tokens
    )
