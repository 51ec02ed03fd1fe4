"""Floats of lines: a mistake of a group beside the other groups of the same class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.stats.arrays import (
    Codes,
    Ends,
    Floats,
    Integers,
    Mask,
    crossing,
    nan_without_warning,
    pieces,
    ratio,
)
from evenhand.stats.disparities.candidates import Candidates
from evenhand.stats.disparities.mid_p import mid_p
from evenhand.stats.multiplicity import adjust, selected_level
from evenhand.stats.rates.rates import Rates, mover, normal_quantile

_LEVEL = 0.95
_PIECE = 1 << 18  # lines whose limits are made together
_NEAREST = 0.99  # of a difference, that a limit of its test is away from it at most
_FARTHEST, _HALVINGS = 8.0, 40  # normal quantile of p = 1e-15, and what finds it to 1e-11
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
    p_of_limits: Floats | None = None  # of clusters: at whose level the limits reach 0; 1 where q is large
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
        more = {name: getattr(self, name) for name in ("robust", "p_of_limits")}
        more = {name: None if values is None else values[index] for name, values in more.items()}
        return replace(self, **arrays, **more, spread=spread)

    def followed_by(self, others: Lines) -> Lines:
        """These and then others, as of independent rows."""
        return Lines(*(np.r_[getattr(self, name), getattr(others, name)] for name in _ARRAYS))

    def with_spread(self, spread: Spread, robust: Floats, alpha: float) -> Lines:
        """The same lines of rows in clusters, with scores that heed them.

        An exchange is about these very clusters, limits about others like them; what is beyond chance has to
        hold for both (intersection-union test, Berger 1982): q is no smaller than that of the limits.
        """
        lines = replace(self, spread=spread, robust=robust)
        some = np.flatnonzero(self.q <= alpha)
        p_of_limits = np.ones(len(self))
        p_of_limits[some] = lines.take(some)._where_limits_reach_0()
        q = np.maximum(self.q, adjust(p_of_limits, "bh"))
        return replace(lines, q=np.where(self.q <= alpha, q, self.q), p_of_limits=p_of_limits)

    def beyond(self, alpha: float) -> tuple[Integers, int]:
        """Indices of the lines beyond chance, the least p first, and how many of them count.

        Those with ``q <= alpha``. Of one mistake, lines in the other direction than its first are mirror
        images and do not count: where R count among K lines, p (of clusters, that of the limits) is at most
        ``alpha R / K``, the step-up rule of Benjamini and Hochberg. Ties of p: the larger score, then the
        first group.
        """
        some = np.flatnonzero(self.q <= alpha)  # of millions of lines few: only these are sorted
        lines = self.take(some)
        order = np.lexsort((lines.group, -np.abs(lines.score), lines.p_of_listing))
        lines, order = lines.take(order), some[order]
        if not order.size:
            return order, 0
        _, first, mistake = np.unique(lines.pair, return_index=True, return_inverse=True)
        number = np.cumsum(lines.is_more == lines.is_more[first[mistake]])
        holds = np.flatnonzero(lines.p_of_listing * len(self) / number <= alpha)
        if not holds.size:  # beyond chance only because of mirror images
            return order[:1], order.size
        return order[: holds[-1] + 1], int(number[holds[-1]])

    def selected(self, index: Codes, alpha: float) -> Lines:
        """Lines that are listed; limits heed that the data chose them, and an ``alpha`` above .05."""
        level = min(self.level, 1 - alpha)
        return replace(self.take(index), level=selected_level(self.beyond(alpha)[1], len(self), level))

    def __len__(self) -> int:
        return self.truth.size

    @property
    def p_of_listing(self) -> Floats:
        """By which lines are chosen: p, of clusters that of the limits."""
        return self.p if self.p_of_limits is None else self.p_of_limits

    @property
    def rate(self) -> Floats:
        """Share of the group's rows."""
        return self.a / self.n

    @property
    def others(self) -> Floats:
        """Share elsewhere."""
        return self.b / self.m

    @cached_property
    def difference(self) -> Floats:
        """Rate less that elsewhere."""
        return self.rate - self.others

    @property
    def ratio(self) -> Floats:
        """Rate over that elsewhere; NaN where it never occurs elsewhere."""
        return self.rate / np.where(self.b > 0, self.others, np.nan)

    @property
    def is_more(self) -> Mask:
        """Whether the group has it more often than the others; else it is spared."""
        return self.difference > 0

    @cached_property
    def limits(self) -> Ends:
        """Limits of the difference: Wilson's of both rates, joined (Newcombe 1998, method 10).

        Where they hold 0 although the test of the same level rejects it, the limit nearer to 0 is that of the
        test, ``difference (1 - z(level) / z(p))`` (Miettinen 1976).
        """
        quantile = normal_quantile(self.level)
        low, high = self._limits(np.full(len(self), quantile))
        if self.spread is not None:  # their p heeds the limits already
            return low, high
        rejected = (self.p <= 1 - self.level) & (low <= 0) & (high >= 0)
        of_p = -special.ndtri(np.maximum(self.p, 1e-300) / 2)
        share = np.minimum(ratio(quantile, of_p, 1.0), _NEAREST)
        near = self.difference * (1 - share)
        low = np.where(rejected & (near > 0), near, low)
        return low, np.where(rejected & (near < 0), near, high)

    def _where_limits_reach_0(self) -> Floats:
        """The p at whose level the limits of each line reach 0."""

        def leave_out(quantile: Floats) -> Mask:
            low, high = self._limits(quantile)
            return np.where(self.is_more, low, -high) > 0

        start = np.zeros(len(self))
        return 2 * special.ndtr(-crossing(leave_out, start, start + _FARTHEST, _HALVINGS)[0])

    def _limits(self, quantile: Floats) -> Ends:
        """The same, some normal quantiles away, shape (N,)."""
        low, high = np.empty(len(self)), np.empty(len(self))
        spread = Spread((self.n, self.m)) if self.spread is None else self.spread
        for some in pieces(len(self), _PIECE):
            here = spread.take(some)
            freedom = (np.array(np.inf),) * 2 if here.freedom is None else here.freedom
            figures = []
            for rate, size, degrees in zip((self.rate, self.others), here.sizes, freedom, strict=True):
                ends = Rates(rate[some], size, degrees).limits(quantile[some])
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
        return self._affected * np.abs(self.difference)

    @property
    def certain(self) -> Floats:
        """The same from the limit of the difference that is nearer to 0."""
        return self._affected * self.near

    @property
    def score(self) -> Floats:
        """The difference in the standard error of the pooled rate; 0 where every row has the mistake."""
        if self.robust is not None:
            return self.robust
        pooled = (self.a + self.b) / (self.n + self.m)
        error = np.sqrt(np.maximum(pooled * (1 - pooled), 0) * (1 / self.n + 1 / self.m))
        return ratio(self.difference, error, 0.0)

    def p_of(self, count: Floats, size: Floats, total: Floats, hits: Floats) -> Floats:
        """P of other tables of these lines' mistakes, shape (N,); arguments as of ``mid_p``.

        In clusters that of the score, at sizes that are as much smaller as those of the lines.
        """
        if self.spread is None:
            return mid_p(count, size, total, hits)
        mine, elsewhere = self.spread.sizes
        pooled, others = hits / total, total - size
        with nan_without_warning():
            inflated = self.n / mine / size + self.m / elsewhere / others
            score = (count / size - (hits - count) / others) / np.sqrt(pooled * (1 - pooled) * inflated)
        return 2 * special.ndtr(-np.abs(np.nan_to_num(score)))

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
