"""Means of real numbers by group with their limits: one form for rows, for clusters and for weighted rows.

A mean is ``sum s_c / sum w_c`` over the sampling units c of a group, as in ``clustered``, its variance that
of leaving out each unit in turn. Numbers of a known range have Wilson's limits at the size that as many hits
would need to vary as much. Of others a few far numbers make the mean, and its error with it: t alone covers
the mean of 30 lognormal numbers (sigma 1) in 88 % of cases. Hall's cubic form of t, which takes the skewness
of the units off, covers it in 93 %, and is t where units are not skewed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import (
    Codes,
    Ends,
    Floats,
    Integers,
    Mask,
    Pair,
    codes_of,
    keys_and_codes,
    ratio,
    sum_by,
)
from evenhand.stats.rates.clustered import FEWEST, Jackknife
from evenhand.stats.rates.rates import Rates

ANY: Pair = (-np.inf, np.inf)
"""The range of numbers of which none is known."""
_ALIKE = 1e-12  # of the largest number, what spread is rounding
_UNSKEWED = 1e-6
_COCHRAN = 25.0
_SHARED = 2  # units that two groups share whose deviations are always opposite


@dataclass(frozen=True, eq=False)
class GroupMeans(Rates):
    """Means of G groups, in the numbers' own unit; ``size`` is 0 where a group is a single unit.

    A group without any spread, or of one unit, has the spread of units in the other groups.
    """

    error: Floats = field(kw_only=True)  # standard error, shape (G,)
    skew: Floats = field(kw_only=True)  # skewness of the units over the root of their number, shape (G,)
    ends: Pair = field(kw_only=True, default=ANY)  # least and largest number that is possible

    @classmethod
    def of_numbers(
        cls, value: Floats, group: Integers, groups: int, unit: Integers | None = None,
        weight: Floats | None = None, ends: Pair = ANY,
    ) -> GroupMeans:  # fmt: skip
        """From rows: numbers, codes of groups (each occurs) and units, weights above 0; shape (N,) each."""
        covariance = None
        if unit is None and weight is None:  # as below, of which each row is a unit that weighs 1
            count = effective = np.bincount(group, minlength=groups).astype(np.float64)
            mean, pairs = sum_by(group, value, groups) / count, np.maximum(count * (count - 1), 1)
            away = value - mean[group]
            squares = away**2
            variance = sum_by(group, squares, groups) / pairs
            cubes = sum_by(group, squares * away, groups) / pairs**1.5
        else:
            local = np.arange(value.size) if unit is None else codes_of(unit)
            weights = np.ones(value.size) if weight is None else weight
            cells, code = keys_and_codes(group * (int(local.max(initial=0)) + 1) + local)
            of_group, units = np.divmod(cells, int(local.max(initial=0)) + 1)
            sums, totals = (np.asarray(np.bincount(code, w), np.float64) for w in (weights * value, weights))
            sizes, starts = np.bincount(code).astype(np.float64), np.searchsorted(of_group, np.arange(groups))
            j = Jackknife.of(sums[:, None], totals[:, None], sizes[:, None], starts)
            of_units = j.shift, j.value, j.variance, j.effective, j.clusters
            shift, mean, variance, effective, count = (numbers[:, 0] for numbers in of_units)
            cubes = np.add.reduceat(shift * shift**2, starts)
            covariance = None if unit is None else _covariance(shift, of_group, units, groups)
        is_even = variance <= (_ALIKE * float(np.abs(value).max(initial=0))) ** 2
        telling = np.where(is_even, 0.0, np.maximum(effective - 1, 0))
        usual = float(telling @ (variance * effective)) / max(float(telling.sum()), 1e-300)
        variance = np.where(is_even, usual / effective, variance)
        skew = np.where(is_even, 0.0, ratio(cubes, variance**1.5, 0.0))
        low, high = ends
        spread = (mean - low) * (high - mean) if np.isfinite(high - low) else effective * variance
        size = np.where((spread > 0) & (variance > 0), ratio(spread, variance), effective)
        size, freedom = np.where(count < FEWEST, 0.0, size), np.maximum(effective - 1, 1.0)
        return cls(mean, size, freedom, covariance, error=np.sqrt(variance), skew=skew, ends=ends)

    @property
    def span(self) -> float:
        """The largest difference that is possible."""
        return self.ends[1] - self.ends[0]

    def limits(self, quantile: npt.ArrayLike) -> Ends:
        """Low and high limits, a normal quantile away; t takes the one of equal probability."""
        low, span = self.ends[0], self.span
        if np.isfinite(span):
            below, above = Rates((self.value - low) / span, self.size, self.freedom).limits(quantile)
            return low + span * below, low + span * above
        t = self.quantiles(quantile)
        below = self.value - skewed_quantile(t, self.skew) * self.error
        above = self.value - skewed_quantile(-t, self.skew) * self.error
        return np.clip(np.minimum(below, self.value), *self.ends), np.clip(
            np.maximum(above, self.value), *self.ends
        )

    def upper(self, quantile: npt.ArrayLike) -> Floats:
        """High limits of one side."""
        return self.limits(quantile)[1]

    def take(self, codes: Codes) -> GroupMeans:
        """The means of some groups."""
        rates = super().take(codes)
        return GroupMeans(
            rates.value, rates.size, rates.freedom, rates.covariance, error=self.error[codes],
            skew=self.skew[codes], ends=self.ends,
        )  # fmt: skip

    def mirrored(self) -> GroupMeans:
        """The same of the numbers with the other sign."""
        ends = -self.ends[1], -self.ends[0]
        return replace(self, value=-self.value, skew=-self.skew, ends=ends)

    @property
    def unsure(self) -> Mask:
        """Groups whose limits may be too narrow: fewer than ``25 skewness^2`` units (Cochran 1977)."""
        return np.asarray((self.skew**2 * _COCHRAN > 1) & ~np.isfinite(self.span))


def skewed_quantile(t: Floats, skew: Floats) -> Floats:
    """The quantile of a mean's deviation in its standard errors, where units are skewed.

    ``3/a ((1 + a (t - a/6))^(1/3) - 1)``, a being the skewness over the root of the number of units; t where
    they are not skewed. Shapes broadcast.

    Source: Hall 1992, On the removal of skewness by transformation; the quantile of t in place of the
    normal one.
    """
    a = np.where(np.abs(skew) > _UNSKEWED, skew, 1.0)
    return np.where(np.abs(skew) > _UNSKEWED, 3 / a * (np.cbrt(1 + a * (t - a / 6)) - 1), t)


def quantiles_of(value: Floats, q: npt.ArrayLike, weight: Floats | None = None) -> Floats:
    """Quantiles of numbers, shape (len(q),): linear between two rows, or of weighted rows the steps' own.

    With weights it is the smallest number whose share of the weight, with that of all lower ones, is at least
    q; rows of one weight do not give what they give without.
    """
    at = np.asarray(q, dtype=np.float64)
    if weight is None:
        return np.asarray(np.quantile(value, at))
    return np.asarray(np.quantile(value, at, weights=weight, method="inverted_cdf"))


def _covariance(shift: Floats, group: Integers, unit: Integers, groups: int) -> Floats | None:
    """Of the means of each two groups, shape (G, G); None where no unit lies in several groups."""
    from scipy import sparse

    if np.unique(unit).size == unit.size:
        return None
    shifts = sparse.csr_array((shift, (group, unit)), shape=(groups, int(unit.max()) + 1))
    there = sparse.csr_array((np.ones(shift.size), (group, unit)), shape=shifts.shape)
    is_estimable = ((there @ there.T).toarray() > _SHARED) | np.eye(groups, dtype=bool)
    return np.where(is_estimable, (shifts @ shifts.T).toarray(), 0.0)
