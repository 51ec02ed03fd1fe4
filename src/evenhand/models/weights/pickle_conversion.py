"""From a pickled checkpoint to safetensors: tensors are read, code in the file is never run."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, ParameterError, UnknownName, one_line
from evenhand.files.atomic import atomic_path
from evenhand.files.hashing import sha256_files
from evenhand.models.weights.device import import_torch

# under which training scripts put the weights, the first that is there is taken
WRAPPERS = (
    "state_dict",
    "model_state_dict",
    "classy_state_dict",
    "base_model",
    "model",
    "module",
    "net",
    "network",
)
# what data-parallel and compiled modules put before every name
PREFIXES = ("module.", "_orig_mod.")
_SAFELY = "load it where you trust it and save its state_dict() alone, then convert that"


@dataclass(frozen=True)
class Converted:
    """What was written."""

    path: Path
    key: str  # where in the checkpoint the weights were; empty for its top
    tensors: int  # how many
    numbers: int  # how many the tensors hold together
    left_out: tuple[str, ...]  # names of what is no tensor
    sha256: str  # of the file, as it stands in a model's identity


def convert_checkpoint(source: Path, target: Path, key: str | None = None) -> Converted:
    """Write the tensors of a ``.pth``, ``.pt``, ``.bin`` or ``.ckpt`` file as safetensors.

    ``key`` is where the weights are, such as ``student.backbone``; None: it is found out.
    """
    if target.suffix != ".safetensors":
        raise ParameterError(
            f"{str(target)!r} is to be written as safetensors; give a name that ends in .safetensors"
        )
    if target.exists():
        raise ParameterError(f"{str(target)!r} exists; remove it, or give another name")
    content = _read(source)
    weights, where = _descend(content, key, source)
    tensors, left_out = _flat(weights)
    if not tensors:
        raise InputError(
            f"{str(source)!r} holds no tensors{f' under {where!r}' if where else ''}; {_keys(content)}"
        )
    _write(_without_prefixes(tensors), target, source)
    numbers = sum(tensor.numel() for tensor in tensors.values())
    return Converted(target, where, len(tensors), numbers, tuple(left_out), sha256_files([target])[target])


def read_tensors(source: Path) -> dict[str, Any]:
    """Tensors of a pickled file by name, on the CPU; code in the file is never run."""
    return dict(_tensors(_read(source)))


def _read(source: Path) -> Mapping[Any, Any]:
    """The checkpoint's content; only tensors and plain containers are ever built."""
    torch = import_torch()
    if not source.is_file():
        raise InputError(f"there is no file {str(source)!r}; give a checkpoint such as model.pth")
    if source.suffix == ".safetensors":
        raise InputError(f"{str(source)!r} is safetensors already; use it as it is")
    if _is_torchscript(source):  # torch would hand it to torch.jit, which runs programs
        raise InputError(f"{str(source)!r} is TorchScript, a program with weights, and is not run; {_SAFELY}")
    try:
        content = torch.load(source, weights_only=True, map_location="cpu")
    except Exception as problem:  # pickle, zip, unicode and runtime errors: whatever a foreign file can cause
        raise InputError(refusal(source, problem)) from None
    if torch.is_tensor(content):
        return {"tensor": content}
    if not isinstance(content, Mapping):
        raise InputError(
            f"{str(source)!r} holds a {type(content).__name__}, not named tensors; save a state_dict"
        )
    return content


def is_refused_pickle(problem: BaseException) -> bool:
    """Whether torch refused a file because it holds more than tensors and plain containers."""
    return "weights_only" in str(problem) or "Weights only load failed" in str(problem)


def refusal(source: Path, problem: Exception) -> str:
    """Why a pickled file is not read, in one line."""
    message = one_line(problem)
    match = re.search(r"(?:GLOBAL|Unsupported (?:class|global):?|global) ([A-Za-z_]\w*(?:\.\w+)+)", message)
    if is_refused_pickle(problem):
        what = f"an object of {match[1]}" if match else "objects that are no tensors"
        return f"{str(source)!r} holds {what}, which could run code, so it is not loaded; {_SAFELY}"
    return f"{str(source)!r} is no checkpoint of torch that can be read: {message[:200]}; download it again"


