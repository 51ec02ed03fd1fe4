"""A request to end from outside (SIGTERM) stops a command as Ctrl-C does."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on SIGTERM while the block runs.

    Yields:
        The signals that came, so that the exit code can tell them from Ctrl-C.
    """
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
