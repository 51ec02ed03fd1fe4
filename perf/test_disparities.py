"""Disparities of 50k rows, 1,000 classes and 23 groups beside a loop over the same tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from make_large_table import block
from measuring import best, seconds, show, within
from scipy import stats

import evenhand as eh
from evenhand.stats.exchange.compared_rates import ComparedRates

ROWS = 50_000


@pytest.fixture(scope="module")
def counts() -> Any:
    return eh.Predictions.from_frame(block(0, ROWS), truth="label", prediction="pred").count(["group"])


def measured(counts: Any) -> Any:
    fresh = counts.only(np.ones(counts.n.size, dtype=bool))  # without what earlier rounds remember
    return [
        getattr(eh.metrics, name)(fresh, by="group") for name in ("disparities", "accuracy_decomposition")
    ]


def mid_p(a: int, n: int, b: int, m: int) -> float:
    """Of one table, by scipy."""
    law = stats.hypergeom(n + m, a + b, n)
    beyond = law.sf(a) if a * (n + m) >= n * (a + b) else law.cdf(a - 1)
    p = float(law.pmf(a) + 2 * beyond)
    return min(p, 2 - p)


def test_disparities_beside_a_loop_and_a_sort(benchmark: Any, counts: Any) -> None:
    measured(counts)  # first use imports
    finding, _ = benchmark.pedantic(measured, (counts,), rounds=7)
    lines = eh.metrics.disparity_lines(counts, by="group")
    took, p = seconds(lambda: [mid_p(*table) for table in lines.select("a", "n", "b", "m").iter_rows()])
    np.testing.assert_allclose(lines["p"].to_numpy(), p, rtol=1e-7)
    every = took / lines.height * finding.details["candidates"]
    what = f"disparities and decomposition, {ROWS:,} x 1,000 x 23"
    show(what, best(benchmark), every, "loop of scipy.stats.hypergeom over all candidates", "100x")
    within(what, best(benchmark), 0.3)
    assert every / best(benchmark) >= 100


def test_the_largest_of_124_750_differences_at_a_fiftieth_of_all_pairs(benchmark: Any) -> None:
    """500 groups, 999 draws: groups near the middle are in no largest difference."""
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 80, (500, 5)).astype(float)
    hits = rng.binomial(trials.astype(int), 0.2, (999, 500, 5)).astype(float)
    largest = benchmark.pedantic(lambda: ComparedRates.of_rows(hits, trials).largest(), rounds=3)

    def all_pairs() -> float:
        """Of one draw."""
        tally = ComparedRates.of_rows(hits[:1], trials)
        rate, variance = tally.rates[0], tally.variance[0]
        t = np.abs(rate[:, None] - rate) / np.sqrt(variance[:, None] + variance)
        return float(np.nanmax(t))

    took, expected = seconds(all_pairs, rounds=3)
    assert largest[0] == pytest.approx(expected)
    show("largest difference of 500 groups", best(benchmark), 999 * took, "all pairs, scaled", "50x")
    assert 999 * took / best(benchmark) >= 50
