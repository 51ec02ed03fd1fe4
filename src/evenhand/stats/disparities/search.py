"""Which of many regions have more mistakes than chance gives: p of the largest score, step by step.

Under the null the mistakes of a class fall on its rows at random (hypergeometric over the crossed groups),
or, where rows come in clusters, clusters of a class change groups. In each draw every region is scored; p of
a region is how often the largest score of those that are not larger than its own reaches it (Westfall and
Young 1993, algorithm 2.8, one-sided: more mistakes).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from evenhand.stats.arrays import (
    Floats,
    Integers,
    Mask,
    Rng,
    codes_of,
    keys_and_codes,
    piece_sizes,
    ratio,
    sum_by,
)
from evenhand.stats.disparities.subgroups import ALL, Cells, Regions, Subgroups
from evenhand.stats.exchange.relabelling import Relabelling, shuffled
from evenhand.stats.multiplicity import step_down_p

REPLICATES = 999
_ROUNDING = 1e-9
_HELD = 4_000_000  # scores and counts of draws held at a time
_DEAREST = 30  # a draw of a hypergeometric count takes as long as that many rows drawn one by one
_MOST_DEALT = 20_000_000


def step_down(exchange: RowExchange | ClusterExchange, rng: Rng, replicates: int = REPLICATES) -> Floats:
    """Adjusted p of each region, shape (R,), at least ``1 / (1 + replicates)``."""
    sizes = piece_sizes(replicates, _HELD, exchange.width)
    return step_down_p(exchange.observed(), (exchange.drawn(rng, size).T for size in sizes), replicates)[1]


@dataclass(frozen=True, eq=False)
class RowExchange:
    """Mistakes of each class fall on its rows at random."""

    cells: Cells
    subgroups: Subgroups
    regions: Regions

    def observed(self) -> Floats:
        """The regions' z."""
        return self.regions.z

    @property
    def width(self) -> int:
        """Regions, and the crossed groups of the class with most."""
        return len(self.regions) + int(np.bincount(self.cells.truth).max(initial=0))

    @cached_property
    def _classes(self) -> list[tuple[int, slice, list[tuple[Integers, sparse.csr_array]]]]:
        """Of each class with mistakes its mistakes, its cells, and which regions have them."""
        ends = np.searchsorted(self.cells.truth, np.arange(self.cells.class_rows.size + 1))
        members, classes = self.subgroups.members.tocsc(), []
        for y in np.flatnonzero(self.cells.class_wrong).tolist():
            some = slice(int(ends[y]), int(ends[y + 1]))
            here = members[:, self.cells.group[some]].tocsr()
            regions = (np.flatnonzero(self.regions.truth == which) for which in (ALL, y))
            tables = [(index, here[self.regions.subgroup[index]]) for index in regions if index.size]
            classes.append((int(self.cells.class_wrong[y]), some, tables))
        return classes

    def drawn(self, rng: Rng, size: int) -> Floats:
        """Z of mistakes that fall at random, shape (R, size)."""
        mistakes = np.zeros((len(self.regions), size))
        for hits, some, tables in self._classes:
            rows = self.cells.rows[some].astype(np.int64)
            total = int(rows.sum())
            is_dealt = min(hits, total - hits) < _DEAREST * rows.size and total < _MOST_DEALT
            draws = rng.multivariate_hypergeometric(
                rows, hits, size, method="count" if is_dealt else "marginals"
            ).T.astype(np.float64)
            for index, members in tables:
                mistakes[index] += members @ draws
        mistakes -= self.regions.expected[:, None]
        mistakes /= np.sqrt(self.regions.variance)[:, None]
        return mistakes


