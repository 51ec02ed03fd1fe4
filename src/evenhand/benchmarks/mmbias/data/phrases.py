"""The phrase file of MMBias: words of each group, and unpleasant and pleasant words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.benchmarks.mmbias.data.groups import names_by_alias, plain
from evenhand.benchmarks.mmbias.data.irregularities import BLANKS, REPEATED, DataIrregularity
from evenhand.core.errors import InputError, one_line

NAMES = frozenset({"textual_phrases.txt", "textual_phrases.json"})
"""What the file is called, in lower case."""

_ATTRIBUTES = {"unpleasant": "unpleasant_phrases", "pleasant": "pleasant_phrases"}
_GROUPS = "category_phrases"
_LARGEST = 64 * 2**20  # bytes of a JSON file


@dataclass(frozen=True)
class Phrases:
    """Phrases by set, and what was unusual."""

    targets: Mapping[str, tuple[str, ...]]  # set -> phrases, in the order of the file
    attributes: Mapping[str, tuple[str, ...]]  # ``unpleasant``, then ``pleasant``
    traps: tuple[DataIrregularity, ...]  # blanks that were removed, and repeated phrases


def read_phrases(path: Path) -> Phrases:
    """Read a phrase file; groups that MMBias does not have keep their own names."""
    return parse_phrases(read_json(path), path)


def parse_phrases(content: Any, path: Path) -> Phrases:
    """The phrases in what a JSON file holds; as ``read_phrases``."""
    required_keys = (*_ATTRIBUTES.values(), _GROUPS)
    missing = [key for key in required_keys if not isinstance(content, dict) or key not in content]
    if missing:
        raise InputError(
            f"{str(path)!r} has no {missing[0]!r}; a phrase file of MMBias is one JSON object with the keys "
            f"{', '.join(required_keys)}"
        )
    groups = content[_GROUPS]
    if not isinstance(groups, dict) or not groups:
        raise InputError(f"{_GROUPS!r} in {str(path)!r} must be groups with lists of phrases")
    traps: list[DataIrregularity] = []
    attributes = {name: clean(content[key], name, path, traps) for name, key in _ATTRIBUTES.items()}
    set_names = names_by_alias()
    targets: dict[str, tuple[str, ...]] = {}
    for key, phrases in groups.items():
        name = set_names.get(plain(key)) or str(key)
        if name in targets or name in attributes:
            raise InputError(f"{str(path)!r} has the group {name!r} twice, the second time as {key!r}")
        targets[name] = clean(phrases, name, path, traps)
    return Phrases(targets, attributes, tuple(traps))


def read_json(path: Path) -> Any:
    """What a JSON file holds; of JSON lines, the list of them."""
    try:
        if not path.is_file():  # a pipe would be waited for
            raise InputError(f"{str(path)!r} is not a file; give a JSON file")
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{str(path)!r} has more than {_LARGEST:,} bytes; sets of phrases are smaller")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{str(path)!r} cannot be read as text: {one_line(problem)}") from problem
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines):
            return _lines(path, lines)
        raise InputError(f"{str(path)!r} is not JSON: {one_line(problem)}") from problem


def _lines(path: Path, lines: Iterable[str]) -> list[Any]:
    values = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as problem:
            raise InputError(
                f"line {number} of {str(path)!r} is not JSON: {one_line(problem)}; give one JSON object, or "
                "one on each line"
            ) from problem
    return values


def clean(phrases: object, name: str, path: Path, traps: list[DataIrregularity]) -> tuple[str, ...]:
    """The phrases of a set without blanks around them, each once; what was unusual is added to ``traps``."""
    if not isinstance(phrases, list) or not phrases:
        what = "is empty" if phrases == [] else "is no list of phrases"
        raise InputError(f"the set {name!r} in {str(path)!r} {what}; give at least one phrase")
    unique: dict[str, None] = {}
    for original in phrases:
        if not isinstance(original, str) or not original.strip() or not is_text(name + original):
            raise InputError(
                f"the set {name!r} in {str(path)!r} holds {repr(original)[:60]}; each phrase must be a text "
                "that is not empty"
            )
        phrase = original.strip()
        if phrase != original:
            traps.append(
                DataIrregularity(BLANKS, name, phrase, "", f"written {original!r}; the blanks were removed")
            )
        if phrase in unique:
            traps.append(DataIrregularity(REPEATED, name, phrase, name, "counted once"))
        unique[phrase] = None
    return tuple(unique)


def is_text(text: str) -> bool:
    """Whether it can be written: JSON, and names of files, may hold what is no character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
