"""Retrieval figures of many rankings against a loop over single ones, and the exact null."""

from __future__ import annotations

from math import log, log2
from typing import Any

import numpy as np
import polars as pl
import pytest
from measuring import best, seconds, show, within

from evenhand import metrics
from evenhand.evidence.rankings import Rankings
from evenhand.stats.rankings.fairness import (
    RankedPools,
    difference,
    max_skews,
    ndkl,
    skews,
    target_shares,
    tops,
)
from evenhand.stats.rankings.null import null_of_mean, null_of_ndkl, null_of_top

RANKINGS, SIZE, CUTS = 10_000, 20, (5, 10)
HALF = SIZE // 2


def skew_of(order: list[int], k: int, group: int) -> float:
    share = order[:k].count(group) / k
    return log(share / (order.count(group) / len(order))) if share else -log(k + 1)


def difference_of(order: list[int], k: int) -> float:
    return (order[:k].count(0) - order[:k].count(1)) / k


def ndkl_of(order: list[int]) -> float:
    above = weights = 0.0
    for k in range(1, len(order) + 1):
        shares = {group: order[:k].count(group) / k for group in set(order[:k])}
        kl = sum(p * log(p / (order.count(group) / len(order))) for group, p in shares.items())
        above, weights = above + kl / log2(k + 1), weights + 1 / log2(k + 1)
    return above / weights


def one_by_one(codes: Any, scores: Any) -> Any:
    """Every figure of every ranking at every k, as the released code does: one ranking after the other."""
    results = []
    for groups, values in zip(codes.tolist(), scores.tolist(), strict=True):
        order = [groups[i] for i in sorted(range(len(groups)), key=lambda i: -values[i])]
        row = []
        for k in range(1, len(order) + 1):
            row += [difference_of(order, k), skew_of(order, k, 0), skew_of(order, k, 1)]
            row.append(max(skew_of(order, k, group) for group in (0, 1)))
            row.append(min(skew_of(order, k, group) for group in (0, 1)))
        results.append([*row, ndkl_of(order)])
    return np.array(results)


def at_once(codes: Any, scores: Any) -> Any:
    """The same by the kernels."""
    ranked = RankedPools.rank(codes, scores, 2)
    targets = target_shares(ranked.pools, "pool")
    rng = np.random.default_rng(0)
    columns = []
    for k in range(1, SIZE + 1):
        found = tops(ranked, k, rng)
        skew = skews(found.counts, ranked.pools[found.owner], targets[found.owner], k, "floor")
        columns += [
            found.mean(difference(found.counts[:, 0], found.counts[:, 1])),
            found.mean(skew[:, 0]),
            found.mean(skew[:, 1]),
            found.mean(np.fmax(*skew.T)),
            found.mean(np.fmin(*skew.T)),
        ]
    return np.stack([*columns, ndkl(ranked, targets)], axis=1)


@pytest.fixture(scope="module")
def evidence() -> Any:
    rng = np.random.default_rng(0)
    codes = np.tile(np.repeat([0, 1], HALF), (RANKINGS, 1))
    return codes, rng.normal(size=codes.shape)


def test_retrieval_figures_50_times_faster(benchmark: Any, evidence: Any) -> None:
    took, expected = seconds(lambda: one_by_one(*evidence))
    at_once(*evidence)  # first use imports
    found = benchmark.pedantic(at_once, evidence, rounds=7)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    show(f"all retrieval figures of {RANKINGS:,} rankings of {SIZE}", best(benchmark), took, "loop", "50x")
    assert took / best(benchmark) >= 50


def test_ties_cost_little(benchmark: Any, evidence: Any) -> None:
    codes, scores = evidence
    took, _ = seconds(lambda: one_by_one(codes, scores))
    benchmark.pedantic(at_once, (codes, scores.round(1)), rounds=3)
    show(
        f"the same with ties, exact over all orders ({RANKINGS:,})",
        best(benchmark),
        took,
        "untied loop",
        "2x",
    )
    assert took / best(benchmark) >= 2


def nulls() -> list[float]:
    """Null sd of the mean over 23 occupations, for every figure of the paper."""
    rng, half = np.random.default_rng(0), np.full(2, 0.5)
    chances = [null_of_ndkl((HALF, HALF), half, rng)]
    for k in CUTS:
        pools = (HALF, HALF)
        chances += [
            null_of_top(pools, k, lambda c: difference(c[:, 0], c[:, 1]), rng),
            null_of_top(
                pools,
                k,
                lambda c, k=k: max_skews(c, np.full(c.shape, HALF), np.full(c.shape, 0.5), k, "floor"),
                rng,
            ),
        ]
    return [null_of_mean([chance] * 23).sd for chance in chances]


def test_the_exact_null_beside_a_sort(benchmark: Any) -> None:
    found = benchmark.pedantic(nulls, rounds=3)
    assert found == pytest.approx([0.0129, 0.0829, 0.0309, 0.0478, 0.0265], abs=5e-5)
    within("exact null of all figures, 184,756 rankings, and of 23 queries", best(benchmark), 3)


def test_findings_of_10k_queries_beside_a_sort(benchmark: Any, evidence: Any) -> None:
    codes, scores = evidence
    table = pl.DataFrame(
        {
            "query": np.repeat(np.arange(RANKINGS), SIZE),
            "sample": np.arange(RANKINGS * SIZE),
            "score": scores.ravel(),
            "group": codes.ravel(),
        }
    )

    def findings() -> list[float | None]:
        rankings = Rankings.from_frame(table)
        found = [
            metrics.bias_at_k(rankings, by="group", k=5),
            metrics.max_skew_at_k(rankings, by="group", k=5),
        ]
        return [finding.value for finding in [*found, metrics.ndkl(rankings, by="group")]]

    benchmark.pedantic(findings, rounds=1)
    within(f"three findings with null and a part for each of {RANKINGS:,} queries", best(benchmark), 30)
