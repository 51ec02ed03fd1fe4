"""One model at several times: the order, later minus earlier, order unasked, and the report."""

import json

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.metrics.differences.ranking import RANKED
from evenhand.stats.contingency.model_summaries import SUMMARIES
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.compare.over_time import drift, parse_dates
from evenhand.workflows.outputs.result import Run
from tests.cli.test_audit import type_in
from tests.runner.test_compare import audited, changed, without_counts

pytestmark = pytest.mark.usefixtures("without_pages")

ACCURACIES = {"september": 0.6, "october": 0.62, "november": 0.85}
DATES = {"september": "2026-09-01", "october": "2026-10-01T08:00:00+00:00", "november": "2026-11-01"}


def months(n=500):
    """One truth, one attribute and the answers of three months."""
    rng = np.random.default_rng(5)
    truth, group = rng.integers(0, 4, n), rng.integers(0, 2, n)
    said = {
        month: [f"c{code}" for code in np.where(rng.random(n) < p, truth, rng.integers(0, 4, n))]
        for month, p in ACCURACIES.items()
    }
    ids, labels = [f"i{code}" for code in range(n)], [f"c{code}" for code in truth]
    return pl.DataFrame({"id": ids, "label": labels, "group": [f"g{code}" for code in group], **said})


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    where = tmp_path_factory.mktemp("months")
    months().write_csv(where / "t.csv")
    return {month: audited(where, where / "t.csv", month) for month in ACCURACIES}


@pytest.fixture(scope="module")
def runs(audits, tmp_path_factory):
    """Runs of one named model, made at three times."""
    where = tmp_path_factory.mktemp("runs")
    return {
        month: changed(folder, where / month, model="api:eye@https://x", created=DATES[month])
        for month, folder in audits.items()
    }


