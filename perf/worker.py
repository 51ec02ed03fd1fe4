"""One measurement in a fresh process: ``worker.py ACTION FILE``.

Actions: ``count``, ``points``, ``disparities``, ``audit``, ``duckdb`` and ``polars``.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

POINTS = ("skewsize", "cramers_v", "accuracy", "worst_group_accuracy", "demographic_parity", "equalized_odds")
QUERY = "select label, \"group\", pred, count(*) as n from read_parquet('{path}') group by all"


def peak_mib() -> float:
    """The most memory this process ever held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


def duckdb_count(path: str) -> Any:
    """The bare group-by."""
    import duckdb

    return duckdb.connect().sql(QUERY.format(path=path)).to_arrow_table()  # its fastest way out, measured


def polars_count(path: str) -> Any:
    """The same by Polars, streaming."""
    import polars as pl

    keys = ("label", "group", "pred")
    return pl.scan_parquet(path).group_by(*keys).agg(n=pl.len()).collect(engine="streaming")


def measure(action: str, path: str) -> dict[str, float]:
    """Seconds of each step asked for, and the peak memory at its end."""
    if action in ("duckdb", "polars"):
        import duckdb  # noqa: F401  # importing is not counting
        import polars as pl  # noqa: F401

        start = time.perf_counter()
        (duckdb_count if action == "duckdb" else polars_count)(path)
        return {"count": time.perf_counter() - start, "peak_mib": peak_mib()}
    import numpy as np

    import evenhand as eh

    result: dict[str, float] = {}
    eh.Predictions, eh.metrics.skewsize, eh.audit  # noqa: B018  # loading them is not counting
    start = time.perf_counter()
    predictions = eh.Predictions.read(path, truth="label", prediction="pred")
    if action == "audit":
        run = eh.audit(predictions, by="group")
        result["audit"] = time.perf_counter() - start
        result["findings"] = len(run.findings.findings)
    else:
        counts = predictions.count(["group"])
        result["count"] = time.perf_counter() - start
    if action == "points":
        estimates = [getattr(eh.metrics, name) for name in POINTS]  # imported before the clock starts
        start = time.perf_counter()
        for estimate in estimates:
            estimate(counts, by="group", inference="none")
        result["points"] = time.perf_counter() - start
    if action == "disparities":
        compared = eh.metrics.disparities, eh.metrics.accuracy_decomposition
        start = time.perf_counter()
        findings = [metric(counts, by="group") for metric in compared]
        result["disparities"] = time.perf_counter() - start
        start = time.perf_counter()
        np.argsort(np.random.default_rng(0).random(20_000_000), kind="stable")
        result["sort"] = time.perf_counter() - start
        result |= {"cells": float(counts.n.size), "tested": float(findings[0].details["tested"] or 0)}
    result["peak_mib"] = peak_mib()
    return result


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
