"""The run engine as a process among others: two at once, what it imports, its memory, its progress."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
import time
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.files.database import connect
from tests.runner.crash.commands import (
    PATTERNS_FILE,
    command,
    environment,
    evidence_bytes,
    finish,
    here,
    nothing_but_reuse,
    one_line_of,
    start,
    uri,
)
from tests.runner.crash.patterns import LazySource


def test_two_runs_at_once_on_one_cache_end_as_two_runs_alone(tmp_path) -> None:
    given = {"n": 1_000, "ask": "embeds_images"}
    pair = [
        start(command(tmp_path / name, benchmark=name, **given), tmp_path / "home", PATTERNS_SECONDS=0.0005)
        for name in ("PATTERNS", "OTHER")
    ]
    for process in pair:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        nothing_but_reuse(err)
    assert here(command(tmp_path / "alone", **given), tmp_path / "other home")[0] == 0
    alone = evidence_bytes(tmp_path / "alone")
    for name in ("PATTERNS", "OTHER"):
        both = evidence_bytes(tmp_path / name)
        assert {file: both[file] for file in both if file.startswith("evidence")} == {
            file: alone[file] for file in alone if file.startswith("evidence")
        }


@pytest.mark.parametrize(
    "homes", [pytest.param(("home", "home"), marks=pytest.mark.nightly), ("home", "another home")]
)
def test_two_runs_into_one_folder_are_one_run_and_one_line(tmp_path, homes) -> None:
    again = command(tmp_path / "run", n=300)
    pair = [start(again, tmp_path / home, PATTERNS_SECONDS=0.005) for home in homes]
    ended = sorted((process.communicate(timeout=300)[1], process.returncode) for process in pair)
    assert ended[0] == ("", 0)
    assert ended[1][1] == 2
    one_line_of(ended[1][0], "another process is writing", "-o")
    assert not list(tmp_path.glob(".run.*"))
    assert here(command(tmp_path / "alone", n=300), tmp_path / "other home")[0] == 0
    assert evidence_bytes(tmp_path / "run") == evidence_bytes(tmp_path / "alone")


def test_many_may_make_one_database_at_the_same_moment(tmp_path) -> None:
    problems: list[BaseException] = []
    ready = threading.Barrier(12)

    def make() -> None:
        ready.wait()
        try:
            connect(tmp_path / "x.sqlite", "create table if not exists a (b text)").close()
        except BaseException as problem:
            problems.append(problem)

    for _ in range(20):
        threads = [threading.Thread(target=make) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for file in tmp_path.iterdir():
            file.unlink()
    assert problems == []


def test_a_run_whose_answers_are_known_imports_no_heavy_library(tmp_path, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    eh.run(uri("PATTERNS"), model=LazySource())
    arguments = [sys.executable, str(PATTERNS_FILE), str(tmp_path / "run")]
    more = {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(Path.cwd())])}
    code, out, err = finish(arguments, tmp_path / "home", **more)
    assert (code, out.strip(), err) == (0, "False False", "")


# ru_maxrss would include that of the process which started this one
PEAK = """
import re, sys
import evenhand as eh
from evenhand.workflows.execution.options import AskOptions
few = AskOptions(batch_size=8)
for n in (300, 1_500):
    parameters = dict(n=str(n), first=str(n), side="224", ask=sys.argv[3])
    run = eh.run(sys.argv[1], model=sys.argv[2], parameters=parameters, options=few)
    assert run.findings.findings[0].n == n
    print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    "capability", ["classifies_images", pytest.param("embeds_images", marks=pytest.mark.nightly)]
)
def test_memory_does_not_grow_with_the_number_of_samples(tmp_path, capability) -> None:
    """1,200 images more are 180 MB; small batches, since how many are read ahead hangs on what else runs."""
    names = [f"{PATTERNS_FILE}:PATTERNS", f"{PATTERNS_FILE}:Model"]
    code, out, err = finish([sys.executable, "-c", PEAK, *names, capability], tmp_path / "home")
    assert (code, err) == (0, "")
    few, many = (int(peak) // 1024 for peak in out.split())
    print(f"peak memory in MB: {few}, {many}")
    assert many - few < 30


def test_progress_is_silent_unless_someone_watches(tmp_path) -> None:
    again = command(tmp_path / "run", n=256)
    code, out, err = here(again, tmp_path / "home")
    assert (code, err) == (0, "")
    assert "Report  " in out
    watched = [*again[:-1], str(tmp_path / "watched")]
    code, shown = in_a_terminal(watched, tmp_path / "other home", PATTERNS_SECONDS=0.005)
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"asking evidence .*256/256", plain)
    assert re.search(r"\d[\d,.]*/s", plain), plain
    assert re.search(r"\d:\d\d:\d\d", plain), plain
    code, shown = in_a_terminal([*watched, "-q"], tmp_path / "third home")
    assert (code, shown) == (0, "")


def in_a_terminal(arguments: list[str], home: Path, **more: object) -> tuple[int, str]:
    """Exit code and what is seen of a process whose stdout and stderr are a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        given = environment(home, COLUMNS=120, TERM="xterm-256color", **more)
        os.execve(arguments[0], arguments, given)  # noqa: S606 - no shell is meant
    seen = b""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        try:
            some = os.read(terminal, 65_536)
        except OSError:  # the process has closed its side
            break
        if not some:
            break
        seen += some
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()
