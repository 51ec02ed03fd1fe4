"""Bootstrap of an association test over targets and attributes at once.

Images and words are both samples: other photos and other words of the same kind would have given another d.
Each replicate draws targets within X and within Y, and attributes within A and within B, with replacement
(Owen 2007, "pigeonhole bootstrap"; independent sets). All functions take the matrix of similarities with rows
``x1 ... xn y1 ... ym`` and columns ``a1 ... b1 ...``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from evenhand.stats.association import has_spread
from evenhand.stats.pigeonhole import (
    Moments,
    Sizes,
    Weights,
    cohens_of,
    d_of,
    jackknife_error,
    studied,
    varies,
)

Floats = npt.NDArray[np.float64]
Ends = tuple[float, float]

REPLICATES = 999
STATISTICS = ("d", "cohens_d", "difference")
_CELLS = 1_000_000
_STEPS = 1001  # places on the edge of an ellipse
_UNKNOWN = (float("nan"), float("nan"))


def two_way_draws(
    values: npt.ArrayLike,
    n: int,
    m: int,
    na: int,
    nb: int,
    *,
    replicates: int = REPLICATES,
    rng: np.random.Generator,
    ddof: int = 1,
) -> dict[str, Floats]:
    """Effects of resampled targets and attributes.

    Where targets and attributes interact, the draws spread wider than samples do (up to three times that part
    of the variance), and their percentiles miss a d near its bound: ``two_way_interval`` makes an interval.

    Args:
        values: Similarities, shape (n + m, na + nb).
        n: Members of X, the first rows.
        m: Members of Y.
        na: Members of A, the first columns.
        nb: Members of B.
        replicates: R.
        rng: Stream of random numbers.
        ddof: Of d.

    Returns:
        ``d``, ``difference`` (mean association of X minus that of Y) and ``cohens_d``, each of shape (R,);
        NaN for a replicate without spread.
    """
    return paired_two_way_draws(values, values, n, m, na, nb, replicates=replicates, rng=rng, ddof=ddof)[0]


def paired_two_way_draws(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    n: int,
    m: int,
    na: int,
    nb: int,
    *,
    replicates: int = REPLICATES,
    rng: np.random.Generator,
    ddof: int = 1,
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """``two_way_draws`` of the same resampled items on two matrices, as before and after a mitigation.

    Args:
        before: Similarities, shape (n + m, na + nb).
        after: The same items in the same order.
        n: Members of X, the first rows.
        m: Members of Y.
        na: Members of A, the first columns.
        nb: Members of B.
        replicates: R.
        rng: Stream of random numbers.
        ddof: Of d.

    Returns:
        The draws before and after; entry r of both is of the same items.
    """
    sizes = Sizes(n, m, na, nb)
    if min(n, m, na, nb) < 1:
        nothing = {key: np.full(replicates, np.nan) for key in ("d", "difference", "cohens_d")}
        return nothing, nothing
    tables = [_table(before)] if before is after else [_table(before), _table(after)]
    parts: list[list[dict[str, Floats]]] = [[] for _ in tables]
    for count in _blocks(replicates, sizes):
        weights = Weights.drawn(sizes, count, rng)
        for table, part in zip(tables, parts, strict=True):
            part.append(Moments.of(table, sizes, weights).statistics(sizes, ddof))
    done = [{key: np.concatenate([one[key] for one in part]) for key in part[0]} for part in parts]
    return done[0], done[-1]


def two_way_interval(
    values: npt.ArrayLike,
    n: int,
    m: int,
    na: int,
    nb: int,
    *,
    rng: np.random.Generator,
    statistic: str = "d",
    replicates: int = REPLICATES,
    level: float = 0.95,
    ddof: int = 1,
    fixed: bool = False,
) -> Ends:
    """Interval of d, of Cohen's d or of the difference of means, other targets and attributes in mind.

    A bootstrap of ``t = (h* - h) / e*`` (Efron and Tibshirani 1993, 12.5), symmetric: ``h -+ q e``, q the
    quantile of |t|, or that of the normal distribution if larger. h is a scale on which the variance hardly
    depends on d (``stats/pigeonhole``); e* is its error from influence functions of targets and attributes,
    in each replicate, and e that of leaving each out in turn. Ends of d never pass its bound.

    What it covers: the d of the populations of targets, for attribute sets of these sizes drawn from
    their populations (docs/statistics.md says how well, and what of attribute sets without end).

    Args:
        values: Similarities, shape (n + m, na + nb).
        n: Members of X, the first rows; at least 3.
        m: Members of Y; at least 3.
        na: Members of A, the first columns; at least 2.
        nb: Members of B; at least 2.
        rng: Stream of random numbers.
        statistic: ``d``, ``cohens_d`` or ``difference`` (without the scale h).
        replicates: R.
        level: Of the interval.
        ddof: Of d.
        fixed: Attributes are taken as they are, and only targets are resampled; sets of one are allowed.

    Returns:
        Low and high end; NaN where a set is too small or neither X nor Y varies.

    Raises:
        ValueError: There is no such statistic.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"no interval of {statistic!r}; there is one of {', '.join(STATISTICS)}")
    sizes, table = Sizes(n, m, na, nb, fixed), _table(values)
    if not sizes.enough or not varies(table, sizes):
        return _UNKNOWN
    scaled = statistic != "difference"
    centre, reach = _centre_and_reach(table, sizes, scaled, replicates, level, rng)
    low, high = centre - reach, centre + reach
    if statistic == "d":
        return float(d_of(low, sizes, ddof)), float(d_of(high, sizes, ddof))
    return (cohens_of(low, sizes), cohens_of(high, sizes)) if scaled else (low, high)


