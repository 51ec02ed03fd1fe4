"""Text in columns of a terminal, where some signs take two and some none."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_WIDE, _NO_WIDTH = "WF", ("Mn", "Me", "Cf")


def cells(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def fitted(text: str, width: int) -> str:
    """A text that takes exactly so many columns: filled with blanks, or cut with an ellipsis."""
    if cells(text) > width:
        kept_text = ""
        for letter in text:
            if cells(kept_text + letter) > width - 1:
                break
            kept_text += letter
        text = f"{kept_text}…"
    return text + " " * (width - cells(text))


def wrapped(text: str, width: int = 80, *, first: str = "", rest: str | None = None) -> list[str]:
    """A text as lines of at most so many columns, broken at blanks; longer words are broken.

    ``first`` stands before the first line, ``rest`` before the others; None: blanks as wide as ``first``.
    """
    others = " " * cells(first) if rest is None else rest
    lines, line = [], first
    for word in _pieces(text.split(), width - max(cells(first), cells(others))):
        begins = line in (first, others)
        if not begins and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line, begins = others, True
        line += word if begins else f" {word}"
    return [*lines, line]


def terminal_rows(lines: Iterable[str], width: int = 80) -> int:
    """How many rows lines take in a terminal that breaks those that are too long."""
    return sum(max(1, -(-cells(line) // width)) for line in lines)


def _pieces(words: Iterable[str], width: int) -> Iterable[str]:
    """Words; those that are too long for a line in parts."""
    for word in words:
        part = ""
        for letter in word:
            if cells(part) + _cells(letter) > width:
                yield part
                part = ""
            part += letter
        yield part


def _cells(letter: str) -> int:
    if unicodedata.category(letter) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in _WIDE else 1
