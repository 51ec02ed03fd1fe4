"""Retrieval on VisoGender's design: the null of the mean over occupations, and the interval of Student's t.

A run is 23 rankings, one for each occupation, of pools of ten and ten (or twelve and seven).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from _common import Clock, Floats, Ints, arguments, share, show

from evenhand import metrics
from evenhand.core.seeds import stream
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.retrieval_findings import t_interval
from evenhand.stats import rankings
from evenhand.stats.ranking_null import Chance, null_of_mean, null_of_ndkl, null_of_top
from evenhand.stats.rankings import RankedPools

OCCUPATIONS = 23
K = 5
POOLS = ((10, 10), (12, 7))
PIECE = 50_000  # rankings made at once
FIGURES = ("bias@5", "maxskew@5", "ndkl")
LOW, HIGH = 0.93, 0.97
Lean = Callable[[np.random.Generator, int], Floats]


def figures_of(scores: Floats, pool: tuple[int, int]) -> Floats:
    """The three figures of each ranking, shape (3, R); masculine samples stand first in ``scores``."""
    codes = np.broadcast_to(np.repeat([0, 1], pool), scores.shape)
    ranked = RankedPools.rank(codes, scores, 2)
    sizes = np.broadcast_to(np.array(pool), (len(scores), 2))
    targets = sizes / sum(pool)
    counts = ranked.counts[:, K]
    return np.stack(
        [
            rankings.difference(counts[:, 0], counts[:, 1]),
            rankings.max_skews(counts, sizes, targets, K, "floor"),
            rankings.ndkl(ranked, targets),
        ]
    )


def simulate(number: int, pool: tuple[int, int], lean: Lean, rng: np.random.Generator) -> Floats:
    """The figures of ``number`` rankings, shape (3, number); ``lean`` is added to masculine samples."""
    parts = []
    for start in range(0, number, PIECE):
        some = min(PIECE, number - start)
        scores = rng.normal(size=(some, sum(pool)))
        scores[:, : pool[0]] += lean(rng, some)[:, None]
        parts.append(figures_of(scores, pool))
    return np.concatenate(parts, axis=1)


def fair(rng: np.random.Generator, number: int) -> Floats:
    """No occupation favours anyone."""
    return np.zeros(number)


def nulls(pool: tuple[int, int], rng: np.random.Generator) -> list[Chance]:
    """What chance gives for the mean over 23 occupations, as metrics make it."""
    sizes = np.array(pool)
    targets = sizes / sizes.sum()

    def wide(counts: Ints) -> tuple[Ints, Floats]:
        return np.broadcast_to(sizes, counts.shape), np.broadcast_to(targets, counts.shape)

    single = [
        null_of_top(pool, K, lambda counts: rankings.difference(counts[:, 0], counts[:, 1]), rng),
        null_of_top(pool, K, lambda counts: rankings.max_skews(counts, *wide(counts), K, "floor"), rng),
        null_of_ndkl(pool, targets, rng),
    ]
    return [null_of_mean([chance] * OCCUPATIONS) for chance in single]


def null_bands(simulations: int, seed: int) -> None:
    """How often a fair run lies within its band, and how often p is at most .05."""
    rows: list[list[str | int | float]] = []
    for pool in POOLS:
        rng = stream(seed, "fair", *pool)
        found = simulate(simulations * OCCUPATIONS, pool, fair, rng)
        means = found.reshape(3, simulations, OCCUPATIONS).mean(axis=2)
        for name, values, chance in zip(FIGURES, means, nulls(pool, rng), strict=True):
            low, high = chance.band(0.95)
            side = "both" if name.startswith("bias") else "high"
            distinct, where = np.unique(np.round(values, 10), return_inverse=True)
            p = np.array([chance.p_value(float(value), side) for value in distinct])[where]
            inside = (values >= low - 1e-9) & (values <= high + 1e-9)
            figures = [f"{chance.mean:.4f}", f"{chance.sd:.4f}"]
            rows.append([f"{pool[0]} / {pool[1]}", name, *figures, _aimed(inside), share(p <= 0.05)])
    header = ["pool", "figure", "null mean", "null sd", "inside the band, %", "p <= .05, %"]
    show(f"{simulations:,} fair runs of 23 occupations (aim 93-97 %, at most 5 %)", header, rows)


def intervals(simulations: int, seed: int) -> None:
    """How often the interval of the mean holds the mean over all occupations that might have been asked."""
    leans: dict[str, Lean] = {
        "none": fair,
        "each occupation another, 0 on average": lambda rng, n: rng.normal(0, 0.5, n),
        "to masculine": lambda rng, n: np.full(n, 0.5),
        "to masculine, each occupation another": lambda rng, n: rng.normal(0.5, 0.5, n),
    }
    rows: list[list[str | int | float]] = []
    for told, lean in leans.items():
        for pool in POOLS:
            rng = stream(seed, "interval", told, *pool)
            truth = simulate(400_000, pool, lean, rng).mean(axis=1)
            found = simulate(simulations * OCCUPATIONS, pool, lean, rng)
            held = [
                _aimed(np.array([_holds(values, right) for values in runs]))
                for runs, right in zip(found.reshape(3, simulations, OCCUPATIONS), truth, strict=True)
            ]
            rows.append([told, f"{pool[0]} / {pool[1]}", *(f"{value:.3f}" for value in truth), *held])
    header = [
        "preference",
        "pool",
        *(f"true {name}" for name in FIGURES),
        *(f"{name}, %" for name in FIGURES),
    ]
    show(f"{simulations:,} runs a line: interval holds the truth, % (aim 93-97 %)", header, rows)


def _holds(values: Floats, truth: float) -> bool:
    found = t_interval(values, (-np.inf, np.inf))
    return found is not None and found.low <= truth <= found.high


def _aimed(hits: Floats | np.ndarray) -> str:
    rounded = round(float(np.mean(hits)), 3)
    return share(hits) if LOW <= rounded <= HIGH else f"**{share(hits)}**"


def as_reported(seed: int) -> None:
    """One fair run through the public metrics, so that kernels and product cannot drift apart."""
    rng = stream(seed, "public")
    scores = rng.normal(size=(OCCUPATIONS, 20))
    expected = figures_of(scores, (10, 10)).mean(axis=1)
    table = {
        "query": np.repeat([f"{code:02d}" for code in range(OCCUPATIONS)], 20),
        "sample": [f"{number:03d}" for number in range(scores.size)],
        "score": scores.ravel(),
        "gender": np.tile(np.repeat(["masculine", "feminine"], 10), OCCUPATIONS),
    }
    ranked = Rankings.from_frame(pl.DataFrame(table))
    found = [
        metrics.bias_at_k(ranked, by="gender", k=K, groups=["masculine", "feminine"]),
        metrics.max_skew_at_k(ranked, by="gender", k=K),
        metrics.ndkl(ranked, by="gender"),
    ]
    rows: list[list[str | int | float]] = []
    for finding, value in zip(found, expected, strict=True):
        ends = [finding.interval.low, finding.interval.high, finding.null.low, finding.null.high]
        told = (value, finding.value, *ends, finding.p_value)
        rows.append([finding.name, *(f"{end:.3f}" for end in told)])
    show(
        "one fair run as reported",
        ["metric", "kernel", "value", "low", "high", "null low", "null high", "p"],
        rows,
    )


if __name__ == "__main__":
    options = arguments(__doc__ or "", 10_000)
    with Clock():
        as_reported(options.seed)
        null_bands(4 * options.simulations, options.seed)
        intervals(options.simulations // 2, options.seed)
