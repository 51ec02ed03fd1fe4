"""Who stands at the top of rankings: skew, bias and NDKL of many rankings at once, exact under ties.

A ranking is a row of group codes, best first; pools of different sizes are padded at the end. Where a tie
block crosses a cut, which of its samples come first is chance: the values here are averages over all orders
of every tie block, by the hypergeometric distribution, never by sampling unless the outcomes are too many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Ends, Floats, Integers, Mask, Rng, pieces
from evenhand.stats.hypergeometric import log_choose, top_outcomes, unique_rows

Codes = npt.NDArray[np.int32]

NO_SAMPLE = -1
_CELLS = 4_000_000  # of one table of hypergeometric chances
_FEW_GROUPS = 4  # up to which samples are counted group by group


@dataclass(frozen=True, eq=False)
class RankedPools:
    """R rankings of at most N samples, best first."""

    codes: Codes  # group of the sample at each place, shape (R, N); -1 after the last sample of a pool
    starts: Integers  # first place of the tie block that each place belongs to, shape (R, N)
    stops: Integers  # one past the last place of that block, shape (R, N)
    n_groups: int  # G, groups that codes count up to

    @classmethod
    def rank(
        cls, codes: npt.ArrayLike, scores: npt.ArrayLike, n_groups: int, ties: str = "expected"
    ) -> RankedPools:
        """Sort each row by falling score; codes of groups are -1 and scores NaN where a row has no sample.

        ``expected`` ties are blocks for averaging, ``stable`` ones stay in the order given, as upstream.
        """
        code, score = np.asarray(codes, dtype=np.int32), np.asarray(scores)
        with np.errstate(invalid="ignore"):
            order = np.argsort(-score, axis=1, kind="stable")  # NaN goes last
        code = np.take_along_axis(code, order, axis=1)
        width = code.shape[1]
        places = np.broadcast_to(np.arange(width), code.shape)
        if ties == "stable":
            return cls(code, places, places + 1, n_groups)
        score = np.take_along_axis(score, order, axis=1)
        new = np.ones((len(code), width + 1), dtype=bool)  # where a block starts; one after the last, too
        new[:, 1:-1] = score[:, 1:] != score[:, :-1]
        if new.all():
            return cls(code, places, places + 1, n_groups)
        starts = np.maximum.accumulate(np.where(new[:, :-1], places, 0), axis=1)
        ends = np.where(new[:, 1:], places + 1, width)
        return cls(code, starts, np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1], n_groups)

    @cached_property
    def counts(self) -> Integers:
        """Samples of each group before each place, shape (R, N + 1, G); ties in the order they stand."""
        rows, width = self.codes.shape
        result = np.zeros((self.n_groups, rows, width + 1), dtype=np.int64)
        for group in range(self.n_groups):
            np.cumsum(self.codes == group, axis=1, out=result[group, :, 1:])
        return np.moveaxis(result, 0, 2)

    @cached_property
    def _cuts(self) -> set[int]:
        return set()

    def first(self, k: int) -> Integers:
        """Samples of each group among the first k of each ranking, as they stand, shape (R, G).

        Where there are more cuts than groups, it is cheaper to count before all places at once.
        """
        self._cuts.add(k)
        if len(self._cuts) > self.n_groups:
            return self.counts[:, min(k, self.codes.shape[1])]
        codes = self.codes[:, :k]
        if self.n_groups <= _FEW_GROUPS:
            return np.stack([np.count_nonzero(codes == group, axis=1) for group in range(self.n_groups)]).T
        cells = codes.astype(np.int64) + self.n_groups * np.arange(len(codes))[:, None]
        n = np.bincount(cells[codes != NO_SAMPLE], minlength=len(codes) * self.n_groups)
        return n.reshape(len(codes), self.n_groups)

    @cached_property
    def pools(self) -> Integers:
        """Samples of each group in each pool, shape (R, G)."""
        return self.first(self.codes.shape[1])

    @cached_property
    def sizes(self) -> Integers:
        """Samples in each pool, shape (R,)."""
        return np.asarray(self.pools.sum(axis=1))

    @cached_property
    def untied(self) -> bool:
        """Whether every block is a single sample."""
        return bool((self.stops - self.starts == 1).all())

    def cuts(self, k: int) -> tuple[Integers, Integers, Integers]:
        """What is certain and what is open at place k, for rankings of at least k samples (else zeros).

        Counts before the tie block that holds place k and within it, shape (R, G) each, and how many of the
        block are taken, shape (R,). Without ties the block is one sample, and it is taken.
        """
        rows = np.arange(len(self.codes))
        enough = self.sizes >= k
        index = np.where(enough, k - 1, 0)
        before = self.counts[rows, self.starts[rows, index]]
        block = self.counts[rows, self.stops[rows, index]] - before
        return before * enough[:, None], block * enough[:, None], (k - self.starts[rows, index]) * enough

    def open_at(self, k: int) -> Mask:
        """Rankings in which ties leave open who is among the first k: the cut mixed block, shape (R,)."""
        if self.untied:
            return np.zeros(len(self.codes), dtype=bool)
        _, block, n_taken = self.cuts(k)
        return np.asarray((n_taken < block.sum(axis=1)) & ((block > 0).sum(axis=1) > 1))

    @cached_property
    def open_places(self) -> Mask:
        """Cuts after place n (0-based) that pass through a block of several groups, shape (R, N)."""
        if self.untied:
            return np.zeros(self.codes.shape, dtype=bool)
        inside = (self.stops > np.arange(1, self.codes.shape[1] + 1)) & (self.codes != NO_SAMPLE)
        ranks = np.flatnonzero(inside.any(axis=1))
        if ranks.size:  # looked at only where there are ties
            row = ranks[:, None]
            block = self.counts[row, self.stops[ranks]] - self.counts[row, self.starts[ranks]]
            inside[ranks] &= (block > 0).sum(axis=2) > 1
        return np.asarray(inside)


@dataclass(frozen=True, eq=False)
class Tops:
    """Every possible content of the first k places, with its chance."""

    owner: Integers  # the first ranking that each content belongs to, shape (T,), sorted
    counts: Integers  # samples of each group, shape (T, G)
    weight: Floats  # chances, adding up to 1 for each owner, shape (T,)
    alike: Integers  # the owner that has the contents of each ranking, shape (R,)

    def mean(self, values: npt.NDArray[np.number]) -> Floats:
        """Expected value of each owner, shape (R,); NaN where any possible content is undefined."""
        weighted = self.weight * values
        if self.owner.size == self.alike.size:  # one content of each
            return np.asarray(weighted + 0.0, dtype=np.float64)  # no -0
        return np.bincount(self.owner, weighted, self.alike.size).astype(np.float64)[self.alike]


def tops(ranked: RankedPools, k: int, rng: Rng) -> Tops:
    """The contents of the first k places that each ranking's tie orders give.

    Rankings of fewer than k samples get one content without samples. The stream is used only where a block
    has more than MOST_OUTCOMES outcomes. Contents of alike rankings, which a model that ties all has, stand
    once.
    """
    rows = np.arange(len(ranked.codes))
    if ranked.untied:
        counts = ranked.first(k) * (ranked.sizes >= k)[:, None]
        return Tops(rows, counts, np.ones(rows.size), rows)
    before, block, n_taken = ranked.cuts(k)
    left_open = ranked.open_at(k)
    block_counts = np.where((n_taken == block.sum(axis=1))[:, None], block, np.sign(block) * n_taken[:, None])
    if not left_open.any():
        return Tops(rows, before + block_counts, np.ones(rows.size), rows)
    states, which = unique_rows(np.concatenate([block[left_open], n_taken[left_open, None]], axis=1))
    outcomes = [top_outcomes(tuple(state[:-1]), state[-1], rng) for state in states.tolist()]
    kind = np.full(rows.size, -1)
    kind[left_open] = which
    same = unique_rows(np.column_stack([kind + 1, before, block_counts, ranked.pools]))[1]
    firsts = np.unique(same, return_index=True)[1]
    alike, firsts = firsts[same], np.sort(firsts)
    certain = np.zeros((1, ranked.n_groups), dtype=np.int64), np.ones(1)
    contents = [outcomes[state] if state >= 0 else certain for state in kind[firsts].tolist()]
    counts, weight = (np.concatenate(column) for column in zip(*contents, strict=True))
    owner = np.repeat(firsts, [len(chances) for _, chances in contents])
    counts += np.where(left_open[:, None], before, before + block_counts)[owner]
    return Tops(owner, counts, weight, alike)


def target_shares(pools: Integers, target: str | Floats) -> Floats:
    """The share of each group that a fair top would have, shape (R, G), for pools of this shape.

    ``pool``: its share of the pool, 0 for a group that the pool lacks; ``equal``: 1/G; or shares, shape (G,).
    """
    if isinstance(target, str):
        if target == "equal":
            return np.full(pools.shape, 1 / pools.shape[1])
        return np.asarray(pools / np.maximum(pools.sum(axis=1, keepdims=True), 1))
    return np.broadcast_to(target, pools.shape)


def skews(counts: Integers, pools: Integers, targets: Floats, k: int, absent: str) -> Floats:
    """``ln(share of the first k / target share)`` of each group, shape (T, G); NaN for one the pool lacks.

    Args:
        counts: Samples among the first k, shape (T, G).
        pools: Samples in the pool, shape (T, G).
        targets: Shape (T, G).
        k: Places.
        absent: What stands for minus infinity where a group of the pool is not among the first k:
            ``floor``: -ln(k + 1), which is below whatever a group with one sample there can have;
            ``smoothed``: the group counts as one sample (upstream), so that it may even win.
    """
    log_share = np.log(np.maximum(np.arange(k + 1), 1) / k)
    there = pools > 0
    skew = log_share.take(counts) - np.log(targets if there.all() else np.where(there, targets, np.nan))
    if absent == "floor":
        skew[(counts == 0) & there] = -np.log(k + 1)
    return np.asarray(skew)


def max_skews(counts: Integers, pools: Integers, targets: Floats, k: int, absent: str) -> Floats:
    """Largest skew over groups, shape (T,); NaN for an empty pool."""
    # column by column, many times faster than row by row
    return reduce(np.fmax, skews(counts, pools, targets, k, absent).T)


def min_skews(counts: Integers, pools: Integers, targets: Floats, k: int, absent: str) -> Floats:
    """Smallest skew over groups, shape (T,); NaN for an empty pool."""
    return reduce(np.fmin, skews(counts, pools, targets, k, absent).T)


def difference(plus: Integers, minus: Integers, *, neither: float = np.nan) -> Floats:
    """``(plus - minus) / (plus + minus)`` of two groups' samples, shape (T,); upstream says 0 for neither."""
    total = plus + minus
    return np.where(total > 0, (plus - minus) / np.maximum(total, 1), neither)


