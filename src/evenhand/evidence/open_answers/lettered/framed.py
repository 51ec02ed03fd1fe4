"""What an answer frames as its answer: a box, tags, a field of JSON. Pure functions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

_DEEPEST = 3  # a field that holds tags that hold a box
_BOXED = (
    re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"),
    re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.DOTALL | re.IGNORECASE),
    re.compile(r"<\|begin_of_box\|>((?:(?!<\|begin_of_box\|>).)*?)<\|end_of_box\|>", re.DOTALL),
)
_OBJECT = re.compile(r"\{[^{}]*\}")
_KEYS = ("answer", "final_answer", "choice", "option", "letter", "caption", "selection", "label", "response")


def framed_parts(reply: str) -> list[str]:
    """The parts of a reply that it frames as its answer, without their frames.

    Args:
        reply: Without thought.

    Returns:
        The reply itself where it frames nothing; an empty text for a frame that holds no text.
    """
    parts = [reply]
    for _ in range(_DEEPEST):
        inner = [list(_framed(part)) or [part] for part in parts]
        parts = [text for texts in inner for text in texts]
    return parts


def _framed(reply: str) -> Iterator[str]:
    for pattern in _BOXED:
        for match in pattern.finditer(reply):
            yield match[1]
    for match in _OBJECT.finditer(reply):
        for key, value in _object(match[0]).items():
            if str(key).lower().replace(" ", "_") in _KEYS:
                yield value if isinstance(value, str) else ""


def _object(text: str) -> dict[Any, Any]:
    """A JSON object, or Python's way of writing one; empty where it is neither."""
    if ":" not in text:
        return {}
    for parse in (json.loads, ast.literal_eval):
        try:
            fields = parse(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two: too deep
            continue
        if isinstance(fields, dict):
            return fields
    return {}
