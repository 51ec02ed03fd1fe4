"""A mitigation: a fitted change of embeddings, one map for each modality, saved with its card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError, check_choice, one_line
from evenhand.core.registry import Registry
from evenhand.mitigate.maps import Map, in_range, unit
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.arrays import Floats, pieces, ratio

if TYPE_CHECKING:
    import polars as pl
import math

from evenhand.core.errors import ParameterError
from evenhand.files.atomic import atomic_path, write_bytes
from evenhand.files.json_file import check_version

__all__ = ["CANNOT_PROMISE", "MITIGATIONS", "MODALITIES", "Fitter", "Map", "Mitigation"]


MITIGATIONS = Registry(
    "mitigation",
    {
        "pruning": "evenhand.mitigate.methods.dimension_pruning:Pruning",
        "clip_clip": "evenhand.mitigate.methods.dimension_clipping:ClipClip",
        "orthogonal_projection": "evenhand.mitigate.methods.projections:OrthogonalProjection",
        "calibrated_projection": "evenhand.mitigate.methods.projections:CalibratedProjection",
        "mean_difference": "evenhand.mitigate.methods.projections:MeanDifference",
        "inlp": "evenhand.mitigate.methods.nullspace:INLP",
        "leace": "evenhand.mitigate.methods.erasure:LEACE",
    },
    "evenhand.mitigations",
)
"""Ways to fit a mitigation, by name; entry points ``evenhand.mitigations`` add others."""

MODALITIES = ("image", "text")
CANNOT_PROMISE = (
    "less association on items, words or prompts that it was not fitted on: measure it on held-out ones",
    "that no curved boundary separates the groups; linear structure alone is removed",
    "anything about a model whose embeddings it was not fitted on",
)


Arrays = Mapping[str, npt.NDArray[Any]]
KIND = "evenhand mitigation"
SCHEMA_VERSION = "1.0"
_ENTRY = "evenhand"  # one entry only: safetensors writes several in no fixed order
_MAKE = "make one with: evenhand debias RUN -o DIR"


class Fitter(Protocol):
    """A way to fit a mitigation: a frozen dataclass whose fields are its parameters.

    Attributes:
        name: As in ``MITIGATIONS``.
    """

    name: str

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Fit on the fit half."""
        ...