def divergence(pools: Integers, targets: Floats) -> Floats:
    """``sum_g p_g ln(p_g / target_g)`` of the shares of whole pools, shape (R,): NDKL of tops like them."""
    shares = pools / np.maximum(pools.sum(axis=1, keepdims=True), 1)
    ratio = np.divide(shares, targets, out=np.ones(shares.shape), where=pools > 0)
    return np.asarray((shares * np.log(ratio)).sum(axis=1))


def reversed_ndkl(codes: npt.ArrayLike, shares: Floats) -> float:
    """Discounted mean of ``sum_g p_target ln(p_g / p_target)``, absent groups as 0; some code's NDKL.

    It is the wrong way round: with all places of one group it is below that of a ranking that is even.

    Codes are the groups of the first places of one ranking, shape (K,); shares are the target's, shape (G,),
    above 0.
    """
    places = np.asarray(codes)[:, None] == np.arange(shares.size)
    k = np.arange(1, len(places) + 1)
    top = places.cumsum(axis=0) / k[:, None]
    terms = np.where(top > 0, shares * np.log(np.where(top > 0, top, 1.0) / shares), 0.0).sum(axis=1)
    weight = 1 / np.log2(k + 1)
    return float(terms @ weight / weight.sum())


def ndkl(ranked: RankedPools, targets: Floats, depth: int | None = None) -> Floats:
    r"""Normalised discounted KL divergence of the tops of all sizes from the target shares.

    ``sum_k KL_k / log2(k+1) / sum_k 1 / log2(k+1)`` with ``KL_k = sum_g p_k ln(p_k / p_target)``, over k up
    to ``depth`` or the pool's size. Under ties the expected value, prefix by prefix. Targets have the shape
    (R, G); the values, shape (R,), are NaN where the pool is empty or smaller than ``depth``.
    """
    width = ranked.codes.shape[1] if depth is None else min(depth, ranked.codes.shape[1])
    k = np.arange(1, width + 1)
    counts = ranked.counts[:, 1 : width + 1]
    left_open = ranked.open_places[:, :width]
    table = x_log_x(ranked.codes.shape[1])
    sums = np.zeros(counts.shape[:2])
    for group in range(ranked.n_groups):
        sums += table[counts[:, :, group]]
    with np.errstate(divide="ignore"):
        log_target = np.log(targets)
    log_target[ranked.pools == 0] = 0.0  # such a group adds nothing: it cannot be retrieved
    expected = counts
    if left_open.any():
        expected = counts.astype(np.float64)
        expected[left_open], sums[left_open] = _expected(ranked, *np.nonzero(left_open))
    cross = np.zeros(sums.shape)
    for group in range(ranked.n_groups):
        cross += expected[:, :, group] * log_target[:, group, None]
    divergence = np.maximum((sums - cross) / k - np.log(k), 0)
    weight = np.where(k <= ranked.sizes[:, None], 1 / np.log2(k + 1), 0)
    enough = ranked.sizes >= (1 if depth is None else depth)
    total = np.where(enough, weight.sum(axis=1), np.nan)
    return np.asarray((divergence * weight).sum(axis=1) / total)


