"""What a random part of a finite population holds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import Floats, Integers, Rng, codes_of

Outcomes = tuple[Integers, Floats]

MOST_OUTCOMES = 200_000  # contents that are listed one by one; beyond, they are drawn
DRAWS = 20_000
_REACH = 12  # standard deviations, beyond which a number of hits has no probability that counts


def top_outcomes(block: tuple[int, ...], draws: int, rng: Rng) -> Outcomes:
    """What a random part of a block holds, ``block`` being the samples of each group.

    Counts, shape (M, G), and chances, shape (M,), by the multivariate hypergeometric distribution; drawn
    beyond MOST_OUTCOMES outcomes.
    """
    if outcomes_are_listed(block, draws):
        return _listed(block, draws)
    samples = rng.multivariate_hypergeometric(block, draws, size=DRAWS, method="marginals")
    counts, times = np.unique(samples, axis=0, return_counts=True)
    return counts, times / DRAWS


def outcomes_are_listed(block: tuple[int, ...], draws: int) -> bool:
    """Whether ``top_outcomes`` is exact here: by the number of possible contents."""
    ways = np.zeros(draws + 1)
    ways[0] = 1
    for size in block:
        total = np.cumsum(ways)
        ways = total - np.r_[np.zeros(min(size + 1, draws + 1)), total][: draws + 1]
    return bool(ways[draws] <= MOST_OUTCOMES)


@lru_cache(maxsize=4096)
def _listed(block: tuple[int, ...], draws: int) -> Outcomes:
    counts = splits(block, draws)
    log_weight = log_choose(np.array(block), counts).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    return counts, weight / weight.sum()


def splits(block: tuple[int, ...], draws: int) -> Integers:
    """Every way in which ``draws`` can fall into groups with so much room, shape (M, G)."""
    counts = np.zeros((1, 0), dtype=np.int64)
    remaining = np.array([draws], dtype=np.int64)
    room = sum(block)
    for size in block:
        room -= size
        low, high = np.maximum(0, remaining - room), np.minimum(size, remaining)
        times = high - low + 1
        repeated = np.repeat(np.arange(times.size), times)
        number = low[repeated] + np.arange(repeated.size) - np.repeat(np.cumsum(times) - times, times)
        counts = np.concatenate([counts[repeated], number[:, None]], axis=1)
        remaining = remaining[repeated] - number
    return counts


def log_choose(n: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    """``ln(n! / (k! (n - k)!))``, elementwise."""
    n, k = np.asarray(n), np.asarray(k)
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


def hypergeometric_limits(total: int, hits: int, draws: Integers, level: float) -> tuple[Integers, Integers]:
    """Central limits of the hits among ``draws`` of ``total`` rows, ``hits`` of which are hits.

    The smallest numbers whose probability of at most that many reaches ``(1 - level) / 2`` and
    ``(1 + level) / 2``.
    """
    tail = (1 - level) / 2
    limits = np.zeros((2, len(draws)), dtype=np.int64)
    for index, n in enumerate(np.asarray(draws, dtype=np.int64).tolist()):
        mean = n * hits / max(total, 1)
        reach = _REACH * (np.sqrt(mean * (total - hits) * (total - n)) / max(total, 1) + 1)
        low = max(0, n - (total - hits), int(mean - reach))
        number = np.arange(low, min(n, hits, int(mean + reach) + 1) + 1)
        log_weight = log_choose(hits, number) + log_choose(total - hits, n - number)
        at_most = np.cumsum(np.exp(log_weight - log_weight.max()))
        limits[:, index] = number[np.searchsorted(at_most / at_most[-1], [tail, 1 - tail])]
    return limits[0], limits[1]


def unique_rows(table: Integers) -> tuple[Integers, Integers]:
    """Distinct rows, sorted, and which of them each row is; shape (S, C) and (T,)."""
    which = np.zeros(len(table), dtype=np.int64)
    for column in table.T:  # compacted after each column, so that keys cannot overflow
        which = codes_of(which * (int(column.max(initial=0)) + 1) + column)
    first = np.zeros(int(which.max(initial=-1)) + 1, dtype=np.int64)
    first[which[::-1]] = np.arange(len(table))[::-1]
    return table[first], which
