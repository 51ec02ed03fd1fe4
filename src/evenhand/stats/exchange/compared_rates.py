"""Rates of groups compared as observed and in draws whose units changed places, in standard errors.

One form for one rate and for the rates of many labels. Of independent rows a difference counts in the
standard error that all groups together lead to expect. Of units, whose sizes and spread may differ between
groups, it counts in that of its own draw (Janssen 1997; Chung and Romano 2013), blended with the expected
one, so that units which agree by chance do not count as certain. The p of all statistics is
``(1 + b) / (1 + B)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Ends, Floats, Integers, Pair, nan_without_warning, pieces, ratio
from evenhand.stats.rates.clustered import ratio_variance, telling, unit_variance

LEAST_OF_OWN = 0.1
"""Of the variance of two rates, what stays whatever their covariance takes off."""
_PRIOR = 4.0  # units as expected without differences that stand beside those of a group
_FEW_WEIGHED = 40.0  # weighted rows that tell of their own spread as much as all rows do
_ROUNDING = 1e-9
_HELD = 4_000_000  # numbers of one array held at a time


@dataclass(frozen=True, eq=False)
class MaxT:
    """The largest of some statistics, as observed and in every draw."""

    observed: float
    draws: Floats  # shape (R,)

    @property
    def p_value(self) -> float:
        """How often a draw is as large."""
        return exceeded(self.observed, self.draws)

    def quantile(self, level: float = 0.95) -> float:
        """The quantile of the draws: one of them, and not below."""
        return float(np.quantile(self.draws, level, method="higher"))

    def scaled(self, value: float, chance_at: float = 0.0, most: float = 1.0) -> Floats:
        """What a value would be at the statistics of the draws, shape (R,), from 0 to ``most``.

        How far it is from where chance leads to grows with the statistic. A band of these holds the value
        where, and only where, the test of the statistic does not reject: p and band are of one statistic. It
        lies at chance where the statistic is 0, as it is where nothing differs.
        """
        above = (
            (value - chance_at) * self.draws / self.observed
            if self.observed > 0
            else np.zeros(self.draws.shape)
        )
        return np.clip(chance_at + above, 0, most)


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
class ComparedRates:
    """L rates of G groups and how they vary, as observed (R = 1) or in R draws."""

    rates: Floats  # shape (R, G, L); NaN without trials
    trials: Floats  # of each, or the groups' shares of all; what broadcasts to that shape
    variance: Floats  # shape (R, G, L)
    # of the rates of two groups that share units, shape (R, G, G, L), with a diagonal of 0; None without any
    covariance: Floats | None = None
    middle: Floats | float = 0.0  # what is expected of each without differences

    @classmethod
    def of_rows(cls, hits: Floats, trials: Floats, expected: Floats | None = None) -> ComparedRates:
        """Of rows that count alike, or draws of them: hits of shape (R, G, L), trials what broadcasts.

        ``expected`` are the rates that strata (truths) lead to expect of each group; None without strata.
        """
        pooled = _pooled(hits, trials)
        variance = ratio(pooled * (1 - pooled), trials)
        return cls(ratio(hits, trials), trials, variance, None, pooled if expected is None else expected)

    @classmethod
    def of_units(
        cls, hits: Floats, trials: Floats, m: UnitMoments, expected: Floats | None = None
    ) -> ComparedRates:
        """Of rows whose units are drawn as wholes, or that have weights."""
        pooled, rates, squares = _pooled(hits, trials), ratio(hits, trials), (m.hits, m.both, m.trials)
        with nan_without_warning():
            if m.alike is None:
                variance = ratio_variance(rates, trials, m.units, squares)
                variance = _of_weighted_rows(m, variance, trials, pooled)
            else:
                variance = unit_variance(rates, pooled, trials, m.units, squares, m.alike)
        covariance = None
        if m.shared is not None:
            units = telling(m.units, trials, pooled)
            weight = units / (units + _PRIOR)
            covariance = np.nan_to_num(m.shared) * np.minimum(weight[:, :, None], weight[:, None])
            same = np.arange(covariance.shape[1])
            covariance[:, same, same] = 0
        return cls(rates, trials, variance, covariance, pooled if expected is None else expected)

    @classmethod
    def joined(cls, parts: Sequence[ComparedRates]) -> ComparedRates:
        """Draws of several pieces as one, of which none is expected to be elsewhere."""
        shape = parts[0].rates.shape[1:]
        rates = np.concatenate([part.rates for part in parts])
        variance = np.concatenate([part.variance for part in parts])
        trials = [np.broadcast_to(part.trials, (len(part.rates), *shape)) for part in parts]
        shared = [part.covariance for part in parts if part.covariance is not None]
        return cls(rates, np.concatenate(trials), variance, np.concatenate(shared) if shared else None)

    @property
    def hits(self) -> Floats:
        """Shape (R, G, L)."""
        return np.nan_to_num(self.rates) * self.trials

    @property
    def away(self) -> Floats:
        """Rates less what is expected of a group; NaN without trials."""
        return self.rates - self.middle

    def scaled_to(self, observed: ComparedRates) -> Floats:
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
        top, bottom = z.argmax(axis=-2, keepdims=True), z.argmin(axis=-2, keepdims=True)
        best = _apart(
            np.take_along_axis(z, top, -2), np.take_along_axis(error, top, -2),
            np.take_along_axis(z, bottom, -2), np.take_along_axis(error, bottom, -2),
        )[..., 0, :].max(axis=-1)  # fmt: skip
        draw, label = np.nonzero(bound > best[:, None])
        for some in pieces(draw.size, _HELD, z.shape[-2]):
            row = draw[some]
            values, errors = z[row, :, label[some]], error[row, :, label[some]]
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

    @cached_property
    def from_rest(self) -> Floats:
        """Each group's rate less that of all the others together, in standard errors, shape (R, G, L)."""
        trials, hits = np.broadcast_to(self.trials, self.rates.shape), self.hits
        all_trials, all_hits = trials.sum(axis=-2, keepdims=True), hits.sum(axis=-2, keepdims=True)
        others = np.maximum(all_trials - trials, 1e-300)
        spread = np.nan_to_num(self.variance) * trials**2
        square = self.variance + (spread.sum(axis=-2, keepdims=True) - spread) / others**2
        if self.covariance is not None:
            row = np.einsum("rghl,rhl->rgl", self.covariance, trials)
            among = (trials * row).sum(axis=-2, keepdims=True) - 2 * trials * row
            square = np.maximum(square + among / others**2 - 2 * row / others, LEAST_OF_OWN * square)
        away = ratio(hits, trials) - (all_hits - hits) / others
        has_value = (square > 0) & np.isfinite(away)
        error = np.sqrt(square, where=has_value, out=np.ones_like(square))
        return np.asarray(np.divide(away, error, where=has_value, out=np.zeros_like(away)))

    def _scaled(self) -> Ends:
        """Distances from the middle in standard errors, and these; 0 and infinite without trials."""
        error = np.sqrt(self.variance)
        has_error = ~np.isnan(self.away) & (error > 0)
        z = np.divide(self.away, error, out=np.zeros_like(self.away), where=has_error)
        return z, np.where(has_error, error, np.inf)


