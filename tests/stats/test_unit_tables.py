"""Tables of units: what chi-squared is without association, against draws and loops over units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.contingency.effect_intervals import phi_squared
from evenhand.stats.contingency.tables import TableBatch, association
from evenhand.stats.exchange.unit_tables import UnitTables

SHARES = np.array([0.6, 0.25, 0.1, 0.05])


def pieces(units, groups, *, mixed, seed=0, scale=1.0):
    """A batch of one table, and the cell, unit and size of each row of 8 rows a unit."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), 8)
    group = rng.integers(0, groups, unit.size) if mixed else (np.arange(units) % groups)[unit]
    said = rng.choice(4, unit.size, p=SHARES)
    said[::3] = (unit % 4)[::3]  # rows of a unit are alike
    table = np.zeros((1, groups, 4))
    np.add.at(table, (0, group, said), scale)
    batch = TableBatch.from_dense(table)
    cell = [
        int(np.flatnonzero((batch.row == g) & (batch.column == s))[0])
        for g, s in zip(group, said, strict=True)
    ]
    return batch, np.array(cell), unit, np.full(unit.size, scale)


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_signs_of_units_have_the_expected_mean(scale):
    made = UnitTables.of_clusters(*pieces(40, 3, mixed=True, scale=scale))
    assert not made.exchanged
    drawn = made.draws(np.random.default_rng(1), 6000)
    assert drawn.shape == (6000, 1)
    assert drawn.mean() == pytest.approx(made.expected[0], rel=0.05)
    assert made.units.tolist() == [40]


def test_weighted_rows_have_the_expected_mean_of_their_squares():
    batch, cell, _, n = pieces(40, 3, mixed=True)
    squares = np.bincount(cell, 4.0 * n, batch.n.size)
    made = UnitTables(batch, np.arange(batch.n.size), np.arange(batch.n.size), batch.n, squares)
    assert not made.exchanged
    assert not made.few[0]
    # weights of 2 in place of 1 for as many rows: four times the variance
    ones = UnitTables(batch, np.arange(batch.n.size), np.arange(batch.n.size), batch.n, batch.n)
    assert made.expected[0] == pytest.approx(4 * ones.expected[0])
    row, column = batch.row_total / batch.total, batch.column_total / batch.total
    by_hand = sum(
        n * (1 / row[r] - 1) * (1 / column[c] - 1)
        for n, r, c in zip(batch.n, batch.row, batch.column, strict=True)
    )
    assert ones.expected[0] == pytest.approx(by_hand / batch.total[0])


def test_exchanged_units_are_those_of_a_loop():
    """Chi-squared of the groups of each draw, in units of what the sizes of its groups lead to expect."""
    batch, cell, unit, n = pieces(20, 3, mixed=False)
    made = UnitTables.of_clusters(batch, cell, unit, n)
    assert made.exchanged
    found = made.draws(np.random.default_rng(5), 30)[:, 0]
    groups = made._labels.wholes(np.random.default_rng(5), 30)
    said, share = batch.column[cell], np.bincount(batch.column[cell], minlength=4) / n.size
    counts = np.stack([np.bincount(said[unit == one], minlength=4) for one in range(20)])
    away = counts - 8 * share  # of each unit of 8 rows
    for value, group in zip(found, groups, strict=True):
        chi2 = mean = 0.0
        for one in np.unique(group):
            inside, rows = group == one, 8 * (group == one).sum()
            chi2 += (away[inside].sum(axis=0) ** 2 / share).sum() / rows
            mean += (1 / rows - 1 / 160) * (away[inside] ** 2 / share).sum()
        assert value == pytest.approx(chi2 / mean * made.expected[0])


@pytest.mark.parametrize("units", [29, 30])
def test_fewer_than_thirty_units_are_few(units):
    assert UnitTables.of_clusters(*pieces(units, 2, mixed=True)).few.tolist() == [units < 30]


def test_what_units_say_of_phi_squared_does_not_depend_on_the_scale_of_their_weights():
    found = []
    for scale in (1.0, 0.01):
        batch, *rows = pieces(40, 3, mixed=True, scale=scale)
        made = UnitTables.of_clusters(batch, *rows)
        found.append(made.phi_squared(association(batch), made.draws(np.random.default_rng(1), 200)))
    for name, values in vars(found[0]).items():
        assert getattr(found[1], name) == pytest.approx(values), name


@pytest.mark.parametrize("groups", [2, 3])
def test_rows_of_one_weight_say_of_phi_squared_what_they_say_without(groups):
    counts = np.outer([100.0, 60.0, 40.0][:groups], [5, 3, 1, 1])[None]  # no association: the mean is exact
    plain, weighted = TableBatch.from_dense(counts), TableBatch.from_dense(3 * counts)
    cells = np.arange(plain.n.size)
    rows = UnitTables(weighted, cells, cells, weighted.n, 9 * plain.n)
    found = rows.phi_squared(association(weighted), np.empty((0, 1)))
    for name, values in vars(phi_squared(plain, association(plain))).items():
        assert getattr(found, name) == pytest.approx(values), name


def test_bias_and_variance_of_phi_squared_are_those_of_leaving_out_each_unit():
    batch, cell, unit, size = pieces(15, 2, mixed=True)
    made = UnitTables.of_clusters(batch, cell, unit, size)
    tables = association(batch)
    variance, bias = made._leave_one_out(tables, np.zeros(1))

    def without(one):
        dense = np.zeros((2, 4))
        np.add.at(dense, (batch.row[cell], batch.column[cell]), np.where(unit == one, 0, size))
        return stats.chi2_contingency(dense, correction=False).statistic / dense.sum()

    left, value = np.array([without(one) for one in range(15)]), without(-1)
    assert variance[0] == pytest.approx(14 / 15 * ((left - left.mean()) ** 2).sum())
    assert bias[0] == pytest.approx(14 * (left.mean() - value))
