"""Null bands and p of tables: against scipy's laws and the draws themselves; which tables are drawn."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

from evenhand.metrics.classification.null_effects import _sharpened, null_chi2, null_of_units
from evenhand.metrics.tables.margin_rates import draw_tables, samplers
from evenhand.stats.contingency.null_tables import (
    chi2_of,
    gamma_null,
    permutation_moments,
    tail_of_draws,
)
from evenhand.stats.contingency.tables import association
from tests.helpers import one_table


def null_of(table):
    """The null of one table, and its chi-squared."""
    batch = one_table(np.array(table))
    found = association(batch)
    return null_chi2(batch, found, np.random.default_rng), found.chi2[0]


def test_a_large_table_has_the_band_and_p_of_a_gamma():
    table = np.array([[120, 90, 95], [130, 110, 80], [100, 99, 101]])
    null, chi2 = null_of(table)
    batch = one_table(table)
    (mean,), (variance,) = permutation_moments(batch, association(batch))
    law = stats.gamma(mean**2 / variance, scale=variance / mean)
    assert null.band[:, 0] == pytest.approx((0, law.ppf(0.95)))
    assert null.p[0] == pytest.approx(law.sf(chi2))


@pytest.mark.parametrize("table", [[[2, 0], [0, 1]], [[8, 2], [3, 7]], [[40, 10], [5, 6]], [[1, 0], [0, 19]]])
def test_two_by_two_tables_have_the_band_of_the_hypergeometric(table):
    (a, b), (c, d) = table
    n, row, column = a + b + c + d, a + b, a + c
    law, places = stats.hypergeom(n, row, column), range(max(0, row + column - n), min(row, column) + 1)
    every = {}
    for place in places:
        away = (place - row * column / n) ** 2 * n**3 / (row * (n - row) * column * (n - column))
        every[round(away, 9)] = every.get(round(away, 9), 0) + law.pmf(place)
    below, high = 0.0, 0.0
    for high in sorted(every):
        below += every[high]
        if below >= 0.95:
            break
    null, chi2 = null_of(table)
    assert null.band[:, 0] == pytest.approx((min(every), high), abs=1e-8)
    assert null.p[0] == pytest.approx(sum(p for value, p in every.items() if value >= chi2 - 1e-6))


def test_a_small_table_has_the_band_of_its_draws():
    null, chi2 = null_of([[9, 4, 2], [3, 5, 7]])
    draws = null.draws[:, 0]
    assert null.band[:, 0] == pytest.approx((draws.min(), np.quantile(draws, 0.95)))
    assert null.p[0] == (1 + (draws >= chi2 - 1e-9).sum()) / (1 + draws.size)


def turned(columns, row):
    """A table of two rows, the first of so many counts, spread over the columns."""
    first = np.array(columns) * row // sum(columns)
    first[: row - first.sum()] += 1
    return [first, np.array(columns) - first]


@pytest.mark.parametrize(
    ("table", "drawn"),
    [
        (turned([67, 66, 66], 100), True),  # 199 rows
        (turned([67, 67, 66], 100), False),
        (turned([333, 333, 333], 5), True),  # 999 rows, 1.7 of them expected in each cell of a row
        (turned([334, 333, 333], 5), False),
        (turned([100, 100, 100], 5), True),
        (turned([100, 100, 100], 6), False),  # 2 expected
        (turned([250, 25, 24], 150), True),  # 49 beside the most frequent label
        (turned([250, 25, 25], 150), False),
    ],
)
def test_tables_are_drawn_where_a_gamma_would_be_wrong(table, drawn):
    how = "permutation with fixed margins" if drawn else "gamma with exact permutation moments"
    assert null_of(table)[0].method == [how]


@pytest.mark.parametrize("far", [9, 10])
def test_units_have_the_band_of_their_draws_and_below_ten_of_them_their_tail(far):
    draws = np.random.default_rng(0).gamma(2.0, 3.0, (999, 2)).clip(0, 20)
    draws[:far] = chi2 = np.array([7.0, 45.0])
    units = SimpleNamespace(draws=lambda *_: draws, fixed=False, few=np.zeros(2, dtype=bool), method="m")
    null = null_of_units(units, SimpleNamespace(chi2=chi2, dof=np.ones(2)), np.random.default_rng(0))
    np.testing.assert_allclose(null.band, [draws.min(axis=0), np.quantile(draws, 0.95, axis=0)])
    sums, counted = draws.sum(axis=1), (1 + far) / 1000
    assert null.p[0] == (1 + (draws[:, 0] >= 7).sum()) / 1000
    for p, column, value in ((null.p[1], draws[:, 1], 45), (null.total, sums, 52)):
        tail = stats.pearson3(stats.skew(column), column.mean(), column.std()).sf(value)
        assert tail < 0.9 * counted
        assert p == pytest.approx(tail if far < 10 else counted)


@pytest.mark.parametrize("columns", [[30, 9, 5], [3, 4, 2, 5, 4, 3]])
def test_tables_are_those_of_scipys_random_table(columns):
    """SciPy chooses its sampler by the size of the table; its module is loaded without scipy.stats."""
    columns, rows = np.array(columns, dtype=float), np.array([sum(columns) - 8, 8.0])
    theirs = stats.random_table(rows.astype(int), columns.astype(int)).rvs(
        50, random_state=np.random.default_rng(3)
    )
    assert samplers() is not None
    np.testing.assert_array_equal(draw_tables(np.random.default_rng(3), rows, columns, 50), theirs)


def test_small_p_are_those_of_all_tables():
    """33 of 60 wrong of one group, 9 of 60 of the two others."""
    null = null_of([[27, 33], [51, 9], [51, 9]])[0]
    cells = np.array([(a, b, 51 - a - b) for a in range(52) for b in range(52 - a)])
    weight = np.exp(
        special.gammaln(61) * 3 - (special.gammaln(cells + 1) + special.gammaln(61 - cells)).sum(1)
    )
    chi2 = ((cells - 17) ** 2).sum(axis=1) * (1 / 17 + 1 / 43)
    reached = chi2 >= (16**2 + 8**2 * 2) * (1 / 17 + 1 / 43) - 1e-9
    assert null.p[0] == pytest.approx(weight[reached].sum() / weight.sum(), rel=1e-9)
    assert null.p[0] < 1e-6


def test_ties_count_as_large_and_the_tail_decides_only_where_no_draw_is_as_large():
    """Both tables of these margins have chi-squared 2."""
    rng, ones = np.random.default_rng(0), np.array([1, 1])
    draws = rng.gamma(2.0, 1.0, 99)
    assert _sharpened(rng, (ones, ones), np.full(99, 2.0), 2.0, 1_000) == 1
    assert _sharpened(rng, (ones, ones), np.full(99, 2.0), 3.0, 99) == 1 / 100  # no variance, so no tail
    assert _sharpened(rng, (ones, ones), draws, 30.0, 99) == pytest.approx(
        stats.pearson3(stats.skew(draws), draws.mean(), draws.std()).sf(30)
    )


@pytest.mark.parametrize(
    ("rows", "columns"),
    [([300, 120, 80, 50, 30, 20], [560, 20, 12, 8]), ([150, 30, 10], [150, 15, 10, 5, 5, 5])],
)
def test_a_chi2_that_one_draw_in_10_000_exceeds_has_about_that_tail(rows, columns):
    """Of few mistakes in unequal groups; a gamma distribution from 0 says one in a million."""
    rows, columns = np.array(rows, dtype=float), np.array(columns, dtype=float)
    draws = chi2_of(draw_tables(np.random.default_rng(0), rows, columns, 50_000), rows, columns)
    value = np.quantile(draws, 1 - 1e-4)
    some = draws.reshape(25, 2_000).T
    tails = tail_of_draws(np.full(25, value), some)
    assert 1e-5 < np.median(tails) < 2e-4
    shape, scale = gamma_null(some.mean(axis=0), some.var(axis=0))
    assert np.median(special.gammaincc(shape, value / scale)) < 1e-5
