"""How two lists of numbers go together: Pearson's r, Spearman's rho and Kendall's tau-b, p and intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.arrays import Floats, Pair, Rng, ratio

FEWEST = 3
"""Pairs that a coefficient needs."""

ENUMERATED = 9
"""Pairs up to which all orders are enumerated: 9! = 362,880."""

_DRAWN = 9_999
_ROUNDING = 1e-12  # of the largest number
_PERFECT = 1e-12  # how far from 1 a perfect correlation may come out


@dataclass(frozen=True)
class Correlation:
    """A coefficient of ``n`` pairs with both numbers, its two-sided p, and the reason where both are NaN."""

    value: float
    p_value: float
    n: int
    reason: str = ""


def pearson(x: Floats, y: Floats) -> Correlation:
    """Pearson's r; p by Student's t. Pairs with a NaN are left out."""
    return _coefficient(x, y, _pearson)


def kendall(x: Floats, y: Floats) -> Correlation:
    """Kendall's tau-b, which allows for ties; p exact without ties, else by the normal approximation."""
    from scipy import stats

    return _coefficient(x, y, stats.kendalltau)  # its variant b is the default


def pearson_p(r: float, n: int) -> float:
    """The two-sided p of a published r of n pairs, at least 3."""
    from scipy import stats

    t = abs(r) * np.sqrt((n - 2) / (1 - r * r))
    return float(2 * stats.t.sf(t, n - 2))


def correlation(x: Floats, y: Floats, rng: Rng, *, ranks: bool = False) -> tuple[Correlation, Floats, Floats]:
    """Pearson's r, or Spearman's rho (``ranks``), with a p that holds where the spread of y differs along x.

    The p is of ``sum a b / sqrt(sum a^2 b^2)``, a and b the distances from the means, over orders of y: all
    up to nine pairs, else 9,999 at random. Unlike r itself it has the same distribution, in the limit,
    whether the numbers are independent or only uncorrelated (DiCiccio and Romano 2017). A perfect correlation
    is exactly 1 or -1, however its sums were rounded. Pairs with a NaN are left out.

    Returns:
        The coefficient, and the pairs (or their ranks) of which it is.
    """
    from scipy import stats

    is_complete = ~(np.isnan(x) | np.isnan(y))
    first, second = np.asarray(x[is_complete], dtype=np.float64), np.asarray(y[is_complete], dtype=np.float64)
    if ranks:
        first, second = (np.asarray(stats.rankdata(numbers), dtype=np.float64) for numbers in (first, second))
    estimate = pearson(first, second)
    if estimate.reason:
        return estimate, first, second
    value = estimate.value if abs(estimate.value) < 1 - _PERFECT else float(np.sign(estimate.value))
    return Correlation(value, _studentised_p(first, second, rng), estimate.n), first, second


def _studentised_p(x: Floats, y: Floats, rng: Rng) -> float:
    a, b = x - x.mean(), y - y.mean()
    every = x.size <= ENUMERATED
    orders = _orders(x.size) if every else rng.permuted(np.tile(np.arange(x.size), (_DRAWN, 1)), axis=1)
    moved = b[orders]
    spread = np.sqrt((moved**2) @ a**2)
    t = np.abs(ratio(moved @ a, spread, 0.0))
    far = np.sqrt(b**2 @ a**2)
    observed = abs(float(a @ b)) / float(far) if far > 0 else 0.0
    reached = int((t >= observed * (1 - 1e-9)).sum())
    return reached / len(t) if every else (1 + reached) / (1 + len(t))


def jackknife_interval(x: Floats, y: Floats, level: float = 0.95) -> Pair | None:
    """Interval of a correlation by Fisher's transformation, its error from leaving out each pair in turn.

    ``tanh(z +- t se)``, ``se^2 = (n-1)/n sum (z_(i) - mean z)^2`` (Efron and Stein 1981), t with n - 2
    degrees of freedom: it holds where the spread of y differs along x, which ``1 / sqrt(n - 3)`` does not.
    None below four pairs or where all lie on one line; -1 and 1 where one pair alone makes the correlation.
    """
    n = x.size
    r = pearson(x, y)
    if r.reason or not abs(r.value) < 1 - _PERFECT or n < 4:
        return None
    others = np.array([pearson(np.delete(x, i), np.delete(y, i)).value for i in range(n)])
    if np.isnan(others).any() or (np.abs(others) >= 1 - _PERFECT).any():
        return -1.0, 1.0
    z = np.arctanh(others)
    error = float(np.sqrt((n - 1) / n * np.square(z - z.mean()).sum()))
    reach = float(special.stdtrit(n - 2, (1 + level) / 2)) * error
    middle = float(np.arctanh(r.value))
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def _orders(n: int) -> npt.NDArray[np.int8]:
    """All orders of n things, shape (n!, n)."""
    orders = np.zeros((1, 0), dtype=np.int8)
    for code in range(n):
        orders = np.concatenate([np.insert(orders, position, code, axis=1) for position in range(code + 1)])
    return orders


def fisher_interval(r: float, n: int) -> Pair | None:
    """95 % interval of r: ``tanh(atanh(r) +- z / sqrt(n - 3))``; None below four pairs or where r is 1."""
    if not abs(r) < 1 - _PERFECT or n < 4:
        return None
    reach = float(special.ndtri(0.975)) / float(np.sqrt(n - 3))
    return float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))


def _coefficient(x: Floats, y: Floats, test: Callable[[Floats, Floats], Pair]) -> Correlation:
    """A coefficient of the pairs with both numbers, or why there is none."""
    is_complete = ~(np.isnan(x) | np.isnan(y))
    first, second = x[is_complete], y[is_complete]
    if first.size < FEWEST:
        return Correlation(np.nan, np.nan, first.size, f"fewer than {FEWEST} pairs")
    if _constant(first) or _constant(second):
        return Correlation(np.nan, np.nan, first.size, "all values are equal")
    value, p_value = test(first, second)
    return Correlation(float(value), float(p_value), first.size)


def _pearson(x: Floats, y: Floats) -> Pair:
    """As ``scipy.stats.pearsonr``, the import of which takes longer than a small audit."""
    x, y = x - x.mean(), y - y.mean()
    # divided by the largest first: squares of the largest and smallest numbers there are would be lost
    norms = [
        np.abs(numbers).max() * np.linalg.vector_norm(numbers / np.abs(numbers).max()) for numbers in (x, y)
    ]
    r = float(np.clip(np.vecdot(x / norms[0], y / norms[1]), -1, 1))
    half = x.size / 2 - 1  # (r + 1) / 2 has a beta distribution
    return r, float(2 * special.betaincc(half, half, (abs(r) + 1) / 2))


def _constant(numbers: Floats) -> bool:
    """Whether numbers differ by rounding at most: such differences go together with nothing."""
    return float(np.ptp(numbers)) <= _ROUNDING * float(np.abs(numbers).max())
