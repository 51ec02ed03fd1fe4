"""Ask the web for one file at a time, trusting nothing that a server says.

Redirects are followed by hand, each hop looked up, checked, and then asked at the very address that was
checked. What is read is counted as it comes, and unpacked by the piece; who drips bytes runs into a deadline.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.core.errors import one_line
from evenhand.files.download.addresses import Failed, Host, addresses_of, place_of

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_MOVED = frozenset({301, 302, 303, 307, 308})
_ADDRESSES_TRIED = 3
_CHUNK = 2**16


@dataclass(frozen=True)
class Limits:
    """How long, how much, how often and how many at once."""

    connect: float = 10.0  # seconds to wait for a connection
    read: float = 20.0  # seconds to wait for the next bytes
    total: float = 60.0  # seconds for one attempt with all its redirects, waiting for a free slot not counted
    max_bytes: int = 20 * 2**20  # of a file, packed or unpacked
    redirects: int = 5
    attempts: int = 4  # how often to ask when the trouble may pass
    backoff: float = 0.5  # seconds before the second attempt; doubled before each further one
    longest_wait: float = 30.0  # seconds; a server that asks for more is not asked again
    at_once: int = 16  # requests under way
    per_host: int = 4  # of these, to the same host
    allowed: tuple[str, ...] = ()  # networks that may be asked although not public, such as ``127.0.0.1/32``


@dataclass(frozen=True, eq=False)
class Reply:
    """What came from an address."""

    content: bytes
    url: str  # after redirects
    content_type: str  # as the server calls it, without parameters


class Web:
    """Asks for files; made inside a running event loop, closed by ``async with``."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._all = asyncio.Semaphore(limits.at_once)
        self._hosts: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(limits.per_host)
        )
        self._looked_up: dict[Host, asyncio.Task[list[str] | Failed]] = {}

    async def __aenter__(self) -> Web:
        import httpx

        limits = self.limits
        # A connection is used once: two names behind one address must not share what one agreed.
        # Proxies of the environment are not used: what they would ask cannot be checked here.
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(limits.read, connect=limits.connect),
            limits=httpx.Limits(max_connections=limits.at_once, max_keepalive_connections=0),
            verify=httpx.create_ssl_context(),
            follow_redirects=False,
            trust_env=False,
            headers=_headers(),
        )
        return self

    async def __aexit__(self, *details: object) -> None:
        await self._client.aclose()

    async def get(self, url: str) -> Reply:
        """A file, asked for again while the trouble may pass."""
        limits = self.limits
        for attempt in range(1, limits.attempts + 1):
            try:
                return await self._attempt(url)
            except Failed as problem:
                wait = max(problem.wait, limits.backoff * 2 ** (attempt - 1) * random.uniform(0.75, 1.25))  # noqa: S311
                if not problem.temporary or attempt == limits.attempts or wait > limits.longest_wait:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, url: str) -> Reply:
        """One attempt, through its redirects."""
        left, seen = self.limits.total, {url}
        for _ in range(self.limits.redirects + 1):
            host, parsed = _parse(url)
            clock = asyncio.get_running_loop().time
            async with self._hosts[host.host], self._all:
                began = clock()
                reply = await self._guarded(self._hop(parsed, host), left)
                left -= clock() - began
            if isinstance(reply, Reply):
                return reply
            url = reply
            if url in seen:
                raise Failed("redirects in a circle", url)
            seen.add(url)
        raise Failed("too many redirects", f"more than {self.limits.redirects}")

    async def _guarded(self, work: Awaitable[Result], seconds: float) -> Result:
        """Work until a deadline; whatever one address makes httpx raise must not end the others."""
        import httpx

        try:
            return await _in_time(work, seconds)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as problem:
            detail = one_line(problem) or type(problem).__name__
            raise Failed("cannot be asked", detail, temporary=isinstance(problem, OSError)) from problem

    async def _hop(self, url: httpx.URL, host: Host) -> Reply | str:
        """Ask a host at the addresses that were checked; the next URL, if it sends us on."""
        import httpx

        addresses = await self._addresses(host)
        for address in addresses[:_ADDRESSES_TRIED]:
            try:
                return await self._ask(url, host, address)
            except (httpx.ConnectError, httpx.ConnectTimeout) as problem:
                trouble: httpx.TransportError = problem
            except httpx.TransportError as problem:
                raise _transport(problem) from problem
        self._looked_up.pop(host, None)  # it may have moved
        raise _transport(trouble) from trouble

    async def _addresses(self, host: Host) -> list[str]:
        """Where a host is, looked up once for all its files; who waits may give up without the others."""
        if host not in self._looked_up:
            self._looked_up[host] = asyncio.create_task(self._look_up(host))
        addresses = await asyncio.shield(self._looked_up[host])
        if isinstance(addresses, Failed):
            if addresses.temporary:
                self._looked_up.pop(host, None)
            raise Failed(addresses.reason, addresses.detail, temporary=addresses.temporary)
        return addresses

    async def _look_up(self, host: Host) -> list[str] | Failed:
        try:
            return await addresses_of(host, self.limits.allowed)
        except Failed as problem:
            return problem

    async def _ask(self, url: httpx.URL, host: Host, address: str) -> Reply | str:
        """Send the request to an address, with the name where a server looks for it."""
        async with self._client.stream(
            "GET",
            url.copy_with(host=address, fragment=None),
            headers={"Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": host.host},
        ) as response:
            location = response.headers.get("location")
            if response.status_code in _MOVED and location:
                return _moved(url, location)
            if response.status_code != 200:
                wait = _wait_of(response.headers.get("retry-after", ""))
                again = response.status_code in _AGAIN
                raise Failed(
                    f"HTTP {response.status_code}", response.reason_phrase, temporary=again, wait=wait
                )
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Reply(await self._read(response), str(url), kind)

    async def _read(self, response: httpx.Response) -> bytes:
        """The body, cut off as soon as it is too long; the announced length is believed only if too long."""
        limit = self.limits.max_bytes
        announced = response.headers.get("content-length", "")
        if announced.isdigit() and int(announced[:20]) > limit:
            raise Failed("too large", f"{int(announced[:20]):,} bytes, more than {limit:,}")
        unpack = _unpacker(response.headers.get("content-encoding", ""))
        body = bytearray()
        async for chunk in response.aiter_raw(_CHUNK):
            body += unpack(chunk, limit + 1 - len(body))
            if len(body) > limit:
                raise Failed("too large", f"more than {limit:,} bytes")
        return bytes(body)


