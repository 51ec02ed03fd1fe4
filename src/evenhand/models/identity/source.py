"""A model before it is loaded: which one it is and what it can do, known without its heavy libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

DTYPES = ("auto", "float32", "bfloat16", "float16")
QUANTIZATIONS = (8, 4)


@dataclass(frozen=True)
class ImageOptions:
    """How a model that makes images makes them; None is what the model, or its server, takes by itself.

    Attributes:
        steps: Denoising steps.
        guidance: How strongly the prompt steers.
        size: Height and width in pixels.
    """

    steps: int | None = None
    guidance: float | None = None
    size: int | None = None


@dataclass(frozen=True)
class LoadOptions:
    """How a model is loaded.

    Attributes:
        device: ``auto`` takes cuda, then mps, then cpu; ``cuda:1`` names one of several.
        dtype: Of weights and computation; answers are float32 in any case. ``auto`` is float32 on the CPU,
            and what the checkpoint has elsewhere.
        trust_remote_code: Let the model's folder or repository run code of its own.
        images: How images are made, for a model that is asked for some; None: it is asked something else.
        max_tokens: Where an answer in words ends at the latest; None: as the adapter has it.
        device_map: ``auto`` spreads the layers of a model of ``hf:`` over all devices; None: one device.
        quantize: Bits of each weight of the linear layers of a model of ``hf:``, 8 or 4; None: as ``dtype``.
    """

    device: str = "auto"
    dtype: str = "auto"
    trust_remote_code: bool = False
    images: ImageOptions | None = None
    max_tokens: int | None = None
    device_map: str | None = None
    quantize: int | None = None


class ModelSource(Protocol):
    """What a model URI stands for.

    ``identity`` and ``capabilities`` must not import torch or the like: a run whose answers are all known
    asks for nothing else.
    """

    @property
    def uri(self) -> str:
        """How the user named it."""
        ...

    def identity(self) -> dict[str, str]:
        """What makes two models the same: name, revision, hash of the weights, preprocessing, dtype."""
        ...

    def capabilities(self) -> Sequence[str]:
        """Names of ``core.capabilities.CAPABILITIES`` that the loaded model meets."""
        ...

    def load(self) -> Any:
        """The model itself."""
        ...
