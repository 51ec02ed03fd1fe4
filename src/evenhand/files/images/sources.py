"""Where images lie: files, a column of Parquet, tar shards, a saved Hugging Face table.

Every source meets ``core.questions.ImageSource`` and has ``digests`` for many images at once. A source is
sent to other processes as it is: it holds places only, and what it has open stays behind.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.capabilities import Pixels
from evenhand.core.errors import InputError, MissingExtra, one_line
from evenhand.core.requests import UnreadableImage
from evenhand.files.hashing import sha256_each, stamp_of
from evenhand.files.images.decode import MAX_BYTES, decode
from evenhand.files.images.perceptual import HashesLooks
from evenhand.files.images.tar import Member, read_member

Digests = list[str | UnreadableImage]
_BLOCK_BYTES = 32 * 2**20  # of a table about so much is read at once
_BLOCK_ROWS = 1024  # and no more rows than these
_BLOCKS_KEPT = 3


class ImageFiles(HashesLooks):
    """Images in files.

    A file that changed between ``digests`` and ``load`` is refused for the time being: its pixels are not
    those of the digest.
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.paths = tuple(os.path.abspath(path) for path in paths)
        self._stamps = np.zeros(len(self.paths), dtype=np.int64)  # when hashed; 0: not in this process

    def __getstate__(self) -> dict[str, Any]:
        return {"paths": self.paths}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["paths"])  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.paths)

    def digest(self, index: int) -> str:
        """The sha256 of the file; that of an unchanged file is remembered."""
        return _single_digest(self.digests(index, index + 1))

    def digests(self, start: int, stop: int) -> Digests:
        """Digests of images start to stop; in place of one, what is wrong with its file."""
        hashed = sha256_each(self.paths[start:stop])
        for index, result in enumerate(hashed, start):
            self._stamps[index] = 0 if isinstance(result, OSError) else hash(result[1])
        return [_unreadable(result) if isinstance(result, OSError) else result[0] for result in hashed]

    def absent(self) -> dict[int, str]:
        """Positions without a file, and where it should be."""
        there = {path: os.path.lexists(path) for path in dict.fromkeys(self.paths)}
        return {index: path for index, path in enumerate(self.paths) if not there[path]}

    def load(self, index: int) -> Pixels:
        """The decoded image, uint8 RGB, shape (H, W, 3)."""
        content, stamp = _read_stamped(self.paths[index])
        hashed = int(self._stamps[index])
        if hashed and hashed != hash(stamp):
            raise UnreadableImage("changed while it was read", self.paths[index], temporary=True)
        return self._loaded(index, decode(content))


class EncodedImages(HashesLooks, ABC):
    """Images whose encoded bytes a subclass reads; their digest is the sha256 of the bytes."""

    def digest(self, index: int) -> str:
        """The sha256 of the image's encoded bytes."""
        return hashlib.sha256(self._read(index)).hexdigest()

    def digests(self, start: int, stop: int) -> Digests:
        """Digests of images start to stop; in place of one, what is wrong with it."""
        return [self._digest(index) for index in range(start, stop)]

    def load(self, index: int) -> Pixels:
        """The decoded image, uint8 RGB, shape (H, W, 3)."""
        return self._loaded(index, decode(self._read(index)))

    @abstractmethod
    def _read(self, index: int) -> bytes: ...

    def _digest(self, index: int) -> str | UnreadableImage:
        try:
            return self.digest(index)
        except UnreadableImage as problem:
            return problem


