"""How numbers and labels are written: one place, so that text, tables and alternatives agree."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime

DASH = "–"
_ROUNDING = 1e-12  # what adding leaves of a sum that is 0
MINUS = "−"
LABEL_LIMIT = 56
PROSE_LIMIT = 240

_ISOLATE, _POP = "\u2068", "\u2069"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
# Invisible or text-reversing characters are shown, so that a label cannot pose as another one.
_BIDI_CONTROLS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    **{code: f"[U+{code:04X}]" for code in [*range(0x7F, 0xA0), *_BIDI_CONTROLS]},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    **dict.fromkeys((0x0A, 0x0D, 0x2028, 0x2029), "⏎"),
    0x09: "⇥",
}


def number(value: float | None) -> str:
    """A value with three decimals; an en-dash where there is none."""
    if value is None:
        return DASH
    if _ROUNDING < abs(value) < 0.0005:
        return "<0.001" if value > 0 else f">{MINUS}0.001"
    return f"{round(value, 3) + 0.0:,.3f}".replace("-", MINUS)


def p_value(value: float | None) -> str:
    """A p-value with three decimals, never printed as zero."""
    return "<0.001" if value is not None and value < 0.0005 else number(value)


def count(value: float | None) -> str:
    """A count; weighted counts keep one decimal; ``-10`` stands for a hidden one, fewer than 10."""
    if value is None:
        return DASH
    if value < 0:
        return f"<{-value:,.0f}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def span(low: float, high: float) -> str:
    """An interval or band in words, unambiguous beside minus signs."""
    return f"{number(low)} to {number(high)}"


def percent(level: float) -> str:
    """A confidence level as people write it."""
    return f"{level * 100:g}%"


def visible(text: object) -> str:
    """Any text with line breaks, control and direction characters made visible."""
    return str(text).translate(_VISIBLE)


def shorten(text: object, limit: int = LABEL_LIMIT) -> str:
    """A visible label of at most ``limit`` characters."""
    shown = visible(text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def key_text(key: str | Sequence[str]) -> str:
    """The key of a part or group; crossed keys are joined by a multiplication sign."""
    return key if isinstance(key, str) else " × ".join(key)


def isolated(text: str) -> str:
    """Text that keeps its own direction inside a sentence or a chart."""
    mixed = any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)
    return f"{_ISOLATE}{text}{_POP}" if mixed else text


def quoted(text: object) -> str:
    """A label inside a sentence."""
    return f"“{isolated(shorten(text))}”"


def attribute(column: str) -> str:
    """A column name as words: ``perceived_gender`` is perceived gender."""
    return shorten(" ".join(column.replace("_", " ").split()) or column)


def listing(items: Iterable[str], last: str = "and") -> str:
    """Words joined as in a sentence."""
    words = list(items)
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def plural(n: float, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def moment(text: object) -> str:
    """An ISO time as a date people read; anything else as it stands."""
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        return visible(text)
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return f"{when.day} {when:%B %Y, %H:%M}{zone}"


def size(n_bytes: float | None) -> str:
    """A file size."""
    if n_bytes is None:
        return DASH
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000 or unit == "GB":
            break
        n_bytes /= 1000
    return f"{n_bytes:,.0f} {unit}" if unit == "bytes" else f"{n_bytes:,.1f} {unit}"
