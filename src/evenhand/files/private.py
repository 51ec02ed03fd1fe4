"""Files and folders that only their owner may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from evenhand.core.errors import InputError, one_line

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder(path: Path) -> None:
    """Make a folder of mode 0700, or make that of one that is there."""
    path.mkdir(parents=True, exist_ok=True)
    _close_to_others(path)


def private_file(path: Path, *, make: bool = True) -> None:
    """Make an empty file of mode 0600, or take the rights of others from one that is there.

    Without ``make`` a missing file stays missing: another process may delete it at any moment.
    """
    if make:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))
        except OSError as problem:
            raise _refusal(path, problem) from None
    _close_to_others(path, missing_ok=not make)


def _close_to_others(path: Path, *, missing_ok: bool = False) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & _OTHERS:
            path.chmod(mode & ~_OTHERS)
    except FileNotFoundError as problem:
        if not missing_ok:
            raise _refusal(path, problem) from None
    except OSError as problem:
        raise _refusal(path, problem) from None


def _refusal(path: Path, problem: OSError) -> InputError:
    return InputError(
        f"{str(path)!r} cannot be made readable by you alone: {one_line(problem.strerror or problem)}; set "
        "EVENHAND_HOME to a folder of your own"
    )
