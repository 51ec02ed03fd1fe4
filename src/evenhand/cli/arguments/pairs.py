"""``KEY=VALUE`` options."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.errors import ParameterError


def parse_pairs(option: str, entries: Sequence[str]) -> dict[str, str]:
    """A dictionary from ``KEY=VALUE`` texts."""
    pairs: dict[str, str] = {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        if not equals or not key:
            raise ParameterError(f"{option} {entry!r} cannot be read; write {option} KEY=VALUE")
        if key in pairs:
            raise ParameterError(f"{option} {key} is given twice; give it once")
        pairs[key] = value
    return pairs
