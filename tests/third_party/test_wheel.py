"""What is published: built from the source archive, accepted by twine, complete; it needs no checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec

import pytest

from tests.architecture.test_contributing import copy_project
from tests.conftest import ROOT
from tests.third_party.fresh import environment

TOOLS = ("build", "hatchling", "twine")
MISSING = [name for name in TOOLS if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)} of the group 'test'"),
]
SOURCE = ROOT / "src" / "evenhand"
CODE = """
import json
import evenhand as eh
frame = {"truth": ["a", "b"] * 30, "prediction": ["a", "b", "b"] * 20, "group": ["f", "m", "m", "f"] * 15}
import polars as pl
run = eh.audit(pl.DataFrame(frame), truth="truth", prediction="prediction", by="group", metrics=["accuracy"])
print(json.dumps([eh.__file__, run["accuracy"].value]))
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The source archive and the wheel that is built from it, without an index."""
    root = tmp_path_factory.mktemp("dist")
    project = copy_project(root / "project")
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(root / "dist"), str(project)]
    subprocess.run(words, check=True, capture_output=True, cwd=root)
    shutil.rmtree(project)
    return root / "dist"


def only(folder, pattern):
    (path,) = folder.glob(pattern)
    return path


def test_twine_accepts_both(dist):
    words = [sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(dist.iterdir()))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


def test_both_hold_every_file_of_the_package(dist):
    expected = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "evenhand/py.typed" in expected
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        names = set(wheel.namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert sum(name.endswith(("LICENSE", "LICENSE.txt")) for name in names if ".dist-info/" in name) == 2
    with tarfile.open(only(dist, "*.tar.gz")) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in expected} <= inside
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "pyproject.toml"} <= inside


def test_the_wheel_runs_without_the_checkout(dist, tmp_path):
    python = environment(tmp_path / "env", only(dist, "*.whl"))
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), "-c", CODE], capture_output=True, text=True, check=True, cwd=tmp_path, env=bare
    )
    file, accuracy = json.loads(done.stdout.splitlines()[-1])
    assert file.startswith(str(tmp_path / "env"))
    assert accuracy == pytest.approx(0.5)
    command = [str(python.with_name("evenhand")), "--version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=bare).stdout
    assert printed.startswith("evenhand ")
