"""Replicates: bootstrap and null draws keep what is fixed and have the right moments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.tables.margin_rates import draw_tables
from evenhand.stats.contingency import resampling
from evenhand.stats.contingency.resampling import ClassCells, bootstrap_cells, bootstrap_chi2
from evenhand.stats.rates.confusion import SUMMARIES
from tests.helpers import counts_of, predictions, random_rows


def cells_of(table, label=0):
    group, prediction = np.nonzero(table)
    return ClassCells(label, group, prediction, np.asarray(table, dtype=float)[group, prediction])


FEW = np.array([[12, 3, 0, 5], [0, 4, 9, 2], [7, 0, 1, 1]])
MANY = FEW * 40


@pytest.mark.parametrize("table", [FEW, MANY], ids=["row by row", "multinomial"])
def test_bootstrap_keeps_the_size_of_every_group(table):
    cells = cells_of(table)
    draws = bootstrap_cells(np.random.default_rng(0), cells, 50)
    assert draws.shape == (50, cells.n.size)
    totals = np.stack([draws[:, cells.group == z].sum(axis=1) for z in range(3)], axis=1)
    np.testing.assert_array_equal(totals, np.broadcast_to(table.sum(axis=1), (50, 3)))


@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=4))
def test_bootstrap_of_any_table_keeps_the_sizes(table):
    table = np.array(table)
    if not table.any():
        return
    cells = cells_of(table)
    draws = bootstrap_cells(np.random.default_rng(0), cells, 3)
    for z in np.unique(cells.group):
        assert (draws[:, cells.group == z].sum(axis=1) == table[z].sum()).all()


@pytest.mark.parametrize("table", [FEW, MANY], ids=["row by row", "multinomial"])
def test_bootstrap_has_multinomial_moments(table):
    cells = cells_of(table)
    draws = bootstrap_cells(np.random.default_rng(1), cells, 20_000)
    size = table.sum(axis=1)[cells.group]
    share = cells.n / size
    np.testing.assert_allclose(draws.mean(axis=0), cells.n, rtol=0.03)
    np.testing.assert_allclose(draws.var(axis=0), size * share * (1 - share), rtol=0.08)


def test_both_ways_of_bootstrapping_agree(monkeypatch):
    cells = cells_of(FEW)
    by_row = bootstrap_cells(np.random.default_rng(2), cells, 20_000)
    monkeypatch.setattr(resampling, "_ROWS_PER_CELL", 0)
    by_cell = bootstrap_cells(np.random.default_rng(3), cells, 20_000)
    assert not np.array_equal(by_row, by_cell)
    np.testing.assert_allclose(by_row.mean(axis=0), by_cell.mean(axis=0), rtol=0.03)
    covariance = np.cov(by_row.T), np.cov(by_cell.T)
    np.testing.assert_allclose(*covariance, atol=0.2)


def test_chi2_of_resampled_tables_equals_scipy():
    cells = cells_of(FEW)
    draws = bootstrap_cells(np.random.default_rng(4), cells, 40)
    chi2, columns = bootstrap_chi2(cells, draws)
    for replicate, value, present in zip(draws, chi2, columns, strict=True):
        table = np.zeros(FEW.shape)
        table[cells.group, cells.prediction] = replicate
        table = table[:, table.any(axis=0)]
        assert present == table.shape[1]
        assert value == pytest.approx(stats.chi2_contingency(table, correction=False)[0], abs=1e-9)


def streams(key):
    return np.random.default_rng([7, *map(int, key)])


def margins(seed=0, n=600, classes=4, groups=3, accuracy=0.6):
    rows = random_rows(seed, classes=classes, groups=groups, n=n, accuracy=accuracy)
    return BoundCounts.of(predictions(rows), "group")


def joined(chunks):
    parts = list(chunks)
    return {
        name: np.concatenate([np.asarray(getattr(part, name)) for part in parts])
        for name in ("correct", "predicted")
    }


def test_cellwise_null_keeps_groups_and_predictions():
    prepared = margins()
    confusion = prepared.confusion
    drawn = joined(
        resampling.cellwise_null(prepared.class_cells, confusion.support, 30, streams, draw_tables)
    )
    np.testing.assert_array_equal(
        drawn["predicted"].sum(axis=1), np.broadcast_to(confusion.predicted.sum(axis=0), (30, 4))
    )
    np.testing.assert_array_equal(
        drawn["correct"].sum(axis=1), np.broadcast_to(confusion.correct.sum(axis=0), (30, 4))
    )
    sizes = np.broadcast_to(confusion.support.sum(axis=1), (30, 3))
    np.testing.assert_array_equal(drawn["predicted"].sum(axis=2), sizes)


def test_chunks_draw_as_many_replicates_as_asked(monkeypatch):
    prepared = margins(n=200)
    monkeypatch.setattr(resampling, "_CHUNK", 7 * prepared.confusion.support.size)
    drawn = joined(
        resampling.cellwise_null(prepared.class_cells, prepared.confusion.support, 30, streams, draw_tables)
    )
    assert drawn["correct"].shape[0] == 30
    monkeypatch.setattr(resampling, "_FEWEST_OF_CHUNK", 4)
    few = resampling.cellwise_null(prepared.class_cells, prepared.confusion.support, 30, streams, draw_tables)
    assert [len(chunk.correct) for chunk in few] == [7, 7, 7, 7, 2]
    wrong, rng = prepared.expected_wrong(), np.random.default_rng(0)
    chunks = list(resampling.marginal_null(prepared.confusion, wrong, 30, rng))
    assert [len(chunk.correct) for chunk in chunks] == [7, 7, 7, 7, 2]


# many labels and few errors on each: there the margins carry nearly all that the cells do
EVEN = {"n": 6_000, "classes": 20, "groups": 3, "accuracy": 0.7}
NAMES = ["accuracy", "mean_group_accuracy", "worst_group_accuracy", "accuracy_gap", "accuracy_range",
         "worst_class_group_accuracy", "demographic_parity/max", "demographic_parity/mean",
         "equalized_odds/max/max", "equalized_odds/avg/mean"]  # fmt: skip


def pooled(chunks):
    parts = [{key: chunk.summary(key) for key in SUMMARIES} for chunk in chunks]
    return {name: np.concatenate([part[name] for part in parts]) for name in NAMES}


@pytest.fixture(scope="module")
def even():
    prepared = margins(3, **EVEN)
    confusion = prepared.confusion
    rng = np.random.default_rng(11)
    return (
        pooled(resampling.cellwise_null(prepared.class_cells, confusion.support, 999, streams, draw_tables)),
        pooled(resampling.marginal_null(confusion, prepared.expected_wrong(), 999, rng)),
    )


@pytest.mark.parametrize("name", NAMES)
def test_margins_and_cells_give_the_same_distribution(even, name):
    cells, approximate = even[0][name], even[1][name]
    if name == "accuracy":
        assert np.ptp(cells) == np.ptp(approximate) == 0  # permuting groups leaves the accuracy alone
        return
    error = np.hypot(cells.std(), approximate.std()) / np.sqrt(999)
    assert approximate.mean() == pytest.approx(cells.mean(), abs=4 * error + 0.02 * cells.mean())
    ratio = approximate.std() / cells.std()
    assert 0.88 < ratio < 1.25  # the margins ignore that errors exclude each other: never much narrower


def test_marginal_null_keeps_hits_and_errors():
    prepared = margins(1)
    confusion = prepared.confusion
    drawn = joined(
        resampling.marginal_null(confusion, prepared.expected_wrong(), 40, np.random.default_rng(0))
    )
    hits = np.broadcast_to(confusion.correct.sum(axis=0), (40, 4))
    np.testing.assert_array_equal(drawn["correct"].sum(axis=1), hits)
    np.testing.assert_array_equal(
        drawn["predicted"].sum(axis=1), np.broadcast_to(confusion.predicted.sum(axis=0), (40, 4))
    )
    assert (drawn["correct"] <= confusion.support).all()


def test_replicates_do_not_depend_on_the_other_classes():
    tables = {"a": FEW.tolist(), "b": (FEW + 1).tolist()}
    labels = ["a", "b", "c", "d"]
    whole = BoundCounts.of(counts_of(tables, labels), "group")
    alone = BoundCounts.of(counts_of({"a": tables["a"]}, labels), "group")
    draws = [
        bootstrap_cells(p.stream("bootstrap", p.label_key(p.class_cells[0].label)), p.class_cells[0], 5)
        for p in (whole, alone)
    ]
    np.testing.assert_array_equal(*draws)