def paired_two_way_interval(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    n: int,
    m: int,
    na: int,
    nb: int,
    *,
    rng: np.random.Generator,
    replicates: int = REPLICATES,
    level: float = 0.95,
    ddof: int = 1,
    absolute: bool = True,
) -> Ends:
    """Interval of a reduction: ``|d before| - |d after|``, or ``d before - d after``, on the same items.

    The lowest and the highest reduction that a pair of d can have on the edge of an ellipse: its half axes
    are the reaches of the two intervals on their scale h, tilted by the correlation r of the two d over the
    same resampled items. For a reduction linear in h that is MOVER (Zou and Donner 2008), ``sqrt(u^2 + v^2 -
    2 r u v)`` to each side; without any change r is 1, the ellipse a line, and both ends are 0.

    Args:
        before: Similarities, shape (n + m, na + nb).
        after: The same items in the same order.
        n: Members of X, the first rows; at least 3.
        m: Members of Y; at least 3.
        na: Members of A, the first columns; at least 2.
        nb: Members of B; at least 2.
        rng: Stream of random numbers.
        replicates: Of each bootstrap.
        level: Of the interval.
        ddof: Of d.
        absolute: Whether it is |d| that is to be smaller.

    Returns:
        Low and high end; NaN where either d has no interval. Above 0 means that d was reduced.
    """
    sizes = Sizes(n, m, na, nb)
    tables = _table(before), _table(after)
    if not sizes.enough or not all(varies(table, sizes) for table in tables):
        return _UNKNOWN
    seed = int(rng.integers(2**62))  # the same items are drawn three times
    (h, reach), (other, other_reach) = (
        _centre_and_reach(table, sizes, True, replicates, level, np.random.default_rng(seed))
        for table in tables
    )
    again = np.random.default_rng(seed)
    draws = paired_two_way_draws(*tables, n, m, na, nb, replicates=replicates, rng=again, ddof=ddof)
    r = _correlation(*(np.arcsinh(sizes.unit * one["cohens_d"]) for one in draws))

    def reduction(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
        pair = d_of(first, sizes, ddof), d_of(second, sizes, ddof)
        return np.asarray(abs(pair[0]) - abs(pair[1]) if absolute else pair[0] - pair[1])

    angle = np.linspace(0, 2 * np.pi, _STEPS)
    along = r * np.cos(angle) + np.sqrt(max(1 - r * r, 0)) * np.sin(angle)
    moves = reduction(h + reach * np.cos(angle), other + other_reach * along) - reduction(h, other)
    values = [Moments.of(table, sizes, Weights.once(sizes)).statistics(sizes, ddof)["d"] for table in tables]
    reduced = float((abs(values[0]) - abs(values[1]) if absolute else values[0] - values[1])[0])
    return reduced + float(moves.min()), reduced + float(moves.max())


def _correlation(first: Floats, second: Floats) -> float:
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 2 or not (has_spread(first[known]) and has_spread(second[known])):
        return 0.0
    return float(np.corrcoef(first[known], second[known])[0, 1])


def _table(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _blocks(replicates: int, sizes: Sizes) -> Iterator[int]:
    block = max(1, _CELLS // (sizes.total + sizes.na + sizes.nb))
    return (min(block, replicates - start) for start in range(0, replicates, block))


def _centre_and_reach(
    table: Floats, sizes: Sizes, scaled: bool, replicates: int, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """The value, on the scale h or as a difference, and how far its interval reaches to each side."""
    from scipy import special

    centre, error = (float(one[0]) for one in studied(table, sizes, Weights.once(sizes), scaled))
    pivots = []
    for count in _blocks(replicates, sizes):
        found, errors = studied(table, sizes, Weights.drawn(sizes, count, rng), scaled)
        with np.errstate(divide="ignore", invalid="ignore"):
            pivots.append(np.abs(found - centre) / errors)
    pivot = np.concatenate(pivots)
    pivot = pivot[np.isfinite(pivot)]  # without those that drew a single member only
    if not pivot.size:
        return centre, float("nan")
    quantile = max(float(special.ndtri((1 + level) / 2)), float(np.quantile(pivot, level, method="weibull")))
    return centre, quantile * (jackknife_error(table, sizes) if scaled else error)
