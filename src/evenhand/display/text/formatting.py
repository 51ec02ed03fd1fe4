"""How numbers and labels are written: one place, so that text, tables and alternatives agree."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime

from evenhand.core.unseen import visible
from evenhand.display.text.language import _, digits, plural_of
from evenhand.display.text.model_names import model_names
from evenhand.display.text.statement import Slot, Statement

DASH, MINUS = "–", "−"
MOST_DECIMALS = 9
LABEL_LIMIT = 56
PROSE_LIMIT = 240

OF = "{hits} of {rows}"
"""The pattern of counts."""
_ROUNDING = 1e-12  # what adding leaves of a sum that is 0
_LEVELS = (0.01, 0.025, 0.05, 0.1)  # of tests
_ISOLATE, _POP = "\u2068", "\u2069"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_KEPT_TOGETHER = re.compile(r"(?<=\d) (?=%)|(?<=\bof) (?=\.\d)")
_EMPTY = re.compile(r"(?:^|(?<= [·×=] ))(?= [·×] |$)")  # of crossed labels, where one has no letter


def written(text: str, value: float, *, is_share: bool = False) -> str:
    """A number with the signs of the language."""
    return Slot(digits(text.replace("-", MINUS)), value, is_share=is_share)


def number(value: float | None, decimals: int = 3) -> str:
    """A value with three decimals, or as many as are asked for; an en-dash where there is none."""
    if value is None:
        return DASH
    least = 10.0**-decimals
    text = f"{round(value, decimals) + 0.0:,.{decimals}f}"
    if _ROUNDING < abs(value) < least / 2:
        text = f"<{least:.{decimals}f}" if value > 0 else f">-{least:.{decimals}f}"
    return written(text, value)


def level_text(level: float) -> str:
    """A confidence level in percent, such as 98.33, never rounded to 100."""
    return f"{level * 100:.{4 if level < 0.999 else 6}g}"


def level_number(level: float) -> str:
    """The same in a sentence."""
    return written(level_text(level), level, is_share=True)


def p_text(p_value: float) -> str:
    """A p-value with three decimals; one below 0.001 is only said to be so.

    One above a usual level is never rounded down to it: .0502 is no 0.050.
    """
    if p_value < 0.001:
        return "<0.001"
    decimals = 3
    while decimals < MOST_DECIMALS and any(round(p_value, decimals) == level < p_value for level in _LEVELS):
        decimals += 1
    return f"{p_value:.{decimals}f}"


def p_value(value: float | None) -> str:
    """A p-value as all outputs write it; a dash where there is none."""
    return DASH if value is None else written(p_text(value), value)


def p_phrase(value: float | None) -> str:
    """A p in words: ``p = 0.012``, ``p <0.001``."""
    text = p_value(value)
    return Statement.of("p {p}" if text.startswith("<") else "p = {p}", p=text)


def of(hits: float, rows: float) -> str:
    """Hits of rows, as people say it."""
    return _(OF, hits=count(hits), rows=count(rows))


def points(difference: float, decimals: int | None = None) -> str:
    """A difference of shares in points: ``31 points``, ``0.4 points``."""
    if decimals is None:
        decimals = 1 if 0 < abs(difference) < 0.01 else 0
    text = f"{difference * 100:z.{decimals}f}"
    n = 1 if text.lstrip("-") == "1" else 2
    return plural_of("{n} point", "{n} points", n, n=written(text, difference, is_share=True))


def unbroken(text: str) -> str:
    """The same, with no-break spaces before per cent signs and before numbers such as .05."""
    return type(text)(_KEPT_TOGETHER.sub("\u00a0", text))


def count(value: float | None) -> str:
    """A count; weighted counts keep one decimal; one below 0 stands for a hidden one."""
    if value is None:
        return DASH
    if value < 0:
        return _("hidden")
    return written(f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}", value)


def plain(value: float) -> str:
    """A level or threshold, as short as it can be written."""
    return Slot(digits(f"{value:g}"), value)


def span(low: float, high: float) -> str:
    """An interval or band in words, unambiguous beside minus signs."""
    return _("{low} to {high}", low=number(low), high=number(high))


def percent(level: float) -> str:
    """A confidence level as people write it, such as 98.33%."""
    return _("{level}%", level=level_number(level))


def interval_title(level: float) -> str:
    """What an interval is called: ``95% interval``."""
    return _("{level}% interval", level=level_number(level))


def shorten(text: object, limit: int = LABEL_LIMIT) -> str:
    """A visible label of at most ``limit`` characters."""
    label = visible(text)
    if len(label) <= limit:
        return label
    cut = label[: limit - 1]
    if limit >= PROSE_LIMIT and not label[limit - 1].isspace():  # a sentence ends at a word
        space = cut.rfind(" ")
        cut = cut[:space] if space > limit * 3 // 4 else cut
    return cut.rstrip() + "…" if limit >= PROSE_LIMIT else cut + "…"


def visible_label(label: object) -> str:
    """A label with all that is invisible shown; an empty one, also of those that are crossed, says so."""
    return visible(_EMPTY.sub(_("(empty)"), str(label)))


def short_label(label: object, limit: int = LABEL_LIMIT) -> str:
    """The same in at most ``limit`` characters."""
    return shorten(_EMPTY.sub(_("(empty)"), str(label)), limit)


def key_text(key: str | Sequence[str]) -> str:
    """The key of a part or group; crossed keys are joined by a multiplication sign."""
    return key if isinstance(key, str) else " × ".join(key)


def group_name(key: str | Sequence[str]) -> str:
    """What sentences call a group by its values; those of crossed attributes are apart by a dot."""
    return key if isinstance(key, str) else " · ".join(key)


def isolated(text: str) -> str:
    """Text that keeps its own direction inside a sentence or a chart."""
    mixed = any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)
    return f"{_ISOLATE}{text}{_POP}" if mixed else text


def quoted(text: object) -> str:
    """A label inside a sentence."""
    return _("“{text}”", text=isolated(short_label(text)))


def model_name(model: object) -> str:
    """What people call a model: of one that lies on this machine its own name, not the whole way to it."""
    return shorten(model_names([model])[0])


def attribute(column: str) -> str:
    """A column name as words: ``perceived_gender`` is perceived gender."""
    return shorten(" ".join(column.replace("_", " ").split()) or column)


def listing(items: Iterable[str], last: str = "and") -> str:
    """Words joined as in a sentence."""
    words = list(items)
    if len(words) < 2:
        return Statement.joined(words)
    return Statement.joined((Statement.joined(words[:-1], ", "), _(last), words[-1]))


def first_of(names: Sequence[str], most: int) -> str:
    """The first of these as in a sentence, and how many more there are."""
    left = len(names) - most
    return listing([*names[:most], *([_("{n} more", n=count(left))] if left > 0 else [])])


def plural(n: float | None, singular: str, many: str | None = None) -> str:
    """A count with its noun."""
    return Statement.of("{n} {noun}", n=count(n), noun=plural_of(singular, many or singular + "s", n))


def moment(text: object) -> str:
    """An ISO time as a date people read; anything else as it stands."""
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        return visible(text)
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return _("{day} {month} {rest}", day=when.day, month=_(f"{when:%B}"), rest=f"{when:%Y, %H:%M}{zone}")


def size(n_bytes: float | None) -> str:
    """A file size."""
    if n_bytes is None:
        return DASH
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000 or unit == "GB":
            break
        n_bytes /= 1000
    text = f"{n_bytes:,.0f} {unit}" if unit == "bytes" else f"{n_bytes:,.1f} {unit}"
    return digits(text)
