"""What lies in a folder of the user: tables, images and videos, walked through once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.core.errors import InputError, one_line
from evenhand.files.download.downloads import SUFFIXES

TABLES: tuple[str, ...] = (".json", ".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".lst")
"""Endings of tables, in lower case."""

VIDEOS: tuple[str, ...] = (".mp4", ".mov", ".avi", ".mkv", ".webm")
"""Endings of videos, in lower case."""

ODD_NAME = "file name that is not UTF-8"


@dataclass(frozen=True, eq=False)
class Listing:
    """The files of a folder, those of folders in it included; paths are below the folder, with ``/``."""

    folder: Path
    tables: Sequence[str]  # the outermost first
    images: Sequence[str]  # sorted
    videos: Sequence[str]  # sorted
    passed: Mapping[str, int] = field(default_factory=dict)  # files passed over, by reason

    @property
    def own_tables(self) -> list[str]:
        """Tables of the outermost folder that has one."""
        tables = [table for table in self.tables if not table.casefold().endswith((".json", ".lst"))]
        return [table for table in tables if table.count("/") == tables[0].count("/")]

    def named(self, *starts: str, ending: str) -> list[str]:
        """Tables whose file name starts so and ends so, whatever the case."""
        prefixes = tuple(start.casefold() for start in starts)
        return [
            table
            for table in self.tables
            if table.rpartition("/")[2].casefold().startswith(prefixes) and table.casefold().endswith(ending)
        ]

    def ending_so(self, files: Collection[str]) -> tuple[dict[str, str], int]:
        """Where each file of a table lies, and how many lie in a second place too; the first counts.

        Paths of the table may begin in any folder.
        """
        places: dict[str, str] = {}
        twice = 0
        depth = max((file.count("/") for file in files), default=0) + 1
        for image in self.images:
            parts = image.split("/")
            for count in range(1, depth + 1):
                end = "/".join(parts[-count:])
                if end in files:
                    twice += end in places
                    places.setdefault(end, image)
                    break
        return places, twice


@dataclass(frozen=True)
class Layout:
    """A layout that is read."""

    layout: str  # what lies where, in words
    fits: Callable[[Listing], bool]


def list_files(data: Path) -> Listing:
    """Walk through a folder; links are followed, each folder once. A table given is the only table."""
    absolute = Path(os.path.abspath(data.expanduser()))
    if not absolute.exists():
        raise InputError(f"there is no file or folder {str(data)!r}; check the path")
    folder = absolute if absolute.is_dir() else absolute.parent
    by_kind: dict[str, list[str]] = {"tables": [], "images": [], "videos": []}
    skipped: Counter[str] = Counter()
    for path in _walk(folder):
        try:
            path.encode()
        except UnicodeEncodeError:
            skipped[ODD_NAME] += 1
            continue
        ending = os.path.splitext(path)[1].lower()
        kinds = (("images", SUFFIXES), ("tables", TABLES), ("videos", VIDEOS))
        kind = next((kind for kind, endings in kinds if ending in endings), None)
        if kind is not None:
            by_kind[kind].append(path)
    tables = sorted(by_kind["tables"], key=lambda path: (path.count("/"), path))
    if absolute != folder:
        tables = [absolute.name]
    return Listing(folder, tables, sorted(by_kind["images"]), sorted(by_kind["videos"]), skipped)


def _walk(folder: Path) -> Iterator[str]:
    """Paths below a folder; what file managers left is not worth a word."""
    for directory, names in folders_below(folder, lambda name: name.startswith((".", "__MACOSX"))):
        start = os.path.relpath(directory, folder).replace(os.sep, "/")
        for name in names:
            if not name.startswith("."):
                yield name if start == "." else f"{start}/{name}"


def folders_below(root: Path, is_junk: Callable[[str], bool]) -> Iterator[tuple[str, list[str]]]:
    """A folder and those in it, each once and with the names of its files; links are followed."""
    seen: set[str] = set()
    for directory, below, names in os.walk(root, followlinks=True, onerror=_refuse):
        real = os.path.realpath(directory)
        below[:] = [] if real in seen else sorted(name for name in below if not is_junk(name))
        if real not in seen:
            seen.add(real)
            yield directory, names


def _refuse(problem: OSError) -> None:
    raise InputError(f"{problem.filename!r} cannot be read: {one_line(problem.strerror)}") from problem
