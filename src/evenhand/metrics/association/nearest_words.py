"""Which words does a model give first for the images of a group, and how many of them are pleasant?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.cards import Source
from evenhand.core.errors import ParameterError, check_choice
from evenhand.core.findings import Dropped, Finding, Interval, Null, Part
from evenhand.core.metric import metric
from evenhand.evidence.predictions.columns.annotated import check_k
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.matching import top_weights
from evenhand.metrics.association.similarities import SingleSet, partitioned
from evenhand.metrics.catalogue import MMBIAS, SHARE
from evenhand.metrics.estimates import LEVEL, Fields, Inference, Mode, part, percentile_interval
from evenhand.stats.arrays import Floats, Integers, Mask, central, piece_sizes
from evenhand.stats.association.families import by_family
from evenhand.stats.hypergeometric import top_outcomes

READINGS = ("softmax", "argmax", "cosine")
ATTRIBUTION = {
    "group": pl.String, "reading": pl.String, "rank": pl.Int64, "word": pl.String, "sentiment": pl.String,
    "value": pl.Float64,
}  # fmt: skip
REPLICATES = 1_999
_CELLS = 8_000_000
_ROUNDING = 1e-12


@metric(
    title="Pleasant words among the nearest",
    summary="of the words nearest to a group’s images, the share that is pleasant",
    formula="words of B among the first k / k", **SHARE, direction="descriptive",
    source=Source(paper=MMBIAS, equation="section 5.1.1; Figure 5"), order=360,
    family="associations",
    p_is_about="guessing",
    why_not_compared="it is made of the mean of a whole set",
)  # fmt: skip
def pleasant_at_k(
    evidence: Similarities,
    *,
    target: str,
    attributes: Sequence[str],
    k: int = 15,
    reading: str = "softmax",
    scale: float = 100.0,
    mode: Mode = "default",
    inference: Inference = "auto",
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
        counted. The interval takes images as samples (where no resample changes the share, one word either
        way), null and p (two-sided) take the k words as drawn from all, or, where words have families,
        exchange whole families between A and B. None with reason ``empty_set`` or ``k_exceeds_pool``.

    Raises:
        UserError: An unknown set or option.

    Source: Janghorbani and de Melo 2023, section 5.1.1 and Figure 5.
    """
    check_k(k)
    words = _Words.make(
        evidence, target, attributes, reading, scale, mode=mode, inference=inference, seed=seed
    )
    reason = words.reason(k)
    if reason is not None:
        return words.finding(k, None, reason)
    weights = top_weights(words.values[None], k)[0]
    value = float(weights[words.pleasant].sum() / k)
    fields: Fields = {}
    if inference == "auto":
        null, p, notes = _drawn_words(words, k, weights)
        fields = {"null": null, "p_value": p, "interval": _over_images(words, k), "notes": notes}
    return words.finding(k, value, parts=_parts(words, weights), **fields)


def attribution_table(
    evidence: Similarities,
    targets: Sequence[str],
    attributes: Sequence[str],
    *,
    readings: Sequence[str] = READINGS,
    scale: float = 100.0,
) -> pl.DataFrame:
    """Every word for every group in the order of a reading, as ``pleasant_at_k`` ranks them.

    Equal values share the best rank; ``sentiment`` is the name of the word's set. A group without usable
    images has no rows.
    """
    rows: list[tuple[object, ...]] = []
    for group in targets:
        for reading in readings:
            words = _Words.make(evidence, group, attributes, reading, scale)
            if not words.bound_set.empty:
                every = np.ones(words.columns.size, dtype=bool)
                rows += [(group, reading, *row) for row in words.ranked(every)]
    return pl.DataFrame(rows, schema=ATTRIBUTION, orient="row")


@dataclass(frozen=True, eq=False)
class _Words:
    """Words that belong to one set only, and how they are ranked for the images of a set."""

    bound_set: SingleSet
    columns: Integers
    reading: str
    scale: float

    @classmethod
    def make(
        cls, evidence: Similarities, target: str, attributes: Sequence[str], reading: str, scale: float,
        **options: Any,
    ) -> _Words:  # fmt: skip
        """Check what is asked for."""
        check_choice("reading", reading, READINGS)
        if not (np.isfinite(scale) and scale > 0):
            raise ParameterError(f"scale={scale!r} is not possible; give the model's logit scale, above 0")
        bound_set = SingleSet.make("pleasant_at_k", evidence, target, attributes, **options)
        return cls(bound_set, np.flatnonzero(~bound_set.in_both), reading, scale)

    def reason(self, k: int) -> str | None:
        """Why there is no share; None if there is one."""
        if self.bound_set.empty or not (self.pleasant.any() and not self.pleasant.all()):
            return "empty_set"
        return "k_exceeds_pool" if k > self.columns.size else None

    @property
    def pleasant(self) -> Mask:
        """Which words are of the second set."""
        return self.columns >= self.bound_set.na

    @property
    def families(self) -> Integers | None:
        """Family of each word; None where none has one, and in paper mode."""
        codes = None if self.bound_set.mode == "paper" else self.bound_set.families[1]
        return None if codes is None else codes[self.columns]

    @property
    def left_out(self) -> int:
        """How many words belong to both sets."""
        return int(self.bound_set.in_both[: self.bound_set.na].sum())

    @cached_property
    def of_each(self) -> Floats:
        """What each image says of each word, shape (n, W)."""
        block = self.bound_set.block[:, self.columns]
        if self.reading == "cosine":
            return block
        if self.reading == "argmax":
            return top_weights(block, 1)
        weight = np.exp(self.scale * (block - block.max(axis=1, keepdims=True)))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    @cached_property
    def values(self) -> Floats:
        """Mean over the images, shape (W,)."""
        return np.asarray(self.of_each.mean(axis=0))

    def ranked(self, mask: Mask) -> list[tuple[int, str, str, float]]:
        """Rank, word, its set and value of some words, the first first."""
        bound_set, columns, values = self.bound_set, self.columns[mask], self.values[mask]
        names = [bound_set.words[column] for column in columns.tolist()]
        rank = _ranks(values)
        order = sorted(range(len(names)), key=lambda index: (rank[index], names[index]))
        sets = [bound_set.attributes[int(column >= bound_set.na)] for column in columns.tolist()]
        return [(int(rank[index]), names[index], sets[index], float(values[index])) for index in order]

    def finding(self, k: int, value: float | None, reason: str | None = None, **fields: Any) -> Finding:
        """A Finding with what the words and the set say filled in."""
        scale = self.scale if self.reading == "softmax" else None
        if value is not None:
            words, pleasant = float(self.columns.size), float(self.pleasant.sum())
            fields["details"] = {"words": words, "pleasant_words": pleasant}
        if self.left_out:
            dropped = Dropped(reason="word of both sets", count=self.left_out)
            fields["dropped"] = [dropped] if value is not None else []
            note = f"{self.left_out} words of both sets are left out: neither set can claim them"
            fields["notes"] = [note, *fields.get("notes", [])]
        params = {"k": k, "reading": self.reading, "scale": scale}
        return self.bound_set.finding(params, value, reason, **fields)


