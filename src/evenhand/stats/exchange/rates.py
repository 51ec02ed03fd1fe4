"""How far groups are apart in rates of many labels, in standard errors: the largest difference of all.

The statistic of the exchange, for many rates of one draw. Of independent rows a difference counts in the
standard error that all groups together lead to expect. Of units, whose sizes and spread may differ between
groups, it counts in that of its own draw (Janssen 1997; Chung and Romano 2013), blended with the expected
one, so that units which agree by chance do not count as certain. And the mean over labels of the largest
differences, among the means that other populations would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.stats.arrays import Ends, Floats, Integers, nan_without_warning, pieces, ratio
from evenhand.stats.inverted_families import ALPHA, LEAST, Inverted, Member
from evenhand.stats.rates.clustered import ratio_variance, telling, unit_variance
from evenhand.stats.rates.confusion import range_over_first, range_over_groups

LEAST_OF_OWN = 0.1
"""Of the variance of two rates, what stays whatever their covariance takes off."""
_PRIOR = 4.0  # units as expected without differences that stand beside those of a group
_FEW_WEIGHED = 40.0  # weighted rows that tell of their own spread as much as all rows do
_ROUNDING = 1e-9
_HELD = 4_000_000  # numbers of one array held at a time


@dataclass(frozen=True, eq=False)
class UnitMoments:
    """Sums over the units of a group, of their hits s and trials w; shapes broadcast to (R, G, L)."""

    hits: Floats  # of `s^2`
    both: Floats  # of `s w`
    trials: Floats  # of `w^2`
    units: Floats  # how many have trials
    # how alike the rows of a unit are, in [0, 1], shape (L,); None where units are single rows with weights
    alike: Floats | None
    # the covariance that units of several groups make, without a correction for few units, shape
    # (R, G, G, L), its diagonal not used; None where units are of one group each
    shared: Floats | None = None


@dataclass(frozen=True, eq=False)
class Tally:
    """Hits and trials of L rates in G groups, as observed (R = 1) or in R draws."""

    hits: Floats  # shape (R, G, L)
    trials: Floats  # the same, or what broadcasts to it
    # the rates that strata (truths) lead to expect of each group; None where there are none
    expected: Floats | None = None
    moments: UnitMoments | None = None  # of units that are drawn as a whole; None where rows are

    @cached_property
    def rates(self) -> Floats:
        """Shape (R, G, L); NaN without trials."""
        return ratio(self.hits, self.trials)

    @cached_property
    def away(self) -> Floats:
        """Rates less what is expected of a group, by its strata or the rate of all; NaN without trials."""
        return self.rates - (self._pooled if self.expected is None else self.expected)

    @cached_property
    def _pooled(self) -> Floats:
        """The rates of all groups together, shape (R, 1, L)."""
        trials = np.broadcast_to(self.trials, self.hits.shape).sum(axis=-2, keepdims=True)
        share = ratio(self.hits.sum(axis=-2, keepdims=True), trials)
        return np.clip(share, 0, 1)  # sums of weights miss 0 and 1 by their last digits

    @cached_property
    def variance(self) -> Floats:
        """Of the rates, shape (R, G, L)."""
        with nan_without_warning():
            m = self.moments
            if m is None:
                return self._pooled * (1 - self._pooled) / self.trials
            squares = m.hits, m.both, m.trials
            if m.alike is None:
                own_variance = ratio_variance(self.rates, self.trials, m.units, squares)
                return self._of_weighted_rows(m, own_variance)
            return unit_variance(self.rates, self._pooled, self.trials, m.units, squares, m.alike)

    def _of_weighted_rows(self, m: UnitMoments, own_variance: Floats) -> Floats:
        """Their own variance, and where few rows tell of it at least what all rows lead to expect.

        A small group that by chance has few of the rows that weigh most has a rate far off and looks sure of
        it. Expected is the larger of two: that of all rows in the squares of this group's weights, and in
        their mean; neither changes where weights are multiplied by a number.
        """
        p = self._pooled
        spread = m.hits - 2 * p * m.both + p**2 * m.trials
        of_squares = spread.sum(axis=-2, keepdims=True) / m.trials.sum(axis=-2, keepdims=True)
        relative = np.nan_to_num(spread * (m.units / self.trials) ** 2).sum(axis=-2, keepdims=True)
        of_mean = relative / m.units.sum(axis=-2, keepdims=True) / m.units
        lacking = np.maximum(np.maximum(of_squares * m.trials / self.trials**2, of_mean) - own_variance, 0)
        units = telling(m.units, self.trials**2 / m.trials, p)
        return np.asarray(own_variance + lacking * _FEW_WEIGHED / (units + _FEW_WEIGHED))

    @cached_property
    def covariance(self) -> Floats | None:
        """Of the rates of two groups that share units, shape (R, G, G, L), with a diagonal of 0."""
        if self.moments is None or self.moments.shared is None:
            return None
        units = telling(self.moments.units, self.trials, self._pooled)
        weight = units / (units + _PRIOR)
        joint_weight = np.minimum(weight[:, :, None], weight[:, None])
        covariance = np.nan_to_num(self.moments.shared) * joint_weight
        same = np.arange(covariance.shape[1])
        covariance[:, same, same] = 0
        return np.asarray(covariance)

    @property
    def wider(self) -> Floats:
        """Standard error at a group's own rate over that without differences, shape (R, G, L); of units 1."""
        if self.moments is not None:
            return np.ones(self.hits.shape)  # their variance is that of their own rates
        p = self._pooled
        own_rate = (self.hits + _PRIOR * p) / (self.trials + _PRIOR)
        return np.sqrt(ratio(own_rate * (1 - own_rate), p * (1 - p), 1.0))

    def scaled_to(self, observed: Tally) -> Floats:
        """``away`` of draws with the spread of the groups as they are, whose units may be of other sizes."""
        with nan_without_warning():
            scale = np.sqrt(observed.variance / self.variance)
        return np.where(np.isfinite(scale), self.away * scale, self.away)

    def largest(self) -> Floats:
        """The largest difference of two groups in any of the rates, in standard errors, shape (R,)."""
        if self.covariance is not None:
            return self._largest_of_shared()
        z, error = self._scaled()
        high, low = z.max(axis=-2), z.min(axis=-2)
        # the differences of two groups are at most the root of the sum of their squares away from the middle
        bound = np.sqrt(np.maximum(high, 0) ** 2 + np.minimum(low, 0) ** 2)
        pair = [np.expand_dims(group, -2) for group in (z.argmax(axis=-2), z.argmin(axis=-2))]
        best = _apart(*(np.take_along_axis(array, at, -2) for at in pair for array in (z, error)))[..., 0, :]
        best = best.max(axis=-1)
        draw, label = np.nonzero(bound > best[:, None])
        for some in pieces(draw.size, _HELD, z.shape[-2]):
            row = draw[some]
            values, errors = (array[row, :, label[some]] for array in (z, error))
            for of, a, b in _pairs_above(values, best[row]):
                pairs = _apart(values[of, a], errors[of, a], values[of, b], errors[of, b])
                np.maximum.at(best, row[of], pairs)
        return np.asarray(best)

    def _largest_of_shared(self) -> Floats:
        """The same where groups share units, pair by pair."""
        z, error = self._scaled()
        covariance = np.zeros(()) if self.covariance is None else self.covariance
        best = np.zeros(len(z))
        for g in range(z.shape[1]):
            for h in range(g):
                apart = _apart(z[:, g], error[:, g], z[:, h], error[:, h])
                with np.errstate(invalid="ignore"):
                    separate = error[:, g] ** 2 + error[:, h] ** 2
                    square = np.maximum(separate - 2 * covariance[:, g, h], LEAST_OF_OWN * separate)
                    scaled = np.nan_to_num(apart * np.sqrt(separate / square))
                best = np.maximum(best, scaled.max(axis=-1))
        return best

    def below_rest(self) -> Floats:
        """How far the first label's lowest group is below all the others, in standard errors, shape (R,)."""
        return np.asarray((-self.from_rest[..., 0]).max(axis=-1))

    @cached_property
    def from_rest(self) -> Floats:
        """Each group's rate less that of all the others together, in standard errors, shape (R, G, L)."""
        trials = np.broadcast_to(self.trials, self.hits.shape)
        all_trials, all_hits = trials.sum(axis=-2, keepdims=True), self.hits.sum(axis=-2, keepdims=True)
        others = np.maximum(all_trials - trials, 1e-300)
        spread = np.nan_to_num(self.variance) * trials**2
        square = self.variance + (spread.sum(axis=-2, keepdims=True) - spread) / others**2
        if self.covariance is not None:
            row = np.einsum("rghl,rhl->rgl", self.covariance, trials)
            among = (trials * row).sum(axis=-2, keepdims=True) - 2 * trials * row
            square = np.maximum(square + among / others**2 - 2 * row / others, LEAST_OF_OWN * square)
        with nan_without_warning():
            away = self.hits / trials - (all_hits - self.hits) / others
        has_value = (square > 0) & np.isfinite(away)
        error = np.sqrt(square, where=has_value, out=np.ones_like(square))
        return np.asarray(np.divide(away, error, where=has_value, out=np.zeros_like(away)))

    def _scaled(self) -> Ends:
        """Distances from the middle in standard errors, and these; 0 and infinite without trials."""
        error = np.sqrt(self.variance)
        has_error = ~np.isnan(self.away) & (error > 0)
        z = np.divide(self.away, error, out=np.zeros_like(self.away), where=has_error)
        return z, np.where(has_error, error, np.inf)


