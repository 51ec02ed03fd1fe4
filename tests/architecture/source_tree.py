"""The source files as syntax trees, with what each imports."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "evenhand"
FILES = sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted module name, ``evenhand.core.errors``."""
    parts = ["evenhand", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


INNER_ROOMS = {"benchmarks.papers", "display.text", "workflows.execution"}
"""Folders of a room with rows of their own: what others import by itself, and what no room may import."""


def room_of(module: str) -> str:
    """The room of a module; the top of the package is the room ``""``."""
    _, room, inner, *_ = [*module.split("."), "", ""]
    return f"{room}.{inner}" if f"{room}.{inner}" in INNER_ROOMS else room


def folder_of(module: str) -> str:
    """The dotted name of the folder that holds the file of a module."""
    return ".".join(["evenhand", *MODULES[module].relative_to(SOURCE).parent.parts])


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file; a search for garbage among its nodes would take longer than they do."""
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of the syntax tree of a file."""
    return list(ast.walk(tree(path)))


@cache
def imports_of(path: Path, *, late: bool = True) -> set[str]:
    """Modules of ours that a file imports, also inside functions unless ``late`` is False."""
    found = set()
    for node in nodes(path) if late else _top_level(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            longer = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in longer}
    return {name for name in found if name.split(".")[0] == "evenhand"}


def libraries_of(path: Path) -> set[str]:
    """Top-level names of everything a file imports, late imports included."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def _top_level(module: ast.Module) -> list[ast.stmt]:
    """Statements that run on import: the module's, those under its ifs, tries and classes."""
    pending, found = list(module.body), []
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return found


def public_definitions(path: Path) -> list[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Public functions, classes and methods of public classes, by qualified name."""
    found = []
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.append((node.name, node))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found += [
                (f"{node.name}.{inner.name}", inner)
                for inner in node.body
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_")
            ]
    return found
