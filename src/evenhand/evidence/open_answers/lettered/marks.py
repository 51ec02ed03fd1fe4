"""Options that an answer marks: check boxes, ticks and crosses, shares of certainty. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from evenhand.evidence.open_answers.lettered.patterns import LABEL, NOUN

_MARK = re.compile(
    r"(?P<tick>\[[xX✓✔]\]|\([xX✓✔]\)|[✓✔☑✅🗹◉🔘])\ufe0f?|"
    r"(?P<cross>[✗✘❌✖✕☐⬜□○]|\[ ?\]|\( ?\))\ufe0f?|"
    r"\(?(?P<share>\d{1,3}(?:[.,]\d{1,2})?) ?%\)?(?=\s*(?:$|[,;.|/\n]|(?:and )?[A-Z]\b))"
)
_OF_ERROR = re.compile(r"\b(?:wrong|incorrect|errors?|unlikely|risk|not)\b|n't\b", re.IGNORECASE)
_BESIDE = re.compile(rf"^\W*(?:(?i:{NOUN})\W+)?([A-Z])\W{{0,3}}$")
_MOST_SURE = 50  # percent; what has less is not what the answer says
_ALL = 101  # percent, rounded; shares of more in all do not exclude each other


@dataclass(frozen=True)
class Marked:
    """What the marks of an answer say.

    Attributes:
        ticked: The letters that are ticked, or have most of the certainty, each with the words beside it.
        crossed: The letters that are not.
        rest: The text without what is marked.
    """

    ticked: dict[str, str]
    crossed: frozenset[str]
    rest: str


def marked(text: str) -> Marked:
    """The options that a text marks.

    A letter counts that stands in one piece with one mark: on a line of its own, or in a row of them such as
    "☐ A ☑ B". Shares count from two on. Of these, what has more than half is ticked; shares that leave this
    open tick all their letters.

    Args:
        text: Without markup.

    Returns:
        What is ticked and crossed; nothing, and the text itself, where nothing is marked.
    """
    ticked: dict[str, str] = {}
    crossed: set[str] = set()
    shares: dict[str, tuple[float, str]] = {}
    rest, unsure = [], []
    for piece in _pieces(text):
        kind, letter, words, share = _item(piece)
        if kind == "tick":
            ticked[letter] = words
        elif kind == "cross":
            crossed.add(letter)
        elif kind == "share":
            shares[letter] = (max(share, shares.get(letter, (0.0, ""))[0]), words)
            unsure.append(piece)
        else:
            rest.append(piece)
    if len(shares) < 2:
        rest += unsure
        shares = {}
    certain = sum(share for share, _ in shares.values()) <= _ALL and not _OF_ERROR.search(text)
    most = [letter for letter, (share, _) in shares.items() if certain and share > _MOST_SURE]
    for letter in most if len(most) == 1 else shares:
        ticked[letter] = shares[letter][1]
    crossed |= shares.keys() - ticked.keys()
    if not ticked and not crossed:
        return Marked({}, frozenset(), text)
    return Marked(ticked, frozenset(crossed), "\n".join(rest))


def _item(piece: str) -> tuple[str, str, str, float]:
    """What kind of mark a piece holds, beside which letter, with which words, and what share."""
    marks = list(_MARK.finditer(piece))
    if len(marks) != 1:
        return "", "", "", 0.0
    mark = marks[0]
    before, words = piece[: mark.start()], piece[: mark.start()] + piece[mark.end() :]
    label = _BESIDE.match(before) or LABEL.match(words)
    if label is None:
        return "", "", "", 0.0
    letter = next(filter(None, label.groups())).upper()
    share = float(mark["share"].replace(",", ".")) if mark["share"] else 0.0
    return mark.lastgroup or "", letter, words[label.end(label.lastindex or 0) :], share


def _pieces(text: str) -> Iterator[str]:
    """The lines of a text; a line with several marks is cut before each, or behind each."""
    for line in text.splitlines():
        marks = list(_MARK.finditer(line))
        if len(marks) < 2:
            yield line
            continue
        first = not line[: marks[0].start()].strip(" \t-•>")
        cuts = [mark.start() if first else mark.end() for mark in marks]
        bounds = [0, *cuts[1:], len(line)] if first else [0, *cuts, len(line)]
        yield from (line[start:end] for start, end in pairwise(bounds) if end > start)
