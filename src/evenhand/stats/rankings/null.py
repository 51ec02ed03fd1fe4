"""What random rankings of the same pools give: the null of one ranking, and of the mean of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.stats.arrays import Ends, Floats, Integers, Mask, Pair
from evenhand.stats.hypergeometric import DRAWS, outcomes_are_listed, top_outcomes
from evenhand.stats.rankings import fairness as rankings
from evenhand.stats.rankings.fairness import RankedPools, x_log_x

MOST_ARRANGEMENTS = 2_000_000  # rankings of one pool that are listed; C(20, 10) is 184,756
_DRAWS = 9_999
_FEWEST_DRAWS = 999
_DRAWN_IN_ALL = 40_000_000  # places of all drawn rankings of one pool: larger pools get fewer draws
_DRAWN_RANKINGS, _FEWEST_VALUES = 20_000_000, 199  # values drawn from known nulls
_DRAWN_PLACES = 20_000_000  # places of drawn rankings held at once
_GRID = 1 << 17
_SAME = 1e-11  # values closer than this are equal but for rounding
_TINY = 1e-15  # what is left of a sum of chances below this is rounding
_NOTHING = 1e-17  # what a Fourier transform leaves where there is nothing
_WHOLE = 1e-6  # a place on a lattice this close to a whole number is that number
_REACH = 12  # standard deviations beyond which a sum of many is not followed


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """A distribution over values."""

    values: Floats  # sorted, shape (M,)
    weight: Floats  # adds up to 1, shape (M,)
    slack: float  # how far a value may lie from its true place
    drawn: int  # number of draws it was made from; 0 if it is exact
    mean: float  # its mean
    variance: float  # its variance

    @classmethod
    def of(cls, values: Floats, weight: Floats, n_draws: int = 0) -> NullDistribution:
        """From values in any order; undefined (NaN) ones are left out and the rest rescaled to 1."""
        is_defined = ~np.isnan(values)
        values, weight = values[is_defined], weight[is_defined]
        if not values.size:
            return cls(values, weight, 0.0, n_draws, np.nan, np.nan)
        order = np.argsort(values, kind="stable")
        values, weight = values[order], weight[order] / weight.sum()
        first = np.flatnonzero(np.r_[True, np.diff(values) > _SAME])
        values, weight = values[first], np.add.reduceat(weight, first)
        mean = float(values @ weight)
        mean = 0.0 if abs(mean) < _TINY else mean  # of a symmetric distribution, but for rounding
        return cls(values, weight, _SAME, n_draws, mean, float(((values - mean) ** 2) @ weight))

    @cached_property
    def _guide(self) -> tuple[Floats, Integers, Mask]:
        """Ends of the chance up to each value; of each cell of a grid the first value, and if it has more."""
        edges = np.cumsum(self.weight)[:-1]
        cells = 1 << max(8, (8 * edges.size).bit_length())  # a power of two: products with it are exact
        scaled = edges[edges < 1] * cells
        first, last = (
            np.bincount(to_grid(scaled).astype(np.int64), minlength=cells + 1).cumsum()[:cells]
            for to_grid in (np.ceil, np.floor)
        )
        return edges, first, first != last

    def quantiles(self, shares: Floats) -> Floats:
        """The value up to which each share, in [0, 1), of the chance lies, by a grid first."""
        edges, first, is_open = self._guide
        cell = (shares * first.size).astype(np.int32)
        places, some = first[cell], is_open[cell]
        places[some] = np.searchsorted(edges, shares[some], "right")
        return self.values[places]

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.variance))

    def z(self, observed: float) -> float:
        """Distance from the mean in standard deviations; NaN where every ranking gives the same."""
        return (observed - self.mean) / self.sd if self.variance > _SAME**2 else float("nan")

    def band(self, level: float) -> Pair:
        """The narrowest [low, high] with at most (1 - level) / 2 of the chance beyond each end."""
        below, tail = np.cumsum(self.weight), (1 - level) / 2
        low = int(np.searchsorted(below, tail + _TINY, side="right"))
        high = int(np.searchsorted(below, 1 - tail - _TINY, side="left"))
        last = self.values.size - 1
        return float(self.values[min(low, last)]), float(self.values[min(high, last)])

    def p_value(self, observed: float, side: str) -> float:
        """The chance of a value at least as ``high``, as ``low``, or as far from the mean on ``both`` sides.

        Never below what can be known: (1 + hits) / (1 + draws), or 1e-15.
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
    pool: Sequence[int], k: int, values_of: Callable[[Integers], Floats], rng: np.random.Generator
) -> NullDistribution:
    """The distribution of a figure of the first k places over all rankings of a pool of at least k samples.

    ``values_of`` goes from counts among the first k, shape (M, G), to values, shape (M,). The stream is used
    only where the counts take more than MOST_OUTCOMES values.
    """
    block = tuple(int(size) for size in pool)
    counts, weight = top_outcomes(block, k, rng)
    n_draws = 0 if outcomes_are_listed(block, k) else DRAWS
    return NullDistribution.of(values_of(counts), weight, n_draws)


