"""Write beside, then rename: a reader sees the old content or the new, never a part."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evenhand.core.errors import InputError, one_line
from evenhand.files.sealed import foreign_below


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary path beside ``target``; rename it onto ``target`` when the block succeeds.

    A link stays; the file it leads to is replaced.
    """
    _check_file(target)
    target = Path(os.path.realpath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(target: Path, content: bytes) -> None:
    """Write a whole file atomically."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)


def _check_file(target: Path) -> None:
    """Refuse what is no file: as a name it can be replaced, though nobody means that."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:  # or a link to nothing, which is written
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{str(target)!r} is no file but a device, pipe or socket; give the name of a file")


def check_replaceable(target: Path, *, entries: Collection[str], markers: Collection[str]) -> None:
    """Refuse to write a folder where something else stands.

    A folder of ours holds all ``markers`` and no names but ``entries``, and below these nothing that it was
    not written with.
    """
    there = next((path for path in (target, *target.parents) if path.exists()), None)
    if there is not None and not there.is_dir():
        raise InputError(f"{str(there)!r} is a file; give a folder with -o")
    if there != target:
        return
    present = {entry.name for entry in target.iterdir() if not _left_by_us(entry.name, entries)}
    foreign = sorted(present - set(entries)) or foreign_below(target, entries) if present else []
    if present and (foreign or not set(markers) <= present):
        example = f" such as {foreign[0]!r}" if foreign else ""
        raise InputError(f"{str(target)!r} holds other files{example}; give an empty or new folder with -o")


def _left_by_us(name: str, entries: Collection[str]) -> bool:
    """Whether this is what a killed process left of writing one of the entries."""
    return any(name.startswith(f".{entry}.") for entry in entries)


@contextmanager
def atomic_folder(target: Path, *, entries: Collection[str], markers: Collection[str]) -> Iterator[Path]:
    """Build a folder beside ``target`` and swap it in when the block succeeds.

    A link stays; what it points to is replaced.
    """
    target = Path(os.path.realpath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    building = target.parent / f".{target.name}.building"
    with _write_lock(target):
        _mend(target)
        check_replaceable(target, entries=entries, markers=markers)
        shutil.rmtree(building, ignore_errors=True)  # what a killed process left
        building.mkdir()
        try:
            yield building
            check_replaceable(target, entries=entries, markers=markers)
            _swap(building, target)
        finally:
            shutil.rmtree(building, ignore_errors=True)


@contextmanager
def _write_lock(target: Path) -> Iterator[None]:
    """Hold a lock that goes with the process, however it ends.

    It lies beside the target, where every process that could write there meets it, whatever its home.
    """
    from filelock import FileLock, Timeout

    path = target.parent / f".{target.name}.lock"
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        if not path.exists():
            raise InputError(
                f"nothing can be written in {str(target.parent)!r}; give another folder with -o"
            ) from None
        raise InputError(
            f"another process is writing {str(target)!r}{_holder(path)}; "
            "wait for it, or give another folder with -o"
        ) from None
    try:
        path.write_text(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        with suppress(PermissionError):  # where open files stay; the next process takes it over
            path.unlink(missing_ok=True)
        lock.release()


def _holder(path: Path) -> str:
    """Who wrote a lock, in brackets; empty where that cannot be read yet."""
    try:
        who = one_line(path.read_text(errors="replace"))
    except OSError:
        return ""
    return f" ({who})" if who else ""


def _swap(building: Path, target: Path) -> None:
    """Move ``building`` to ``target``, keeping what was there until the move is done."""
    if not target.exists():
        building.rename(target)
        return
    old = _old(target)
    target.rename(old)
    try:
        building.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _mend(target: Path) -> None:
    """Finish what a process that was killed while it swapped had begun."""
    old = _old(target)
    if not old.is_dir():
        return
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.rename(target)


def _old(target: Path) -> Path:
    return target.parent / f".{target.name}.replaced"


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    current = os.umask(0)
    os.umask(current)
    return current
