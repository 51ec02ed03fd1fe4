"""One run of some tests in a process of its own, on a copy of the source."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import settings

_IMPORTED_BEFORE = (
    "numpy", "scipy.stats", "scipy.optimize", "polars", "pandas", "pydantic", "narwhals", "hypothesis",
    "sklearn.metrics", "fairlearn.metrics",
)  # fmt: skip
_MEMORY = 12 * 2**30
_PATIENCE = 20.0  # a test takes too long at so many times its own time, and
_AT_LEAST = 20.0  # this many seconds
COLLECTION = "collection"
"""Stands for a test where tests could not even be collected."""
DIED = "process"
"""Stands for a test where the process ended without a word."""


@dataclass(frozen=True)
class Said:
    """What a run said: the test that failed, the one that took too long, or neither."""

    failed: str | None = None
    late: str | None = None

    @property
    def first(self) -> str | None:
        """The test that said so."""
        return self.failed or self.late


def prepare() -> None:
    """Import what takes long and is not ours, once; processes are forked from here.

    None of it may start threads by being used here: a forked process has no threads but its own.
    """
    for name in _IMPORTED_BEFORE:
        with suppress(ImportError):
            importlib.import_module(name)
    same = settings(deadline=None, derandomize=True, database=None)
    settings.register_profile("mutants", same)
    settings.load_profile("mutants")


class Chosen:
    """A plugin of pytest: only these tests, in this order, and none of them for ever.

    Args:
        seconds: How long each test takes as the source is.
        say: What is done with the name of a test that takes too long.
    """

    def __init__(self, seconds: dict[str, float], say: Callable[[Said], None]) -> None:
        self._seconds, self._say = seconds, say
        self.failed: str | None = None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what was chosen."""
        rank = {name: index for index, name in enumerate(self._seconds)}
        items[:] = sorted((item for item in items if item.nodeid in rank), key=lambda item: rank[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch the time of a test."""

        def late(number: int, frame: FrameType | None) -> None:
            self._say(Said(late=item.nodeid))
            os.killpg(0, signal.SIGKILL)

        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, _AT_LEAST + _PATIENCE * self._seconds[item.nodeid])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed."""
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that tests cannot be imported."""
        if report.failed and self.failed is None:
            self.failed = COLLECTION


def run_tests(root: Path, source: Path, seconds: dict[str, float]) -> Said:
    """Run tests, in this order, until one fails, on the package that lies in ``source``.

    Args:
        root: Of the project; its tests are run.
        source: The folder that holds the package.
        seconds: The tests, and how long each takes as the source is.
    """
    files = list(dict.fromkeys(name.partition("::")[0] for name in seconds))

    def work(say: Callable[[Said], None]) -> None:
        plugin = Chosen(seconds, say)
        status = pytest.main(["-x", "-q", "--no-header", "-p", "no:cacheprovider", *files], plugins=[plugin])
        failed = plugin.failed
        _check_source(source)
        if failed is None and status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            failed = COLLECTION
        say(Said(failed=failed))

    limit = 2 * _AT_LEAST + 60 + _PATIENCE * sum(seconds.values())
    return isolated(root, source, work, limit)


def isolated(root: Path, source: Path, work: Callable[[Callable[[Said], None]], None], limit: float) -> Said:
    """Do some work in a new process that imports the package from ``source``, and hear what it says."""
    fork = multiprocessing.get_context("fork")
    ear, mouth = fork.Pipe(duplex=False)
    process = fork.Process(target=_begin, args=(root, source, work, mouth))
    process.start()
    mouth.close()
    try:
        if not ear.poll(limit):
            return Said(late=COLLECTION)
        return ear.recv()  # type: ignore[no-any-return]
    except EOFError:
        return Said(failed=DIED)
    finally:
        process.kill()
        if process.pid:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # what it started
        process.join()


def _begin(
    root: Path, source: Path, work: Callable[[Callable[[Said], None]], None], mouth: Connection
) -> None:
    os.setpgid(0, 0)
    os.chdir(root)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": f"{source}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path[:0] = [str(source), str(root)]
    work(mouth.send)


def _check_source(source: Path) -> None:
    """Raise where the package was imported from elsewhere."""
    package = sys.modules.get("evenhand")
    if package is not None and not Path(str(package.__file__)).is_relative_to(source):
        raise ImportError(f"tests ran on {package.__file__}, not on {source}")
