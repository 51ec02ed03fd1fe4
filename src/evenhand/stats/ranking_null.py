"""What random rankings of the same pools give: whole null distributions, of one ranking and of a mean of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.rankings import RankedPools, ndkl, outcomes_are_listed, top_outcomes, x_log_x

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_ARRANGEMENTS = 2_000_000  # rankings of one pool that are listed; C(20, 10) is 184,756
_DRAWS = 9_999
_DRAWN_PLACES = 20_000_000  # places of drawn rankings held at once
_GRID = 1 << 17
_SAME = 1e-11  # values closer than this are equal but for rounding
_TINY = 1e-15  # what is left of a sum of chances below this is rounding


@dataclass(frozen=True, eq=False)
class Chance:
    """A distribution over values.

    Attributes:
        values: Sorted, shape (M,).
        weight: Adds up to 1, shape (M,).
        slack: How far a value may lie from its true place.
        drawn: Number of draws it was made from; 0 if it is exact.
        mean: Its mean.
        variance: Its variance.
    """

    values: Floats
    weight: Floats
    slack: float
    drawn: int
    mean: float
    variance: float

    @classmethod
    def of(cls, values: Floats, weight: Floats, drawn: int = 0) -> Chance:
        """From values in any order; undefined (NaN) ones are left out and the rest rescaled to 1."""
        kept = ~np.isnan(values)
        values, weight = values[kept], weight[kept]
        if not values.size:
            return cls(values, weight, 0.0, drawn, np.nan, np.nan)
        order = np.argsort(values, kind="stable")
        values, weight = values[order], weight[order] / weight.sum()
        first = np.flatnonzero(np.r_[True, np.diff(values) > _SAME])
        values, weight = values[first], np.add.reduceat(weight, first)
        mean = float(values @ weight)
        return cls(values, weight, _SAME, drawn, mean, float(((values - mean) ** 2) @ weight))

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.variance))

    def z(self, observed: float) -> float:
        """Distance from the mean in standard deviations; NaN where every ranking gives the same."""
        return (observed - self.mean) / self.sd if self.variance > _SAME**2 else float("nan")

    def band(self, level: float) -> tuple[float, float]:
        """The narrowest [low, high] with at most (1 - level) / 2 of the chance beyond each end."""
        below, tail = np.cumsum(self.weight), (1 - level) / 2
        low = int(np.searchsorted(below, tail + _TINY, side="right"))
        high = int(np.searchsorted(below, 1 - tail - _TINY, side="left"))
        last = self.values.size - 1
        return float(self.values[min(low, last)]), float(self.values[min(high, last)])

    def p_value(self, observed: float, side: str) -> float:
        """The chance of a value at least as extreme.

        Args:
            observed: The value.
            side: ``high``, ``low``, or ``both`` (at least as far from the mean).

        Returns:
            In (0, 1]: never below what can be known, (1 + hits) / (1 + draws) or 1e-15.
        """
        slack = self.slack + _SAME
        extreme = {
            "high": self.values >= observed - slack,
            "low": self.values <= observed + slack,
            "both": np.abs(self.values - self.mean) >= abs(observed - self.mean) - slack,
        }[side]
        share = float(self.weight[extreme].sum())
        if self.drawn:
            return min(1.0, (1 + share * self.drawn) / (1 + self.drawn))
        return min(1.0, max(share, _TINY))


def null_of_top(
    pool: Sequence[int], k: int, values_of: Callable[[Ints], Floats], rng: np.random.Generator
) -> Chance:
    """The distribution of a figure of the first k places over all rankings of a pool.

    Args:
        pool: Samples of each group.
        k: Places, at most the pool's size.
        values_of: From counts among the first k, shape (M, G), to values, shape (M,).
        rng: Used only where the counts take more than MOST_OUTCOMES values.
    """
    block = tuple(int(size) for size in pool)
    counts, weight = top_outcomes(block, k, rng)
    drawn = 0 if outcomes_are_listed(block, k) else _DRAWS
    return Chance.of(values_of(counts), weight, drawn)


def null_of_ndkl(
    pool: Sequence[int], targets: Floats, rng: np.random.Generator, depth: int | None = None
) -> Chance:
    """The distribution of NDKL over all rankings of a pool.

    Listed by a recursion over places, which keeps one partial sum for each way to a content of the top;
    beyond MOST_ARRANGEMENTS rankings it is drawn.

    Args:
        pool: Samples of each group.
        targets: Share of each group, shape (G,).
        rng: Used only beyond MOST_ARRANGEMENTS.
        depth: Last place counted; None means the whole pool.
    """
    sizes = np.array(pool, dtype=np.int64)
    depth = int(sizes.sum()) if depth is None else depth
    present = sizes > 0
    if _arrangements(sizes[present], depth) <= MOST_ARRANGEMENTS:
        return Chance.of(*_every_ndkl(sizes[present], targets[present], depth))
    values = _drawn_ndkl(sizes, targets, depth, rng)
    return Chance.of(values, np.full(values.size, 1 / values.size), values.size)


def _arrangements(sizes: Ints, depth: int) -> float:
    """Number of sequences of the first ``depth`` places; infinite where it does not fit a float."""
    from scipy import special

    if depth > 200:  # more than two million unless nearly every sample is of one group: those are drawn too
        return np.inf
    ways = np.zeros(depth + 1)
    ways[0] = 1.0
    for size in sizes:
        one = 1 / special.factorial(np.arange(min(int(size), depth) + 1))
        ways = np.convolve(ways, one)[: depth + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(ways[depth] * special.factorial(depth))
    return found if np.isfinite(found) else np.inf


def _every_ndkl(sizes: Ints, targets: Floats, depth: int) -> tuple[Floats, Floats]:
    """NDKL of every sequence of the first ``depth`` places, and its chance."""
    from scipy import special

    table, log_target = x_log_x(int(sizes.max())), np.log(targets)
    groups = range(sizes.size)
    total = (1 / np.log2(np.arange(1, depth + 1) + 1)).sum()
    level: dict[tuple[int, ...], Floats] = {(0,) * sizes.size: np.zeros(1)}
    for k in range(1, depth + 1):
        ways: dict[tuple[int, ...], list[Floats]] = {}
        for state, sums in level.items():
            for group in groups:
                if state[group] < sizes[group]:
                    reached = (*state[:group], state[group] + 1, *state[group + 1 :])
                    ways.setdefault(reached, []).append(sums)
        discount = 1 / np.log2(k + 1) / total
        level = {}
        for state, pieces in ways.items():
            counts = np.array(state)
            divergence = max((table[counts].sum() - counts @ log_target) / k - np.log(k), 0.0)
            level[state] = np.concatenate(pieces) + divergence * discount
    rest = [np.array(sizes) - np.array(state) for state in level]
    log_ways = [special.gammaln(r.sum() + 1) - special.gammaln(r + 1).sum() for r in rest]
    weight = np.exp(np.array(log_ways) - max(log_ways))
    values = list(level.values())
    return np.concatenate(values), np.repeat(weight, [part.size for part in values])


def _drawn_ndkl(sizes: Ints, targets: Floats, depth: int, rng: np.random.Generator) -> Floats:
    codes = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
    rows = max(1, min(_DRAWS, _DRAWN_PLACES // (codes.size * sizes.size)))
    drawn: list[Floats] = []
    while sum(map(len, drawn)) < _DRAWS:
        shuffled = rng.permuted(np.tile(codes, (rows, 1)), axis=1)[:, :depth]
        places = np.broadcast_to(np.arange(depth), shuffled.shape)
        ranked = RankedPools(shuffled, places, places + 1, sizes.size)
        drawn.append(ndkl(ranked, np.broadcast_to(targets, (rows, sizes.size)), depth))
    return np.concatenate(drawn)[:_DRAWS]


def null_of_mean(chances: Sequence[Chance], rng: np.random.Generator) -> Chance:
    """The distribution of the mean of independent rankings.

    Exact ones are convolved: on their own lattice where values have one (bias), else on a grid of 131,072
    places, on which every value keeps its mean and is off by less than ``slack``. Drawn ones are drawn again.

    Args:
        chances: One for each query; the same object may stand for several.
        rng: Used only where one of them is drawn.
    """
    mean = float(np.mean([chance.mean for chance in chances]))
    variance = float(np.sum([chance.variance for chance in chances])) / len(chances) ** 2
    if any(chance.drawn for chance in chances):
        draws = np.zeros(_DRAWS)
        for chance in chances:
            draws += rng.choice(chance.values, p=chance.weight / chance.weight.sum(), size=_DRAWS)
        found = Chance.of(draws / len(chances), np.full(_DRAWS, 1 / _DRAWS), _DRAWS)
        return Chance(found.values, found.weight, _SAME, _DRAWS, mean, variance)
    if len(chances) == 1:
        return chances[0]
    return _convolved(chances, mean, variance)


def _convolved(chances: Sequence[Chance], mean: float, variance: float) -> Chance:
    distinct = {id(chance): chance for chance in chances}
    times = {key: sum(id(chance) == key for chance in chances) for key in distinct}
    span = sum(times[key] * float(np.ptp(chance.values)) for key, chance in distinct.items())
    if span <= _SAME:
        return Chance(np.array([mean]), np.ones(1), _SAME, 0, mean, variance)
    step, blurred = _lattice(list(distinct.values()), span)
    length = int(np.rint(span / step)) + 2 + len(chances)
    power = 1 << (length - 1).bit_length()
    spectrum = np.ones(power // 2 + 1, dtype=np.complex128)
    for key, chance in distinct.items():
        spectrum *= np.fft.rfft(_on_grid(chance, step), power) ** times[key]
    weight = np.maximum(np.fft.irfft(spectrum, power)[:length], 0)
    start = sum(times[key] * chance.values[0] for key, chance in distinct.items())
    kept = weight > 1e-17
    values = (start + step * np.arange(length)[kept]) / len(chances)
    # n steps of a walk that may each be split between two places have a spread of sqrt(n) / 2 places
    slack = step * (1 + 4 * np.sqrt(len(chances)) / 2 if blurred else 0.25) / len(chances)
    return Chance(values, weight[kept] / weight[kept].sum(), slack, 0, mean, variance)


def _lattice(chances: Sequence[Chance], span: float) -> tuple[float, bool]:
    """The step of the lattice that all values lie on, or of a fine grid, and whether it is the latter."""
    offsets = np.concatenate([chance.values - chance.values[0] for chance in chances])
    step = float(offsets[offsets > _SAME].min())
    places = offsets / step
    if span / step <= _GRID and np.abs(places - np.rint(places)).max() < 1e-6:
        return step, False
    return span / _GRID, True


def _on_grid(chance: Chance, step: float) -> Floats:
    """Chances on a grid from the lowest value; each is split between two neighbours so that means stay."""
    place = (chance.values - chance.values[0]) / step
    near = np.rint(place)
    place = np.where(np.abs(place - near) < 1e-6, near, place)
    low = np.floor(place).astype(np.int64)
    upper = place - low
    grid = np.bincount(low, chance.weight * (1 - upper), int(low.max()) + 2)
    return np.asarray(grid + np.bincount(low + 1, chance.weight * upper, grid.size))
