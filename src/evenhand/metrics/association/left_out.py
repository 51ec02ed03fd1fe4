"""Association tests with each item left out."""

from __future__ import annotations

import numpy as np

from evenhand.core.findings import NewDetails
from evenhand.metrics.association.estimation import SetComparison
from evenhand.metrics.estimates import number
from evenhand.stats.arrays import Ends, Floats
from evenhand.stats.association.effect_size import leave_one_attribute_out, leave_one_out

MOST_CELLS = 20_000_000  # similarities up to which each attribute is left out in turn
MOST_PARTS = 2_000


def effects_without(comparison: SetComparison, ddof: int) -> Ends:
    """The effect size without each target, and without each attribute; NaN where it is undefined.

    Of more than 20 million similarities, attributes are not left out in turn, and theirs are NaN.
    """
    n, m, na, nb = comparison.sizes
    targets = leave_one_out(comparison.x, comparison.y, ddof)
    if comparison.block.size > MOST_CELLS:
        return targets, np.full(na + nb, np.nan)
    rows, columns = np.arange(n + m), np.arange(na + nb)
    words = leave_one_attribute_out(comparison.block, rows[:n], rows[n:], columns[:na], columns[na:], ddof)
    return targets, words


def differences_without(comparison: SetComparison) -> Ends:
    """The mean difference without each target, and without each attribute."""
    n, na = comparison.sizes[0], comparison.sizes[2]
    nearer = comparison.block[:n].mean(axis=0) - comparison.block[n:].mean(axis=0)
    return _means_without(comparison.x, comparison.y), _means_without(nearer[:na], nearer[na:])


def _means_without(first: Floats, second: Floats) -> Floats:
    """The difference of two means without each number; NaN where it is the only one of its set."""
    near, far = (
        (numbers.sum() - numbers) / (numbers.size - 1) if numbers.size > 1 else np.full(1, np.nan)
        for numbers in (first, second)
    )
    return np.concatenate([near - second.mean(), first.mean() - far])


def left_out(comparison: SetComparison, targets: Floats, words: Floats) -> NewDetails:
    """The range of a value without one target or attribute, and which one gives each end."""
    values, ids = np.concatenate([targets, words]), (*comparison.items, *comparison.words)
    if np.isnan(values).all():
        return {}
    low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
    return {
        "without_low": number(values[low]), "without_low_item": ids[low],
        "without_high": number(values[high]), "without_high_item": ids[high],
    }  # fmt: skip
