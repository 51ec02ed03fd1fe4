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
    """How a server is asked; the query part of the URI, ``?max_tokens=16&rpm=60``."""

    concurrency: int = 8  # samples asked about at the same time, at least 1
    rpm: float = 0.0  # requests a minute at most, retries included; 0: no limit
    timeout: float = 60.0  # seconds to wait for a connection, and for the next bytes of an answer
    deadline: float = 600.0  # seconds for a whole answer; at least ``timeout`` where it is not given
    retries: int = 5  # more attempts after 408, 409, 429, 5xx, a time-out, a cut connection, a garbled answer
    max_tokens: int = 64  # of an answer, at most
    temperature: float | None = 0.0  # 0: greedy; None (``none``): not sent, for models that refuse it
    seed: int | None = 0  # None (``none``): not sent, for servers that refuse it
    image: str = "png"  # or ``jpeg`` (quality 95)
    logprobs: str = "top"  # of the likeliest first tokens, as listed; ``prompt``: of each token of it (vLLM)
    prefix: str = "user"  # ends the user's message; ``assistant``: opens a reply that vLLM, SGLang continue
    thinking: str = "server"  # as the template has it; ``off``: sends enable_thinking=False (vLLM, SGLang)
    top_logprobs: int = 20  # tokens asked for with ``logprobs=top``; OpenAI lists 20 at most
    redirect: str = ""  # the only other host to which the server may send requests on
    price_in: float | None = None  # of a million prompt tokens, in any currency, for the cost in ``usage``
    price_out: float | None = None  # of a million generated tokens


@dataclass(frozen=True)
class Address:
    """A model on a server."""

    model: str
    base_url: str  # up to and without ``/chat/completions``; no user, password, query or final slash
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

    Without ``@base_url`` the server is ``$OPENAI_BASE_URL``, else OpenAI's own. The argument ``max_tokens``
    counts where the reference gives none.
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
