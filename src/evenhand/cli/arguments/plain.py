"""Output in ASCII alone, for terminals, fonts and logs that have nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Literal, TextIO, cast

VARIABLE = "EVENHAND_ASCII"
"""Set to 1, it makes every command print ASCII."""

_YES = ("1", "t", "true", "y", "yes", "on")
_PLAIN = str.maketrans(
    {"·": "|", "×": "x", "–": "-", "−": "-", "“": '"', "”": '"', "’": "'", "…": "~", "±": "+-", "␣": "_"}
    | {"→": "->", "≤": "<=", "≥": ">=", "◁": "<", "▷": ">", "●": "*", "○": "o", "─": "-", "░": ":", "▒": "="}
)


class _Ascii:
    """A stream whose signs outside ASCII are written as like ones within it."""

    encoding = "ascii"

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        plain = text.replace("Cramér", "Cramer").translate(_PLAIN)
        return self.stream.write(plain.encode("ascii", "backslashreplace").decode("ascii"))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # typer would write UTF-8 into it
            raise AttributeError(name)
        return getattr(self.stream, name)


def plain_stream(stream: TextIO) -> TextIO:
    """The stream in ASCII."""
    return cast(TextIO, _Ascii(stream))


def binary_output() -> BinaryIO:
    """Standard output for bytes of a format, which stay as they are."""
    stream = sys.stdout
    return (stream.stream if isinstance(stream, _Ascii) else stream).buffer


@contextmanager
def plain_where_asked(name: Literal["stdout", "stderr"]) -> Iterator[None]:
    """Write a stream in ASCII while the block runs, if the environment asks for it."""
    usual = getattr(sys, name)
    if os.environ.get(VARIABLE, "").lower() in _YES:
        setattr(sys, name, plain_stream(usual))
    try:
        yield
    finally:
        setattr(sys, name, usual)
