"""Names to objects: built in, installed as entry points, ``module:object`` or ``file.py:object``."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from evenhand.core.errors import EvenhandError, InputError, UnknownName, cause_of, exits_are_errors

USER_MODULES = "evenhand_user_"  # how modules are called that were read from a user's file


class Registry:
    """Lazily imported objects of one ``kind``, a singular noun: ``builtin`` or of entry point ``group``."""

    def __init__(self, kind: str, builtin: Mapping[str, str], group: str) -> None:
        self.kind, self.builtin, self.group = kind, dict(builtin), group

    def names(self) -> list[str]:
        """Every name that can be asked for, sorted."""
        return sorted({*self.builtin, *(point.name for point in _points(self.group, _installed()))})

    def get(self, name: str) -> Any:
        """The object behind a name, ``module:object`` or ``file.py:object``."""
        if name in self.builtin:
            return load_object(self.builtin[name])
        for point in _points(self.group, _installed()):
            if point.name == name:
                return point.load()
        if ":" in name:
            return load_object(name)
        raise UnknownName(self.kind, name, self.names(), "or give your own as file.py:object")


@lru_cache(maxsize=32)
def _points(group: str, _: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """What installed packages add to a group; it opens a file of every one of them."""
    return tuple(entry_points(group=group))


def _installed() -> tuple[tuple[str, int], ...]:
    """Where Python finds packages and when each place changed: another value once one is installed."""
    folders = [Path(folder) for folder in sys.path]
    changes = [(str(folder), folder.stat().st_mtime_ns) for folder in folders if folder.exists()]
    return tuple(change for change in changes if _may_hold_packages(*change))


@lru_cache(maxsize=128)
def _may_hold_packages(folder: str, _: int) -> bool:
    """Whether packages can be installed there as it is now; the folder of a user's file seldom holds any."""
    path = Path(folder)
    if not path.is_dir() or path.suffix == ".egg":
        return True
    with suppress(OSError):
        return any(name.lower().endswith((".dist-info", ".egg-info")) for name in os.listdir(path))
    return True


def load_object(reference: str) -> Any:
    """Import ``module:object`` or ``path/to/file.py:object``."""
    where, _, attribute = reference.rpartition(":")
    is_file = where.endswith(".py")
    if not where or not attribute.isidentifier() or (where.startswith(".") and not is_file):
        raise InputError(f"{reference!r} names no object; give module:object or file.py:object")
    with exits_are_errors(f"{reference!r}"):
        module = _load_file(Path(where)) if is_file else _load_module(where)
    if not hasattr(module, attribute):
        raise UnknownName("object", attribute, _own_names(module), f"objects of {where} are meant")
    return getattr(module, attribute)


def _own_names(module: ModuleType) -> list[str]:
    """Public names that a module defines itself rather than imports."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and module.__name__ in (getattr(value, "__module__", None), type(value).__module__)
    ]


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name and not (name == problem.name or name.startswith(problem.name + ".")):
            raise  # the module exists; something it needs does not
        message = f"there is no Python module {name!r}; check the spelling, or give file.py:object"
        raise InputError(message) from None


class _FromSource(importlib.machinery.SourceFileLoader):
    """Runs the source as it lies there: bytecode of a file rewritten within a second would be the old one."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}; give an existing file as file.py:object")
    _make_importable(path)
    name = f"{USER_MODULES}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_FromSource(name, str(path)))
    if spec is None or spec.loader is None:
        raise InputError(f"{str(path)!r} cannot be imported as Python; give a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up here
    try:
        spec.loader.exec_module(module)
    except EvenhandError:
        raise
    except Exception as problem:
        cause = cause_of(problem)
        message = f"{str(path)!r} could not be imported: {cause}; mend it, or install what it needs"
        raise InputError(message) from problem
    return module


_FOLDERS: list[str] = []  # of users' files, the last one first; behind all installed libraries
_NEIGHBOURS: set[str] = set()  # files beside them that they may have imported


def neighbours(path: Path) -> list[Path]:
    """The files below the folder of a Python file that it imports, directly or through one another.

    Imports inside functions count, too. A neighbour by the name of an installed library is listed as well,
    though the library is what is imported.
    """
    start, folder = path.resolve(), path.resolve().parent
    files, waiting = dict[Path, None](), [start]
    while waiting:
        file = waiting.pop()
        for base, name in _imports(file, folder):
            module = base.joinpath(*name.split("."))
            for candidate in (module.with_name(f"{module.name}.py"), module / "__init__.py"):
                is_new = candidate != start and candidate not in files
                if is_new and candidate.is_relative_to(folder) and candidate.is_file():
                    files[candidate] = None
                    waiting.append(candidate)
    return list(files)


def _imports(file: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Every module that a file may import: the folder from which, and its dotted name."""
    for level, name in _named_imports(file.read_bytes()):
        yield file.parents[level - 1] if level else folder, name


@lru_cache(maxsize=128)
def _named_imports(source: bytes) -> tuple[tuple[int, str], ...]:
    """By how many dots and which dotted name a source imports; a file is loaded often and parsed once."""
    modules: list[tuple[int, str]] = []
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):  # importing it says so
        return ()
    for node in nodes:
        level, names = 0, list[str]()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            level = node.level
            start = f"{node.module}." if node.module else ""
            names = [f"{start}{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            modules += [(level, ".".join(parts[: end + 1])) for end in range(len(parts))]
    return tuple(modules)


def _make_importable(path: Path) -> None:
    """Let a user's file import its neighbours, as they are now; installed libraries keep their names."""
    folder, files = path.resolve().parent, neighbours(path)
    names = {file.relative_to(folder).parts[0].removesuffix(".py") for file in files}
    _NEIGHBOURS.update(map(str, files))
    loaded = list(sys.modules.items()) if names else []  # there are thousands of modules
    for name, module in loaded:  # edited since, or of the same name in another folder
        if name.partition(".")[0] in names and getattr(module, "__file__", None) in _NEIGHBOURS:
            del sys.modules[name]
    importlib.invalidate_caches()
    if str(folder) in sys.path and str(folder) not in _FOLDERS:
        return  # the user's own order
    others = [entry for entry in _FOLDERS if entry != str(folder)]
    usual = [entry for entry in sys.path if entry not in _FOLDERS]
    _FOLDERS[:] = [str(folder), *others]
    sys.path[:] = usual + _FOLDERS
