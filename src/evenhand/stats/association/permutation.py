"""Permutation tests of two sets of numbers: exact by meeting in the middle, sampled where that is too much.

Under the null hypothesis the two sets are exchangeable: any n of the N = n + m numbers could have been X.
The statistic is ``S = sum of X - sum of Y``; for fixed sizes it orders partitions as d and the difference of
means do. The partition at hand is one of all, and ties count, so p is never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import Floats, Integers, Rng, piece_sizes, pieces
from evenhand.stats.association.effect_size import ROUNDING, has_spread

Shares = tuple[float, float, float]
Limits = tuple[float, float, float, float]

EXACT_UP_TO = 20  # members of each set
DRAWS = 100_000
_TIES = 1e-9  # of the sum of absolute values; below it two sums are equal
_CELLS = 4_000_000
_AT_A_TIME = 16
_NAN = float("nan")


@dataclass(frozen=True)
class Permutations:
    """p-values of one test, and the normal ones beside them."""

    # share of partitions with S at least as large, in (0, 1]; 1 without spread, NaN where undefined
    right: float
    left: float  # share with S at least as small
    two_sided: float  # share at least as far from the expected S (which is 0 for centred numbers)
    # S in standard deviations of its permutation distribution (exact); for a test of two sets it is ``d
    # sqrt(n m / (n + m))`` with d of ddof 1. NaN without spread.
    z: float
    method: str  # ``exact``, ``sampled``, or ``undefined`` (an empty set, or a number that is not finite)
    partitions: int  # how many there are, where exact; else how many were drawn

    @property
    def normal_right(self) -> float:
        """Normal tail beyond z; a sampled p cannot be below 1 / (1 + draws), this can."""
        return self._tail(-self.z)

    @property
    def normal_left(self) -> float:
        """The other tail."""
        return self._tail(self.z)

    @property
    def normal_two_sided(self) -> float:
        """Both."""
        return 2 * self._tail(-abs(self.z))

    @staticmethod
    def _tail(z: float) -> float:
        return float(special.ndtr(z))


_UNDEFINED = Permutations(_NAN, _NAN, _NAN, _NAN, "undefined", 0)


@dataclass(frozen=True)
class _Observed:
    """A test's centred numbers, its statistic (the sum of the first n), and by how much sums may be off."""

    numbers: Floats
    n: int
    value: float
    slack: float

    @property
    def limits(self) -> Limits:
        """Least sum that counts as right, greatest as left; greatest and least that count as two-sided."""
        far = abs(self.value) - self.slack
        return self.value - self.slack, self.value + self.slack, far, -far

    def p(self, counts: Integers, ways: int, *, is_sampled: bool = False) -> Shares:
        """Right, left and two-sided p; where S is as expected, every partition is at least as far."""
        right, left, above, below = counts.tolist()
        far = ways if abs(self.value) <= self.slack else above + below
        extra = int(is_sampled)  # the partition at hand is one more
        return (
            (extra + right) / (extra + ways),
            (extra + left) / (extra + ways),
            (extra + far) / (extra + ways),
        )


def permutation_test(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    rng: Rng,
    draws: int = DRAWS,
    exact_up_to: int = EXACT_UP_TO,
) -> Permutations:
    """Is the mean of x different from that of y? Partitions of all numbers into sets of these sizes.

    Exact where each half of the numbers has at most ``2 ** exact_up_to`` subsets that matter (0: never): 20 v
    20, and unequal sizes up to n + m = 40, or a small set beside a larger one (5 v 60). Subset sums of the
    two halves are made by size; for each sum of one half, binary search counts the partners in the other
    (Horowitz and Sahni 1974). Otherwise ``p = (1 + b) / (1 + draws)``. An empty set has no p.
    """
    first, second = (np.asarray(numbers, dtype=np.float64).reshape(1, -1) for numbers in (x, y))
    return permutation_tests(first, second, rng=rng, draws=draws, exact_up_to=exact_up_to)[0]


def permutation_tests(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    rng: Rng,
    draws: int = DRAWS,
    exact_up_to: int = EXACT_UP_TO,
) -> list[Permutations]:
    """``permutation_test`` of each row; sampled tests share their partitions, which are drawn once."""
    first, second = (np.asarray(numbers, dtype=np.float64) for numbers in (x, y))
    n, m = first.shape[1], second.shape[1]
    pooled = np.concatenate([first, second], axis=1)
    usable = np.isfinite(pooled).all(axis=1) & bool(n and m)
    tests = [_centred(row, n) for row in pooled[usable]]
    if _enumerable(n, m, exact_up_to):
        shares, how = [_exact(test) for test in tests], ("exact", _ways(n + m, n))
    else:
        shares, how = _sampled(tests, rng, draws) if tests else [], ("sampled", draws)
    left = (Permutations(*p, _z(test), *how) for test, p in zip(tests, shares, strict=True))
    return [next(left) if fits else _UNDEFINED for fits in usable]


def _centred(row: Floats, n: int) -> _Observed:
    numbers = row - row.mean()
    return _Observed(numbers, n, float(numbers[:n].sum()), _slack(numbers, row))


