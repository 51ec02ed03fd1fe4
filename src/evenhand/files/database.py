"""Small SQLite databases that several processes may write at once and that survive a kill or a power loss."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.core.errors import InputError, one_line
from evenhand.files.private import private_file

_WAIT = 60.0  # seconds to wait for another writer


def connect(path: Path, schema: str) -> sqlite3.Connection:
    """Open or make a database that only its owner may read; ``schema``: ``create table if not exists`` ..."""
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    # SQLite does not wait for others while a new file becomes one with a write-ahead log
    lock = Path(f"{path}.lock")
    private_file(lock)
    with telling(path), FileLock(lock, mode=0o600):
        private_file(path)
        for end in ("-wal", "-shm"):  # new ones get the rights of the database; its last user deletes them
            private_file(Path(f"{path}{end}"), make=False)
        connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        connection.execute("pragma journal_mode = wal")
        # after a power loss the file is whole, though the last commits may be gone: they are asked again
        connection.execute("pragma synchronous = normal")
        connection.executescript(schema)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn what SQLite reports about this file into one line with a remedy."""
    try:
        yield
    except sqlite3.Error as problem:
        cause = one_line(problem)
        remedy = "check permissions, or delete the file: it only holds what can be asked again"
        if "full" in cause or "disk I/O" in cause:
            remedy = "free some space and type the same command again: what was answered is kept"
        elif "locked" in cause:
            remedy = "another process holds it; type the same command again when it is done"
        raise InputError(f"{str(path)!r}: {cause}; {remedy}") from problem