def _drawn_words(words: _Words, k: int, weights: Floats) -> tuple[Null, float, list[str]]:
    """K words drawn from all: the share of pleasant ones is hypergeometric. Whole families are exchanged."""
    if words.families is not None:
        return _exchanged_families(words, k, weights)
    pleasant, total = int(words.pleasant.sum()), words.columns.size
    counts, chance = top_outcomes((pleasant, total - pleasant), k, words.bound_set.stream("words"))
    below, share = np.cumsum(chance), counts[:, 0] / k
    first, last = np.searchsorted(below, np.array(central(LEVEL)) - 1e-12)
    low, high = share[first], share[min(int(last), share.size - 1)]
    mean = pleasant / total
    far = np.abs(share - mean) >= abs(float(weights[words.pleasant].sum() / k) - mean) - 1e-12
    null = Null(mean=mean, low=float(low), high=float(high), level=LEVEL, method="k words drawn from all")
    return null, min(1.0, float(chance[far].sum())), []


def _exchanged_families(words: _Words, k: int, weights: Floats) -> tuple[Null, float, list[str]]:
    """Families exchanged between A and B, with their words' chances of a place among the first k.

    The share is ``nb / W + (na nb / (W k)) (mean chance over B - mean chance over A)``; the band ends where
    p passes .05.
    """
    nb, total, seed = int(words.pleasant.sum()), words.columns.size, words.bound_set.seed
    units, (fa, fb) = by_family(weights, (total - nb, nb), words.families)
    draws, listed = partitioned(units, fa, words.bound_set.stream("words"))
    away = np.sort(np.abs(draws))[::-1]
    observed = abs(float(units[:fa].mean() - units[fa:].mean()))
    beyond, others = int((away >= observed - _ROUNDING).sum()), 0 if listed else 1
    reach = float(away[int((1 - LEVEL) * away.size)]) * (total - nb) * nb / (total * k)
    null = Null(
        mean=nb / total, low=max(0.0, nb / total - reach), high=min(1.0, nb / total + reach), level=LEVEL,
        method=f"{'all' if listed else 'random'} exchanges of families of words",
        **({} if listed else {"replicates": draws.size, "seed": seed}),
    )  # fmt: skip
    least = (1 + (fa == fb)) / comb(fa + fb, fa)
    notes = [f"{fa} and {fb} families can be exchanged in so few ways that no p is below {least:.3g}"]
    p_value = (others + beyond) / (others + draws.size)
    return null, p_value, notes if least > 1 - LEVEL else []


def _over_images(words: _Words, k: int) -> Interval | None:
    images, pleasant = words.of_each, words.pleasant
    columns, (n,) = words.bound_set.exchanged_items(images.T)
    if n < 2:
        return None
    units, rng, shares = columns.T, words.bound_set.stream("images"), []
    for size in piece_sizes(REPLICATES, _CELLS, max(n, images.shape[1])):
        times = rng.multinomial(n, np.full(n, 1 / n), size=size)
        weights = top_weights(times @ units / n, k)
        shares.append(weights[:, pleasant].sum(axis=1) / k)
    draws = np.concatenate(shares)
    interval = percentile_interval(draws, method="bootstrap over images", seed=words.bound_set.seed)
    if interval is None or interval.low < interval.high:
        return interval
    # no resample changed it, so that a change is rare, not impossible: one word more or less
    return interval.model_copy(
        update={"low": max(interval.low - 1 / k, 0.0), "high": min(interval.high + 1 / k, 1.0)}
    )


def _parts(words: _Words, weights: Floats) -> list[Part]:
    n = len(words.bound_set.items)
    return [
        part("word", word, value, n=n, details={"set": name, "rank": rank})
        for rank, word, name, value in words.ranked(weights > 0)
    ]


def _ranks(values: Floats) -> Integers:
    """1 for the largest; means that differ in their last digits share the best rank (``top_weights``)."""
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    largest = np.abs(values).max(initial=0.0) / 100 if (values < 0).any() else 0.0
    near = _ROUNDING * np.maximum(np.abs(ordered[1:]), largest)
    new = np.concatenate([[True], ordered[:-1] - ordered[1:] > near])[: values.size]
    ranks = np.empty(values.size, dtype=np.int64)
    ranks[order] = np.maximum.accumulate(np.where(new, np.arange(1, values.size + 1), 0))
    return ranks
