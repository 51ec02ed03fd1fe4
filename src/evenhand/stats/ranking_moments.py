"""What mean and standard deviation over several rankings are when labels fall on samples at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats import rankings
from evenhand.stats.ranking_exchange import drawn_values
from evenhand.stats.ranking_null import Chance, null_of_ndkl, null_of_top
from evenhand.stats.rankings import RankedPools

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kernel = Callable[[Ints, Ints], Floats]

DRAWS = 200_000
_ROWS = 20_000  # benchmarks drawn at once


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation of two figures of a benchmark: the mean over queries, and sigma."""

    mean: float  # of the mean over queries
    mean_sd: float  # its standard deviation
    sigma: float  # mean of the sample standard deviation over queries (ddof = 1)
    sigma_sd: float  # its standard deviation


def top_kernels(cuts: Sequence[int]) -> dict[str, tuple[int, Kernel]]:
    """Figures of the first places of pools of two groups: ``bias_at_k`` and ``max_skew_at_k``.

    Args:
        cuts: Values of k.

    Returns:
        Name, such as ``bias_at_5``, to k and the function of counts (M, 2) and pools (M, 2).
    """
    made: dict[str, tuple[int, Kernel]] = {}
    for k in cuts:
        made[f"bias_at_{k}"] = (k, _difference)
        made[f"max_skew_at_{k}"] = (k, _max_skew(k))
    return made


def chances(pool: Sequence[int], cuts: Sequence[int], rng: np.random.Generator) -> dict[str, Chance]:
    """The null of every figure of one pool, over all its rankings.

    Args:
        pool: Samples of the two groups.
        cuts: Values of k.
        rng: Used only for pools with too many rankings to list.

    Returns:
        Name (``bias_at_5``, ``max_skew_at_5``, ..., ``ndkl``) to distribution.
    """
    sizes = np.array(pool, dtype=np.int64)
    made: dict[str, Chance] = {}
    for name, (k, kernel) in top_kernels(cuts).items():

        def values_of(counts: Ints, kernel: Kernel = kernel) -> Floats:
            return kernel(counts, np.broadcast_to(sizes, counts.shape))

        made[name] = null_of_top(pool, k, values_of, rng)
    made["ndkl"] = null_of_ndkl(pool, rankings.target_shares(sizes[None], "pool")[0], rng)
    return made


def exact_moments(nulls: Sequence[Chance], rng: np.random.Generator, draws: int = DRAWS) -> Moments:
    """Moments over independent rankings, each with its own null.

    Mean and standard deviation of the mean are exact. Those of sigma, a root, are means over draws from the
    exact distributions.

    Args:
        nulls: One for each query; the same object may stand for several.
        rng: Source of the draws.
        draws: How many benchmarks are drawn.
    """
    n = len(nulls)
    mean = float(np.mean([null.mean for null in nulls]))
    variances = np.array([null.variance for null in nulls])
    sigmas = np.concatenate(
        [
            drawn_values(nulls, rng, min(_ROWS, draws - start)).std(axis=1, ddof=1)
            for start in range(0, draws, _ROWS)
        ]
    )
    spread = float(np.sqrt(variances.sum())) / n
    return Moments(mean, spread, float(sigmas.mean()), float(sigmas.std(ddof=1)))


def drawn_moments(
    pools: Sequence[Sequence[int]], cuts: Sequence[int], repeats: int, rng: np.random.Generator
) -> Mapping[str, Moments]:
    """The same with nothing but shuffled labels: the paper's way, and a check of the other.

    Args:
        pools: Samples of the two groups, for each query.
        cuts: Values of k.
        repeats: How many benchmarks are drawn.
        rng: Source of the draws.

    Returns:
        Name of the figure to its moments.
    """
    values: dict[str, list[Floats]] = {}
    for pool in pools:
        labels = np.repeat(np.arange(2, dtype=np.int32), pool)
        codes = rng.permuted(np.tile(labels, (repeats, 1)), axis=1)
        sizes = np.broadcast_to(np.array(pool, dtype=np.int64), (repeats, 2))
        for name, (k, kernel) in top_kernels(cuts).items():
            second = codes[:, :k].sum(axis=1)
            counts = np.stack([min(k, labels.size) - second, second], axis=1).astype(np.int64)
            enough = np.where(labels.size >= k, 1.0, np.nan)
            values.setdefault(name, []).append(kernel(counts, sizes) * enough)
        places = np.broadcast_to(np.arange(labels.size), codes.shape)
        ranked = RankedPools(codes, places, places + 1, 2)
        found = rankings.ndkl(ranked, rankings.target_shares(sizes, "pool"))
        values.setdefault("ndkl", []).append(found)
    return {name: _moments(np.stack(columns, axis=1)) for name, columns in values.items()}


def _moments(values: Floats) -> Moments:
    means, sigmas = values.mean(axis=1), values.std(axis=1, ddof=1)
    return Moments(
        float(means.mean()), float(means.std(ddof=1)), float(sigmas.mean()), float(sigmas.std(ddof=1))
    )


def _difference(counts: Ints, pools: Ints) -> Floats:
    return rankings.difference(counts[:, 0], counts[:, 1])


def _max_skew(k: int) -> Kernel:
    def kernel(counts: Ints, pools: Ints) -> Floats:
        return rankings.max_skews(counts, pools, rankings.target_shares(pools, "pool"), k, "floor")

    return kernel
