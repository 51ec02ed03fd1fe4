"""First lines in another language: the statements of the English ones, whose truth is checked by itself."""

from __future__ import annotations

from collections.abc import Iterator, Set

from evenhand.display.overview.content import Headline, Overview
from evenhand.display.text.statement import Slot, said
from evenhand.report.checking.read_back import Contradiction, statements
from evenhand.report.checking.sourced import misprinted

_BY_DATA = ("metric", "by", "beyond", "cases", "weight")
"""Fields of a headline that no language changes."""


def mistranslated(english: Overview, other: Overview, names: Set[str]) -> Iterator[Contradiction]:
    """Where first lines are other statements than the English ones, of other numbers or names.

    ``names`` are those that data gave. Not read are the words themselves: texts of the catalogue are compared
    one by one where it is tested.
    """
    pairs = zip(english.headlines, other.headlines, strict=False)
    if len(english.headlines) != len(other.headlines) or any(_facts(a) != _facts(b) for a, b in pairs):
        yield Contradiction(other.title, "it has other headlines than in English")
        return
    for text, translated in zip(statements(english), statements(other), strict=True):
        yield from misprinted(translated)
        places, others = (list(said(line).slots()) for line in (text, translated))
        if len(places) != len(others):
            yield Contradiction(translated, f"it has {len(others)} places, and in English {len(places)}")
        for (name, slot), (_, printed) in zip(places, others, strict=False):
            if isinstance(slot, Slot):
                is_same = isinstance(printed, Slot) and printed.value == slot.value
            else:
                is_same = slot not in names or printed == slot
            if not is_same:
                yield Contradiction(translated, f"{name} is not {slot}")


def _facts(line: Headline) -> tuple[object, ...]:
    return tuple(getattr(line, name) for name in _BY_DATA)
