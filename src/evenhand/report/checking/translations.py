"""First lines in another language, compared with the English ones, whose truth is checked by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evenhand.display.overview.content import Headline, Overview
from evenhand.display.text.language import Catalogue
from evenhand.report.checking.printed_numbers import without_names
from evenhand.report.checking.read_back import Contradiction, statements

_NUMBER = re.compile(r"(?<![\w.,])[<>]?[−-]?\d+(?:[.,]\d+)*(?!\w)")
_BY_DATA = ("metric", "by", "beyond", "cases", "weight")
"""Fields of a headline that no language changes."""


def mistranslated(
    english: Overview, other: Overview, names: Sequence[str], catalogue: Catalogue
) -> Iterator[Contradiction]:
    """What first lines say otherwise than the English ones: other numbers, another name, another verdict.

    A name (of a group, label or column) that is a word of the catalogue, such as ``high``, may be translated,
    and a text that no catalogue has stays English. Not read are the words themselves, such as more and fewer:
    those of the catalogue are compared one by one where it is tested.
    """
    pairs = zip(english.headlines, other.headlines, strict=False)
    if len(english.headlines) != len(other.headlines) or any(_facts(a) != _facts(b) for a, b in pairs):
        yield Contradiction(other.title, "it has other headlines than in English")
        return
    words = set(re.findall(r"\w+", " ".join(catalogue.texts)))
    fixed = [name for name in dict.fromkeys(names) if words.isdisjoint(re.findall(r"\w+", name))]
    for text, translated in zip(statements(english), statements(other), strict=True):
        if text == translated:
            continue
        missing = [name for name in fixed if _holds(text, name) and not _holds(translated, name)]
        if missing:
            yield Contradiction(translated, f"it does not name {missing[0]!r}")
            continue
        plain, other_plain = without_names(text, names), without_names(translated, names)
        if sorted(_NUMBER.findall(plain)) != sorted(_numbers(other_plain, catalogue)):
            yield Contradiction(translated, f"its numbers are not those of {text!r}")


def _facts(line: Headline) -> tuple[object, ...]:
    return tuple(getattr(line, name) for name in _BY_DATA)


def _numbers(text: str, catalogue: Catalogue) -> list[str]:
    """Numbers as English writes them."""
    return [number.translate(catalogue.english_signs) for number in _NUMBER.findall(text)]


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
