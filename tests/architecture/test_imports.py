"""The house: which room may import which, without cycles, and nothing heavy on import."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from tests.architecture.source_tree import (
    FILES,
    MODULES,
    folder_of,
    imports_of,
    libraries_of,
    name_of,
    room_of,
)

ROOMS = {
    "": {"core", "display"},  # evenhand/__init__ names things lazily in its stub, and says who shows findings
    "core": set(),
    "display.text": {"core"},
    "display": {"core", "display.text"},
    "stats": set(),
    "files": {"core"},
    "models": {"core", "display.text", "files"},
    "evidence": {"core", "display", "files"},
    "metrics": {"core", "display.text", "stats", "evidence"},
    "mitigate": {"core", "files", "stats", "evidence"},
    "report": {"core", "display.text", "display", "files", "evidence"},
    "runs": {"core", "display", "files", "evidence", "metrics"},
    "benchmarks": {"core", "display.text", "files", "stats", "evidence", "metrics", "mitigate", "runs"},
    "benchmarks.papers": {
        "core", "display.text", "files", "stats", "evidence", "metrics", "mitigate", "runs", "benchmarks",
    },
    "workflows.execution": {"core", "files", "models", "benchmarks"},
    "workflows": {
        "core", "display.text", "display", "files", "stats", "evidence", "metrics", "mitigate", "models",
        "report", "runs", "benchmarks", "workflows.execution",
    },
    "cli": {"core", "display.text", "display", "runs", "workflows.execution", "workflows"},
    "__main__": {"cli"},  # python -m evenhand
}  # fmt: skip
HEAVY = [
    "torch",
    "polars",
    "scipy",
    "pydantic",
    "altair",
    "pandas",
    "jinja2",
    "PIL",
    "narwhals",
    "vl_convert",
    "faiss",
    "sklearn",
]


def test_a_room_imports_only_what_the_table_allows():
    forbidden = [
        f"{name_of(path)} imports {module}"
        for path in FILES
        for module in sorted(imports_of(path))
        if room_of(module) not in ROOMS[room_of(name_of(path))] | {room_of(name_of(path))}
    ]
    assert forbidden == []


def test_every_room_is_in_the_table():
    assert {room_of(module) for module in MODULES} <= set(ROOMS)


def test_the_papers_may_ship_apart():
    """No room may import them, nor name them: they are found as entry points of this package."""
    papers = "benchmarks.papers"
    assert not [room for room, allowed in ROOMS.items() if papers in allowed]
    named = [name_of(path) for path in FILES if f"evenhand.{papers}" in path.read_text(encoding="utf-8")]
    assert {room_of(name) for name in named} == {papers}


def cycle_in(graph):
    """Modules that import each other in a ring; empty where none do."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as problem:
        return problem.args[1]
    return []


@pytest.mark.parametrize("late", [False, True], ids=["on import", "late imports too"])
def test_no_import_cycles(late):
    graph = {name: imports_of(path, late=late) - {name, "evenhand"} for name, path in MODULES.items()}
    assert cycle_in(graph) == []
    assert cycle_in({"a": {"b"}, "b": {"a"}}) != []


def test_no_two_folders_import_each_other():
    """Also over a third one, and also a folder and one inside it."""
    graph = {}
    for module, path in MODULES.items():
        used = {folder_of(other) for other in imports_of(path)} - {folder_of(module)}
        graph.setdefault(folder_of(module), set()).update(used - {"evenhand"})
    assert cycle_in(graph) == []


def test_imports_are_absolute_and_name_modules_that_exist():
    for path in FILES:
        for module in imports_of(path):
            assert module in MODULES, f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("folder", ["perf", "simulations", "examples"])
def test_what_stands_beside_the_package_imports_names_that_exist(folder):
    files = sorted((Path(__file__).parents[2] / folder).rglob("*.py"))
    named = {
        (node.module, alias.name)
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "evenhand"
        for alias in node.names
    }
    assert named, folder
    missing = {
        f"{module}.{name}"
        for module, name in named
        if f"{module}.{name}" not in MODULES and not hasattr(import_module(module), name)
    }
    assert missing == set()


def test_stats_are_pure():
    allowed = {
        "__future__",
        "collections",
        "dataclasses",
        "functools",
        "warnings",
        "numpy",
        "scipy",
        "evenhand",
    }
    for path in FILES:
        if room_of(name_of(path)) == "stats":
            assert libraries_of(path) <= allowed, name_of(path)


def test_pickle_is_never_imported():
    banned = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    for path in FILES:
        assert not libraries_of(path) & banned, name_of(path)


def loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import evenhand",
        "import evenhand; dir(evenhand); evenhand.__all__",
        "import evenhand; evenhand.metrics; dir(evenhand.metrics)",
        "import evenhand; evenhand.UserError",
        "import evenhand.cli.main",
    ],
)
def test_importing_loads_nothing_heavy(statement):
    assert not loaded_after(statement) & set(HEAVY)


def test_help_loads_nothing_heavy():
    statement = (
        "import contextlib, io\nfrom evenhand.cli.main import main\nsys.argv = ['evenhand', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "    try: main()\n"
        "    except SystemExit as done: assert done.code in (0, None), done.code\n"
        "assert 'audit' in out.getvalue()"
    )
    assert not loaded_after(statement) & set(HEAVY)
