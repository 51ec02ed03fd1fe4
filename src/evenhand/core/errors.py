"""Exceptions of evenhand.

    EvenhandError
    ├── UserError            exit 2: the user can mend it; the message says how
    │   ├── InputError       a file or table cannot be used
    │   ├── UnknownName      a column, metric, benchmark or model that does not exist
    │   ├── ParameterError   a value outside what is possible
    │   ├── MissingCapability  a model cannot answer what is asked
    │   └── MissingExtra     an optional library is not installed
    ├── Incomplete           exit 3: some questions could not be asked
    └── GateBroken           exit 4: a finding broke a ``--fail-if`` gate

A message is one line: what was given, what is possible, what to type next.
"""

from __future__ import annotations

import atexit
import difflib
import importlib
import importlib.util
import os
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from evenhand.core.unseen import without_secrets

_LONGEST = 300  # letters of a cause
_OWN_CODES = (0, 2, 3, 4)  # exit codes of commands that say how their work went
_TOO_EARLY = "which would end the command before it is done; raise an exception there instead"


def one_line(text: object, longest: int | None = None) -> str:
    """Any text as one printable line, so that hostile labels cannot break a message; its first letters."""
    try:
        full_text = str(text)
    except Exception as problem:  # an exception of the user's whose text raises another
        full_text = f"(no text: {type(problem).__name__})"
    return " ".join("".join(c if c.isprintable() else " " for c in full_text).split())[:longest]


def first_few(names: Sequence[str], most: int, more: str = ", ...") -> str:
    """Names in a row, no more than some of them; ``more`` says so, such as `` and {} more``."""
    return ", ".join(names[:most]) + (more.format(len(names) - most) if len(names) > most else "")


def cut(text: str, longest: int) -> str:
    """A text that ends with an ellipsis where it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


class EvenhandError(Exception):
    """Base of everything evenhand raises on purpose; addresses in its message have no passwords."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_secrets(text) if isinstance(text, str) else text for text in args))


class UserError(EvenhandError):
    """Something the user gave cannot be used; the message says what to give instead."""

    exit_code = 2


class InputError(UserError):
    """A file or table cannot be used."""


class UnknownName(UserError):  # noqa: N818 - reads as the sentence it prints
    """A name that does not exist; the message lists the closest ones that do.

    Args:
        what: The kind of thing, such as ``column``.
        unknown: What the user typed.
        possible: Every name that would have been accepted.
        hint: What to type to see or change the possibilities.
    """

    def __init__(self, what: str, unknown: str, possible: Iterable[str], hint: str = "") -> None:
        names = [str(name) for name in possible]
        close = difflib.get_close_matches(unknown, names, n=3, cutoff=0.5)
        shortlist = names[:12]
        listing = ", ".join(map(repr, close or shortlist)) or "none"
        more = f" and {len(names) - len(shortlist)} more" if not close and len(names) > len(shortlist) else ""
        lead = "did you mean" if close else "possible:"
        end = "? " if close else "; "
        tail = (end + hint) if hint else end.strip("; ")
        super().__init__(f"there is no {what} {unknown!r}; {lead} {listing}{more}{tail}")


class ParameterError(UserError):
    """A parameter has a value outside what is possible."""


class MissingCapability(UserError):  # noqa: N818
    """A model cannot answer such questions, whatever is done about the data."""


