"""Progress on stderr, in lines now and then where that is no terminal; nothing is shown when quiet."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from evenhand.core.unseen import harmless
from evenhand.display.text.notes import NOTES

if TYPE_CHECKING:
    from rich.console import Console

_PAUSE = 30.0  # seconds between lines

Show = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how many."""


@contextmanager
def bars(quiet: bool) -> Iterator[Show]:
    """A bar for each kind of work: done, of how many, how many a second, and the time left.

    Notes on what is fetched and loaded meanwhile are lines of stderr, above the bars where there are some.
    """
    if quiet:
        yield lambda _what, _done, _total: None
        return
    if not sys.stderr.isatty():
        with _notes(_to_stderr):
            yield _lines()
        return
    from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    from evenhand.cli.arguments.console import SafeConsole

    class Rate(ProgressColumn):
        """Items a second."""

        def render(self, task: Task) -> Text:
            """The rate, once there is one."""
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    console = SafeConsole(stderr=True)
    with _notes(_above(console)), Progress(*columns, console=console) as bar:
        tasks = {}

        def show(what: str, n_done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(harmless(what), total=total)
            bar.update(tasks[what], completed=n_done, total=total)

        yield show


def _lines() -> Show:
    """A line twice a minute at most, for logs of long work; short work has none."""
    last_line = time.monotonic()

    def show(what: str, n_done: int, total: int) -> None:
        nonlocal last_line
        if time.monotonic() - last_line > _PAUSE:
            last_line = time.monotonic()
            print(f"{what}: {n_done:,} of {total:,}", file=sys.stderr, flush=True)

    return show


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def _above(console: Console) -> Callable[[str], None]:
    """Lines above what is drawn anew on a console."""
    return partial(console.print, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _notes(write: Callable[[str], None]) -> Iterator[None]:
    """Write every note while work is under way."""
    handler, level = logging.Handler(logging.INFO), NOTES.level
    handler.emit = lambda record: write(record.getMessage())  # type: ignore[method-assign]
    NOTES.addHandler(handler)
    NOTES.setLevel(logging.INFO)
    try:
        yield
    finally:
        NOTES.setLevel(level)
        NOTES.removeHandler(handler)


@contextmanager
def one_bar(quiet: bool, what: str) -> Iterator[Callable[[int, int], None]]:
    """The bar of one kind of work."""
    with bars(quiet) as show:
        yield lambda n_done, total: show(what, n_done, total)


@contextmanager
def status(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done, on a terminal; notes meanwhile are lines of their own."""
    if quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        with _notes(_to_stderr):
            yield lambda _: None
        return
    from evenhand.cli.arguments.console import SafeConsole

    console = SafeConsole(stderr=True)
    spinner = "line" if console.options.ascii_only else "dots"
    with _notes(_above(console)), console.status("reading", spinner=spinner) as line:
        yield lambda text: line.update(harmless(text))
