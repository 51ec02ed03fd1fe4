"""Groups exchanged between the units of pools: what rankings that know nothing of the groups would show.

Sampling units (samples, or persons with several pictures) exchange their groups once for all queries that
rank them, so that what rankings have in common stays. The groups of a unit of several change places with each
other inside it (``Relabelling``). The mean over queries is compared in standard errors of each draw (Janssen
1997; Chung and Romano 2013): the spread over queries, and what queries of one pool have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Floats, Integers, Mask, Pair, Rng, draw_blocks
from evenhand.stats.exchange.compared_rates import exceeded
from evenhand.stats.exchange.relabelling import Relabelling
from evenhand.stats.rankings.fairness import NO_SAMPLE, RankedPools
from evenhand.stats.rates.clustered import blended
from evenhand.stats.rates.rates import normal_quantile
from evenhand.stats.skewness import skewness

Figure = Callable[[RankedPools], Floats]

_FEWEST, _MOST = 199, 1_999
_WORK = 20_000_000  # places of all drawn rankings
_MOVABLE = 0.5  # share of units that have to find a partner in the very same queries
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RankingExchange:
    """Rankings of samples whose groups change places."""

    order: Integers  # the sample at each place, shape (R, N); -1 after the last
    ranked: RankedPools  # the rankings as they are
    labels: Integers  # group of each sample, shape (S,)
    units: Integers  # what each sample was taken with, shape (S,)
    sets: bool = False  # whether samples of a unit were made alike but for their group, so that these change
    # places sample by sample

    @cached_property
    def _members(self) -> Mask:
        """Which sample stands in which query, shape (S, R)."""
        members = np.zeros((self.labels.size, len(self.order)), dtype=bool)
        query, position = np.nonzero(self.order >= 0)
        members[self.order[query, position], query] = True
        return members

    @cached_property
    def _relabelling(self) -> Relabelling:
        """Units exchange groups with those that stand in the same queries.

        Where more than half of them would be alone there, with all that queries connect.
        """
        if self.sets:
            return Relabelling(self.labels, np.arange(self.labels.size), self.units)
        members = np.zeros((int(self.units.max()) + 1, len(self.order)), dtype=bool)
        np.logical_or.at(members, self.units, self._members)
        alike = np.unique(members, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        used = np.asarray(members.any(axis=1))
        alike[~used] = alike.max() + 1 + np.arange((~used).sum())
        relabelling = Relabelling(self.labels, self.units, alike[self.units])
        movable = relabelling.movable[used[relabelling.whole]]
        if movable.size and movable.mean() < _MOVABLE:
            return Relabelling(self.labels, self.units, _connected(members)[self.units])
        return relabelling

    @property
    def fixed(self) -> bool:
        """Whether nothing can change places: groups are one unit each wherever units could be exchanged."""
        return not self._relabelling.movable.any() if self.sets else self._relabelling.fixed

    def draws(self, rng: Rng) -> Iterator[RankedPools]:
        """Rankings of exchanged groups, several draws at a time: rankings of a draw follow each other."""
        width = self.order.shape[1]
        count = int(np.clip(_WORK // self.order.size, _FEWEST, _MOST))
        for size in draw_blocks(count, 2 * self.order.size):
            labels = self._relabelling.drawn(rng, size).astype(np.int32)
            codes = np.where(self.order >= 0, labels[:, self.order], NO_SAMPLE).reshape(-1, width)
            starts, stops = (np.tile(edges, (size, 1)) for edges in (self.ranked.starts, self.ranked.stops))
            yield RankedPools(codes, starts, stops, self.ranked.n_groups)


def _connected(members: Mask) -> Integers:
    """Which units queries connect, by number, shape (units,)."""
    from scipy import sparse

    stands = sparse.coo_array(members.astype(np.float64))
    graph = sparse.block_array([[None, stands], [stands.T, None]])
    labels = sparse.csgraph.connected_components(graph, directed=False)[1]
    return np.asarray(labels[: len(members)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Means:
    """The mean over queries as observed and in every draw, with its error."""

    value: float  # as observed
    draws: Floats  # of each draw, shape (B,)
    error: float  # as observed
    errors: Floats  # of each draw, shape (B,)
    chance: float  # what exchanged groups give on average
    queries: int  # how many there are
    common: float  # variance that queries have in common, of exchanged groups

    @classmethod
    def of(cls, values: Floats, draws: Floats, *, shared: bool, pools: UnevenPools | None = None) -> Means:
        """From values of the queries, shape (R,), and of every draw, shape (B, R).

        The variance of a mean is that of the values over queries, and, where units stand in several queries,
        what exchanged groups have in common over them. What is due to pools that change is taken off.
        """
        if pools is not None:
            draws = draws - pools.drawn_like + pools.like
        has_value = ~np.isnan(draws)
        count = has_value.sum(axis=1)
        means = np.nanmean(draws, axis=1)
        within = np.where(has_value, (draws - means[:, None]) ** 2, 0).sum(axis=1) / np.maximum(count - 1, 1)
        own_variance = float(values.var(ddof=1)) if values.size > 1 else 0.0
        common = max(float(means.var()) - float((within / count).mean()), 0) if shared else 0.0
        scale, scales = (1.0, np.ones(means.size)) if pools is None else pools.scales
        expected = float(within.mean())
        error = np.sqrt(_of_mean(np.array(own_variance), np.array(values.size), expected) + common * scale)
        errors = np.sqrt(_of_mean(within, count, expected) + common * scales)
        value, chance = float(values.mean()), float(means.mean())
        return cls(value, means, float(error), errors, chance, values.size, common)

    @cached_property
    def _t(self) -> tuple[float, Floats]:
        """How far the mean is from chance in standard errors, as observed and in the draws that have one."""
        some = (self.errors > _ROUNDING) & ~np.isnan(self.draws)
        t = (self.value - self.chance) / self.error if self.error > _ROUNDING else 0.0
        return t, (self.draws[some] - self.chance) / self.errors[some]

    def p_value(self, side: str) -> float:
        """Of the two-sided test, ``both``, or twice the tail on the unfair side, ``high`` or ``low``."""
        t, t_draws = self._t
        if side == "both":
            return exceeded(abs(t), np.abs(t_draws))
        sign = 1 if side == "high" else -1
        return min(1.0, 2 * exceeded(sign * t, sign * t_draws))

    def limits(self, side: str, level: float) -> Pair | None:
        """Means that the test does not reject; None where all draws are alike.

        Away from the fair side a one-sided figure reaches at least as far as a normal one: its tail there is
        short only because the figure has a bound.
        """
        t_draws = self._t[1]
        if not t_draws.size or self.error <= _ROUNDING or np.nanstd(self.draws) <= _ROUNDING:
            return None
        if side == "both":
            reach = float(np.quantile(np.abs(t_draws), level, method="higher")) * self.error
            return self.value - reach, self.value + reach
        sign = 1 if side == "high" else -1
        unfair = float(np.quantile(sign * t_draws, (1 + level) / 2, method="higher"))
        short = -float(np.quantile(sign * t_draws, (1 - level) / 2, method="lower"))
        near, far = self._where(sign, -unfair), self._where(sign, max(normal_quantile(level), short))
        return (near, far) if side == "high" else (far, near)

    def _where(self, sign: int, quantile: float) -> float:
        """The limit so many standard errors farther from chance, in the error that the figure has there.

        A figure that is about a sum of squares of what groups differ by (NDKL, the largest skew) varies the
        more, the farther it is from chance: m squares with the variance c by chance have ``c + g x`` at the
        distance x, ``g = 2 sqrt(2 c / m)``; their skewness by chance, ``sqrt(8 / m)``, gives m. So the
        quadratic ``(x - away)^2 = q^2 (error^2 + g x)`` is solved.
        """
        away = sign * (self.value - self.chance)
        plain = away + quantile * self.error
        if plain > 0:
            signed_draws = sign * self.draws[~np.isnan(self.draws)]
            growth = min(max(float(skewness(signed_draws)), 0.0), np.sqrt(8)) * np.sqrt(self.common)
            half = away + quantile**2 * growth / 2
            reach = np.sqrt(max(half**2 - away**2 + (quantile * self.error) ** 2, 0.0))
            plain = half + np.copysign(reach, quantile)
        return self.chance + sign * float(plain)


@dataclass(frozen=True, eq=False)
class UnevenPools:
    """What pools of exchanged groups do to a figure, where units differ in size."""

    drawn_like: Floats  # figure of tops like their pools, in each draw, shape (B, R)
    like: Floats  # the same as observed, shape (R,)
    drawn_spread: Floats  # variance that one place adds in pools of such groups, in each draw, shape (B, R)
    spread: Floats  # the same as observed, shape (R,)

    @property
    def scales(self) -> tuple[float, Floats]:
        """By how much the variance differs from that of the draws on average: as observed, and in each."""
        spreads = self.drawn_spread.mean(axis=1)
        middle = float(spreads.mean())
        if middle <= _ROUNDING:  # tops that are their pools do not vary
            return 1.0, np.ones(spreads.shape)
        return float(self.spread.mean()) / middle, spreads / middle


def _of_mean(within: Floats, count: npt.NDArray[np.number], expected: float) -> Floats:
    """Variance of means over queries."""
    return np.asarray(blended(within, count, np.array(expected)) / count)
