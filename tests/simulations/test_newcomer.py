"""The newcomer's table, a few times: the script's bounds hold, and a miss is an exit status."""

from __future__ import annotations

import numpy as np
import pytest

from simulations import newcomer


@pytest.mark.parametrize("offices", newcomer.LEAST)
def test_the_first_line_names_office_intent_and_wrong_intent(offices):
    drawn = list(newcomer.outcomes(offices, 0.3, 12, seed=0))
    assert np.mean([outcome.first == newcomer.PLANTED for outcome in drawn]) >= newcomer.LEAST[offices][0.3]
    assert np.mean([outcome.in_run == newcomer.PLANTED for outcome in drawn]) >= newcomer.LEAST[offices][0.3]


def test_nothing_is_said_where_nothing_is_planted():
    drawn = [outcome for offices in (2, 5) for outcome in newcomer.outcomes(offices, 0, 30, seed=0)]
    assert np.mean([outcome.first is None for outcome in drawn]) >= newcomer.LEAST_QUIET
    assert all(outcome.first is not None for outcome in drawn if outcome.in_run is not None)


def test_the_table_has_what_was_planted():
    table = newcomer.tickets(np.random.default_rng(0), 3, 0.5)
    counts = dict(table.group_by("office", "intent").len().select("office", "len").iter_rows())
    assert counts == dict.fromkeys(["Lagos", "office 02", "office 03"], 100)
    intent, office, wrong = newcomer.PLANTED
    rows = table.filter(intent=intent)
    hurt, others = rows.filter(office=office), rows.remove(office=office)
    assert hurt.filter(predicted=wrong).height / 100 == pytest.approx(0.51, abs=0.12)
    assert others.filter(predicted=wrong).height / 200 == pytest.approx(0.025, abs=0.03)


@pytest.mark.parametrize("least", [0.9, 1.1])
def test_a_share_below_its_bound_is_an_exit_status(least, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["newcomer", "--simulations", "4"])
    monkeypatch.setattr(newcomer, "LEAST", {3: {0.5: least}})
    assert newcomer.main() == (least > 1)
    printed = capsys.readouterr().out
    assert f"{2 * (least > 1)} shares below their bound" in printed
    assert "| 3 | 0.5 | " in printed
