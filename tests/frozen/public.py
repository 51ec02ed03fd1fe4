"""Help texts and public names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import click
import typer.main
from typer.testing import CliRunner

import evenhand
from evenhand.cli.main import app

LISTED = ("benchmarks", "metrics", "mitigations", "artifacts")


def write_help(folder: Path) -> None:
    """``--help`` of every command, and what ``ls`` prints."""
    folder.mkdir(parents=True)
    for words in _commands(typer.main.get_command(app)):
        (folder / f"{'-'.join(('evenhand', *words))}.txt").write_text(_typed([*words, "--help"]))
    for kind in LISTED:
        (folder / f"ls-{kind}.txt").write_text(_typed(["ls", kind]))


def _commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(inner, (*words, name))


def _typed(words: list[str]) -> str:
    made = CliRunner().invoke(app, words, prog_name="evenhand")
    return f"exit {made.exit_code}\n{made.output}"


def write_names(file: Path) -> None:
    """Every exported name with its signature, packages of the top in order."""
    lines = []
    for name in ("evenhand", *_exporting()):
        module = importlib.import_module(name)
        lines += [
            f"{name}.{public}{_signature(getattr(module, public))}" for public in sorted(module.__all__)
        ]
    file.write_text("\n".join(lines) + "\n")


def _exporting() -> list[str]:
    packages = [one.name for one in pkgutil.iter_modules(evenhand.__path__, "evenhand.") if one.ispkg]
    return sorted(name for name in packages if getattr(importlib.import_module(name), "__all__", None))


def _signature(thing: object) -> str:
    try:
        # a class has its name wherever its file lies
        return re.sub(r"evenhand(\.\w+)*\.(?=\w)", "", str(inspect.signature(thing)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f": {type(thing).__name__}"