@pytest.fixture(scope="module")
def comparison(runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "time"
    typed = [runs["november"], runs["september"], runs["october"]]
    return compare(typed, metrics=["accuracy", "accuracy_gap"], over_time=True, out=out), out


NAMES = [f"api:eye@https://x, {day}" for day in ("2026-09-01", "2026-10-01", "2026-11-01")]


def test_each_run_is_compared_with_the_one_before(comparison):
    run, _ = comparison
    assert run.manifest["models"] == NAMES
    assert run.manifest["over_time"] is True
    assert run.manifest["one_model"] is True
    assert [one["date"] for one in run.manifest["dates"]] == ["2026-09-01", "2026-10-01", "2026-11-01"]
    found = [one for one in run.findings.findings if one.name == "accuracy_difference"]
    assert [(one.model, one.reference) for one in found] == [(NAMES[1], NAMES[0]), (NAMES[2], NAMES[1])]
    frame = months()
    right = {month: (frame[month] == frame["label"]).mean() for month in ACCURACIES}
    assert found[1].value == pytest.approx(right["november"] - right["october"])
    assert found[1].p_adjusted <= 0.05 < found[0].p_adjusted


@pytest.mark.parametrize(
    ("first", "second", "one_model"),
    [
        ({"model": "a.py:Eye"}, {"model": "b.py:Eye"}, False),
        ({"model": None}, {"model": None}, False),  # audits of tables: nothing says of which model
        ({"model": "hf:org/eye@1"}, {"model": "hf:org/eye@2"}, True),
        ({"model": None, "tags": {"lineage": "eye"}}, {"model": None, "tags": {"lineage": "eye"}}, True),
    ],
)
def test_the_manifest_says_whether_all_dates_are_of_one_model(audits, tmp_path, first, second, one_model):
    folders = [
        changed(audits[month], tmp_path / month, created=DATES[month], **told)
        for month, told in zip(audits, (first, second), strict=False)
    ]
    run = compare(folders, metrics=["accuracy"], over_time=True)
    assert run.manifest["over_time"] is True
    assert run.manifest["one_model"] is one_model


def test_the_drift_holds_every_date(comparison):
    run, out = comparison
    drift = Run.read(out).tables["drift"].filter(pl.col("metric") == "accuracy")
    assert drift["date"].to_list() == ["2026-09-01", "2026-10-01", "2026-11-01"]
    assert drift["since"].to_list() == [None, "2026-09-01", "2026-10-01"]
    found = run.finding("accuracy_difference", model=NAMES[2])
    last = drift.row(2, named=True)
    assert (last["change"], last["change_low"]) == (found.value, found.interval.low)
    assert last["p_adjusted"] == found.p_adjusted
    assert last["value"] - drift.row(1, named=True)["value"] == pytest.approx(found.value)
    assert last["low"] < last["value"] < last["high"]
    assert last["n"] == 500
    mean = run.tables["drift"].filter(pl.col("metric") == "cramers_v_mean")
    assert mean["change"].to_list() == [None, None, None]  # not asked for, so not tested


def test_every_measure_drifts(runs):
    typed = [runs["september"], runs["november"]]
    made = compare(typed, metrics=["cramers_v_median"], over_time=True)
    drift = made.tables["drift"]
    assert set(drift["metric"]) == set(SUMMARIES)
    last = drift.filter(pl.col("metric") == "cramers_v_median").row(1, named=True)
    found = made.finding("cramers_v_median_difference")
    assert (last["change"], last["p_adjusted"]) == (found.value, found.p_adjusted)
    assert last["value"] == pytest.approx(found.details["first"])
    assert last["low"] < last["high"]
    shares = made.tables["rank_shares"].filter(pl.col("metric") == "cramers_v_max", pl.col("rank") == 1)
    assert shares["share"].sum() == pytest.approx(1)
    assert set(compare(typed, metrics=["accuracy"], over_time=False).tables["ranking"]["metric"]) == set(
        RANKED
    )


def test_changes_of_one_measure_with_several_parameters_are_all_told():
    names = {"then": "2026-01-01", "now": "2026-02-01"}
    settings = ({}, {"setting": "all"}, {"setting": "different", "context": "first"})
    rows = [
        {"by": "pronoun", "metric": "resolution_accuracy", "params": json.dumps(given, sort_keys=True),
         "model": name, "value": 0.5, "low": 0.4, "high": 0.6, "reason": None, "n": 10.0}
        for given in settings for name in names
    ]  # fmt: skip
    findings = [
        Finding(
            metric=f"m{place}", name="resolution_accuracy_difference", by=["pronoun"], value=place / 10,
            params={**given, "model": "now", "reference": "then"}, model="now", reference="then", n=10,
            p_adjusted=0.01, direction="descriptive", source={"paper": "x"},
        )
        for place, given in enumerate(settings)
    ]  # fmt: skip
    table = drift({"values": pl.DataFrame(rows, infer_schema_length=None)}, findings, names)
    assert table["change"].to_list() == [None, 0.0, None, 0.1, None, 0.2]


def test_dates_of_several_zones_are_told_apart(audits):
    given = {audits["october"]: "2026-12-01T10:00+00:00", audits["september"]: "2026-12-01T10:00+02:00"}
    made = compare(list(given), metrics=["accuracy"], dates=given)
    assert [one["date"] for one in made.manifest["dates"]] == ["2026-12-01 08:00", "2026-12-01 10:00"]


def test_a_group_of_several_dates_says_its_span_and_has_none_between(audits):
    group = {"early": [audits["september"], audits["october"]]}
    given = {audits["september"]: "2026-01-01", audits["october"]: "2026-02-01"}
    dates = {**given, audits["november"]: "2026-03-01"}
    made = compare([audits["november"]], groups=group, metrics=["accuracy"], dates=dates)
    assert made.tables["drift"]["since"].drop_nulls().unique().to_list() == ["2026-01-01 to 2026-02-01"]
    between = {**given, audits["november"]: "2026-01-15"}
    with pytest.raises(ParameterError, match="'early' reaches from 2026-01-01 to 2026-02-01"):
        compare([audits["november"]], groups=group, metrics=["accuracy"], dates=between)


def test_the_report_says_since_when(comparison):
    html = (comparison[1] / "report.html").read_text()
    assert '<section id="over-time"' in html
    assert "Since 2026-10-01 (on 2026-11-01): accuracy, by group, rose by 0.1" in html
    assert "more than noise" in html
    assert "no more than noise" in html


def test_runs_stay_as_typed_unless_an_order_by_date_is_asked_for(runs, audits, tmp_path):
    typed = [runs["november"], runs["september"]]
    unasked = compare(typed, metrics=["accuracy"])
    found = unasked.finding("accuracy_difference")
    assert (found.model, found.reference) == ("api:eye@https://x (september)", "api:eye@https://x (november)")
    assert found.value < -0.1  # typed later minus typed earlier
    assert "drift" not in unasked.tables
    assert "over_time" not in unasked.manifest
    (note,) = [warning for warning in unasked.manifest["warnings"] if "--over-time" in warning]
    assert "compared as typed" in note
    assert "september' is taken as the newer, though it was made before" in note
    kept = compare(typed, metrics=["accuracy"], over_time=False)
    assert kept.findings == unasked.findings
    assert not any("--over-time" in warning for warning in kept.manifest["warnings"])
    assert not any("--over-time" in warning for warning in compare(typed[::-1]).manifest["warnings"])
    asked = compare(typed, metrics=["accuracy"], over_time=True)
    assert asked.finding("accuracy_difference").model == NAMES[2]
    assert asked.finding("accuracy_difference").value == -found.value
    (order,) = asked.manifest["order_notes"]
    assert order in asked.manifest["warnings"]
    assert order.startswith("runs are in the order of their dates, not as typed: ")
    assert "order_notes" not in compare(typed[::-1], metrics=["accuracy"], over_time=True).manifest
    audit = compare(list(audits.values())[1::-1], metrics=["accuracy"])
    assert not any("--over-time" in warning for warning in audit.manifest["warnings"])  # of what model?


def test_a_gate_on_a_newer_run_that_is_worse_breaks_whatever_the_dates(runs, monkeypatch, capsys):
    """The run typed last is the newer one; an order by date is told even to --quiet."""
    words = ["compare", runs["november"], runs["september"], "--metric", "accuracy", "-q"]
    gate = ["--fail-if", "accuracy got worse"]
    for order, code in (([], 4), (["--not-over-time"], 4), (["--over-time"], 0)):
        assert type_in(monkeypatch, *words, *order, *gate) == code
        told = capsys.readouterr().err
        assert ("not as typed" in told) == (code == 0), order
    dates = ["--date", f"{runs['november']}=2026-01-01", "--date", f"{runs['september']}=2026-02-01"]
    assert type_in(monkeypatch, *words, *dates, *gate) == 4
    assert capsys.readouterr().err.startswith("evenhand: gate broken")


def test_dates_can_be_given_or_tagged(audits, runs, tmp_path):
    given = {audits["october"]: "2025-01-01", audits["september"]: "2025-02-01"}
    made = compare(list(given), metrics=["accuracy"], dates=given)
    assert made.manifest["models"][0] == "october of t.csv, 2025-01-01"
    tagged = [
        changed(runs[month], tmp_path / month, tags={"date": date})
        for month, date in (("september", "2026-12-24T09:30"), ("october", "2026-12-24T08:15"))
    ]
    names = compare(tagged, metrics=["accuracy"], over_time=True).manifest["models"]
    assert [name.rpartition(", ")[2] for name in names] == ["2026-12-24 08:15", "2026-12-24 09:30"]


def test_findings_of_other_runs_drift_too(runs, tmp_path):
    folders = [without_counts(folder, tmp_path / month) for month, folder in runs.items()]
    made = compare(folders, metrics=["accuracy"], over_time=True)
    drift = made.tables["drift"]
    assert drift["date"].to_list() == ["2026-09-01", "2026-10-01", "2026-11-01"]
    assert drift["value"].is_not_null().all()


def test_mistakes_in_dates_teach(runs, tmp_path):
    folders = list(runs.values())
    with pytest.raises(ParameterError, match="write --date RUN=2026-10-01"):
        parse_dates(["runs/a=yesterday"])
    with pytest.raises(ParameterError, match="is given twice"):
        parse_dates(["a=2026-10-01", "a=2026-10-02"])
    assert parse_dates(["runs/k=v=2026-10-01"]) == {"runs/k=v": "2026-10-01"}
    with pytest.raises(ParameterError, match="leave out --reference"):
        compare(folders, over_time=True, reference=folders[0])
    with pytest.raises(UnknownName, match="run to give a date"):
        compare(folders, dates={"elsewhere": "2026-10-01"})
    with pytest.raises(ParameterError, match=r"have one date .*--date"):
        compare([folders[0], changed(folders[0], tmp_path / "again")], over_time=True)
    dateless = changed(folders[0], tmp_path / "dateless", created=None)
    with pytest.raises(ParameterError, match="has no date; give one: --date"):
        compare([folders[1], dateless], over_time=True)


def test_it_is_typed(runs, audits, monkeypatch, capsys, tmp_path):
    words = ["--over-time", "--metric", "accuracy", "-v", "-o", tmp_path / "out"]
    assert type_in(monkeypatch, "compare", *runs.values(), *words) == 0
    told = capsys.readouterr().out
    assert "over time: 1 of 2 changes beyond chance" in told
    assert "since 2026-10-01, on 2026-11-01: accuracy by group rose by" in told
    groups = ["--group", f"early={audits['september']},{audits['october']}"]
    assert type_in(monkeypatch, "compare", audits["november"], *groups, "--metric", "accuracy", "-v") == 0
    told = capsys.readouterr().out
    assert "over seeds" in told
    assert "'early' stands for 2 runs (runs 1, 2)" in told
    assert type_in(monkeypatch, "compare", audits["november"], "--group", "early") == 2
    assert "write --group NAME=RUN,RUN" in capsys.readouterr().err
    assert type_in(monkeypatch, "compare") == 2
    assert "0 run is given" in capsys.readouterr().err