def null_of_ndkl(
    pool: Sequence[int], targets: Floats, rng: np.random.Generator, depth: int | None = None
) -> NullDistribution:
    """The distribution of NDKL down to ``depth`` over all rankings of a pool, given target shares of groups.

    Listed by a recursion over places, which keeps one partial sum for each way to a content of the top;
    beyond MOST_ARRANGEMENTS rankings it is drawn.
    """
    sizes = np.array(pool, dtype=np.int64)
    depth = int(sizes.sum()) if depth is None else depth
    present = sizes > 0
    if _arrangements(sizes[present], depth) <= MOST_ARRANGEMENTS:
        return NullDistribution.of(*_every_ndkl(sizes[present], targets[present], depth))
    values = _drawn_ndkl(sizes, targets, depth, rng)
    return NullDistribution.of(values, np.full(values.size, 1 / values.size), values.size)


def _arrangements(sizes: Integers, depth: int) -> float:
    """Number of sequences of the first ``depth`` places; infinite where it does not fit a float."""
    if depth > 200:  # more than two million unless nearly every sample is of one group: those are drawn too
        return np.inf
    ways = np.zeros(depth + 1)
    ways[0] = 1.0
    for size in sizes:
        terms = 1 / special.factorial(np.arange(min(int(size), depth) + 1))
        ways = np.convolve(ways, terms)[: depth + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        count = float(ways[depth] * special.factorial(depth))
    return count if np.isfinite(count) else np.inf


def _every_ndkl(sizes: Integers, targets: Floats, depth: int) -> Ends:
    """NDKL of every sequence of the first ``depth`` places, and its chance."""
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


def _drawn_ndkl(sizes: Integers, targets: Floats, depth: int, rng: np.random.Generator) -> Floats:
    codes = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _DRAWN_IN_ALL // codes.size))
    rows = max(1, min(draws, _DRAWN_PLACES // (codes.size * sizes.size)))
    chunks: list[Floats] = []
    while sum(map(len, chunks)) < draws:
        shuffled = rng.permuted(np.tile(codes, (rows, 1)), axis=1)[:, :depth]
        shares = np.broadcast_to(targets, (rows, sizes.size))
        chunks.append(rankings.ndkl(untied(shuffled, sizes.size), shares, depth))
    return np.concatenate(chunks)[:draws]


def null_of_mean(chances: Sequence[NullDistribution]) -> NullDistribution:
    """The distribution of the mean of independent rankings, by convolution.

    On the lattice that the values lie on where they have one (bias), else on a grid of 131,072 places, on
    which every value keeps its mean and the sum is off by less than ``slack``. Mean and variance are exact.
    The same object may stand for several queries.
    """
    if len(chances) == 1:
        return chances[0]
    n = len(chances)
    n_draws = min((chance.drawn for chance in chances if chance.drawn), default=0)
    mean = float(np.mean([chance.mean for chance in chances]))
    variance = float(np.sum([chance.variance for chance in chances])) / n**2
    distinct = {id(chance): chance for chance in chances}
    times = dict(zip(*np.unique([id(chance) for chance in chances], return_counts=True), strict=True))
    span = sum(int(times[key]) * float(np.ptp(chance.values)) for key, chance in distinct.items())
    if span <= _SAME:
        return NullDistribution(np.array([mean]), np.ones(1), _SAME, n_draws, mean, variance)
    wide = min(span, 2 * _REACH * n * float(np.sqrt(variance)))
    step, blurred = _lattice(list(distinct.values()), span, wide)
    length = _GRID if blurred else 1 << (int(np.rint(span / step)) + 1 + n).bit_length()
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for key, chance in distinct.items():
        spectrum *= np.fft.rfft(_on_grid(chance, step, length)) ** int(times[key])
    weight = np.maximum(np.fft.irfft(spectrum, length), 0)
    start = sum(int(times[key]) * float(chance.values[0]) for key, chance in distinct.items())
    # the grid is a circle; where the sum can reach beyond it, it is cut open far from the mean
    skipped = int(max(0.0, (n * mean - wide / 2 - start) // step)) if wide < span else 0
    weight = np.roll(weight, -(skipped % length))
    has_weight = weight > _NOTHING
    values = (start + step * (skipped + np.flatnonzero(has_weight))) / n
    # n steps that may each fall to either of two places are off by sqrt(n) / 2 places, rarely by 4 times that
    slack = step * (1 + 2 * np.sqrt(n) if blurred else 0.25) / n
    return NullDistribution(
        values, weight[has_weight] / weight[has_weight].sum(), slack, n_draws, mean, variance
    )


def _lattice(chances: Sequence[NullDistribution], span: float, wide: float) -> tuple[float, bool]:
    """The step of the lattice that all values lie on, or of a fine grid, and whether it is the latter."""
    offsets = np.concatenate([chance.values - chance.values[0] for chance in chances])
    step = float(offsets[offsets > _SAME].min())
    places = offsets / step
    if span / step <= _GRID // 2 and np.abs(places - np.rint(places)).max() < _WHOLE:
        return step, False
    return 1.001 * wide / _GRID, True


def _on_grid(chance: NullDistribution, step: float, length: int) -> Floats:
    """Chances on a circular grid from the lowest value; each is split between two so that means stay."""
    position = (chance.values - chance.values[0]) / step
    near = np.rint(position)
    position = np.where(np.abs(position - near) < _WHOLE, near, position)
    low = np.floor(position).astype(np.int64)
    upper = position - low
    grid = np.bincount(low % length, chance.weight * (1 - upper), length)
    return np.asarray(grid + np.bincount((low + 1) % length, chance.weight * upper, length))


def drawn_values(
    chances: Sequence[NullDistribution], rng: np.random.Generator, count: int | None = None
) -> Floats:
    """Values of independent rankings, each drawn from its own null, shape (count, len(chances)).

    The same object may stand for several rankings. ``count`` is 9,999 by default, or fewer for very many.
    """
    if count is None:
        count = int(np.clip(_DRAWN_RANKINGS // len(chances), _FEWEST_VALUES, _DRAWS))
    draws = np.empty((count, len(chances)))
    for chance in {id(chance): chance for chance in chances}.values():
        columns = [index for index, other in enumerate(chances) if other is chance]
        draws[:, columns] = chance.quantiles(rng.random((count, len(columns))))
    return draws


def untied(codes: rankings.Codes, groups: int) -> RankedPools:
    """Rankings without ties: the group of each place, shape (M, n)."""
    places = np.broadcast_to(np.arange(codes.shape[1]), codes.shape)
    return RankedPools(codes, places, places + 1, groups)
