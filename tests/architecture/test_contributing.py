"""The recipes of CONTRIBUTING are typed as they are printed, and the tests of the house pass with them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
RECIPES = {"A metric": 2, "A benchmark": 2, "A model family": 2, "An export": 2, "A figure": 2}
"""Each recipe with the number of files that it may touch."""

PLACE = re.compile(
    r"^(?:New file `(?P<new>[^`]+)`|At the end of `(?P<end>[^`]+)`, after two empty lines"
    r"|In `(?P<inside>[^`]+)`, after `(?P<after>[^`]+)`):$"
)
FENCED = r"^([^\n]+)\n\n```(?:python|toml)\n(.*?)^```$"
HOUSE = (
    "tests/architecture", "tests/properties/test_every_metric.py", "tests/properties/test_metric_table.py",
    "tests/properties/test_degenerate.py", "tests/properties/test_invariance.py",
    "tests/metrics/test_declared_metrics.py", "tests/documents/test_docs_links.py",
    "tests/documents/test_architecture.py", "tests/report/test_export_kinds.py", "tests/cli/test_export.py",
    "tests/cli/test_audit.py", "tests/benchmarks/test_small_limits.py", "tests/gallery/test_gallery.py",
    "tests/models/test_hf_source.py",
)  # fmt: skip
"""Every file of tests that looks at names of metrics, benchmarks, families, exports or figures."""

CHOSEN = (
    "(architecture and not test_workers and not test_plain_install) or test_declared_metrics "
    "or test_docs_links or (test_metric_table and not a_finding_says) or misclassification_rate "
    "or (test_export_kinds and jsonl and audit) or no_format_is_lost or (twice_the_same and jsonl) "
    "or mistakes_are_one_line or unknown_listing "
    "or halves or no_benchmark_is_lost or of_the_specification or every_family or every_model_type"
)


@dataclass(frozen=True)
class Block:
    """What is typed, and where."""

    recipe: str
    file: str
    after: str | None  # how the line before it begins; empty: the end of the file; None: the file is new
    text: str


def blocks() -> list[Block]:
    """Every fenced block of the recipes with the place that the line above it names."""
    found = []
    for section in re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        for match in re.finditer(
            r"^([^\n]+)\n\n```(?:python|toml)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL
        ):
            said = PLACE.match(match[1])
            assert said, f"{match[1]!r} names no place; the forms are in {PLACE.pattern}"
            after = said["after"] or ("" if said["end"] else None)
            file = said["new"] or said["end"] or said["inside"]
            found.append(Block(section.partition("\n")[0], file, after, match[2]))
    return found


def files_of_a_clone() -> list[str]:
    """What git keeps or would keep; nothing where there is no git or no history."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return []
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return [name for name in listed.split("\0") if (ROOT / name).is_file()]


def files_not_ignored(folder: Path = ROOT) -> list[str]:
    """The same without git: what no line of .gitignore names."""
    lines = [".git", *(ROOT / ".gitignore").read_text(encoding="utf-8").split()]
    found = []
    for path in sorted(folder.iterdir()):
        name = path.relative_to(ROOT).as_posix()
        whole = {line.strip("/") for line in lines if "/" in line.rstrip("/")}
        parts = [line.strip("/") for line in lines if "/" not in line.rstrip("/")]
        if name in whole or any(fnmatch(path.name, part) for part in parts):
            continue
        found += files_not_ignored(path) if path.is_dir() else [name]
    return found


def copy_project(folder: Path) -> Path:
    """A clean clone, with what is new and not ignored; what Python and pytest compiled comes along."""
    for name in files_of_a_clone() or files_not_ignored():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
        if name.startswith(("src/", "tests/")):
            for compiled in (ROOT / name).parent.glob(f"__pycache__/{Path(name).stem}.*.pyc"):
                copied = folder / compiled.relative_to(ROOT)
                copied.parent.mkdir(exist_ok=True)
                shutil.copy2(compiled, copied)
    return folder


def type_in(folder: Path, block: Block) -> None:
    """Write a block where its place is."""
    path = folder / block.file
    if block.after is None:
        assert not path.exists(), f"{block.file} is there already"
        path.write_text(block.text, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if block.after:
        at = [place for place, line in enumerate(lines) if line.strip().startswith(block.after)]
        assert len(at) == 1, f"{len(at)} lines of {block.file} begin with {block.after!r}"
        lines.insert(at[0] + 1, block.text)
    else:
        lines.append("\n\n" + block.text)
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A copy of the project with all recipes in it."""
    folder = copy_project(tmp_path_factory.mktemp("contributing") / "project")
    for block in blocks():
        type_in(folder, block)
    return folder


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A module of Python, run in the copy on the copy's source."""
    paths = [str(folder / "src"), str(folder)]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_copy_without_git_holds_the_same_files():
    if not (listed := files_of_a_clone()):
        pytest.skip("there is no git, or no history")
    assert set(files_not_ignored()) == set(listed)


def test_each_recipe_touches_no_more_files_than_it_may():
    touched = {name: {block.file for block in blocks() if block.recipe == name} for name in RECIPES}
    assert {name: len(files) for name, files in touched.items()} == RECIPES
    assert {block.recipe for block in blocks()} == set(RECIPES)


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_printed_is_short(recipe):
    """Of imports, blank lines and a docstring there may be more."""
    lines = [line for block in blocks() if block.recipe == recipe for line in block.text.splitlines()]
    code = [line for line in lines if line.strip() and not line.startswith(("from ", "import ", '"""'))]
    assert len(code) <= 30


@pytest.mark.nightly
def test_the_tests_of_the_house_pass_with_all_recipes(typed):
    """With those of ``recipes.py``, which use each new thing once."""
    assert called(typed, "docs.make_cards").returncode == 0
    done = called(
        typed, "pytest", "-v", "-p", "no:xdist", "-p", "no:cacheprovider", *HOUSE, "-k", CHOSEN,
        "-o", "python_files=test_*.py recipes.py", "--ignore", "tests/architecture/test_contributing.py",
        "--tb", "short",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 400
    assert len(re.findall(r"^tests/architecture/recipes\.py::\w+ (?:PASSED|SKIPPED)", done.stdout, re.M)) == 5


def test_what_is_printed_has_the_types_of_the_house(typed, tmp_path):
    """From what mypy knows of the project already, as ``make test`` asks it first: a second instead of 25."""
    pytest.importorskip("mypy", reason="needs mypy, of the group check")
    known = ROOT / ".mypy_cache"
    if not known.is_dir():
        pytest.skip("mypy has not read this project yet; type: make types")
    cache = shutil.copytree(known, tmp_path / "cache")
    done = called(typed, "mypy", "--cache-dir", str(cache))
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_printed_is_written_as_the_house_writes(typed):
    pytest.importorskip("ruff", reason="needs ruff, of the group check")
    files = sorted({block.file for block in blocks() if block.file.endswith(".py")})
    for words in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = called(typed, "ruff", *words, *files)
        assert done.returncode == 0, done.stdout + done.stderr
