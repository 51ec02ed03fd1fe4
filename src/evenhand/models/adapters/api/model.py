"""A vision-language model behind an OpenAI-compatible server."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import numpy as np

from evenhand.core.capabilities import Images, NotAnswered, Pixels
from evenhand.core.errors import UserError
from evenhand.core.thoughts import UNFINISHED
from evenhand.models.adapters.api.address import Address
from evenhand.models.adapters.api.client import ApiClient, Body
from evenhand.models.adapters.api.faults import REFUSED
from evenhand.models.adapters.api.pictures import ImageRequests
from evenhand.models.adapters.api.scoring import NO_LOGPROBS, appended_scores, first_token_scores
from evenhand.models.identity.source import ImageOptions

CONTINUE = "Continue this text. Answer with nothing but the words that come next.\n\n{prefix}"
Row = list[float] | NotAnswered


class ApiModel:
    """Answers questions, scores continuations and makes images.

    ``answer`` sends one user message, the image and then the prompt. How ``score_continuations`` and
    ``next_token_logits`` ask follows from the options of the address:

    - ``logprobs=top`` (any server that lists log-probabilities, one request a sample) generates one token and
      reads the listed log-probabilities of that token. With ``prefix=user`` the message is the image and
      ``CONTINUE`` with the prefix in it, and the score is that of the word opening the reply, leading space
      ignored. With ``prefix=assistant`` the user message is the image alone, the prefix opens the reply, and
      the continuation must be the next token exactly. A continuation that is not listed, or is longer than
      one token, is NaN; a sample without any listed one is ``NotAnswered``.
    - ``logprobs=prompt`` (vLLM; one request for each continuation and one for the prefix) lets the server
      score the reply ``prefix + continuation``: the sum over all tokens after the prefix, of any length.

    Servers tell log-probabilities, not logits: ``next_token_logits`` returns the log-probability of the first
    token, which differs from its logit by a constant of the sample, so that differences are those of logits.
    """

    def __init__(self, address: Address, images: ImageOptions | None = None) -> None:
        self._address, self._client = address, ApiClient(address)
        self._pictures = ImageRequests(address, self._client, images or ImageOptions())
        self._draws, self._scored = images is not None, False
        self.at_once = address.options.concurrency

    def prepare(self, image: Pixels) -> str:
        """The image as a ``data:`` URL."""
        from PIL import Image

        kind, stream = self._address.options.image, io.BytesIO()
        settings: dict[str, Any] = (
            {"compress_level": 1} if kind == "png" else {"quality": 95, "subsampling": 0}
        )
        Image.fromarray(np.asarray(image, dtype=np.uint8)).save(stream, format=kind.upper(), **settings)
        return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"

    def answer(self, images: Images, prompts: Sequence[str]) -> list[str | NotAnswered]:
        """The model's reply to prompt i about image i; where the image is None, the prompt alone is sent."""
        jobs = [partial(self._answer, image, text) for image, text in zip(images, prompts, strict=True)]
        return self._client.ask_all(jobs)

    def score_continuations(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Any:
        """Log-probability of each whole continuation, float32, shape (N, K), at most 0; see the class.

        It is NaN where the server does not give it; a list of rows and ``NotAnswered`` where a sample has no
        answer.
        """
        return self._score(images, prefixes, continuations, only_first=False)

    def next_token_logits(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Any:
        """Log-probability of each continuation's first token: its logit less a constant of the sample."""
        return self._score(images, prefixes, continuations, only_first=True)

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Pixels | NotAnswered]:
        """An image of each prompt, RGB, shape (H, W, 3); seeds in [0, 2**32): see ``ImageRequests``."""
        jobs = [
            partial(self._pictures.picture, prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        return self._client.ask_all(jobs)

    def usage(self) -> dict[str, Any]:
        """What was spent since loading, and whether seeds were sent by a model that was loaded for images."""
        return self._client.usage() | (self._pictures.seed_facts() if self._draws else {})

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    async def _answer(self, image: str | None, prompt: str) -> str | NotAnswered:
        options = self._address.options
        completion = await self._client.complete([_user(image, prompt)], options.max_tokens, {})
        if isinstance(completion, NotAnswered):
            return completion
        choice = completion["choices"][0]
        message, ended = choice.get("message") or {}, choice.get("finish_reason")
        if ended == "content_filter" or message.get("refusal"):
            return NotAnswered(REFUSED, str(message.get("refusal") or "content filter"))
        text, where = message.get("content"), f"it ended with {ended}; max_tokens={options.max_tokens}"
        if not text and ended == "length" and _spent_thought_tokens(completion, message):
            return NotAnswered(UNFINISHED, f"{where}; give it room with --max-tokens")
        return text if isinstance(text, str) else NotAnswered("no text in the server's answer", where)

    def _score(
        self,
        images: Images,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        only_first: bool,
    ) -> Any:
        from_prompt = self._address.options.logprobs == "prompt"
        ask = partial(self._from_prompt, only_first=only_first) if from_prompt else self._from_top
        jobs: list[Callable[[], Coroutine[None, None, Row]]] = [
            partial(self._scored_row, ask, *arguments)
            for arguments in zip(images, prefixes, continuations, strict=True)
        ]
        rows = self._client.ask_all(jobs)
        answered = [row if isinstance(row, NotAnswered) else np.array(row, dtype=np.float32) for row in rows]
        return (
            answered
            if any(isinstance(row, NotAnswered) for row in rows)
            else np.array(rows, dtype=np.float32)
        )

    async def _scored_row(
        self,
        ask: Callable[..., Coroutine[None, None, Row]],
        image: str | None,
        prefix: str,
        texts: Sequence[str],
    ) -> Row:
        row = await ask(image, prefix, texts)
        if isinstance(row, NotAnswered) and row.reason == NO_LOGPROBS and not self._scored:
            where = f"{self._address.model!r} at {self._address.base_url}"
            raise UserError(
                f"{where} gives no log-probabilities, which scores_continuations needs; type: evenhand ls "
                "models --can scores_continuations"
            )
        self._scored = self._scored or not isinstance(row, NotAnswered)
        return row

    async def _from_top(self, image: str | None, prefix: str, texts: Sequence[str]) -> Row:
        options = self._address.options
        fields: Body = {"logprobs": True, "top_logprobs": options.top_logprobs}
        if options.prefix == "user":
            messages = [_user(image, CONTINUE.format(prefix=prefix))]
        else:
            messages, opened = _opened(image, prefix)
            fields |= opened
        completion = await self._client.complete(messages, 1, fields)
        if isinstance(completion, NotAnswered):
            return completion
        return first_token_scores(completion, texts, ignore_space=options.prefix == "user")

    async def _from_prompt(
        self, image: str | None, prefix: str, texts: Sequence[str], *, only_first: bool
    ) -> Row:
        completions: list[Body] = []
        for text in ("", *texts):
            messages, opened = _opened(image, prefix + text)
            answer = await self._client.complete(messages, 1, opened | {"prompt_logprobs": 0})
            if isinstance(answer, NotAnswered):
                return answer
            completions.append(answer)
        scores: list[float] = []
        for completion in completions[1:]:
            score = appended_scores(completions[0], completion, only_first=only_first)
            if isinstance(score, NotAnswered):
                return score
            scores.append(score)
        return scores


def _spent_thought_tokens(completion: Body, message: Body) -> bool:
    """Whether a model spent tokens on a thought that its server keeps apart from the answer."""
    used = (completion.get("usage") or {}).get("completion_tokens_details") or {}
    return bool(message.get("reasoning_content") or message.get("reasoning") or used.get("reasoning_tokens"))


def _user(image: str | None, text: str) -> Body:
    """A user message: the image, then the text, where there are any."""
    parts: list[Body] = [] if image is None else [{"type": "image_url", "image_url": {"url": image}}]
    return {"role": "user", "content": [*parts, {"type": "text", "text": text}] if text else parts}


def _opened(image: str | None, text: str) -> tuple[list[Body], Body]:
    """A chat whose reply begins with a text, and the fields that make the server continue it."""
    if not text:  # an empty message cannot be continued; the reply that opens after the user's is the same
        return [_user(image, "")], {}
    reply = {"role": "assistant", "content": text}
    return [_user(image, ""), reply], {"add_generation_prompt": False, "continue_final_message": True}