class MissingExtra(UserError):  # noqa: N818
    """An optional library is not installed.

    Args:
        library: The module that could not be imported.
        extra: The extra of evenhand that installs it.
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed; type: pip install 'evenhand[{extra}]'")


def import_extra(library: str, extra: str) -> Any:
    """The module of an optional library."""
    try:
        return importlib.import_module(library)
    except ImportError:
        raise MissingExtra(library, extra) from None


class Incomplete(EvenhandError):  # noqa: N818
    """Some questions could not be asked; what was answered is kept."""

    exit_code = 3


class GateBroken(EvenhandError):  # noqa: N818
    """A finding broke a gate given with ``--fail-if``."""

    exit_code = 4


def require_extra(module: str, library: str, extra: str) -> None:
    """Refuse at once what could only fail later, importing nothing; ``library`` is the name to install."""
    if importlib.util.find_spec(module) is None:
        raise MissingExtra(library, extra)


class _ProcessExit:
    """Stands for ``os._exit``, and ``posix._exit``, which it is, while code of the user's runs.

    A code that a command gives itself would tell that its work was done, or why not; it becomes an exception.
    Others are errors already, and a forked process may end as it likes.
    """

    def __init__(self) -> None:
        self._real, self._lock, self._inside, self._process = os._exit, threading.Lock(), 0, 0
        self._came: list[int] = []
        self._running: list[str] = []

    def __call__(self, status: int) -> NoReturn:
        if not self._inside or os.getpid() != self._process or status not in _OWN_CODES:
            self._real(status)
        self._came.append(status)
        raise SystemExit(status)

    @contextmanager
    def held(self, what: str) -> Iterator[list[int]]:
        """Hold it back in all threads of this process until the last block is left; yields its exit codes."""
        with self._lock:
            self._came = self._came if self._inside else []
            self._inside, self._process = self._inside + 1, os.getpid()
            self._running.append(what)
            self._stand_in(self)
        try:
            yield self._came
            if self._came:  # in a thread of the user's own, which ended
                raise SystemExit(self._came[0])
        finally:
            with self._lock:
                self._inside -= 1
                self._running.remove(what)
                self._stand_in(self if self._inside else self._real)

    def _stand_in(self, leave: Callable[[int], NoReturn]) -> None:
        for module in (os, sys.modules[os.name]):
            vars(module)["_exit"] = leave

    def library_exits(self, _: object) -> None:
        """What the C library calls first of all that its ``exit()`` does."""
        if self._running and os.getpid() == self._process:
            message = f"evenhand: {self._running[-1]} called exit() of the C library, {_TOO_EARLY}\n"
            os.write(2, message.encode(errors="backslashreplace"))
            self._real(UserError.exit_code)

    def python_ends(self) -> None:
        """Hold back nothing more."""
        self._running.clear()


_PROCESS_EXIT = _ProcessExit()


@cache
def _watch_libraries() -> object:
    """Let no ``exit()`` of a C library end the process as if its work were done, either.

    Of the C libraries that Python runs on, glibc alone takes a handler back, as it must before Python ends.
    The cache keeps the handler, which must not be collected.
    """
    if "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", ()):
        return None
    import ctypes

    libc, library = ctypes.CDLL(None), ctypes.c_char()  # whose address is the handler's name
    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_PROCESS_EXIT.library_exits)
    libc.__cxa_atexit(handler, None, ctypes.byref(library))
    atexit.register(libc.__cxa_finalize, ctypes.byref(library))  # which calls the handler and forgets it
    atexit.register(_PROCESS_EXIT.python_ends)
    return handler


@contextmanager
def exits_are_errors(what: str) -> Iterator[None]:
    """Run code of the user's, which must not end the command as if its work were done.

    ``what`` is whose code it is, such as ``the model 'file.py:Model'``.
    """
    came: list[int] = []
    try:
        with _PROCESS_EXIT.held(what) as came:
            yield
    except SystemExit as problem:
        name, code = "os._exit" if came else "sys.exit", one_line(repr(problem.code), 80)
        came.clear()
        raise UserError(f"{what} called {name}({code}), {_TOO_EARLY}") from problem


@contextmanager
def failures_are_errors(what: str) -> Iterator[None]:
    """Run a model of the user's, whose failures become one line, as its exits do."""
    _watch_libraries()
    try:
        with exits_are_errors(what):
            yield
    except (EvenhandError, KeyboardInterrupt):
        raise
    except BaseException as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        if not frames or not _is_users(frames[-1].filename):
            raise
        raise UserError(f"{what} failed: {cause_of(problem)}") from problem


def cause_of(problem: BaseException) -> str:
    """What went wrong, and the last line of the user's own code on the way there: none of a library."""
    lines = [line for line in traceback.extract_tb(problem.__traceback__) if line.filename[:1] != "<"]
    users = [line for line in lines if _is_users(line.filename)]
    there = f" ({Path(users[-1].filename).name}, line {users[-1].lineno})" if users else ""
    return described(problem)[:_LONGEST] + there


def described(problem: BaseException) -> str:
    """An exception on one line, its kind first."""
    return one_line(f"{type(problem).__name__}: {one_line(problem)}")


def _is_users(file: str) -> bool:
    """Whether code is the user's: none of Python, of a package that is installed, or of evenhand."""
    if file.startswith("<"):
        return not file.startswith("<frozen")
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return not any(map(Path(file).is_relative_to, [Path(__file__).parents[1], *map(Path, paths)]))


def check_known(
    what: str, names: str | Iterable[object], possible: Collection[object], hint: str = ""
) -> None:
    """Raise UnknownName for the first of some names, or the one name, that is not among ``possible``."""
    for name in [names] if isinstance(names, str) else names:
        if name not in possible:
            raise UnknownName(what, str(name), map(str, possible), hint)


def check_choice(name: str, value: object, possible: Iterable[object]) -> None:
    """Raise ParameterError unless ``value`` is one of ``possible``."""
    options = list(possible)
    if value not in options:
        listing = ", ".join(map(repr, options))
        raise ParameterError(f"{name}={value!r} is not possible; choose one of {listing}")
