"""A hundred million rows: counting against the faster of two bare group-bys, the whole audit, memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from measuring import show, within, worker

GIB = 1024.0


def test_counting_100m_rows_at_most_twice_a_group_by(benchmark: Any, hundred_million: Path) -> None:
    times = {engine: worker(engine, str(hundred_million))["count"] for engine in ("duckdb", "polars")}
    fastest = min(times, key=lambda engine: times[engine])
    runs = [worker("count", str(hundred_million))]
    runs.append(benchmark.pedantic(worker, ("count", str(hundred_million)), rounds=1))
    ours = min(run["count"] for run in runs)
    show("counting 100M rows", ours, times[fastest], f"{fastest}, the faster of {times}", "2x its time")
    print(f"peak memory {runs[-1]['peak_mib'] / GIB:.2f} GiB")
    assert ours <= 2 * times[fastest]


def test_audit_of_100m_rows_beside_a_sort_in_6_gb(benchmark: Any, hundred_million: Path) -> None:
    run = benchmark.pedantic(worker, ("audit", str(hundred_million)), rounds=1)
    within("whole audit, 100M rows, 1,000 classes, 23 groups", run["audit"], 300)
    print(f"{run['findings']:.0f} findings, peak memory {run['peak_mib'] * 2**20 / 1e9:.2f} GB (bound: 6)")
    assert run["peak_mib"] * 2**20 < 6e9
