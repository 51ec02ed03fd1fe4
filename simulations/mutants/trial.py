"""One mutant at a time: its file in a copy of the source, the tests that run its line, the outcome."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path

from simulations.mutants.places import Place
from simulations.mutants.seen import Seen
from simulations.mutants.session import run_tests

KILLED, LATE, SURVIVED = "killed", "late", "survived"  # late: killed by a test that takes too long
UNSEEN = "no test runs this line"
_FIRST = 25  # tests of the first run
_FIRST_SECONDS = 3.0  # and their time
_INDIRECT = 0.15  # of the time for tests that run the line: that for tests that may see it indirectly


class Change:
    """A file, a line and the line with the change."""

    @property
    def key(self) -> str:
        """The same for the same change of the same line, wherever the line is."""
        return json.dumps([self.file, self.line, self.changed])


@dataclass(frozen=True)
class Mutant(Change):
    """A place of a file below ``src``.

    Attributes:
        file: As ``evenhand/stats/arrays.py``.
        place: What is changed.
        source: The file's text.
    """

    file: str
    place: Place
    source: str

    @property
    def line(self) -> str:
        """The line, without spaces around it."""
        return self.source.splitlines()[self.place.line - 1].strip()

    @property
    def changed(self) -> str:
        """The line with the change."""
        return self.place.applied(self.source).splitlines()[self.place.line - 1].strip()


@dataclass(frozen=True)
class Trial:
    """A mutant and the tests to run.

    Attributes:
        mutant: What is tried.
        runs: Tests of each run, with the seconds that each takes as the source is.
        watched: Whether any test is known to run the line.
    """

    mutant: Mutant
    runs: list[dict[str, float]]
    watched: bool


@dataclass(frozen=True)
class Result(Change):
    """What became of a mutant.

    Attributes:
        file: As ``evenhand/stats/arrays.py``.
        number: Of the line.
        line: The line.
        changed: The line with the change.
        outcome: ``KILLED``, ``LATE`` or ``SURVIVED``.
        test: The test that killed it; why not, where it is known.
        tests: How many tests were chosen.
        seconds: How long the trial took.
    """

    file: str
    number: int
    line: str
    changed: str
    outcome: str
    test: str
    tests: int
    seconds: float

    def add_to(self, file: Path) -> None:
        """Add a line to a file, as one write."""
        with file.open("ab", buffering=0) as lines:
            lines.write((json.dumps(asdict(self), ensure_ascii=False) + "\n").encode())


@contextmanager
def copy_of(source: Path) -> Iterator[Path]:
    """A copy of the package in a folder of its own; mistakes are made there alone."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        shutil.copytree(source / "evenhand", Path(folder) / "evenhand")
        yield Path(folder)


@contextmanager
def written(file: Path, text: str) -> Iterator[None]:
    """A file with other content, and without the bytecode of the old one, for a while."""
    before, when = file.read_bytes(), file.stat()
    for old in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        old.unlink()
    file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        file.write_bytes(before)
        os.utime(file, ns=(when.st_atime_ns, when.st_mtime_ns))


def tried(trial: Trial, root: Path, copy: Path) -> Result:
    """Run the tests that see it, cheapest first, until one fails.

    Args:
        trial: What is tried, and on which tests.
        root: Of the project.
        copy: The folder that holds a copy of the package.
    """
    start, mutant = time.perf_counter(), trial.mutant
    outcome, test = SURVIVED, "" if trial.watched else UNSEEN
    with written(copy / mutant.file, mutant.place.applied(mutant.source)):
        for tests in trial.runs:
            said = run_tests(root, copy, tests)
            if said.first:
                outcome, test = KILLED if said.failed else LATE, said.first
                break
    taken = round(time.perf_counter() - start, 1)
    count = sum(map(len, trial.runs))
    number = mutant.place.line
    return Result(mutant.file, number, mutant.line, mutant.changed, outcome, test, count, taken)


def chosen(mutant: Mutant, seen: Seen, limit: float) -> Trial:
    """Tests to run, in up to three runs: a few cheap ones, the others, and those that may see it indirectly.

    ``limit`` is what those that run the line may take together, in seconds. Those that may see it indirectly
    are tests in whose files some test runs the line, which may share what it made, and tests that run
    anything else of its file, which may run the line in a thread that is not watched.
    """
    place = mutant.place
    near = seen.running(mutant.file, place.spans)
    files = {name.partition("::")[0] for name in near}
    far = seen.running(mutant.file) | {name for name in seen.seconds if name.partition("::")[0] in files}
    direct = _within(_spread(near, seen.seconds), seen.seconds, limit)
    first = len(_within(direct[:_FIRST], seen.seconds, _FIRST_SECONDS))
    indirect = _within(_spread(far - near, seen.seconds), seen.seconds, limit * _INDIRECT)
    runs = direct[:first], direct[first:], indirect
    timed = [{name: seen.seconds[name] for name in run} for run in runs if run]
    return Trial(mutant, timed, bool(near) or place.imported)


def _within(tests: Sequence[str], seconds: dict[str, float], limit: float) -> list[str]:
    """The first tests, at least one, that take at most so long together."""
    ends = accumulate(seconds[name] for name in tests)
    return [
        name for index, (name, end) in enumerate(zip(tests, ends, strict=True)) if end <= limit or not index
    ]


def _spread(tests: set[str], seconds: dict[str, float]) -> list[str]:
    """Cheapest first; of several cases of one test function, each costs so much more as there were before."""
    turn: Counter[str] = Counter()
    cost = {}
    for name in sorted(tests, key=lambda name: (seconds[name], name)):
        function = name.partition("[")[0]
        turn[function] += 1
        cost[name] = seconds[name] * turn[function]
    return sorted(tests, key=lambda name: (cost[name], name))
