"""Doubled mid-p of a 2 x 2 table with fixed margins, for millions of tables at once.

``count`` of ``size`` rows are hits, of ``hits`` among ``total`` rows in all. Without a difference the count X
is hypergeometric; with the tail on the side of the observed count, ``u = P(X = count) + 2 P(X beyond it)``
and ``p = min(u, 2 - u)``: each tail doubled, the observed table counted half (Lancaster 1961; Agresti 2013,
section 3.5.6). Its relative error is below 1e-7 down to 1e-250.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from evenhand.stats.arrays import Floats, Integers, least_whole, pieces

_PIECE = 1 << 16  # tables whose tails are summed together
_STEPS = 8  # terms between two looks at which sums go on
_NOTHING = 1e-17  # a term that adds less than this share ends its sum
_LARGEST_TABLE = 1 << 24  # log factorials that are listed; beyond, each is computed
_DENSE = 4  # they are listed where there are fewer of them than so many for each table

Counted = Integers | Floats
"""Whole numbers."""
LogFactorial = Callable[[Integers], Floats]


def mid_p(count: Counted, size: Counted, total: Counted, hits: Counted) -> Floats:
    """Two-sided p of each table, shape (N,), in [0, 1]; 0 below the smallest float."""
    k, n, rows, t = (values.astype(np.int64, copy=False) for values in (count, size, total, hits))
    log_factorial = _log_factorial(rows)
    p = np.empty(k.shape)
    for some in pieces(k.size, _PIECE):
        p[some] = _mid_p(k[some], n[some], rows[some], t[some], log_factorial)
    return p


def least_mid_p(size: Counted, total: Counted, hits: Counted) -> Floats:
    """The smallest p that such margins allow: that of the less likely of the two most extreme tables.

    Source: Tarone 1990; it is what a filter before a correction may look at.
    """
    margins = [values.astype(np.int64, copy=False) for values in (size, total, hits)]
    log_factorial = _log_factorial(margins[1])
    least = np.empty(size.shape)
    for some in pieces(size.size, _PIECE):
        n, rows, t = (values[some] for values in margins)
        most, fewest = np.minimum(n, t), np.maximum(0, t - (rows - n))
        logs = (_log_chance(count, n, rows, t, log_factorial) for count in (most, fewest))
        least[some] = np.exp(np.minimum(*logs))
    return least


def detectable_rate(size: int, others: int, hits_elsewhere: int, alpha: float, power: float = 0.8) -> float:
    """The rate that would have been noticed this often in a group of ``size`` rows; NaN where none would.

    The smallest count above expectation with ``p <= alpha`` is x; with the rate r, at least x of the rows are
    hits with probability ``power``: ``r = I^-1(power; x, size - x + 1)``. Elsewhere there are
    ``hits_elsewhere`` of ``others`` rows.
    """

    def is_small(count: int) -> bool:
        margins = (count, size, size + others, count + hits_elsewhere)
        return bool(mid_p(*(np.array([number]) for number in margins))[0] <= alpha)

    low, high = size * hits_elsewhere // others + 1, size
    if low > high or not is_small(high):
        return float("nan")
    least = least_whole(is_small, low, high)
    return float(special.betaincinv(least, size - least + 1, power))


def _mid_p(
    count: Integers, size: Integers, total: Integers, hits: Integers, log_factorial: LogFactorial
) -> Floats:
    is_upper = count * total >= size * hits
    k = np.where(is_upper, count, hits - count)
    n = np.where(is_upper, size, total - size)
    first = np.exp(_log_chance(k, n, total, hits, log_factorial))
    u = first * (1 + 2 * _tail(k, n, total, hits))
    return np.minimum(u, np.maximum(2 - u, 0))


def _tail(k: Integers, n: Integers, total: Integers, hits: Integers) -> Floats:
    """``P(X > k) / P(X = k)``, summed from the ratios of neighbouring terms."""
    result = np.zeros(k.size)
    numbers = (n - k, hits - k, k + 1, total - n - hits + k + 1)
    in_group, left, above, room = (number.astype(np.float64) for number in numbers)
    index, term, tail = np.arange(k.size), np.ones(k.size), np.zeros(k.size)
    while index.size:
        for _ in range(_STEPS):
            term = term * (in_group * left / (above * room))
            tail += term
            in_group, left, above, room = in_group - 1, left - 1, above + 1, room + 1
        goes_on = term > _NOTHING * (1 + tail)
        result[index[~goes_on]] = tail[~goes_on]
        index, term, tail = index[goes_on], term[goes_on], tail[goes_on]
        in_group, left, above, room = in_group[goes_on], left[goes_on], above[goes_on], room[goes_on]
    return result


def _log_chance(
    k: Integers, n: Integers, total: Integers, hits: Integers, log_factorial: LogFactorial
) -> Floats:
    """``ln P(X = k)``: the ways to place k hits and the other rows in the group, over all ways."""
    inside = log_factorial(hits) - log_factorial(k) - log_factorial(hits - k)
    wrong = total - hits
    beside = log_factorial(wrong) - log_factorial(n - k) - log_factorial(wrong - n + k)
    ways = log_factorial(total) - log_factorial(n) - log_factorial(total - n)
    return inside + beside - ways


def _log_factorial(total: Integers) -> LogFactorial:
    """``ln x!`` of whole numbers up to the largest total, from a table where that is less work."""
    largest = int(total.max(initial=0))
    if largest >= min(_LARGEST_TABLE, max(_DENSE * total.size, 1024)):
        return lambda numbers: np.asarray(special.gammaln(numbers + 1.0))
    table = special.gammaln(np.arange(largest + 1) + 1.0)
    return lambda numbers: np.asarray(table[numbers])
