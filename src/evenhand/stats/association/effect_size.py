"""How differently two sets of targets are tied to two sets of attributes: effect sizes and what makes them.

X and Y are sets of targets (images or words of two groups), A and B sets of attributes (unpleasant and
pleasant words). ``values`` is a matrix of similarities, shape (T, A): a row for each target, a column for
each attribute. With A unpleasant and B pleasant, a positive effect ties X more than Y to what is unpleasant.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Floats, Integers, Mask, nan_without_warning

ROUNDING = 1e-14  # of a mean of cosines; numbers that differ by less are equal


def associations(values: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """``phi_i = mean over a of values_ij - mean over b of values_ij`` (Caliskan et al. 2017, equation 2).

    ``a`` and ``b`` are columns. In [-2, 2] for cosines, positive where a target is nearer to a; NaN for an
    empty set.
    """
    return _means(_rows(values), a) - _means(_rows(values), b)


def has_spread(values: npt.ArrayLike, axis: int = -1) -> Mask:
    """Whether numbers differ by more than the rounding of cosines (1e-14, or 1e-14 of the largest)."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape[axis] == 0:
        return np.zeros(numbers.max(axis=axis, initial=0).shape, dtype=bool)
    scale = np.maximum(1, np.abs(numbers).max(axis=axis))
    with np.errstate(invalid="ignore"):
        return np.asarray(numbers.max(axis=axis) - numbers.min(axis=axis) > ROUNDING * scale)


def effect_size(x: npt.ArrayLike, y: npt.ArrayLike, ddof: int = 1) -> float:
    """``d = (mean x - mean y) / std(x and y together)`` (MMBias, equation 1; Caliskan et al. 2017).

    Of associations of shape (n,) and (m,); ``ddof`` is 1 as in SEAT and iEAT, 0 as in WEFE. Between
    ``-effect_bound(n, m, ddof)`` and that bound; positive where x is the larger. NaN where it is undefined:
    an empty set, n + m <= ddof, no spread over both sets, or a value that is not finite.
    """
    return float(effect_sizes(np.asarray(x)[:, None], np.asarray(y)[:, None], ddof)[0])


def effect_sizes(x: npt.ArrayLike, y: npt.ArrayLike, ddof: int = 1) -> Floats:
    """``effect_size`` of many tests at once, a column for each."""
    first, second = _rows(x), _rows(y)
    n, m, tests = len(first), len(second), first.shape[1]
    if not (n and m) or n + m <= ddof:
        return np.full(tests, np.nan)
    pooled = np.concatenate([first, second])
    with nan_without_warning():
        d = (first.mean(axis=0) - second.mean(axis=0)) / pooled.std(axis=0, ddof=ddof)
        return np.where(has_spread(pooled, axis=0), d, np.nan)


def effect_bound(n: int, m: int, ddof: int = 1) -> float:
    """The largest d that sets of these sizes can have: ``(n + m) / sqrt(n m)``, for ddof 0.

    For another ddof it is that times ``sqrt((N - ddof) / N)``. It is 2 for equal sizes and ddof 0, and is
    reached where neither set varies. Tests of different sizes have different bounds: their d are not on
    the same scale. NaN where d is undefined.
    """
    total = n + m
    if not (n and m) or total <= ddof:
        return float("nan")
    return float(total / np.sqrt(n * m) * np.sqrt((total - ddof) / total))


