"""Which files code reads: what Python opens and, on Linux, what native code maps or keeps open."""

from __future__ import annotations

import os
import re
import stat
import sys
import sysconfig
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Self

from evenhand.files.home import home

_LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/run/", "/etc/", "/usr/lib", "/usr/share/", "/lib", "/bin/", "/sbin/")
_CODE = re.compile(r"\.(py[cdo]|dll|dylib|so(\.[0-9.]+)?)$")
_CACHES = re.compile(r"/(site-packages|dist-packages|__pycache__|\.locks|\.triton|\.nv|torchinductor_[^/]*)/")
_SECRETS = ("token", "stored_tokens")  # beside the cache of a hub; they say nothing of a model
_PROCESS = Path("/proc/self")


class OpenedFiles:
    """Watches what is read while it is entered.

    Args:
        this_thread: Watch the files that this thread opens, and no others.
    """

    def __init__(self, *, this_thread: bool = False) -> None:
        self._thread = threading.get_ident() if this_thread else None
        self._opened: set[str] = set()
        self._before: set[str] = set()

    def __enter__(self) -> Self:
        _install()
        if self._thread is None:
            self._before = _mapped_or_open()
        _WATCHING.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _WATCHING.remove(self)
        if self._thread is None:
            self._opened |= _mapped_or_open() - self._before

    def note(self, path: str) -> None:
        """Take down a file that is being opened.

        Args:
            path: Its absolute path.
        """
        if self._thread in (None, threading.get_ident()):
            self._opened.add(path)

    def data(self) -> list[Path]:
        """The files that may hold what a model learnt: no code, nothing of libraries and the system."""
        files = data_files(self._opened)
        code = _loaded_code({path.name for path in files})
        return [path for path in files if path not in code]


def data_files(paths: Iterable[str | Path]) -> list[Path]:
    """Those that exist and are none of a library, the system or a cache; resolved and sorted."""
    return sorted({resolved for path in paths if (resolved := _data_file(str(path))) is not None})


@cache
def is_library(path: str) -> bool:
    """Whether a file lies where Python's and other packages' libraries do, or is one of evenhand's own."""
    real_path = os.path.realpath(path)
    return real_path.startswith(_library_folders()) or _CACHES.search(real_path) is not None


def _data_file(path: str) -> Path | None:
    if not os.path.isfile(path):  # as most texts of a program: sooner known than where its links lead
        return None
    real_path = os.path.realpath(path)
    name = os.path.basename(real_path)
    if name.startswith(".") or name in _SECRETS or real_path.startswith(_SYSTEM) or _CODE.search(name):
        return None
    if is_library(real_path) or real_path.startswith(os.path.realpath(home()) + os.sep):
        return None
    return Path(real_path)


def _loaded_code(names: set[str]) -> set[Path]:
    """Files of these names that modules came from: libraries read the code of their callers."""
    ends = tuple(os.sep + name for name in names)  # of thousands of modules quicker than each one's basename
    files = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
    return {Path(os.path.realpath(file)) for file in files if file and str(file).endswith(ends)}


@cache
def _library_folders() -> tuple[str, ...]:
    package_folder = Path(__file__).parent.parent
    folders = {os.path.realpath(sysconfig.get_paths()[name]) for name in _LIBRARIES} | {
        str(package_folder.resolve())
    }
    return tuple(folder + os.sep for folder in sorted(folders))


_WATCHING: list[OpenedFiles] = []


@cache
def _install() -> None:
    """A hook cannot be taken away again: it is added once, by the first who watches."""
    sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    """Called by Python for whatever it does; an exception would become one of the user's code."""
    if event != "open" or not _WATCHING:
        return
    path, mode, flags = arguments
    writes = flags & (os.O_WRONLY | os.O_RDWR) if mode is None else set(mode) & set("wax+")
    if writes or not isinstance(path, str | bytes):  # a number is a file that is open already
        return
    try:
        absolute_path = os.path.abspath(os.fsdecode(path))
    except OSError:  # the current folder is gone, and so is what lay in it
        return
    for watcher in _WATCHING:
        watcher.note(absolute_path)


def _mapped_or_open() -> set[str]:
    """Files that are mapped or open for reading now; none where the system does not say."""
    if not (_PROCESS / "maps").is_file():
        return set()
    lines = (_PROCESS / "maps").read_text(errors="surrogateescape").splitlines()
    paths = {line[line.index("/") :].removesuffix(" (deleted)") for line in lines if "/" in line}
    for number in os.listdir(_PROCESS / "fd"):
        link = _PROCESS / "fd" / number
        try:
            if not os.lstat(link).st_mode & stat.S_IWUSR:
                paths.add(os.readlink(link))
        except FileNotFoundError:  # closed meanwhile, as the one that lists the folder
            continue
    return paths
