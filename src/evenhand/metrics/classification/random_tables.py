"""Random tables with given margins, without the import of scipy.stats."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import numpy as np
import scipy

from evenhand.stats.arrays import Floats, Integers

Sampler = Callable[[Integers, Integers, int, int, np.random.Generator], Integers]
"""Rows, columns, their sum, replicates and a generator to tables."""


@cache
def samplers() -> tuple[Sampler, Sampler] | None:
    """SciPy's two samplers of tables, from their own module; None where SciPy does not have it there.

    By cells (Patefield 1981) and by counts (Boyett 1979). ``import scipy.stats`` takes longer than all other
    work of a small audit.
    """
    spec = PathFinder.find_spec("rcont", [str(Path(folder, "stats", "_rcont")) for folder in scipy.__path__])
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        pair = module.rvs_rcont2, module.rvs_rcont1
        for sampler in pair:  # it is no public module: another release may have others
            sampler(np.array([1, 1]), np.array([1, 1]), 2, 1, np.random.default_rng(0))
    except (AttributeError, TypeError, ValueError):
        return None
    return pair


def draw_tables(rng: np.random.Generator, rows: Floats, columns: Floats, replicates: int) -> Integers:
    """Random tables with the given margins, shape (replicates, r, c), uniformly over assignments."""
    if rows.size == 1 or columns.size == 1:  # determined by its margins; scipy's sampler is wrong here
        only = np.broadcast_to(columns, (rows.size, columns.size)) if rows.size == 1 else rows[:, None]
        return np.broadcast_to(only.astype(np.int64), (replicates, rows.size, columns.size)).copy()
    margins, n, pair = (rows.astype(np.int64), columns.astype(np.int64)), int(rows.sum()), samplers()
    if pair is not None:  # as random_table chooses
        sampler = pair[0 if n > np.log(n + 1) * rows.size * columns.size else 1]
        return sampler(*margins, n, replicates, rng).reshape(replicates, rows.size, columns.size)
    from scipy.stats import random_table

    tables = np.asarray(random_table(*margins).rvs(size=replicates, random_state=rng), dtype=np.int64)
    return tables.reshape(replicates, rows.size, columns.size)
