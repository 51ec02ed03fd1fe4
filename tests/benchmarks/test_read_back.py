"""What runs of all benchmarks say, of blind, planted and odd models, as their own tests make them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def read_back(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.read_back",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
def test_every_run_that_tests_of_benchmarks_make_says_nothing_false():
    done = read_back("tests/benchmarks", "tests/papers", f"--ignore={Path(__file__).relative_to(ROOT)}")
    assert done.returncode == 0, done.stdout[-3_000:]


def test_a_run_that_says_something_false_fails_its_test(tmp_path):
    (tmp_path / "test_false.py").write_text(
        "import evenhand as eh, polars as pl\n"
        "from evenhand.display.overview import mistakes\n"
        "def test(monkeypatch):\n"
        "    monkeypatch.setattr(mistakes, 'p_phrase', lambda p: 'p = 0.123')\n"
        "    table = pl.DataFrame({'t': ['a', 'b'] * 20, 'p': ['a', 'b'] * 15 + ['b', 'b'] * 5,\n"
        "                          'g': ['x'] * 22 + ['y'] * 18})\n"
        "    eh.audit(table, truth='t', prediction='p', by='g')\n"
    )
    done = read_back(str(tmp_path / "test_false.py"))
    assert done.returncode == 1
    assert "Contradiction(" in done.stdout
