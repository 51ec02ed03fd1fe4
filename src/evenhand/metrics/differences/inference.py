"""What is said of a difference of two models once its limits are known: interval, null band, p, and mde."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from evenhand.core.findings import Interval, NewDetails, Null
from evenhand.core.significance import FROM_INTERVAL
from evenhand.metrics.estimates import LEVEL, Fields, at_levels, number
from evenhand.stats.arrays import Floats, Limits
from evenhand.stats.rates.differences import p_of_limits
from evenhand.stats.rates.rates import normal_quantile

POWER = 0.8  # of the minimum detectable difference


def both_values(values: Floats) -> NewDetails:
    """The values of both models, as details of their difference."""
    return {"first": number(values[0]), "second": number(values[1])}


def difference_of(values: Floats, names: Sequence[str]) -> tuple[float | None, Fields]:
    """First minus second and, where a model has no value, the reason as a field of a finding."""
    value = number(float(values[0] - values[1]))
    if value is not None:
        return value, {}
    lacking = [name for name, figure in zip(names, values, strict=True) if not np.isfinite(figure)]
    return None, {"reason": f"no value for {' and '.join(lacking)}"}


def inferred(
    limits: Limits, value: float, middle: float, method: str, alpha: float, p: float | None = None
) -> Fields:
    """Interval, null band, p and minimum detectable difference as fields of a finding.

    ``limits`` are those of ``middle``: the corrected difference, or the plain ``value`` itself; ``alpha`` is
    the level of the strictest test. Without a p of a test it is that of the level at which the limits leave
    0 out. Where nothing varies: no interval, and p 1 if the models are alike.
    """
    make = at_levels(limits, method)
    interval = make(LEVEL)
    if interval is None:
        return {"p_value": 1.0 if value == 0 else None, "mde": None}
    error = (interval.high - interval.low) / 2 / normal_quantile(LEVEL)
    return {
        "limits": make, "interval": interval, "null": null_around(value, middle, interval),
        "p_value": p_of_limits(limits) if p is None else p,
        "mde": number(error * float(special.ndtri(1 - alpha / 2) + special.ndtri(POWER))),
    }  # fmt: skip


def null_around(value: float, middle: float, interval: Interval) -> Null:
    """What a plain value may be where the difference is 0.

    It differs from the corrected one, which the interval belongs to, by what noise adds to it, and lies in
    the band where, and only where, the interval holds 0.
    """
    low, mean, high = value - interval.high, value - middle, value - interval.low
    return Null(mean=mean, low=low, high=high, level=interval.level, method=FROM_INTERVAL)
