"""A checkpoint's files: which are read, in which precision they are, and whether they fit into memory."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, described, one_line
from evenhand.display.text.formatting import size
from evenhand.display.text.notes import note
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import choose_device, import_torch
from evenhand.models.weights.hub import tensor_types

SAFE, SAFE_INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLE, PICKLE_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
WEIGHTS = (SAFE, SAFE_INDEX, PICKLE, PICKLE_INDEX)
"""What transformers reads: the first that is there."""

_DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def weights_among(names: Collection[str]) -> str | None:
    """The file or index of weights that is read where there are several; None where there is none."""
    return next((name for name in WEIGHTS if name in names), None)


def parts_of(index: Path) -> list[str]:
    """Names of the files that an index of weights in parts lists."""
    try:
        names = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError) as problem:
        cause = described(problem)
        raise InputError(f"{str(index)!r} is no index: {cause}; save the model again") from None
    return sorted({Path(str(name)).name for name in names})


def stored_dtype(files: Sequence[Path], config: Mapping[str, Any] | None = None) -> str:
    """The precision of a checkpoint: config.json comes first, as in transformers; float32 if none says."""
    entry = str((config or {}).get("dtype") or (config or {}).get("torch_dtype") or "").removeprefix("torch.")
    if entry in _BYTES:
        return entry
    safe = [file for file in files if file.suffix == ".safetensors"]
    kinds = [kind for file in safe[:1] for kind, _ in tensor_types(file).values() if kind in _DTYPES]
    return _DTYPES[kinds[0]] if kinds else "float32"


def stored_number(folder: Path, name: str) -> float | None:
    """A single number among a checkpoint's weights, in its stored precision; None: not in safetensors."""
    from safetensors import safe_open

    read = weights_among({file.name for file in folder.iterdir()})
    if read not in (SAFE, SAFE_INDEX):
        return None
    for part in [read] if read == SAFE else parts_of(folder / read):
        with safe_open(folder / part, framework="pt") as stream:
            if name in stream.keys():  # noqa: SIM118 - it is no mapping
                return float(stream.get_tensor(name))
    return None


def n_numbers(files: Sequence[Path], dtype: str) -> int:
    """How many numbers a checkpoint holds; a pickled file is taken to hold nothing else, in ``dtype``."""
    total = 0
    for file in files:
        if file.suffix == ".safetensors":
            total += sum(math.prod(shape) for _, shape in tensor_types(file).values())
        else:
            total += file.stat().st_size // _BYTES[dtype]
    return total


def check_memory(uri: str, numbers: int, dtype: str, options: LoadOptions, *, spreads: bool = False) -> None:
    """Say what a model needs before it is loaded, and refuse one whose weights do not fit.

    ``dtype`` is that of the loaded weights; ``spreads``: they can be spread over devices, and quantized.
    """
    device = choose_device(options).type if options.device != "cpu" else "cpu"
    cpu = free_memory("cpu")
    free = free_memory(device, options.device)
    if options.device_map and device != "cpu" and free is not None and cpu is not None:
        free += cpu
    needed = needed_memory(numbers, dtype, options.quantize)
    how = f"{options.quantize} bits" if options.quantize else dtype
    room = "" if free is None else f"; {device} has {size(free)} free"
    weigh = f"{numbers:,} numbers in {how} need {size(needed)}"
    if free is None or needed <= free:
        note(f"loading {uri}: {weigh}, and more while it answers{room}")
        return
    ways = {f"--dtype {name}": needed_memory(numbers, name) for name in ("bfloat16",) if dtype == "float32"}
    if spreads:
        ways |= {f"--quantize {bits}": needed_memory(numbers, dtype, bits) for bits in (8, 4)}
    fitting = [f"{way} ({size(much)})" for way, much in ways.items() if much < min(needed, free)]
    if device != "cpu" and cpu is not None and not options.device_map:
        fitting += ["--device-map auto"] if spreads and needed <= free + cpu else []
        fitting += ["--device cpu"] if needed <= cpu else []
    advice = f"type {', or '.join(fitting)}" if fitting else "take a smaller model, or a larger machine"
    raise InputError(f"{uri!r} does not fit: {weigh}{room}; {advice}")


def needed_memory(numbers: int, dtype: str, bits: int | None = None) -> float:
    """Bytes that so many numbers need once loaded; the model needs more while it answers."""
    return numbers * (bits / 8 if bits else _BYTES[dtype])


def free_memory(device: str, name: str = "auto") -> int | None:
    """Bytes that are free on a kind of device, or on the one named; None where the system does not say."""
    if device == "cuda":
        return _free_on_gpu("cuda" if name == "auto" else name)
    if device == "mps":
        mps = import_torch().mps
        return int(mps.recommended_max_memory() - mps.driver_allocated_memory())
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text("ascii").splitlines())
        return 1024 * sum(int(lines[field].split()[0]) for field in ("MemAvailable", "SwapFree"))
    except (OSError, KeyError, ValueError):
        return None  # another system than Linux: nothing is refused there for want of memory


def _free_on_gpu(device: str) -> int:
    """With what torch keeps of models that are gone; 0 where other processes leave no room to ask."""
    cuda = import_torch().cuda
    reusable = cuda.memory_reserved(device) - cuda.memory_allocated(device)
    try:
        return int(cuda.mem_get_info(device)[0] + reusable)
    except RuntimeError as problem:
        if "out of memory" in str(problem):
            return 0
        cause = one_line(str(problem).partition("\n")[0])
        raise InputError(f"{device} cannot be used: {cause}; type --device cpu") from problem
