"""Groupings as users name them: one attribute, several crossed, or a list of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from evenhand.core.errors import ParameterError, check_known
from evenhand.metrics.estimates import names_of

Grouping: TypeAlias = str | tuple[str, ...] | list[str]


def names_in(columns: Sequence[str], entry: str | None, separator: str) -> tuple[str, ...]:
    """The columns that a text names, such as ``A+B``, unless a column is called just that."""
    if entry is None:
        return ()
    if entry in columns:
        return (entry,)
    names = tuple(entry.split(separator))
    check_known("column", names, columns)
    return names


def groupings_of(by: Grouping | Sequence[Grouping]) -> list[tuple[str, ...]]:
    """Groupings as a list of tuples; a text or a tuple alone is one grouping."""
    entries = [by] if isinstance(by, str | tuple) else list(by)
    groupings = [names_of(entry) for entry in entries]
    if not groupings or not all(groupings):
        raise ParameterError("an audit compares groups: name at least one attribute with --by, in Python by=")
    return list(dict.fromkeys(groupings))
