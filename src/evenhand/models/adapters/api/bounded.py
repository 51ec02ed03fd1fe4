"""An HTTP client whose answers end: each attempt has a total deadline, and each answer a size."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import openai

ANSWER_BYTES = 2**20
IMAGE_BYTES = 2**26  # a large picture as base64 text
_IMAGES = "/images/generations"
REDIRECTED = "x-evenhand-redirected-to"
"""Header of a redirect that was not followed, in place of ``location``: the host."""


class BoundedClient(openai.DefaultAsyncHttpxClient):  # type: ignore[misc]  # its base is not typed here
    """The HTTP client of ``openai``, for servers that never finish.

    Its time-out is that between bytes: a server that sends a byte now and then would be waited for without
    end, and one that never stops sending would fill the memory.
    """

    def __init__(
        self,
        deadline: float,  # seconds for an attempt, from its first byte to the last of the answer
        before: Callable[[httpx2.Request], Awaitable[None]],  # awaited before each attempt, not timed
        check: Callable[[httpx2.Response], None],  # called with each answer that is whole
        redirect: str,  # the only host besides the server's own to which requests may be sent on
    ) -> None:
        super().__init__(event_hooks={"response": [self._read]})
        self._deadline, self._before, self._check, self._redirect = deadline, before, check, redirect

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """One attempt, refused where its answer is too long or not whole by the deadline."""
        await self._before(request)
        try:
            async with asyncio.timeout(self._deadline):
                answer: httpx2.Response = await super().send(request, **options)
                return answer
        except TimeoutError:
            message = f"no whole answer within {self._deadline:g} s (deadline)"
            raise httpx2.ReadTimeout(message, request=request) from None

    async def _read(self, response: httpx2.Response) -> None:
        """Read the answer as far as it may go; one that sends the request elsewhere is an error."""
        if response.has_redirect_location and (host := self._elsewhere(response)):
            del response.headers["location"]
            response.headers[REDIRECTED] = host
        most = IMAGE_BYTES if response.request.url.path.endswith(_IMAGES) else ANSWER_BYTES
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > most:
                message = f"the answer is longer than {most // 2**20} MB"
                raise httpx2.RemoteProtocolError(message, request=response.request)
        response._content = bytes(content)  # where the class looks for an answer that was read
        self._check(response)

    def _elsewhere(self, response: httpx2.Response) -> str:
        """The host that a redirect would lead to; empty where it may be followed.

        It may where it stays with the server, leads from http to https of its host, or is allowed by name.
        """
        sent = response.request.url
        try:
            other = sent.join(response.headers["location"])
        except (httpx2.InvalidURL, ValueError):
            return "?"
        host = other.raw_host.decode("ascii", "replace")
        upgraded = (sent.scheme, other.scheme, other.port) == ("http", "https", None)
        same = (sent.scheme, sent.port) == (other.scheme, other.port)
        may = host == self._redirect or (other.host == sent.host and (same or upgraded))
        return "" if may else host or "?"
