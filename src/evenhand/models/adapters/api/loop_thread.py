"""An event loop in a thread of its own, for asynchronous code behind ordinary functions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for callers in any thread; also where a loop runs already, as in notebooks."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon: Ctrl-C does not wait for requests or back-offs under way.
        self._thread = threading.Thread(target=self._loop.run_forever, name="evenhand-api", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[None, None, T]) -> T:
        """The coroutine's result; whatever interrupts the wait cancels the coroutine."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and its thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
