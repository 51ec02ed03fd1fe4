"""Numbers that stand together in the language that is written: how they are rounded is ``core.numbers``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.core.numbers.rounding import EDGE, SHARES, Ends, PlainRounding, decimals_apart
from evenhand.core.text.formatting import points
from evenhand.core.text.language import _, digits

__all__ = ["EDGE", "Ends", "Rounding", "apart"]


class Rounding(PlainRounding):
    """How the numbers of one finding or part are written."""

    def text(self, value: float | None) -> str:
        """A number without the name of its unit."""
        return digits(super().text(value))

    def amount(self, value: float) -> str:
        """A value in points where it is a share, else as a number."""
        return points(value, self.decimals) if self.unit in SHARES else self.text(value)

    def level(self, value: float) -> str:
        """A value that is no difference: of a share its per cent."""
        return f"{self.text(value)} %" if self.unit == "share" else self.amount(value)

    def span(self, band: Any) -> str:
        """Both ends of an interval or null band, unambiguous beside minus signs."""
        low, high = self.ends(band)
        return _("{low} to {high}", low=low, high=high)


def apart(values: Sequence[float], unit: str | None = "share") -> Rounding:
    """How values are written of which no two that differ look the same."""
    pairs = [(first, second) for first in values for second in values if first < second]
    return Rounding(unit, decimals_apart(pairs, Rounding(unit, 0 if unit in SHARES else 3)))
