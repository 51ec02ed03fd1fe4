"""Right answers of two models in classes and groups: on the same samples, or on samples of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.stats.arrays import Codes, Ends, Floats, Pair, run_starts
from evenhand.stats.hypergeometric import log_choose
from evenhand.stats.rates.rates import Rates, mover

_EXACT_UP_TO = 100.0  # variance of a count above which it is normal for all purposes


@dataclass(frozen=True, eq=False)
class Flips:
    """Samples of k classes or groups on which two models differ in being right, arrays of shape (k,)."""

    n: Floats  # samples
    gained: Floats  # right by the first model only
    lost: Floats  # right by the second model only

    @property
    def p(self) -> Floats:
        """Two-sided p when the two answers of each sample change places with probability 1/2.

        Exact: of the samples that flip, a binomial number goes either way (McNemar's exact test). 1 where
        none does.
        """
        from scipy import stats

        below = stats.binom.cdf(np.minimum(self.gained, self.lost), self.gained + self.lost, 0.5)
        return np.minimum(1.0, 2 * below)

    def interval(self, level: float | Floats) -> Ends:
        """Adjusted Wald interval of a difference of paired shares, cut at -1 and 1.

        One sample is added to each kind of flip, so that no flip at all still leaves a width (Bonett and
        Price 2012, Adjusted Wald confidence interval for a difference of binomial proportions).
        """
        n = np.where(self.n > 0, self.n, np.nan) + 2
        up, down = (self.gained + 1) / n, (self.lost + 1) / n
        half = -special.ndtri((1 - level) / 2) * np.sqrt((up + down - (up - down) ** 2) / n)
        return np.maximum(up - down - half, -1.0), np.minimum(up - down + half, 1.0)


@dataclass(frozen=True, eq=False)
class Shares:
    """Right answers of two models in strata of k classes or groups, in the mix of both."""

    unit: Codes  # class or group of each stratum, shape (s,), in [0, k)
    right: Floats  # right answers of each model in each stratum, shape (2, s)
    rows: Floats  # rows of each model in each stratum, shape (2, s), above 0
    units: int  # how many classes or groups there are

    @property
    def weight(self) -> Floats:
        """What each stratum counts for both models: the harmonic mean of their rows, shape (s,)."""
        return np.asarray(2 / (1 / self.rows).sum(axis=0))

    @property
    def share(self) -> Floats:
        """What each class or group counts for, adding up to 1, shape (k,)."""
        total = self._summed(self.weight)
        return np.asarray(total / total.sum())

    def rates(self) -> list[Rates]:
        """Accuracies of each model, shape (k,); NaN without rows.

        A weighted share is worth ``(sum w)^2 / sum(w^2 / n)`` rows (Kish).
        """
        weight, total = self.weight, self._summed(self.weight)
        return [
            Rates.of_weights(self._summed(weight * right / rows), total, self._summed(weight**2 / rows))
            for right, rows in zip(self.right, self.rows, strict=True)
        ]

    def interval(self, level: float | Floats) -> Ends:
        """Newcombe's interval of the difference (1998, method 10), for models with samples of their own."""
        quantile = -special.ndtri((1 - level) / 2)
        first, second = ((rates, *rates.limits(quantile)) for rates in self.rates())
        return mover((first[1], first[0].value, first[2]), (second[1], second[0].value, second[2]))

    @property
    def p(self) -> Floats:
        """Two-sided p when rows are dealt to the models again within each stratum, shape (k,).

        With these weights a difference grows with the first model's right answers alone, of which each
        stratum has a hypergeometric number (Fisher; Cochran, Mantel and Haenszel over strata): p is twice the
        smaller tail, exact up to a variance of 100, normal with continuity correction above.
        """
        p_values = np.full(self.units, np.nan)
        order = np.argsort(self.unit, kind="stable")
        cuts = run_starts(self.unit[order])[1:]
        for strata in np.split(order, cuts) if order.size else []:
            p_values[self.unit[strata[0]]] = self._dealt(strata)
        return p_values

    def _dealt(self, strata: Codes) -> float:
        right, rows = self.right[:, strata].sum(axis=0), self.rows[:, strata].sum(axis=0)
        mine, observed = self.rows[0, strata], float(self.right[0, strata].sum())
        spread = right * mine * (rows - mine) * (rows - right) / (rows**2 * np.maximum(rows - 1, 1))
        return min(1.0, 2 * min(_tails(rows, right, mine, observed, float(spread.sum()))))

    def _summed(self, values: Floats) -> Floats:
        return np.bincount(self.unit, values, self.units).astype(np.float64)


def _tails(rows: Floats, right: Floats, mine: Floats, observed: float, variance: float) -> Pair:
    """Tails of a sum of hypergeometric counts at what was observed."""
    if variance > _EXACT_UP_TO:
        spread = float(np.sqrt(variance))
        off = observed - float((right * mine / rows).sum())
        return float(special.ndtr((off + 0.5) / spread)), float(special.ndtr((0.5 - off) / spread))
    least, chances = 0.0, np.ones(1)
    for total, good, n_drawn in zip(rows, right, mine, strict=True):
        first, last = max(0.0, good + n_drawn - total), min(good, n_drawn)
        least += first
        if last > first:
            some = np.arange(first, last + 1)
            ways = log_choose(good, some) + log_choose(total - good, n_drawn - some)
            chances = np.convolve(chances, np.exp(ways - log_choose(total, n_drawn)))
    index = round(observed - least)
    return float(np.cumsum(chances)[index]), float(chances[index:].sum())
