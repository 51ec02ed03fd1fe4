"""Groups exchanged at random: what a model that knows nothing of the groups would show on these very rows.

Units (persons, households, rows ...) are drawn as of ``UnitShares``. Because groups may hold units of other
sizes, differences are compared in standard errors that heed the units of each draw (Janssen 1997; Chung and
Romano 2013): the test stays right where only the spread of groups differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask, Pair, codes_of, nan_without_warning, piece_sizes
from evenhand.stats.exchange.relabelling import Levels, Relabelling, each_exceeded, exceeded, on_scale_of
from evenhand.stats.exchange.shares import DrawnShares, UnitShares
from evenhand.stats.rates.clustered import blended, ratio_variance

_WORK = 20_000_000  # units and rows x replicates that are drawn in all
_HELD = 2_000_000  # of which so many at a time
_FEWEST, _MOST = 999, 9_999
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows of one rate, by group and unit."""

    value: Floats  # in [0, 1], or real numbers of the range `ends`, shape (N,)
    group: Integers  # codes below `groups`, shape (N,); each occurs
    groups: int  # how many groups there are
    # codes of what was sampled as a whole, shape (N,); None: each row is its own
    unit: Integers | None = None
    weight: Floats | None = None  # of each row, shape (N,); None: all count alike
    ends: Pair | None = None  # the range of real numbers, which may be infinite; None: values are rates

    @cached_property
    def units(self) -> Integers:
        """Unit of each row, numbered from 0."""
        if self.unit is None:
            return np.arange(self.value.size)
        return codes_of(self.unit)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row."""
        return np.ones(self.value.size) if self.weight is None else self.weight

    @property
    def mean(self) -> float:
        """The rate of all rows."""
        return float(self.weights @ self.value / self.weights.sum())

    @cached_property
    def spread(self) -> Pair:
        """Two factors of the variance of a row where groups make no difference: p (1 - p) of rates."""
        mean = self.mean
        if self.ends is not None:
            return float(self.weights @ (self.value - mean) ** 2 / self.weights.sum()), 1.0
        mean = min(max(mean, 0.0), 1.0)
        return mean, 1 - mean

    def relabelling(self, stratum: Integers | None = None) -> Relabelling:
        """How groups are exchanged, within strata of any codes where there are any."""
        code = None if stratum is None else codes_of(stratum)
        return Relabelling(self.group, self.units, code)

    @cached_property
    def mixed(self) -> Mask:
        """Which units lie in several groups."""
        return self.relabelling().mixed

    @property
    def fixed(self) -> bool:
        """Whether nothing can change places: no unit lies in several groups, and each group is one unit."""
        return self.relabelling().fixed

    def within(self, stratum: Integers) -> UnitRows:
        """The same without what strata (topics, classes) make of it: values less their stratum's mean.

        Values keep the mean of all rows, so that rates compare groups of one mix of strata, and may lie a
        little outside [0, 1].
        """
        code = codes_of(stratum)
        total = np.bincount(code, self.weights * self.value) / np.bincount(code, self.weights)
        return replace(self, value=self.value - total[code] + self.mean)


def likeness(rows: UnitRows) -> float:
    """How alike the rows of a unit are: the intra-class correlation by moments, in [0, 1].

    ``sum over pairs of a unit's rows of (y_i - p)(y_j - p) / (pairs p (1 - p))``; groups play no part in it,
    so an exchange leaves it as it is. 0 where no unit has two rows.
    """
    mean = rows.mean
    away = rows.value - mean
    variance = float(rows.weights @ away**2 / rows.weights.sum())
    size = np.bincount(rows.units)
    pairs = float((size * (size - 1)).sum())
    if not pairs or variance <= 0:
        return 0.0
    sums = np.bincount(rows.units, away)
    squares = np.bincount(rows.units, away**2)
    return float(np.clip((sums**2 - squares).sum() / pairs / variance, 0, 1))


def expected_variance(rows: UnitRows) -> Floats:
    """What the sum of each unit varies by where groups make no difference, shape (units,).

    ``w^2 p (1 - p) (rho + (1 - rho) / n)`` for a unit of weight w and n rows; of real numbers their variance
    in place of p (1 - p).
    """
    size = np.bincount(rows.units).astype(np.float64)
    weight = np.bincount(rows.units, rows.weights)
    alike, (first, second) = likeness(rows), rows.spread
    return weight**2 * first * second * (alike + (1 - alike) / size)


@dataclass(frozen=True, eq=False)
class ComparedRates:
    """Rates of groups with the covariance that their units show, in R draws or, R = 1, as observed."""

    rates: Floats  # shape (R, G)
    variance: Floats  # shape (R, G)
    # shape (R, G, G), zero on the diagonal; None where no unit lies in several groups
    covariance: Floats | None

    def t(self, contrast: Floats) -> Floats:
        """Contrasts of the rates in their standard errors, shape (R, K).

        ``contrast`` holds weights of the rates, shape (K, G), each adding up to 0.
        """
        square = contrast_variance(self.variance, self.covariance, contrast)
        with nan_without_warning():
            t = (self.rates @ contrast.T) / np.sqrt(square)
        return np.where(square > 0, t, 0.0)


@dataclass(frozen=True, eq=False)
class ExchangedRates:
    """A comparison as observed, and in every draw."""

    observed: ComparedRates  # R = 1
    drawn: ComparedRates  # R draws
    share: Floats  # of the weight in each group, shape (G,)
    rescaled: bool  # whether draws have units of other sizes than the groups, so that bands are rescaled
    ends: Pair = (0.0, 1.0)  # least and largest rate that is possible

    @property
    def replicates(self) -> int:
        """How many draws there are."""
        return len(self.drawn.rates)

    @cached_property
    def rates(self) -> Floats:
        """Rates that groups of these units would have by chance, shape (R, G).

        Where units differ in size a drawn rate has the spread of the units that came, not that of the group;
        it is put on the group's own scale.
        """
        if not self.rescaled:
            return self.drawn.rates
        middle = float(self.observed.rates[0] @ self.share)
        drawn_variance = np.where(self.drawn.variance > 0, self.drawn.variance, np.nan)
        moved = np.nan_to_num((self.drawn.rates - middle) * np.sqrt(self.observed.variance / drawn_variance))
        return np.clip(middle + moved, *self.ends)

    def p_largest(self) -> float:
        """The p of the largest difference of two groups, whichever they are: max-t by exchange."""
        return exceeded(self._most, self.largest)

    def p_either(self) -> float:
        """The same: differences count in either direction."""
        return self.p_largest()

    def gaps(self, value: float, chance_at: float = 0.0) -> Floats:
        """What a gap would be at the largest differences of the draws, shape (R,), from 0.

        The statistic is that of ``p_largest``: small groups, whose rates vary most, do not widen its band.
        ``chance_at`` is the gap that is expected without differences.
        """
        above = on_scale_of(value - chance_at, self._most, self.largest)
        return np.clip(chance_at + above, 0, self.ends[1] - self.ends[0])

    @cached_property
    def _most(self) -> float:
        return float(np.abs(self.observed.t(pairs_of(self.drawn.rates.shape[1]))).max())

    def p_below_rest(self, sign: int = 1) -> float:
        """The p of the worst group, whose rate is lower than that of all the others; -1: higher."""
        return exceeded(*self._below_rest(sign))

    def below_rest(self, value: float, sign: int = 1) -> Floats:
        """How far the worst group would be from all rows at the statistics of the draws, shape (R,)."""
        return np.clip(on_scale_of(value, *self._below_rest(sign)), 0, self.ends[1] - self.ends[0])

    def _below_rest(self, sign: int) -> tuple[float, Floats]:
        contrast = -sign * against_rest(self.share)
        return float(self.observed.t(contrast).max()), self.drawn.t(contrast).max(axis=1)

    def p_each(self) -> Floats:
        """The two-sided p of each group against the others, shape (G,)."""
        contrast = against_rest(self.share)
        return each_exceeded(np.abs(self.observed.t(contrast)[0]), np.abs(self.drawn.t(contrast)))

    def quantile_largest(self, level: float = 0.95) -> float:
        """The quantile of the largest difference of two groups in standard errors: max-t by exchange."""
        return float(np.quantile(self.largest, level, method="higher"))

    @cached_property
    def largest(self) -> Floats:
        """The largest difference of two groups in standard errors, in each draw."""
        return np.asarray(np.abs(self.drawn.t(pairs_of(self.drawn.rates.shape[1]))).max(axis=1))


def contrast_variance(variance: Floats, covariance: Floats | None, contrast: Floats) -> Floats:
    """Variance of contrasts, shape (R, K).

    ``contrast`` holds weights of the rates, shape (K, G); the covariance is zero on the diagonal.
    """
    own_variance = variance @ (contrast**2).T
    if covariance is None:
        return np.asarray(own_variance)
    together = np.einsum("rgh,kg,kh->rk", covariance, contrast, contrast, optimize=True)
    # a covariance may eat up what little variance there is; a tenth of it always stays
    return np.asarray(np.maximum(own_variance + together, 0.1 * own_variance))


def pairs_of(groups: int) -> Floats:
    """The contrast of each two groups, shape (G (G - 1) / 2, G)."""
    first, second = np.triu_indices(groups, 1)
    unit = np.eye(groups)
    return unit[first] - unit[second]


def against_rest(share: Floats) -> Floats:
    """The contrast of each group with all the others together, shape (G, G)."""
    rest = 1 - share
    others = np.tile(share, (share.size, 1)) * (1 - np.eye(share.size))
    return np.eye(share.size) - others / np.where(rest > 0, rest, 1)[:, None]


def exchange(
    rows: UnitRows,
    rng: np.random.Generator,
    replicates: int | None = None,
    *,
    stratum: Integers | None = None,
) -> ExchangedRates:
    """Exchange the groups of units at random.

    By default there are 9,999 draws, or fewer, 999 at least, for many units. ``stratum`` holds codes within
    which groups are exchanged, for designs whose groups were drawn within strata; a unit of several strata
    changes places with any other.
    """
    design = _Design.of(rows, stratum)
    if replicates is None:
        units = design.labels.mixed.size
        work = units * (1 if design.shares is None else 4 * rows.groups)
        work += 4 * rows.groups**2  # each two groups are compared
        replicates = int(np.clip(_WORK // max(work, 1), _FEWEST, _MOST))
    parts = list(design.draws(rng, replicates))
    pieces = [part.covariance for part in parts if part.covariance is not None]
    covariance = np.concatenate(pieces) if pieces else None
    rates, variance = (np.concatenate([getattr(p, name) for p in parts]) for name in ("rates", "variance"))
    share = np.bincount(rows.group, rows.weights, rows.groups)
    compared_rates = ComparedRates(rates, variance, covariance)
    ends = (0.0, 1.0) if rows.ends is None else rows.ends
    return ExchangedRates(design.observed(), compared_rates, share / share.sum(), design.unequal, ends)


@dataclass(frozen=True, eq=False)
class _Design:
    """Units by what can happen to them."""

    rows: UnitRows  # the rows
    labels: Relabelling  # which units are alike, and how the groups of those of one are exchanged
    # moments of the units, shape (C, 6): sum, weight, their squares and product, and the variance that is
    # expected of the sum
    moments: Floats
    shares: UnitShares | None  # where some units are of several groups
    middle: float  # what real numbers are less here, so that no digit is lost; of rates 0

    @classmethod
    def of(cls, rows: UnitRows, stratum: Integers | None) -> _Design:
        labels, middle = rows.relabelling(stratum), 0.0
        if rows.ends is not None:
            middle = rows.mean
            rows = replace(rows, value=rows.value - middle)
        sums = np.bincount(rows.units, rows.weights * rows.value)
        weights = np.bincount(rows.units, rows.weights)
        expected = expected_variance(rows)
        moments = np.stack([sums, weights, sums**2, sums * weights, weights**2, expected], axis=1)
        shares = None
        if labels.mixed.any():
            shares = UnitShares(rows.group, rows.units, rows.weights, rows.groups, labels.stratum)
        return cls(rows, labels, moments, shares, middle)

    @property
    def unequal(self) -> bool:
        """Whether units have other weights, so that groups change in size."""
        weight = self.moments[:, 1]
        return bool(np.ptp(weight) > _ROUNDING * weight.max())

    @cached_property
    def binary(self) -> bool:
        """Whether units are of one weight and hit or miss altogether, all in one group each.

        Then the spread of a group is known from the common rate, as in Pearson's test; that of a few units
        that all miss would be next to nothing. Of real numbers none are known to be hits.
        """
        sums, weight = self.moments[:, 0], self.moments[:, 1].max(initial=0)
        same = np.abs(self.moments[:, 1] - weight) <= _ROUNDING * weight
        altogether = (np.abs(sums) <= _ROUNDING) | (np.abs(sums - weight) <= _ROUNDING * weight)
        return self.shares is None and self.rows.ends is None and bool((same & altogether).all())

    def observed(self) -> ComparedRates:
        """The comparison as it is."""
        if self.shares is not None:
            return self._of_shares(self.shares.observed)
        return self._compared(self._summed(self.labels.label_of[None]))

    def draws(self, rng: np.random.Generator, replicates: int) -> Iterator[ComparedRates]:
        """Draws in pieces that fit in memory."""
        wide = len(self.moments) * (1 if self.shares is None else self.rows.groups)
        for size in piece_sizes(replicates, _HELD, wide):
            if self.shares is not None:
                yield self._of_shares(self.shares.drawn(rng, size))
            else:
                yield self._compared(self._totals(rng, size))

    def _totals(self, rng: np.random.Generator, size: int) -> Floats:
        """Moments of groups with units exchanged, shape (size, groups, 6)."""
        if self._unit_levels is None:
            return self._summed(self.labels.wholes(rng, size))
        unit_counts, moments = self._unit_levels.drawn(rng, size), self._unit_levels.moments
        shape = (*unit_counts.shape[:2], moments.shape[-1])
        return np.asarray(unit_counts.reshape(size * shape[1], -1) @ moments.reshape(-1, shape[2])).reshape(
            shape
        )

    def _summed(self, groups: Integers) -> Floats:
        """Moments of groups from the groups of units, shape (draws, groups, 6)."""
        size, count = len(groups), self.rows.groups
        key = (groups + np.arange(size)[:, None] * count).ravel()
        totals = [np.bincount(key, np.tile(moment, size), size * count) for moment in self.moments.T]
        return np.stack(totals, axis=1).reshape(size, count, -1).astype(np.float64)

    @cached_property
    def _unit_levels(self) -> Levels | None:
        """Units as numbers of alike ones in each block, where that is possible."""
        if self.unequal:
            return None
        return Levels.of(self.labels.block, self.moments, self.labels.label_of, self.rows.groups)

    @cached_property
    def _inside(self) -> Floats:
        """What the groups of a unit differ by: their sums less their shares of the unit's, shape (C, G)."""
        rows, shape = self.rows, (len(self.moments), self.rows.groups)
        key = rows.units * rows.groups + rows.group
        by_group = np.bincount(key, rows.weights * rows.value, shape[0] * shape[1]).reshape(shape)
        share = by_group if self.shares is None else self.shares.of_units
        return by_group - share * self.moments[:, :1]

    def _of_shares(self, spread: DrawnShares) -> ComparedRates:
        """Rates and their covariance from drawn shares of the units."""
        share, sign = np.moveaxis(spread.of_units, 0, 1), spread.inside_units.T  # (R, C, G) and (R, C)
        sums, weights = self.moments[:, :1], self.moments[:, 1:2]
        s, w = share * sums + sign[..., None] * self._inside, share * weights
        size = share * np.bincount(self.rows.units)[:, None]
        alike, (first, second) = likeness(self.rows), self.rows.spread
        expected = w**2 * first * second * (alike + (1 - alike) / np.where(size > 0, size, 1))
        parts = (s, w, s**2, s * w, w**2, expected)
        totals, units = np.stack([part.sum(axis=1) for part in parts], axis=-1), (share > 0).sum(axis=1)
        with nan_without_warning():
            away = (s - (totals[..., 0] / totals[..., 1])[:, None] * w) / totals[:, None, :, 1]
            covariance = np.einsum("rcg,rch->rgh", away, away)
        covariance *= blended(np.ones(()), units, np.zeros(()))[:, :, None]
        same = np.arange(self.rows.groups)
        covariance[:, same, same] = 0
        return self._compared(totals, units, covariance)

    def _compared(
        self, totals: Floats, units: Integers | None = None, covariance: Floats | None = None
    ) -> ComparedRates:
        """Rates and their variances from moments of groups, shape (R, G, 6)."""
        if units is None:
            units = np.bincount(self.labels.label_of, minlength=self.rows.groups)
        s, w, a, b, q, e = (totals[..., moment] for moment in range(6))
        n = np.broadcast_to(units, s.shape).astype(np.float64)
        with nan_without_warning():
            rates, expected = s / w, e / w**2
            own_variance = blended(ratio_variance(rates, w, n, (a, b, q)), n, expected)
            variance = np.where((n > 1) & (not self.binary), own_variance, expected)
        return ComparedRates(rates + self.middle, variance, covariance)