def _slack(numbers: Floats, values: Floats) -> float:
    """By how much equal sums may differ: a share of their size, and the rounding of what was given."""
    rounding = ROUNDING * values.size * max(1.0, float(np.abs(values).max()))
    return _TIES * float(np.abs(numbers).sum()) + rounding


def _enumerable(n: int, m: int, exact_up_to: int) -> bool:
    """Whether the subsets of half of the numbers, up to the size of the smaller set, are few enough."""
    half, small = (n + m + 1) // 2, min(n, m)
    if half <= exact_up_to:
        return True
    most, subsets = 2**exact_up_to, 0
    for size in range(min(small, half) + 1):
        subsets += _ways(half, size)
        if subsets > most:
            return False
    return True


def _ways(total: int, n: int) -> int:
    """How many sets of n there are among ``total``."""
    return int(special.comb(total, n, exact=True))


def _exact(test: _Observed) -> Shares:
    """Right, left and two-sided p over all partitions."""
    numbers, n, total = test.numbers, test.n, test.numbers.size
    if 2 * n > total:  # the same partitions by the second set, whose sum is minus that of the first
        left, right, two_sided = _exact(_Observed(np.roll(numbers, -n), total - n, -test.value, test.slack))
        return right, left, two_sided
    first_sums, second_sums = _sums_by_size(numbers[: total // 2], n), _sums_by_size(numbers[total // 2 :], n)
    counts = np.zeros(4, dtype=np.int64)
    for size in range(max(0, n - len(second_sums) + 1), min(n, len(first_sums) - 1) + 1):
        counts += _count_pairs(first_sums[size], second_sums[n - size], test.limits)
    return test.p(counts, _ways(total, n))


def _sums_by_size(numbers: Floats, largest: int) -> list[Floats]:
    """Sums of all subsets of 0, 1, 2 ... numbers, up to the largest size that is wanted."""
    sums = [np.zeros(1)]
    for number in numbers:
        with_it = [fewer + number for fewer in sums]
        sums.append(np.zeros(0))
        sums[1:] = [np.concatenate(pair) for pair in zip(sums[1:], with_it, strict=True)]
        del sums[largest + 1 :]
    return sums


def _count_pairs(first_sums: Floats, second_sums: Floats, limits: Limits) -> Integers:
    """Pairs with a sum at or above the first limit, at or below the second, and so on, shape (4,)."""
    queries, keys = (
        np.sort(first_sums),
        np.sort(second_sums),
    )  # sorted queries find their places several times faster
    right, left, above, below = limits  # two of them are equal
    below_it = {end: int(np.searchsorted(keys, end - queries, "left").sum()) for end in {right, above}}
    up_to_it = {end: int(np.searchsorted(keys, end - queries, "right").sum()) for end in {left, below}}
    pairs = first_sums.size * second_sums.size
    counts = pairs - below_it[right], up_to_it[left], pairs - below_it[above], up_to_it[below]
    return np.array(counts, dtype=np.int64)


def _beyond(sums: Floats, limits: Limits) -> Integers:
    right, left, above, below = limits
    counts = (sums >= right).sum(), (sums <= left).sum(), (sums >= above).sum(), (sums <= below).sum()
    return np.array(counts, dtype=np.int64)


def _sampled(tests: list[_Observed], rng: Rng, draws: int) -> list[Shares]:
    """Right, left and two-sided p of each test, from the same draws."""
    numbers = np.stack([test.numbers for test in tests])
    counts = np.zeros((len(tests), 4), dtype=np.int64)
    for count in piece_sizes(draws, _CELLS, numbers.shape[1] + len(tests)):
        sums = _chosen_sums(numbers, tests[0].n, count, rng)
        counts += np.stack([_beyond(row, test.limits) for row, test in zip(sums, tests, strict=True)])
    return [test.p(row, draws, is_sampled=True) for test, row in zip(tests, counts, strict=True)]


def _chosen_sums(numbers: Floats, n: int, count: int, rng: Rng) -> Floats:
    """Sums over uniform choices of n of the columns, the same ones of each row, shape (rows, count).

    One column after the other, for all choices at once: it is taken with probability (still wanted) /
    (columns left), which makes every choice equally likely (Fan, Muller and Rezucha 1962). Some columns are
    added up at a time, while they are in the processor's cache.
    """
    total = numbers.shape[1]
    sums, choices = np.zeros((len(numbers), count)), np.empty((_AT_A_TIME, count))
    remaining, uniform = np.full(count, float(n)), np.empty(count)  # in place: new arrays take half the time
    for some in pieces(total, _AT_A_TIME):
        block = choices[: some.stop - some.start]
        for item, choice in enumerate(block, some.start):
            rng.random(out=uniform)
            uniform *= total - item
            np.less(uniform, remaining, out=choice, casting="unsafe")
            remaining -= choice
        sums += numbers[:, some] @ block
    return sums


def _z(test: _Observed) -> float:
    """The sum of n of N has variance ``n (N - n) / (N (N - 1))`` times the sum of squares."""
    total, n = test.numbers.size, test.n
    squares = float(test.numbers @ test.numbers)
    variance = squares * n * (total - n) / (total * (total - 1))
    return test.value / float(np.sqrt(variance)) if has_spread(test.numbers) else _NAN
