"""V and SkewSize against the published listing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measuring import best, seconds, show
from reference import listing, predictions

import evenhand as eh


@pytest.fixture(scope="module")
def table() -> Any:
    return predictions(50_000, 1000, 2)


@pytest.fixture(scope="module")
def reference(table: Any) -> tuple[float, tuple[Any, float]]:
    return seconds(lambda: listing(table))


def measured(table: Any) -> Any:
    rows = eh.Predictions.from_frame(table, truth="label", prediction="pred")
    return eh.metrics.skewsize(rows, by="group", mode="paper", inference="none")


def test_effect_sizes_100_times_faster(benchmark: Any, table: Any, reference: Any) -> None:
    measured(table)  # first use imports
    finding = benchmark.pedantic(measured, (table,), rounds=7)
    took, (v, skewness) = reference
    ours = np.array([part.value for part in finding.parts if part.value is not None])
    np.testing.assert_allclose(np.sort(ours), np.sort(v), rtol=0, atol=1e-12)
    assert finding.value == pytest.approx(skewness, abs=1e-12)
    show("V and SkewSize, 50k rows, 1,000 classes, 2 groups", best(benchmark), took, "listing", "100x")
    assert took / best(benchmark) >= 100


@pytest.mark.parametrize("groups", [2, 23])
def test_audit_of_50k_rows_beside_the_listing(benchmark: Any, groups: int, reference: Any) -> None:
    frame = predictions(50_000, 1000, groups)
    took = reference[0]
    rows = eh.Predictions.from_frame(frame, truth="label", prediction="pred")
    benchmark.pedantic(eh.audit, (rows,), {"by": "group"}, rounds=1)
    show(
        f"whole audit, 50k rows, 1,000 classes, {groups} groups",
        best(benchmark),
        took,
        "listing",
        "2.5x its time",
    )
    assert best(benchmark) <= 2.5 * took
