"""Mistakes of attributes that go together say how many rows they share."""

from io import StringIO

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import evenhand as eh
from evenhand.cli.summaries.subgroups import print_subgroups
from evenhand.core.display.overview.phrasing import p_text
from evenhand.core.significance import p_among_all
from evenhand.core.text.formatting import p_value


@pytest.fixture(scope="module")
def table():
    """Mistakes depend on gender; age agrees with gender in nine of ten rows."""
    rng = np.random.default_rng(1)
    gender, truth = rng.integers(2, size=1500), rng.integers(4, size=1500)
    age = np.where(rng.random(1500) < 0.9, gender, 1 - gender)
    said = np.where(rng.random(1500) < 0.92, truth, (truth + 1) % 4)
    said = np.where((gender == 1) & (truth == 0) & (rng.random(1500) < 0.3), 2, said)
    return pl.DataFrame({"truth": truth, "said": said, "gender": gender, "age": age}).cast(pl.String)


def test_the_second_of_two_attributes_is_told_to_be_the_first(table):
    columns = {"truth": "truth", "prediction": "said"}
    run = eh.audit(table, **columns, by=["gender", "age", ("gender", "age")])
    first, *others = run.overview.beyond
    planted = table.filter(truth="0", said="2")
    assert first.text.startswith(f"1: {planted.filter(gender='1').height} of ")
    assert "finding 1" not in first.certainty
    alike = next(line for line in others if line.by == "age")
    both = planted.filter(gender="1", age="1").height
    assert alike.shared[first.name] == both
    cases = planted.filter(age="1").height
    most = f"Most of it lies in finding 1: {both} of its {cases}."
    assert (f"All {cases} are those of finding 1." if both == cases else most) in alike.certainty


def test_mistakes_of_attributes_apart_say_nothing(table):
    frame = table.with_columns(age=pl.Series(np.random.default_rng(2).integers(3, size=1500)).cast(pl.String))
    run = eh.audit(frame, truth="truth", prediction="said", by=["gender", "age"])
    assert run.overview.beyond
    assert all(not line.shared for line in run.overview.beyond)


def test_what_a_search_lists_again_is_told_to_be_the_first(table):
    """Its p is that among all questions of the run wherever it stands."""
    run = eh.audit(table, truth="truth", prediction="said", by=["gender"], search=["gender", "age"])
    first, *others = run.overview.beyond
    search = run.finding("subgroups")
    again = next(line for line in others if line.metric == search.metric and line.rows)
    wrong = table.filter(truth="0", gender="1").filter(pl.col("said") != "0").height
    told = table.filter(truth="0", gender="1", said="2").height
    assert f"Most of it lies in finding 1: {told} of its {wrong}." in again.certainty
    part = next(part for part in search.parts if part.key == ["0", "gender = 1"])
    p = p_among_all(search, part)
    assert p >= part.p_adjusted
    assert again.certainty.startswith(f"{p_text(p)}, ")
    assert f'class="right">{p_value(p)}</td></tr>' in run.html()
    buffer = Console(record=True, width=300, file=StringIO())
    print_subgroups(buffer, run.findings)
    assert f"p adj. {p_value(p)}" in buffer.export_text()
