"""Floats of lines: a mistake of a group beside the other groups of the same class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.stats.arrays import Codes, Ends, Floats, Integers, Mask
from evenhand.stats.disparities.candidates import Candidates
from evenhand.stats.disparities.mid_p import mid_p
from evenhand.stats.multiplicity import selected_level
from evenhand.stats.rates.differences import mover, normal_quantile
from evenhand.stats.rates.rates import Rates

_LEVEL = 0.95
_PIECE = 1 << 18  # lines whose limits are made together
_ARRAYS = ("truth", "group", "label", "pair", "a", "n", "b", "m", "p", "q")  # of lines, shape (N,) each


@dataclass(frozen=True, eq=False)
class Spread:
    """How much both rates of lines vary where that is not as of independent rows; shape (N,) each."""

    sizes: Ends  # as many independent rows would vary as much, in the group and elsewhere
    freedom: Ends | None = None  # degrees of freedom of t; None: infinite
    correlation: Floats | None = None  # of both rates, by what lies in both; None: 0

    def take(self, index: Codes | Mask | slice) -> Spread:
        """Those of some lines."""
        freedom = None if self.freedom is None else (self.freedom[0][index], self.freedom[1][index])
        correlation = None if self.correlation is None else self.correlation[index]
        return Spread((self.sizes[0][index], self.sizes[1][index]), freedom, correlation)


@dataclass(frozen=True, eq=False)
class Lines:
    """``a`` of ``n`` rows of a class in a group have a wrong label, ``b`` of ``m`` in all other groups."""

    truth: Integers  # shape (N,) each
    group: Integers
    label: Integers  # MISS: any wrong label
    pair: Integers  # number of (class, label)
    a: Floats
    n: Floats
    b: Floats
    m: Floats
    p: Floats  # NaN: not tested
    q: Floats  # corrected for all tested
    spread: Spread | None = None  # None: rows are independent
    robust: Floats | None = None  # score that heeds clusters
    level: float = _LEVEL  # of the limits

    @classmethod
    def of(cls, candidates: Candidates, p: Floats, q: Floats, spread: Spread | None = None) -> Lines:
        """From candidates with their p."""
        mistakes, a, n = candidates.mistakes, candidates.a, candidates.n
        return cls(
            candidates.truth, mistakes.group[candidates.stratum], mistakes.pair_label[candidates.pair],
            candidates.pair, a, n, candidates.hits - a, candidates.total - n, p, q, spread,
        )  # fmt: skip

    def take(self, index: Codes | Mask) -> Lines:
        """Some of them, in the order of the index."""
        arrays = {name: getattr(self, name)[index] for name in _ARRAYS}
        spread = None if self.spread is None else self.spread.take(index)
        robust = None if self.robust is None else self.robust[index]
        return replace(self, **arrays, spread=spread, robust=robust)

    def followed_by(self, others: Lines) -> Lines:
        """These and then others, as of independent rows."""
        return Lines(*(np.r_[getattr(self, name), getattr(others, name)] for name in _ARRAYS))

    def with_spread(self, spread: Spread, robust: Floats) -> Lines:
        """The same lines of rows in clusters, with scores that heed them."""
        return replace(self, spread=spread, robust=robust)

    def beyond(self, alpha: float) -> tuple[Integers, int]:
        """Indices of the lines beyond chance, the least p first, and how many of them count.

        Those with ``q <= alpha``. Of one mistake, lines in the other direction than its first are mirror
        images and do not count: where R count among K lines, p is at most ``alpha R / K``, the step-up rule
        of Benjamini and Hochberg. Of clusters, q alone decides. Ties of p: the larger score, then the first
        group.
        """
        order = np.lexsort((self.group, -np.abs(self.score), self.p))
        order = order[self.q[order] <= alpha]
        _, first, mistake = np.unique(self.pair[order], return_index=True, return_inverse=True)
        is_more = self.is_more[order]
        number = np.cumsum(is_more == is_more[first[mistake]])
        if self.spread is not None or not order.size:
            return order, int(number[-1:].sum())
        holds = np.flatnonzero(self.p[order] * len(self) / number <= alpha)
        if not holds.size:  # beyond chance only because of mirror images
            return order[:1], order.size
        return order[: holds[-1] + 1], int(number[holds[-1]])

    def selected(self, index: Codes, alpha: float) -> Lines:
        """Lines that are listed, with limits that heed that the data chose them."""
        return replace(self.take(index), level=selected_level(self.beyond(alpha)[1], len(self), self.level))

    def __len__(self) -> int:
        return self.truth.size

    @property
    def rate(self) -> Floats:
        """Share of the group's rows."""
        return np.asarray(self.a / self.n)

    @property
    def others(self) -> Floats:
        """Share elsewhere."""
        return np.asarray(self.b / self.m)

    @cached_property
    def difference(self) -> Floats:
        """Rate less that elsewhere."""
        return self.rate - self.others

    @property
    def ratio(self) -> Floats:
        """Rate over that elsewhere; NaN where it never occurs elsewhere."""
        return np.asarray(self.rate / np.where(self.b > 0, self.others, np.nan))

    @property
    def is_more(self) -> Mask:
        """Whether the group has it more often than the others; else it is spared."""
        return np.asarray(self.difference > 0)

    @cached_property
    def limits(self) -> Ends:
        """Limits of the difference: Wilson's of both rates, joined (Newcombe 1998, method 10)."""
        quantile, low, high = normal_quantile(self.level), np.empty(len(self)), np.empty(len(self))
        spread = Spread((self.n, self.m)) if self.spread is None else self.spread
        for start in range(0, len(self), _PIECE):
            some = slice(start, start + _PIECE)
            here = spread.take(some)
            freedom = (np.array(np.inf),) * 2 if here.freedom is None else here.freedom
            figures = []
            for rate, size, degrees in zip((self.rate, self.others), here.sizes, freedom, strict=True):
                ends = Rates(rate[some], size, degrees).limits(quantile)
                figures.append((ends[0], rate[some], ends[1]))
            low[some], high[some] = mover(figures[0], figures[1], here.correlation)
        return low, high

    @property
    def near(self) -> Floats:
        """The difference that is certain: from 0 to the limit nearer to it, 0 where limits hold 0."""
        low, high = self.limits
        return np.where(self.is_more, np.maximum(low, 0), np.maximum(-high, 0))

    @property
    def _affected(self) -> Floats:
        """Rows of the side with the higher rate."""
        return np.where(self.is_more, self.n, self.m)

    @property
    def excess(self) -> Floats:
        """Rows above the better side's rate."""
        return np.asarray(self._affected * np.abs(self.difference))

    @property
    def certain(self) -> Floats:
        """The same from the limit of the difference that is nearer to 0."""
        return np.asarray(self._affected * self.near)

    @property
    def score(self) -> Floats:
        """The difference in the standard error of the pooled rate; 0 where every row has the mistake."""
        if self.robust is not None:
            return self.robust
        pooled = (self.a + self.b) / (self.n + self.m)
        error = np.sqrt(np.maximum(pooled * (1 - pooled), 0) * (1 / self.n + 1 / self.m))
        return np.divide(self.difference, error, out=np.zeros(len(self)), where=error > 0)

    def p_of(self, count: Floats, size: Floats, total: Floats, hits: Floats) -> Floats:
        """P of other tables of these lines' mistakes, shape (N,); arguments as of ``mid_p``.

        In clusters that of the score, at sizes that are as much smaller as those of the lines.
        """
        if self.spread is None:
            return mid_p(count, size, total, hits)
        mine, elsewhere = self.spread.sizes
        pooled, others = hits / total, total - size
        with np.errstate(divide="ignore", invalid="ignore"):
            inflated = self.n / mine / size + self.m / elsewhere / others
            score = (count / size - (hits - count) / others) / np.sqrt(pooled * (1 - pooled) * inflated)
        return np.asarray(2 * special.ndtr(-np.abs(np.nan_to_num(score))))

    def ranked(self, order: str) -> Integers:
        """Indices, what matters most first.

        "more" before "less"; then certain rows (or, where ``order`` is ``points``, the certain difference),
        excess, p, class, group and label.
        """
        worth = self.near if order == "points" else self.certain
        keys = (self.label, self.group, self.truth, self.p, -self.excess, -worth, ~self.is_more)
        return np.lexsort(keys)

    def by_p(self) -> Integers:
        """Indices, the least p first; where p is too small for a number, the largest score."""
        order = np.argsort(self.p, kind="stable")
        vanished = int((self.p == 0).sum())
        order[:vanished] = order[:vanished][
            np.argsort(-np.abs(self.take(order[:vanished]).score), kind="stable")
        ]
        return order
