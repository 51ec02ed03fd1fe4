"""The folder of an adapted model: its card, its head, and the hashes of the images it was fitted on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats
from evenhand.core.errors import InputError, one_line
from evenhand.files.atomic import atomic_path, write_bytes
from evenhand.files.hashing import sha256_text
from evenhand.files.json_file import check_version, read_json

CARD, HEAD, TRAINED_ON, NETWORK, HISTORY = (
    "adapted.json", "head.safetensors", "training.parquet", "network", "history.parquet"
)  # fmt: skip
ENTRIES = (CARD, HEAD, TRAINED_ON, NETWORK, HISTORY)
MARKERS = (CARD,)
KIND = "evenhand adapted model"
SCHEMA_VERSION = "1.0"
_MAKE = "make one with: evenhand adapt --model URI --train IMAGES -o DIR"
_NEEDED = ("method", "extractor", "recipe", "classes", "seed")


@dataclass(frozen=True, eq=False)
class Head:
    """One linear layer: ``logits = (f(x) - centre) W' + b``, where f scales x to length 1 or keeps it."""

    weight: Floats  # float32, shape (C, D)
    offset: Floats  # added to the logits, float32, shape (C,)
    centre: Floats  # subtracted from the vectors, float32, shape (D,)
    unit: bool = False  # scale vectors to length 1 first; one of length 0 stays 0

    def __post_init__(self) -> None:
        count, size = self.weight.shape if self.weight.ndim == 2 else (0, 0)
        if not count or self.offset.shape != (count,) or self.centre.shape != (size,):
            raise InputError(
                f"a head of weight {self.weight.shape}, offset {self.offset.shape} and centre "
                f"{self.centre.shape} does not fit together; {_MAKE}"
            )

    def logits(self, vectors: Floats) -> Floats:
        """Logits of vectors of shape (N, D): float32, shape (N, C), computed in float64."""
        array = np.asarray(vectors, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != self.weight.shape[1]:
            raise InputError(
                f"the extractor gives vectors of shape {array.shape[1:]}, and the head was fitted for "
                f"{self.weight.shape[1]} dimensions; adapt it again"
            )
        if self.unit:
            length = np.linalg.norm(array, axis=1, keepdims=True)
            array = np.divide(array, length, out=np.zeros_like(array), where=length > 0)
        result = (array - self.centre) @ self.weight.T.astype(np.float64) + self.offset
        return np.asarray(result, dtype=np.float32)

    def save(self, path: Path) -> None:
        """Write a safetensors file, whole or not at all."""
        from safetensors.numpy import save_file

        arrays = {
            "weight": np.ascontiguousarray(self.weight, dtype="<f4"),
            "offset": np.ascontiguousarray(self.offset, dtype="<f4"),
            "centre": np.ascontiguousarray(self.centre, dtype="<f4"),
        }
        with atomic_path(path) as temporary:
            save_file(arrays, temporary, metadata={"unit": str(int(self.unit))})

    @classmethod
    def load(cls, path: Path) -> Head:
        """Read what ``save`` wrote; nothing in it is run."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as stream:
                unit = (stream.metadata() or {}).get("unit") == "1"
                weight, offset, centre = (
                    np.asarray(stream.get_tensor(name), dtype=np.float32)
                    for name in ("weight", "offset", "centre")
                )
        except (SafetensorError, OSError, TypeError, AttributeError) as problem:
            raise InputError(f"{str(path)!r} holds no head: {one_line(problem, 200)}; {_MAKE}") from None
        return cls(weight, offset, centre, unit)


def write_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Write the card; equal cards give equal bytes."""
    content = {"kind": KIND, "schema_version": SCHEMA_VERSION, **card}
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_bytes(folder / CARD, f"{text}\n".encode())


def read_card(folder: Path) -> dict[str, Any]:
    """The card of an adapted model."""
    path = folder / CARD
    if not path.is_file():
        raise InputError(
            f"there is no {CARD} in {str(folder)!r}; give the folder of an adapted model, or {_MAKE}"
        )
    card: dict[str, Any] = read_json(path, _MAKE)
    if not isinstance(card, dict) or card.get("kind") != KIND or any(name not in card for name in _NEEDED):
        raise InputError(f"{str(path)!r} is no card of an adapted model; {_MAKE}")
    check_version(card, path, SCHEMA_VERSION)
    _check_classes(path, card["classes"])
    return card


def _check_classes(path: Path, classes: Any) -> None:
    is_valid = isinstance(classes, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("label"), str)
        and isinstance(entry.get("wordnet_id"), str)
        for entry in classes
    )
    if not is_valid or not classes:
        raise InputError(f"{str(path)!r} does not say label and wordnet_id of every class; {_MAKE}")


def write_hashes(folder: Path, hashes: Iterable[str]) -> None:
    """Write the hashes of the images that a model was fitted on, sorted, each once."""
    import polars as pl

    table = pl.DataFrame({"sha256": pl.Series(sorted(set(hashes)), dtype=pl.String)})
    with atomic_path(folder / TRAINED_ON) as temporary:
        table.write_parquet(temporary)


def read_hashes(folder: Path) -> set[str]:
    """The hashes that ``write_hashes`` wrote."""
    import polars as pl

    path = folder / TRAINED_ON
    try:
        return set(pl.read_parquet(path)["sha256"].to_list())
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise InputError(
            f"{str(path)!r} cannot be read, and without it nobody knows which images the model has seen: "
            f"{one_line(problem, 200)}; {_MAKE}"
        ) from None


def hash_of_hashes(hashes: Iterable[str]) -> str:
    """One hash for a set of images, whatever their order."""
    return sha256_text("\n".join(sorted(set(hashes))))


def hash_of_classes(classes: Sequence[Mapping[str, Any]]) -> str:
    """One hash for what the logits stand for: labels and WordNet ids in their order."""
    return sha256_text(
        json.dumps([[entry["label"], entry["wordnet_id"]] for entry in classes], ensure_ascii=False)
    )
