"""Where torch computes and how its numbers come home."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats
from evenhand.core.errors import MissingExtra, ParameterError
from evenhand.models.identity.source import DTYPES, LoadOptions


def import_torch() -> Any:
    """The module ``torch``.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "torch") from None
    return torch


def choose_device(options: LoadOptions) -> Any:
    """The device that ``auto``, or a name, stands for here.

    Raises:
        ParameterError: A device that this machine lacks.
    """
    torch = import_torch()
    present = ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available() + ["cpu"]
    if options.device == "auto":
        return torch.device(present[0])
    if options.device.partition(":")[0] not in present:
        raise ParameterError(f"--device {options.device} is not here; possible: auto, {', '.join(present)}")
    try:
        return torch.device(options.device)
    except RuntimeError:
        raise ParameterError(f"--device {options.device!r} is no device; possible: {present}") from None


def choose_dtype(options: LoadOptions) -> Any:
    """The torch dtype of a name.

    Raises:
        ParameterError: Not one of ``DTYPES``.
    """
    if options.dtype not in DTYPES:
        raise ParameterError(f"--dtype {options.dtype!r} is not possible; choose one of {', '.join(DTYPES)}")
    return getattr(import_torch(), options.dtype)


def to_numpy(tensor: Any) -> Floats:
    """A tensor as float32 in memory of its own."""
    return np.array(tensor.detach().float().cpu().numpy(), dtype=np.float32)