def _is_torchscript(source: Path) -> bool:
    if not zipfile.is_zipfile(source):
        return False
    with zipfile.ZipFile(source) as archive:
        return any(name.endswith("constants.pkl") for name in archive.namelist())


def _descend(content: Mapping[Any, Any], key: str | None, source: Path) -> tuple[Mapping[Any, Any], str]:
    """The part with the weights, and where it is."""
    if key is not None:
        return _at(content, key), key
    torch = import_torch()
    path: list[str] = []
    while inner := {str(name): value for name, value in content.items() if _holds_tensors(value)}:
        wrappers = [name for name in WRAPPERS if name in inner]
        parts = any(torch.is_tensor(value) for value in content.values()) or (path and len(inner) > 1)
        if not wrappers and parts:
            break  # parts of one network, such as trunk and heads
        if not wrappers and len(inner) > 1:
            listing = ", ".join(f"--key {name}" for name in inner)
            raise InputError(f"{str(source)!r} holds several sets of weights; choose one: {listing}")
        path.append(wrappers[0] if wrappers else next(iter(inner)))
        content = inner[path[-1]]
    return content, ".".join(path)


def _at(content: Mapping[Any, Any], key: str) -> Mapping[Any, Any]:
    """The part under a key with dots; a name may hold dots itself."""
    if isinstance(content.get(key), Mapping):
        part: Mapping[Any, Any] = content[key]
        return part
    for name, value in content.items():
        if isinstance(value, Mapping) and key.startswith(f"{name}."):
            return _at(value, key[len(str(name)) + 1 :])
    possible = [str(name) for name, value in content.items() if isinstance(value, Mapping)]
    raise UnknownName("key", key, possible, "keys are joined with dots")


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, Mapping) and next(_tensors(value), None) is not None


def _tensors(content: Mapping[Any, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    torch = import_torch()
    for name, value in content.items():
        if torch.is_tensor(value):
            yield f"{before}{name}", value
        elif isinstance(value, Mapping):
            yield from _tensors(value, f"{before}{name}.")


def _flat(content: Mapping[Any, Any]) -> tuple[dict[str, Any], list[str]]:
    """All tensors by dotted name, and the names of what else is there."""
    torch = import_torch()
    others = [
        str(name)
        for name, value in content.items()
        if not torch.is_tensor(value) and not _holds_tensors(value)
    ]
    return dict(_tensors(content)), others


def _without_prefixes(tensors: Mapping[str, Any]) -> dict[str, Any]:
    tensors_by_name = dict(tensors)
    while prefixes := [
        prefix for prefix in PREFIXES if all(name.startswith(prefix) for name in tensors_by_name)
    ]:
        tensors_by_name = {name.removeprefix(prefixes[0]): tensor for name, tensor in tensors_by_name.items()}
    return tensors_by_name


def _write(tensors: Mapping[str, Any], target: Path, source: Path) -> None:
    from safetensors.torch import save_file

    separate, seen = {}, set()
    for name, tensor in tensors.items():
        try:
            storage = tensor.untyped_storage().data_ptr()
            # safetensors holds each tensor by itself: views and tied weights get memory of their own
            is_separate = (
                tensor.is_contiguous()
                and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
            )
            separate[name] = (
                tensor.detach()
                if is_separate and storage not in seen
                else tensor.detach().clone().contiguous()
            )
        except (RuntimeError, NotImplementedError):
            kind = str(tensor.layout).removeprefix("torch.")
            raise InputError(
                f"{str(source)!r}: {name!r} is a {kind} tensor, which safetensors cannot hold; "
                "choose another --key"
            ) from None
        seen.add(storage)
    try:
        with atomic_path(target) as temporary:
            save_file(separate, temporary, metadata={"format": "pt"})
    except (KeyError, ValueError, RuntimeError) as problem:  # a dtype that safetensors lacks
        raise InputError(
            f"{str(source)!r} cannot be written as safetensors: {one_line(problem, 200)}"
        ) from None


def _keys(content: Mapping[Any, Any]) -> str:
    names = [str(name) for name in content][:12]
    return f"it holds {', '.join(names) or 'nothing'}"
