"""One mitigation of many embeddings in a fresh process: ``mitigation_worker.py table|array|copy ...``."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import polars as pl
from worker import peak_mib

from evenhand.mitigate import Mitigation

GROUP = 16_384  # rows of a row group: what Polars holds at once is a few of them


def changed_table(mitigation: str, source: str, target: str) -> None:
    """As a user would: lazily, from file to file."""
    lazy = Mitigation.load(mitigation).transform_table(pl.scan_parquet(source))
    lazy.sink_parquet(target, row_group_size=GROUP)


def changed_array(mitigation: str, rows: int, dimensions: int) -> None:
    """Vectors in memory, and the result beside them."""
    vectors = np.full((rows, dimensions), 0.5, dtype=np.float32)
    vectors[::2, ::3] = -1
    after = Mitigation.load(mitigation).transform(vectors, "image")
    assert after.dtype == np.float32
    assert len(after) == rows


def measure(action: str, *arguments: str) -> dict[str, float]:
    """Seconds, and the peak memory beyond what it took to start."""
    before, start = peak_mib(), time.perf_counter()
    if action == "table":
        changed_table(*arguments)
    elif action == "copy":
        pl.scan_parquet(arguments[0]).sink_parquet(arguments[1], row_group_size=GROUP)
    else:
        changed_array(arguments[0], int(arguments[1]), int(arguments[2]))
    took = time.perf_counter() - start
    return {"seconds": took, "start_mib": before, "peak_mib": peak_mib()}


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
