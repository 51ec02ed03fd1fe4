"""Models that are larger than one device: spread over several, or with fewer bits for each weight."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from evenhand.core.errors import MissingExtra, ParameterError
from evenhand.models.adapters.huggingface.decoding import import_transformers
from evenhand.models.identity.source import QUANTIZATIONS, LoadOptions
from evenhand.models.weights.device import choose_device, choose_dtype

EXTRA = "large"
_LIBRARY = "bitsandbytes"


def check_size_options(options: LoadOptions) -> None:
    """Refuse values of ``device_map`` and ``quantize`` that no model takes, or whose library is missing."""
    if options.device_map not in (None, "auto"):
        raise ParameterError(
            f"--device-map {options.device_map!r} is not possible; give auto or leave it out"
        )
    if options.device_map and ":" in options.device:
        raise ParameterError(
            f"--device {options.device} is one device, and --device-map auto takes all; leave one of them out"
        )
    if options.quantize not in (None, *QUANTIZATIONS):
        raise ParameterError(f"--quantize {options.quantize} is not possible; give 8 or 4")
    if options.device_map or options.quantize:
        _release("accelerate")
    if options.quantize:
        _release(_LIBRARY)


def quantization_name(options: LoadOptions) -> str:
    """How the weights of the linear layers are kept, for a model's identity."""
    kind = {8: "8 bits, LLM.int8()", 4: "4 bits, NF4"}[options.quantize or 8]
    return f"{kind} ({_LIBRARY} {_release(_LIBRARY)})"


def size_arguments(options: LoadOptions) -> dict[str, Any]:
    """What ``from_pretrained`` of transformers needs beside device and dtype; empty for one whole device."""
    if not options.device_map and not options.quantize:
        return {}
    device = choose_device(options)
    spread = options.device_map if device.type != "cpu" else None  # over GPUs, which --device cpu leaves out
    arguments: dict[str, Any] = {"device_map": spread or {"": device}}
    if options.quantize:
        bits: dict[str, Any] = {"load_in_8bit": True}
        if options.quantize == QUANTIZATIONS[1]:
            bits = {
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_compute_dtype": choose_dtype(options),
            }
        arguments["quantization_config"] = import_transformers().BitsAndBytesConfig(**bits)
    return arguments


def _release(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        raise MissingExtra(distribution, EXTRA) from None