def x_log_x(n: int) -> Floats:
    """``x ln x`` for x = 0 ... n, with 0 ln 0 = 0."""
    x = np.arange(n + 1, dtype=np.float64)
    return x * np.log(np.maximum(x, 1))


def _expected(ranked: RankedPools, rows: Integers, places: Integers) -> Ends:
    """Expected counts (P, G) and expected sums of ``n ln n`` (P,) at cuts through tie blocks."""
    start, stop = ranked.starts[rows, places], ranked.stops[rows, places]
    before = ranked.counts[rows, start]
    block = ranked.counts[rows, stop] - before
    size, n_taken = stop - start, places + 1 - start
    expected = before + block * (n_taken / size)[:, None]
    columns = (np.repeat(numbers, ranked.n_groups) for numbers in (size, n_taken))
    states, which = unique_rows(np.stack([before.ravel(), block.ravel(), *columns], axis=1))
    table, blocks = x_log_x(ranked.codes.shape[1]), pieces(len(states), _CELLS, int(states[:, 1].max()) + 1)
    numbers = np.concatenate([_expected_x_log_x(states[block], table) for block in blocks])
    return expected, numbers[which].reshape(before.shape).sum(axis=1)


def _expected_x_log_x(states: Integers, table: Floats) -> Floats:
    """Expected ``n ln n`` of each (before, block, size, n_taken), shape (S,)."""
    before, block, size, n_taken = (column[:, None] for column in states.T)
    x = np.arange(int(states[:, 1].max()) + 1)
    possible = (x <= block) & (x <= n_taken) & (n_taken - x <= size - block)
    x = np.where(possible, x, np.maximum(0, n_taken - size + block))
    log_weight = log_choose(block, x) + log_choose(size - block, n_taken - x)
    weight = np.where(possible, np.exp(log_weight - log_weight.max(axis=1, keepdims=True)), 0)
    return np.asarray((table[before + x] * weight).sum(axis=1) / weight.sum(axis=1))
