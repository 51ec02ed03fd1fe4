"""The share of a variance that lies between groups whose spreads differ, by rows or by clusters of rows.

``omega^2 = (between - noise) / (between - noise + within)``, in [0, 1]: ``between`` is the sum of the groups'
squared deviations from the mean of all, times their sizes; ``noise`` what of it the spread within groups
gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.stats.arrays import Ends, Floats, Integers, Pair, nan_without_warning, ratio, sum_by

_TINY = 1e-18


@dataclass(frozen=True, eq=False)
class Between:
    """How much of the variance of each column lies between groups, whose spreads may differ.

    Attributes:
        between: Squares of the groups' means around that of all, times sizes; shape (..., K).
        noise: What of it the spread within groups alone gives.
        within: Variance within groups, mean over images.
        freedom: Degrees of freedom of ``between / noise`` (Brown and Forsythe 1974, Mehrotra 1997).
    """

    between: Floats
    noise: Floats
    within: Floats
    freedom: Ends
    rows: int

    @classmethod
    def of(cls, columns: Floats, code: Integers, groups: int) -> Between:
        """Of numbers, shape (N, K), and codes, shape (..., N); a group of one has the variance of the others.

        Each group has as many rows in all of the codes.
        """
        size, mean, squares = _moments(columns, code, groups)
        pooled = squares.sum(axis=-2, keepdims=True) / max(len(columns) - groups, 1)
        variance = np.where(size > 1, squares / np.maximum(size - 1, 1), pooled)
        share = size / len(columns)
        spread = (1 - share) * variance
        noise, within = spread.sum(axis=-2), (share * variance).sum(axis=-2)
        first = (variance**2).sum(axis=-2) + within**2 - 2 * (share * variance**2).sum(axis=-2)
        second = (spread**2 / np.maximum(size - 1, 1)).sum(axis=-2)
        freedom = ratio(noise**2, first, groups - 1), ratio(noise**2, second, 1.0)
        return cls((size * mean**2).sum(axis=-2), noise, within, freedom, len(columns))

    def __getitem__(self, draw: int) -> Between:
        """One of several draws."""
        first, second = self.freedom
        numbers = self.between[draw], self.noise[draw], self.within[draw]
        return Between(*numbers, (first[draw], second[draw]), self.rows)

    @property
    def values(self) -> Floats:
        """Shares of the variance, without what noise adds to them; NaN where nothing varies."""
        between = np.maximum(self.between - self.noise, 0) / self.rows
        total = between + self.within
        return ratio(between, np.where(total > _TINY, total, 0))

    @property
    def p_values(self) -> Floats:
        """P of equal means by the F distribution of ``freedom``."""
        with nan_without_warning():
            f = np.where(self.between > _TINY, self.between / self.noise, 0.0)
        return np.asarray(special.fdtrc(*self.freedom, f))

    def limits(self, level: float) -> Pair:
        """Limits of the first column's share by those of the noncentrality of F (Steiger 2004)."""
        first, second = (float(freedom[0]) for freedom in self.freedom)
        if self.noise[0] <= _TINY:
            return 0.0, 1.0
        f = max(float(self.between[0] / self.noise[0]), 1.0)  # below 1 the value is 0 as well
        nc = [special.ncfdtrinc(first, second, tail, f) for tail in ((1 + level) / 2, (1 - level) / 2)]
        squares = [float(end * self.noise[0] / first / self.rows) if np.isfinite(end) else 0.0 for end in nc]
        low, high = (end / (end + float(self.within[0])) for end in squares)
        value = float(self.values[0])
        return min(low, value), max(high, value)


