"""How many draws are made: fewer for large designs, so that memory and minutes stay bounded."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.suites import audit
from evenhand.metrics.tables import grouping, margin_rates
from evenhand.stats.exchange import rows, unit_rates
from evenhand.stats.exchange.rows import UnitRows, exchange
from evenhand.stats.exchange.unit_rates import UnitRates
from tests.helpers import counts_of
from tests.metrics.test_margins import persons, weighted


@pytest.mark.parametrize(
    ("groups", "mixed", "work"),
    [
        (2, False, 40 + 4 * 2**2),  # units, and each two groups compared
        (8, False, 40 + 4 * 8**2),
        (2, True, 4 * 40 * 2 + 4 * 2**2),  # shares of units in the groups, and what is made of them
        (8, True, 4 * 40 * 8 + 4 * 8**2),
    ],
)
def test_an_exchange_draws_as_often_as_its_work_allows(groups, mixed, work, monkeypatch):
    unit = np.repeat(np.arange(40), 3)
    group = np.arange(120) % groups if mixed else unit % groups
    values = np.random.default_rng(0).integers(0, 2, 120).astype(float)
    made = UnitRows(values, group, groups, unit)

    def draws(bound, fewest=1, most=10_000):
        for name, number in (("_WORK", bound), ("_FEWEST", fewest), ("_MOST", most)):
            monkeypatch.setattr(rows, name, number)
        return exchange(made, np.random.default_rng(0)).replicates

    assert draws(50 * work) == 50
    assert draws(50 * work - 1) == 49
    assert draws(50 * work, fewest=60) == 60
    assert draws(50 * work, most=20) == 20


def test_right_answers_of_units_are_drawn_as_often_as_their_work_allows(monkeypatch):
    for bound, draws in ((7 * (3 * 4 + 60), 14), (7 * (3 * 4 + 60) - 1, 13)):
        for name, number in (("_WORK", bound), ("_FEWEST", 1), ("_MOST", 10_000)):
            monkeypatch.setattr(margin_rates, name, number)
        counts = persons(draws, groups=3, each=5, photos=4)  # new ones: what is drawn is kept
        margins = BoundCounts.of(counts, "group", 0)
        assert margins.tables.unit.size == 60
        assert margins.hits.replicates == draws


@pytest.mark.parametrize("bound", [20 * 2 * 4, 20 * 2 * 4 - 1])
def test_what_groups_share_is_held_up_to_a_bound(bound, monkeypatch):
    monkeypatch.setattr(unit_rates, "_SHARED", bound)
    rng = np.random.default_rng(0)
    truth, said = rng.integers(0, 4, (2, 100))
    made = UnitRates(truth, np.arange(100) % 2, said, np.repeat(np.arange(20), 5), np.ones(100), 2, 4)
    covariance = made.rates("predicted").covariance
    assert (covariance is None) == (bound < 160)
    if covariance is not None:
        assert covariance.shape == (4, 2, 2)
        each = [
            [said[(np.arange(100) % 2 == g) & (np.arange(100) // 5 == u)] for g in (0, 1)] for u in range(20)
        ]
        shifts = np.zeros((20, 2))
        for g in (0, 1):
            sizes = np.array([unit[g].size for unit in each])
            hits = np.array([(unit[g] == 1).sum() for unit in each])
            mean = hits.sum() / sizes.sum()
            shifts[:, g] = (hits - mean * sizes) / sizes.sum() / (1 - sizes / sizes.sum()) * np.sqrt(19 / 20)
        assert covariance[1] == pytest.approx(shifts.T @ shifts)


@pytest.mark.parametrize(("bound", "draws"), [(12 * 80, 80), (12 * 80 - 1, 79), (12 * 7, 60), (10**9, 999)])
def test_noise_of_weights_is_held_up_to_a_bound(bound, draws, monkeypatch):
    counts = weighted()
    margins = BoundCounts.of(counts, "group", 0)
    assert margins.truth.size == 12  # cells, as many as 3 groups x 2 truths x 2 answers
    monkeypatch.setattr(margin_rates, "_KEPT", bound)
    noise = margins.weight_noise("predicted")
    assert noise.shape == (draws, 3, 2)
    assert noise.sum(axis=2) == pytest.approx(np.zeros((draws, 3)), abs=1e-12)  # what one label gains


def test_noise_of_few_cells_is_held_by_groups_and_labels(monkeypatch):
    frame = pl.DataFrame(
        {"label": range(10), "said": range(10), "group": [0, 1, 2, 2, 2] * 2, "w": [2.0] * 10}
    )
    counts = Predictions.from_frame(frame, truth="label", prediction="said", weight="w").count(["group"])
    margins = BoundCounts.of(counts, "group", 0)
    monkeypatch.setattr(margin_rates, "_KEPT", 90 * 3 * 10)
    assert margins.weight_noise("true").shape == (90, 3, 10)
    assert np.isnan(margins.weight_noise("true")).sum() == 90 * (30 - 10)  # no rows of such a truth


@pytest.mark.parametrize("kind", ["hit", "predicted", "true", "false"])
def test_noise_and_size_of_weights_are_those_of_squared_weights(kind):
    """Of a share p of weights w: ``sum (w (x - p))^2 / (sum w)^2``, by cells; noise: at the p of all."""
    bound = BoundCounts.of(weighted(0.001), "group", 0)
    margins, cells = bound, bound
    noise, rates = margins.weight_noise(kind), margins.rates(kind)
    label = noise.shape[2] - 1
    trials = {"true": cells.truth == 1, "false": cells.truth != 1}.get(kind, cells.group >= 0)
    hits = cells.truth == cells.prediction if kind == "hit" else cells.prediction == 1
    for group in range(3):
        some = trials & (cells.group == group)
        n, square, hit = cells.n[some], cells.moments[1][some], hits[some]
        share = n[hit].sum() / n.sum()
        variance = (square * (hit - share) ** 2).sum() / n.sum() ** 2
        all_hits = hits & trials
        pooled = (cells.n[all_hits].sum()) / cells.n[trials].sum()
        freedom = rates.freedom[label, group]
        of_t = (square * (hit - pooled) ** 2).sum() / n.sum() ** 2 * freedom / (freedom - 2)
        assert noise[:, group, label].var() == pytest.approx(of_t, rel=0.2)  # 999 draws
        assert noise[:, group, label].mean() == pytest.approx(0, abs=4 * np.sqrt(of_t / 999))
        assert rates.value[label, group] == pytest.approx(share)
        rows, kish = cells.moments[0][some].sum(), n.sum() ** 2 / square.sum()
        size = share * (1 - share) / (variance * rows / (rows - 1))
        assert rates.size[label, group] == pytest.approx(min(size, rows))
        assert rates.freedom[label, group] == pytest.approx(max(kish - 1, 1))


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("CELL_BUDGET", (2 + 3) * 2 * 7),  # answers that a class has x groups x draws
        ("MOST_ROWS", 60),
        ("_MOST_CELLS", 8 + 1),  # cells that have rows
    ],
)
def test_tables_are_drawn_cell_by_cell_up_to_each_bound(name, least, monkeypatch):
    tables = {"a": [[9, 1, 0], [8, 2, 0]], "b": [[5, 10, 0], [0, 10, 15]]}
    bound = BoundCounts.of(counts_of(tables, ["a", "b", "c"]), "group", 0)
    assert bound.truth.size == 8
    monkeypatch.setattr(grouping, name, least)
    assert bound.cellwise(7)
    monkeypatch.setattr(grouping, name, least - 1)
    assert not bound.cellwise(7)


@pytest.mark.parametrize("cells", [True, False])
def test_few_cells_keep_what_an_audit_computed_for_the_tables_of_the_papers(cells, monkeypatch):
    counts = persons(3, groups=3, each=5, photos=4)
    monkeypatch.setattr(audit, "_SHARED", counts.n.size if cells else counts.n.size - 1)
    _, bound = audit.audit_grouping(counts, ["group"], metrics=[], seed=4)
    assert (BoundCounts.of(counts, "group", 4) is bound) is cells
    assert BoundCounts.of(counts, "group", 5) is not bound
