"""Checksums of the pages of Parquet files, which Polars passes over: a flipped bit may be another label."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from evenhand.core.errors import InputError

_MAGIC = b"PAR1"
_HEADER = 1 << 16  # bytes in which the header of a page ends, with its statistics
_FOOTER = 1 << 22  # bytes of a footer beyond which none is read: of hundreds of thousands of chunks
_ROW_GROUPS, _CHUNKS, _META, _SIZE, _DATA, _DICTIONARY = 4, 1, 3, 7, 9, 11  # fields of the footer
_LONGEST = 70  # bits of an integer
_PAGE_SIZE, _CRC = 3, 4  # fields of the header of a page


class _Damaged(Exception):  # noqa: N818 - Polars says what is wrong with such a file
    """Bytes that are no structure of Parquet."""


def check_pages(path: Path) -> None:
    """Compare the pages of a file with their checksums (CRC-32), where its writer kept them, as Spark does.

    Parquet's own description: "Parquet Modular Format", parquet.thrift, PageHeader.crc.
    """
    with path.open("rb") as file:
        try:
            file.seek(len(_MAGIC))
            first, _ = _structure(file.read(_HEADER))
            chunks = _chunks(file) if _CRC in first else []
            for start, end in chunks:
                _check_chunk(file, start, end, path)
        except _Damaged:
            return


def _chunks(file: BinaryIO) -> list[tuple[int, int]]:
    """Where the columns of all row groups begin and end."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > min(_FOOTER, size - 8):
        raise _Damaged
    file.seek(size - 8 - length)
    footer, _ = _structure(file.read(length))
    try:
        columns = [chunk[_META] for group in footer[_ROW_GROUPS] for chunk in group[_CHUNKS]]
        starts = [min(column.get(_DICTIONARY) or column[_DATA], column[_DATA]) for column in columns]
        return [(start, start + column[_SIZE]) for start, column in zip(starts, columns, strict=True)]
    except (KeyError, TypeError, AttributeError):
        raise _Damaged from None


def _check_chunk(file: BinaryIO, start: int, end: int, path: Path) -> None:
    while 0 < start < end:
        file.seek(start)
        header, length = _structure(file.read(_HEADER))
        n_bytes = header.get(_PAGE_SIZE)
        if not isinstance(n_bytes, int) or not 0 <= n_bytes <= end - start:
            raise _Damaged
        file.seek(start + length)
        page = file.read(n_bytes)
        if _CRC in header and zlib.crc32(page) != header[_CRC] % (1 << 32):
            raise InputError(
                f"{str(path)!r} is damaged: a page at byte {start + length:,} has another checksum than its "
                "writer gave it; write it or fetch it again"
            )
        start += length + n_bytes


def _structure(content: bytes) -> tuple[dict[int, Any], int]:
    """A structure in Thrift's compact protocol by the numbers of its fields, and how long it is."""
    try:
        return _struct(content, 0)
    except (IndexError, RecursionError):
        raise _Damaged from None


def _struct(content: bytes, at: int) -> tuple[dict[int, Any], int]:
    fields: dict[int, Any] = {}
    field = 0
    while (lead := content[at]) != 0:
        at += 1
        if lead >> 4:
            field += lead >> 4
        else:
            field, at = _zigzag(content, at)
        fields[field], at = _value(content, at, lead & 15)
    return fields, at + 1


def _value(content: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of a kind of the protocol; of doubles and bytes, of which none is asked for, None."""
    if kind in (1, 2):  # the kind says which of the two
        return kind == 1, at
    if kind not in _READ:
        raise _Damaged
    return _READ[kind](content, at)


def _byte(content: bytes, at: int) -> tuple[int, int]:
    return content[at], at + 1


def _double(_: bytes, at: int) -> tuple[None, int]:
    return None, at + 8


def _bytes(content: bytes, at: int) -> tuple[None, int]:
    length, at = _varint(content, at)
    return None, at + length


def _list(content: bytes, at: int) -> tuple[list[Any], int]:
    length, kind, at = content[at] >> 4, content[at] & 15, at + 1
    if length == 15:
        length, at = _varint(content, at)
    if length > len(content):
        raise _Damaged
    entries = []
    for _ in range(length):
        entry, at = _byte(content, at) if kind in (1, 2) else _value(content, at, kind)
        entries.append(entry)
    return entries, at


def _zigzag(content: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(content, at)
    return (number >> 1) ^ -(number & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > _LONGEST:
            raise _Damaged


_READ: dict[int, Callable[[bytes, int], tuple[Any, int]]] = {
    3: _byte, 4: _zigzag, 5: _zigzag, 6: _zigzag, 7: _double, 8: _bytes, 9: _list, 10: _list, 12: _struct,
}  # fmt: skip