class Reopening(ABC):
    """What is sent to other processes without its locks and blocks: names with ``_``, which are made anew."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()

    @abstractmethod
    def _open(self) -> None: ...


class ImageBytes(Reopening, EncodedImages):
    """Images in a column of Parquet files: binary, or ``{bytes, path}`` as Hugging Face writes it.

    A row that has a path and no bytes is the file of that path, from the folder of its Parquet file on.

    A few blocks of rows are held at a time. Parquet is read by row group, so tables written in row groups of
    some hundred images take the least memory.
    """

    def __init__(self, files: Sequence[str | Path], column: str) -> None:
        import polars as pl

        self.files = tuple(os.path.abspath(file) for file in files)
        self.column = column
        scans = [_scan(file) for file in self.files]
        dtype = scans[0].collect_schema()[column]
        self.nested = dtype != pl.Binary
        fields = dtype.fields if isinstance(dtype, pl.Struct) else []
        self.named = any(field.name == "path" and field.dtype == pl.String for field in fields)
        rows = [int(scan.select(pl.len()).collect().item()) for scan in scans]
        self.ends = tuple(accumulate(rows))
        weights = [os.path.getsize(file) // max(1, n) for file, n in zip(self.files, rows, strict=True)]
        self.block = max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // max([1, *weights])))
        self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._blocks: OrderedDict[tuple[int, int], list[tuple[bytes | None, str | None]]] = OrderedDict()

    def __len__(self) -> int:
        return self.ends[-1]

    def _read(self, index: int) -> bytes:
        file = bisect_right(self.ends, index)
        row = index - (self.ends[file - 1] if file else 0)
        content, path = self._rows(file, row // self.block)[row % self.block]
        if content is None and path:
            return _read_file(os.path.join(os.path.dirname(self.files[file]), path))
        if content is None:
            raise UnreadableImage("no image in the row")
        return content

    def _rows(self, file: int, block: int) -> list[tuple[bytes | None, str | None]]:
        """A block of rows; threads that want the same one wait for it instead of reading it too."""
        import polars as pl

        with self._lock:
            if (file, block) not in self._blocks:
                image = pl.col(self.column)
                content = image.struct.field("bytes") if self.nested else image
                path = image.struct.field("path") if self.named else pl.lit(None, pl.String)
                lazy = _scan(self.files[file]).slice(block * self.block, self.block)
                try:
                    self._blocks[file, block] = lazy.select(content=content, path=path).collect().rows()
                except (OSError, pl.exceptions.PolarsError) as problem:
                    raise UnreadableImage("cannot be read", one_line(problem, 200)) from problem
                while len(self._blocks) > _BLOCKS_KEPT:
                    self._blocks.popitem(last=False)
            self._blocks.move_to_end((file, block))
            return self._blocks[file, block]


class TarImages(EncodedImages):
    """Images that are members of tar files, such as WebDataset shards, by number of the shard."""

    def __init__(self, shards: Sequence[str | Path], images: Sequence[tuple[int, Member]]) -> None:
        self.shards = tuple(os.path.abspath(shard) for shard in shards)
        places = [(shard, member.offset, member.size) for shard, member in images]
        self.places: npt.NDArray[np.int64] = np.array(places, dtype=np.int64).reshape(-1, 3)

    def __len__(self) -> int:
        return len(self.places)

    def _read(self, index: int) -> bytes:
        shard, offset, size = self.places[index].tolist()
        if size > MAX_BYTES:
            raise UnreadableImage("too many bytes", f"{size:,}, more than {MAX_BYTES:,}")
        try:
            return read_member(self.shards[shard], offset, size)
        except OSError as problem:
            raise _unreadable(problem) from problem


class HFImages(Reopening, EncodedImages):
    """Images in a table saved by the Hugging Face library ``datasets``, as ``load_saved`` reads it."""

    def __init__(self, path: str | Path, column: str) -> None:
        self.path, self.column = os.path.abspath(path), column
        self._open()
        self.length = len(self._column())

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._rows: Any = None

    def __len__(self) -> int:
        return self.length

    def _column(self) -> Any:
        with self._lock:
            if self._rows is None:
                self._rows = undecoded(load_saved(self.path), self.column)
            return self._rows

    def _read(self, index: int) -> bytes:
        cell = self._column()[index][self.column]
        if isinstance(cell, dict) and cell.get("bytes") is None and cell.get("path"):
            return _read_file(os.path.join(os.path.dirname(self.path), cell["path"]))
        content = cell.get("bytes") if isinstance(cell, dict) else cell
        if not isinstance(content, bytes):
            raise UnreadableImage("no image in the row")
        return content


class FirstImages:
    """The first images of a source."""

    def __init__(self, source: Any, count: int) -> None:
        self.source, self.count = source, min(count, len(source))

    def __len__(self) -> int:
        return self.count

    def digest(self, index: int) -> str:
        """As of the source."""
        return str(self.source.digest(index))

    def digests(self, start: int, stop: int) -> Digests:
        """As of the source."""
        result: Digests = self.source.digests(start, min(stop, self.count))
        return result

    def absent(self) -> dict[int, str]:
        """As of the source; none where it does not lie in files."""
        paths: dict[int, str] = getattr(self.source, "absent", dict)()
        return {index: path for index, path in paths.items() if index < self.count}

    def load(self, index: int) -> Pixels:
        """As of the source."""
        pixels: Pixels = self.source.load(index)
        return pixels


def load_saved(path: str | Path) -> Any:
    """A memory-mapped table of the library ``datasets``: folder of ``save_to_disk``, or ``.arrow`` file."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets") from None
    source = Path(path)
    read = datasets.Dataset.from_file if source.is_file() else datasets.load_from_disk
    try:
        table = read(str(source))
    except Exception as problem:
        raise InputError(
            f"{str(path)!r} cannot be read by the library datasets: {one_line(problem, 200)}; "
            "save it again with save_to_disk"
        ) from problem
    if isinstance(table, datasets.DatasetDict):
        if len(table) != 1:
            folders = ", ".join(repr(str(source / name)) for name in table)
            raise InputError(f"{str(path)!r} holds several splits; give one of {folders}")
        table = next(iter(table.values()))
    return table


def undecoded(table: Any, column: str) -> Any:
    """One column of a Hugging Face table, its images as bytes."""
    import datasets

    alone = table.select_columns([column])
    if isinstance(table.features[column], datasets.Image):
        alone = alone.cast_column(column, datasets.Image(decode=False))
    return alone


def _scan(file: str) -> Any:
    import polars as pl

    return pl.scan_parquet(file, glob=False, hive_partitioning=False)


def _read_file(path: str) -> bytes:
    """The bytes of a regular file, unless there are too many."""
    return _read_stamped(path)[0]


def _read_stamped(path: str) -> tuple[bytes, str]:
    """The bytes of a regular file, unless there are too many, with its stamp after they were read."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would be waited for
        with open(handle, "rb", buffering=0) as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableImage("not a file", path)
            if status.st_size > MAX_BYTES:
                raise UnreadableImage("too many bytes", f"{status.st_size:,}, more than {MAX_BYTES:,}")
            content = stream.readall()
            return content, stamp_of(os.fstat(handle))
    except OSError as problem:
        raise _unreadable(problem) from problem
    except ValueError as problem:  # a null byte in the name
        raise UnreadableImage("no such file", repr(path)) from problem


_REASONS: dict[type[OSError], str] = {
    FileNotFoundError: "no such file",
    NotADirectoryError: "no such file",
    IsADirectoryError: "not a file",
    PermissionError: "no permission to read",
}


def _unreadable(problem: OSError) -> UnreadableImage:
    return UnreadableImage(_REASONS.get(type(problem), "cannot be read"), one_line(problem))


def _single_digest(digests: Digests) -> str:
    digest = digests[0]
    if isinstance(digest, UnreadableImage):
        raise digest
    return digest
