"""What went wrong with a request: one sample's misfortune, or a reason to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import UserError, cut, one_line

REFUSED = "refused by the server"
TIMED_OUT = "the server did not answer in time"
CUT = "the connection to the server failed"
LIMITED = "the server's rate limit was reached"
FAILED = "the server failed"
_SHORTEST = 8  # characters of a key
_RETRIED = {408: FAILED, 409: FAILED, 429: LIMITED}
_FIXED = (
    "temperature",
    "seed",
    "logprobs",
    "top_logprobs",
    "prompt_logprobs",
    "continue_final_message",
    "max_tokens",
)


@dataclass(frozen=True)
class SentRequest:
    """Who was asked; what messages need to know."""

    model: str
    base_url: str
    key: str | None  # struck out of every message

    def __repr__(self) -> str:
        return f"SentRequest({self.model!r}, {self.base_url!r})"

    def struck(self, reply: Any) -> Any:
        """What a server said, JSON or text, without the key: some send back what they were sent.

        A key of fewer than 8 characters is no secret, and may be a word of an answer.
        """
        if isinstance(reply, str):
            return reply.replace(self.key, "[key]") if self.key and len(self.key) >= _SHORTEST else reply
        if isinstance(reply, dict):
            return {self.struck(name): self.struck(value) for name, value in reply.items()}
        return [self.struck(entry) for entry in reply] if isinstance(reply, list) else reply


def explain(error: Any, request: SentRequest) -> str:
    """What the server or the connection said, on one line, without the key."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    cause = error.__cause__
    text = one_line(message or (f"{type(cause).__name__}: {cause}" if cause else error)).strip(": ")
    text = text.replace(request.key, "[key]") if request.key else text
    return cut(text, 300)


def not_answered(error: Any, request: SentRequest) -> NotAnswered:
    """One sample without an answer, after the last attempt."""
    status = getattr(error, "status_code", None)
    detail = explain(error, request)
    if status is None:
        import openai

        return NotAnswered(
            TIMED_OUT if isinstance(error, openai.APITimeoutError) else CUT, detail, temporary=True
        )
    detail = detail if str(status) in detail else f"{status}: {detail}"
    if status in _RETRIED or status >= 500:
        return NotAnswered(_RETRIED.get(status, FAILED), detail, temporary=True)
    # A model that answered before and is gone now is a server in trouble, not a misspelt name.
    return NotAnswered(FAILED if status == 404 else REFUSED, detail, temporary=status == 404)


def stop_reason(error: Any, request: SentRequest, *, answered: bool) -> UserError | None:
    """Why no further sample needs to be asked, or None; ``answered``: name and address have proved right."""
    status = getattr(error, "status_code", None)
    where, explanation = request.base_url, explain(error, request)
    if status is None:
        unreachable = not answered and type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")
        return (
            UserError(f"{where} cannot be reached: {explanation}; start it, or check the address")
            if unreachable
            else None
        )
    if status == 401:
        complaint = "refused the key" if request.key else "asks for a key, and none was sent"
        return UserError(
            f"{where} {complaint} (401); type: export EVENHAND_API_KEY=... with a key of that server"
        )
    if status == 402 or getattr(error, "code", None) == "insufficient_quota":
        return UserError(
            f"the account at {where} is used up ({status}): {explanation}; the same command goes on later"
        )
    if status == 403 and not answered:
        return UserError(
            f"{where} does not let this key use {request.model!r} (403): {explanation}; "
            "use another key or model"
        )
    field = getattr(error, "param", None)
    if status in (400, 422) and field in _FIXED:
        hint = (
            f"add {field}=none to the model's options"
            if field in ("temperature", "seed")
            else "use another model"
        )
        return UserError(
            f"{request.model!r} at {where} does not take {field} ({status}): {explanation}; {hint}"
        )
    return None


def sent_on(error: Any, request: SentRequest, host: str) -> UserError:
    """Why nothing is asked of a server that sends requests to another host."""
    there = one_line(host)
    return UserError(
        f"{request.base_url} sends requests on to {there!r} ({error.status_code}), and images would go "
        f"there; give the address of that server, or allow it: add redirect={there} to the model's options"
    )
