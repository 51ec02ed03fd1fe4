"""The script of random mutants: where it sees places, and what it says of a toy package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from simulations.mutants.__main__ import drawn
from simulations.mutants.places import places_of

ROOT = Path(__file__).resolve().parents[2]
TOY = """\
MOST = 3


def total(a, b):
    return a + b


def few(items):
    return len(items) <= MOST


def unseen(a):
    return -a
"""
TESTS = """\
from toy.sums import few, total


def test_total():
    assert total(2, 3) == 5


def test_few():
    assert few("ab") and not few("abcdefg")
"""


def changed(source: str) -> list[str]:
    return [place.applied(source) for place in places_of(source)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a + b", ["x = a - b"]),
        ("x = (a)  // (  # ünd *\n    b)", ["x = (a)  * (  # ünd *\n    b)"]),
        ("ä = 'ä' * n", ["ä = 'ä' / n"]),
        ("x += y", ["x -= y"]),
        ("a < b <= c", ["a <= b <= c", "a < b < c"]),
        ("a is not b", ["a is b"]),
        ("a not in b", ["a in b"]),
        ("a and b and c", ["a or b and c", "a and b or c"]),
        ("x = -y", ["x = y"]),
        ("x = [1, 0.5, 0.0]", ["x = [2, 0.5, 0.0]", "x = [1, 0.75, 0.0]", "x = [1, 0.5, 1.0]"]),
        ("def f(x: int = 7) -> int: ...", ["def f(x: int = 8) -> int: ..."]),
    ],
)
def test_places(before: str, after: list[str]) -> None:
    assert changed(before) == after


@pytest.mark.parametrize(
    "source",
    [
        '"""At most 3."""', "Number = int | float", "x: int | None = None", "__all__ = [1]", "x = f'{a + 1}'",
        "raise ValueError(1 + 2)", "error = UserError(1 + 2)", "warnings.warn('a' + 'b', stacklevel=2)",
        "@metric(order=1)\ndef f(): ...", "isinstance(x, int | str)",
        "if TYPE_CHECKING:\n    x = 1 + 2", "x = True",
    ],
)  # fmt: skip
def test_what_is_said_is_left_out(source: str) -> None:
    assert changed(source) == []


def test_mutants_are_drawn_by_seed_and_can_be_compiled() -> None:
    few, more, others = (drawn(n, seed, "stats/paired") for n, seed in ((30, 0), (60, 0), (30, 1)))
    assert [one.key for one in few] == [one.key for one in more[:30]] != [one.key for one in others]
    for mutant in more:
        compile(mutant.place.applied(mutant.source), mutant.file, "exec")
        assert mutant.changed != mutant.line


def test_toy_mutants_are_killed_where_a_test_tells_them_apart(tmp_path: Path) -> None:
    package = tmp_path / "src" / "toy"
    package.mkdir(parents=True)
    for path, text in {
        package / "__init__.py": "", package / "sums.py": TOY, tmp_path / "test_sums.py": TESTS,
        tmp_path / "pytest.ini": "[pytest]\n",
    }.items():  # fmt: skip
        path.write_text(text)
    command = [sys.executable, "-m", "tests.simulations.toy_mutants", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        ["MOST = 4", "survived", ""],
        ["return a - b", "killed", "test_sums.py::test_total"],
        ["return len(items) < MOST", "survived", ""],
        ["return a", "survived", "no test runs this line"],
    ]
    assert (package / "sums.py").read_text() == TOY
