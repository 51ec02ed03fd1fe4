"""Prompt templates: the sentence that a word or phrase is put into before a model reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from evenhand.core.errors import InputError, ParameterError, one_line

BLANK = "{}"
SENSITIVITY: tuple[str, ...] = (
    "{}",
    "This is {}.",
    "That is {}.",
    "Here we see {}.",
    "It is about {}.",
    "A photo of {}.",
    "A picture that shows {}.",
    "The word {}.",
)
"""Templates of ``-p templates=sensitivity``: bare, plain sentences, and captions of images."""

PRESETS: Mapping[str, tuple[str, ...]] = {"sensitivity": SENSITIVITY}


def check_template(name: str, text: str) -> str:
    """The template, if it has exactly one place for a phrase."""
    if text.count(BLANK) != 1:
        raise ParameterError(
            f"-p {name}={one_line(text, 80)!r} has {text.count(BLANK)} places for a phrase; write {{}} "
            "once, for instance 'This is {}.'"
        )
    return text


def fill(template: str, phrase: str) -> str:
    """The prompt of a phrase; a phrase may hold braces of its own."""
    before, _, after = template.partition(BLANK)
    return f"{before}{phrase}{after}"


def parse_templates(text: str) -> tuple[str, ...]:
    """A set of templates: none, a preset by name, or a file with one a line."""
    if not text or text in PRESETS:
        return PRESETS.get(text, ())
    path = Path(text).expanduser()
    if not path.is_file():
        listing = ", ".join(PRESETS)
        raise ParameterError(
            f"-p templates={one_line(text, 80)!r} is neither a file nor one of {listing}; give a text file "
            "with a template such as 'This is {}.' on each line"
        )
    return _checked(path, _lines(path))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as problem:
        raise InputError(
            f"{str(path)!r} cannot be read as templates: {type(problem).__name__}; give a text file in UTF-8"
        ) from None


def _checked(path: Path, lines: Iterable[str]) -> tuple[str, ...]:
    templates = dict.fromkeys(check_template("templates", line.strip()) for line in lines if line.strip())
    if not templates:
        raise InputError(f"{str(path)!r} holds no template; write one such as 'This is {{}}.' on each line")
    return tuple(templates)