@dataclass(frozen=True, eq=False)
class ExchangedRates:
    """A comparison of one rate as observed, and in every draw."""

    observed: ComparedRates  # R = 1, L = 1
    drawn: ComparedRates  # R draws
    rescaled: bool = False  # whether draws have units of other sizes than the groups: bands are rescaled
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
        rates = self.drawn.rates[..., 0]
        if not self.rescaled:
            return rates
        trials = np.broadcast_to(self.observed.trials, self.observed.rates.shape)
        middle = float((self.observed.rates * trials).sum() / trials.sum())
        drawn_variance = np.where(self.drawn.variance > 0, self.drawn.variance, np.nan)
        scale = np.sqrt(self.observed.variance / drawn_variance)[..., 0]
        return np.clip(middle + np.nan_to_num((rates - middle) * scale), *self.ends)

    @cached_property
    def largest(self) -> MaxT:
        """The largest difference of two groups, whichever they are: max-t by exchange."""
        return MaxT(float(self.observed.largest()[0]), self.drawn.largest())

    def p_either(self) -> float:
        """Its p, which counts differences in either direction."""
        return self.largest.p_value

    def gaps(self, value: float, chance_at: float = 0.0) -> Floats:
        """What a gap would be at the largest differences of the draws, shape (R,), from 0.

        The statistic is that of ``largest``: small groups, whose rates vary most, do not widen its band.
        ``chance_at`` is the gap that is expected without differences.
        """
        return self.largest.scaled(value, chance_at, self.ends[1] - self.ends[0])

    def below_rest(self, sign: int = 1) -> MaxT:
        """How far the worst group is below all the others, in standard errors; -1: above."""
        observed, draws = -sign * self.observed.from_rest, -sign * self.drawn.from_rest[..., 0]
        return MaxT(float(observed[..., 0].max()), draws.max(axis=1))

    def p_each(self) -> Floats:
        """The two-sided p of each group against the others, shape (G,)."""
        return each_exceeded(np.abs(self.observed.from_rest[0, :, 0]), np.abs(self.drawn.from_rest[..., 0]))


