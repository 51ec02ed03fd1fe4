"""What is written to the terminal: no character that acts on it, and where it is asked for ASCII alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TextIO, cast

from evenhand.core.unseen import harmless

VARIABLE = "EVENHAND_ASCII"
"""Set to 1, it makes every command print ASCII."""

_YES = ("1", "t", "true", "y", "yes", "on")
_PLAIN = str.maketrans(
    {"·": "|", "×": "x", "–": "-", "−": "-", "“": '"', "”": '"', "’": "'", "…": "~", "±": "+-", "␣": "_"}
    | {"→": "->", "≤": "<=", "≥": ">=", "◁": "<", "▷": ">", "●": "*", "○": "o", "─": "-", "░": ":", "▒": "="}
)


class _Written:
    """A stream that hands on what is written to it in another form."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # typer would write UTF-8 into it
            raise AttributeError(name)
        return getattr(self.stream, name)


class _Ascii(_Written):
    """A stream whose signs outside ASCII are written as like ones within it."""

    encoding = "ascii"

    def write(self, text: str) -> int:
        plain = text.replace("Cramér", "Cramer").translate(_PLAIN)
        return self.stream.write(plain.encode("ascii", "backslashreplace").decode("ascii"))


class _Harmless(_Written):
    """A stream on which control and direction characters are shown as signs.

    Whatever a column, a label or a server is called, it cannot move the cursor, set the title or turn the
    rest of a line round.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.rich_proxied_file = stream  # where Rich writes; ``SafeConsole`` has read its texts

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # typer asks in this way whether bytes may be written
            raise TypeError(f"{type(text).__name__} is written to a stream of text")
        signs = harmless(text)
        if not isinstance(self.stream, _Ascii):  # which has its own signs
            encoding = getattr(self.stream, "encoding", None) or "utf-8"
            signs = signs.encode(encoding, "backslashreplace").decode(encoding)
        return self.stream.write(signs)


def plain_stream(stream: TextIO) -> TextIO:
    """The stream in ASCII, for Rich."""
    return cast(TextIO, _Ascii(_behind(stream)))


def write_format(content: bytes) -> None:
    """Write a file's bytes to standard output: as they are into a pipe or file, harmless on a terminal."""
    behind = _behind(sys.stdout)
    behind.flush()
    if behind.isatty():
        content = harmless(content.decode("utf-8", "replace")).encode()
    behind.buffer.write(content)
    behind.buffer.flush()


@contextmanager
def harmless_output(name: Literal["stdout", "stderr"]) -> Iterator[None]:
    """Let no text act on the terminal while the block runs; in ASCII, if the environment asks for it."""
    usual = getattr(sys, name)
    is_plain = os.environ.get(VARIABLE, "").lower() in _YES
    setattr(sys, name, _Harmless(cast(TextIO, _Ascii(usual)) if is_plain else usual))
    try:
        yield
    finally:
        setattr(sys, name, usual)


def _behind(stream: TextIO) -> TextIO:
    """The stream that is written to in the end."""
    while isinstance(stream, _Written):
        stream = stream.stream
    return stream