@dataclass(frozen=True, eq=False)
class Mitigation:
    """A fitted change of embeddings.

    Attributes:
        name: How it was fitted, a name of ``MITIGATIONS``.
        params: With which parameters.
        maps: Modality (``image``, ``text``) to its map; a modality that is not there stays as it is.
        facts: What the card says: what was removed, on what it was fitted. ``cannot_promise`` adds sentences.
        made_with: The version of evenhand that fitted it.
    """

    name: str
    params: Mapping[str, Any]
    maps: Mapping[str, Map]
    facts: Mapping[str, Any] = field(default_factory=dict)
    made_with: str = field(default_factory=lambda: version("evenhand"))

    @property
    def identity(self) -> bool:
        """Whether it changes nothing in any modality."""
        return all(change.identity for change in self.maps.values())

    def map_of(self, modality: str) -> Map:
        """What happens to a modality.

        Raises:
            ParameterError: No modality of evenhand.
        """
        check_choice("modality", modality, dict.fromkeys((*MODALITIES, *self.maps)))
        return self.maps.get(modality, Map())

    def transform(self, vectors: npt.ArrayLike, modality: str) -> npt.NDArray[Any]:
        """Vectors of one modality after the change, in bounded memory beyond the result.

        Args:
            vectors: Shape (N, D), as the model made them, of any length.
            modality: ``image`` or ``text``.

        Returns:
            Shape (N, D) or (N, dimensions kept), of the same float type (float64 for integers). Where
            nothing is to be changed, the same bits.

        Raises:
            InputError: Vectors of another shape or number of dimensions.
            ParameterError: No modality of evenhand.
        """
        try:
            array = np.asarray(vectors)
        except ValueError:  # numpy's "inhomogeneous shape"
            raise InputError(
                "vectors have different numbers of dimensions; give (items, dimensions)"
            ) from None
        if array.dtype.kind in "iub":
            array = array.astype(np.float64)
        if array.dtype.kind != "f":
            raise InputError(f"vectors hold {array.dtype}, not numbers; give float32 or float64")
        return self.map_of(modality).transform(array)

    def transform_table(self, embeddings: pl.LazyFrame) -> pl.LazyFrame:
        """Embeddings after the change; lazy, so that a large file is streamed with ``sink_parquet``.

        A million vectors of 512 dimensions go from file to file in about 1 GiB where both have row groups of
        some 16,000 rows: ``sink_parquet(path, row_group_size=16_384)``.

        Args:
            embeddings: Embeddings(sample, modality, vector); other columns stay.

        Returns:
            The same rows in the same order. A vector that is null or empty, or of a modality without a map,
            stays as it is. Where dimensions are left out, vectors of fixed width become lists.

        Raises:
            InputError: A column is missing; once collected, vectors of another number of dimensions.
        """
        from evenhand.mitigate.apply import transformed

        return transformed(embeddings, self.maps)

    def removed_share(self, vectors: npt.ArrayLike, modality: str) -> Floats:
        """How much of each vector is gone: ``1 - |y|^2 / |x|^2``, before any final renormalisation.

        Args:
            vectors: Shape (N, D).
            modality: ``image`` or ``text``.

        Returns:
            Shape (N,). 0 where nothing is removed, 1 where all is; below 0 where a vector became longer,
            which only LEACE can do; NaN for a vector of length 0 or one that is not finite.
        """
        array = np.asarray(vectors, dtype=np.float64)
        change = replace(self.map_of(modality), unit_after=False)
        shares = []
        for some in pieces(len(array), 4096):
            part = in_range(array[some])
            before = unit(part) if change.unit_before else part
            after = np.square(change.transform(part)).sum(axis=1)
            with np.errstate(invalid="ignore"):
                shares.append(1 - ratio(after, np.square(before).sum(axis=1)))
        return np.concatenate(shares) if shares else np.zeros(0)

    def card(self) -> dict[str, Any]:
        """What the file says of itself, as JSON has it: name, params, maps, facts, what it cannot promise."""
        more = self.facts.get("cannot_promise", ())
        return {
            "kind": KIND,
            "schema_version": SCHEMA_VERSION,
            "evenhand": self.made_with,
            "fingerprint": self.fingerprint(),
            **self._described(),
            "cannot_promise": [*CANNOT_PROMISE, *([more] if isinstance(more, str) else as_json(more))],
        }

    def fingerprint(self) -> str:
        """The sha256 of all that it is: name, params, facts and every number of its maps."""
        digest = hashlib.sha256(json.dumps(self._described(), sort_keys=True, ensure_ascii=False).encode())
        for name, array in sorted(self._arrays().items()):
            digest.update(f"\n{name}\n".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def save(self, path: str | Path) -> Path:
        """Write ``path`` (safetensors, the card within) and the card beside it as ``.json``, for people.

        Args:
            path: Ends in ``.safetensors``.

        Returns:
            ``path``.

        Raises:
            ParameterError: Another ending, or a folder.
            InputError: A ``.json`` of something else stands beside it.
        """
        write_mitigation(Path(path), self.card(), self._arrays())
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Mitigation:
        """Read what ``save`` wrote; equal to the bit. Nothing in the file is run.

        Raises:
            InputError: No such file, no safetensors, something else, a newer format, or a damaged file.
        """
        card, arrays = read_mitigation(Path(path))
        try:
            maps = {
                modality: Map(
                    **{part: arrays.pop(f"{modality}.{part}") for part in described["arrays"]},
                    unit_before=bool(described["unit_before"]),
                    unit_after=bool(described["unit_after"]),
                )
                for modality, described in card["maps"].items()
            }
            loaded = cls(str(card["name"]), dict(card["params"]), maps, dict(card["facts"]), card["evenhand"])
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as problem:
            raise _damaged(path, one_line(problem, 200)) from None
        if arrays or loaded.fingerprint() != card.get("fingerprint"):
            raise _damaged(path, "its numbers are not those that its card was made for")
        return loaded

    def _described(self) -> dict[str, Any]:
        maps = {
            modality: {
                "arrays": sorted(change_arrays),
                "dimensions": change.dimensions,
                "dimensions_after": change.dimensions if change.keep is None else int(change.keep.sum()),
                "unit_before": change.unit_before,
                "unit_after": change.unit_after,
            }
            for modality, change in sorted(self.maps.items())
            for change_arrays in [_arrays_of(change)]
        }
        return {"name": self.name, "params": as_json(self.params), "maps": maps, "facts": as_json(self.facts)}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            f"{modality}.{part}": array
            for modality, change in self.maps.items()
            for part, array in _arrays_of(change).items()
        }


def _arrays_of(change: Map) -> dict[str, npt.NDArray[Any]]:
    parts = {"keep": change.keep, "matrix": change.matrix, "centre": change.centre}
    return {
        part: array if part == "keep" else array.astype("<f8", copy=False)
        for part, array in parts.items()
        if array is not None
    }


def _damaged(path: str | Path, why: str) -> InputError:
    return InputError(f"{str(path)!r} is a damaged mitigation: {why}; make it again with: evenhand debias")


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
    """Write ``path`` and, beside it, the card as ``.json`` for people. Each appears whole or not at all."""
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
    """Card and arrays of a file. Nothing in it is ever run."""
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
