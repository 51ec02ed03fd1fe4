"""Two models on 50,000 samples of 1,000 classes and 2 groups: every difference with its test and interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import best, seconds, show

from evenhand.evidence.derivation.paired import Aligned
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.stats.contingency.model_summaries import SUMMARIES
from evenhand.stats.contingency.tables import TableBatch, association

CLASSES, GROUPS, ROWS, REPLICATES = 1000, 2, 50_000, 999
THEIRS, BOUND = 5, 3.0


def aligned() -> Aligned:
    """Joined answers of two models that are right in 60 %."""
    rng = np.random.default_rng(0)
    truth, group = rng.integers(0, CLASSES, ROWS), rng.integers(0, GROUPS, ROWS)
    said = np.where(rng.random((2, ROWS)) < 0.6, truth, rng.integers(0, CLASSES, (2, ROWS)))
    cells, n = np.unique(np.stack([truth, group, *said]), axis=1, return_counts=True)
    labels, groups = tuple(f"{code:04d}" for code in range(CLASSES)), (("g0",), ("g1",))
    return Aligned(("group",), labels, groups, cells[0], cells[1], cells[2:], n.astype(np.float64), ())


def one_by_one(cells: Aligned, replicates: int) -> list[float]:
    """Mean effect sizes when samples are swapped and tabulated anew for each replicate."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(cells.n.size), cells.n.astype(np.int64))
    truth, group, said = cells.truth[rows], cells.group[rows], cells.answers[:, rows]
    differences = []
    for _ in range(replicates):
        swapped = rng.random(rows.size) < 0.5
        means = []
        for one in (np.where(swapped, said[1], said[0]), np.where(swapped, said[0], said[1])):
            batch = TableBatch.from_cells(truth, group, one, np.ones(rows.size, dtype=np.int64), CLASSES)
            means.append(float(np.nanmean(association(batch).statistic("cramers_v"))))
        differences.append(means[0] - means[1])
    return differences


def test_replicates_of_a_comparison(benchmark: Any) -> None:
    cells = aligned()

    def work() -> dict[str, Any]:
        return ComparedCounts.over(cells, ("first", "second")).resampled

    drawn = benchmark.pedantic(work, rounds=1, iterations=1)
    assert all(drawn[name].shape == (2, REPLICATES) for name in SUMMARIES)
    took = best(benchmark)
    theirs = seconds(lambda: one_by_one(cells, THEIRS))[0] * REPLICATES / THEIRS
    told = "one replicate after another with the audit's own kernel"
    show("comparison, 50,000 x 1,000 classes, 999 replicates", took, theirs, told, f"{BOUND:g}x")
    assert theirs / took > BOUND