def cohens_d(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Cohen's d: ``(mean x - mean y)`` over the pooled standard deviation within the sets.

    ``s^2 = (sum (x - mean x)^2 + sum (y - mean y)^2) / (n + m - 2)``. It has no bound, so that it still tells
    tests apart where d is near its own. NaN where n + m < 3, a set is empty, or neither set varies.
    """
    first, second = _numbers(x), _numbers(y)
    freedom = first.size + second.size - 2
    if not (first.size and second.size) or freedom < 1:
        return float("nan")
    if not (has_spread(first) or has_spread(second)):
        return float("nan")
    within = float(first.var() * first.size + second.var() * second.size) / freedom
    return float((first.mean() - second.mean()) / np.sqrt(within)) if within > 0 else float("nan")


def auc(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """``P(x > y) + P(x = y) / 2`` for one member of each set, 0 to 1.

    NaN for an empty set or a value that is not finite.
    """
    from scipy import stats

    first, second = _numbers(x), _numbers(y)
    pairs = first.size * second.size
    if not pairs or not (np.isfinite(first).all() and np.isfinite(second).all()):
        return float("nan")
    return float(stats.mannwhitneyu(first, second, method="asymptotic").statistic) / pairs


def point_biserial(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Correlation of the value with being in the first set: ``d_0 sqrt(n m) / (n + m)``, -1 to 1.

    Unlike d it is on one scale for sets of any sizes. NaN where d is undefined.
    """
    n, m = _numbers(x).size, _numbers(y).size
    return effect_size(x, y, ddof=0) / effect_bound(n, m, ddof=0)


def single_category(values: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, ddof: int = 1) -> Floats:
    """Effect size of each target alone: SC-WEAT (Caliskan et al. 2017).

    ``es_i = (mean over a - mean over b) / std over a and b together`` of the target's row; NaN as in
    ``effect_size``. ``permutation_tests(values[:, a], values[:, b], ...)`` has its p: attributes exchanged
    between a and b.
    """
    rows = _rows(values).T
    return effect_sizes(rows[_columns(a)], rows[_columns(b)], ddof)


def leave_one_out(x: npt.ArrayLike, y: npt.ArrayLike, ddof: int = 1) -> Floats:
    """The d without each target in turn, from sums (nothing is computed anew).

    Shape (n + m,), first without each x, then without each y; NaN where what is left has no d.
    """
    first, second = _numbers(x), _numbers(y)
    n, m = first.size, second.size
    pooled = np.concatenate([first, second])
    if not (n and m and np.isfinite(pooled).all()):
        return np.full(n + m, np.nan)
    pooled = pooled - pooled.mean()
    total = n + m - 1
    in_first = np.arange(n + m) < n
    left, right = n - in_first, m - ~in_first
    with nan_without_warning():
        x_mean = (pooled[:n].sum() - pooled * in_first) / left
        y_mean = (pooled[n:].sum() - pooled * ~in_first) / right
        squares = (
            pooled @ pooled - pooled**2 - pooled**2 / total
        )  # about the mean of what is left, -pooled / total
        d = (x_mean - y_mean) / np.sqrt(np.maximum(squares, 0) / (total - ddof))
    for item in np.flatnonzero(
        2 * pooled**2 > pooled @ pooled
    ):  # at most one: what is left would cancel away
        x_left = np.delete(first, item) if item < n else first
        y_left = np.delete(second, item - n) if item >= n else second
        d[item] = effect_size(x_left, y_left, ddof)
    return np.where(_others_vary(pooled) & (left > 0) & (right > 0) & (total > ddof), d, np.nan)


def _others_vary(numbers: Floats) -> Mask:
    """Whether there is spread among the others, for each number left out, shape (N,)."""
    if numbers.size < 3:
        return np.zeros(numbers.size, dtype=bool)
    ordered = np.sort(numbers)
    spread = np.full(numbers.size, ordered[-1] - ordered[0])
    spread[np.argmin(numbers)] = ordered[-1] - ordered[1]
    spread[np.argmax(numbers)] = ordered[-2] - ordered[0]
    return spread > ROUNDING * max(1.0, float(np.abs(numbers).max()))


def leave_one_attribute_out(
    values: npt.ArrayLike,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    ddof: int = 1,
) -> Floats:
    """The d without each attribute in turn: every association is moved, not averaged anew.

    Without column j of a, ``phi_i`` becomes ``phi_i + (mean over a - values_ij) / (len(a) - 1)``. ``x`` and
    ``y`` are rows, ``a`` and ``b`` columns of ``values``.

    Returns:
        Shape (len(a) + len(b),), first without each a, then without each b; NaN where that set was the last
        of it, or d is undefined.
    """
    without = without_each_attribute(_rows(values), _columns(a), _columns(b))
    return effect_sizes(without[_columns(x)], without[_columns(y)], ddof)


def without_each_attribute(rows: Floats, a: Integers, b: Integers) -> Floats:
    """Associations of targets without each attribute of a, then of b, shape (T, len(a) + len(b))."""
    phi, moved = associations(rows, a, b)[:, None], []
    for columns, sign in ((a, 1.0), (b, -1.0)):
        away = _means(rows, columns)[:, None] - rows[:, columns]
        with nan_without_warning():
            moved.append(phi + sign * away / np.float64(columns.size - 1))
    return np.concatenate(moved, axis=1)


def target_contributions(x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """What each target adds to the difference of means; they add up to ``mean x - mean y``.

    ``(x_i - c) / n`` and ``-(y_i - c) / m`` with c half way between the two means, so that each set as a
    whole adds half of the difference, and a target beyond c on the other side counts against it. NaN for an
    empty set.
    """
    first, second = _numbers(x), _numbers(y)
    if not (first.size and second.size):
        return np.full(first.size + second.size, np.nan)
    middle = (first.mean() + second.mean()) / 2
    return np.concatenate([(first - middle) / first.size, (middle - second) / second.size])


def attribute_contributions(
    values: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike
) -> Floats:
    """What each attribute adds to the difference of means; they add up to ``mean phi of x - mean phi of y``.

    ``(mean over x of values_ij - mean over y) / len(a)`` for j of a, minus that over ``len(b)`` for j of b.
    ``x`` and ``y`` are rows, ``a`` and ``b`` columns. NaN where a set of targets is empty.
    """
    columns = _rows(values).T
    nearer = _means(columns, x) - _means(columns, y)
    first, second = _columns(a), _columns(b)
    return np.concatenate([nearer[first] / max(first.size, 1), -nearer[second] / max(second.size, 1)])


def _rows(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _numbers(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _columns(places: npt.ArrayLike) -> Integers:
    return np.asarray(places, dtype=np.int64).reshape(-1)


def _means(rows: Floats, places: npt.ArrayLike) -> Floats:
    """Mean over some columns, shape (T,); NaN for none."""
    columns = _columns(places)
    if not columns.size:
        return np.full(len(rows), np.nan)
    return np.asarray(rows[:, columns].mean(axis=1))
