"""Contingency tables whose counts come in sampling units (persons, households), or have weights.

Rows of one person are alike, so that chi-squared varies by more than between independent rows. Under the
null, its deviations ``u_ij = O_ij - R_i C_j / n`` are a sum over units of
``z_ij = sum over the unit's rows of (1[row is i] - R_i/n)(1[column is j] - C_j/n)``, whose mean is 0
whatever the sizes of units and groups, also where a unit lies in several groups. So chi-squared is a mixture
of chi-squared numbers, its weights the eigenvalues of ``sum z z' / e`` (Rao and Scott 1981, 1984). It is
drawn in two ways, in all tables of a unit at once:

* up to 100 units that lie in one group each change places as wholes; chi-squared of each draw is divided by
  Rao and Scott's mean of that draw, because groups may hold units of other sizes (Janssen 1997);
* else each unit's z gets a random sign (the score form of the wild cluster bootstrap, Kline and Santos 2012).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import (
    Codes,
    Ends,
    Floats,
    Integers,
    Mask,
    Rng,
    codes_of,
    draw_blocks,
    keys_and_codes,
    pieces,
    ratio,
    sum_by,
)
from evenhand.stats.contingency.effect_intervals import PhiSquared, blended, phi_squared
from evenhand.stats.contingency.tables import Association, TableBatch
from evenhand.stats.exchange.relabelling import Relabelling

_EXCHANGED = 100  # units up to which they are exchanged as wholes
_HELD = 20_000_000  # numbers held at a time
_FEW = 30  # below so many units, signs are drawn without repeats being likely: no tail beyond them


@dataclass(frozen=True, eq=False)
class UnitTables:
    """Tables with what each unit adds to their cells."""

    batch: TableBatch  # the tables
    cell: Integers  # cell of ``batch`` that each piece lies in, shape (M,)
    unit: Integers  # unit of each piece, shape (M,); with weights alone, each cell is its own
    n: Floats  # counts or weights of each piece, shape (M,)
    # sum of squared weights of each piece whose rows are units of their own, shape (M,); None where units
    # are clusters
    spread: Floats | None = None

    @classmethod
    def of_clusters(cls, batch: TableBatch, cell: Integers, unit: Codes, n: Floats) -> UnitTables:
        """From pieces of which several may be of one unit and cell."""
        codes = codes_of(unit)
        width = int(codes.max(initial=0)) + 1
        key, inverse = keys_and_codes(cell * width + codes)
        return cls(batch, key // width, key % width, sum_by(inverse, n))

    @cached_property
    def units(self) -> Integers:
        """Units of each table, shape (T,)."""
        table = self.batch.table[self.cell]
        pairs = np.unique(table.astype(np.int64) * (int(self.unit.max(initial=0)) + 1) + self.unit)
        return np.bincount(pairs // (int(self.unit.max(initial=0)) + 1), minlength=self.batch.n_tables)

    @property
    def method(self) -> str:
        """How chi-squared is drawn."""
        if self.exchanged:
            return "units exchanged as wholes, in Rao and Scott's standard errors"
        what = "weighted rows" if self.spread is not None else "units"
        return f"Rao and Scott's null, signs of {what} drawn"

    @cached_property
    def _labels(self) -> Relabelling:
        """How groups are exchanged."""
        return Relabelling(self.batch.row[self.cell].astype(np.int64), self.unit)

    @property
    def exchanged(self) -> bool:
        """Whether units change places as wholes."""
        few = self.spread is None and 0 < self._labels.mixed.size <= _EXCHANGED
        return bool(few and not self._labels.mixed.any())

    @property
    def few(self) -> Mask:
        """Tables of so few units that a tail beyond the draws would be guessed."""
        return (self.units < _FEW) & (self.spread is None)

    @property
    def fixed(self) -> bool:
        """Whether each group is one unit, so that nothing says how units differ."""
        return self.spread is None and self._labels.fixed

    @cached_property
    def expected(self) -> Floats:
        """Mean of chi-squared without association, shape (T,): the trace of Rao and Scott's matrix."""
        squares = self.n**2 if self.spread is None else self.spread
        row, column = self.batch.row_of_cell[self.cell], self.batch.column_of_cell[self.cell]
        table = self.batch.table[self.cell]
        r, c = self._row_share, self._column_share
        if self.spread is not None:  # each row is a unit: (1/r - 1)(1/c - 1) of its squared weight
            inside = squares * (1 / r[row] - 1) * (1 / c[column] - 1)
            return sum_by(table, inside, self.batch.n_tables) / self._total
        total = sum_by(table, squares / (r[row] * c[column]), self.batch.n_tables)
        width = int(self.unit.max(initial=0)) + 1
        for margin, share, owner, sign in (
            (row, r, self.batch.row_table, -1),
            (column, c, self.batch.column_table, -1),
            (table, np.ones(self.batch.n_tables), np.arange(self.batch.n_tables), 1),
        ):
            key, inverse = keys_and_codes(margin.astype(np.int64) * width + self.unit)
            inside = sum_by(inverse, self.n) ** 2 / share[key // width]
            total = total + sign * sum_by(owner[key // width], inside, self.batch.n_tables)
        return np.maximum(total, 0) / self._total

    def draws(self, rng: Rng, replicates: int) -> Floats:
        """Chi-squared without association, shape (replicates, T)."""
        from scipy import sparse

        if self.exchanged:
            return self._exchanged(rng, replicates)
        codes, unit = keys_and_codes(self.unit)
        values = self.n if self.spread is None else np.sqrt(self.spread)
        adds = sparse.csr_array((values, (self.cell, unit)), shape=(self.batch.n.size, codes.size))
        chi2 = []
        for size in draw_blocks(replicates, self.batch.n.size + codes.size):
            shape = (codes.size, size)
            # many rows of a cell, each with a sign of its own, add up to a normal number
            signs = rng.choice([-1.0, 1.0], shape) if self.spread is None else rng.standard_normal(shape)
            chi2.append(self._chi2_of(np.asarray(adds @ signs)).T)
        return np.concatenate(chi2)

    def _exchanged(self, rng: Rng, replicates: int) -> Floats:
        """Groups of whole units exchanged; each draw on the scale of the observed groups."""
        codes = self._labels.wholes(rng, replicates)
        table, column = self.batch.table[self.cell], self.batch.column_of_cell[self.cell]
        pairs, pair = keys_and_codes(column)
        owner = np.zeros(pairs.size, dtype=np.int64)
        owner[pair] = table
        units, tables = self._labels.mixed.size, self.batch.n_tables
        share = self._column_share[pairs]
        sizes = sum_by(self.unit * tables + table, self.n, units * tables).reshape(units, tables)
        apart = sum_by(self.unit * pairs.size + pair, self.n, units * pairs.size).reshape(units, -1)
        apart = (apart - sizes[:, owner] * share) / np.sqrt(share)  # z without the group, over sqrt(C_j/n)
        total = np.eye(tables)[owner]
        squares = apart**2 @ total
        chi2, mean = np.zeros((2, replicates, tables))
        for group in np.unique(self._labels.label_of):
            member = (codes == group).astype(np.float64)
            rows = member @ sizes
            rows = np.where(rows > 0, rows, np.inf)
            chi2 += (member @ apart) ** 2 @ total / rows
            mean += (1 / rows - 1 / self._total) * (member @ squares)
        return chi2 * ratio(self.expected, mean, 0.0)

    def _chi2_of(self, moved: Floats) -> Floats:
        """Sum of squared deviations over expected counts, of changes to cells (K, size): shape (T, size)."""
        b, size = self.batch, moved.shape[1]

        def sums(index: Codes, values: Floats, count: int) -> Floats:
            key = (index[:, None].astype(np.int64) * size + np.arange(size)).ravel()
            return sum_by(key, values.ravel(), count * size).reshape(count, size)

        r, c = self._row_share[:, None], self._column_share[:, None]
        rows = sums(self.batch.row_of_cell, moved, b.row_total.size)
        columns = sums(self.batch.column_of_cell, moved, b.column_total.size)
        table_of_row, table_of_column = b.row_table, b.column_table
        inside = sums(
            b.table, moved**2 / (r[self.batch.row_of_cell] * c[self.batch.column_of_cell]), b.n_tables
        )
        inside -= sums(table_of_row, rows**2 / r, b.n_tables)
        occupied = np.flatnonzero(b.column_total > 0)
        inside -= sums(table_of_column[occupied], columns[occupied] ** 2 / c[occupied], b.n_tables)
        inside += sums(table_of_row, rows, b.n_tables) ** 2
        return np.maximum(inside, 0) / self._total[:, None]

    @cached_property
    def _total(self) -> Floats:
        return np.where(self.batch.total > 0, self.batch.total, np.nan)

    @cached_property
    def _row_share(self) -> Floats:
        return self.batch.row_total / self._total[self.batch.row_table]

    @cached_property
    def _column_share(self) -> Floats:
        return self.batch.column_total / self._total[self.batch.column_table]

    def phi_squared(self, tables: Association, chi2: Floats) -> PhiSquared:
        """Bias-corrected phi-squared, in the same form as of independent counts (``effect_intervals``).

        Clusters: mean and variance without association are those of the draws ``chi2``, shape (replicates,
        T), variance and bias at the estimate those of leaving out one unit at a time. Weights: as of tables
        of so many rows as give chi-squared this mean without association (Rao and Scott's first order).
        """
        degrees = (tables.n_rows - 1) * (tables.n_columns - 1)
        freedom = np.where(degrees > 0, degrees.astype(np.float64), np.nan)
        if self.spread is not None:
            return self._weighted(tables, freedom)
        n = np.where(tables.n > 0, tables.n, np.nan)
        units = np.maximum(self.units, 1)
        floor = np.where(self.expected > 0, self.expected / n, freedom / units)
        noise = np.maximum(chi2.var(axis=0) / n**2, 1e-9 * floor**2)
        variance, bias = self._leave_one_out(tables, floor)
        return blended(tables.chi2 / n, floor, noise, variance, bias, freedom / floor)

    def _weighted(self, tables: Association, freedom: Floats) -> PhiSquared:
        b, scale = self.batch, np.nan_to_num(ratio(freedom, self.expected), nan=1.0)
        scaled = TableBatch(b.table, b.row, b.column, b.n * scale[b.table], b.n_tables, integral=False)
        return phi_squared(scaled, replace(tables, chi2=tables.chi2 * scale, n=tables.n * scale))

    def _leave_one_out(self, tables: Association, floor: Floats) -> Ends:
        """Variance and bias of phi-squared by leaving out each unit (jackknife), shape (T,) each."""
        variance, bias = np.full((2, self.batch.n_tables), np.nan)
        order = np.argsort(self.batch.table[self.cell], kind="stable")
        starts = np.searchsorted(self.batch.table[self.cell][order], np.arange(self.batch.n_tables + 1))
        for table in np.flatnonzero(tables.dof > 0).tolist():
            some = order[starts[table] : starts[table + 1]]
            left = self._without_each(some)
            count = len(left)
            if count > 1:
                variance[table] = (count - 1) / count * ((left - left.mean()) ** 2).sum()
                bias[table] = (count - 1) * (left.mean() - tables.chi2[table] / tables.n[table])
        return np.nan_to_num(variance), np.where(np.isnan(bias), floor, bias)

    def _without_each(self, some: Integers) -> Floats:
        """Phi-squared of one table without each of its units."""
        codes, unit = keys_and_codes(self.unit[some])
        rows, row = keys_and_codes(self.batch.row[self.cell[some]])
        columns, column = keys_and_codes(self.batch.column[self.cell[some]])
        counts = np.zeros((rows.size, columns.size))
        np.add.at(counts, (row, column), self.n[some])
        phi2 = []
        for piece in pieces(codes.size, _HELD, counts.size):
            here = (unit >= piece.start) & (unit < piece.stop)
            left = np.repeat(counts[None], piece.stop - piece.start, axis=0)
            np.subtract.at(left, (unit[here] - piece.start, row[here], column[here]), self.n[some][here])
            margins = left.sum(axis=2, keepdims=True) * left.sum(axis=1, keepdims=True)
            phi2.append(ratio(left**2, margins, 0.0).sum(axis=(1, 2)) - 1)
        return np.concatenate(phi2)
