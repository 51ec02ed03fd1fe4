"""Replicates of counts: resamples of one class, and groups exchanged within classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import (
    Codes,
    Floats,
    Integers,
    Rng,
    codes_of,
    keys_and_codes,
    piece_sizes,
    pieces,
    ratio,
    run_starts,
)
from evenhand.stats.contingency.tables import TableBatch
from evenhand.stats.rates.confusion import Confusion

Streams = Callable[[object], Rng]
Draw = Callable[[Rng, Floats, Floats, int], Integers]

CELL_BUDGET = 200_000_000  # cells x replicates that are resampled one by one; beyond, from the margins
_HYPERGEOMETRIC = 1_000_000_000
_ROWS_PER_CELL = 20  # up to this many rows a cell, rows are resampled one by one
_RESAMPLED = 20_000_000  # cells x replicates that are resampled: a spread needs no more
_FEWEST = 400
_CHUNK = 300_000  # numbers of one array of replicates held at a time
_LONG_CHUNK, _FEWEST_OF_CHUNK = 3_000_000, 100  # the same of many labels, whose calls would take longer


@dataclass(frozen=True, eq=False)
class ClassCells:
    """The occupied cells of one true class."""

    label: int  # index of the class among the labels
    group: Codes  # group of each cell, shape (K,), sorted
    prediction: Codes  # predicted label of each cell, shape (K,)
    n: Floats  # count of each cell, shape (K,)

    def dense(self) -> tuple[Floats, Codes, Codes]:
        """The group x prediction table without empty rows and columns, with its groups and labels."""
        groups, rows = keys_and_codes(self.group)
        labels, columns = keys_and_codes(self.prediction)
        table = np.zeros((groups.size, labels.size))
        np.add.at(table, (rows, columns), self.n)
        return table, groups, labels


def cells_of(batch: TableBatch, table: int) -> ClassCells:
    """The occupied cells of one of many tables."""
    some = slice(*np.searchsorted(batch.table, [table, table + 1]))
    return ClassCells(table, batch.row[some], batch.column[some], batch.n[some])


def runs(code: Codes) -> list[slice]:
    """Where equal codes stand beside each other."""
    starts = run_starts(code)
    return [slice(*ends) for ends in zip(starts, np.append(starts[1:], code.size), strict=True)]


def enough(cells: int, most: int) -> int:
    """How many resamples tell the spread of what so many cells make: ``most``, fewer of very many cells."""
    return int(np.clip(_RESAMPLED // max(cells, 1), min(_FEWEST, most), most))


def bootstrap_cells(rng: Rng, cells: ClassCells, replicates: int) -> Floats:
    """Multinomial resamples of one class within each of its groups, shape (replicates, K).

    Few rows in many cells are resampled row by row, which is the same distribution, faster.
    """
    groups = runs(cells.group)
    if cells.n.sum() <= _ROWS_PER_CELL * cells.n.size:
        starts = np.array([some.start for some in groups])
        return _bootstrap_rows(rng, cells, starts, replicates)
    draws = np.empty((replicates, cells.n.size))
    for some in groups:
        n = cells.n[some]
        draws[:, some] = rng.multinomial(int(n.sum()), n / n.sum(), size=replicates)
    return draws


def _bootstrap_rows(rng: Rng, cells: ClassCells, starts: Codes, replicates: int) -> Floats:
    cell_of_row = np.repeat(np.arange(cells.n.size), cells.n.astype(np.int64))
    size = np.add.reduceat(cells.n, starts).astype(np.int64)
    first = np.repeat(np.cumsum(size) - size, size)
    share = rng.random((replicates, cell_of_row.size), dtype=np.float32)  # times a size it stays below it
    rows = (share * np.repeat(size, size).astype(np.float32)).astype(np.int32) + first
    picked = cell_of_row[rows] + np.arange(replicates)[:, None] * cells.n.size
    counts = np.bincount(picked.ravel(), minlength=replicates * cells.n.size)
    return counts.reshape(replicates, cells.n.size).astype(np.float64)


def bootstrap_chi2(cells: ClassCells, draws: Floats) -> tuple[Floats, Codes]:
    """Chi-squared, ``n (sum o^2 / (row column) - 1)``, and columns of resamples, shape (replicates,) each."""
    labels, column = keys_and_codes(cells.prediction)
    group = codes_of(cells.group)
    row = np.bincount(group, cells.n)[group]
    of_column = (column[:, None] == np.arange(labels.size)).astype(np.float64)
    columns = draws @ of_column
    squares = np.square(draws) @ (of_column / row[:, None])
    shares = ratio(squares, columns, 0.0).sum(axis=1)
    return np.maximum(cells.n.sum() * (shares - 1), 0), (columns > 0).sum(axis=1)


def cellwise_null(
    classes: list[ClassCells], support: Floats, replicates: int, streams: Streams, draw: Draw
) -> Iterator[Confusion]:
    """Chunks of replicates of the margins with groups exchanged at random within each class.

    ``draw``: random tables with given margins.
    """
    width = support.shape[-1]
    fixed_correct, fixed_predicted = np.zeros((2, support.size))
    movable = []
    for cells in classes:
        table, groups, labels = cells.dense()
        into, rows, columns = groups[:, None].astype(np.int64) * width + labels, table.sum(1), table.sum(0)
        hit = np.flatnonzero(labels == cells.label)
        if min(table.shape) == 1:  # nothing to draw: its margins are the table
            fixed_predicted[into] += table
            fixed_correct[into[:, hit]] += table[:, hit]
        else:
            movable.append((cells.label, into.ravel(), rows, columns, hit))
    most = max(_CHUNK, min(_FEWEST_OF_CHUNK * support.size, _LONG_CHUNK))
    for some in pieces(replicates, most, support.size):
        size = some.stop - some.start
        correct, predicted = np.empty((2, size, support.size))
        correct[:], predicted[:] = fixed_correct, fixed_predicted
        for label, into, rows, columns, hit in movable:
            tables = draw(streams((label, some.start)), rows, columns, size).reshape(size, -1)
            predicted[:, into] += tables
            if hit.size:
                of_hit = slice(hit[0], None, columns.size)
                correct[:, into[of_hit]] += tables[:, of_hit]
        shape = (size, *support.shape)
        yield Confusion(support, correct.reshape(shape), predicted.reshape(shape))


def marginal_null(
    confusion: Confusion, expected_wrong: Floats, replicates: int, rng: Rng
) -> Iterator[Confusion]:
    """As cellwise_null, for tables too large to permute cell by cell.

    The hits of a class fall to groups by the multivariate hypergeometric distribution, which is exact; the
    errors that land on a label are split multinomially by their expected shares (conservative).
    ``expected_wrong``: expected errors under the null by (group, label), shape (Z, L).
    """
    hits = confusion.correct.sum(axis=0)
    wrong = (confusion.predicted - confusion.correct).sum(axis=0)
    for size in piece_sizes(replicates, _CHUNK, confusion.support.size):
        correct = split_hypergeometric(rng, hits, confusion.support, size)
        errors = _split(
            wrong, expected_wrong, size,
            lambda weight, behind, left: rng.binomial(left, np.clip(ratio(weight, behind, 0.0), 0, 1)),
        )  # fmt: skip
        yield Confusion(confusion.support, correct, correct + errors)


def split_hypergeometric(rng: Rng, total: Floats, sizes: Floats, replicates: int) -> Floats:
    """Split ``total`` (L,) drawn without replacement from ``sizes`` (Z, L): shape (replicates, Z, L)."""
    return _split(total, sizes, replicates, lambda size, rows, left: _hypergeometric(rng, size, rows, left))


def _split(
    total: Floats, sizes: Floats, replicates: int, part_of: Callable[[Floats, Floats, Integers], Codes]
) -> Floats:
    """Parts (replicates, Z, L) of ``total`` (L,), one after the other; the last is what is left.

    ``part_of`` goes from a size, the sum of those not yet drawn and what is left of the total to a part.
    """
    parts = np.zeros((replicates, *sizes.shape))
    left = np.broadcast_to(total.astype(np.int64), (replicates, total.size)).copy()
    behind = sizes.sum(axis=0)
    for z, size in enumerate(sizes[:-1]):
        part = part_of(size, behind, left)
        parts[:, z] = part
        left -= part
        behind = np.maximum(behind - size, 0)
    parts[:, -1] = left
    return parts


def _hypergeometric(rng: Rng, good: Floats, rows: Floats, n_drawn: Codes) -> Codes:
    """Hypergeometric numbers; normal ones where numpy's sampler ends, at 10^9 rows, with equal moments."""
    n_good, n_rows, small = good.astype(np.int64), rows.astype(np.int64), rows < _HYPERGEOMETRIC
    part = np.zeros(n_drawn.shape, dtype=np.int64)
    # which of the good are drawn, rather than which of the drawn are good: the same number, and few of them
    n_taken = n_drawn[:, small]
    part[:, small] = rng.hypergeometric(n_taken, n_rows[small] - n_taken, n_good[small])
    if not small.all():
        total, share = n_rows[~small], n_good[~small] / n_rows[~small]
        n_taken = n_drawn[:, ~small]
        error = np.sqrt(n_taken * share * (1 - share) * (total - n_taken) / np.maximum(total - 1, 1))
        normal = np.rint(n_taken * share + error * rng.standard_normal(n_taken.shape)).astype(np.int64)
        part[:, ~small] = np.clip(
            normal, np.maximum(n_taken - total + n_good[~small], 0), np.minimum(n_taken, n_good[~small])
        )
    return part
