"""Numbers as people read them in a sentence, and what they may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.display.text.formatting import shorten

NUMBER = r"[<>]?[−-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
"""A number as ``count``, ``number`` and ``points`` write it."""
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


def without_names(text: str, names: Iterable[str]) -> str:
    """A sentence without quotations, and without names that hold digits, which no number is."""
    for name in sorted(names, key=len, reverse=True):
        if re.search(r"[\d%]", name) and not name.replace(".", "").isdigit():
            for label in {name, shorten(name), name.replace("_", " ")}:
                text = re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", "…", text)
    return _QUOTED.sub("…", text)
