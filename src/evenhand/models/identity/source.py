"""A model before it is loaded: which one it is and what it can do, known without its heavy libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

DTYPES = ("auto", "float32", "bfloat16", "float16")
QUANTIZATIONS = (8, 4)


@dataclass(frozen=True)
class ImageOptions:
    """How a model that makes images makes them; None is what the model, or its server, takes by itself."""

    steps: int | None = None  # of denoising
    guidance: float | None = None  # how strongly the prompt steers
    size: int | None = None  # height and width, in pixels


@dataclass(frozen=True)
class LoadOptions:
    """How a model is loaded."""

    device: str = "auto"  # ``auto``: cuda, then mps, then cpu; ``cuda:1`` names one of several
    dtype: str = "auto"  # ``auto``: float32 on the CPU, else the checkpoint's; answers are always float32
    trust_remote_code: bool = False  # let the model's folder or repository run code of its own
    images: ImageOptions | None = None  # for a model asked for images; None: it is asked something else
    max_tokens: int | None = None  # of an answer in words; None: as the adapter has it
    device_map: str | None = None  # ``auto``: layers of a model of ``hf:`` over all devices; None: one device
    quantize: int | None = None  # bits of a weight of linear layers of ``hf:``, 8 or 4; None: as ``dtype``


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
