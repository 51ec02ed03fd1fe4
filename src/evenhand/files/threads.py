"""Work on many files by several threads, each of which takes a share of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """Cores that this process may use; all of the machine where its system does not say which."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def by_threads(work: Callable[[Sequence[T]], list[R]], items: Sequence[T], most: int, name: str) -> list[R]:
    """What work gives for items, in their order; each thread gets neighbours; no more threads than cores.

    A task for each item would cost more than a small file; what follows each other is one thread's, since
    boxes of one picture decode it once.
    """
    threads = min(cores(), most)
    size = max(math.ceil(len(items) / threads), 1)
    shares = [items[start : start + size] for start in range(0, len(items), size)]
    with ThreadPoolExecutor(threads, name) as pool:
        return list(chain.from_iterable(pool.map(work, shares)))
