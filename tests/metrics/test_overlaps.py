"""Mistakes of attributes that go together say how many rows they share."""

from dataclasses import replace
from io import StringIO

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import evenhand as eh
from evenhand.cli.summaries.subgroups import print_subgroups
from evenhand.core.significance import p_among_all
from evenhand.display.overview.subject import Subject
from evenhand.display.text.formatting import p_phrase, p_value
from evenhand.report.checking.check import check, contradictions
from tests.report.falsified import number, with_place


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


@pytest.fixture(scope="module")
def less_accurate():
    """Women are less often right, in each of 60 classes a little; age agrees in nine of ten rows."""
    rng = np.random.default_rng(3)
    gender, truth = rng.integers(2, size=2400), rng.integers(60, size=2400)
    age = np.where(rng.random(2400) < 0.9, gender, 1 - gender)
    wrong = rng.random(2400) > np.array([0.92, 0.8])[gender]
    said = np.where(wrong, (truth + rng.integers(1, 60, 2400)) % 60, truth)
    names = {"gender": np.array(["man", "woman"])[gender], "age": np.array(["young", "old"])[age]}
    return pl.DataFrame({"truth": truth, "said": said, **names}).cast(pl.String)


def test_accuracies_of_attributes_that_go_together_say_how_many_mistakes_they_share(less_accurate):
    by = ["gender", "age", ("gender", "age")]
    run = eh.audit(less_accurate, truth="truth", prediction="said", by=by)
    first, *others = run.overview.beyond
    assert {line.metric.partition("(")[0] for line in run.overview.beyond} == {"accuracy_contrast"}
    assert (first.by, {line.by for line in others}) == ("gender", {"age", "gender+age"})
    assert "finding" not in first.certainty
    wrong = less_accurate.filter(pl.col("truth") != pl.col("said"))
    old = wrong.filter(age="old")
    both = old.filter(gender="woman").height
    alike = next(line for line in others if line.by == "age")
    assert alike.certainty.endswith(f"Most of it lies in finding 1: {both} of its {old.height} mistakes.")
    crossed = next(line for line in others if line.by == "gender+age")
    assert "are those of finding 1." in crossed.certainty


def test_a_group_that_is_spared_says_whose_mistakes_are_those_elsewhere():
    """Of crossed groups the one without mistakes stands apart, since the others hold those of one gender."""
    cells = {("g0", "a0"): (199, 72), ("g0", "a1"): (25, 12), ("g1", "a0"): (19, 0), ("g1", "a1"): (178, 0)}
    rows = [("c0", "c1" if k < wrong else "c0", *groups) for groups, (n, wrong) in cells.items()
            for k in range(n)]  # fmt: skip
    rows += [(truth, truth, *groups) for groups in cells for truth in ("c1", "c2") for _ in range(100)]
    frame = pl.DataFrame(rows, schema=["truth", "said", "gender", "age"], orient="row")
    run = eh.audit(frame, truth="truth", prediction="said", by=["gender", "age", ("gender", "age")])
    first, *others = run.overview.beyond
    spared = next(line for line in others if "g1 · a1 is spared" in line.text)
    assert (first.by, spared.shared[first.name], spared.mistakes) == ("gender", 84, 84)
    assert spared.certainty.endswith("All 84 mistakes are those of finding 1.")
    assert check(run.findings, run.manifest, run.counts["predictions"]) == []
    others = replace(spared, certainty=with_place(spared.certainty, "n", lambda _: number(83), skip=1))
    overview = replace(run.overview, headlines=[first, others])
    subject, counts = Subject.of(run.manifest, run.findings), run.counts["predictions"]
    wrong = contradictions(overview, run.findings.findings, subject, counts)
    assert any("cases is 84, and not 83" in contradiction.why for contradiction in wrong)


def test_accuracies_of_attributes_apart_share_no_mistakes(less_accurate):
    rng = np.random.default_rng(4)
    apart = rng.integers(2, size=less_accurate.height)
    worse = rng.random(apart.size) < 0.15 * apart
    truth = pl.col("truth")
    said = pl.when(pl.Series(worse)).then(60 - truth.cast(pl.Int64)).otherwise("said").cast(pl.String)
    frame = less_accurate.with_columns(site=pl.Series(apart).cast(pl.String), said=said)
    run = eh.audit(frame, truth="truth", prediction="said", by=["gender", "site"])
    assert {line.by for line in run.overview.beyond} == {"gender", "site"}
    assert not any(line.shared for line in run.overview.beyond)


def test_a_group_that_is_better_by_rate_says_nothing_of_the_rows_of_mistakes(table):
    """The crossed mistake lies inside a group whose accuracy is told; rates have no rows that hold it."""
    frame = table.with_columns(age=pl.when(pl.col("age") == "0").then(pl.lit("0")).otherwise(
        pl.concat_str("age", pl.int_range(pl.len()) % 2)))  # fmt: skip
    run = eh.audit(frame, truth="truth", prediction="said", by=["gender", "age", ("gender", "age")])
    assert not any("of the 0" in line.certainty for line in run.overview.beyond)


def test_what_a_search_lists_again_is_told_to_be_the_first(table):
    """Its p is that among all questions of the run wherever it stands."""
    run = eh.audit(table, truth="truth", prediction="said", by=["gender"], search=["gender", "age"])
    others = run.overview.beyond[1:]
    search = run.finding("subgroups")
    again = next(line for line in others if line.metric == search.metric and line.rows)
    wrong = table.filter(truth="0", gender="1").filter(pl.col("said") != "0").height
    told = table.filter(truth="0", gender="1", said="2").height
    assert f"Most of it lies in finding 1: {told} of its {wrong}." in again.certainty
    part = next(part for part in search.parts if part.key == ["0", "gender = 1"])
    p = p_among_all(search, part)
    assert p >= part.p_adjusted
    assert again.certainty.startswith(f"{p_phrase(p)}, ")
    assert f'class="right">{p_value(p)}</td></tr>' in run.html()
    buffer = Console(record=True, width=300, file=StringIO())
    print_subgroups(buffer, run.findings)
    assert f"p adj. {p_value(p)}" in buffer.export_text()


def test_of_weighted_rows_the_share_of_mistakes_is_told(less_accurate):
    """Sums of weights are no numbers of mistakes."""
    weight = pl.Series(np.random.default_rng(5).choice([0.3, 2.75], less_accurate.height))
    run = eh.audit(
        less_accurate.with_columns(w=weight),
        truth="truth",
        prediction="said",
        by=["gender", "age"],
        weight="w",
    )
    wrong = less_accurate.with_columns(w=weight).filter(
        (pl.col("truth") != pl.col("said")) & (pl.col("age") == "old")
    )
    both = wrong.filter(gender="woman")["w"].sum() / wrong["w"].sum()
    assert run.overview.beyond[1].certainty.endswith(f"{both * 100:.0f} % of it lies in finding 1.")
