"""The text of a definition: YAML that is checked before it is believed."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from evenhand.core.errors import InputError, UnknownName, described, one_line

MAX_BYTES: int = 4 * 2**20
"""Larger files are no definitions."""

_KINDS = {str: "a text", bool: "true or false", int: "a whole number", list: "a list", dict: "a mapping"}


class _AliasError(Exception):
    """A YAML alias, which could make a short file long."""


class _Loader(yaml.SafeLoader):
    """Reads a text once, and no alias."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise _AliasError
        return super().compose_node(parent, index)


def parse_text(content: bytes, file_name: str) -> dict[str, Any]:
    """The mapping that a YAML file holds; no aliases, no repeated keys, no objects."""
    if len(content) > MAX_BYTES:
        raise InputError(
            f"{file_name!r} has {len(content):,} bytes; a definition has at most {MAX_BYTES:,}; "
            "shorten its lists"
        )
    try:
        text = unicodedata.normalize("NFC", content.decode("utf-8"))  # one é, however it was typed
        loader = _Loader(text)
        node = loader.get_single_node()
        _check_keys(node, file_name)
        parsed = None if node is None else loader.construct_document(node)
    except _AliasError:
        raise InputError(
            f"{file_name!r} uses a YAML alias (*name); write the text out where it is used"
        ) from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as problem:
        cause = described(problem)[:300]
        raise InputError(f"{file_name!r} is no YAML: {cause}; see docs/generate.md for an example") from None
    if not isinstance(parsed, dict):
        raise InputError(f"{file_name!r} holds no mapping; write for instance: classes: [cat, dog]")
    return parsed


def field_of(holder: Mapping[str, Any], name: str, kind: type, default: Any, where: str) -> Any:
    """One value of a mapping, of the kind it must be; where ``default`` is ``...`` there must be one."""
    if name not in holder or holder[name] is None:
        if default is ...:
            raise InputError(f"{where} has no {name!r}; add a line: {name}: ...")
        return default
    value = holder[name]
    if type(value) is not kind:
        quoted = "; write it in quotes" if kind is str and isinstance(value, str | bool | int | float) else ""
        raise InputError(f"{where}: {name} must be {_KINDS[kind]}, and is {_shown(value)}{quoted}")
    if kind in (str, list) and not (value.strip() if isinstance(value, str) else value):
        raise InputError(f"{where}: {name} is empty; take it out or fill it in")
    return one_line(value) if isinstance(value, str) else value


def texts_of(holder: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    """A list of texts, which may be missing."""
    texts = field_of(holder, name, list, [], where)
    return tuple(
        field_of({name: text}, name, str, ..., f"{where}, line {i}") for i, text in enumerate(texts, 1)
    )


def check_keys(holder: Mapping[Any, Any], possible: Sequence[str], where: str) -> None:
    """Refuse keys that mean nothing here, which mostly are misspelt."""
    for key in holder:
        if key not in possible:
            raise UnknownName(f"key of {where}", one_line(key, 60), possible, "see docs/generate.md")


def _check_keys(node: Any, file_name: str) -> None:
    """Refuse a key that stands twice in a mapping: YAML would silently take the last."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen if isinstance(key.value, str) else False:
                line = key.start_mark.line + 1
                raise InputError(f"{file_name!r} says {key.value!r} twice, again in line {line}; keep one")
            seen.add(key.value if isinstance(key.value, str) else None)
            _check_keys(value, file_name)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _check_keys(child, file_name)


def _shown(value: Any) -> str:
    kind = next((words for kind, words in _KINDS.items() if type(value) is kind), "something else")
    return f"{one_line(value, 40)!r}" if isinstance(value, str | bool | int | float) else kind
