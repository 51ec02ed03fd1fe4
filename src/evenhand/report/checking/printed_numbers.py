"""Numbers as people read them in a sentence, and what they may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evenhand.display.text.formatting import shorten

NUMBER = r"[<>]?[−-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
"""A number as ``count``, ``number`` and ``points`` write it."""
_IN_TEXT = re.compile(
    rf"(?<![\w.,])(?P<first>{NUMBER})(?: to (?P<second>{NUMBER}))?"
    r"(?P<unit> ?%| points?\b|(?= come from\b))?(?![\w%]|[.,]\d)"
)
_OF_VALUE = ("interval ", " (", "chance alone gives ")  # before two ends that share the unit of the value
_QUOTED = re.compile("“[^”]*”|„[^“]*“")
_EDGE = 1e-9


@dataclass(frozen=True)
class PrintedNumber:
    """A number of a sentence."""

    text: str  # as it is printed
    is_share: bool  # whether it is written in per cent or points

    @property
    def value(self) -> float:
        """What is printed, as a share where it is one; of one that is only called small, the limit."""
        number = float(self.text.lstrip("<>").replace(",", "").replace("−", "-"))
        return number / 100 if self.is_share else number

    @property
    def half_step(self) -> float:
        """Half of the unit of its last digit."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2]) / (100 if self.is_share else 1)

    def stands_for(self, value: float) -> bool:
        """Whether a number, rounded as this one is, looks like it."""
        if self.text[0] in "<>":
            return 0 < abs(value) < abs(self.value) and (value > 0) == (self.value > 0)
        return abs(value - self.value) <= self.half_step + _EDGE * max(1.0, abs(value))

    def stands_for_any(self, values: Iterable[float]) -> bool:
        """The same of several."""
        return any(map(self.stands_for, values))


def numbers_in(text: str) -> Iterator[PrintedNumber]:
    """The numbers of a text; the ends of a span share its unit, those of an interval that of its value."""
    of_value = False
    for match in _IN_TEXT.finditer(text):
        is_share, before = match["unit"] is not None, text[: match.start()]
        if match["second"] and not match["unit"] and before.endswith(_OF_VALUE):
            is_share = of_value
        elif before.endswith(" than "):  # a group that is called so
            pass
        elif not text[match.end() :].startswith(" interval"):  # a level is of no unit but its own
            of_value = is_share
        for part in ("first", "second"):
            if match[part]:
                yield PrintedNumber(match[part], is_share)


def without_names(text: str, names: Iterable[str]) -> str:
    """A sentence without quotations, and without names that hold digits, which no number is."""
    for name in sorted(names, key=len, reverse=True):
        if re.search(r"[\d%]", name) and not name.replace(".", "").isdigit():
            for label in {name, shorten(name), name.replace("_", " ")}:
                text = re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", "…", text)
    return _QUOTED.sub("…", text)
