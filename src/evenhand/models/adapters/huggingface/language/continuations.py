"""Log-probabilities of continuations, whatever the language model: what to compute, and what to add up.

A model gives a ``Step``: it holds N images with their contexts, and for N lists of tokens (tails) that stand
after the contexts it gives N tensors of logits, float32, shape (len(tail) + 1, V); row j predicts the token
that follows context + tail[:j]. One call is about every image once, so that a step can keep what it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats
from evenhand.core.errors import ParameterError
from evenhand.models.weights.device import import_torch

Tokens = list[int]
Step = Callable[[Sequence[Tokens]], Sequence[Any]]
Forward = Callable[[Any, Any, Any], Any]  # ids (N, L), mask (N, L), positions: logits (N, positions, V)


def split_together(prefix: Tokens, wholes: Sequence[Tokens]) -> tuple[int, list[Tokens]]:
    """Where a prefix ends and its continuations begin, when both are tokenised as one text.

    Byte-level BPE merges a space into the word after it: the tokens of ``"and "`` are not the first ones of
    ``"and his"``. So the context is what the prefix and all wholes begin with, and a continuation is the rest
    of its whole; being after one context, their probabilities can be compared. Returned are the length of
    the context and the continuations.
    """
    length = len(prefix)
    for tokens in wholes:
        pairs = zip(prefix[:length], tokens, strict=False)
        length = next((i for i, (mine, other) in enumerate(pairs) if mine != other), min(length, len(tokens)))
    return length, [tokens[length:] for tokens in wholes]


def check_not_empty(tails: Sequence[Tokens], continuations: Sequence[str]) -> None:
    """Refuse a continuation without a token: nothing would be asked, and it would always be certain."""
    for tokens, text in zip(tails, continuations, strict=True):
        if not tokens:
            raise ParameterError(f"the continuation {text!r} has no token of its own; give each one a word")


def sum_log_probabilities(step: Step, tails: Sequence[Sequence[Tokens]]) -> Floats:
    """Log-probability, shape (N, K), of whole continuations, by as few calls of ``step`` as they allow.

    The last token of a continuation need not be read by the model, and what several continuations begin with
    is read once: three pronouns of one token each need one call, not three. No continuation may be empty.
    """
    torch = import_torch()
    result = np.zeros((len(tails), len(tails[0]) if len(tails) else 0), dtype=np.float32)
    parents = [_to_read(row) for row in tails]
    for number in range(max(map(len, parents), default=0)):
        # a sample that needs fewer calls is asked its first one again: a call is about all images
        step_tails = [row[number] if number < len(row) else row[0] for row in parents]
        logits = step(step_tails)
        for i, row in enumerate(tails):
            mine = [k for k, tail in enumerate(row) if _reader(parents[i], tail) == number]
            if mine:
                log_p = torch.log_softmax(logits[i].float(), dim=-1)
                places = [(j, token) for k in mine for j, token in enumerate(row[k])]
                picked = log_p[[j for j, _ in places], [token for _, token in places]].cpu().numpy()
                ends = np.cumsum([len(row[k]) for k in mine])[:-1]
                result[i, mine] = [part.sum() for part in np.split(picked.astype(np.float64), ends)]
    return result


def first_token_logits(step: Step, firsts: Sequence[Sequence[int]]) -> Floats:
    """Raw logits of given tokens right after the contexts, float32, shape (N, K)."""
    result = np.zeros((len(firsts), len(firsts[0]) if len(firsts) else 0), dtype=np.float32)
    if result.size:
        for i, logits in enumerate(step([[] for _ in firsts])):
            result[i] = logits[0, list(firsts[i])].float().cpu().numpy()
    return result


def logits_after(
    contexts: Sequence[Tokens], tails: Sequence[Tokens], forward: Forward, device: Any, before: int = 0
) -> list[Any]:
    """What a ``Step`` gives, through one forward pass padded on the right.

    On the right no real token sees the padding or is moved by it, in any model that reads from left to right.
    ``before`` is the number of positions that the model puts before the first token, for the image.
    """
    torch = import_torch()
    ids, mask = pad_right([[*c, *t] for c, t in zip(contexts, tails, strict=True)], device)
    spans = [range(len(c) - 1, len(c) + len(t)) for c, t in zip(contexts, tails, strict=True)]
    positions = sorted({position for span in spans for position in span})
    index = {position: i for i, position in enumerate(positions)}
    logits = forward(ids, mask, torch.tensor(positions, device=device) + before)
    return [logits[i, [index[position] for position in span]].float() for i, span in enumerate(spans)]


def pad_right(rows: Sequence[Tokens], device: Any, value: int = 0) -> tuple[Any, Any]:
    """Lists of different length as one tensor (N, L), and a mask with 1 where it is real."""
    torch = import_torch()
    longest = max(map(len, rows))
    ids = [[*row, *[value] * (longest - len(row))] for row in rows]
    mask = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _to_read(row: Sequence[Tokens]) -> list[Tokens]:
    """What the model must read to know all continuations of a sample: none begins another."""
    longest: list[Tokens] = []
    for tail in sorted(row, key=len, reverse=True):
        if _reader(longest, tail) is None:
            longest.append(tail[:-1])
    return longest


def _reader(parents: Sequence[Tokens], tail: Tokens) -> int | None:
    """The first list that begins with all but the last token of a continuation."""
    size = len(tail) - 1
    return next((i for i, tokens in enumerate(parents) if tokens[:size] == tail[:-1]), None)
