"""What is known of each image of a folder that was filled from URLs: a journal of JSON lines beside them.

Lines are added as images come and the last line of an id counts, so a killed process loses nothing. When a
download ends, the journal is written anew with one line for each id.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError
from evenhand.files.atomic import write_bytes

NAME = "manifest.jsonl"

_STAND_IN = re.compile(r"unavailable|placeholder|not[-_ ]?found|removed|no[-_ ]?image|deleted", re.IGNORECASE)
_TINY = 16


@dataclass(frozen=True)
class Record:
    """What is known of one image.

    ``status``: ``fetched``; ``found`` (it lay there already); ``changed`` (the URL gives something else than
    before); ``failed``; ``removed`` (by hand, not to be fetched again); ``skipped`` (no URL to ask).
    """

    id: str  # of the sample
    status: str
    url: str = ""  # where it was asked for
    final_url: str = ""  # where it came from, after redirects
    file: str = ""  # its name in the folder; empty where there is none
    sha256: str = ""
    size: int = 0  # bytes of the file
    width: int = 0  # pixels
    height: int = 0  # pixels
    plain: bool = False  # all pixels are of one colour
    content_type: str = ""  # as the server called it
    date: str = ""  # when the status was found, UTC
    reason: str = ""  # the same words for the same trouble
    detail: str = ""  # what happened here
    seen_sha256: str = ""  # of what the URL gave the last time, where that is not the file


_TYPES = {field.name: {"str": str, "int": int, "bool": bool}[str(field.type)] for field in fields(Record)}


class ImageManifest:
    """The records of a folder, kept on disk as they are made."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / NAME
        self.records: dict[str, Record] = read_manifest(folder)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder alone, and write the journal anew at the end, however that comes."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".manifest.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(f"another process is filling {str(self.folder)!r}; wait for it") from None
        try:
            self.records = read_manifest(self.folder)
            yield
        finally:
            if self.records:
                write_bytes(self.path, b"".join(map(_line, self.records.values())))
            lock.release()

    def add(self, record: Record) -> None:
        """Keep a record; it survives a kill or a power loss once this returns."""
        self.records[record.id] = record
        cut = self.path.is_file() and not _ends_with_newline(self.path)  # by a kill while it was written
        with self.path.open("ab") as stream:
            stream.write((b"\n" if cut else b"") + _line(record))
            stream.flush()
            os.fsync(stream.fileno())


def read_manifest(folder: Path) -> dict[str, Record]:
    """The last record of each id; none where the folder has no manifest.

    A last line that was cut off by a kill is passed over: the image it speaks of is found again.
    """
    path = folder / NAME
    if not path.is_file():
        return {}
    records: dict[str, Record] = {}
    damaged = 0
    for line in path.read_bytes().split(b"\n"):
        record = _record(line) if line.strip() else None
        if record is not None:
            records[record.id] = record
        elif line.strip():
            damaged += 1
    if damaged and not records and damaged > 1:
        raise InputError(
            f"{str(path)!r} is no manifest of images; move it away and type the same command again"
        )
    return records


def removed_ids(folder: Path) -> list[str]:
    """Ids of images that were removed by hand and are not to be used again, sorted."""
    return sorted(record.id for record in read_manifest(folder).values() if record.status == "removed")


def forget(record: Record, date: str) -> Record:
    """What stays of a record when its image was removed by hand: nothing but the wish."""
    return replace(Record(record.id, "removed"), date=date, reason="removed by hand")


def stand_ins(records: Iterable[Record]) -> dict[str, str]:
    """Images that seem to be what servers send in place of one that is gone, with the reason to doubt them.

    ``records`` are of a whole folder: the same picture from different URLs is the best sign.
    """
    images = [(record.seen_sha256 or record.sha256, record) for record in records]
    images = [(sha256, record) for sha256, record in images if sha256]
    urls: defaultdict[str, set[str]] = defaultdict(set)
    for sha256, record in images:
        urls[sha256].add(record.url)
    reasons: dict[str, str] = {}
    for sha256, record in images:
        if len(urls[sha256] - {""}) > 1:
            reasons[record.id] = "same image from several URLs"
        elif record.plain:
            reasons[record.id] = "one colour only"
        elif 0 < min(record.width, record.height) < _TINY:
            reasons[record.id] = "tiny image"
        elif record.final_url not in ("", record.url) and _STAND_IN.search(record.final_url):
            reasons[record.id] = "redirected to a placeholder"
    return reasons


def _line(record: Record) -> bytes:
    values: dict[str, Any] = {name: value for name, value in asdict(record).items() if value}
    return json.dumps(values, ensure_ascii=False, sort_keys=True).encode() + b"\n"


def _record(line: bytes) -> Record | None:
    """The record of a line, None where the line is damaged; fields of newer versions are passed over."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, Mapping) or not isinstance(content.get("id"), str) or "status" not in content:
        return None
    values: dict[str, Any] = {
        name: value for name, value in content.items() if type(value) is _TYPES.get(name)
    }
    return Record(**values) if {"id", "status"} <= set(values) else None


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as stream:
        if stream.seek(0, os.SEEK_END) == 0:
            return True
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
