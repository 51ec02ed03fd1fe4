"""Random tables with given margins, without the import of scipy.stats."""

from __future__ import annotations

from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import numpy as np
import scipy

from evenhand.stats.arrays import Floats, Integers
from evenhand.stats.contingency import null_tables


def draw_tables(rng: np.random.Generator, rows: Floats, columns: Floats, replicates: int) -> Integers:
    """As ``null_tables.draw_tables``; the same tables."""
    return null_tables.draw_tables(rng, rows, columns, replicates, samplers())


@cache
def samplers() -> tuple[null_tables.Sampler, null_tables.Sampler] | None:
    """SciPy's two samplers of tables, from their own module; None where SciPy does not have it there.

    ``import scipy.stats`` takes longer than all other work of a small audit.
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