@dataclass(frozen=True, eq=False)
class Clusters:
    """Rows by class and cluster, shape (P,) each; each cluster lies in one crossed group."""

    truth: Integers
    unit: Integers  # numbered from 0
    rows: Floats
    wrong: Floats
    group: Integers  # of each cluster, shape (U,)

    @cached_property
    def relabelling(self) -> Relabelling:
        """How clusters change groups: within their class, those of several classes among themselves."""
        return Relabelling(self.group[self.unit], self.unit, self.truth)

    @cached_property
    def stratum(self) -> Integers:
        """What each piece is compared within: its class, there clusters of several classes by themselves."""
        is_shared = self.relabelling.block[self.unit] < 0
        return codes_of(2 * self.truth + is_shared)

    @cached_property
    def share(self) -> Floats:
        """Share of mistakes of all rows of the stratum of each piece."""
        return (sum_by(self.stratum, self.wrong) / sum_by(self.stratum, self.rows))[self.stratum]

    @cached_property
    def noise(self) -> Floats:
        """Variance of the mistakes of each piece, of so many rows that are so much alike.

        ``w p (1 - p) (1 + (w - 1) r)``, with one r of all pieces, by moments.
        """
        alone = self.share * (1 - self.share) * self.rows
        pairs = float((alone * (self.rows - 1)).sum())
        apart = float(((self.wrong - self.share * self.rows) ** 2 - alone).sum())
        alike = float(np.clip(apart / pairs, 0, 1)) if pairs > 0 else 0.0
        pieces = sum_by(self.stratum, np.ones(self.rows.size))[self.stratum]
        return alone * (1 + alike * (self.rows - 1)) * pieces / np.maximum(pieces - 1, 1)


@dataclass(frozen=True, eq=False)
class ClusterExchange:
    """Clusters change groups as wholes.

    The score is ``T / sqrt(V)``: T adds the mistakes of a region's clusters above what their classes give, V
    what these vary, ``(1 - k)^2`` of each cluster inside and ``k^2`` of each outside, k the share of clusters
    that are inside. It is the z of rows where each is a cluster; where clusters of a group are larger, V
    grows with them (cluster-robust in their sizes, with one correlation within them).
    """

    clusters: Clusters
    subgroups: Subgroups
    regions: Regions

    @cached_property
    def _parts(self) -> list[tuple[Integers, Integers, sparse.csr_array, Floats, sparse.csr_array, Floats]]:
        """By class: regions; clusters that can be inside; who is; numbers of each; weights of V; its rest."""
        c, parts = self.clusters, []
        above, block = c.wrong - c.rows * c.share, c.relabelling.block
        for y in np.unique(self.regions.truth).tolist():
            index, mine = np.flatnonzero(self.regions.truth == y), c.truth == y if y != ALL else slice(None)
            sums = (sum_by(c.unit[mine], values[mine], c.group.size) for values in (above, c.noise))
            numbers = np.stack(list(sums))
            slots = np.flatnonzero((block == y) | (block < 0) if y != ALL else block > -2)
            blocks, code = keys_and_codes(block[slots])
            members = self.subgroups.members[self.regions.subgroup[index]][:, c.group[slots]].tocsr()
            of_block = sparse.csr_array((np.ones(slots.size), (np.arange(slots.size), code)))
            sizes = np.bincount(code, minlength=blocks.size)
            inside = (members @ of_block).toarray() / sizes
            pairs = members.tocoo()
            weights = 1 - 2 * inside[pairs.row, code[pairs.col]]
            weighted = sparse.csr_array((weights, (pairs.row, pairs.col)), shape=members.shape)
            rest = inside**2 @ sum_by(code, numbers[1, slots], blocks.size)
            parts.append((index, slots, members, numbers, weighted, rest))
        return parts

    @property
    def enough(self) -> Mask:
        """Regions with two clusters or more, and as many in the rest."""
        result = np.zeros(len(self.regions), dtype=bool)
        for index, slots, members, numbers, _, _ in self._parts:
            occurs = (numbers[1, slots] > 0).astype(np.float64)
            inside = members @ occurs
            result[index] = (inside > 1) & (occurs.sum() - inside > 1)
        return result

    @property
    def width(self) -> int:
        """Regions, and clusters."""
        return 2 * len(self.regions) + 3 * self.clusters.group.size

    def observed(self) -> Floats:
        """Scores as clusters are."""
        return self._scores(np.arange(self.clusters.group.size)[None])[:, 0]

    def drawn(self, rng: Rng, size: int) -> Floats:
        """Scores where clusters changed places, shape (R, size)."""
        block = self.clusters.relabelling.block
        return self._scores(shuffled(rng, np.arange(block.size), block, size))

    def _scores(self, which: Integers) -> Floats:
        """From which cluster is in each cluster's place, shape (draws, U)."""
        scores = np.zeros((len(self.regions), len(which)))
        for index, slots, members, (above, noise), weighted, rest in self._parts:
            there = which[:, slots].T
            variance = weighted @ noise[there] + rest[:, None]
            total = members @ above[there]
            scores[index] = ratio(total, np.sqrt(np.where(variance > _ROUNDING, variance, 0)), 0.0)
        return scores
