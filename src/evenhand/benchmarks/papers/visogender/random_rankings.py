"""What random rankings of occupations give the figures of the paper: exactly, and by shuffling as it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evenhand.stats.arrays import Floats, Integers, draw_blocks
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


def _top_figures(cuts: Sequence[int]) -> dict[str, tuple[int, Callable[[Integers, Integers], Floats]]]:
    """Figures of the first places of two groups: name to k and the function of counts and pools, (M, 2)."""

    def bias(counts: Integers, pools: Integers) -> Floats:
        return rankings.difference(counts[:, 0], counts[:, 1])

    def max_skew(counts: Integers, pools: Integers, k: int) -> Floats:
        return rankings.max_skews(counts, pools, rankings.target_shares(pools, "pool"), k, "floor")

    figures = dict[str, tuple[int, Callable[[Integers, Integers], Floats]]]()
    for k in cuts:
        figures |= {f"bias_at_{k}": (k, bias), f"max_skew_at_{k}": (k, partial(max_skew, k=k))}
    return figures


def chances(
    pool: Sequence[int], cuts: Sequence[int], rng: np.random.Generator
) -> dict[str, NullDistribution]:
    """The null of every figure of one pool of two groups, over all its rankings.

    The figures are ``bias_at_5`` and ``max_skew_at_5`` (likewise for each k in ``cuts``) and ``ndkl``.
    """
    sizes, nulls = np.array(pool, dtype=np.int64), dict[str, NullDistribution]()
    for name, (k, figure) in _top_figures(cuts).items():

        def values_of(counts: Integers, figure: Callable[[Integers, Integers], Floats] = figure) -> Floats:
            return figure(counts, np.broadcast_to(sizes, counts.shape))

        if sizes.sum() >= k:
            nulls[name] = null_of_top(pool, k, values_of, rng)
        else:
            nulls[name] = NullDistribution.of(np.zeros(0), np.zeros(0))
    return nulls | {"ndkl": null_of_ndkl(pool, rankings.target_shares(sizes[None], "pool")[0], rng)}


def exact_moments(
    nulls: Sequence[NullDistribution], rng: np.random.Generator, draws: int = _BENCHMARKS
) -> FigureMoments:
    """Moments over independent rankings, each with its own null; the same object may stand for several.

    Mean and standard deviation of the mean are exact. Those of sigma, a root, are means over draws from the
    exact distributions.
    """
    mean = float(np.mean([null.mean for null in nulls]))
    if np.isnan(mean):
        return FigureMoments(mean, mean, mean, mean)
    spread = float(np.sqrt(np.array([null.variance for null in nulls]).sum())) / len(nulls)
    sizes = draw_blocks(draws, 100)
    sigmas = np.concatenate([_sigmas(drawn_values(nulls, rng, size)) for size in sizes])
    return FigureMoments(mean, spread, float(sigmas.mean()), float(sigmas.std(ddof=1)))


def drawn_moments(
    pools: Sequence[Sequence[int]], cuts: Sequence[int], repeats: int, rng: np.random.Generator
) -> dict[str, FigureMoments]:
    """The same from nothing but shuffled labels of pools: the paper's way, and a check of the other."""
    values: dict[str, list[Floats]] = {}
    for pool in pools:
        labels = np.repeat(np.arange(2, dtype=np.int32), pool)
        codes = rng.permuted(np.tile(labels, (repeats, 1)), axis=1)
        sizes = np.broadcast_to(np.array(pool, dtype=np.int64), (repeats, 2))
        for name, (k, figure) in _top_figures(cuts).items():
            second = codes[:, :k].sum(axis=1)
            counts = np.stack([min(k, labels.size) - second, second], axis=1).astype(np.int64)
            enough = np.where(labels.size >= k, 1.0, np.nan)
            values.setdefault(name, []).append(figure(counts, sizes) * enough)
        divergences = rankings.ndkl(untied(codes, 2), rankings.target_shares(sizes, "pool"))
        values.setdefault("ndkl", []).append(divergences)
    moments = {}
    for name, columns in values.items():
        figures = np.stack(columns, axis=1)
        statistics = figures.mean(axis=1), _sigmas(figures)
        moments[name] = FigureMoments(
            *(float(of) for statistic in statistics for of in (statistic.mean(), statistic.std(ddof=1)))
        )
    return moments


def _sigmas(values: Floats) -> Floats:
    """The sample standard deviation of each row; one ranking has none."""
    return values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.full(len(values), np.nan)
