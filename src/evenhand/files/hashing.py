"""Hashes of files and texts; those of unchanged files are remembered."""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.files.database import connect, telling, transaction
from evenhand.files.home import home
from evenhand.files.threads import by_threads

_FEW, _THREADS = 50, 4  # files from which threads are worth it, and how many threads
_BUFFER = 1 << 18  # a new one for each small file costs half of the time that its hash does
_AT_ONCE = 500  # SQLite takes no more than 999 values in a statement everywhere
_SCHEMA = """create table if not exists hashes
    (path text primary key, stamp text not null, sha256 text not null) without rowid"""


def sha256_file(path: str | Path, buffer: bytearray | None = None) -> str:
    """The sha256 of a file's bytes, in hexadecimal; whoever hashes many gives what they are read into."""
    buffer = buffer or bytearray(_BUFFER)
    view, digest = memoryview(buffer), hashlib.sha256()
    with open(path, "rb", buffering=0) as stream:
        while length := stream.readinto(buffer):
            digest.update(view[:length])
    return digest.hexdigest()


def sha256_text(text: str) -> str:
    """The sha256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_files(paths: Iterable[Path]) -> dict[Path, str]:
    """The sha256 of each file; a file whose size, times and inode are as before is not read again."""
    all_paths = list(paths)
    hashes: dict[Path, str] = {}
    for path, result in zip(all_paths, sha256_each(all_paths), strict=True):
        if isinstance(result, OSError):
            raise result
        hashes[path] = result[0]
    return hashes


def sha256_inside(folder: Path, files: Iterable[Path]) -> str:
    """One sha256 of files with their places in a folder."""
    hashes = sorted(sha256_files(files).items())
    return sha256_text(
        "\n".join(f"{file.relative_to(folder).as_posix()} {digest}" for file, digest in hashes)
    )


def sha256_each(paths: Sequence[str | Path]) -> list[tuple[str, str] | OSError]:
    """The sha256 and the stamp of each regular file, in their order, or why it cannot be read.

    As ``sha256_files``, made for many files: each costs one stat when it is known, and all are looked up and
    kept together. A file whose ``stamp`` is another one has changed since.
    """
    places = [os.path.abspath(path) for path in paths]
    stamps = [_stamp(file) for file in places]
    cache = home() / "hashes.sqlite"
    connection = connect(cache, _SCHEMA)
    try:
        with telling(cache):
            entries = _lookup(connection, places)
        found: dict[str, tuple[str, str] | OSError] = dict(entries)
        changed: dict[str, str] = {}
        for file, stamp in zip(places, stamps, strict=True):
            if isinstance(stamp, OSError):
                found[file] = stamp
            elif entries.get(file, ("", ""))[1] != stamp:
                changed[file] = stamp
        fresh: dict[str, tuple[str, str]] = {}
        for file, digest in zip(changed, _hashed(list(changed)), strict=True):
            if isinstance(digest, OSError):
                found[file] = digest
            else:
                found[file] = fresh[file] = (digest, changed[file])
        if fresh:
            rows = [(file, stamp, sha256) for file, (sha256, stamp) in fresh.items()]
            with telling(cache), transaction(connection):
                connection.executemany("insert or replace into hashes values (?, ?, ?)", rows)
        return [found[file] for file in places]
    finally:
        connection.close()


def _hashed(files: Sequence[str]) -> list[str | OSError]:
    """The sha256 of files, or why one cannot be read; many are read by several threads."""
    few = len(files) < _FEW
    return _hashed_in_turn(files) if few else by_threads(_hashed_in_turn, files, _THREADS, "hashes")


def _hashed_in_turn(files: Sequence[str]) -> list[str | OSError]:
    buffer = bytearray(_BUFFER)
    return [_sha256_or_why(file, buffer) for file in files]


def _sha256_or_why(file: str, buffer: bytearray) -> str | OSError:
    try:
        return sha256_file(file, buffer)
    except OSError as problem:
        return problem


def stamp_of(status: os.stat_result) -> str:
    """What changes when a file does."""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {status.st_dev}"


def _stamp(path: str) -> str | OSError:
    try:
        status = os.stat(path)
    except OSError as problem:
        return problem
    except ValueError as problem:  # a null byte in the name
        return OSError(errno.EINVAL, str(problem), path)
    if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for, for ever
        kind = IsADirectoryError if stat.S_ISDIR(status.st_mode) else OSError
        return kind(errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL, "not a file", path)
    return stamp_of(status)


def _lookup(connection: sqlite3.Connection, places: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Hash and stamp of the files that are remembered."""
    entries: dict[str, tuple[str, str]] = {}
    for start in range(0, len(places), _AT_ONCE):
        some = places[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        query = f"select path, sha256, stamp from hashes where path in ({marks})"  # noqa: S608 - only marks
        entries |= {path: (sha256, stamp) for path, sha256, stamp in connection.execute(query, some)}
    return entries
