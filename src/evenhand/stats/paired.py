"""Two sets of answers to the same samples: the difference, its interval and a test by exchanging the sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.choices import FEWEST_CLUSTERS, Chance

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FLIPS = 9999
_ENUMERATED = 13  # 2^13 < FLIPS: so many signs are enumerated
_MOST_UNITS = 20_000  # above, the sum of signs is normal for all purposes
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class Paired:
    """A difference between two sets of answers.

    Attributes:
        value: First minus second.
        low: Lower end of the interval.
        high: Upper end.
        units: How many clusters (or samples) were exchanged and vary independently.
        clustered: Whether units are clusters.
        chance: Distribution when the two sets are exchanged at random in each unit.
        replicates: Draws behind ``chance``; None where it is exact or normal.
    """

    value: float
    low: float
    high: float
    units: int
    clustered: bool
    chance: Chance
    replicates: int | None


def paired_difference(
    difference: Floats,
    second: Mask,
    weight: tuple[float, float],
    cluster: Integers | None,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Paired:
    r"""``w1 mean(d | first group) + w2 mean(d | second group)`` for differences d of each sample.

    Interval: t with G - 1 degrees of freedom over the deviations that clusters add, never narrower than the
    variance of Agresti and Min (2005) with half a pair added to each cell, so that answers that never differ
    still leave a width. Test: the sign of each cluster's whole contribution is flipped (McNemar's test where
    each sample is a unit), enumerated up to 13 contributions that are not 0.

    Args:
        difference: First set's value minus the second's, in [-1, 1], shape (N,).
        second: Which samples belong to the second group, shape (N,).
        weight: Of the two groups; a group without samples must have weight 0.
        cluster: Codes, shape (N,), or None; fewer than ten clusters count as none.
        rng: Of the flips.
        level: Of the interval.
    """
    from scipy import special, stats

    sizes = [int((~second).sum()), int(second.sum())]
    each = np.where(second, weight[1] / max(sizes[1], 1), weight[0] / max(sizes[0], 1))
    means = [float(difference[rows].mean()) if rows.any() else 0.0 for rows in (~second, second)]
    value = weight[0] * means[0] + weight[1] * means[1]
    codes = np.arange(difference.size)
    clustered = cluster is not None and np.unique(cluster).size >= FEWEST_CLUSTERS
    if clustered and cluster is not None:
        codes = np.unique(cluster, return_inverse=True)[1]
    units = int(codes.max()) + 1
    moved = np.bincount(codes, weights=each * (difference - np.where(second, means[1], means[0])))
    variance = units / max(units - 1, 1) * float(moved @ moved)
    groups = [difference[rows] for rows in (~second, second)]
    floor = sum(w**2 * _least(group) for w, group in zip(weight, groups, strict=True) if group.size)
    tail = (1 + level) / 2
    quantile = float(stats.t.ppf(tail, units - 1)) if clustered else float(special.ndtri(tail))
    reach = max(quantile * float(np.sqrt(variance)), float(special.ndtri(tail)) * float(np.sqrt(floor)))
    chance, replicates = _flipped(np.bincount(codes, weights=each * difference).astype(np.float64), rng)
    return Paired(value, value - reach, value + reach, units, clustered, chance, replicates)


def _least(difference: Floats) -> float:
    """Variance of a mean difference of pairs with half a pair added to each of the four cells."""
    n = difference.size + 2
    discordant = float(np.abs(difference).sum()) + 1
    return (discordant - float(difference.sum()) ** 2 / n) / n**2


def _flipped(contributions: Floats, rng: np.random.Generator) -> tuple[Chance, int | None]:
    """The sum of contributions with random signs."""
    some = contributions[np.abs(contributions) > 1e-15]
    if some.size > _MOST_UNITS:
        return Chance.normal(0.0, float(np.sqrt(some @ some))), None
    if some.size <= _ENUMERATED:
        signs = 1.0 - 2 * ((np.arange(2**some.size)[:, None] >> np.arange(some.size)) & 1)
        sums = signs @ some
        return Chance.exact(sums, np.full(sums.size, 1 / sums.size)), None
    step = max(_CHUNK // some.size, 1)
    sums = np.concatenate(
        [
            rng.choice((-1.0, 1.0), size=(min(step, FLIPS - start), some.size)) @ some
            for start in range(0, FLIPS, step)
        ]
    )
    return Chance.exact(sums, np.full(sums.size, 1 / sums.size)), FLIPS


def flip_p_value(paired: Paired) -> float:
    """Two-sided p of the difference; ``(1 + b) / (1 + B)`` where signs were drawn."""
    if paired.replicates is None:
        return paired.chance.p_value(paired.value)
    b = round(_symmetric(paired.chance, paired.value) * paired.replicates)
    return (1 + b) / (1 + paired.replicates)


def _symmetric(chance: Chance, value: float) -> float:
    far = np.abs(chance.values) >= abs(value) - 1e-9
    return float(chance.weights[far].sum())
