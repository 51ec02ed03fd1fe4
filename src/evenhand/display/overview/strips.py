"""The chart of a headline as lines of text."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.display.overview.content import Chart, Mark
from evenhand.display.overview.scale import Scale, few_rows
from evenhand.display.text.columns import cells, fitted, wrapped
from evenhand.display.text.formatting import short_label

_LONGEST = 16  # columns of a name
_SHORTEST = 6  # columns of a name, however narrow the terminal is
_LEAST = 20  # columns of the plot itself


@dataclass(frozen=True)
class Signs:
    """What a plot is drawn with."""

    beyond: str = "●"
    within: str = "○"
    interval: str = "─"
    chance: str = "░"
    overlap: str = "▒"


ASCII = Signs("*", "o", "-", ":", "=")


def strip_lines(
    chart: Chart, *, lead: str = "", width: int = 80, most: int = 8, signs: Signs = Signs(), key: bool = True
) -> list[str]:
    """An axis, a line for each of ``most`` marks, among them the headline's own, and what the signs mean."""
    marks, scale = chart.first(most).marks, Scale.of(chart.first(most))
    names = [short_label(mark.label) for mark in marks]
    texts = _texts(marks, scale)
    most_of_name = min(_LONGEST, max(width - _LEAST - 5 - max(map(cells, texts)), _SHORTEST))
    wide = min(max(cells(lead), *map(cells, names)), most_of_name)
    columns = max(_LEAST, width - 2 - wide - 1 - 2 - max(map(cells, texts)))
    lines = [f"  {fitted(lead, wide)} {_axis(scale, columns)}".rstrip()]
    for mark, name, text in zip(marks, names, texts, strict=True):
        lines.append(f"  {fitted(name, wide)} {_strip(mark, scale, columns, signs)}  {text}".rstrip())
    more = len(chart.marks) - len(marks)
    notes = [_key(marks, signs) if key else "", f"{more} more not drawn" if more else ""]
    about = "; ".join(filter(None, notes))
    if not about:
        return lines
    last = f"  {' ' * wide} {about}"
    return [*lines, *([last] if cells(last) <= width else wrapped(about, width, first=f"  {' ' * wide} "))]


def _texts(marks: tuple[Mark, ...], scale: Scale) -> list[str]:
    """Values and counts beside the marks, each in a column of its own."""
    values = ["" if few_rows(mark) else scale.text(mark.value) for mark in marks]
    wide = max(map(cells, values))
    return [f"{value:>{wide}}  {mark.text}".rstrip() for value, mark in zip(values, marks, strict=True)]


def _column(value: float, scale: Scale, columns: int) -> int:
    return round(scale.position(value) * (columns - 1))


def _axis(scale: Scale, columns: int) -> str:
    """Values at the ticks; one that would touch the one before it is left out."""
    line = ""
    for tick in scale.ticks:
        text = scale.text(tick, tick=True)
        start = max(_column(tick, scale, columns) - len(text) // 2, 0)
        if not line or start > len(line):
            line = line.ljust(start) + text
    return line


def _strip(mark: Mark, scale: Scale, columns: int, signs: Signs) -> str:
    line = [" "] * columns
    for span, sign in ((mark.null, signs.chance), (mark.interval, signs.interval)):
        if span is not None:
            start, end = (_column(value, scale, columns) for value in span)
            for column in range(start, end + 1):
                line[column] = sign if line[column] == " " else signs.overlap
    line[_column(mark.value, scale, columns)] = signs.beyond if mark.beyond else signs.within
    return "".join(line)


def _key(marks: tuple[Mark, ...], signs: Signs) -> str:
    has_null = any(mark.null is not None for mark in marks)
    has_interval = any(mark.interval is not None for mark in marks)
    is_beyond = any(mark.beyond for mark in marks)
    texts = [f"{signs.beyond} beyond chance"] if is_beyond else []
    texts += [f"{signs.within} not beyond"] if has_null or is_beyond else []
    texts += [f"{signs.interval} 95 % interval"] if has_interval else []
    texts += [f"{signs.chance} chance alone"] if has_null else []
    return "  ".join(texts)
