"""Skin types and tones as the groups that the paper speaks of."""

from __future__ import annotations

import re

SKIN_TONES: tuple[str, ...] = ("lighter", "darker")
"""Fitzpatrick types I to III, and IV to VI."""

FITZPATRICK: tuple[str, ...] = ("1", "2", "3", "4", "5", "6")
"""The six types; a scale of how skin reacts to sun, not of colour."""

MONK: tuple[str, ...] = tuple(str(tone) for tone in range(1, 11))
"""The ten tones of the Monk scale, from light to dark."""

_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6"}
_LAST = re.compile(r"([0-9]+|[ivx]+)\s*$")


def skin_tone(fitzpatrick: str | None) -> str | None:
    """Lighter or darker, as the released code makes it of a Fitzpatrick type."""
    if fitzpatrick is None:
        return None
    if fitzpatrick not in FITZPATRICK:
        return "unknown"
    return "lighter" if fitzpatrick <= "3" else "darker"


def fitzpatrick_type(text: str | None) -> str | None:
    """``1`` to ``6`` of texts such as ``type iii`` or ``3``; ``unknown`` for any other."""
    return _step(text, FITZPATRICK)


def monk_tone(text: str | None) -> str | None:
    """``1`` to ``10`` of texts such as ``scale 5``; ``unknown`` for any other."""
    return _step(text, MONK)


def _step(text: str | None, scale: tuple[str, ...]) -> str | None:
    """A step of a scale; which text stands before it does not matter."""
    if text is None:
        return None
    match = _LAST.search(text.strip().lower())
    word = match.group(1) if match else ""
    step = _ROMAN.get(word, word)
    return step if step in scale else "unknown"
