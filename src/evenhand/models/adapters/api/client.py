"""Requests to an OpenAI-compatible server: several at once, retried, counted."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import MissingExtra, UnknownName, UserError, one_line
from evenhand.models.adapters.api.address import Address, api_key
from evenhand.models.adapters.api.faults import (
    LIMITED,
    SentRequest,
    explain,
    not_answered,
    sent_on,
    stop_reason,
)
from evenhand.models.adapters.api.loop_thread import LoopThread

T = TypeVar("T")
Body = dict[str, Any]


class ApiClient:
    """Asks for chat completions and for images.

    Attempts, exponential back-off with jitter and ``Retry-After`` are the ``openai`` library's. The rate
    limit, the count of attempts, the deadline and size of an answer, and the refusal of answers that are none
    hang on its HTTP client, so that they hold for retries too.
    """

    def __init__(self, address: Address) -> None:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "api") from None
        from evenhand.models.adapters.api.bounded import BoundedClient

        self._options, key = address.options, api_key(address.base_url)
        self._sent = SentRequest(address.model, address.base_url, key)
        self._openai = openai.AsyncOpenAI(
            api_key=key or "none",  # the library insists on one; local servers do not look at it
            base_url=address.base_url,
            timeout=self._options.timeout,
            max_retries=self._options.retries,
            http_client=BoundedClient(
                self._options.deadline, self._before, _check_answer, self._options.redirect
            ),
        )
        self._hasty = self._openai.with_options(max_retries=0)
        self._thread = LoopThread()
        self._slots = asyncio.Semaphore(self._options.concurrency)
        self._free_at = 0.0
        self._failures = 0
        self._answered = False
        self._length_field = "max_tokens"
        self._counts = {"requests": 0, "retries": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._served: set[str] = set()

    def usage(self) -> dict[str, Any]:
        """Requests (attempts), retries, tokens, names under which the server answered, cost."""
        options, counts = self._options, self._counts
        account: dict[str, Any] = {**counts, "served_as": sorted(self._served)}
        if options.price_in is not None or options.price_out is not None:
            spent = counts["prompt_tokens"] * (options.price_in or 0.0)
            spent += counts["completion_tokens"] * (options.price_out or 0.0)
            account["cost"] = spent / 1e6
        return account

    def ask_all(self, jobs: Sequence[Callable[[], Coroutine[None, None, T]]]) -> list[T]:
        """The jobs' results in their order, ``concurrency`` at a time.

        Until the server has answered once, the first job runs alone: an error of all of them is raised once.
        An error cancels the jobs under way.
        """
        return self._thread.run(self._gather(jobs))

    async def complete(self, messages: list[Body], max_tokens: int, extra: Body) -> Body | NotAnswered:
        """One chat completion, as the server's JSON; an error where no sample can be answered at all."""
        import openai

        options = self._options
        fixed = {"temperature": options.temperature, "seed": options.seed}
        body = extra | {name: value for name, value in fixed.items() if value is not None}
        if options.thinking == "off":
            body["chat_template_kwargs"] = {"enable_thinking": False}
        length_field = self._length_field
        try:
            raw = await self._sending_client().chat.completions.with_raw_response.create(
                model=self._sent.model, messages=messages, extra_body=body | {length_field: max_tokens}
            )
        except openai.APIError as error:
            if self._takes_other_length_field(error, length_field):
                return await self.complete(messages, max_tokens, extra)
            return await self._give_up(error)
        self._failures, self._answered = 0, True
        return self._count(self._sent.struck(raw.http_response.json()))

    async def make_image(self, prompt: str, fields: Body) -> Body | NotAnswered:
        """One image, as the server's JSON; or which field it ``refuses`` and what it ``said``."""
        import openai

        try:
            raw = await self._sending_client().images.with_raw_response.generate(
                model=self._sent.model, prompt=prompt, n=1, extra_body=fields
            )
        except openai.APIError as error:
            refused = getattr(error, "param", None)
            if getattr(error, "status_code", None) in (400, 422) and refused in fields:
                return {"refuses": refused, "said": explain(error, self._sent)}
            missing = await self._give_up(error)
            code = getattr(error, "code", None)
            message = self._sent.struck(one_line(code, 100)) if code else ""
            return replace(missing, detail=f"{missing.detail} ({message})") if message else missing
        self._failures, self._answered = 0, True
        return self._count(self._sent.struck(raw.http_response.json()))

    def close(self) -> None:
        """Close connections and the thread."""
        self._thread.run(self._openai.close())
        self._thread.close()

    async def _gather(self, jobs: Sequence[Callable[[], Coroutine[None, None, T]]]) -> list[T]:
        alone = 0 if self._answered else 1
        first = [await self._in_slot(job) for job in jobs[:alone]]
        running = [asyncio.ensure_future(self._in_slot(job)) for job in jobs[alone:]]
        try:
            return first + await asyncio.gather(*running)
        finally:
            for future in running:
                future.cancel()

    def _sending_client(self) -> Any:
        """What sends: with the server down, hours of back-off would be spent on what cannot be answered."""
        return self._hasty if self._failures >= 2 * self._options.concurrency else self._openai

    async def _in_slot(self, job: Callable[[], Coroutine[None, None, T]]) -> T:
        async with self._slots:
            return await job()

    async def _before(self, request: Any) -> None:
        """Before each attempt: count it and wait for its turn."""
        self._counts["requests"] += 1
        self._counts["retries"] += request.headers.get("x-stainless-retry-count", "0") != "0"
        if self._options.rpm:
            now = time.monotonic()
            turn = max(now, self._free_at)
            self._free_at = turn + 60 / self._options.rpm
            await asyncio.sleep(turn - now)

    def _takes_other_length_field(self, error: Any, used: str) -> bool:
        """Newer models of OpenAI call the same limit ``max_completion_tokens``."""
        refused = getattr(error, "status_code", None) == 400 and getattr(error, "param", None) == "max_tokens"
        if refused and used == "max_tokens":
            self._length_field = "max_completion_tokens"
            return True
        return False

    async def _give_up(self, error: Any) -> NotAnswered:
        from evenhand.models.adapters.api.bounded import REDIRECTED

        response = getattr(error, "response", None)
        host = response.headers.get(REDIRECTED) if response is not None else None
        stop = (
            sent_on(error, self._sent, host)
            if host
            else stop_reason(error, self._sent, answered=self._answered)
        )
        if stop is None and getattr(error, "status_code", None) == 404 and not self._answered:
            stop = await self._unknown_model(error)
        if stop is not None:
            raise stop from None  # the cause holds the request, and with it the key
        missing = not_answered(error, self._sent)
        self._failures += missing.temporary and missing.reason != LIMITED
        return missing

    async def _unknown_model(self, error: Any) -> UserError:
        """The server knows no such model, or nothing under this address."""
        import openai

        request = self._sent
        try:
            names = [model.id for model in (await self._hasty.models.list()).data]
        except (openai.OpenAIError, AttributeError, TypeError):
            names = []
        if names:
            return UnknownName(f"model at {request.base_url}", request.model, names)
        return UserError(
            f"{request.base_url} has no model {request.model!r} (404): {explain(error, request)}; check "
            "the name, and that the address ends where /chat/completions follows, mostly in /v1"
        )

    def _count(self, answer: Body) -> Body:
        used = answer.get("usage")
        for name, other in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
            count = used.get(name, used.get(other)) if isinstance(used, dict) else None
            if type(count) is int and count > 0:  # what a server counts in another way is left out
                self._counts[name] += count
        served = [str(answer[key]) for key in ("model", "system_fingerprint") if answer.get(key)]
        self._served |= {" ".join(served)} if served else set()
        return answer


def _check_answer(response: Any) -> None:
    """Make an answer that is none a failure of the connection, which is retried."""
    what = next(
        (answer_kind for end, answer_kind in _ANSWERS.items() if response.request.url.path.endswith(end)),
        None,
    )
    if response.status_code != 200 or what is None:
        return
    import httpx2

    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not what[1](answer):
        error = answer.get("error") if isinstance(answer, dict) else None
        message = f"the answer is no {what[0]}{f': {error}' if error else ''}"
        raise httpx2.RemoteProtocolError(message, request=response.request)


def _is_completion(answer: Any) -> bool:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def _is_image(answer: Any) -> bool:
    """Whether there is an image, or an address of one."""
    data = answer.get("data") if isinstance(answer, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    text = first.get("b64_json") if isinstance(first, dict) else None
    if not isinstance(text, str):
        return isinstance(first, dict) and isinstance(first.get("url"), str)
    try:
        return bool(base64.b64decode(text, validate=True))
    except binascii.Error:
        return False


_ANSWERS = {
    "/chat/completions": ("chat completion", _is_completion),
    "/images/generations": ("image", _is_image),
}
