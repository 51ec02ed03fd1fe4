"""A benchmark is one small file beside its card: at most 150 lines, and no other file names it."""

import inspect
from pathlib import Path

import pytest

import evenhand
from evenhand.benchmarks.catalogue import BENCHMARKS

MOST = 150
SMALL = (
    "bbq_v", "clip/fairface_words", "facet", "geode", "gras", "pairs", "portraits",
    "social_counterfactuals",
)  # fmt: skip
"""Benchmarks that are one file; add yours."""
MAY_NAME = {"benchmarks/catalogue.py", "benchmarks/datasets/download_source.py"}
"""Where a name is looked up."""
SOURCE = Path(evenhand.__file__).parent


def file_of(benchmark):
    """Where a declared benchmark reads its samples, or a class is written."""
    return Path(inspect.getfile(getattr(benchmark, "samples", type(benchmark))))


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_is_one_small_file_beside_its_card(name, capsys):
    benchmark = BENCHMARKS.get(name)
    file = file_of(benchmark)
    lines = len(file.read_text(encoding="utf-8").splitlines())
    with capsys.disabled():
        print(f"\n{name}: {lines} lines in {file.name}")
    assert lines <= MOST
    assert file.with_name("card.md").is_file()
    assert {path.name for path in file.parent.glob("*.py")} <= {"__init__.py", file.name, "sources.py"}


@pytest.mark.parametrize("name", SMALL)
def test_no_other_file_of_the_core_names_it(name):
    file = file_of(BENCHMARKS.get(name))
    module = f".{file.parent.name}."
    naming = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if path.parent != file.parent and f"{module}{file.stem}" in path.read_text(encoding="utf-8")
    }
    assert naming <= MAY_NAME
