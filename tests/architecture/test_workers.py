"""What is left of a group goes on in another worker when a test does not end."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT

HOOK = """
import pytest
from tests import distribution

@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return distribution.Groups(config, log)
"""
TESTS = """
import threading
import pytest

@pytest.mark.parametrize("number", range(4))
def test_number(number):
    if number == 1:
        threading.Event().wait()
"""


def test_a_test_that_does_not_end_is_named_and_the_others_run(tmp_path):
    (tmp_path / "conftest.py").write_text(HOOK, encoding="utf-8")
    (tmp_path / "test_group.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-n", "1", "-o", "timeout=1", "-o", "timeout_method=thread"]
    path = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [*command, "-o", "faulthandler_timeout=0.5", "-p", "no:cacheprovider", "."],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": path},
        capture_output=True, check=False, text=True, timeout=120,
    )  # fmt: skip
    assert "1 failed, 3 passed" in done.stdout
    assert "crashed while running 'test_group.py::test_number[1]'" in done.stdout
    assert "in test_number" in done.stderr
