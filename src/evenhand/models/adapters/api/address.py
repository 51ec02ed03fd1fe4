"""``api:model@base_url?option=value``: which model, which server, and how it is asked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from evenhand.core.errors import ParameterError, UnknownName, UserError, check_choice

OPENAI = "https://api.openai.com/v1"
LOCAL = ("localhost", "127.0.0.1", "::1")
_FORM = (
    "api:model@base_url, such as api:gpt-4o@https://api.openai.com/v1 or api:tiny@http://127.0.0.1:8000/v1"
)


@dataclass(frozen=True)
class ApiOptions:
    """How a server is asked; the query part of the URI, ``?max_tokens=16&rpm=60``.

    Attributes:
        concurrency: Samples asked about at the same time, at least 1.
        rpm: Requests a minute at most, retries included; 0 is no limit.
        timeout: Seconds to wait for a connection, and for the next bytes of an answer.
        deadline: Seconds for a whole answer; at least ``timeout`` where it is not given.
        retries: Further attempts after 408, 409, 429, 5xx, a time-out, a cut connection, a garbled answer.
        max_tokens: Longest answer, in tokens.
        temperature: 0 is greedy; ``none`` leaves it to the server, for models that refuse it.
        seed: Sent along; ``none`` for servers that refuse it.
        image: ``png`` (lossless) or ``jpeg`` (quality 95).
        logprobs: Continuations are scored by ``top``, the likeliest first tokens that the server lists, or by
            ``prompt``, vLLM's log-probability of every token of the prompt.
        prefix: Where a prefix stands: at the end of the ``user`` message, or opening the ``assistant``
            message that the server then continues (``continue_final_message`` of vLLM and SGLang).
        thinking: ``server``: as the model's template has it; ``off`` sends ``enable_thinking=False`` for it
            (``chat_template_kwargs`` of vLLM and SGLang).
        top_logprobs: Tokens asked for with ``logprobs=top``; OpenAI lists 20 at most.
        redirect: Name of another host to which the server may send requests on; none else is followed there.
        price_in: Price of a million prompt tokens, in any currency; with it ``usage`` tells the cost.
        price_out: Price of a million generated tokens.
    """

    concurrency: int = 8
    rpm: float = 0.0
    timeout: float = 60.0
    deadline: float = 600.0
    retries: int = 5
    max_tokens: int = 64
    temperature: float | None = 0.0
    seed: int | None = 0
    image: str = "png"
    logprobs: str = "top"
    prefix: str = "user"
    thinking: str = "server"
    top_logprobs: int = 20
    redirect: str = ""
    price_in: float | None = None
    price_out: float | None = None


@dataclass(frozen=True)
class Address:
    """A model on a server.

    Attributes:
        model: Name of the model, as the server knows it.
        base_url: Up to and without ``/chat/completions``; no user, password, query or final slash.
        options: How it is asked.
    """

    model: str
    base_url: str
    options: ApiOptions


_CHOICES = {
    "image": ("png", "jpeg"), "logprobs": ("top", "prompt"), "prefix": ("user", "assistant"),
    "thinking": ("server", "off"),
}  # fmt: skip
_WHOLE = {"concurrency": 1, "retries": 0, "max_tokens": 1, "seed": 0, "top_logprobs": 1}
_ABOVE_0 = ("timeout", "deadline")
_OMITTED = ("temperature", "seed")


def parse_address(reference: str, max_tokens: int | None = None) -> Address:
    """What ``model@base_url?option=value`` means.

    Without ``@base_url`` the server is ``$OPENAI_BASE_URL``, else OpenAI's own.

    Args:
        reference: What follows ``api:``.
        max_tokens: Of an answer, where the reference says nothing about it; None: the default.

    Raises:
        UserError: No model or no address; a user name or password in the address.
        UnknownName: An option that does not exist.
        ParameterError: A value outside what is possible.
    """
    body, _, query = reference.partition("?")
    model, at, url = re.fullmatch(r"(.*?)(?:(@)(https?://.*))?", body, re.DOTALL).groups("")  # type: ignore[union-attr]
    if not at and re.search(r"@(.*[:/]|localhost$)", body):
        raise UserError(f"{_shown(body)!r} has no http:// or https:// before the server's name; give {_FORM}")
    base_url = (url if at else os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
    parts = urlsplit(base_url)
    if not model or not parts.hostname or parts.scheme not in ("http", "https"):
        raise UserError(f"{_shown(body)!r} names no model on a server; give {_FORM}")
    if parts.username is not None or parts.query or parts.fragment:
        raise UserError(
            f"the address of {model!r} holds a user name, password or query; take it out and give the key as "
            "EVENHAND_API_KEY"
        )
    return Address(
        model, base_url, _parse_options(query, {} if max_tokens is None else {"max_tokens": max_tokens})
    )


def api_key(base_url: str) -> str | None:
    """The key for a server, from ``EVENHAND_API_KEY``, else ``OPENAI_API_KEY``.

    The latter was given for another server than most: it does not travel unencrypted to another machine.
    """
    key = os.environ.get("EVENHAND_API_KEY")
    parts = urlsplit(base_url)
    if key or (parts.scheme == "http" and parts.hostname not in LOCAL):
        return key
    return os.environ.get("OPENAI_API_KEY")


def _parse_options(query: str, defaults: Mapping[str, Any]) -> ApiOptions:
    names = [field.name for field in fields(ApiOptions)]
    values: dict[str, Any] = dict(defaults)
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in names:
            raise UnknownName("option of api:", name, names)  # the value may be a key: it is not shown
        values[name] = _read(name, text)
    options = replace(ApiOptions(), **values)
    if "deadline" not in values:
        options = replace(options, deadline=max(options.deadline, options.timeout))
    if options.logprobs == "prompt" and "prefix" not in values:
        options = replace(options, prefix="assistant")
    if options.logprobs == "prompt" and options.prefix == "user":
        raise ParameterError(
            "logprobs=prompt scores a prefix that opens the assistant's message; give prefix=assistant, or "
            "logprobs=top"
        )
    return options


def _read(name: str, text: str) -> Any:
    """One option's value, checked."""
    if name in _CHOICES:
        check_choice(name, text, _CHOICES[name])
    if name in _CHOICES or name == "redirect":
        return text
    if text == "none" and name in _OMITTED:
        return None
    kind: Callable[[str], float] = int if name in _WHOLE else float
    least = _WHOLE.get(name, 0)
    try:
        value = kind(text)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf") or (name in _ABOVE_0 and value == 0):
        what = "a whole number" if name in _WHOLE else "a number"
        above = "above 0" if name in _ABOVE_0 else f"of at least {least}"
        raise ParameterError(f"{name} must be {what} {above}" + (" or none" * (name in _OMITTED)))
    return value


def _shown(body: str) -> str:
    """What a message may show of an address: a user name and password are left out."""
    return "api:" + re.sub(r"(//|@)[^/]*@", r"\1...@", body)
