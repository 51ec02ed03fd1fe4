"""What random rankings of occupations give the figures of the paper: exactly, and by shuffling as it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Rng, draw_blocks
from evenhand.stats.rankings import fairness as rankings
from evenhand.stats.rankings.null import NullDistribution, drawn_values, null_of_ndkl, null_of_top, untied

_BENCHMARKS = 200_000


@dataclass(frozen=True)
class FigureMoments:
    """Mean and standard deviation of two figures of a benchmark: the mean over queries, and sigma."""

    mean: float  # of the mean over queries
    mean_sd: float  # its standard deviation
    sigma: float  # mean of the sample standard deviation over queries (ddof = 1)
    sigma_sd: float  # its standard deviation


def _bias(pool: Integers, counts: Integers) -> Floats:
    """Share of the first group less that of the second."""
    return rankings.difference(counts[:, 0], counts[:, 1])


def _max_skew(pool: Integers, counts: Integers) -> Floats:
    """The largest skew of both groups."""
    pools, k = np.broadcast_to(pool, counts.shape), int(counts[0].sum())
    return rankings.max_skews(counts, pools, rankings.target_shares(pools, "pool"), k, "floor")


# Figures of the first k places, from the sizes of two groups and counts of them there, shape (M, 2).
_OF_TOPS = {"bias": _bias, "max_skew": _max_skew}


def chances(pool: Sequence[int], cuts: Sequence[int], rng: Rng) -> dict[str, NullDistribution]:
    """The null of every figure of one pool of two groups, over all its rankings.

    The figures are ``bias_at_5`` and ``max_skew_at_5`` (likewise for each k in ``cuts``) and ``ndkl``.
    """
    sizes = np.array(pool, dtype=np.int64)
    undefined = NullDistribution.of(np.zeros(0), np.zeros(0))
    nulls = {
        f"{name}_at_{k}": null_of_top(pool, k, partial(figure, sizes), rng) if sizes.sum() >= k else undefined
        for k in cuts
        for name, figure in _OF_TOPS.items()
    }
    return nulls | {"ndkl": null_of_ndkl(pool, rankings.target_shares(sizes[None], "pool")[0], rng)}


def exact_moments(nulls: Sequence[NullDistribution], rng: Rng, draws: int = _BENCHMARKS) -> FigureMoments:
    """Moments over independent rankings, each with its own null; the same object may stand for several.

    Mean and standard deviation of the mean are exact. Those of sigma, a root, are means over draws from the
    exact distributions.
    """
    mean = float(np.mean([null.mean for null in nulls]))
    if np.isnan(mean):
        return FigureMoments(mean, mean, mean, mean)
    spread = np.sqrt(np.sum([null.variance for null in nulls])) / len(nulls)
    sizes = draw_blocks(draws, 100)
    sigmas = np.concatenate([_sigmas(drawn_values(nulls, rng, size)) for size in sizes])
    return FigureMoments(mean, spread, sigmas.mean(), sigmas.std(ddof=1))


def drawn_moments(
    pools: Sequence[Sequence[int]], cuts: Sequence[int], repeats: int, rng: Rng
) -> dict[str, FigureMoments]:
    """The same from nothing but shuffled labels of pools: the paper's way, and a check of the other."""
    values = defaultdict[str, list[Floats]](list)
    for pool in pools:
        sizes = np.array(pool, dtype=np.int64)
        codes = rng.permuted(np.tile(np.repeat(np.arange(2, dtype=np.int32), sizes), (repeats, 1)), axis=1)
        for k in cuts:
            second = codes[:, :k].sum(axis=1)
            counts = np.stack([min(k, sizes.sum()) - second, second], axis=1)
            for name, figure in _OF_TOPS.items():
                enough = 1.0 if sizes.sum() >= k else np.nan
                values[f"{name}_at_{k}"].append(figure(sizes, counts) * enough)
        shares = rankings.target_shares(np.broadcast_to(sizes, (repeats, 2)), "pool")
        values["ndkl"].append(rankings.ndkl(untied(codes, 2), shares))
    moments = {}
    for name, columns in values.items():
        figures = np.stack(columns, axis=1)
        means, sigmas = figures.mean(axis=1), _sigmas(figures)
        moments[name] = FigureMoments(means.mean(), means.std(ddof=1), sigmas.mean(), sigmas.std(ddof=1))
    return moments


def _sigmas(values: Floats) -> Floats:
    """The sample standard deviation of each row; one ranking has none."""
    return values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.full(len(values), np.nan)
