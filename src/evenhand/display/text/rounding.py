"""How numbers that stand together are rounded: one place for terminal, pages, notebook, sentences, exports.

Digits are chosen so that what differs never looks the same where a verdict rests on it: an end of an interval
and the reference that it leaves out, a value and the end of the null band that it lies outside of. All
numbers of one finding have the same digits, so that what lies inside never looks outside either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evenhand.core.cards import SHARES
from evenhand.core.findings import Ends, Finding, Interval, Null, Part, ends_of
from evenhand.core.significance import EDGE, lead_of, reference_of
from evenhand.display.text.formatting import DASH, MOST_DECIMALS, number, points, written
from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement

_SMALL = 0.01  # of shares: below it points have a decimal


@dataclass(frozen=True)
class Rounding:
    """How the numbers of one finding or part are written."""

    unit: str | None = None  # as of a card: those of ``SHARES`` are written in points, others as numbers
    decimals: int = 3  # that all of them have

    @classmethod
    def of(cls, holder: Finding | Part, unit: str | None = None) -> Rounding:
        """Of a finding or part: its value, corrected value, interval and null band."""
        interval, null = ends_of(holder.interval), ends_of(holder.null)
        return cls.of_numbers(
            lead_of(holder), unit, interval, reference_of(holder), null=null, inside=holder.value
        )

    @classmethod
    def of_numbers(
        cls,
        value: float | None,  # what the interval is of
        unit: str | None = None,
        interval: Ends | None = None,
        reference: float | None = 0.0,  # what the interval may leave out
        *,
        null: Ends | None = None,  # ends of the band that chance gives
        inside: float | None = None,  # what this band is of; None: the value
        least: int | None = None,  # fewest decimals; None: three of numbers; of points none, one below 1 %
    ) -> Rounding:
        """Of a value with its interval."""
        pairs = [(end, reference) for end in interval or () if reference is not None]
        if interval is not None and reference is not None and interval[0] <= reference <= interval[1]:
            pairs = []
        compared = value if inside is None else inside
        if null is not None and compared is not None and not null[0] <= compared <= null[1]:
            pairs += [(compared, end) for end in null]
        if least is None:
            least = _usual([*(interval or null or ()), *([] if value is None else [value])], value, unit)
        return cls(unit, decimals_apart(pairs, cls(unit, least)))

    def text(self, value: float | None) -> str:
        """A number without the name of its unit."""
        if self.unit in SHARES and value is not None:
            return written(f"{value * 100:z.{self.decimals}f}", value, is_share=True)
        if self.unit == "count" and value is not None and float(value).is_integer():
            return written(f"{value:,.0f}", value)
        return number(value, self.decimals)

    def amount(self, value: float) -> str:
        """A value in points where it is a share, else as a number."""
        return points(value, self.decimals) if self.unit in SHARES else self.text(value)

    def level(self, value: float) -> str:
        """A value that is no difference: of a share its per cent."""
        per_cent = Statement.of("{share} %", share=self.text(value))
        return per_cent if self.unit == "share" else self.amount(value)

    def ends(self, band: Interval | Null | Ends) -> tuple[str, str]:
        """Both ends of an interval or null band."""
        low, high = band if isinstance(band, tuple) else (band.low, band.high)
        return self.text(low), self.text(high)

    def span(self, band: Interval | Null | Ends | None) -> str:
        """The same, unambiguous beside minus signs; a dash where there is none."""
        if band is None:
            return DASH
        low, high = self.ends(band)
        return _("{low} to {high}", low=low, high=high)


def apart(values: Sequence[float], unit: str | None = "share") -> Rounding:
    """How values are written of which no two that differ look the same."""
    pairs = [(first, second) for first in values for second in values if first < second]
    return Rounding(unit, decimals_apart(pairs, Rounding(unit, 0 if unit in SHARES else 3)))


def _usual(numbers: Sequence[float], value: float | None, unit: str | None) -> int:
    """Decimals where nothing asks for more: of small shares in points one."""
    if unit not in SHARES:
        return 3
    return int((value is not None and 0 < abs(value) < _SMALL) or max(map(abs, numbers), default=1) < _SMALL)


def decimals_apart(pairs: Iterable[tuple[float, float]], least: Rounding) -> int:
    """The fewest decimals at which no two numbers of a pair look the same."""
    different = [pair for pair in pairs if abs(pair[0] - pair[1]) > EDGE]
    for decimals in range(least.decimals, MOST_DECIMALS):
        rounding = Rounding(least.unit, decimals)
        if all(rounding.text(first) != rounding.text(second) for first, second in different):
            return decimals
    return MOST_DECIMALS
