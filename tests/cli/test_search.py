"""``evenhand audit --search``: what is printed, written and refused."""

import json

import polars as pl
import pytest
from rich.console import Console

from evenhand import Predictions, metrics
from evenhand.cli.summaries.subgroups import print_subgroups
from evenhand.workflows.audit import audit_table
from tests.cli.test_audit import HOSTILE, type_in
from tests.metrics.test_subgroups import tickets

COLUMNS = ["--truth", "truth", "--prediction", "prediction", "--by", "office"]


def test_a_search_is_printed_after_the_groupings(tmp_path, monkeypatch, capsys):
    tickets(rows=900, office="Lagos", channel="web").write_csv(tmp_path / "t.csv")
    words = ["--search", "office,channel,tier", "-o", tmp_path / "out"]
    assert type_in(monkeypatch, "audit", tmp_path / "t.csv", *COLUMNS, *words) == 0
    printed = capsys.readouterr().out
    before, after = printed.split("search office, channel, tier\n")
    assert before.splitlines()[0] == "1 finding by office · 1 subgroup by search · 2 groups · 900 of 900 rows"
    assert after.startswith("  Lagos · web: ")
    assert "%); in all others" in after.splitlines()[0]
    p = after.splitlines()[0].partition("p adj. ")[2]
    assert f"p = {p}, corrected for" in " ".join(before.split())  # that of the first lines
    assert "by office+channel+tier" not in printed
    findings = json.loads((tmp_path / "out" / "findings.json").read_text())["findings"]
    assert findings[-1]["metric"] == "subgroups(by=office+channel+tier)"
    report = (tmp_path / "out" / "report.html").read_text()
    part = findings[-1]["parts"][0]
    a, n, b, m = (
        part["details"].get(name, part["n"]) for name in ("mistakes", "n", "rest_mistakes", "rest_n")
    )
    text = f"Lagos · web: {a:.0f} of {n:.0f} rows are wrong; elsewhere {b:.0f} of {m:.0f}."
    assert text in before
    section = report[report.index('<section id="search"') :].partition("</section>")[0]
    assert (
        "1 subgroup of <bdi>office, channel, tier</bdi> with more mistakes than its classes give" in section
    )
    assert f"{a:.0f} of {n:.0f} (" in section
    low, high = (round(100 * part["details"][end]) for end in ("low", "high"))
    assert f"points ({low} to {high})</td>" in section
    assert "by search" in report[report.index('id="finding"') : report.index('id="groups"')]


def test_runs_that_are_added_up_are_searched(tmp_path):
    frame, columns = tickets(office="Lagos", channel="web"), {"truth": "truth", "prediction": "prediction"}
    options = {"by": ["office"], "search": "office,channel", "metrics": ["accuracy"]}
    for number, part in enumerate((frame[:900], frame[900:])):
        part.write_parquet(tmp_path / f"{number}.parquet")
        words = {**options, "columns": columns, "out": tmp_path / f"part-{number}"}
        audit_table(str(tmp_path / f"{number}.parquet"), **words)
    run = audit_table(str(tmp_path / "part-*"), columns=dict.fromkeys(columns), **options)
    assert run["subgroups"].parts[0].key == ["office = Lagos", "channel = web"]
    assert run["subgroups"].n == 2_000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "office", "--search", "office,chanel"], "did you mean 'channel'"),
        (["--by", "office", "--search", "office,office"], "names an attribute twice"),
        (["--search", "office"], "--by COL; columns of few values: 'office', 'channel', 'tier'"),
    ],
)
def test_a_search_that_is_not_possible_is_one_line(words, message, tmp_path, monkeypatch, capsys):
    tickets(rows=100).write_csv(tmp_path / "t.csv")
    assert type_in(monkeypatch, "audit", tmp_path / "t.csv", *COLUMNS[:4], *words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_are_text(value, capsys):
    """In place of the value that is planted, and as the name of an attribute."""
    frame = tickets(office="Lagos").rename({"channel": value})
    named = frame.with_columns(office=pl.col("office").replace("Lagos", value))
    evidence = Predictions.from_frame(named, truth="truth", prediction="prediction")
    print_subgroups(Console(width=300, highlight=False), [metrics.subgroups(evidence, by=["office", value])])
    title, line, *rest = capsys.readouterr().out.rstrip("\n").split("\n")
    assert "\x1b" not in title + line
    assert title.startswith("search office, ")
    assert line.startswith("  ")
    assert "rows are wrong" in line
    assert not rest
    if value.isprintable():
        assert (f"search office, {value}", f"  {value}: ") == (title, line[: len(value) + 4])
