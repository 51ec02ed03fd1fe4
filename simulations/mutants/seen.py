"""Which tests run which lines, and how long each test takes: taken once, kept in a folder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import coverage
import pytest
from simulations.mutants.places import Span
from simulations.mutants.session import COLLECTION, Said, isolated

_DAY = 86_400.0


class _Contexts:
    """A plugin of pytest: lines are noted under the test that runs them, with its time when alone."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._shared: dict[int, tuple[float, str]] = {}  # fixtures of several tests: time, and the first test
        self._item = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note one test, its fixtures included."""
        self._item = item.nodeid
        self._measured.switch_context(item.nodeid)
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.perf_counter() - start + self._made_before(item)
            self._measured.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[object]:
        """Time the fixtures that tests share; the first of them pays, and each would if it ran alone."""
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared[id(fixturedef)] = time.perf_counter() - start, self._item

    def _made_before(self, item: pytest.Item) -> float:
        """Seconds of the fixtures that this test uses and an earlier one paid for."""
        info = getattr(item, "_fixtureinfo", None)
        used = {id(one[-1]) for one in info.name2fixturedefs.values()} if info else set()
        return sum(
            taken for key, (taken, test) in self._shared.items() if key in used and test != item.nodeid
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tests that fail or are skipped as the source is say nothing of mistakes."""
        if not report.passed:
            self.failed.add(report.nodeid)


@dataclass(frozen=True)
class Seen:
    """What tests run.

    Attributes:
        seconds: Of each test that passes.
        data: Lines by test.
        source: The folder that holds the package.
    """

    seconds: dict[str, float]
    data: coverage.CoverageData
    source: Path

    def running(self, file: str, spans: Sequence[Span] | None = None) -> set[str]:
        """Tests that run any line in these spans of a file; all lines in functions for None."""
        contexts = self._contexts(file)
        inside = (
            line for line in contexts
            if spans is None or any(first <= line <= last for first, last in spans)
        )  # fmt: skip
        return {name for line in inside for name in contexts[line]} & self.seconds.keys()

    def _contexts(self, file: str) -> dict[int, list[str]]:
        if file not in self._known:
            self._known[file] = self.data.contexts_by_lineno(str(self.source / file))
        return self._known[file]

    @cached_property
    def _known(self) -> dict[str, dict[int, list[str]]]:
        return {}


def seen_by(root: Path, source: Path, tests: Sequence[str], folder: Path) -> Seen:
    """Run tests where they or the source have changed since what lies in the folder.

    Args:
        root: Of the project.
        source: The folder that holds the package, as it is.
        tests: Files of tests, relative to the root.
        folder: Where times and lines are kept.
    """
    package = b"".join(path.read_bytes() for path in sorted(source.rglob("*.py")))
    kept = folder / "times.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    marks = {name: hashlib.sha256(package + (root / name).read_bytes()).hexdigest() for name in tests}
    changed = [name for name in tests if known.get(name, {}).get("mark") != marks[name]]
    if changed:
        fresh = _measured(root, source, changed, folder, anew=len(changed) == len(tests))
        for name in changed:
            mine = {test: taken for test, taken in fresh.items() if test.partition("::")[0] == name}
            known[name] = {"mark": marks[name], "seconds": mine}
        kept.write_text(json.dumps(known))
    data = coverage.CoverageData(str(folder / "lines"))
    data.read()
    seconds = {test: taken for name in tests for test, taken in known[name]["seconds"].items()}
    return Seen(seconds, data, source)


def _measured(
    root: Path, source: Path, tests: Sequence[str], folder: Path, *, anew: bool
) -> dict[str, float]:
    """Times of the tests that pass; lines go to the folder."""
    times = folder / "fresh.json"

    def work(say: Callable[[Said], None]) -> None:
        measured = coverage.Coverage(
            data_file=str(folder / "lines"), include=[f"{source}/*"], config_file=False
        )
        if not anew:
            measured.load()
        measured.start()
        plugin = _Contexts(measured)
        status = pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[plugin])
        measured.stop()
        measured.save()
        passed = {name: taken for name, taken in plugin.seconds.items() if name not in plugin.failed}
        times.write_text(json.dumps(passed))
        done = status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        say(Said(failed=None if done else COLLECTION))

    said = isolated(root, source, work, _DAY)
    if said.first:
        raise RuntimeError(f"the tests do not run as the source is: {said}")
    return dict(json.loads(times.read_text()))
