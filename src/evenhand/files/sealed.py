"""Which files a folder was written with: their hashes lie beside them, so that an edit is seen.

This guards against mistakes and hasty hands: who edits a file on purpose can write its hash anew.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from evenhand.core.errors import InputError
from evenhand.files.hashing import sha256_file

HASHES = "hashes.json"
_WITHOUT_RECORD = (
    "",
    ".parquet",
    ".csv",
    ".json",
    ".safetensors",
)  # of folders from before there were hashes
_FILLED_IN = (".csv", ".tsv")  # once a person has, they are that person's


def hashes_of(folder: Path, *, leave_out: Collection[str] = ()) -> bytes:
    """The record of a folder's files, at any depth, as bytes of JSON; names of ``leave_out`` may change."""
    hashes = {
        name: sha256_file(path)
        for name, path in sorted(_below(folder))
        if path.is_file() and name not in (HASHES, *leave_out)
    }
    return (
        json.dumps({"sha256": hashes}, indent=1, ensure_ascii=False).encode("utf-8", "surrogateescape")
        + b"\n"
    )


def recorded(folder: Path) -> Mapping[str, str] | None:
    """The sha256 of each file, by its name below the folder; None where none were kept."""
    path = folder / HASHES
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
        return {str(name): str(digest) for name, digest in content["sha256"].items()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise InputError(f"{str(path)!r} cannot be read; make the folder anew") from None


def edited(folder: Path, parts: Collection[str]) -> list[str]:
    """Recorded files of ``parts`` that are not as they were written, or gone; a whole folder may be gone."""
    changed = []
    for name, digest in (recorded(folder) or {}).items():
        part, path = name.partition("/")[0], folder / name
        if part in parts and (part == name or (folder / part).is_dir()):
            same = path.is_file() and sha256_file(path) == digest
            changed += [] if same else [name]
    return changed


def refuse_recorded(target: Path) -> None:
    """Refuse to write over a file that a folder was written with: what it says could not be read again."""
    real = Path(os.path.realpath(target))
    for folder in real.parents:
        try:
            names = recorded(folder) or {}
        except InputError:  # a file of the same name that is no record of ours
            continue
        if real.relative_to(folder).as_posix() in ({HASHES} | set(names) if names else names):
            raise InputError(f"{str(target)!r} is a file of the run in {str(folder)!r}; give another name")


def written_files(folder: Path, part: str, suffix: str = "") -> list[Path]:
    """Files in a part of a folder that were written with it, sorted; what others laid there is not of it."""
    names = recorded(folder)
    return [
        path
        for path in sorted((folder / part).glob(f"*{suffix}"))
        if path.is_file() and (names is None or f"{part}/{path.name}" in names)
    ]


def foreign_below(folder: Path, entries: Collection[str]) -> list[str]:
    """What lies in a folder of ours and was not written with it: files, links, devices, folders."""
    names = recorded(folder)
    foreign = []
    for name, path in _below(folder):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            is_ours = name in entries or names is None or any(other.startswith(f"{name}/") for other in names)
        else:
            is_ours = path.suffix in _WITHOUT_RECORD if names is None else name in names
            if names is not None and is_ours and path.suffix in _FILLED_IN:
                is_ours = sha256_file(path) == names[name]
            is_ours = stat.S_ISREG(mode) and (name in entries or is_ours)
        foreign += [] if is_ours else [name]
    return sorted(foreign)


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Everything below a folder by its name there; links are not followed."""
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(where, name)
            yield path.relative_to(folder).as_posix(), path
