"""How numbers that stand together are rounded: one place for terminal, pages, notebook, sentences, exports.

Digits are chosen so that what differs never looks the same where a verdict rests on it: an end of an interval
and the reference that it leaves out, a value and the end of the null band that it lies outside of. All
numbers of one finding have the same digits, so that what lies inside never looks outside either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

Ends = tuple[float, float]

DASH, MINUS = "–", "−"
EDGE = 1e-9
"""Numbers nearer than this are equal: a reference on the edge of an interval is inside it."""
SHARES = ("share", "share difference")
_ROUNDING = 1e-12  # what adding leaves of a sum that is 0
_MOST = 9  # decimals
_SMALL = 0.01  # of shares: below it points have a decimal
_LEVELS = (0.01, 0.025, 0.05, 0.1)  # of tests


def plain_number(value: float | None, decimals: int = 3) -> str:
    """A value with so many decimals; an en-dash where there is none."""
    if value is None:
        return DASH
    least = 10.0**-decimals
    if _ROUNDING < abs(value) < least / 2:
        return f"<{least:.{decimals}f}" if value > 0 else f">{MINUS}{least:.{decimals}f}"
    return f"{round(value, decimals) + 0.0:,.{decimals}f}".replace("-", MINUS)


def level_text(level: float) -> str:
    """A confidence level in percent, such as 98.33, never rounded to 100."""
    return f"{level * 100:.{4 if level < 0.999 else 6}g}"


def p_text(p_value: float) -> str:
    """A p-value with three decimals; one below 0.001 is only said to be so.

    One above a usual level is never rounded down to it: .0502 is no 0.050.
    """
    if p_value < 0.001:
        return "<0.001"
    decimals = 3
    while decimals < _MOST and any(round(p_value, decimals) == level < p_value for level in _LEVELS):
        decimals += 1
    return f"{p_value:.{decimals}f}"


def reference_of(holder: Any) -> float | None:
    """What a value is compared with: where chance puts it, else where it is fair; None without either.

    Of a part it is ``chance_at``, else the mean of its null band: parts are compared with the others.

    Args:
        holder: A ``Finding`` or a ``Part``; findings are written by what imports this, which names no types.
    """
    if holder.chance_at is not None:
        return float(holder.chance_at)
    at = holder.fair_at if hasattr(holder, "fair_at") else holder.null and holder.null.mean
    return None if at is None else float(at)


def lead_of(holder: Any) -> Any:
    """The value of a ``Finding`` or ``Part`` that its interval is of: where there is one, the corrected."""
    return holder.value if holder.corrected is None else holder.corrected


def low_and_high(band: Any) -> Ends | tuple[None, None]:
    """Both ends of an interval, None where there is none."""
    return (None, None) if band is None else (band.low, band.high)


@dataclass(frozen=True)
class PlainRounding:
    """How the numbers of one finding or part are written.

    Attributes:
        unit: As of a card: ``share`` and ``share difference`` are written in points, others as numbers.
        decimals: That all of them have.
    """

    unit: str | None = None
    decimals: int = 3

    @classmethod
    def of(cls, holder: Any, unit: str | None = None) -> Self:
        """Of a ``Finding`` or ``Part``: its value, corrected value, interval and null band."""
        value = lead_of(holder)
        interval, null = (
            None if band is None else (band.low, band.high) for band in (holder.interval, holder.null)
        )
        return cls.of_numbers(value, unit, interval, reference_of(holder), null=null, inside=holder.value)

    @classmethod
    def of_numbers(
        cls,
        value: float | None,
        unit: str | None = None,
        interval: Ends | None = None,
        reference: float | None = 0.0,
        *,
        null: Ends | None = None,
        inside: float | None = None,
        least: int | None = None,
    ) -> Self:
        """Of a value with its interval.

        Args:
            value: What the interval is of.
            unit: As of a card.
            interval: Ends of it.
            reference: What the interval may leave out.
            null: Ends of the band that chance gives.
            inside: What this band is of; None: the value.
            least: Fewest decimals; None: three of numbers, of shares in points none, and one below 1 %.
        """
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
            return f"{value * 100:z.{self.decimals}f}".replace("-", MINUS)
        if self.unit == "count" and value is not None and float(value).is_integer():
            return f"{value:,.0f}"
        return plain_number(value, self.decimals)

    def ends(self, band: Any) -> tuple[str, str]:
        """Both ends of an interval or null band."""
        low, high = band if isinstance(band, tuple) else (band.low, band.high)
        return self.text(low), self.text(high)

    def span(self, band: Any) -> str:
        """The same, unambiguous beside minus signs."""
        return " to ".join(self.ends(band))


def _usual(numbers: Sequence[float], value: float | None, unit: str | None) -> int:
    """Decimals where nothing asks for more: of small shares in points one."""
    if unit not in SHARES:
        return 3
    return int((value is not None and 0 < abs(value) < _SMALL) or max(map(abs, numbers), default=1) < _SMALL)


def decimals_apart(pairs: Iterable[tuple[float, float]], least: PlainRounding) -> int:
    """The fewest decimals at which no two numbers of a pair look the same."""
    different = [pair for pair in pairs if abs(pair[0] - pair[1]) > EDGE]
    for decimals in range(least.decimals, _MOST):
        rounding = PlainRounding(least.unit, decimals)
        if all(rounding.text(first) != rounding.text(second) for first, second in different):
            return decimals
    return _MOST
