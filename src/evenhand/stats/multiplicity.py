"""Corrections for testing many things at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evenhand.stats.arrays import Ends, Floats

_ROUNDING = 1e-9  # as far as equal scores may differ


def adjust(p_values: Floats, method: str, weights: Floats | None = None) -> Floats:
    """Adjusted p-values of one family.

    NaN means not tested and does not count towards m. Methods: ``holm`` (family-wise error, Holm 1979),
    ``bh`` (false discovery rate, Benjamini and Hochberg 1995), ``by`` (the same however tests depend,
    Benjamini and Yekutieli 2001) or ``none``. No p is smaller than it was.

    ``weights`` are shares of the error that each test may spend, in any unit, fixed before the data (Holm
    1979, section 5; Genovese, Roeder and Wasserman 2006 for rates of false discoveries); None: equal ones.
    """
    result = np.full(p_values.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    if method == "none" or not tested.size:
        result[tested] = p_values[tested]
        return result
    scale, m = _scale(p_values, weights), tested.size
    order = tested[np.argsort(p_values[tested] * scale[tested], kind="stable")]
    ranked, inputs = p_values[order] * scale[order], p_values[order]
    if method == "holm":
        scaled = np.maximum.accumulate(ranked * _left(scale[order]))
    else:
        ranks = np.arange(1, m + 1)
        factor = m * (1 / ranks).sum() if method == "by" else m
        scaled = np.minimum.accumulate((ranked * factor / ranks)[::-1])[::-1]
    result[order] = np.maximum(np.minimum(scaled, 1), inputs)  # rounding must not go below the input
    return result


def holm_levels(p_values: Floats, alpha: float, weights: Floats | None = None) -> Floats:
    """The level of each test in Holm's steps: its share of ``alpha`` among the tests that are left then.

    The steps end with the first test that does not reject; those after it share ``alpha`` with it, so that p
    is at most its level where, and only where, the adjusted one is at most ``alpha``. ``alpha`` where p is
    NaN. Weights as in ``adjust``.

    Source: Strassburger and Bretz 2008; Guilbaud 2008 (intervals that agree with Holm's tests).
    """
    levels = np.full(p_values.shape, alpha)
    tested = np.flatnonzero(~np.isnan(p_values))
    if tested.size:
        scale = _scale(p_values, weights)
        order = tested[np.argsort(p_values[tested] * scale[tested], kind="stable")]
        left = _left(scale[order])
        stopped = p_values[order] * scale[order] * left > alpha
        last = int(np.argmax(stopped)) if stopped.any() else order.size - 1
        levels[order] = alpha / (scale[order] * np.maximum(left, left[last]))
    return levels


def step_down_p(observed: Floats, draws: Iterable[Floats], replicates: int) -> Ends:
    """P of each of K scores alone, and of the largest of those that are not larger, step by step.

    ``draws`` are scores without differences, shape (R, K) each, so many replicates in all; no p is below
    ``1 / (1 + replicates)``.

    Source: Westfall and Young 1993, algorithm 2.8.
    """
    bar = observed - _ROUNDING * np.maximum(1.0, np.abs(observed))
    order = np.argsort(-observed, kind="stable")
    single, joint = np.zeros((2, observed.size))
    for scores in draws if observed.size else ():
        single += (scores >= bar).sum(axis=0)
        largest = np.maximum.accumulate(scores[:, order[::-1]], axis=1)[:, ::-1]
        joint[order] += (largest >= bar[order]).sum(axis=0)
    p, adjusted = (1 + single) / (1 + replicates), (1 + joint) / (1 + replicates)
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return p, adjusted


def _scale(p_values: Floats, weights: Floats | None) -> Floats:
    """The mean weight of what was tested over each weight."""
    if weights is None:
        return np.ones(p_values.shape)
    return np.asarray(weights[~np.isnan(p_values)].mean() / weights)


def _left(scale: Floats) -> Floats:
    """What is left of the weights, in units of their mean, before each test has had its turn."""
    return (1 / scale)[::-1].cumsum()[::-1]


def selected_level(selected: int, tests: int, level: float) -> float:
    """Level of each interval of what some tests selected, so that a share of ``level`` of them is right.

    ``1 - (1 - level) R / K`` for R of K tests. Plain intervals of what the data chose are right less often.

    Source: Benjamini and Yekutieli 2005 (false coverage rate).
    """
    return 1 - (1 - level) * selected / max(tests, 1)
