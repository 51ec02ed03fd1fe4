"""The file of a mitigation: its arrays as safetensors, with a card that says in JSON what they are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError, ParameterError, one_line
from evenhand.files.atomic import atomic_path, write_bytes
from evenhand.files.json_file import check_version

Arrays = Mapping[str, npt.NDArray[Any]]

KIND = "evenhand mitigation"
SCHEMA_VERSION = "1.0"
_ENTRY = "evenhand"  # one entry only: safetensors writes several in no fixed order
_MAKE = "make one with: evenhand debias RUN -o DIR"


def as_json(value: Any) -> Any:
    """A value as JSON can hold it: tuples and arrays become lists, numbers that are not finite null."""
    if isinstance(value, Mapping):
        return {str(key): as_json(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [as_json(inner) for inner in items]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def write_mitigation(path: Path, card: Mapping[str, Any], arrays: Arrays) -> None:
    """Write ``path`` and, beside it, the card as ``.json`` for people. Each appears whole or not at all.

    Args:
        path: Ends in ``.safetensors``.
        card: What ``read_mitigation`` gives back; of JSON's kinds.
        arrays: Name to array.

    Raises:
        ParameterError: Another ending, or a folder.
        InputError: A ``.json`` that is no card of a mitigation stands where the card belongs.
    """
    from safetensors.numpy import save_file

    if path.suffix != ".safetensors" or path.is_dir():
        raise ParameterError(f"{str(path)!r} cannot hold a mitigation; give a name that ends in .safetensors")
    beside = path.with_suffix(".json")
    if beside.exists() and not _is_card(beside):
        raise InputError(f"{str(beside)!r} is something else and would be replaced; give another name")
    text = json.dumps(card, ensure_ascii=False, sort_keys=True, allow_nan=False)
    contiguous_arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic_path(path) as temporary:
        save_file(contiguous_arrays, temporary, metadata={_ENTRY: text})
    readable = json.dumps(card, ensure_ascii=False, sort_keys=True, allow_nan=False, indent=2)
    write_bytes(beside, f"{readable}\n".encode())


def read_mitigation(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Card and arrays of a file. Nothing in it is ever run.

    Raises:
        InputError: No such file, no safetensors, safetensors of something else, or of a newer evenhand.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}; give the .safetensors of a mitigation, or {_MAKE}")
    try:
        with safe_open(path, framework="numpy") as stream:
            card = _card(path, (stream.metadata() or {}).get(_ENTRY))
            return card, {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, AttributeError) as problem:  # a dtype that numpy lacks too
        raise InputError(
            f"{str(path)!r} cannot be read as safetensors: {one_line(problem, 200)}; {_MAKE}"
        ) from None


def _card(path: Path, text: str | None) -> dict[str, Any]:
    try:
        card = json.loads(text or "null")
    except (ValueError, RecursionError):
        card = None
    if not isinstance(card, dict) or card.get("kind") != KIND:
        raise InputError(f"{str(path)!r} is safetensors, but not a mitigation of evenhand; {_MAKE}")
    check_version(card, path, SCHEMA_VERSION)
    return card


def _is_card(path: Path) -> bool:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == KIND
