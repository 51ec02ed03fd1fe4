"""Do rates differ between any groups? The two sets of groups that are furthest apart.

Groups stand in order of their rates; a cut after the k-th sets the k lowest against all others. Its
difference counts in standard errors, less what such a cut of equal groups reaches by chance: of many groups
there are many halves to choose from, and a difference of halves is larger by chance than one of a single
group. The largest of the G - 1 numbers is the statistic: it sees one group served better or worse, halves,
and trends; chi-squared sees the same but names nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import special

from evenhand.stats.arrays import Floats, Integers, Mask, Pair, ratio
from evenhand.stats.exchange.compared_rates import LEAST_OF_OWN, ComparedRates, MaxT
from evenhand.stats.rates.rates import Rates, normal_quantile, pair_limits


@lru_cache(maxsize=64)
def reached_by_chance(groups: int) -> Floats:
    """What the cut after the k-th of G equal groups reaches by chance, in standard errors, shape (G - 1,).

    ``-sum of the k smallest normal scores / sqrt(k (1 - k / G))``, scores ``Phi^-1((i - 3/8) / (G + 1/4))``.

    Source: Blom 1958 for the scores.
    """
    scores = special.ndtri((np.arange(1, groups + 1) - 0.375) / (groups + 0.25))
    k = np.arange(1, groups)
    return -scores.cumsum()[:-1] / np.sqrt(k * (1 - k / groups))


@dataclass(frozen=True, eq=False)
class Cuts:
    """All cuts of G groups, as observed (R = 1) or in R draws."""

    order: Integers  # groups from the lowest rate to the highest, shape (R, G)
    apart: Floats  # the upper side's rate less the lower side's, shape (R, G - 1)
    error: Floats  # standard error of these, shape (R, G - 1); 0 where nothing varies

    @classmethod
    def of(cls, compared: ComparedRates) -> Cuts:
        """The cuts of the first label's rates; those of a side are pooled over its groups."""
        rates, variance = compared.rates[..., 0], compared.variance[..., 0]
        trials, hits = np.broadcast_to(compared.trials, compared.rates.shape)[..., 0], compared.hits[..., 0]
        order = np.argsort(rates, axis=-1, kind="stable")
        spread = np.nan_to_num(variance) * trials**2
        sums = [np.take_along_axis(values, order, -1).cumsum(axis=-1) for values in (hits, trials, spread)]
        (h, w, s), (h_all, w_all, s_all) = (
            [array[..., :-1] for array in sums], [array[..., -1:] for array in sums]
        )  # fmt: skip
        below, above = np.maximum(w, 1e-300), np.maximum(w_all - w, 1e-300)
        apart = (h_all - h) / above - h / below
        square = s / below**2 + np.maximum(s_all - s, 0) / above**2
        if compared.covariance is not None:
            among = _among(compared.covariance[..., 0], trials, order, below, above)
            square = np.maximum(square + among, LEAST_OF_OWN * square)
        return cls(order, np.maximum(apart, 0), np.sqrt(square))

    @property
    def above_chance(self) -> Floats:
        """Differences in standard errors less what such cuts reach by chance, shape (R, G - 1)."""
        z = ratio(self.apart, self.error, 0.0)
        return z - reached_by_chance(self.order.shape[-1])

    @property
    def largest(self) -> Floats:
        """The statistic, shape (R,)."""
        return np.asarray(self.above_chance.max(axis=-1))

    @property
    def widest(self) -> int:
        """After how many groups of the first row the cut with the largest statistic lies."""
        return int(self.above_chance[0].argmax()) + 1

    def lower(self) -> Mask:
        """The groups below that cut, shape (G,)."""
        below = np.zeros(self.order.shape[-1], dtype=bool)
        below[self.order[0, : self.widest]] = True
        return below

    def critical(self, above_chance: Floats) -> Floats:
        """How far apart that cut's sides would be at other values of the statistic, any shape."""
        at = self.widest - 1
        allowance = reached_by_chance(self.order.shape[-1])[at]
        return np.asarray(np.maximum(allowance + above_chance, 0) * self.error[0, at])

    def against(self, draws: ComparedRates) -> MaxT:
        """The statistic beside that of draws."""
        return MaxT(float(self.largest[0]), Cuts.of(draws).largest)

    def limits(self, two: Rates, test: MaxT | None, level: float) -> Pair:
        """Limits of the difference of that cut's sides, from 0; the lower one holds for all cuts at once.

        ``two`` are the rates or means of the sides, the larger first; without draws it is of the two alone.
        """
        low, high = pair_limits(two, level)
        if test is not None:
            reach = float(self.critical(np.array(test.quantile(level))))
            z = reach / max(float(self.error[0, self.widest - 1]), 1e-300)
            strict = replace(two, freedom=np.full(2, np.inf))
            low = min(low, pair_limits(strict, quantile=max(z, normal_quantile(level)))[0])
        return max(low, 0.0), high


def _among(covariance: Floats, trials: Floats, order: Integers, below: Floats, above: Floats) -> Floats:
    """What the groups' covariances, shape (R, G, G), add to the variance of each cut, shape (R, G - 1).

    Weighted by trials, of groups on one side of a cut they add to it, of groups on both they take from it.
    """
    groups = order.shape[-1]
    weighted = covariance * trials[..., :, None] * trials[..., None, :]
    weighted[..., np.arange(groups), np.arange(groups)] = 0
    weighted = np.take_along_axis(weighted, order[..., :, None], -2)
    weighted = np.take_along_axis(weighted, order[..., None, :], -1)
    total = weighted.sum(axis=(-2, -1))[..., None]
    of_lower = weighted.sum(axis=-1).cumsum(axis=-1)[..., :-1]  # of groups below with all others
    inside = weighted.cumsum(axis=-2).cumsum(axis=-1)[..., np.arange(groups - 1), np.arange(groups - 1)]
    between, outside = of_lower - inside, total - 2 * of_lower + inside
    return np.asarray(inside / below**2 + outside / above**2 - 2 * between / (below * above))
