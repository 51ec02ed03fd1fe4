"""A newcomer's first table, typed at the terminal: the first line names what was planted."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from evenhand.core.random_streams import stream
from tests.cli.test_audit import type_in

INTENTS = ("account_locked", "fraud_report", "refund", "general_question", "delivery_delay")
OFFICE = "Lagos"
COLUMNS = ("--truth", "intent", "--prediction", "predicted", "--by", "office", "--noun", "tickets")


def tickets(rng, offices, rate):
    """100 tickets of each intent in every office, one of ten wrong; one mistake besides in one office."""
    office, truth = (codes.ravel() for codes in np.indices((offices, len(INTENTS), 100))[:2])
    wrong = (truth + rng.integers(1, len(INTENTS), truth.size)) % len(INTENTS)
    said = np.where(rng.random(truth.size) < 0.1, wrong, truth)
    is_hurt = (office == 0) & (truth == 0) & (rng.random(truth.size) < rate)
    intents = pl.Series(INTENTS)
    names = pl.Series([OFFICE, *(f"office {number:02d}" for number in range(2, offices + 1))])
    return pl.DataFrame(
        {
            "intent": intents.gather(truth),
            "predicted": intents.gather(np.where(is_hurt, 1, said)),
            "office": names.gather(office),
        }
    )


@pytest.mark.parametrize("offices", [2, 5, 23])
def test_the_first_headline_names_office_intent_and_wrong_intent_with_their_counts(
    offices, tmp_path, monkeypatch, capsys
):
    table = tickets(stream(0, "terminal", offices), offices, 0.3)
    table.write_csv(tmp_path / "tickets.csv")
    assert type_in(monkeypatch, "audit", tmp_path / "tickets.csv", *COLUMNS) == 0
    of_class = table.filter(intent=INTENTS[0])
    is_there, is_called = pl.col("office") == OFFICE, pl.col("predicted") == INTENTS[1]
    a, b = (of_class.filter(where & is_called).height for where in (is_there, ~is_there))
    n, m = (of_class.filter(where).height for where in (is_there, ~is_there))
    other = "office 02" if offices == 2 else "elsewhere"
    lead = f"{OFFICE}: {a} of {n} {INTENTS[0]} tickets are called {INTENTS[1]}; {other} {b:,} of {m:,}."
    kicker, _, text = capsys.readouterr().out.partition("\n")
    assert f"{offices} groups" in kicker
    assert " ".join(text.split()).removeprefix("1 ").startswith(lead)
