"""A run that is killed, stopped, or out of disk goes on where it was, to the same bytes."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runner.crash.commands import (
    command,
    evidence_bytes,
    finish,
    here,
    nothing_but_reuse,
    one_line_of,
    start,
)

pytestmark = pytest.mark.nightly

SAMPLES = 2_400  # two shards of the evidence
EMBEDDING = {"n": SAMPLES, "ask": "embeds_images"}


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait as long as the process runs and it is not so."""
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until and not is_so():
        time.sleep(0.005)


def count(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def test_killed_again_and_again_it_ends_as_if_it_never_was(tmp_path) -> None:
    """After so many answers more, while it writes, and at a moment of its start."""
    calls, out, rng = tmp_path / "calls", tmp_path / "out" / "run", np.random.default_rng(0)
    again, building = command(out, n=SAMPLES), tmp_path / "out" / ".run.building"
    steered = {"PATTERNS_CALLS": calls, "PATTERNS_SECONDS": 0.001}
    calls.touch()
    moments = [
        *(lambda more=more: count(calls) > before + more for more in (0, 400, 700, 600)),
        *((building / file).exists for file in ("findings.json", "report.html")),
        lambda: True,
    ]
    killed = 0
    for moment in moments:
        before = count(calls)
        process = start(again, tmp_path / "home", **steered)
        wait_until(moment, process)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed >= len(moments) - 2  # it may end before it is hit, where it has but to write
    code, _, err = here(again, tmp_path / "home", **steered)
    assert code == 0, err
    nothing_but_reuse(err)
    whole = tmp_path / "whole" / "run"
    assert here(command(whole, n=SAMPLES), tmp_path / "home of its own")[0] == 0
    assert evidence_bytes(out) == evidence_bytes(whole)
    assert [entry.name for entry in out.parent.iterdir()] == ["run"]
    assert SAMPLES <= count(calls) < 1.75 * SAMPLES  # a kill costs a quarter of a second, not the run


def test_killed_while_a_run_is_replaced_nothing_is_lost(tmp_path) -> None:
    """Two renames replace a folder; a kill between them leaves the old one beside."""
    out = tmp_path / "out" / "run"
    assert here(command(out, n=100), tmp_path / "home")[0] == 0
    before = evidence_bytes(out)
    out.rename(out.parent / ".run.replaced")
    (out.parent / ".run.building").mkdir()
    assert here(command(out, model="Failing", n=100), tmp_path / "home")[0] == 2
    assert evidence_bytes(out) == before
    shutil.copytree(out, out.parent / ".run.replaced")
    assert here(command(out, n=100), tmp_path / "home")[0] == 0
    assert evidence_bytes(out) == before
    assert [entry.name for entry in out.parent.iterdir()] == ["run"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_stop_with_one_line_and_the_same_command_goes_on(tmp_path, number, code) -> None:
    calls, out = tmp_path / "calls", tmp_path / "out" / "run"
    steered = {"PATTERNS_CALLS": calls, "PATTERNS_SECONDS": 0.002}
    calls.touch()
    process = start(command(out, n=640), tmp_path / "home", **steered)
    wait_until(lambda: count(calls) >= 200, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == code
    one_line_of(err, "stopped", "the same command again")
    assert not out.exists()
    code, _, err = here(command(out, n=640), tmp_path / "home", **steered)
    assert code == 0, err
    nothing_but_reuse(err)
    assert 640 <= count(calls) < 2 * 640 - 64
    assert here(command(tmp_path / "whole", n=640), tmp_path / "other home")[0] == 0
    assert evidence_bytes(out) == evidence_bytes(tmp_path / "whole")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run of the embeddings leaves that nothing happens to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert here(command(folder / "run", **EMBEDDING), folder / "home")[0] == 0
    return evidence_bytes(folder / "run")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 16 MB; only root may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("mounting a small disk is not permitted here")
    yield place
    subprocess.run([str(shutil.which("umount")), "-l", str(place)], check=True)


@pytest.mark.parametrize("full", ["home", "out"])
def test_a_full_disk_stops_with_one_line_and_the_same_command_goes_on(
    small_disk, tmp_path, undisturbed, full
) -> None:
    places = {"home": tmp_path / "home", "out": tmp_path / "out"} | {full: small_disk / full}
    calls = tmp_path / "calls"
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(16 * 2**20 - 250_000))
    again = command(places["out"] / "run", **EMBEDDING)
    code, _, err = finish(again, places["home"], PATTERNS_CALLS=calls)
    assert code == 2, err
    one_line_of(err, str(small_disk), "space")
    assert not (places["out"] / "run").exists()
    ballast.unlink()
    code, _, err = here(again, places["home"], PATTERNS_CALLS=calls)
    assert code == 0, err
    nothing_but_reuse(err)
    assert count(calls) < 2 * SAMPLES  # something was kept
    assert evidence_bytes(places["out"] / "run") == undisturbed


@pytest.mark.parametrize("most", [4_000, 300_000])
def test_a_file_that_may_not_grow_stops_with_one_line(tmp_path, undisturbed, most) -> None:
    """What fails first is a database or the report."""
    out = tmp_path / "out" / "run"
    code, _, err = finish(
        command(out, **EMBEDDING),
        tmp_path / "home",
        limits=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert code == 2, err
    one_line_of(err, "space")
    assert not out.exists()
    code, _, err = here(command(out, **EMBEDDING), tmp_path / "home")
    assert code == 0, err
    nothing_but_reuse(err)
    assert evidence_bytes(out) == undisturbed
