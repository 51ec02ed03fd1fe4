"""Members of one family as one unit: synonyms say one thing several times, not several things.

Where other words of a kind would come as families too, families are what is sampled. Everything that tests or
exchanges members goes through ``by_family``: t over units, permutations of units, resamples of units.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Floats, Integers, run_starts


def by_family(
    values: npt.ArrayLike, sizes: Sequence[int], families: Integers | None
) -> tuple[Floats, tuple[int, ...]]:
    """Numbers of families in the place of numbers of members, along the last axis.

    Of a set of n members and F families a family's number is ``m + (F / n) sum over its members of
    (value - m)`` with the set's mean m: the mean of the F numbers is that of the n, and their spread is that
    of the families (linearised totals of clusters, as for a mean over unequal clusters). A family that
    stands in two sets is a unit of each.

    Args:
        values: Shape (..., K), the members of one set after those of the other; any unit.
        sizes: Members of each set; they add up to K.
        families: Family of each member, shape (K,); None: each member is alone.

    Returns:
        Shape (..., families of all sets), and how many families each set has.
    """
    table = np.asarray(values, dtype=np.float64)
    if families is None:
        return table, tuple(sizes)
    stops = np.cumsum(sizes).tolist()
    sets = [
        _of_set(table[..., start:stop], families[start:stop])
        for start, stop in zip([0, *stops], stops, strict=False)
    ]
    return np.concatenate(sets, axis=-1), tuple(numbers.shape[-1] for numbers in sets)


def _of_set(block: Floats, families: Integers) -> Floats:
    unit, units = unit_of(families)
    if units == block.shape[-1]:
        return block
    mean = block.mean(axis=-1, keepdims=True)
    order = np.argsort(unit, kind="stable")
    starts = run_starts(unit[order])
    totals = np.add.reduceat((block - mean)[..., order], starts, axis=-1)
    return np.asarray(mean + totals * (units / block.shape[-1]))


def unit_of(families: Integers) -> tuple[Integers, int]:
    """The unit of each member, from 0, and how many units there are."""
    _, unit = np.unique(families, return_inverse=True)
    return np.asarray(unit, dtype=np.int64), int(unit.max(initial=-1)) + 1
