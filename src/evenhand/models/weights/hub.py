"""Weights that libraries keep on the Hugging Face hub, located without importing the library."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, MissingExtra, described, one_line
from evenhand.files.atomic import write_bytes
from evenhand.files.hashing import sha256_text
from evenhand.files.home import home
from evenhand.files.json_file import read_json
from evenhand.models.weights.fetching import fetching, hub_refusals


def library_version(distribution: str, module: str, extra: str) -> str:
    """The installed version of a library, without importing it."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        raise MissingExtra(module, extra) from None


def import_library(module: str, extra: str) -> Any:
    """A library of models, imported."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.partition(".")[0] == module.partition(".")[0]:
            raise MissingExtra(problem.name, extra) from None
        message = f"{module} cannot be imported: {one_line(problem)}; install what it lacks"
        raise InputError(message) from problem
    except (ImportError, RuntimeError, AttributeError, OSError) as problem:
        cause = described(problem)
        remedy = f"reinstall it: pip install --upgrade 'evenhand[{extra}]'"
        if "torchvision" in cause:
            remedy = "torchvision does not fit this torch: install the release of torchvision that does"
        raise InputError(f"{module} cannot be imported: {cause[:200]}; {remedy}") from problem


def remembered(
    library: str, release: str, name: str, look_up: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What a library says about a name; asked once for each of its releases, then read from disk.

    A release of timm or open_clip always says the same about a name, and importing either takes seconds.
    ``look_up`` imports the library and answers, as plain JSON.
    """
    path = home() / "libraries" / library / release / f"{sha256_text(name)[:32]}.json"
    try:
        stored_record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return stored_record
    except (OSError, ValueError):
        record = look_up()
    text = json.dumps(record, sort_keys=True)
    write_bytes(path, text.encode())
    fresh: dict[str, Any] = json.loads(text)  # tuples become lists, as when it is read
    return fresh


def hub_file(repository: str, names: Sequence[str], revision: str | None, instead: str) -> Path:
    """A file of a hub repository: from the local cache where it is there, else downloaded.

    The first of ``names`` that exists is taken; ``instead`` is what to type where none does.
    """
    with fetching(repository), hub_refusals(repository, revision, " ".join(names[:1])):
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import RemoteEntryNotFoundError

        for name in names:
            cached = try_to_load_from_cache(repository, name, revision=revision)
            if isinstance(cached, str):
                return Path(cached)
        for name in names:
            try:
                return Path(hf_hub_download(repository, name, revision=revision))
            except RemoteEntryNotFoundError:
                continue
    at = f"{repository}@{revision}" if revision else repository
    raise InputError(f"{at!r} has none of {', '.join(names)}; {instead}")


def local_safetensors(path: Path, uri: str) -> Path:
    """A weights file on this machine."""
    if path.suffix != ".safetensors":
        raise InputError(
            f"{uri!r}: weights are read from .safetensors only; "
            f"type: evenhand convert {path} {path.with_suffix('.safetensors')}"
        )
    if not path.is_file():
        raise InputError(f"{uri!r}: there is no file {str(path)!r}; give an existing .safetensors file")
    return path


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """Names and shapes in a safetensors file, as ``tensor_types``."""
    return {name: shape for name, (_, shape) in tensor_types(path).items()}


def tensor_types(path: Path) -> dict[str, tuple[str, list[int]]]:
    """Names, kinds of number such as ``F16``, and shapes in a safetensors file, from its header alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stream:
            slices = {name: stream.get_slice(name) for name in stream.keys()}  # noqa: SIM118
            return {name: (part.get_dtype(), list(part.get_shape())) for name, part in slices.items()}
    except (SafetensorError, OSError) as problem:
        raise InputError(
            f"{str(path)!r} is no safetensors file: {one_line(problem)}; "
            "make one with: evenhand convert IN OUT"
        ) from None


def read_config(path: Path, uri: str, fields: Sequence[str]) -> dict[str, Any]:
    """A JSON object from a model's folder."""
    if not path.is_file():
        raise InputError(f"{uri!r}: there is no {str(path)!r}; give a folder that holds one")
    config: dict[str, Any] = read_json(path, "save the model again in its library's format", dict)
    lacking = [field for field in fields if field not in config]
    if lacking:
        raise InputError(
            f"{str(path)!r} does not say {lacking[0]!r}; save the model again in its library's format"
        )
    return config
