"""Zip files read in place: members are listed once, judged, and read by offset, never extracted."""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import InputError, one_line
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.decode import MAX_BYTES
from evenhand.files.images.sources import EncodedImages

MAX_MEMBERS: int = 1_000_000
"""Zip files with more members are refused."""

MAX_RATIO: int = 200
"""Members that shrank more than so many times are refused from ``LARGE`` bytes on: images do not."""

LARGE: int = 32 * 2**20
"""Bytes of a member below which any compression is plausible, such as that of a white page."""

_HEADER = struct.Struct("<4s22xHH")  # of a member: signature, lengths of its name and of its extra field
_SIGNATURE = b"PK\x03\x04"
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ZSTANDARD = 93  # its number as a method of compression (PKWARE's APPNOTE 6.3.8, 4.4.5)
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A regular file inside a zip file."""

    name: str  # with ``/``; it leads nowhere outside, and nothing is ever written under it
    offset: int  # where its header starts
    packed: int  # bytes that it takes there
    size: int  # bytes that it has
    crc: int  # CRC-32 of these
    deflated: bool  # whether they are compressed
    zstandard: bool = False  # whether they are compressed by Zstandard instead


def zip_members(path: str | Path, *, zstandard: bool = False) -> list[ZipMember]:
    """The regular files in a zip file, in their order; the whole file is refused if one of them is unsafe.

    With ``zstandard`` members may be compressed by Zstandard; ``packed_bytes`` reads these.
    """
    file = Path(path)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
        size = file.stat().st_size
    except FileNotFoundError:
        raise InputError(f"there is no file {str(file)!r}; check the path") from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as problem:
        raise InputError(
            f"{str(file)!r} is not a whole zip file: {one_line(problem)}; fetch it again"
        ) from problem
    if any(not 0 <= entry.header_offset < size for entry in entries):
        raise InputError(
            f"{str(file)!r} is not a whole zip file: it lacks members that it lists; fetch it again"
        )
    if len(entries) > MAX_MEMBERS:
        raise _unsafe(file, f"it has {len(entries):,} members, more than {MAX_MEMBERS:,}")
    for entry in entries:
        fault = _fault(entry, (*_METHODS, ZSTANDARD) if zstandard else _METHODS)
        if fault:
            raise _unsafe(file, f"its member {one_line(entry.orig_filename, 100)!r} {fault}")
    if sum(entry.compress_size for entry in entries) > size:
        raise _unsafe(file, "its members lie over each other")
    return [_member(entry) for entry in entries if not entry.is_dir()]


def read_zip_member(path: str | Path, member: ZipMember) -> bytes:
    """The bytes of a member, checked by their length and CRC."""
    content = packed_bytes(path, member)
    if member.deflated:
        content = _inflate(content, member.size)
    if len(content) != member.size or zlib.crc32(content) != member.crc:
        raise UnreadableImage("damaged zip file", f"{member.name} is not as the list of members says")
    return content


def packed_bytes(path: str | Path, member: ZipMember) -> bytes:
    """The bytes of a member as they lie in the zip file, compressed or not."""
    if member.size > MAX_BYTES:
        raise UnreadableImage("too many bytes", f"{member.size:,}, more than {MAX_BYTES:,}")
    with open(path, "rb") as stream:
        stream.seek(member.offset)
        header = stream.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(_SIGNATURE):
            raise UnreadableImage("damaged zip file", f"no member starts at byte {member.offset:,}")
        _, name, extra = _HEADER.unpack(header)
        stream.seek(name + extra, os.SEEK_CUR)
        return stream.read(member.packed)


class ZipImages(EncodedImages):
    """Images that are members of zip files; ``images``: number of the zip file, and member."""

    def __init__(self, zips: Sequence[str | Path], images: Sequence[tuple[int, ZipMember]]) -> None:
        self.zips = tuple(os.path.abspath(path) for path in zips)
        self.images = tuple(images)

    def __len__(self) -> int:
        return len(self.images)

    def _read(self, index: int) -> bytes:
        number, member = self.images[index]
        try:
            return read_zip_member(self.zips[number], member)
        except OSError as problem:
            reason = "no such file" if isinstance(problem, FileNotFoundError) else "cannot be read"
            raise UnreadableImage(reason, one_line(problem)) from problem


def _fault(entry: zipfile.ZipInfo, methods: Sequence[int]) -> str:
    """Why a member must not be trusted; empty if it may."""
    name = entry.orig_filename.replace("\\", "/")  # as others write it; the library changes names on reading
    if name.startswith("/") or _DRIVE.match(name) or ".." in name.split("/") or "\x00" in name:
        return "has a name that leads outside of the folder it would be unpacked to"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a link"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted; unpack the file with its password, and give the folder"
    if entry.compress_type not in methods:
        return f"is compressed by method {entry.compress_type}, not deflate; pack the file again"
    bomb = entry.file_size > LARGE and entry.file_size > MAX_RATIO * max(1, entry.compress_size)
    return f"claims {entry.file_size:,} bytes out of {entry.compress_size:,}" if bomb else ""


def _unsafe(path: Path, cause: str) -> InputError:
    return InputError(f"{str(path)!r} is refused: {cause}; nothing of it was read")


def _member(entry: zipfile.ZipInfo) -> ZipMember:
    return ZipMember(
        entry.filename.replace("\\", "/"),
        entry.header_offset,
        entry.compress_size,
        entry.file_size,
        entry.CRC,
        entry.compress_type == zipfile.ZIP_DEFLATED,
        entry.compress_type == ZSTANDARD,
    )


def _inflate(content: bytes, size: int) -> bytes:
    """At most one byte more than a member may have, so that a wrong size is seen and costs nothing."""
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, size + 1)
    except zlib.error as problem:
        raise UnreadableImage("damaged zip file", one_line(problem)) from problem
