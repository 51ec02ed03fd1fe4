"""What is known of each generated image, as lines that a killed process cannot spoil."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from evenhand.core.errors import InputError
from evenhand.files.atomic import write_bytes

PARTS = "parts"
"""The folder of journals."""

USAGE = "usage"
"""The kind of the lines that say what asking cost, one a call."""

Shard = tuple[int, int]
Record = dict[str, Any]


class Journal:
    """Lines of one process; whatever wrote them before it, they are whole."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def add(self, record: Mapping[str, Any]) -> None:
        """Append one line; it survives the end of this process."""
        self._stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        self._stream.flush()


@contextmanager
def journal(folder: Path, kind: str, shard: Shard) -> Iterator[Journal]:
    """The journal of one shard, which one process holds; shard (1, 1) is all of them."""
    from filelock import FileLock, Timeout

    path = folder / PARTS / f"{kind}-{shard[0]:04d}-of-{shard[1]:04d}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        which = f"shard {shard[0]}/{shard[1]} of " if shard != (1, 1) else ""
        raise InputError(
            f"another process is making {which}{str(folder)!r}; wait for it, or give another --shard"
        ) from None
    try:
        _cut_torn_line(path)
        with path.open("ab") as stream:
            yield Journal(stream)
    finally:
        lock.release()


def records(folder: Path, kind: str) -> Iterator[Record]:
    """All lines of a kind, of all shards; a torn one is passed over."""
    for path in sorted((folder / PARTS).glob(f"{kind}-????-of-????.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            try:
                record = json.loads(line) if line else None
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict) and isinstance(record.get("sample"), str):
                yield record


def spent(folder: Path, key: str) -> dict[str, Any]:
    """What all calls under a key say that asking cost, of all shards: numbers add, lists and texts join."""
    total: dict[str, Any] = {}
    for record in records(folder, USAGE):
        if record.get("key") == key:
            for name, value in record["usage"].items():
                total[name] = _joined(total[name], value) if name in total else value
    return total


def _joined(before: Any, now: Any) -> Any:
    if isinstance(before, list) and isinstance(now, list):
        return list(dict.fromkeys([*before, *now]))
    numbers = [
        value for value in (before, now) if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if len(numbers) == 2:
        return numbers[0] + numbers[1]
    return "; ".join(dict.fromkeys([*str(before).split("; "), str(now)]))


def _cut_torn_line(path: Path) -> None:
    """Take off what a killed process left of its last line."""
    if path.is_file():
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete != content:
            write_bytes(path, complete)
