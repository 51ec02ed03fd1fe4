"""What is said of a difference of two models once its limits are known: interval, null band, p, and mde."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.core.results import Interval, Null
from evenhand.metrics.building import number
from evenhand.metrics.prepared import LEVEL
from evenhand.stats.arrays import Ends, Floats, Limits
from evenhand.stats.differences import normal_quantile
from evenhand.stats.two_figures import chance_band, inverted_p

POWER = 0.8  # of the minimum detectable difference
BY_CHANCE = "where the interval would hold 0"


def made_by(limits: Limits, method: str) -> Callable[[float], Interval | None]:
    """From a level to the interval; None where there are no limits.

    Args:
        limits: From a level to the limits.
        method: How they are made.
    """

    def make(level: float) -> Interval | None:
        low, high = (number(end) for end in limits(level))
        if low is None or high is None:
            return None
        return Interval(low=low, high=high, level=level, method=method)

    return make


def inferred(
    limits: Limits, value: float, middle: float, method: str, alpha: float, p: float | None = None
) -> dict[str, Any]:
    """Interval, null band, p and minimum detectable difference.

    Args:
        limits: From a level to the limits; NaN where nothing varies.
        value: The plain difference.
        middle: What the limits are of: the corrected difference, or the value itself.
        method: How the limits are made.
        alpha: Level of the strictest test.
        p: Of a test of its own; None: that of the level at which the limits leave 0 out.

    Returns:
        Fields of a Finding. Where nothing varies: no interval, and p 1 if the models are alike.
    """
    from scipy import special

    interval = made_by(limits, method)(LEVEL)
    if interval is None:
        return {"p_value": 1.0 if value == 0 else None, "mde": None}
    ends = np.array(interval.low), np.array(interval.high)
    below, mean, above = (float(one) for one in chance_band(np.array(value), np.array(middle), ends))
    error = (interval.high - interval.low) / 2 / normal_quantile(LEVEL)
    return {
        "interval": interval,
        "null": Null(mean=mean, low=below, high=above, level=LEVEL, method=BY_CHANCE),
        "p_value": _p_of(limits) if p is None else p,
        "mde": number(error * float(special.ndtri(1 - alpha / 2) + special.ndtri(POWER))),
    }


def _p_of(limits: Limits) -> float:
    def ends(level: Floats) -> Ends:
        low, high = limits(float(level[0]))
        return np.array([low]), np.array([high])

    return float(inverted_p(ends)[0])
