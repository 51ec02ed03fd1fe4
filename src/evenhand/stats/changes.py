"""What two models do differently in single classes and groups: right answers, and effect sizes by draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.effect_intervals import wilson_interval
from evenhand.stats.exchanged import ComparedClass
from evenhand.stats.hypergeometric import log_choose

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
Streams = Callable[[int, int], np.random.Generator]

FEW = 10  # fewer draws as far out as the difference leave its p too coarse
_STEP = 10  # times as many draws at the next stage
_AT_ONCE = 2_000_000  # numbers of one class drawn at a time
_EXACT_UP_TO = 100.0  # variance of a count above which it is normal for all purposes
_SLACK = 1e-9
_ENOUGH = 0.9  # of the draws that a null band needs


@dataclass(frozen=True, eq=False)
class Flips:
    """Samples of k classes or groups on which two models differ in being right, arrays of shape (k,).

    Attributes:
        n: Samples.
        gained: Right by the first model only.
        lost: Right by the second model only.
    """

    n: Floats
    gained: Floats
    lost: Floats

    @property
    def value(self) -> Floats:
        """Accuracy of the first minus that of the second, in [-1, 1]; NaN without samples."""
        return (self.gained - self.lost) / np.where(self.n > 0, self.n, np.nan)

    @property
    def p(self) -> Floats:
        """Two-sided p when the two answers of each sample change places with probability 1/2.

        Exact: of the samples that flip, a binomial number goes either way (McNemar's exact test). 1 where
        none does.
        """
        from scipy import stats

        below = stats.binom.cdf(np.minimum(self.gained, self.lost), self.gained + self.lost, 0.5)
        return np.minimum(1.0, 2 * below)

    def null(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central part of what the exchange gives; ``level`` of it or more."""
        from scipy import stats

        both = self.gained + self.lost
        low = stats.binom.ppf((1 - level) / 2, both, 0.5)
        reach = (both - 2 * low) / np.where(self.n > 0, self.n, np.nan)
        return -reach, reach

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Adjusted Wald interval of a difference of paired shares, cut at -1 and 1.

        One sample is added to each kind of flip, so that no flip at all still leaves a width (Bonett and
        Price 2012, Adjusted Wald confidence interval for a difference of binomial proportions).
        """
        from scipy import special

        n = np.where(self.n > 0, self.n, np.nan) + 2
        up, down = (self.gained + 1) / n, (self.lost + 1) / n
        half = special.ndtri((1 + level) / 2) * np.sqrt((up + down - (up - down) ** 2) / n)
        return np.maximum(up - down - half, -1.0), np.minimum(up - down + half, 1.0)


@dataclass(frozen=True, eq=False)
class Shares:
    """Right answers of two models on samples of their own, in strata of k classes or groups.

    Attributes:
        unit: Class or group of each stratum, shape (s,), in [0, k).
        right: Right answers of each model in each stratum, shape (2, s).
        rows: Rows of each model in each stratum, shape (2, s), above 0.
        units: How many classes or groups there are.
    """

    unit: Integers
    right: Floats
    rows: Floats
    units: int

    @property
    def weight(self) -> Floats:
        """What each stratum counts for both models: the harmonic mean of their rows, shape (s,)."""
        return np.asarray(2 / (1 / self.rows).sum(axis=0))

    @property
    def shares(self) -> Floats:
        """Accuracy of each model in the common mix of strata, shape (2, k); NaN without rows."""
        weight = self.weight
        whole = self._summed(weight)
        right = np.stack([self._summed(weight * one) for one in self.right / self.rows])
        return right / np.where(whole > 0, whole, np.nan)

    @property
    def value(self) -> Floats:
        """Accuracy of the first minus that of the second, in [-1, 1], shape (k,)."""
        return np.asarray(self.shares[0] - self.shares[1])

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Newcombe's interval: Wilson's of both shares put together, each with the rows that it is worth.

        A weighted share is worth ``(sum w)^2 / sum(w^2 / n)`` rows (Kish). Source: Newcombe 1998, method 10.
        """
        weight = self.weight
        whole = self._summed(weight)
        ends = []
        for share, rows in zip(self.shares, self.rows, strict=True):
            worth = whole**2 / np.where(whole > 0, self._summed(weight**2 / rows), np.nan)
            ends.append((share, *wilson_interval(share * worth, worth, level)))
        (a, a_low, a_high), (b, b_low, b_high) = ends
        return a - b - np.hypot(a - a_low, b_high - b), a - b + np.hypot(a_high - a, b - b_low)

    def dealt(self, level: float) -> tuple[Floats, Floats, Floats]:
        """p, and ends of the null band, when rows are dealt to the models again within each stratum.

        With these weights a difference grows with the first model's right answers alone, of which each
        stratum has a hypergeometric number (Fisher; Cochran, Mantel and Haenszel over strata): p is twice the
        smaller tail, exact up to a variance of 100, normal with continuity correction above.
        """
        found = np.full((3, self.units), np.nan)
        order = np.argsort(self.unit, kind="stable")
        cuts = np.flatnonzero(np.diff(self.unit[order])) + 1
        for strata in np.split(order, cuts) if order.size else []:
            found[:, self.unit[strata[0]]] = self._dealt(strata, level)
        return found[0], found[1], found[2]

    def _dealt(self, strata: Integers, level: float) -> tuple[float, float, float]:
        right, rows = self.right[:, strata].sum(axis=0), self.rows[:, strata].sum(axis=0)
        mine, observed = self.rows[0, strata], float(self.right[0, strata].sum())
        mean = float((right * mine / rows).sum())
        spread = right * mine * (rows - mine) * (rows - right) / (rows**2 * np.maximum(rows - 1, 1))
        tails, ends = _count_of(rows, right, mine, observed, level, float(spread.sum()))
        step = 2 / float(self.weight[strata].sum())  # what one more right answer adds to the difference
        return min(1.0, 2 * min(tails)), step * (ends[0] - mean), step * (ends[1] - mean)

    def _summed(self, values: Floats) -> Floats:
        return np.bincount(self.unit, values, self.units).astype(np.float64)


def _count_of(
    rows: Floats, right: Floats, mine: Floats, observed: float, level: float, variance: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Tails of a sum of hypergeometric counts at what was observed, and the ends of its central part."""
    from scipy import special

    if variance > _EXACT_UP_TO:
        spread = float(np.sqrt(variance))
        off = observed - float((right * mine / rows).sum())
        lower, upper = (float(special.ndtr((sign * off + 0.5) / spread)) for sign in (1, -1))
        reach = spread * float(special.ndtri((1 + level) / 2))
        return (lower, upper), (observed - off - reach, observed - off + reach)
    least, chances = 0.0, np.ones(1)
    for whole, good, drawn in zip(rows, right, mine, strict=True):
        first, last = max(0.0, good + drawn - whole), min(good, drawn)
        least += first
        if last > first:
            some = np.arange(first, last + 1)
            ways = log_choose(good, some) + log_choose(whole - good, drawn - some)
            chances = np.convolve(chances, np.exp(ways - log_choose(whole, drawn)))
    below = np.cumsum(chances)
    place = round(observed - least)
    tails = (float(below[place]), float(chances[place:].sum()))
    tail = (1 - level) / 2 + 1e-12
    low, high = (int(np.searchsorted(below, one)) for one in (tail, 1 - tail))
    return tails, (least + low, least + min(high, chances.size - 1))


@dataclass(frozen=True, eq=False)
class EffectChanges:
    """Changes of effect sizes of k classes, arrays of shape (k,), NaN where not defined.

    Attributes:
        values: Effect sizes of the two models, shape (2, k).
        low: Lower end of the null band.
        high: Upper end of the null band.
        mean: Mean of the null.
        p: Two-sided.
        draws: Exchanges behind each p.
    """

    values: Floats
    low: Floats
    high: Floats
    mean: Floats
    p: Floats
    draws: Floats


def effect_changes(
    classes: Sequence[ComparedClass], kept: Floats, streams: Streams, *, wanted: int, budget: float,
    level: float = 0.95,
) -> EffectChanges:  # fmt: skip
    """Changes of each class's effect size, with p under exchange of the two models.

    p is ``(1 + b) / (1 + B)``. A class with fewer than ``FEW`` draws as far out gets ten times as many, up to
    ``wanted``. Such a p is still valid: a level below ``(1 + FEW) / (1 + B)`` of a stage can only be reached
    at later ones, so at each level one stage alone decides, whose p is valid.

    Args:
        classes: The true classes, as two models answered them.
        kept: Differences of effect sizes under exchange, shape (k, replicates).
        streams: The random stream of a class's further draws, by its place and a count of draws.
        wanted: Draws that let the smallest p pass its correction.
        budget: Numbers that further draws may make; beyond it stages are cut short for all classes alike.
        level: Of the null band.
    """
    shown = [one.observed() for one in classes]
    values = np.array(
        [
            [one.cells.effect(tables[model], model)[0] for one, tables in zip(classes, shown, strict=True)]
            for model in (0, 1)
        ]
    )
    change = values[0] - values[1]
    even = np.array([one.even for one in classes])
    tails, usable = _tails(kept, change, even), (~np.isnan(kept)).sum(axis=1)
    low, high, mean = np.where(usable >= _ENOUGH * kept.shape[1], _bands(kept, level), np.nan)
    defined = np.flatnonzero(~np.isnan(change) & (usable > 0))
    reached = kept.shape[1]
    while reached < wanted:
        few = defined[tails[:, defined].min(axis=0) < FEW]
        cost = float(sum(classes[place].width for place in few))
        to = int(min(wanted, reached * _STEP, reached + budget / max(cost, 1.0)))
        if to < 2 * reached or not few.size:
            break
        budget -= cost * (to - reached)
        for place in few.tolist():
            for draws in _further(classes[place], place, reached, to, streams):
                tails[:, [place]] += _tails(draws, change[[place]], even[[place]])
                usable[place] += int((~np.isnan(draws)).sum())
        reached = to
    p = np.where(even, 1, 2) * (1 + tails.min(axis=0)) / (1 + usable)
    p[np.isnan(change) | (usable == 0)] = np.nan
    return EffectChanges(values, low, high, mean, np.minimum(p, 1.0), usable.astype(np.float64))


def _tails(draws: Floats, change: Floats, even: npt.NDArray[np.bool_]) -> Integers:
    """Draws at least as far up, and as far down, shape (2, k); both together where exchange is even."""
    at = change[:, None]
    slack = _SLACK * np.maximum(1.0, np.abs(at))
    with np.errstate(invalid="ignore"):
        if even.all():
            far = (np.abs(draws) >= np.abs(at) - slack).sum(axis=1)
            return np.stack([far, far])
        up, down = (draws >= at - slack).sum(axis=1), (draws <= at + slack).sum(axis=1)
        far = (np.abs(draws) >= np.abs(at) - slack).sum(axis=1)
    return np.stack([np.where(even, far, up), np.where(even, far, down)])


def _further(one: ComparedClass, place: int, start: int, end: int, streams: Streams) -> Iterator[Floats]:
    """More differences of a class's effect size under exchange, (1, draws) at a time."""
    step = max(_AT_ONCE // one.width, 1)
    for at in range(start, end, step):
        first, second = one.exchanged(streams(place, at), min(step, end - at))
        yield (one.cells.effect(first, 0) - one.cells.effect(second, 1))[None, :]


def _bands(draws: Floats, level: float) -> Floats:
    """Ends and mean of each class's draws, shape (3, k), NaN left out."""
    ordered = np.sort(draws, axis=1)  # NaN comes last
    last = (~np.isnan(ordered)).sum(axis=1) - 1
    rows, found = np.arange(len(draws)), []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        at = np.maximum(last, 0) * tail
        below = np.floor(at).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(last, 0))
        found.append(ordered[rows, below] + (at - below) * (ordered[rows, above] - ordered[rows, below]))
    mean = np.nansum(ordered, axis=1) / np.where(last >= 0, last + 1, np.nan)
    return np.stack([*found, mean])
