"""Sentences as data: a pattern, and the numbers and names that stand in its places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_PLACES = re.compile(r"{(\w+)}")


class Slot(str):
    """A number as it is printed, with what it stands for."""

    __slots__ = ("is_share", "value")
    value: float
    is_share: bool  # written in per cent or points

    def __new__(cls, text: str = "", value: float = 0.0, *, is_share: bool = False) -> Slot:
        """Defaults are for copies, which get their fields afterwards."""
        slot = super().__new__(cls, text)
        slot.value, slot.is_share = value, is_share
        return slot


class Statement(str):
    """A finished text that has not forgotten what it is made of."""

    __slots__ = ("pattern", "places")
    pattern: str  # in English, whatever the language of the text
    places: Mapping[str, Any]  # what stands in its places, by name: slots, statements, and names as text

    def __new__(cls, text: str = "", pattern: str = "", places: Mapping[str, Any] | None = None) -> Statement:
        """Defaults are for copies, which get their fields afterwards."""
        statement = super().__new__(cls, text)
        statement.pattern, statement.places = pattern, places or {}
        return statement

    @classmethod
    def of(cls, pattern: str, /, **places: Any) -> Statement:
        """From a pattern that is the same in every language, as it has signs and no words."""
        return cls(pattern.format(**places), pattern, places)

    @classmethod
    def joined(cls, parts: Iterable[str], sign: str = " ") -> Statement:
        """Several texts as one; empty ones are left out."""
        texts = {f"part{number}": part for number, part in enumerate(filter(None, parts))}
        return cls(sign.join(texts.values()), sign.join(f"{{{name}}}" for name in texts), texts)

    def __add__(self, other: str) -> Statement:
        return self.joined((self, other), "")

    def __radd__(self, other: str) -> Statement:
        return self.joined((other, self), "")

    def statements(self) -> Iterator[Statement]:
        """It and the statements in it, in the order of the English pattern."""
        yield self
        for _, text in self._in_places():
            if isinstance(text, Statement):
                yield from text.statements()

    @property
    def words(self) -> str:
        """Its patterns, which are English, with names and numbers as they are printed."""
        places = {
            name: text.words if isinstance(text, Statement) else text for name, text in self._in_places()
        }
        return self.pattern.format(**places) if places else self.pattern

    def slots(self) -> Iterator[tuple[str, Any]]:
        """Each place that no statement stands in, by its name, of this and of the statements in it."""
        for name, text in self._in_places():
            yield from text.slots() if isinstance(text, Statement) else [(name, text)]

    def _in_places(self) -> Iterator[tuple[str, Any]]:
        for name in _PLACES.findall(
            self.pattern if self.places else ""
        ):  # a text of the user's may hold braces
            text = self.places[name]
            yield name, text if isinstance(text, str) else Slot(str(text), text)


def said(text: str) -> Statement:
    """A text as a statement; a plain one stands in the one place of it."""
    return text if isinstance(text, Statement) else Statement.of("{text}", text=text)


def bracketed(text: str) -> str:
    """A text in brackets, after a space; empty where it is."""
    return text and Statement.of(" ({text})", text=text)


def reworded(text: str, printed: str) -> Statement:
    """The same statement with another first letter or ending."""
    statement = said(text)
    return Statement(printed, statement.pattern, statement.places)
