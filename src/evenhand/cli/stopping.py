"""How a command ends: with one line and an exit code; SIGTERM stops it as Ctrl-C does."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on SIGTERM while the block runs; the list holds the signals that came."""
    came: list[int] = []
    command = os.getpid()

    def stop(number: int, _frame: FrameType | None) -> None:
        if os.getpid() != command:  # a process forked from this one has nothing to tell
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        came.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield came
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


class _WhileRead(io.FileIO):
    """Standard output that drops what nobody reads any more."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """Go on where the reader of the output has gone, as in ``| head``: gates are still checked."""
    usual = sys.stdout
    if usual is not sys.__stdout__ or usual is None:  # a caller's own stream, as in a notebook
        yield
        return
    buffer = io.BufferedWriter(_WhileRead(usual.fileno(), "w", closefd=False))
    sys.stdout = io.TextIOWrapper(
        buffer, encoding=usual.encoding, errors=usual.errors, line_buffering=usual.line_buffering
    )
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout = usual


def fail(message: str, code: int) -> NoReturn:
    """Print one line on stderr and exit."""
    typer.echo(f"evenhand: {message}", err=True)
    sys.exit(code)


def usage(problem: typer.TyperException) -> NoReturn:
    """Options that cannot be understood: one line with the help to ask for; no arguments at all: the help."""
    context = getattr(problem, "ctx", None)
    if len(sys.argv) == 1 and context is not None:
        typer.echo(context.get_help(), err=True)
        sys.exit(2)
    from evenhand.core.errors import one_line

    command = context.command_path if context is not None else "evenhand"
    text = problem.format_message() if hasattr(problem, "format_message") else str(problem)
    fail(f"{one_line(text).rstrip('.')}; type: {command} --help", 2)
