"""Two sets of answers to the same samples: the difference, its interval and a test by exchanging the sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.stats.arrays import Floats, Integers, Mask, Pair, Rng, codes_of, piece_sizes

FLIPS = 9999
_ENUMERATED = 13  # 2^13 < FLIPS: so many signs are enumerated
_MOST_UNITS = 20_000  # above, the sum of signs is normal for all purposes
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class Paired:
    """A difference between two sets of answers, and what it is when they are exchanged in each unit."""

    value: float  # first minus second
    sums: Floats  # the difference with random signs, ascending; empty where it is normal for all purposes
    sd: float  # of the difference with random signs
    replicates: int | None  # how many signs were drawn; None where all were enumerated, or where it is normal

    @classmethod
    def of(cls, contributions: Floats, rng: Rng) -> Paired:
        """The sum of the units' contributions, shape (U,), under random signs; up to 13 are enumerated."""
        some = contributions[np.abs(contributions) > 1e-15]
        sums, replicates = np.empty(0), None
        if some.size <= _ENUMERATED:
            sums = (1.0 - 2 * ((np.arange(2**some.size)[:, None] >> np.arange(some.size)) & 1)) @ some
        elif some.size <= _MOST_UNITS:
            sizes, replicates = piece_sizes(FLIPS, _CHUNK, some.size), FLIPS
            sums = np.concatenate([rng.choice((-1.0, 1.0), (size, some.size)) @ some for size in sizes])
        return cls(float(some.sum()), np.sort(sums), float(np.sqrt(some @ some)), replicates)

    @property
    def mean(self) -> float:
        """Of the difference with random signs."""
        return float(self.sums.mean()) if self.sums.size else 0.0

    @property
    def p_value(self) -> float:
        """Two-sided p of the difference; ``(1 + b) / (1 + B)`` where signs were drawn."""
        if not self.sums.size:
            return float(2 * special.ndtr(-abs(self.value) / self.sd))
        far, is_sampled = (
            int((np.abs(self.sums) >= abs(self.value) - 1e-9).sum()),
            self.replicates is not None,
        )
        return (far + is_sampled) / (self.sums.size + is_sampled)

    def band(self, level: float = 0.95) -> Pair:
        """The central values; ends are chosen by mid-p, so that about ``level`` lies between them."""
        tail = (1 - level) / 2
        if not self.sums.size:
            reach = float(special.ndtri(1 - tail)) * self.sd
            return -reach, reach
        first = np.flatnonzero(np.append(np.inf, np.diff(self.sums)) > 1e-12)  # equal but for rounding
        below = (first + np.append(first[1:], self.sums.size)) / 2 / self.sums.size
        low = int(np.argmax(below >= tail - 1e-12))
        high = first.size - 1 - int(np.argmax((1 - below)[::-1] >= tail - 1e-12))
        return float(self.sums[first[low]]), float(self.sums[first[max(high, low)]])


@dataclass(frozen=True, eq=False)
class Deviations:
    """Differences d of samples in two groups, and how far clusters move them together.

    What is asked is ``w1 mean(d | first group) + w2 mean(d | second group)``.
    """

    difference: Floats  # in [-1, 1], shape (N,)
    second: Mask  # which belong to the second group, shape (N,)
    weight: Pair  # of the means of both groups; 0 of a group without samples
    cluster: Integers | None  # codes of what was drawn as a whole, shape (N,); None: each sample is its own

    @classmethod
    def of(cls, difference: Floats, cluster: Integers | None) -> Deviations:
        """Of samples of one group, for their mean."""
        return cls(difference, np.zeros(difference.size, dtype=bool), (1.0, 0.0), cluster)

    @property
    def units(self) -> Integers:
        """Unit of each sample, numbered from 0."""
        if self.cluster is None:
            return np.arange(self.difference.size)
        return codes_of(self.cluster)

    @property
    def each(self) -> Floats:
        """What each sample counts for, shape (N,)."""
        second = int(self.second.sum())
        sizes = [max(self.second.size - second, 1), max(second, 1)]
        return np.where(self.second, self.weight[1] / sizes[1], self.weight[0] / sizes[0])

    @property
    def means(self) -> Floats:
        """The mean of each group, 0 without samples, shape (2,)."""
        first, second = self.difference[~self.second], self.difference[self.second]
        return np.array([first.mean() if first.size else 0.0, second.mean() if second.size else 0.0])

    @property
    def value(self) -> float:
        """Their weighted sum."""
        return float((np.array(self.weight) * self.means).sum())

    def exchanged(self, rng: Rng) -> Paired:
        """The sign of each unit's whole contribution flipped: McNemar's test where each sample is a unit."""
        return Paired.of(np.bincount(self.units, self.each * self.difference).astype(np.float64), rng)

    def limits(self, level: float) -> Pair:
        """Bonett and Price's (2012) adjusted Wald limits of each group's mean, put together by their weights.

        One sample is added to each kind of change, so that answers that never differ still leave a width.
        Samples of clusters are as many as would vary as much if they were independent, at most all; where
        nothing varies, as many as clusters of equal weight (Kish). The quantile is then that of t with Kish's
        effective number of clusters minus 1 degrees of freedom. NaN where there is one cluster.
        """
        from scipy import stats

        tail = (1 + level) / 2
        quantile, shrunk, kish = float(special.ndtri(tail)), 1.0, 0.0
        if self.cluster is not None:
            share = np.bincount(self.units, np.abs(self.each))
            share = share / share.sum()
            if share.size < 2:
                return np.nan, np.nan
            kish = 1 / float(share @ share)
            quantile = float(stats.t.ppf(tail, max(kish - 1, 1.0)))
            shrunk = self._shrunk()
        centre = variance = 0.0
        for w, group in zip(self.weight, (~self.second, self.second), strict=True):
            if not w:
                continue
            d = self.difference[group]
            size = d.size * shrunk if shrunk > 0 else min(kish, float(d.size))
            n = size + 2
            mean, square = d.mean() * size / n, ((d**2).mean() * size + 2) / n
            centre, variance = centre + w * mean, variance + w**2 * (square - mean**2) / n
        value, reach = self.value, quantile * float(np.sqrt(variance))
        return min(centre - reach, value), max(centre + reach, value)

    def _shrunk(self) -> float:
        """Independent samples that vary as much, as a share of all; 0 where nothing varies."""
        away = self.each * (self.difference - self.means[self.second.astype(np.int64)])
        independent = float(away @ away)
        shifts = np.bincount(self.units, away)
        clustered = shifts.size / (shifts.size - 1) * float(shifts @ shifts)
        if not independent > 0:
            return 0.0
        return min(independent / clustered, 1.0) if clustered > 0 else 1.0