@dataclass(frozen=True, eq=False)
class UnitSums:
    """What each cluster of rows adds to each group, so that its deviations can change their sign together.

    The signs are those of a wild bootstrap that imposes equal means: row i of cluster c becomes
    ``mean + sign_c (y_i - mean)``. The spread of each group's mean is that of leaving out each cluster in
    turn, as of ``Jackknife``; clusters that lie in several groups move these together.

    Source: Cameron, Gelbach and Miller 2008 (wild cluster bootstrap); Brown and Forsythe 1974 (freedom).
    """

    sums: Floats  # deviations from the mean of all rows by cluster and group, shape (C, G, K)
    sizes: Floats  # rows, shape (C, G)
    squares: Floats  # squared deviations by group, shape (G, K)

    @classmethod
    def of(cls, columns: Floats, code: Integers, groups: int, unit: Integers) -> UnitSums:
        """From numbers, shape (N, K), groups and clusters, shape (N,), each from 0; each group has a row."""
        units, away = int(unit.max()) + 1, columns - columns.mean(axis=0)
        cell = unit * groups + code
        sums = np.stack([sum_by(cell, column, units * groups) for column in away.T], axis=-1)
        squares = np.stack([sum_by(code, np.square(column), groups) for column in away.T], axis=-1)
        sizes = np.bincount(cell, minlength=units * groups).astype(np.float64).reshape(units, groups)
        return cls(sums.reshape(units, groups, -1), sizes, squares)

    def between(self, signs: Floats | None = None) -> Between:
        """How much lies between groups under each draw of signs, shape (D, C); None: as it is, one draw.

        A group of one cluster has the spread of the others.
        """
        signs = np.ones((1, len(self.sizes))) if signs is None else signs
        size = self.sizes.sum(axis=0)
        rows, share = float(size.sum()), size / size.sum()
        mean = np.einsum("dc,cgk->dgk", signs, self.sums) / size[:, None]
        apart = mean - (share[:, None] * mean).sum(axis=1, keepdims=True)
        residual = signs[:, :, None, None] * self.sums - mean[:, None] * self.sizes[:, :, None]
        squares = np.maximum(self.squares - size[:, None] * mean**2, 0)
        pooled = squares.sum(axis=1, keepdims=True) / max(rows - size.size, 1)
        alone = size[:, None] == 1
        variance = np.where(alone, pooled, squares / np.maximum(size - 1, 1)[:, None])
        within = (share[:, None] * variance).sum(axis=1)
        there = self.sizes > 0
        count, single = there.sum(axis=0), there.sum(axis=0) == 1
        weight = np.where(there & ~single, 1 / np.maximum(1 - self.sizes / size, 1e-12), 0.0)
        residual *= (weight * np.sqrt((count - 1) / count))[:, :, None]
        # covariances of the sums of groups, then of sqrt(size) times each mean's deviation from that of all
        moved = np.einsum("dcgk,dchk->dkgh", residual, residual)
        usual = np.einsum("dkgg->dkg", moved).sum(axis=-1) / max(float(size[~single].sum()), 1.0)
        diagonal = np.arange(size.size)
        moved[..., diagonal, diagonal] += usual[..., None] * np.where(single, size, 0.0)
        together = moved.sum(axis=-1)
        scaled = moved / np.outer(size, size) + (together.sum(axis=-1) / rows**2)[..., None, None]
        scaled -= (together / (size * rows))[..., :, None] + (together / (size * rows))[..., None, :]
        scaled *= np.sqrt(np.outer(size, size))
        spread = np.einsum("dkgg->dkg", scaled)
        noise, squared = spread.sum(axis=-1), (scaled**2).sum(axis=(-2, -1))
        clusters = size**2 / (self.sizes**2).sum(axis=0)  # of equal weight that say as much (Kish)
        unsure = (spread**2 / np.maximum(clusters - 1, 1)).sum(axis=-1)
        freedom = ratio(noise**2, squared, size.size - 1), ratio(noise**2, unsure, 1.0)
        return Between((size[:, None] * apart**2).sum(axis=1), noise, within, freedom, int(rows))


def welch_p(values: Floats, code: Integers, groups: int) -> Floats:
    """The p of Welch's (1951) analysis of variance of each column; of two groups that of his t test.

    Groups of fewer than two rows are left out.

    Args:
        values: Shape (N, K).
        code: Group of each row, from 0, shape (N,).
        groups: How many there are.

    Returns:
        Shape (K,); NaN where fewer than two groups are left, or where nothing varies within one of them.
    """
    size, mean, squares = _moments(values, code, groups)
    some = size[:, 0] > 1
    size, mean, squares = size[some], mean[some], squares[some]
    k = len(size)
    if k < 2:
        return np.full(values.shape[1], np.nan)
    with nan_without_warning():
        weight = size * (size - 1) / squares
        share = weight / weight.sum(axis=0)
        middle = (share * mean).sum(axis=0)
        spread = ((1 - share) ** 2 / (size - 1)).sum(axis=0)
        f = (weight * (mean - middle) ** 2).sum(axis=0) / (k - 1 + 2 * (k - 2) / (k + 1) * spread)
        return np.asarray(special.fdtrc(k - 1, (k**2 - 1) / 3 / spread, f))


def _moments(columns: Floats, code: Integers, groups: int) -> tuple[Floats, Floats, Floats]:
    """Rows of each group, their mean less that of all, and their squared deviations, shape (..., G, K).

    Each group has as many rows in all of the codes, of shape (..., N).
    """
    member = np.swapaxes(np.eye(groups)[code], -1, -2)
    size = member.sum(axis=-1).reshape(-1, groups)[0][:, None]
    centred = columns - columns.mean(axis=0)  # differences do not move with a constant, and digits are saved
    with nan_without_warning():
        mean = member @ centred / size
    return size, mean, np.maximum(member @ centred**2 - size * mean**2, 0)
