"""The thought that a reasoning model writes before its answer, and the answer without it. Pure functions."""

from __future__ import annotations

import re

UNFINISHED = "thought that did not end"
OPENINGS: tuple[str, ...] = (
    "<think>",
    "<thinking>",
    "[THINK]",
    "◁think▷",
    "<seed:think>",
    "<|channel>thought",
)
"""What opens a thought: most models, Mistral, Kimi, Seed, Gemma."""
CLOSINGS: tuple[str, ...] = ("</think>", "</thinking>", "[/THINK]", "◁/think▷", "</seed:think>", "<channel|>")
"""What closes it, in the same order."""

OPENING = re.compile("|".join(map(re.escape, OPENINGS)), re.IGNORECASE)
_CLOSES = re.compile("|".join(map(re.escape, CLOSINGS)), re.IGNORECASE)


def without_thought(text: str) -> str | None:
    """What an answer says after its thought; None where a thought begins and does not end.

    A template may open the thought itself, so that an answer holds only its end: all before the last end is
    thought.
    """
    ends = [match.end() for match in _CLOSES.finditer(text)]
    rest = text[ends[-1] :] if ends else text
    return None if OPENING.search(rest) else rest


def closing_of(text: str) -> str:
    """The one of ``CLOSINGS`` for the thought that a text, as of a chat template, leaves open; or empty."""
    starts = list(OPENING.finditer(text))
    if not starts or _CLOSES.search(text, starts[-1].end()):
        return ""
    names = [opening.lower() for opening in OPENINGS]
    return CLOSINGS[names.index(starts[-1][0].lower())]
