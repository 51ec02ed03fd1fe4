"""Texts compressed by Zstandard: how large they become is known before they are decompressed."""

from __future__ import annotations

from evenhand.core.errors import InputError, one_line

_MAGIC = b"\x28\xb5\x2f\xfd"
_LARGEST_BLOCK = 128 * 2**10  # bytes that a compressed block may become (RFC 8878, 3.1.1.2.3)
_RAW, _REPEATED, _COMPRESSED = range(3)


def largest_size(content: bytes) -> int:
    """At most how many bytes a content decompresses to: the sum over the blocks of its frames.

    Headers are walked, nothing is decompressed, so that a small content that claims to be huge costs nothing.
    Source: RFC 8878, sections 3.1.1 (frames) and 3.1.1.2 (blocks).
    """
    size = position = 0
    while position < len(content):
        start, has_checksum = _blocks_of(content, position)
        frame_size, end = _frame_size_and_end(content, start)
        size, position = size + frame_size, end + 4 * has_checksum
    if position != len(content):
        raise InputError("its Zstandard frames are cut off")
    return size


def decompressed_lines(content: bytes, most: int) -> str:
    """The UTF-8 text of at most ``most`` bytes, without empty lines at its end; Polars decompresses it."""
    import polars as pl

    size = largest_size(content)
    if size > most:
        raise InputError(f"it may become {size:,} bytes, more than {most:,}")
    try:
        lines = pl.read_csv(
            content, has_header=False, separator="\x01", quote_char=None, infer_schema=False
        ).to_series()
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise InputError(f"it cannot be decompressed: {one_line(problem, 200)}") from None
    return "\n".join(line or "" for line in lines.to_list())


def _blocks_of(content: bytes, position: int) -> tuple[int, bool]:
    """Where the blocks of a frame start, and whether a checksum follows them."""
    if not content.startswith(_MAGIC, position) or position + 5 > len(content):
        raise InputError("it is no Zstandard frame")
    descriptor = content[position + 4]
    is_single_segment = bool(descriptor & 0x20)
    dictionary = (0, 1, 2, 4)[descriptor & 0x3]
    size = (1 if is_single_segment else 0, 2, 4, 8)[descriptor >> 6]
    return position + 5 + (not is_single_segment) + dictionary + size, bool(descriptor & 0x4)


def _frame_size_and_end(content: bytes, position: int) -> tuple[int, int]:
    """At most how many bytes the blocks of a frame become, and where they end."""
    size, last = 0, False
    while not last:
        if position + 3 > len(content):
            raise InputError("its Zstandard frames are cut off")
        header = int.from_bytes(content[position : position + 3], "little")
        last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
        if kind not in (_RAW, _REPEATED, _COMPRESSED):
            raise InputError("it is no Zstandard frame")
        size += _LARGEST_BLOCK if kind == _COMPRESSED else length
        position += 3 + (1 if kind == _REPEATED else length)
    return size, position
