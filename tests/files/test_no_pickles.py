"""Nothing that is read back can run code: no cache is unpickled, in this package or by a library for it."""

from __future__ import annotations

import ast
from pathlib import Path

import evenhand
from evenhand.report.inline import page_environment

SOURCES = sorted(Path(evenhand.__file__).parent.rglob("*.py"))
RUN_CODE = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
TO_WORKERS = {"ray.py"}  # sends the user's own code to processes of the user's


def imported(tree: ast.AST) -> set[str]:
    """Modules and names that a source imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name.partition(".")[0] for alias in node.names}
            names |= {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) else set()
    return names


def test_no_module_reads_what_runs_code() -> None:
    assert len(SOURCES) > 500
    for source in SOURCES:
        tree = ast.parse(source.read_text(encoding="utf-8"))
        assert source.name in TO_WORKERS or not imported(tree) & RUN_CODE, source
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            given = {word.arg: word.value for word in call.keywords}
            if ast.unparse(call.func) == "torch.load":
                assert ast.unparse(given["weights_only"]) == "True", source
            if "allow_pickle" in given:
                assert ast.unparse(given["allow_pickle"]) == "False", source


def test_compiled_templates_are_kept_nowhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    environment = page_environment()
    for name in environment.list_templates():
        environment.get_template(name)
    assert environment.bytecode_cache is None
    assert not any(tmp_path.iterdir())
