"""Words of one family, as far as the words themselves show it: ``terrorist`` and ``terrorism``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

_ROOT, _ENDING = 4, 3  # letters that are shared at least, and that each may have after them at most


def families_of(words: Iterable[str]) -> list[list[str]]:
    """Words of one root, in the order of the alphabet; words that stand alone are left out.

    Two words that follow each other in the alphabet are of one family if they share their first four letters
    or more and have three letters after them at most. Only single words are compared: in phrases and in
    names with numbers a shared beginning says nothing.
    """
    families: list[list[str]] = []
    for word in sorted({word for word in words if word.isalpha()}, key=str.casefold):
        previous = families[-1][-1] if families else ""
        pairs = zip(previous.casefold(), word.casefold(), strict=False)
        root = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        if root < max(_ROOT, len(previous) - _ENDING, len(word) - _ENDING):
            families.append([word])
        else:
            families[-1].append(word)
    return [family for family in families if len(family) > 1]
