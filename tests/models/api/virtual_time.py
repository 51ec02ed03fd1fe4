"""Time for clients of a test server that passes only while nobody works, and then at once."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import SimpleNamespace


class Clock:
    """The time of the clients' loops.

    It stands still while a client or the server is busy, however long that takes on a busy machine. When
    every attempt under way is one that the server holds back on purpose, or none is under way and clients
    wait for a turn or back off, it jumps to the next time-out or wake-up. Waits are exact, and take no time.
    """

    def __init__(self, server):
        self.now, self.sent = 1_000.0, []
        self._server, self._loops, self._flying = server, [], 0
        self._end = threading.Event()

    def time(self):
        return self.now

    @contextmanager
    def installed(self, monkeypatch):
        """Govern each client that is made now."""
        import openai

        from evenhand.models.adapters.api import client
        from evenhand.models.adapters.api.loop_thread import LoopThread

        begin, send = LoopThread.__init__, openai.DefaultAsyncHttpxClient.send

        def begin_governed(thread):
            begin(thread)
            thread._loop.time = self.time
            self._loops.append(thread._loop)

        async def send_counted(sender, request, **options):
            self.sent.append(self.now)
            self._flying += 1
            try:
                return await send(sender, request, **options)
            finally:
                self._flying -= 1

        monkeypatch.setattr(LoopThread, "__init__", begin_governed)
        monkeypatch.setattr(openai.DefaultAsyncHttpxClient, "send", send_counted)
        monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=self.time))
        watching = threading.Thread(target=self._watch, daemon=True)
        watching.start()
        try:
            yield self
        finally:
            self._end.set()
            watching.join()

    def _watch(self):
        while not self._end.wait(0.01):
            seen = len(self.sent), self._flying
            if self._flying == 0 or self._flying == self._server.held():
                for loop in self._loops:
                    if not loop.is_closed():
                        loop.call_soon_threadsafe(self._jump, loop, seen)

    def _jump(self, loop, seen, settled=False):
        """In the loop itself: nothing was sent or came back since then, and nothing is about to."""
        if not settled:  # what woke the loop for this call is still among what it has to do
            loop.call_soon(self._jump, loop, seen, True)
            return
        waiting = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
        if waiting and not loop._ready and seen == (len(self.sent), self._flying):
            self.now = max(self.now, min(waiting))