def _pairs_above(z: Floats, best: Floats) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Rows of z, shape (K, G), with two groups each whose difference in standard errors may pass ``best``.

    It is at most ``sqrt(a^2 + b^2)`` of two groups to both sides of the middle, and at most the larger of two
    on one side: groups near the middle are left out.
    """
    high, low = np.maximum(z.max(axis=1), 0), np.maximum(-z.min(axis=1), 0)
    reach = best * (1 - _ROUNDING)
    above = z > np.sqrt(np.maximum(reach**2 - low**2, 0))[:, None]
    below = -z > np.sqrt(np.maximum(reach**2 - high**2, 0))[:, None]
    above[low > reach], below[high > reach] = True, True
    row, first = np.nonzero(above)
    other_row, second = np.nonzero(below)
    n = np.bincount(other_row, minlength=len(z))
    start, times = (np.cumsum(n) - n)[row], n[row]
    total = np.cumsum(times)
    for some in np.split(
        np.arange(row.size), np.searchsorted(total, np.arange(_HELD, total[-1:].sum(), _HELD))
    ):
        repeated = np.repeat(some, times[some])
        within = np.arange(repeated.size) - np.repeat(np.cumsum(times[some]) - times[some], times[some])
        yield row[repeated], first[repeated], second[start[repeated] + within]


def _apart(z: Floats, error: Floats, other_z: Floats, other_error: Floats) -> Floats:
    """The difference of two rates in its standard error; 0 where either is not known."""
    is_comparable = np.isfinite(error) & np.isfinite(other_error)
    first, second = np.where(is_comparable, error, 1.0), np.where(is_comparable, other_error, 1.0)
    return np.where(is_comparable, np.abs(z * first - other_z * second) / np.hypot(first, second), 0.0)


def mean_range(
    observed: float, away: Sequence[Floats], variance: Sequence[Floats], noise: Sequence[Floats],
    wider: Sequence[Floats], combine: Callable[..., Floats],
) -> Inverted:  # fmt: skip
    """The mean over labels of ranges between groups, among the means that other populations would give.

    It is made of one or several rates: ``away`` are those of groups less what is expected of them without
    differences, shape (G, L) each, ``noise`` draws of such rates, shape (K, G, L); ``wider`` says by how much
    the noise of the observed differences is wider. ``combine`` goes from the ranges of each of the rates,
    shape (..., L), to their mean.
    """
    noise = [np.ascontiguousarray(np.moveaxis(draws, -2, 0)) for draws in noise]

    def family(shape: Sequence[Floats]) -> Member:
        parts = [(a[:, None], e, w[:, None]) for a, e, w in zip(shape, noise, wider, strict=True)]
        full_range = float(combine(*(range_over_groups(deviations, 2) for deviations in shape)))

        def member(s: float) -> tuple[float, Floats]:
            ranges = (range_over_first(s * a + e * (1 + min(s, 1) * (w - 1)), 2) for a, e, w in parts)
            return min(s * full_range, 1.0), combine(*ranges)

        return member

    few = [_significant(deviations, spread) for deviations, spread in zip(away, variance, strict=True)]
    return Inverted.along(observed, [family(few), family(away)])


def _significant(away: Floats, variance: Floats) -> Floats:
    """Differences of labels, shape (G, L), of which little is left where noise explains them."""
    has_value = ~np.isnan(away) & (variance > 0)
    square = np.where(has_value, away**2 / np.where(variance > 0, variance, 1), 0).sum(axis=0)
    p = special.chdtrc(np.maximum(has_value.sum(axis=0) - 1, 1), square)
    return away * np.where(p <= ALPHA, 1.0, LEAST)
