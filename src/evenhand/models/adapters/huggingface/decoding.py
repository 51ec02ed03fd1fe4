"""What captioners and chat models share: the library, and decoding greedily."""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import MissingExtra
from evenhand.models.weights.device import import_torch

MAX_NEW_TOKENS = 64
THINKING_TOKENS = 2048  # of an answer that begins with a thought
# Tokens that belong to the model; what else is in a generation_config.json is a way of decoding.
KEPT = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "decoder_start_token_id",
    "bad_words_ids",
    "suppress_tokens",
)


def import_transformers() -> Any:
    """The module ``transformers``."""
    import_torch()
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "hf") from None
    return transformers


def template_errors() -> type[Exception]:
    """What a chat template raises that does not know a turn."""
    from jinja2 import TemplateError

    return TemplateError


def decode_greedily(model: Any, max_new_tokens: int, pad: int | None) -> None:
    """Make a model's ``generate`` take the likeliest token at each step, whatever its folder says."""
    config = model.generation_config
    settings = {name: getattr(config, name, None) for name in KEPT}
    if settings["pad_token_id"] is None:
        ends = settings["eos_token_id"]
        settings["pad_token_id"] = pad if pad is not None else ends[0] if isinstance(ends, list) else ends
    model.generation_config = import_transformers().GenerationConfig(
        **settings, do_sample=False, num_beams=1, max_new_tokens=max_new_tokens
    )
