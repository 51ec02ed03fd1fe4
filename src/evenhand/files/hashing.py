"""Hashes of files and texts; those of unchanged files are remembered."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from evenhand.files.database import connect, telling, transaction
from evenhand.files.home import home

_SCHEMA = """create table if not exists hashes
    (path text primary key, stamp text not null, sha256 text not null) without rowid"""


def sha256_file(path: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_text(text: str) -> str:
    """The sha256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_files(paths: Iterable[Path]) -> dict[Path, str]:
    """The sha256 of each file; a file whose size, times and inode are as before is not read again.

    Raises:
        OSError: A file that cannot be read.
    """
    wanted = list(paths)
    cache = home() / "hashes.sqlite"
    connection = connect(cache, _SCHEMA)
    try:
        known: dict[Path, str] = {}
        fresh = []
        for path in wanted:
            stamp = _stamp(path)
            found = _lookup(connection, path)
            if found is not None and found[0] == stamp:
                known[path] = found[1]
            else:
                known[path] = sha256_file(path)
                fresh.append((str(path.resolve()), stamp, known[path]))
        if fresh:
            with telling(cache), transaction(connection):
                connection.executemany("insert or replace into hashes values (?, ?, ?)", fresh)
        return known
    finally:
        connection.close()


def _stamp(path: Path) -> str:
    found = path.stat()
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_dev}"


def _lookup(connection: sqlite3.Connection, path: Path) -> tuple[str, str] | None:
    row: tuple[str, str] | None = connection.execute(
        "select stamp, sha256 from hashes where path = ?", (str(path.resolve()),)
    ).fetchone()
    return row
