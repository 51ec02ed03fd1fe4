"""``evenhand`` as a process, and what it leaves on disk."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.main import main

PATTERNS_FILE = Path(__file__).with_name("patterns.py")
EVENHAND = (sys.executable, "-m", "evenhand.cli.main")


def uri(name: str) -> str:
    """An object of patterns.py."""
    return f"{PATTERNS_FILE}:{name}"


def command(out: Path, model: str = "Model", benchmark: str = "PATTERNS", **parameters: object) -> list[str]:
    """``evenhand run`` of a benchmark and model of patterns.py."""
    given = [f"-p{name}={value}" for name, value in parameters.items()]
    return [*EVENHAND, "run", uri(benchmark), "--model", uri(model), *given, "-o", str(out)]


def environment(home: Path, **more: object) -> dict[str, str]:
    """This environment with another home and one thread for sums."""
    quiet = {"EVENHAND_HOME": str(home), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    return {**os.environ, **quiet, **{name: str(value) for name, value in more.items()}}


def start(
    arguments: list[str], home: Path, limits: Callable[[], None] | None = None, **more: object
) -> subprocess.Popen[str]:
    """A process that runs."""
    return subprocess.Popen(
        arguments,
        env=environment(home, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limits,  # noqa: PLW1509 - the limits of a process are set in it
    )


def finish(arguments: list[str], home: Path, **more: Any) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that has ended."""
    process = start(arguments, home, **more)
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def here(arguments: list[str], home: Path, **more: object) -> tuple[int, str, str]:
    """The same of a command that runs in this process: a start takes more than a small run."""
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        for name, value in environment(home, **more).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["evenhand", *arguments[len(EVENHAND) :]])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


def evidence_bytes(out: Path) -> dict[str, bytes]:
    """Every file of evidence, and the findings."""
    files = [*sorted((out / "evidence").rglob("*.parquet")), out / "findings.json"]
    return {str(file.relative_to(out)): file.read_bytes() for file in files}


def nothing_but_reuse(err: str) -> None:
    """Assert that stderr is empty, or one line that says how many answers were reused."""
    assert re.fullmatch(
        r"([\d,]+ of [\d,]+ answers of .+ are reused: .+; --forget-answers asks again\n)?", err
    )


def one_line_of(err: str, *words: str) -> None:
    """Assert that stderr is one line of ours that holds these words."""
    assert err.startswith("evenhand: "), err
    assert len(err.strip().splitlines()) == 1, err
    for word in words:
        assert word in err, err
