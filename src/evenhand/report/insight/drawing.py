"""Dots, intervals and chance bands on one axis, as numbers that a template writes as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from evenhand.core.findings import Ends
from evenhand.display.overview.content import Chart, Mark
from evenhand.display.overview.scale import Scale, few_rows
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import MINUS, number, short_label
from evenhand.display.text.language import _, digits
from evenhand.display.text.rounding import Rounding

MOST_ROWS = 10
"""Rows that are drawn at once; the others are folded."""

_MOST_NARROW = 4  # rows of a narrow screen, unless there is only one more

_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
_MOST_TICKS = 5
_ROUNDING = 1e-9


@dataclass(frozen=True)
class DrawnMark:
    """One row of a picture; positions are in per cent of the axis."""

    label: str
    value: str  # as text; empty where too few rows are behind it
    text: str  # its counts
    at: float  # where the dot stands
    interval: Ends | None
    null: Ends | None  # the chance band
    is_beyond: bool  # beyond chance, corrected for several tests: filled and coloured
    alternative: str  # the row in words
    dots: Sequence[float]  # where the items behind it stand


@dataclass(frozen=True)
class Picture:
    """A picture."""

    title: str
    rows: Sequence[DrawnMark]  # those that are shown at once
    folded: Sequence[DrawnMark]  # the others
    later: Sequence[DrawnMark]  # those of ``rows`` that a narrow screen shows when it is asked to
    ticks: Sequence[tuple[float, str]]  # position and text
    null: str  # what the grey band is; empty: there is none
    has_interval: bool
    has_beyond: bool
    fair: float | None  # where groups that are treated alike stand; None: nowhere on the axis
    note: str  # a line below it


def _scale(values: Sequence[float], unit: str, *, cut: bool) -> Scale:
    """Round ends that hold all values, with at most five steps between; from 0 unless it may be cut."""
    least, most = (min(values), max(values)) if cut else (min(0.0, *values), max(0.0, *values))
    reach = max(most - least, _STEPS[0])
    step = next((step for step in _STEPS if reach / step <= _MOST_TICKS), reach / _MOST_TICKS)
    first, last = floor(least / step + _ROUNDING), ceil(most / step - _ROUNDING)
    return Scale(tuple(first * step + step * index for index in range(max(last - first, 1) + 1)), unit)


def _at(scale: Scale, value: float) -> float:
    return round(100 * scale.position(value), 2)


def _ends(scale: Scale, span: Ends | None) -> Ends | None:
    return None if span is None else (_at(scale, span[0]), _at(scale, span[1]))


def draw(chart: Chart, *, cut: bool = False, decimals: int | None = None) -> Picture:
    """A chart, which has marks, as positions on a common axis.

    With ``cut`` it may begin elsewhere than at 0, which dots allow and bars do not. ``decimals`` are those of
    shares in per cent; None: none, and one below 1 %.
    """
    marks = chart.marks
    items = [item.value for items in chart.dots.values() for item in items]
    scale = _scale([*chart.reach, *items], chart.unit, cut=cut or chart.unit == "number")
    dots = {label: [_at(scale, item.value) for item in items] for label, items in chart.dots.items()}
    rows = [_row(mark, scale, decimals, dots.get(mark.label, ())) for mark in marks]
    first, narrow = _first(marks, MOST_ROWS), _first(marks, _MOST_NARROW)
    narrow = narrow if len(first) > len(narrow) + 1 else first
    return Picture(
        title=chart.title,
        rows=[rows[index] for index in first],
        folded=[row for index, row in enumerate(rows) if index not in first],
        later=[rows[index] for index in first if index not in narrow],
        ticks=[(_at(scale, tick), _tick(tick, chart.unit)) for tick in scale.ticks],
        null=chart.band if any(mark.null for mark in marks) else "",
        has_interval=any(mark.interval for mark in marks),
        has_beyond=any(mark.beyond for mark in marks),
        fair=None if chart.fair is None else _at(scale, chart.fair),
        note=chart.note,
    )


def _first(marks: Sequence[Mark], most: int) -> list[int]:
    """Rows that are shown at once, in their order: named ones, those outside of bands, then the first."""

    def rank(index: int) -> tuple[bool, bool]:
        return not marks[index].named, marks[index].null is None or marks[index].inside

    by_weight = sorted(range(len(marks)), key=rank)
    return sorted(by_weight[:most])


def _row(mark: Mark, scale: Scale, decimals: int | None, dots: Sequence[float]) -> DrawnMark:
    rounding = Rounding.of_numbers(mark.value, scale.unit, None, None, null=mark.null, least=decimals)
    value = "" if few_rows(mark) else written(mark.value, scale.unit, decimals)
    ends = []
    for name, span in ((_("95 % interval"), mark.interval), (_("chance alone"), mark.null)):
        if span is not None:
            low, high = (rounding.level(end) for end in span)
            ends.append(f"{name} {_('{low} to {high}', low=low, high=high)}")
    texts = [", ".join(dict.fromkeys(filter(None, [value, mark.text]))), *ends]
    return DrawnMark(
        label=short_label(mark.label),
        value=value,
        text="" if mark.text == value else mark.text,
        at=_at(scale, mark.value),
        interval=_ends(scale, mark.interval),
        null=_ends(scale, mark.null),
        is_beyond=mark.beyond,
        dots=dots,
        alternative=f"{short_label(mark.label)}: {'; '.join(filter(None, texts))}",
    )


def written(value: float, unit: str, decimals: int | None = None) -> str:
    """A value as people read it: shares in per cent, their differences in points."""
    if unit == "share":
        return share(value) if decimals is None else digits(f"{value * 100:.{decimals}f} %")
    if unit == "share difference":
        n = f"{value * 100:z.0f}".replace("-", MINUS)
        return _("{n} points", n=n)
    return number(value)


def _tick(value: float, unit: str) -> str:
    times, sign = (1, "") if unit == "number" else (100, " %" if unit == "share" else "")
    return digits(f"{round(value * times, 6) + 0.0:g}".replace("-", MINUS)) + sign
