"""What README has a fresh machine type is what make and CI know; ``fresh_clone.py`` types it for real."""

import re
import shutil
import subprocess

import pytest

from tests.conftest import ROOT
from tests.examples.fresh_clone import bare, commands


def steps_of(target):
    """What make would type for a target on a fresh machine."""
    done = subprocess.run(
        [shutil.which("make"), "--dry-run", "--always-make", target],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_readme_begins_with_two_commands_and_ci_calls_the_second():
    assert commands() == ["make demo", "make test"]
    assert "exec make test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on the path")
def test_the_demo_makes_its_environment_and_trains_nothing():
    steps = steps_of("demo")
    assert re.search(r"-m venv .*-m pip install .*evenhand demo .*evenhand run sprites ", steps, re.DOTALL)
    assert "torch" not in steps
    assert "sprites_model" not in steps
    assert steps_of("sprites").count("sprites_model.py --removed") == 2


def test_what_is_typed_sees_nothing_of_this_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", "here")
    monkeypatch.setenv("PYTHONPATH", "here")
    assert not {"VIRTUAL_ENV", "PYTHONPATH"} & bare(tmp_path).keys()
    assert "here" not in bare(tmp_path).values()
