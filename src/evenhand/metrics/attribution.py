"""Which words does a model give first for the images of a group, and how many of them are pleasant?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError, check_choice
from evenhand.core.results import Dropped, Finding, Interval, Null, Part
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.building import number, percentile_interval
from evenhand.metrics.matching import check_k, top_weights
from evenhand.metrics.prepared import LEVEL
from evenhand.metrics.similarity_findings import Details
from evenhand.metrics.single_set import SingleSet
from evenhand.stats.hypergeometric import log_choose

Floats: TypeAlias = npt.NDArray[np.float64]

READINGS = ("softmax", "argmax", "cosine")
REPLICATES = 1_999
_CELLS = 8_000_000
_ROUNDING = 1e-12


def pleasant_at_k(
    evidence: Similarities,
    *,
    target: str,
    attributes: Sequence[str],
    k: int = 15,
    reading: str = "softmax",
    scale: float = 100.0,
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """Share of the k words that a model gives first for a group which belong to the second set of words.

    In [0, 1]. With A unpleasant and B pleasant, 12 of 15 pleasant words give 0.8. A model that does not tell
    the sets apart gives ``nb / (na + nb)``: read the null. Words are ranked by ``reading``:

    - ``softmax``: the mean over images of ``softmax(scale * similarity)`` over all words of A and B.
    - ``argmax``: the share of images whose nearest word it is; equally near words share the image.
    - ``cosine``: the mean similarity.

    Args:
        evidence: Similarities.
        target: Name of the set of images.
        attributes: Names of the sets A and B of words.
        k: How many words.
        reading: How words are ranked.
        scale: The model's own logit scale (100 for CLIP); only softmax needs it.
        mode: ``paper`` changes nothing but the name.
        inference: ``none`` skips interval, null and p.
        seed: Of resamples of the images.

    Returns:
        A Finding; parts are the words of the first k places with value, set and rank. Words that tie for the
        last place are all there, and count by their chance of a place. Words of both sets are left out and
        counted. The interval takes images as samples, null and p (two-sided) take the k words as drawn from
        all. None with reason ``empty_set`` or ``k_exceeds_pool``.

    Raises:
        UserError: An unknown set or option.

    Source: Janghorbani and de Melo 2023, section 5.1.1 and Figure 5.
    """
    check_k(k)
    asked, words = _bound(
        evidence, target, attributes, reading, scale, mode=mode, inference=inference, seed=seed
    )
    params = {"k": k, "reading": reading, "scale": scale if reading == "softmax" else None}
    dropped = int(asked.in_both[: asked.na].sum())
    more: dict[str, Any] = {}
    if dropped:
        more["notes"] = [f"{dropped} words of both sets are left out: neither set can claim them"]
    pleasant = (np.arange(len(asked.words)) >= asked.na)[words]
    if asked.empty or not (pleasant.any() and not pleasant.all()):
        return asked.finding(params, None, "empty_set", **more)
    if k > words.size:
        return asked.finding(params, None, "k_exceeds_pool", **more)
    images = _of_each(asked.block[:, words], reading, scale)
    values = images.mean(axis=0)
    weights = top_weights(values[None], k)[0]
    value = float(weights[pleasant].sum() / k)
    fields: dict[str, Any] = {}
    if inference == "auto":
        null, p = _drawn_words(words.size, int(pleasant.sum()), k, value)
        fields = {"null": null, "p_value": p, "interval": _over_images(asked, images, pleasant, k)}
    details: Details = {"words": float(words.size), "pleasant_words": float(pleasant.sum())}
    finding = asked.finding(
        params, value, None, parts=_parts(asked, words, values, weights), details=details, **fields, **more
    )
    if not dropped:
        return finding
    both = Dropped(reason="word of both sets", count=dropped)
    return finding.model_copy(update={"dropped": [*finding.dropped, both]})


def word_values(
    evidence: Similarities, target: str, attributes: Sequence[str], reading: str, scale: float
) -> list[tuple[int, str, str, float]]:
    """Rank, word, its set and value, of all words, the first first; equal values share the best rank.

    Args:
        evidence: Similarities.
        target: Name of the set of images.
        attributes: Names of the sets A and B of words.
        reading: As in ``pleasant_at_k``.
        scale: As there.

    Raises:
        UserError: An unknown set or option.
    """
    asked, words = _bound(
        evidence, target, attributes, reading, scale, mode="default", inference="none", seed=0
    )
    if asked.empty:
        return []
    values = _of_each(asked.block[:, words], reading, scale).mean(axis=0)
    return _ranked(asked, words, values)


def _bound(
    evidence: Similarities,
    target: str,
    attributes: Sequence[str],
    reading: str,
    scale: float,
    *,
    mode: str,
    inference: str,
    seed: int,
) -> tuple[SingleSet, npt.NDArray[np.int64]]:
    """The set, and the columns of words that belong to one set only."""
    check_choice("reading", reading, READINGS)
    if not (np.isfinite(scale) and scale > 0):
        raise ParameterError(f"scale={scale!r} is not possible; give the model's logit scale, above 0")
    asked = SingleSet.make(
        "pleasant_at_k", evidence, target, attributes, mode=mode, inference=inference, seed=seed
    )
    return asked, np.flatnonzero(~asked.in_both)


def _of_each(block: Floats, reading: str, scale: float) -> Floats:
    """What each image says of each word, shape (n, W)."""
    if reading == "cosine":
        return block
    if reading == "argmax":
        return top_weights(block, 1)
    weight = np.exp(scale * (block - block.max(axis=1, keepdims=True)))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _drawn_words(words: int, pleasant: int, k: int, value: float) -> tuple[Null, float]:
    """K words drawn from all: the share of pleasant ones is hypergeometric."""
    count = np.arange(max(0, k - (words - pleasant)), min(k, pleasant) + 1)
    log_weight = log_choose(pleasant, count) + log_choose(words - pleasant, k - count)
    chance = np.exp(log_weight - log_weight.max())
    chance /= chance.sum()
    below, share = np.cumsum(chance), count / k
    low = share[np.searchsorted(below, (1 - LEVEL) / 2 - 1e-12)]
    high = share[min(int(np.searchsorted(below, (1 + LEVEL) / 2 - 1e-12)), share.size - 1)]
    mean = pleasant / words
    far = np.abs(share - mean) >= abs(value - mean) - 1e-12
    null = Null(mean=mean, low=float(low), high=float(high), level=LEVEL, method="k words drawn from all")
    return null, min(1.0, float(chance[far].sum()))


def _over_images(
    asked: SingleSet, images: Floats, pleasant: npt.NDArray[np.bool_], k: int
) -> Interval | None:
    n = len(images)
    if n < 2:
        return None
    rng, shares = asked.stream("images"), []
    rows = max(1, _CELLS // max(n, images.shape[1]))
    for start in range(0, REPLICATES, rows):
        times = rng.multinomial(n, np.full(n, 1 / n), size=min(rows, REPLICATES - start))
        weights = top_weights(times @ images / n, k)
        shares.append(weights[:, pleasant].sum(axis=1) / k)
    draws = np.concatenate(shares)
    return percentile_interval(draws, level=LEVEL, method="bootstrap over images", seed=asked.seed)


def _parts(asked: SingleSet, words: npt.NDArray[np.int64], values: Floats, weights: Floats) -> list[Part]:
    chosen = weights > 0
    return [
        Part(
            kind="word", key=word, value=number(value), n=asked.n, details={"set": name, "rank": float(rank)}
        )
        for rank, word, name, value in _ranked(asked, words[chosen], values[chosen])
    ]


def _ranked(
    asked: SingleSet, words: npt.NDArray[np.int64], values: Floats
) -> list[tuple[int, str, str, float]]:
    names = [asked.words[column] for column in words.tolist()]
    rank = _ranks(values)
    order = sorted(range(len(names)), key=lambda place: (rank[place], names[place]))
    sets = [asked.attributes[int(column >= asked.na)] for column in words.tolist()]
    return [(int(rank[place]), names[place], sets[place], float(values[place])) for place in order]


def _ranks(values: Floats) -> npt.NDArray[np.int64]:
    """1 for the largest; means that differ in their last digits share the best rank (``top_weights``)."""
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    largest = np.abs(values).max(initial=0.0) / 100 if (values < 0).any() else 0.0
    near = _ROUNDING * np.maximum(np.abs(ordered[1:]), largest)
    new = np.concatenate([[True], ordered[:-1] - ordered[1:] > near])[: values.size]
    ranks = np.empty(values.size, dtype=np.int64)
    ranks[order] = np.maximum.accumulate(np.where(new, np.arange(1, values.size + 1), 0))
    return ranks
