"""Where torch computes and how its numbers come home."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats
from evenhand.core.errors import ParameterError, import_extra
from evenhand.models.identity.source import DTYPES, LoadOptions

# what a driver of NVIDIA, of NVIDIA in Windows' Linux, and of AMD puts there
_DRIVERS = ("nvidiactl", "nvidia0", "dxg", "kfd")


def import_torch() -> Any:
    """The module ``torch``."""
    return import_extra("torch", "torch")


def choose_device(options: LoadOptions) -> Any:
    """The device that ``auto``, or a name, stands for here."""
    torch = import_torch()
    present = ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available() + ["cpu"]
    if options.device == "auto":
        return torch.device(present[0])
    if options.device.partition(":")[0] not in present:
        raise ParameterError(f"--device {options.device} is not here; possible: auto, {', '.join(present)}")
    try:
        device = torch.device(options.device)
    except RuntimeError:
        possible = ", ".join(["auto", *present])
        raise ParameterError(f"--device {options.device!r} is no device; possible: {possible}") from None
    count = torch.cuda.device_count() if device.type == "cuda" else 0
    if count and (device.index or 0) >= count:
        possible = ", ".join(f"cuda:{number}" for number in range(count))
        raise ParameterError(f"--device {options.device} is not here; possible: {possible}")
    return device


@contextmanager
def inference() -> Iterator[None]:
    """Compute without gradients, and float32 as float32.

    On a GPU torch by default computes convolutions of float32 in TF32, which keeps 10 of the 23 bits behind
    the point. Answers then differ from the CPU's by some 1e-4.
    """
    torch = import_torch()
    with _whole_convolutions(torch.backends.cudnn), torch.inference_mode():
        yield


@contextmanager
def _whole_convolutions(cudnn: Any) -> Iterator[None]:
    try:
        usual = cudnn.allow_tf32
    except RuntimeError:  # chosen with torch's newer switch, which this one must not be mixed with
        usual = None
    if usual is None:
        yield
        return
    cudnn.allow_tf32 = False
    try:
        yield
    finally:
        cudnn.allow_tf32 = usual


def resolved_dtype(options: LoadOptions, checkpoint_dtype: Callable[[], str]) -> str:
    """The name of the dtype that a model is loaded in; torch is imported only where it may see a device.

    ``checkpoint_dtype`` is called only where ``auto`` meets an accelerator.
    """
    if options.dtype not in DTYPES:
        raise ParameterError(f"--dtype {options.dtype!r} is not possible; choose one of {', '.join(DTYPES)}")
    if options.dtype != "auto":
        return options.dtype
    may_accelerate = options.device.partition(":")[0] != "cpu" and _may_see_an_accelerator()
    if not may_accelerate or choose_device(options).type == "cpu":
        return "float32"
    name = checkpoint_dtype()
    return name if name in DTYPES[1:] else "float32"


def _may_see_an_accelerator() -> bool:
    """Whether torch, which is not imported for it, was built for an accelerator that may be here."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    if sys.platform == "darwin":
        return True
    built = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    if not re.search(r"^(cuda|hip|rocm)\b.*= *['\"]", built, re.MULTILINE):
        return False
    return sys.platform != "linux" or any(Path("/dev", name).exists() for name in _DRIVERS)


def choose_dtype(options: LoadOptions) -> Any:
    """The torch dtype of a name; ``auto`` is float32."""
    return getattr(import_torch(), resolved_dtype(options, lambda: "float32"))


def to_numpy(tensor: Any) -> Floats:
    """A tensor as float32 in memory of its own."""
    return np.array(tensor.detach().float().cpu().numpy(), dtype=np.float32)