def _headers() -> dict[str, str]:
    from importlib.metadata import version

    agent = f"evenhand/{version('evenhand')} (audits of vision models; fetches each image once)"
    accept = "image/jpeg,image/png,image/webp;q=0.9,image/*;q=0.6,*/*;q=0.3"
    return {"User-Agent": agent, "Accept": accept, "Accept-Encoding": "identity"}


def _parse(url: str) -> tuple[Host, httpx.URL]:
    import httpx

    try:
        parsed = httpx.URL(url)
        host = place_of(parsed.scheme, parsed.raw_host.decode("ascii"), parsed.port, parsed.userinfo)
    except (httpx.InvalidURL, UnicodeError, ValueError) as problem:
        raise Failed("not an http or https address", one_line(problem)) from problem
    return host, parsed


def _moved(url: httpx.URL, location: str) -> str:
    import httpx

    try:
        return str(url.join(location))
    except (httpx.InvalidURL, ValueError) as problem:
        raise Failed("not an http or https address", f"redirected: {one_line(problem)}") from problem


async def _in_time(work: Awaitable[Result], seconds: float) -> Result:
    """Wait for work until a deadline, however busily it does nothing."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            return await work
    except TimeoutError as problem:
        raise Failed("too slow", "the deadline passed", temporary=True) from problem


def _transport(problem: httpx.TransportError) -> Failed:
    """What an exception of httpx means."""
    import httpx

    cause = one_line(problem) or type(problem).__name__
    if "certificate" in cause.lower():
        return Failed("certificate not valid", cause)
    if isinstance(problem, httpx.TimeoutException):
        return Failed("too slow", type(problem).__name__, temporary=True)
    if isinstance(problem, httpx.ConnectError):
        return Failed("no connection", cause, temporary=True)
    cut = isinstance(problem, httpx.RemoteProtocolError | httpx.ReadError)
    return Failed("connection broke off" if cut else "cannot be asked", cause, temporary=cut)


def _wait_of(text: str) -> float:
    """Seconds of a Retry-After header, a number or a date."""
    if text.strip().isdigit():
        return float(text.strip()[:9])
    try:
        from datetime import UTC, datetime

        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _unpacker(coding: str) -> Callable[[bytes, int], bytes]:
    """How to undo a content coding, never making more bytes than asked for.

    None is asked for; some servers pack all the same.
    """
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return lambda chunk, _: chunk
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Failed("unknown content coding", coding)
    packed: Any = zlib.decompressobj(wbits=47)  # gzip or zlib, whichever the header says

    def unpack(chunk: bytes, room: int) -> bytes:
        try:
            return bytes(packed.decompress(chunk, max(1, room)))
        except zlib.error as problem:
            raise Failed("damaged content coding", one_line(problem)) from problem

    return unpack
