"""WebDataset shards: tar files whose members of one name are a sample (``7.jpg``, ``7.cls``, ``7.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.datasets.readers.folders import is_image_name
from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, ImageRows, named
from evenhand.core.errors import InputError, one_line
from evenhand.files.images.sources import TarImages
from evenhand.files.images.tar import Member, members, read_member

NO_IMAGE = "no image in the sample"
_TEXTS = ("cls", "txt", "text", "label", "id", "cap", "caption")
_LARGEST = 2**20  # bytes of a label or of json; more is no annotation


def shards_in(folder: Path) -> list[Path]:
    """The tar files of a folder, or of ``test`` in it, in their order."""
    return sorted(path for pattern in ("*.tar", "test/*.tar") for path in folder.glob(pattern))


def coded(codes: pl.Series, names: Sequence[str], what: str, mend: str) -> pl.Series:
    """Class numbers of shards, from 0, as names; ``what`` and ``mend`` (what to do) are for the message."""
    numbers = codes.cast(pl.Int64, strict=False)
    if not numbers.is_between(0, len(names) - 1).fill_null(False).all():
        raise InputError(
            f"{what} is numbered from {numbers.min()!r} to {numbers.max()!r} in the shards, and there are "
            f"{len(names)} names of it; {mend}"
        )
    return named(numbers, names)


def read_shards(shards: Sequence[Path], spec: ColumnSpec) -> ImageRows:
    """Read tar shards; without ``truth`` it is ``cls``, without ``image`` (an extension) the first image.

    A column is the extension of a text member (``cls``), a field of the ``json`` member, or a place of the
    vector in the ``npy`` member (``npy.0``).
    """
    images: list[tuple[int, Member]] = []
    keys, fields, without = [], [], 0
    for number, shard in enumerate(shards):
        for key, parts in _samples(shard):
            image = _image(parts, spec.image)
            if image is None:
                without += 1
                continue
            images.append((number, image))
            keys.append(key)
            fields.append(_fields(shard, key, parts))
    if not images:
        kind = f" with extension {spec.image!r}" if spec.image else ""
        raise InputError(f"no image{kind} in {str(shards[0])!r} and the other {len(shards) - 1} shards")
    truth = spec.truth or ("cls" if any("cls" in sample for sample in fields) else None)
    row_spec = ColumnSpec(truth=truth, by=spec.by, id=spec.id)
    row_spec.check(sorted({name for sample in fields for name in sample}))
    table = pl.DataFrame(
        [_column(name, [sample.get(name) for sample in fields]) for name in row_spec.columns()]
    )
    dropped = {NO_IMAGE: without} if without else {}
    return ImageRows(table, TarImages(shards, images), keys, truth, is_text=True, dropped=dropped)


def _samples(shard: Path) -> Iterator[tuple[str, dict[str, Member]]]:
    """Members by extension, for each run of members with one key."""
    current, parts = None, {}
    for member in members(shard):
        folder, _, file = member.name.rpartition("/")
        stem, dot, extension = file.partition(".")
        if not stem or not dot:  # hidden files, and files without extension, which belong to no sample
            continue
        key = f"{folder}/{stem}" if folder else stem
        if key != current and current is not None:
            yield current, parts
            parts = {}
        current = key
        parts[extension.lower()] = member
    if current is not None:
        yield current, parts


def _image(parts: dict[str, Member], extension: str | None) -> Member | None:
    if extension is not None:
        return parts.get(extension.lower().lstrip("."))
    return next((member for name, member in parts.items() if is_image_name(f"x.{name}")), None)


def _fields(shard: Path, key: str, parts: dict[str, Member]) -> dict[str, Any]:
    """What the text and json members of a sample say."""
    fields: dict[str, Any] = {}
    for name in ("json", *_TEXTS):
        if name not in parts:
            continue
        member = parts[name]
        if member.size > _LARGEST:
            raise InputError(
                f"{member.name!r} in {str(shard)!r} has {member.size:,} bytes; labels are short texts"
            )
        content = read_member(shard, member.offset, member.size)
        try:
            value = json.loads(content) if name == "json" else content.decode().strip()
        except (ValueError, RecursionError) as problem:
            raise InputError(
                f"{member.name!r} in {str(shard)!r} cannot be read: {one_line(problem)}; mend sample {key!r}"
            ) from None
        fields |= value if isinstance(value, dict) else {name: value if value != "" else None}
    return fields | _vector(shard, key, parts)


def _vector(shard: Path, key: str, parts: dict[str, Member]) -> dict[str, Any]:
    """The numbers of the ``npy`` member of a sample, by their places; no object is ever unpickled."""
    member = parts.get("npy")
    if member is None:
        return {}
    problem = f"{member.size:,} bytes are no short vector"
    if member.size <= _LARGEST:
        try:
            array = np.load(BytesIO(read_member(shard, member.offset, member.size)), allow_pickle=False)
            return {f"npy.{index}": value for index, value in enumerate(array.reshape(-1).tolist())}
        except (ValueError, EOFError, MemoryError, AttributeError) as fault:
            problem = one_line(fault)
    raise InputError(f"{member.name!r} in {str(shard)!r} cannot be read: {problem}; mend sample {key!r}")


def _column(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    kinds = {float} if kinds == {int, float} else kinds
    if len(kinds) > 1 or kinds - {str, int, float, bool}:
        listing = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(
            f"column {name!r} holds {listing} values; labels and attributes are text, integers or booleans, "
            "one kind in a column: convert it first"
        )
    return pl.Series(name, values, strict=False)