def exceeded(observed: float, draws: Floats) -> float:
    """``(1 + b) / (1 + B)`` where b of B draws are as large as what was observed."""
    return float(each_exceeded(np.array([observed]), draws[:, None])[0])


def each_exceeded(observed: Floats, draws: Floats) -> Floats:
    """The same of several numbers at once, shape (K,), from draws of shape (B, K)."""
    slack = np.where(np.isfinite(observed), _ROUNDING * np.maximum(1.0, np.abs(observed)), 0.0)
    return np.asarray((1 + (draws >= observed - slack).sum(axis=0)) / (1 + len(draws)))


def least_exceeding(draws: Floats, alpha: float) -> float:
    """The smallest of the draws whose own p is at most ``alpha``; infinite where none has one so small."""
    values = np.unique(draws)
    as_large = draws.size - np.searchsorted(
        np.sort(draws), values - _ROUNDING * np.maximum(1, np.abs(values))
    )
    few = values[(1 + as_large) / (1 + draws.size) <= alpha]
    return float(few[0]) if few.size else float("inf")


def _pooled(hits: Floats, trials: Floats) -> Floats:
    """The rates of all groups together, shape (R, 1, L)."""
    total = np.broadcast_to(trials, hits.shape).sum(axis=-2, keepdims=True)
    # sums of weights miss 0 and 1 by their last digits
    return np.clip(ratio(hits.sum(axis=-2, keepdims=True), total), 0, 1)


def widened(hits: Floats, trials: Floats) -> Floats:
    """Standard error of rows at a group's own rate over that without differences, shape (G, L)."""
    p = _pooled(hits, trials)
    own_rate = (hits + _PRIOR * p) / (trials + _PRIOR)
    return np.sqrt(ratio(own_rate * (1 - own_rate), p * (1 - p), 1.0))


def _of_weighted_rows(m: UnitMoments, own_variance: Floats, trials: Floats, p: Floats) -> Floats:
    """Their own variance, and where few rows tell of it at least what all rows lead to expect.

    A small group that by chance has few of the rows that weigh most has a rate far off and looks sure of
    it. Expected is the larger of two: that of all rows in the squares of this group's weights, and in
    their mean; neither changes where weights are multiplied by a number.
    """
    spread = m.hits - 2 * p * m.both + p**2 * m.trials
    of_squares = spread.sum(axis=-2, keepdims=True) / m.trials.sum(axis=-2, keepdims=True)
    relative = np.nan_to_num(spread * (m.units / trials) ** 2).sum(axis=-2, keepdims=True)
    of_mean = relative / m.units.sum(axis=-2, keepdims=True) / m.units
    lacking = np.maximum(np.maximum(of_squares * m.trials / trials**2, of_mean) - own_variance, 0)
    units = telling(m.units, trials**2 / m.trials, p)
    return np.asarray(own_variance + lacking * _FEW_WEIGHED / (units + _FEW_WEIGHED))


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
