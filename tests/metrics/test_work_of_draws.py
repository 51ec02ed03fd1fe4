"""How many draws are made: fewer for large designs, so that memory and minutes stay bounded."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.metrics.classification import margin_rates
from evenhand.metrics.classification.margin_rates import Margins
from evenhand.metrics.prepared import BoundCounts
from evenhand.stats.exchange import rows, unit_rates
from evenhand.stats.exchange.rows import UnitRows, exchange
from evenhand.stats.exchange.unit_rates import UnitRates
from tests.metrics.test_margins import persons


@pytest.mark.parametrize(
    ("groups", "mixed", "work"),
    [
        (2, False, 40 + 4 * 2**2),  # units, and each two groups compared
        (8, False, 40 + 4 * 8**2),
        (2, True, 2 * 120 + 4 * 2**2),  # rows inside of units, twice
        (8, True, 2 * 120 * 2 + 4 * 8**2),
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
        margins = Margins.of(BoundCounts.of(counts, "group", 0))
        assert margins.tables.unit.size == 60
        assert margins.of_hits.hits.shape[0] == draws


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
