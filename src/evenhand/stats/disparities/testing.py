"""Which mistakes can be tested at all, their p, and the correction for testing many."""

from __future__ import annotations

import numpy as np

from evenhand.stats.arrays import Floats, least_whole
from evenhand.stats.disparities.candidates import Candidates
from evenhand.stats.disparities.lines import Lines
from evenhand.stats.disparities.mid_p import least_mid_p, mid_p
from evenhand.stats.multiplicity import adjust

_ROUNDING = 1 + 1e-12


def compared_lines(candidates: Candidates, *, alpha: float, correction: str) -> tuple[Lines, int]:
    """Lines of the candidates whose margins allow a small enough p, with p and q; and the K of the filter."""
    n, total, hits = candidates.n, candidates.total, candidates.hits
    least = least_mid_p(n, total, hits)
    divisor = tarone(least, alpha)
    some = np.flatnonzero(least <= alpha / divisor * _ROUNDING)
    tested = candidates.take(some)
    p = mid_p(tested.a, n[some], total[some], hits[some])
    return Lines.of(tested, p, adjust(p, correction)), divisor


def tarone(least: Floats, alpha: float) -> int:
    """The smallest whole K such that at most K tests can reach ``alpha / K``.

    ``least`` is the smallest p that each test can have. Tests that cannot reach it need no correction.

    Source: Tarone 1990; Gilbert 2005 for the false discovery rate.
    """

    def can(tests: int) -> bool:
        return int(np.count_nonzero(least <= alpha / tests * _ROUNDING)) <= tests

    return least_whole(can, 1, least.size)
