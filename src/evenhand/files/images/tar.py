"""Tar files read in place: members are found once and read by offset, never extracted."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import InputError, one_line

_BLOCK = 512  # a tar file is made of blocks of so many bytes
_REST = 1 << 20  # bytes that are read at once behind the end
_COMPRESSED = {b"\x1f\x8b": "gunzip", b"BZh": "bunzip2", b"\xfd7zXZ": "unxz", b"\x28\xb5\x2f\xfd": "unzstd"}


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file inside a tar file."""

    name: str  # a label only: nothing is ever written under it
    offset: int  # where its bytes start
    size: int  # bytes


def members(path: str | Path) -> Iterator[Member]:
    """The regular files in an uncompressed tar file, in order; links, folders and devices are left out."""
    file = Path(path)
    try:
        with tarfile.open(file, "r:") as archive:
            while (info := archive.next()) is not None:
                if info.isreg() and not info.issparse():
                    yield Member(info.name, info.offset_data, info.size)
            _check_end(file, archive.offset)
    except FileNotFoundError:
        raise InputError(
            f"there is no file {str(file)!r}; check the path, or give a glob in quotes"
        ) from None
    except (tarfile.TarError, OSError, EOFError, ValueError) as problem:
        raise _broken(file, one_line(problem)) from problem


def read_member(path: str | Path, offset: int, size: int) -> bytes:
    """The bytes of a member; fewer than ``size`` where the file ends before."""
    with Path(path).open("rb") as stream:
        stream.seek(offset)
        return stream.read(size)


def _check_end(path: Path, end: int) -> None:
    """Refuse what tarfile takes for the end: no header, a file cut short, or another archive behind."""
    size = path.stat().st_size
    if size < end:
        raise _broken(path, f"it ends at byte {size:,}, its last member at {end:,}")
    if read_member(path, end, _BLOCK).strip(b"\x00"):
        raise _broken(path, f"no member starts at byte {end:,}, where one must")
    if size < end + _BLOCK:
        raise _broken(path, f"it ends at byte {size:,} without the empty block that closes such a file")
    with path.open("rb") as stream:
        stream.seek(end)
        while rest := stream.read(_REST):
            if rest.strip(b"\x00"):
                raise _broken(path, f"behind its end at byte {end:,} another one begins")


def _broken(path: Path, cause: str) -> InputError:
    start = read_member(path, 0, 8) if path.is_file() else b""
    tool = next((tool for magic, tool in _COMPRESSED.items() if start.startswith(magic)), "")
    if tool:
        return InputError(
            f"{str(path)!r} is compressed, so that no member can be read without all before it; "
            f"type: {tool} {path}"
        )
    return InputError(f"{str(path)!r} is not a whole tar file: {cause}; fetch or write it again")
