"""Clocks, fresh processes, and one line of output per comparison."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORKER = Path(__file__).with_name("worker.py")
SORT = 0.30  # seconds of the sort that bounds in seconds were set beside


def seconds(work: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    """The shortest of a few rounds, and the last result."""
    times, result = [], None
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def ratio_in_pairs(
    ours: Callable[[], Any], reference: Callable[[], Any], what: str, beside: str, bound: str, rounds: int = 8
) -> float:
    """How many times the reference's time ours takes: the median of pairs, whose first one changes.

    A machine whose speed changes meanwhile does so for both of a pair.
    """
    times: list[tuple[float, float]] = []
    for turn in range(rounds):
        of_both = {work: seconds(work)[0] for work in ((ours, reference) if turn % 2 else (reference, ours))}
        times.append((of_both[ours], of_both[reference]))
    own, others = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(one / other for one, other in times)
    print(
        f"\n{what}: {own:.4g} s; {beside}: {others:.4g} s; {ratio:.2f}x its time, the median of {rounds} "
        f"pairs (bound: {bound})",
        flush=True,
    )
    return ratio


def within(what: str, ours: float, bound: float) -> None:
    """Print a time beside that of a sort in the same run, and fail where it is more than so many sorts.

    For what has no reference of its own.

    Args:
        what: What was measured.
        ours: Its seconds.
        bound: Seconds that it may take on a machine that sorts in ``SORT``.
    """
    numbers = np.random.default_rng(0).random(2_000_000)
    reference, _ = seconds(lambda: np.argsort(numbers, kind="stable"), 5)
    show(what, ours, reference, "a stable argsort of 2M numbers", f"{bound / SORT:.3g}x its time")
    assert ours <= bound / SORT * reference


def best(benchmark: Any) -> float:
    """The shortest round of a finished pytest-benchmark fixture."""
    return float(benchmark.stats.stats.min)


def clean_environment() -> dict[str, str]:
    """This environment, with bytecode allowed: installed programs have it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def worker(*arguments: str) -> dict[str, float]:
    """What worker.py measured in a fresh process; its peak memory is its own."""
    command = [sys.executable, str(WORKER), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=clean_environment())
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def median_process_times(commands: dict[str, Sequence[str]], rounds: int = 15) -> dict[str, float]:
    """Median wall time of whole processes, taken in turns so that a busy machine is busy for all."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=clean_environment())
            if turn:  # the first turn writes bytecode and fills the disk cache
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def show(what: str, ours: float, reference: float, beside: str, bound: str) -> None:
    """Print one comparison; run pytest with -s to see it."""
    ratio = reference / ours
    words = f"{ratio:,.1f}x faster" if ratio >= 1 else f"{1 / ratio:.2f}x its time"
    print(f"\n{what}: {ours:.4g} s; {beside}: {reference:.4g} s; {words} (bound: {bound})", flush=True)
