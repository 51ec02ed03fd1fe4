"""The axis of a chart: where it begins and ends, and how its values are written."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

from evenhand.display.overview.content import Chart, Mark
from evenhand.display.text.formatting import MINUS
from evenhand.display.text.language import _

_TICKS = 6
_LEAST = 0.1  # of an axis of shares
_PAD = 0.03  # of an axis, before its first tick and after its last


@dataclass(frozen=True)
class Scale:
    """An axis."""

    ticks: tuple[float, ...]  # where values are written, ascending; the first and the last are its ends
    unit: str

    @classmethod
    def of(cls, chart: Chart) -> Scale:
        """From 0 for shares, otherwise around all that is drawn."""
        low = 0.0 if chart.unit == "share" else min(chart.reach)
        high = max(*chart.reach, low + (_LEAST if chart.unit == "share" else 1e-9))
        step = _step(high - low)
        first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
        return cls(tuple(index * step for index in range(first, max(last, first + 1) + 1)), chart.unit)

    def position(self, value: float) -> float:
        """Where a value stands, from 0 to 1, on an axis that goes on beyond its first and last tick."""
        low, high = self.ticks[0], self.ticks[-1]
        return _PAD + (1 - 2 * _PAD) * min(max((value - low) / (high - low), 0.0), 1.0)

    def text(self, value: float, *, tick: bool = False) -> str:
        """A value as it is written; those at ticks need no more digits than their distance."""
        if self.unit == "number":
            digits = max(0, -floor(log10(self.ticks[1] - self.ticks[0]) + 1e-9)) if tick else 2
            return f"{value:z.{digits}f}".replace("-", MINUS)
        percent = 100 * value
        digits = 1 if (self.ticks[-1] - self.ticks[0] < 0.05) else 0
        if self.unit == "share":
            return f"{percent:z.{digits}f} %"
        return f"{percent:{'' if tick else '+'}z.{digits}f}".replace("-", MINUS)


def few_rows(mark: Mark) -> bool:
    """Whether a mark is of so few rows that its counts are written without a share."""
    rows = mark.text.split(_("{hits} of {rows}", hits="", rows=""))[-1]
    return rows.isdecimal() and int(rows) < 10


def _step(width: float) -> float:
    """A round distance of ticks, of which a width needs at most ``_TICKS``."""
    power = 10.0 ** floor(log10(width / _TICKS))
    return next(times * power for times in (1, 2, 5, 10) if width / (times * power) <= _TICKS)
