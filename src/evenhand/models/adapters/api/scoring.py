"""Scores of continuations from the log-probabilities that a server tells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.core.capabilities import NotAnswered

NO_LOGPROBS = "the server gave no log-probabilities"
NOT_LISTED = "continuation not among the server's top log-probabilities"
MERGED = "the continuation shares a token with its prefix"
_UNLIKELY = -9999.0  # stands for minus infinity, or for "not told", in OpenAI's protocol and in vLLM


def first_token_scores(
    answer: dict[str, Any], continuations: Sequence[str], *, ignore_space: bool
) -> list[float] | NotAnswered:
    """Log-probability of each continuation that is a single token, from the list of likeliest first tokens.

    It is NaN where the continuation is not listed. ``ignore_space``: at the start of a message ``his`` and
    `` his`` are the same word, and their probabilities are added.
    """
    tokens = ((answer["choices"][0].get("logprobs") or {}).get("content")) or []
    if not tokens:
        return NotAnswered(NO_LOGPROBS)
    first, listed = tokens[0], list(tokens[0].get("top_logprobs") or [])
    if first["token"] not in [row["token"] for row in listed]:
        listed.append(first)
    scores = []
    for continuation in continuations:
        text = continuation.lstrip() if ignore_space else continuation
        same = [
            row["logprob"]
            for row in listed
            if (row["token"].lstrip() if ignore_space else row["token"]) == text
            and row["logprob"] > _UNLIKELY
        ]
        scores.append(float(np.logaddexp.reduce(same)) if same else math.nan)
    if not np.isnan(scores).all():
        return scores
    least = min(row["logprob"] for row in listed)
    likeliest = [row["token"] for row in listed[:8]]
    return NotAnswered(NOT_LISTED, f"{len(listed)} listed down to {least:.2f}, first {likeliest}")


def appended_scores(
    alone: dict[str, Any], appended: dict[str, Any], *, only_first: bool
) -> float | NotAnswered:
    """Log-probability of what ``appended`` has after ``alone``, from vLLM's ``prompt_logprobs``."""
    before, after = _prompt_tokens(alone), _prompt_tokens(appended)
    if not before or not after:
        return NotAnswered(NO_LOGPROBS, "prompt_logprobs is missing: is it a vLLM server?")
    size = len(before)
    if [token for token, _ in after[:size]] != [token for token, _ in before] or len(after) == size:
        return NotAnswered(
            MERGED, "move the space from the end of the prefix to the start of the continuation"
        )
    values = [value for _, value in after[size : size + 1 if only_first else None]]
    return math.nan if min(values) <= _UNLIKELY else math.fsum(values)


def _prompt_tokens(answer: dict[str, Any]) -> list[tuple[str, float]]:
    """Token id and log-probability at each position; the first position has none."""
    rows = [next(iter(row.items())) if row else None for row in answer.get("prompt_logprobs") or []]
    return [(row[0], float(row[1]["logprob"])) if row else ("", math.nan) for row in rows]
